package omega_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/cellsched/cellsched/omega"
	"github.com/cellsched/cellsched/resources"
)

// Tokens wander between machines while cuts are taken: by gangs that claim on
// one machine and release on another, and by pairs of commits of which the
// second comes after the first. No cut misses a token, or sees one that a gang
// moves twice.
func TestCut_IsOneMoment(t *testing.T) {
	const movers, machines, tokens = 4, 12, 5
	rounds := 3_000
	if testing.Short() {
		rounds /= 10
	}
	cell, ids := newCell(t, machines, resources.Vector{1000})
	var wg, cutting sync.WaitGroup
	var over atomic.Bool
	var cuts atomic.Int64
	for i := range movers {
		s := register(t, cell, fmt.Sprint("mover-", i))
		var held []omega.AllocationID
		for range tokens {
			var tx omega.Txn
			require.Equal(t, 1, commit(t, s, &tx, claim(ids[i], 1)))
			a, _ := tx.Allocation(0)
			held = append(held, a)
		}
		rng := rand.New(rand.NewPCG(7, uint64(i)))
		wg.Go(func() {
			for done := 0; done < rounds || cuts.Load() == 0; done++ { // cuts may begin late
				n, to := rng.IntN(len(held)), ids[rng.IntN(machines)]
				tx := omega.Txn{Gang: true}
				tx.Claim(claim(to, 1))
				together := i%2 == 0
				if together {
					tx.Release(held[n])
				}
				if granted, err := s.Commit(&tx); granted != 1 || err != nil {
					panic(fmt.Sprint(granted, err))
				}
				if !together {
					if err := s.Release(held[n]); err != nil {
						panic(err)
					}
				}
				held[n], _ = tx.Allocation(0)
			}
		})
	}
	cutting.Go(func() {
		for ; !over.Load(); cuts.Add(1) {
			count := map[string]int{}
			for m, allocations := range cell.Cut().Machines() {
				used := resources.Vector{}
				for _, a := range allocations {
					count[a.Scheduler]++
					used = used.Add(a.Need)
				}
				if m.Free.Add(used) != m.Capacity || m.Live != len(allocations) {
					panic(fmt.Sprint(m, allocations))
				}
			}
			for i := range movers {
				n, most := count[fmt.Sprint("mover-", i)], tokens
				if i%2 == 1 {
					most++ // between its two commits
				}
				if n < tokens || n > most {
					panic(fmt.Sprintf("mover %d has %d tokens in a cut, want %d to %d", i, n, tokens, most))
				}
			}
		}
	})
	wg.Wait()
	over.Store(true)
	cutting.Wait()
	require.NoError(t, cell.Check())
}

// Whoever waits for room gets it in the end, however releases, claims and
// cancellations fall: no wake-up is lost, and no baton.
func TestWait_LosesNoWakeUp(t *testing.T) {
	const workers, machines = 8, 3
	rounds := 2_000
	if testing.Short() {
		rounds /= 10
	}
	cell, ids := newCell(t, machines, resources.Vector{4})
	var wg sync.WaitGroup
	for i := range workers {
		s := register(t, cell, fmt.Sprint(i))
		rng := rand.New(rand.NewPCG(11, uint64(i)))
		wg.Go(func() {
			snap, tx := s.Snapshot(), &omega.Txn{}
			for range rounds {
				need := resources.Vector{1 + rng.Int64N(4)}
				var a omega.AllocationID
				for placed := false; !placed; {
					if m, ok := snap.Find(omega.Query{Need: need}, omega.NextFit()); ok {
						tx.Reset()
						tx.Claim(omega.Claim{Machine: m, Need: need})
						if _, err := s.Commit(tx); err != nil {
							panic(err)
						}
						a, placed = tx.Allocation(0)
						continue
					}
					if rng.IntN(8) == 0 { // gives up at once, with or without the baton
						ctx, cancel := context.WithCancel(context.Background())
						cancel()
						_ = s.Wait(ctx, need)
						continue
					}
					if err := s.Wait(context.Background(), need); err != nil {
						panic(err)
					}
				}
				if err := s.Release(a); err != nil {
					panic(err)
				}
			}
			s.Pass()
		})
	}
	wg.Wait() // it would hang
	require.NoError(t, cell.Check())
	for _, m := range ids {
		require.EqualValues(t, 4, free(t, cell, m))
	}
}

