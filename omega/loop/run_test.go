package loop_test

import (
	"context"
	"errors"
	"math/rand/v2"
	"strconv"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/cellsched/cellsched/omega"
	"github.com/cellsched/cellsched/omega/loop"
	"github.com/cellsched/cellsched/resources"
)

// run runs r until stop is called, which returns what Run returned.
func (r *rig) run(t *testing.T) (stop func() error) {
	t.Helper()
	ctx, cancel := context.WithCancelCause(t.Context())
	done := make(chan error, 1)
	go func() { done <- r.Run(ctx) }()
	synctest.Wait()
	return func() error {
		cancel(errStop)
		return <-done
	}
}

var errStop = errors.New("stop")

// seen is the time since start of each event of a kind, by job. To be called
// in a synctest bubble.
func seen(r *rig, kind loop.Kind, start time.Time) map[string]time.Duration {
	synctest.Wait()
	times := map[string]time.Duration{}
	for _, e := range r.events {
		if e.Kind == kind {
			times[e.Pending.Job().Key] = e.At.Sub(start)
		}
	}
	return times
}

func TestRun_PlacesWhatIsSubmittedUntilItIsStopped(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, newCell(t, 8), loop.Config[string]{})
		stop := r.run(t)
		start := time.Now()
		for i := range 3 {
			r.submit(t, time.Now(), job(strconv.Itoa(i), 1, 1))
			time.Sleep(time.Hour)
		}
		require.Equal(t, map[string]time.Duration{"0": 0, "1": time.Hour, "2": 2 * time.Hour}, seen(r, loop.Complete, start))
		require.Equal(t, errStop, stop())
		require.EqualValues(t, 3, r.Stats().Complete)
	})
}

func TestRun_IsWokenWhenRoomAppears(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cell := newCell(t, 4, 4)
		other := register(t, cell, "other")
		a, rest, b := claim(t, other, "m0", cell, 2), claim(t, other, "m0", cell, 2), claim(t, other, "m1", cell, 4)
		r := newRig(t, cell, loop.Config[string]{MinDelay: 24 * time.Hour})
		stop := r.run(t)
		start := time.Now()
		gang := job("gang", 2, 3)
		gang.Gang = true
		r.submit(t, start, gang)
		r.submit(t, start, job("small", 1, 1))

		time.Sleep(time.Minute)
		require.NoError(t, other.Release(a))
		time.Sleep(time.Minute)
		require.Equal(t, map[string]time.Duration{"small": time.Minute}, seen(r, loop.Complete, start))
		require.NoError(t, other.Release(rest))
		require.NoError(t, other.Release(b))
		time.Sleep(time.Minute)
		require.Equal(t, map[string]time.Duration{"small": time.Minute, "gang": 2 * time.Minute}, seen(r, loop.Complete, start))
		require.EqualValues(t, 4, r.Stats().Attempts, "looking costs no attempt")
		require.Equal(t, errStop, stop())
		require.NoError(t, cell.Check())
	})
}

// sleeper is a store that says when a Wait has found room.
type sleeper struct {
	omega.Local
	woken func()
}

func (s sleeper) WaitAny(ctx context.Context, gangs ...[]resources.Vector) error {
	err := s.Local.WaitAny(ctx, gangs...)
	if err == nil {
		s.woken()
	}
	return err
}

