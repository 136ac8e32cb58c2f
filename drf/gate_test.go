package drf_test

import (
	"container/heap"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/cellsched/cellsched/drf"
	"github.com/cellsched/cellsched/resources"
)

func newGate(t testing.TB, total resources.Vector, seats int) (*drf.Gate, []*drf.Seat) {
	t.Helper()
	g, err := drf.NewGate(total, time.Second)
	require.NoError(t, err)
	var all []*drf.Seat
	for range seats {
		s, err := g.Join(1)
		require.NoError(t, err)
		all = append(all, s)
	}
	return g, all
}

// clock is a time to tell a gate.
func clock(ms int64) time.Time { return time.UnixMilli(1_000_000 + ms) }

func ask(t testing.TB, s *drf.Seat, need resources.Vector, now time.Time) bool {
	t.Helper()
	yes, err := s.Ask(need, now)
	require.NoError(t, err)
	return yes
}

func TestGate_LetsThePoorestOfThoseWhoWaitTake(t *testing.T) {
	_, seats := newGate(t, resources.Vector{100, 10}, 3)
	a, b, c := seats[0], seats[1], seats[2]
	require.True(t, ask(t, a, resources.Vector{10}, clock(0)), "nobody else waits")
	require.True(t, ask(t, a, resources.Vector{10}, clock(0)))
	require.True(t, ask(t, b, resources.Vector{0, 1}, clock(0)), "it has less")
	require.False(t, ask(t, a, resources.Vector{10}, clock(0)), "b has 0.1, a has 0.2")
	require.True(t, ask(t, b, resources.Vector{0, 1}, clock(0)))
	require.True(t, ask(t, a, resources.Vector{10}, clock(0)), "equal shares may both take")
	require.Equal(t, resources.Vector{30}, a.Usage())
	require.InDelta(t, 0.3, a.Share(), 1e-15)

	require.True(t, ask(t, c, resources.Vector{1}, clock(0)))
	require.False(t, ask(t, b, resources.Vector{0, 1}, clock(0)), "now c waits")
	c.Rest()
	require.True(t, ask(t, b, resources.Vector{0, 1}, clock(0)), "and does not any more")
}

func TestGate_WhoMissedHoldsNobodyBackUntilSomethingIsReturned(t *testing.T) {
	_, seats := newGate(t, resources.Vector{100}, 2)
	rich, poor := seats[0], seats[1]
	one := resources.Vector{1}
	require.True(t, ask(t, rich, one, clock(0)))
	require.True(t, ask(t, poor, resources.Vector{50}, clock(0)))
	for i := range 5 {
		passed, err := poor.Miss(resources.Vector{50}, clock(0))
		require.NoError(t, err)
		require.Equal(t, i, passed)
		require.Zero(t, poor.Usage())
		require.True(t, ask(t, rich, one, clock(0)), "poor is parked")
		require.True(t, ask(t, poor, resources.Vector{50}, clock(0)))
	}
	poor.Keep()
	require.NoError(t, poor.Return(resources.Vector{50}))
	require.True(t, ask(t, poor, resources.Vector{50}, clock(0)))
	passed, err := poor.Miss(resources.Vector{50}, clock(0))
	require.NoError(t, err)
	require.Zero(t, passed, "the count began anew when it kept something")

	require.NoError(t, rich.Return(one))
	require.False(t, ask(t, rich, one, clock(1)), "the room is for poor, if it is enough")
	require.False(t, ask(t, rich, one, clock(1001)))
	require.True(t, ask(t, rich, one, clock(1002)), "but it has not looked for a second")
}

// What is returned while somebody looks for room may be the room it misses.
func TestGate_WhoMissesWhileSomethingIsReturnedIsNotParked(t *testing.T) {
	_, seats := newGate(t, resources.Vector{100}, 2)
	rich, poor := seats[0], seats[1]
	require.True(t, ask(t, rich, resources.Vector{5}, clock(0)))
	require.True(t, ask(t, poor, resources.Vector{50}, clock(0)))
	require.NoError(t, rich.Return(resources.Vector{1}))
	_, err := poor.Miss(resources.Vector{50}, clock(0))
	require.NoError(t, err)
	require.False(t, ask(t, rich, resources.Vector{1}, clock(0)))
}

