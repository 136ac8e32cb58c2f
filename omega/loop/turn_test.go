package loop_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/cellsched/cellsched/drf"
	"github.com/cellsched/cellsched/internal/niltest"
	"github.com/cellsched/cellsched/omega"
	"github.com/cellsched/cellsched/omega/loop"
	"github.com/cellsched/cellsched/resources"
)

// gated is a loop at a gate, with its scheduler.
type gated struct {
	*loop.Loop[string]
	sched *omega.Scheduler
	order *loop.ByTurn[string]
	held  []omega.AllocationID
}

func newGated(tb testing.TB, cell *omega.Cell, gate *loop.Gate, name string, weight float64, cfg loop.Config[string]) *gated {
	tb.Helper()
	g := &gated{sched: register(tb, cell, name)}
	var err error
	g.order, err = loop.NewByTurn(gate, weight, g.sched.Usage, cfg.Order)
	require.NoError(tb, err)
	cfg.Store, cfg.Order = omega.Local{Scheduler: g.sched}, g.order
	hook := cfg.Observe
	cfg.Observe = func(e loop.Event[string]) {
		g.held = append(g.held, e.Allocations...)
		if hook != nil {
			hook(e)
		}
	}
	g.Loop, err = loop.New(cfg)
	require.NoError(tb, err)
	return g
}

func newGate(tb testing.TB, total resources.Vector) *loop.Gate {
	tb.Helper()
	gate, err := loop.NewGate(total, time.Second)
	require.NoError(tb, err)
	return gate
}

// Loops that step in turns share a cell by weighted dominant share, to a task, although
// the first of them could have taken all.
func TestByTurn_EvensOutShares(t *testing.T) {
	total := resources.Vector{24, 24}
	cell, err := omega.NewCell(omega.Config{Machines: []omega.Machine{{Name: "m", Capacity: total}}})
	require.NoError(t, err)
	gate := newGate(t, total)
	needs := []resources.Vector{{1, 0}, {0, 2}, {1, 1}}
	weights := []float64{1, 1, 2}
	filler := newGated(t, cell, gate, "filler", 1, loop.Config[string]{})
	_, err = filler.Submit(epoch, loop.Job[string]{Key: "all", Need: total, Tasks: 1})
	require.NoError(t, err)
	steps(t, filler, epoch)
	var loops []*gated
	for i, need := range needs {
		l := newGated(t, cell, gate, fmt.Sprint("s", i), weights[i], loop.Config[string]{})
		_, err := l.Submit(epoch, loop.Job[string]{Key: "j", Need: need, Tasks: 100})
		require.NoError(t, err)
		steps(t, l, epoch) // it waits
		loops = append(loops, l)
	}
	require.NoError(t, filler.sched.Release(filler.held[0]))
	shares := func() (all []float64) {
		for i, l := range loops {
			v := l.sched.Usage()
			all = append(all, float64(max(v[0], v[1]))/24/weights[i])
		}
		return all
	}
	for range 200 {
		for _, l := range loops {
			l.Recheck()
			_, _, err := l.Step(t.Context(), epoch)
			require.NoError(t, err)
			all := shares()
			require.LessOrEqual(t, max(all[0], all[1], all[2])-min(all[0], all[1], all[2]), 2.0/24+1e-9)
		}
	}
	free := total
	for _, l := range loops {
		free, _ = free.Sub(l.sched.Usage())
	}
	require.LessOrEqual(t, free[0], int64(1), "the cell is full")
}