// A loop that is woken and has no use for the room wakes the next scheduler. A gang for
// which there is too little room is not woken.
func TestRun_PassesOnTheRoomThatItDoesNotUse(t *testing.T) {
	tests := map[string]struct {
		tasks, wakes int
		then         func(r *rig, p *loop.Pending[string], stop context.CancelCauseFunc)
	}{
		"the job is cancelled": {1, 1, func(r *rig, p *loop.Pending[string], _ context.CancelCauseFunc) { r.Cancel(p) }},
		"the loop is stopped":  {1, 1, func(_ *rig, _ *loop.Pending[string], stop context.CancelCauseFunc) { stop(errStop) }},
		"there is too little":  {2, 0, func(*rig, *loop.Pending[string], context.CancelCauseFunc) {}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				cell := newCell(t, 4)
				other := register(t, cell, "other")
				taken := claim(t, other, "m0", cell, 3)
				claim(t, other, "m0", cell, 1)

				ctx, stop := context.WithCancelCause(t.Context())
				var r *rig
				var p *loop.Pending[string]
				wakes := 0
				r = newRig(t, cell, loop.Config[string]{MinDelay: 24 * time.Hour, Store: sleeper{
					omega.Local{Scheduler: register(t, cell, "sleeper")}, func() { wakes++; tt.then(r, p, stop) },
				}})
				gang := job("gang", tt.tasks, 2)
				gang.Gang = true
				p = r.submit(t, time.Now(), gang)
				done := make(chan error, 1)
				go func() { done <- r.Run(ctx) }()
				synctest.Wait()

				second := register(t, cell, "second")
				woken := make(chan error, 1)
				go func() { woken <- second.Wait(t.Context(), resources.Vector{3}) }()
				synctest.Wait()
				require.NoError(t, other.Release(taken))
				synctest.Wait()
				require.Equal(t, tt.wakes, wakes)
				require.Len(t, woken, 1, "the next one was not woken")
				require.NoError(t, <-woken)
				stop(errStop)
				require.Equal(t, errStop, <-done)
			})
		})
	}
}

func TestRun_KeepsDeadlinesBackoffsAndRechecksOnTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cell := newCell(t, 4)
		r := newRig(t, cell, loop.Config[string]{Recheck: time.Minute})
		stop := r.run(t)
		start := time.Now()
		large := job("large", 1, 5)
		r.submit(t, start, large)
		large.Key, large.Deadline = "late", start.Add(90*time.Second)
		r.submit(t, start, large)
		time.Sleep(100 * time.Second)
		_, err := cell.Add(omega.Machine{Name: "large", Capacity: resources.Vector{5}})
		require.NoError(t, err)
		time.Sleep(time.Hour)
		require.Equal(t, map[string]time.Duration{"late": 90 * time.Second}, seen(r, loop.Expired, start))
		require.Equal(t, map[string]time.Duration{"large": 2 * time.Minute}, seen(r, loop.Complete, start))
		require.Equal(t, errStop, stop())
	})
}

// blind is a store that cannot wait.
type blind struct{ local omega.Local }

func (b blind) Refresh(ctx context.Context, now time.Time, visit func(omega.MachineState)) (*omega.Snapshot, error) {
	return b.local.Refresh(ctx, now, visit)
}

func (b blind) Commit(ctx context.Context, tx *omega.Txn) (int, error) {
	return b.local.Commit(ctx, tx)
}

func TestRun_TriesAgainByTheClockWhereTheStoreCannotWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cell := newCell(t, 4)
		other := register(t, cell, "other")
		taken := claim(t, other, "m0", cell, 4)
		r := newRig(t, cell, loop.Config[string]{
			Store: blind{omega.Local{Scheduler: register(t, cell, "blind")}}, MinDelay: time.Second, MaxDelay: time.Second,
		})
		stop := r.run(t)
		start := time.Now()
		r.submit(t, start, job("j", 1, 1))
		time.Sleep(5500 * time.Millisecond)
		require.NoError(t, other.Release(taken))
		time.Sleep(time.Minute)
		require.Equal(t, map[string]time.Duration{"j": 6 * time.Second}, seen(r, loop.Complete, start))
		require.Equal(t, errStop, stop())
	})
}