func TestGate_WhoDiedHoldsOthersBackForItsPatience(t *testing.T) {
	_, seats := newGate(t, resources.Vector{100}, 3)
	for _, s := range seats {
		require.True(t, ask(t, s, resources.Vector{1}, clock(0)))
	}
	require.True(t, ask(t, seats[0], resources.Vector{1}, clock(0)))
	require.False(t, ask(t, seats[0], resources.Vector{1}, clock(1000)))
	require.True(t, ask(t, seats[1], resources.Vector{1}, clock(1000)))
	require.False(t, ask(t, seats[0], resources.Vector{5}, clock(1000)))
	require.True(t, ask(t, seats[0], resources.Vector{5}, clock(1001)), "seats 2 is dead")
	require.True(t, ask(t, seats[2], resources.Vector{1}, clock(1001)), "it was only slow")

	seats[1].Leave()
	seats[1].Leave() // not a second time
	_, err := seats[1].Ask(resources.Vector{1}, clock(0))
	require.ErrorIs(t, err, drf.ErrUser)
	_, err = seats[1].Miss(resources.Vector{1}, clock(0))
	require.ErrorIs(t, err, drf.ErrUser)
	seats[1].Rest()
	_, err = seats[1].Ask(resources.Vector{1}, clock(0))
	require.ErrorIs(t, err, drf.ErrUser)
	require.NoError(t, seats[1].Return(resources.Vector{2}), "what it held ends all the same")
}

// Returns of a scheduler that has left wake those who are parked.
func TestGate_WhatTheGoneReturnIsSeen(t *testing.T) {
	_, seats := newGate(t, resources.Vector{100}, 3)
	gone, rich, poor := seats[0], seats[1], seats[2]
	require.True(t, ask(t, gone, resources.Vector{5}, clock(0)))
	require.NoError(t, gone.Return(resources.Vector{1}))
	gone.Leave()
	require.True(t, ask(t, rich, resources.Vector{5}, clock(0)))
	require.True(t, ask(t, poor, resources.Vector{50}, clock(0)))
	_, err := poor.Miss(resources.Vector{50}, clock(0))
	require.NoError(t, err)
	require.True(t, ask(t, rich, resources.Vector{5}, clock(0)))
	require.NoError(t, gone.Return(resources.Vector{4}))
	require.False(t, ask(t, rich, resources.Vector{5}, clock(0)))
}

func TestGate_OneMachineIsHeldAtATime(t *testing.T) {
	_, seats := newGate(t, resources.Vector{100}, 3)
	a, b, c := seats[0], seats[1], seats[2]
	for _, s := range seats {
		require.True(t, ask(t, s, resources.Vector{1}, clock(0)))
	}
	require.True(t, a.Hold(7, clock(0)))
	require.True(t, a.Hold(7, clock(0)))
	require.False(t, b.Hold(8, clock(0)))
	_, ok := a.Barred(clock(0))
	require.False(t, ok, "not for the seat itself")
	node, ok := c.Barred(clock(0))
	require.True(t, ok)
	require.EqualValues(t, 7, node)
	require.True(t, a.Hold(9, clock(0)), "rather another one")
	node, _ = c.Barred(clock(0))
	require.EqualValues(t, 9, node)
	b.LetGo()
	_, ok = b.Barred(clock(0))
	require.True(t, ok, "only who holds lets go")

	_, ok = c.Barred(clock(1001))
	require.False(t, ok, "a has died")
	require.False(t, ask(t, c, resources.Vector{1}, clock(1001)) && b.Hold(8, clock(1000)))
	require.True(t, ask(t, b, resources.Vector{1}, clock(1001)))
	require.True(t, b.Hold(8, clock(1001)))
	a.LetGo()
	node, ok = c.Barred(clock(1001))
	require.True(t, ok)
	require.EqualValues(t, 8, node)
	b.Leave()
	_, ok = c.Barred(clock(1001))
	require.False(t, ok)
}