// Three loops run for an hour on a cell that is always full. Any room that appears goes
// to the one with the least share, at once, and the time that each has held is even.
func TestByTurn_SharesStayEvenWhileLoopsRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		total := resources.Vector{12, 12}
		cell, err := omega.NewCell(omega.Config{Machines: []omega.Machine{
			{Name: "m0", Capacity: resources.Vector{6, 6}}, {Name: "m1", Capacity: resources.Vector{6, 6}},
		}})
		require.NoError(t, err)
		gate, err := loop.NewGate(total, time.Hour) // no loop is silent for so long: each is woken
		require.NoError(t, err)
		ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
		defer cancel()
		var mu sync.Mutex // guards held and schedulers
		held := make([]time.Duration, 3)
		var running sync.WaitGroup
		for i, need := range []resources.Vector{{2, 1}, {1, 1}, {1, 0}} {
			var l *gated
			l = newGated(t, cell, gate, fmt.Sprint("s", i), 1, loop.Config[string]{
				Recheck: time.Hour, Attempts: -1, // time alone wakes none of them
				Observe: func(e loop.Event[string]) {
					for n, a := range e.Allocations {
						d := time.Duration(3+i+n) * time.Second
						time.AfterFunc(d, func() {
							mu.Lock()
							defer mu.Unlock()
							held[i] += time.Duration(need[0]) * d
							_ = l.sched.Release(a)
						})
					}
				},
			})
			_, err := l.Submit(time.Now(), loop.Job[string]{Key: "j", Need: need, Tasks: 1_000_000})
			require.NoError(t, err)
			running.Go(func() { _ = l.Run(ctx) })
		}
		running.Wait()
		time.Sleep(time.Minute)
		mu.Lock()
		defer mu.Unlock()
		sum := held[0] + held[1] + held[2]
		require.InDelta(t, 12*time.Hour, sum, float64(30*time.Minute), "nothing idles: %v", held)
		for _, one := range held {
			require.InDelta(t, sum/3, one, float64(sum)/12)
		}
	})
}

// A loop that has found no room holds none back. Neither does one without jobs, one that
// is never stepped for longer than the patience, and one that has left.
func TestByTurn_ALoopThatCannotGoHoldsNoneBack(t *testing.T) {
	for name, stop := range map[string]func(t *testing.T, poor *gated) time.Duration{
		"no room": func(t *testing.T, poor *gated) time.Duration {
			t.Helper()
			_, err := poor.Submit(epoch, job("large", 1, 5))
			require.NoError(t, err)
			steps(t, poor, epoch)
			return 0
		},
		"no jobs": func(*testing.T, *gated) time.Duration { return 0 },
		"silent": func(t *testing.T, poor *gated) time.Duration {
			t.Helper()
			_, err := poor.Submit(epoch, job("small", 1, 1))
			require.NoError(t, err)
			require.Nil(t, poor.order.Next())
			return 2 * time.Second
		},
		"left": func(t *testing.T, poor *gated) time.Duration {
			t.Helper()
			_, err := poor.Submit(epoch, job("large", 1, 5))
			require.NoError(t, err)
			poor.order.Leave()
			return 0
		},
	} {
		t.Run(name, func(t *testing.T) {
			cell := newCell(t, 4, 4)
			gate := newGate(t, resources.Vector{8})
			poor, rich := newGated(t, cell, gate, "poor", 1, loop.Config[string]{}), newGated(t, cell, gate, "rich", 1, loop.Config[string]{})
			_, err := rich.Submit(epoch, job("j", 8, 1))
			require.NoError(t, err)
			steps(t, rich, epoch.Add(stop(t, poor)))
			require.Len(t, rich.held, 8)
		})
	}
}

// A loop that is not its turn sleeps until the other one is silent for too long.
func TestByTurn_ARefusedLoopIsDueWhenThePatienceEnds(t *testing.T) {
	cell := newCell(t, 4)
	gate := newGate(t, resources.Vector{4})
	poor, rich := newGated(t, cell, gate, "poor", 1, loop.Config[string]{}), newGated(t, cell, gate, "rich", 1, loop.Config[string]{})
	submit := func(l *gated, tasks int) {
		_, err := l.Submit(epoch, job("j", tasks, 1))
		require.NoError(t, err)
	}
	submit(rich, 1)
	steps(t, rich, epoch)
	seat := loop.SeatOf(poor.order)
	yes, err := seat.Ask(resources.Vector{1}, epoch)
	require.NoError(t, err)
	require.True(t, yes)
	require.NoError(t, seat.Undo(resources.Vector{1}))
	submit(rich, 1)
	next, more, err := rich.Step(t.Context(), epoch)
	require.NoError(t, err)
	require.True(t, more)
	require.Equal(t, at(1), next)
	steps(t, rich, at(1.5))
	require.Len(t, rich.held, 2)
}