// Once Replace has returned, nothing of the old scheduler takes effect any
// more, whatever it was in the middle of.
func TestReplace_StopsCommitsInProgress(t *testing.T) {
	const machines = 4
	rounds := 300
	if testing.Short() {
		rounds /= 10
	}
	cell, ids := newCell(t, machines, resources.Vector{1 << 40})
	current := register(t, cell, "s")
	var wg sync.WaitGroup
	for round := range rounds {
		old := current
		started := make(chan struct{})
		wg.Go(func() {
			for i := 0; ; i++ {
				tx := omega.Txn{Gang: i%2 == 0}
				for _, m := range ids[i%2*2:] {
					tx.Claim(claim(m, 1))
				}
				_, err := old.Commit(&tx)
				if i == round%7 {
					close(started)
				}
				if errors.Is(err, omega.ErrSuperseded) && i >= round%7 {
					return
				}
			}
		})
		<-started
		var err error
		current, err = cell.Replace("s")
		require.NoError(t, err)
		before := make([]uint64, machines)
		for i, m := range ids {
			state, _ := cell.State(m)
			before[i] = state.Seq
		}
		wg.Wait()
		for i, m := range ids {
			state, _ := cell.State(m)
			require.Equal(t, before[i], state.Seq, "a commit of the old epoch after Replace")
		}
	}
	var sum resources.Vector
	n := 0
	for a := range current.Allocations() {
		sum = sum.Add(a.Need)
		n++
	}
	require.Positive(t, n)
	require.Equal(t, sum, current.Usage(), "and nothing stays charged")
	require.NoError(t, cell.Check())
}

// Usage read while commits run is never below what is allocated, though
// allocations move from scheduler to scheduler.
func TestUsage_IsNeverBelowWhatIsAllocated(t *testing.T) {
	rounds := 20_000
	if testing.Short() {
		rounds /= 10
	}
	cell, ids := newCell(t, 2, resources.Vector{100})
	account := accountOf(cell, "a")
	giver, taker := register(t, cell, "giver"), register(t, cell, "taker")
	var over atomic.Bool
	var wg, reading sync.WaitGroup
	var tx omega.Txn
	give := omega.Claim{Machine: ids[0], Account: account, Need: resources.Vector{5}, Grantee: taker}
	require.Equal(t, 1, commit(t, giver, &tx, give))
	a, _ := tx.Allocation(0)
	reading.Go(func() {
		for !over.Load() {
			used, err := cell.Usage(account)
			if err != nil || used[0] < 5 {
				panic(fmt.Sprint("usage ", used[0], ", want 5 at least: ", err))
			}
		}
	})
	wg.Go(func() {
		for range rounds { // to and fro; 5 are allocated all the time
			var there, back omega.Txn
			there.Exchange([]omega.AllocationID{a}, omega.Claim{Machine: ids[0], Account: account, Need: resources.Vector{5}, Grantee: giver})
			if n, err := taker.Commit(&there); n != 1 || err != nil {
				panic(fmt.Sprint(n, err, there.Err(0)))
			}
			a, _ = there.Allocation(0)
			back.Exchange([]omega.AllocationID{a}, give)
			if n, err := giver.Commit(&back); n != 1 || err != nil {
				panic(fmt.Sprint(n, err, back.Err(0)))
			}
			a, _ = back.Allocation(0)
		}
	})
	wg.Wait()
	over.Store(true)
	reading.Wait()
	used, err := cell.Usage(account)
	require.NoError(t, err)
	require.Equal(t, resources.Vector{5}, used)
	require.Equal(t, resources.Vector{5}, giver.Usage())
	require.Zero(t, taker.Usage())
	require.NoError(t, cell.Check())
}

