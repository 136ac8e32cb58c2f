package drf_test

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cellsched/cellsched/drf"
	"github.com/cellsched/cellsched/resources"
)

// busy is a full cell in which one task ends at a time, the one that has run
// longest, or a random one.
type busy struct {
	t       *testing.T
	heap    *drf.Heap[int]
	free    resources.Vector
	demands map[drf.User]resources.Vector
	running []drf.User
	starts  map[drf.User]int
}

func newBusy(t *testing.T, total resources.Vector) *busy {
	t.Helper()
	h, err := drf.New[int](total)
	require.NoError(t, err)
	return &busy{t, h, total, make(map[drf.User]resources.Vector), nil, make(map[drf.User]int)}
}

func (b *busy) add(key int, demand resources.Vector) drf.User {
	b.t.Helper()
	u, err := b.heap.Add(key, 1)
	require.NoError(b.t, err)
	require.NoError(b.t, b.heap.Demand(u, demand))
	b.demands[u] = demand
	return u
}

func (b *busy) fill() {
	b.t.Helper()
	for {
		u, ok := b.next()
		if !ok {
			return
		}
		b.free, ok = b.free.Sub(b.demands[u])
		require.True(b.t, ok)
		require.NoError(b.t, b.heap.Charge(u, b.demands[u]))
		b.running = append(b.running, u)
		b.starts[u]++
	}
}

// next returns the next user for the free room: the overdue one, once there is room for
// it, and others in what is beside that.
func (b *busy) next() (u drf.User, ok bool) {
	for {
		late, some := b.heap.Overdue()
		free := b.free
		if need := b.demands[late]; some && resources.Fits(&need, &free) {
			return late, true
		} else if some {
			free = beside(free, need)
		}
		u, ok = b.heap.Pick(free)
		if named, _ := b.heap.Overdue(); named == late {
			return u, ok
		}
	}
}

// beside returns free without the room of a need.
func beside(free, need resources.Vector) resources.Vector {
	for k, q := range need {
		free[k] = max(0, free[k]-q)
	}
	return free
}

func (b *busy) end(i int) {
	b.t.Helper()
	u := b.running[i]
	b.running = append(b.running[:i], b.running[i+1:]...)
	b.free = b.free.Add(b.demands[u])
	require.NoError(b.t, b.heap.Credit(u, b.demands[u]))
}

// A user comes to a full cell of small tasks. Its own are twice as large as the
// largest of others. It is passed over as often as it may be, and then waits for no
// more than all that runs at that moment.
func TestHeap_LargeTasksStartAfterSoManySkips(t *testing.T) {
	const users, patience = 20, 30
	for seed := range uint64(20) {
		r := rand.New(rand.NewPCG(seed, 1))
		b := newBusy(t, resources.Vector{400, 800})
		b.heap.SetMaxSkips(patience)
		for i := range users {
			b.add(i, resources.Vector{1 + r.Int64N(10), 1 + r.Int64N(20)})
		}
		b.fill()
		large := b.add(users, resources.Vector{20, 40})
		for range 3 { // and it is not only the first time
			ends, held := 0, -1
			for before := b.starts[large]; b.starts[large] == before; ends++ {
				b.end(r.IntN(len(b.running)))
				b.fill()
				if u, ok := b.heap.Overdue(); ok && u == large && held < 0 {
					held = ends
				}
				skips, ok := b.heap.Skips(large)
				require.True(t, ok)
				require.Less(t, ends, 5000, "never started; passed over %d times", skips)
			}
		}
		// Its starts are a fair share, or nearly.
		for range 2000 {
			b.end(r.IntN(len(b.running)))
			b.fill()
		}
		share, _, _ := b.heap.Share(large)
		require.Greater(t, share, 1.0/(users+1)/2)
	}
}

// The bound itself, where tasks end in the order in which they began: from the
// moment that room is held back, no more tasks end than ran then.
func TestHeap_HeldBackRoomComesInTime(t *testing.T) {
	for seed := range uint64(50) {
		r := rand.New(rand.NewPCG(seed, 2))
		b := newBusy(t, resources.Vector{100, 100, 100})
		b.heap.SetMaxSkips(r.IntN(5))
		for i := range 10 {
			b.add(i, resources.Vector{1 + r.Int64N(5), r.Int64N(5), r.Int64N(5)})
		}
		b.fill()
		large := b.add(10, resources.Vector{1 + r.Int64N(100), r.Int64N(101), r.Int64N(101)})
		left := -1
		for steps := 0; b.starts[large] == 0; steps++ {
			require.NotZero(t, left, "all that ran has ended")
			require.Less(t, steps, 10_000)
			b.end(0)
			left--
			b.fill()
			if u, ok := b.heap.Overdue(); left < 0 && ok && u == large {
				left = len(b.running)
			}
		}
	}
}

// Without a bound the same user is never served: the result of the test above is
// not luck.
func TestHeap_LargeTasksStarveWithoutABound(t *testing.T) {
	b := newBusy(t, resources.Vector{100})
	b.heap.SetMaxSkips(-1)
	for i := range 20 {
		b.add(i, resources.Vector{5})
	}
	b.fill()
	large := b.add(20, resources.Vector{10})
	for range 20_000 {
		b.end(0)
		b.fill()
	}
	require.Zero(t, b.starts[large])
	_, ok := b.heap.Overdue()
	require.False(t, ok)

	b.heap.SetMaxSkips(0)
	b.fill()
	held, ok := b.heap.Overdue()
	require.True(t, ok)
	require.Equal(t, large, held)
	b.end(0)
	b.fill()
	b.end(0)
	b.fill()
	require.Equal(t, 1, b.starts[large])
}