func TestGate_BadInputChangesNothing(t *testing.T) {
	_, err := drf.NewGate(resources.Vector{}, time.Second)
	require.ErrorIs(t, err, drf.ErrEmpty)
	_, err = drf.NewGate(resources.Vector{-1}, time.Second)
	require.ErrorIs(t, err, resources.ErrQuantity)
	_, err = drf.NewGate(resources.Vector{1}, 0)
	require.ErrorIs(t, err, drf.ErrPatience)
	g, seats := newGate(t, resources.Vector{100, 100}, 1)
	for _, w := range []float64{0, -1, math.NaN(), math.Inf(1), 2e6, 5e-7} {
		_, err := g.Join(w)
		require.ErrorIs(t, err, drf.ErrWeight)
	}
	require.ErrorIs(t, g.SetTotal(resources.Vector{}), drf.ErrEmpty)
	s := seats[0]
	require.True(t, ask(t, s, resources.Vector{2, 3}, clock(0)))
	_, err = s.Ask(resources.Vector{}, clock(0))
	require.ErrorIs(t, err, drf.ErrEmpty)
	_, err = s.Ask(resources.Vector{-1}, clock(0))
	require.ErrorIs(t, err, resources.ErrQuantity)
	_, err = s.Ask(resources.Vector{1, resources.MaxQuantity}, clock(0))
	require.ErrorIs(t, err, resources.ErrQuantity)
	require.ErrorIs(t, s.Return(resources.Vector{2, 4}), drf.ErrHeld)
	require.ErrorIs(t, s.Return(resources.Vector{-2}), resources.ErrQuantity)
	_, err = s.Miss(resources.Vector{3}, clock(0))
	require.ErrorIs(t, err, drf.ErrHeld)
	require.Equal(t, resources.Vector{2, 3}, s.Usage())
}

// While nothing is returned, nobody who waits gets further ahead than by one
// task of its own, whatever the schedulers' speed.
func TestGate_SharesStayWithinOneTask(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(8)) // the kernel stops some between asking and taking
	const seats, tasks = 8, 100
	for seed := range uint64(3) {
		total := resources.Vector{1e6, 1e6, 1e6}
		g, err := drf.NewGate(total, time.Hour)
		require.NoError(t, err)
		var (
			all     []*drf.Seat
			largest [seats]float64
			weights [seats]float64
			wg      sync.WaitGroup
			errs    [seats]error
			rests   [seats]atomic.Bool
		)
		for i := range seats {
			weights[i] = float64(1 + i%3)
			s, err := g.Join(weights[i])
			require.NoError(t, err)
			all = append(all, s)
			yes, err := s.Ask(resources.Vector{1}, clock(0)) // so that all wait from the beginning
			require.NoError(t, err)
			require.True(t, yes || i > 0)
			largest[i] = 1 / 1e6 / weights[i]
		}
		for i, s := range all {
			rng := rand.New(rand.NewPCG(seed, uint64(i)))
			wg.Go(func() {
				defer func() { rests[i].Store(true); s.Rest() }()
				for n := 0; n < tasks; {
					var need resources.Vector
					need[rng.IntN(3)] = 1 + rng.Int64N(100)
					yes, err := s.Ask(need, clock(0))
					if err != nil {
						errs[i] = err
						return
					}
					if !yes {
						runtime.Gosched()
						continue
					}
					n++
					task := float64(max(need[0], need[1], need[2])) / 1e6 / weights[i]
					largest[i] = max(largest[i], task)
					mine := s.Share()
					for j, o := range all {
						if theirs := o.Share(); !rests[j].Load() && mine > theirs+largest[i]+1e-12 {
							errs[i] = fmt.Errorf("seat %d has %v, seat %d %v, and a task is at most %v", i, mine, j, theirs, largest[i])
							return
						}
					}
				}
			})
		}
		wg.Wait()
		require.NoError(t, errors.Join(errs[:]...))
	}
}