// What takes the place of something waits until that is gone, and so does what
// takes the place of the first before it has started: memory is never promised
// twice.
func TestReadyAt_WaitsForAllThatMayStillRun(t *testing.T) {
	cell, ids := newCell(t, 1, resources.Vector{10})
	levels := make([]*omega.Scheduler, 4)
	for i := range levels {
		s, err := cell.Register(fmt.Sprint(i), omega.Limits{Highest: omega.Precedence(i)})
		require.NoError(t, err)
		levels[i] = s
	}
	start := time.Unix(1000, 0)
	place := func(level int, now time.Time, need int64, victims ...omega.AllocationID) omega.AllocationID {
		tx := omega.Txn{Now: now, Grace: 10 * time.Second}
		tx.Claim(omega.Claim{
			Machine: ids[0], Need: resources.Vector{need},
			Precedence: omega.Precedence(level), Victims: victims,
		})
		_, err := levels[level].Commit(&tx)
		require.NoError(t, err)
		require.NoError(t, tx.Err(0))
		a, _ := tx.Allocation(0)
		return a
	}
	readyAt := func(a omega.AllocationID) time.Time {
		at, err := cell.ReadyAt(a)
		require.NoError(t, err)
		return at
	}
	running := place(0, start, 6)
	small := place(0, start, 2)
	require.True(t, readyAt(running).IsZero())

	second := place(1, start, 6, running)
	require.Equal(t, start.Add(10*time.Second), readyAt(second))
	beside := place(0, start, 2)
	require.True(t, readyAt(beside).IsZero(), "the two that were free are nobody's")

	third := place(2, start.Add(time.Second), 6, second)
	require.Equal(t, start.Add(11*time.Second), readyAt(third))
	require.NoError(t, levels[1].Release(second), "it never started")
	require.Equal(t, start.Add(10*time.Second), readyAt(third), "the first is still running")

	require.NoError(t, levels[2].Release(third))
	fourth := place(0, start.Add(2*time.Second), 3)
	require.Equal(t, start.Add(10*time.Second), readyAt(fourth), "the room that was given back is not empty yet")
	late := place(0, start.Add(10*time.Second), 3)
	require.True(t, readyAt(late).IsZero(), "past the deadline it is")

	require.NoError(t, levels[0].Release(running))
	require.True(t, readyAt(fourth).IsZero())
	require.True(t, readyAt(small).IsZero())
	require.NoError(t, cell.Check())
}

// What was resized runs on with what it had while it waits for the rest, so
// that is not room for others.
func TestReadyAt_CountsWhatAResizedAllocationRunsWith(t *testing.T) {
	cell, ids := newCell(t, 1, resources.Vector{10})
	low, high := ranked(t, cell, "low"), ranked(t, cell, "high")
	a := held(t, low, ids[0], 0, resources.Vector{4})[0]
	victim := held(t, low, ids[0], 0, resources.Vector{6})[0]
	start := time.Unix(1, 0)
	preempting := omega.Txn{Now: start, Grace: time.Minute}
	preempting.Claim(omega.Claim{Machine: ids[0], Need: resources.Vector{2}, Precedence: 1, Victims: []omega.AllocationID{victim}})
	_, err := high.Commit(&preempting)
	require.NoError(t, err)
	require.NoError(t, preempting.Err(0))
	b, _ := preempting.Allocation(0)

	resize := omega.Txn{Now: start}
	resize.Resize(a, resources.Vector{8})
	_, err = low.Commit(&resize)
	require.NoError(t, err)
	require.NoError(t, resize.Err(0))
	larger, _ := resize.Allocation(0)
	at, err := cell.ReadyAt(larger)
	require.NoError(t, err)
	require.Equal(t, start.Add(time.Minute), at)

	require.NoError(t, high.Release(b))
	tx := omega.Txn{Now: start}
	require.Equal(t, 1, commit(t, high, &tx, claim(ids[0], 2)))
	c, _ := tx.Allocation(0)
	at, err = cell.ReadyAt(c)
	require.NoError(t, err)
	require.Equal(t, start.Add(time.Minute), at, "4 and 6 of 10 are still in use")
	require.NoError(t, low.Release(victim))
	at, err = cell.ReadyAt(c)
	require.NoError(t, err)
	require.True(t, at.IsZero())
}