func TestRun_ThinksInRealTimeToo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, newCell(t, 8), loop.Config[string]{Think: think})
		stop := r.run(t)
		start := time.Now()
		r.submit(t, start, job("a", 2, 1))
		p := r.submit(t, start, job("b", 2, 1))
		time.Sleep(150 * time.Millisecond)
		r.Cancel(p) // in the middle of its attempt
		time.Sleep(time.Second)
		require.Equal(t, map[string]time.Duration{"a": 110 * time.Millisecond}, seen(r, loop.Complete, start))
		require.Equal(t, map[string]time.Duration{"b": 150 * time.Millisecond}, seen(r, loop.Cancelled, start))
		require.Equal(t, errStop, stop())
		s := r.Stats()
		require.Equal(t, 110*time.Millisecond, s.Useful)
		require.Equal(t, 40*time.Millisecond, s.Wasted)
		require.Equal(t, resources.Vector{2}, r.sched.Usage())
	})
}

func TestRun_ReturnsAPanicWithWhatWasBeingHandedOver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cell := newCell(t, 8)
		boom := errors.New("boom")
		failing := true
		r := newRig(t, cell, loop.Config[string]{Observe: func(e loop.Event[string]) {
			if e.Kind == loop.Placed && failing {
				failing = false
				panic(boom)
			}
		}})
		r.submit(t, time.Now(), job("j", 2, 1))
		err := r.Run(t.Context())
		var p *loop.PanicError
		require.ErrorAs(t, err, &p)
		require.ErrorIs(t, err, boom)
		require.ErrorContains(t, err, "run_test.go", "the stack says where")
		require.Equal(t, r.held["j"], p.Allocations)

		stop := r.run(t)
		r.submit(t, time.Now(), job("k", 1, 1))
		synctest.Wait()
		require.Equal(t, errStop, stop())
		require.Equal(t, []string{
			"j submitted", "j placed 2", "j complete", "k submitted", "k placed 1", "k complete",
		}, r.log())
	})
}

func TestRun_ReturnsTheErrorOfTheStore(t *testing.T) {
	f, r := newFaulty(t, newCell(t, 8), loop.Config[string]{})
	f.refresh = errStore
	r.submit(t, time.Now(), job("j", 1, 1))
	require.ErrorIs(t, r.Run(t.Context()), errStore)
}

// Several loops on one cell, with jobs that end and tasks that are released:
// everything is placed, and nothing is granted twice.
func TestRun_ManyLoopsShareACell(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const loops, jobs = 4, 50
		cell := newCell(t, 8, 8, 8)
		ctx, cancel := context.WithCancelCause(t.Context())
		var running, working sync.WaitGroup
		for n := range loops {
			s := register(t, cell, "loop"+strconv.Itoa(n))
			var l *loop.Loop[int]
			l, err := loop.New(loop.Config[int]{
				Store: omega.Local{Scheduler: s}, Fruitless: -1, Attempts: -1,
				Rand: rand.New(rand.NewPCG(uint64(n), 0)),
				Observe: func(e loop.Event[int]) {
					for _, a := range e.Allocations {
						go func() {
							defer working.Done()
							time.Sleep(time.Duration(e.Pending.Job().Key) * time.Millisecond)
							if err := s.Release(a); err != nil {
								t.Error(err)
							}
						}()
					}
				},
			})
			require.NoError(t, err)
			running.Go(func() {
				if err := l.Run(ctx); !errors.Is(err, errStop) {
					t.Error(err)
				}
			})
			rng := rand.New(rand.NewPCG(uint64(n), 1))
			for i := range jobs {
				tasks := 1 + rng.IntN(4)
				working.Add(tasks)
				_, err := l.Submit(time.Now(), loop.Job[int]{
					Key: i, Tasks: tasks, Gang: i%3 == 0, Need: resources.Vector{1 + rng.Int64N(4)},
				})
				require.NoError(t, err)
			}
		}
		working.Wait()
		cancel(errStop)
		running.Wait()
		require.NoError(t, cell.Check())
		for m := range cell.Machines() {
			require.Equal(t, m.Capacity, m.Free)
		}
	})
}