// Room that the reserving user does not need goes to others meanwhile.
func TestHeap_OthersTakeRoomBesideTheReservation(t *testing.T) {
	b := newBusy(t, resources.Vector{10, 10})
	one, two := b.add(1, resources.Vector{1, 0}), b.add(2, resources.Vector{0, 1})
	b.fill()
	require.Equal(t, map[drf.User]int{one: 10, two: 10}, b.starts)
	b.heap.SetMaxSkips(0)
	large := b.add(3, resources.Vector{3, 0})
	b.end(0)  // of one
	b.end(18) // of two
	b.fill()
	require.Equal(t, map[drf.User]int{one: 10, two: 11}, b.starts)
	held, ok := b.heap.Overdue()
	require.True(t, ok)
	require.Equal(t, large, held)
	require.NoError(t, b.heap.Park(large))
	_, ok = b.heap.Overdue()
	require.False(t, ok, "it wants nothing any more")
	b.fill()
	require.Equal(t, 11, b.starts[one])
}

// No user is named for a demand of more than the total has.
func TestHeap_NamesNoUserWithAnImpossibleDemand(t *testing.T) {
	b := newBusy(t, resources.Vector{10})
	small := b.add(1, resources.Vector{1})
	huge := b.add(2, resources.Vector{11})
	b.fill()
	require.Equal(t, 10, b.starts[small])
	_, ok := b.heap.Overdue()
	require.False(t, ok)
	skips, _ := b.heap.Skips(huge)
	require.Zero(t, skips, "nor is it counted as passed over")

	heldBackFor := func(want drf.User) {
		b.fill()
		held, ok := b.heap.Overdue()
		require.True(t, ok)
		require.Equal(t, want, held)
	}
	b.heap.SetMaxSkips(0)
	heldBackFor(small)
	require.NoError(t, b.heap.SetTotal(resources.Vector{11}))
	b.free = resources.Vector{1}
	heldBackFor(huge)
	require.NoError(t, b.heap.SetTotal(resources.Vector{10}))
	heldBackFor(small) // a machine has gone, and the other will never fit
	require.Equal(t, 11, b.starts[small])
}

// The caller reserves a machine for the user that the heap names.
func TestPickWhere_NamesTheUserToReserveAMachineFor(t *testing.T) {
	h, err := drf.New[string](resources.Vector{8})
	require.NoError(t, err)
	h.SetMaxSkips(3)
	small, err := h.Add("small", 1)
	require.NoError(t, err)
	require.NoError(t, h.Demand(small, resources.Vector{1}))
	free := []int64{4, 4} // by machine
	start := func(u drf.User, barred int) (machine int) {
		need := map[drf.User]int64{small: 1}[u]
		if need == 0 {
			need, barred = 3, -1
		}
		for m := range free {
			if m != barred && free[m] >= need {
				return m
			}
		}
		return -1
	}
	take := func(barred int) (u drf.User, ok bool) {
		u, ok = h.PickWhere(resources.Vector{max(free[0], free[1])}, func(u drf.User) bool { return start(u, barred) >= 0 })
		if ok {
			need := map[bool]int64{true: 1, false: 3}[u == small]
			free[start(u, barred)] -= need
			require.NoError(t, h.Charge(u, resources.Vector{need}))
		}
		return u, ok
	}
	end := func(m int) {
		free[m]++
		require.NoError(t, h.Credit(small, resources.Vector{1}))
	}
	for range 8 {
		_, ok := take(-1)
		require.True(t, ok)
	}
	large, err := h.Add("large", 1)
	require.NoError(t, err)
	require.NoError(t, h.Demand(large, resources.Vector{3}))
	for skips := range 3 {
		_, ok := h.Overdue()
		require.False(t, ok, "%d skips", skips)
		end(skips % 2)
		u, ok := take(-1)
		require.True(t, ok)
		require.Equal(t, small, u)
	}
	end(0)
	u, ok := take(-1)
	require.True(t, ok, "no reservation yet")
	require.Equal(t, small, u)
	held, ok := h.Overdue()
	require.True(t, ok)
	require.Equal(t, large, held)
	for range 2 {
		end(0)
		_, ok = take(0)
		require.False(t, ok)
	}
	end(1)
	u, ok = take(0)
	require.True(t, ok, "the other machine is for all")
	require.Equal(t, small, u)
	end(0)
	u, ok = take(0)
	require.True(t, ok)
	require.Equal(t, large, u)
	_, ok = h.Overdue()
	require.False(t, ok)
}

// An overdue user is named whichever user is taken in its stead, also where the first choice
// would come to hold too much.
func TestTake_NamesTheOverdueUserBesideTheSecondChoice(t *testing.T) {
	h, err := drf.New[string](resources.Vector{resources.MaxQuantity, 10, resources.MaxQuantity})
	require.NoError(t, err)
	h.SetMaxSkips(0)
	add := func(key string, held, demand resources.Vector) drf.User {
		u, err := h.Add(key, 1)
		require.NoError(t, err)
		require.NoError(t, h.Charge(u, held))
		require.NoError(t, h.Demand(u, demand))
		return u
	}
	large := add("large", resources.Vector{}, resources.Vector{10, 5})
	other := add("other", resources.Vector{0, 9}, resources.Vector{5})
	add("full", resources.Vector{0, 0, resources.MaxQuantity}, resources.Vector{1, 0, 1})
	u, ok := h.Take(resources.Vector{12, 0, 1}) // full cannot be charged
	require.True(t, ok)
	require.Equal(t, other, u)
	late, ok := h.Overdue()
	require.True(t, ok)
	require.Equal(t, large, late)
	_, ok = h.Take(beside(resources.Vector{7, 0, 1}, resources.Vector{10, 5}))
	require.False(t, ok)
}