// Whoever is woken and then replaced takes no room to its grave.
func TestWait_BatonOutlivesItsHolder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cell, ids := newCell(t, 1, resources.Vector{10})
		holder := register(t, cell, "holder")
		a := held(t, holder, ids[0], 0, resources.Vector{10})[0]
		old, next := register(t, cell, "old"), register(t, cell, "next")
		ended := make(chan error, 2)
		for _, s := range []*omega.Scheduler{old, next} {
			s.Snapshot()
			go func() { ended <- s.Wait(t.Context(), resources.Vector{3}) }()
			synctest.Wait()
		}
		require.NoError(t, holder.Release(a))
		synctest.Wait()
		require.NoError(t, <-ended, "the first has the baton")
		_, err := cell.Replace("old")
		require.NoError(t, err)
		synctest.Wait()
		require.NoError(t, <-ended, "and the second is not forgotten")
		require.ErrorIs(t, old.Wait(t.Context(), resources.Vector{3}), omega.ErrSuperseded)
	})
}

// What changes nothing wakes nobody; what may make a machine good enough does.
func TestWait_IsWokenByWhatMatters(t *testing.T) {
	type stage struct {
		cell   *omega.Cell
		ids    []omega.MachineID // the first is full, the second draining
		holder *omega.Scheduler
		full   omega.AllocationID
		s      *omega.Scheduler
	}
	for name, change := range map[string]func(st *stage) error{
		"a release":         func(st *stage) error { return st.holder.Release(st.full) },
		"a higher capacity": func(st *stage) error { return st.cell.SetCapacity(st.ids[0], resources.Vector{20}) },
		"a machine resumed": func(st *stage) error { return st.cell.Resume(st.ids[1]) },
		"a machine added": func(st *stage) error {
			_, err := st.cell.Add(omega.Machine{Name: "new", Capacity: resources.Vector{10}})
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				st := &stage{}
				st.cell, st.ids = newCell(t, 2, resources.Vector{10})
				st.holder, st.s = register(t, st.cell, "holder"), register(t, st.cell, "s")
				st.full = held(t, st.holder, st.ids[0], 0, resources.Vector{10})[0]
				require.NoError(t, st.cell.Drain(st.ids[1]))
				st.s.Snapshot()
				woken := make(chan error, 1)
				go func() { woken <- st.s.Wait(t.Context(), resources.Vector{5}) }()
				synctest.Wait()
				st.cell.Cut() // swaps every word, and changes nothing
				require.Zero(t, commit(t, st.holder, &omega.Txn{}, claim(st.ids[1], 1)))
				require.NoError(t, st.cell.SetAttributes(st.ids[0], map[string]string{"disk": "ssd"}))
				synctest.Wait()
				require.Empty(t, woken)
				require.NoError(t, change(st))
				synctest.Wait()
				require.Len(t, woken, 1)
				require.NoError(t, <-woken)
			})
		})
	}
}

func TestWait_EndsWithItsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cell, ids := newCell(t, 1, resources.Vector{2})
		s := register(t, cell, "s")
		held(t, register(t, cell, "holder"), ids[0], 0, resources.Vector{1})
		s.Snapshot()
		cause := errors.New("enough")
		ctx, cancel := context.WithTimeoutCause(t.Context(), time.Hour, cause)
		defer cancel()
		start := time.Now()
		require.ErrorIs(t, s.Wait(ctx, resources.Vector{2}), cause)
		require.Equal(t, time.Hour, time.Since(start))
		require.ErrorIs(t, s.Wait(ctx, resources.Vector{2}), cause)
	})
}