// event is something that happens in a simulated cell.
type event struct {
	at   int64 // microseconds
	what func()
}

type agenda []event

func (a agenda) Len() int           { return len(a) }
func (a agenda) Less(i, j int) bool { return a[i].at < a[j].at }
func (a agenda) Swap(i, j int)      { a[i], a[j] = a[j], a[i] }
func (a *agenda) Push(x any)        { *a = append(*a, x.(event)) }
func (a *agenda) Pop() (x any)      { x, *a = (*a)[len(*a)-1], (*a)[:len(*a)-1]; return x }

// greedy simulates schedulers of different speed that take whatever they may of
// one full cell: each thinks for a while, asks, looks, and takes. It returns
// what share each held, averaged over time, and of how much of the time that of
// the cell that was scarcest.
func greedy(t *testing.T, seed uint64, gated bool) (shares []float64, used float64) {
	t.Helper()
	const seats, end = 16, 8_000_000
	rng := rand.New(rand.NewPCG(seed, 7))
	total := resources.Vector{1600, 3200}
	g, err := drf.NewGate(total, 20*time.Millisecond)
	require.NoError(t, err)
	var (
		todo   agenda
		now    int64
		free   = total
		held   = make([]float64, seats) // share, times microseconds
		since  = make([]int64, seats)
		before = make([]float64, seats)
		busy   float64
	)
	later := func(d int64, what func()) { heap.Push(&todo, event{now + d, what}) }
	note := func(i int, s *drf.Seat) {
		held[i] += before[i] * float64(now-since[i])
		since[i], before[i] = now, s.Share()
	}
	for i := range seats {
		s, err := g.Join(1)
		require.NoError(t, err)
		need := resources.Vector{1 + rng.Int64N(4), 1 + rng.Int64N(4)}
		think := int64(100 * (1 + i)) // the slowest takes 16 times as long as the fastest
		var act func()
		act = func() {
			later(think+rng.Int64N(think), act)
			if !ask(t, s, need, time.UnixMicro(now)) {
				return
			}
			if !gated {
				defer s.Rest() // so that it holds nobody back
			}
			left, ok := free.Sub(need)
			if !ok {
				_, err := s.Miss(need, time.UnixMicro(now))
				require.NoError(t, err)
				return
			}
			s.Keep()
			free = left
			note(i, s)
			later(100_000+rng.Int64N(1_000_000), func() {
				free = free.Add(need)
				require.NoError(t, s.Return(need))
				note(i, s)
			})
		}
		later(rng.Int64N(think), act)
	}
	for now < end {
		e := heap.Pop(&todo).(event)
		busy += float64(e.at-now) * (1 - min(float64(free[0])/float64(total[0]), float64(free[1])/float64(total[1])))
		now = e.at
		e.what()
	}
	for i := range held {
		held[i] /= end
	}
	return held, busy / end
}

func jain(shares []float64) float64 {
	sum, squares := 0.0, 0.0
	for _, s := range shares {
		sum += s
		squares += s * s
	}
	return sum * sum / squares / float64(len(shares))
}

func TestGate_GreedySchedulersOfAnySpeedGetEvenShares(t *testing.T) {
	for seed := range uint64(2) {
		free, _ := greedy(t, seed, false)
		gated, used := greedy(t, seed, true)
		t.Logf("seed %d: Jain's index %.4f without the gate, %.4f with it; the scarcest kind is in use to %.1f %%",
			seed, jain(free), jain(gated), 100*used)
		require.Less(t, jain(free), 0.95, "else there is nothing to even out")
		require.GreaterOrEqual(t, jain(gated), 0.99)
		require.Greater(t, used, 0.9)
	}
}