// Room that is released may be too little for the loop with the smallest share. It says so at
// once, although its own back-off is long, and the next loop has its turn.
func TestByTurn_ALoopWithoutRoomLetsTheNextOneGoAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cell := newCell(t, 4)
		gate, err := loop.NewGate(resources.Vector{4}, time.Hour)
		require.NoError(t, err)
		ctx, cancel := context.WithCancel(t.Context())
		start := time.Now()
		var placed []time.Duration
		cfg := loop.Config[string]{MinDelay: time.Hour, Recheck: time.Hour}
		poor := newGated(t, cell, gate, "poor", 1, cfg)
		cfg.Observe = func(e loop.Event[string]) {
			if e.Kind == loop.Placed {
				placed = append(placed, e.At.Sub(start))
			}
		}
		rich := newGated(t, cell, gate, "rich", 1, cfg)
		var running sync.WaitGroup
		_, err = rich.Submit(start, job("first", 4, 1))
		require.NoError(t, err)
		running.Go(func() { _ = rich.Run(ctx) })
		time.Sleep(time.Second)
		synctest.Wait()
		_, err = poor.Submit(time.Now(), job("large", 1, 2))
		require.NoError(t, err)
		running.Go(func() { _ = poor.Run(ctx) })
		time.Sleep(time.Second)
		synctest.Wait()
		_, err = rich.Submit(time.Now(), job("second", 1, 1))
		require.NoError(t, err)
		time.Sleep(time.Second)
		synctest.Wait()
		require.NoError(t, rich.sched.Release(rich.held[0]))
		time.Sleep(time.Second)
		synctest.Wait()
		cancel()
		running.Wait()
		require.Equal(t, []time.Duration{0, 3 * time.Second}, placed)
	})
}

// steps steps a loop while there is something to do at now.
func steps(tb testing.TB, l *gated, now time.Time) {
	tb.Helper()
	for next, more, n := now, true, 0; more && !next.After(now); n++ {
		require.Less(tb, n, 10_000, "the loop never comes to rest")
		var err error
		next, more, err = l.Step(tb.Context(), now)
		require.NoError(tb, err)
	}
}

// Whatever loops submit, cancel and release, of gangs and others: in the end all jobs are
// placed, and the gate counts what the schedulers hold.
func TestByTurn_NoneIsHeldBackForEver(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		cell := newCell(t, 3, 3, 3)
		gate := newGate(t, resources.Vector{9})
		var loops []*gated
		for i := range 3 {
			loops = append(loops, newGated(t, cell, gate, fmt.Sprint("s", i), 1, loop.Config[string]{
				MinDelay: time.Millisecond, MaxDelay: 50 * time.Millisecond, Attempts: -1, Fruitless: -1,
				Think: func(*loop.Job[string], int) time.Duration { return time.Duration(i) * time.Millisecond },
			}))
		}
		all := map[*gated][]*loop.Pending[string]{}
		now := epoch
		for range rapid.IntRange(1, 30).Draw(rt, "actions") {
			l := rapid.SampledFrom(loops).Draw(rt, "loop")
			switch rapid.IntRange(0, 3).Draw(rt, "action") {
			case 0:
				j := job("j", rapid.IntRange(1, 3).Draw(rt, "tasks"), rapid.Int64Range(1, 3).Draw(rt, "need"))
				j.Gang = rapid.Bool().Draw(rt, "gang")
				p, err := l.Submit(now, j)
				require.NoError(rt, err)
				all[l] = append(all[l], p)
			case 1:
				if len(l.held) > 0 {
					require.NoError(rt, l.sched.Release(l.held[0]))
					l.held = l.held[1:]
				}
			case 2:
				if len(all[l]) > 0 {
					l.Cancel(rapid.SampledFrom(all[l]).Draw(rt, "job"))
				}
			}
			_, _, err := l.Step(t.Context(), now)
			require.NoError(rt, err)
			now = now.Add(time.Millisecond)
		}
		for n := 0; ; n++ {
			left := false
			for _, l := range loops {
				for _, a := range l.held {
					require.NoError(rt, l.sched.Release(a))
				}
				l.held = nil
				_, _, err := l.Step(t.Context(), now)
				require.NoError(rt, err)
				left = left || l.Stats().Pending > 0
			}
			if !left {
				break
			}
			require.Less(rt, n, 10_000)
			now = now.Add(time.Millisecond)
		}
		for _, l := range loops {
			for _, a := range l.held {
				require.NoError(rt, l.sched.Release(a))
			}
			l.held = nil
			require.Zero(rt, l.sched.Usage())
		}
		for _, l := range loops {
			_, err := l.Submit(now, job("last", 1, 1)) // a turn counts what was released
			require.NoError(rt, err)
			steps(t, l, now)
			for n := 0; !l.order.Resting(); n++ {
				require.Less(rt, n, 100)
				now = now.Add(time.Second)
				steps(t, l, now)
			}
			require.Len(rt, l.held, 1)
			require.Equal(rt, l.sched.Usage(), loop.SeatOf(l.order).Usage(), "the gate counts what the scheduler holds")
		}
	})
}

func TestNewByTurn_RefusesBadInput(t *testing.T) {
	usage := func() resources.Vector { return resources.Vector{} }
	_, err := loop.NewGate(resources.Vector{}, time.Second)
	require.ErrorIs(t, err, drf.ErrEmpty)
	_, err = loop.NewByTurn[string](nil, 1, usage, nil)
	require.ErrorIs(t, err, resources.ErrNil)
	gate := newGate(t, resources.Vector{1})
	_, err = loop.NewByTurn[string](gate, 1, nil, nil)
	require.ErrorIs(t, err, resources.ErrNil)
	_, err = loop.NewByTurn[string](gate, 0, usage, nil)
	require.ErrorIs(t, err, drf.ErrWeight)
	niltest.Methods(t, (*loop.Gate)(nil), resources.ErrNil, nil)
	niltest.Methods(t, new(loop.ByTurn[string]), resources.ErrNil, nil)
}

// Two loops place in parallel. None may take all: each has its turn while its dominant share
// is the smaller one.
func ExampleNewByTurn() {
	cell, first := exampleCell()
	second, _ := cell.Register("second", omega.Limits{})
	gate, _ := loop.NewGate(resources.Vector{8}, time.Second)
	var loops []*loop.Loop[string]
	for _, s := range []*omega.Scheduler{first, second} {
		order, err := loop.NewByTurn(gate, 1, s.Usage, loop.FIFO[string]())
		if err != nil {
			panic(err)
		}
		l, _ := loop.New(loop.Config[string]{Store: omega.Local{Scheduler: s}, Order: order})
		for range 10 {
			_, _ = l.Submit(epoch, loop.Job[string]{Key: "job", Need: resources.Vector{1}, Tasks: 1})
		}
		loops = append(loops, l)
	}
	for range 20 {
		for _, l := range loops { // in a program each is in a goroutine, with Run
			_, _, _ = l.Step(context.Background(), epoch)
		}
	}
	fmt.Println(first.Usage()[0], second.Usage()[0])
	// Output:
	// 4 4
}
