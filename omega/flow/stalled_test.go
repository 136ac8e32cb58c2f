package flow_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/cellsched/cellsched/locality"
	"github.com/cellsched/cellsched/omega"
	"github.com/cellsched/cellsched/omega/flow"
	"github.com/cellsched/cellsched/resources"
)

// slow is a store with slow commits: something else happens before the cell applies one,
// or after. It applies no transaction twice.
type slow struct {
	omega.Local

	refresh func(ctx context.Context) error
	before  func(ctx context.Context) error
	after   func(ctx context.Context) error
	applied *omega.Txn
	granted int
	commits int
}

func (s *slow) Refresh(ctx context.Context, now time.Time, visit func(omega.MachineState)) (*omega.Snapshot, error) {
	if err := call(ctx, s.refresh); err != nil {
		return nil, err
	}
	return s.Local.Refresh(ctx, now, visit)
}

func (s *slow) Commit(ctx context.Context, tx *omega.Txn) (granted int, err error) {
	s.commits++
	if s.applied == nil {
		if err := call(ctx, s.before); err != nil {
			return 0, err
		}
		if s.granted, err = s.Local.Commit(ctx, tx); err != nil {
			return 0, err
		}
		s.applied = tx
	}
	if err := call(ctx, s.after); err != nil {
		return 0, err
	}
	s.applied = nil
	return s.granted, nil
}

func call(ctx context.Context, f func(ctx context.Context) error) error {
	if f == nil {
		return nil
	}
	return f(ctx)
}

// until blocks until a gate is open or the context is done, which loses the answer.
func until(gate <-chan struct{}) func(ctx context.Context) error {
	return func(ctx context.Context) error {
		select {
		case <-gate:
			return nil
		case <-ctx.Done():
			return fmt.Errorf("%w: %w", omega.ErrOutcome, context.Cause(ctx))
		}
	}
}

func slowYard(t require.TestingT, slot resources.Vector, machines ...resources.Vector) (*yard, *slow) {
	y := newYard(t, slot, machines...)
	store := &slow{Local: omega.Local{Scheduler: y.ours}}
	y.store = store
	y.begin(t)
	return y, store
}

// While a round waits for its store, whether for a refresh or a commit, all other methods
// answer, and the next round acts on what they were told.
func TestRound_OtherMethodsAnswerWhileTheStoreStalls(t *testing.T) {
	tests := map[string]func(s *slow, gate <-chan struct{}){
		"in a refresh":                func(s *slow, gate <-chan struct{}) { s.refresh = until(gate) },
		"in a commit, not applied":    func(s *slow, gate <-chan struct{}) { s.before = until(gate) },
		"in a commit that is applied": func(s *slow, gate <-chan struct{}) { s.after = until(gate) },
	}
	for what, stall := range tests {
		t.Run(what, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				y, store := slowYard(t, one, one, one, one)
				y.addJob(t, "a", 0, 9)
				ends := y.add(t, "a", one, 0)
				y.round(t)
				running := y.tasks[ends]
				goes, stays := y.add(t, "a", one, 1), y.add(t, "a", one, 2)
				gate := make(chan struct{})
				stall(store, gate)
				var report flow.Report[name]
				var failed error
				done := make(chan struct{})
				go func() {
					defer close(done)
					report, failed = y.s.Round(t.Context(), y.now)
				}()
				synctest.Wait()
				select {
				case <-done:
					require.Fail(t, "the round waits for its store")
				default:
				}

				_, err := y.s.Round(t.Context(), y.now)
				require.ErrorIs(t, err, flow.ErrBusy)
				require.ErrorIs(t, y.s.AddRunning(99, flow.Running[job]{Job: "a", Allocation: running.alloc}, y.now), flow.ErrBusy)
				late := y.add(t, "a", one, 0)
				require.NoError(t, y.s.Update(stays, y.now))
				require.ErrorIs(t, y.s.Stopped(stays), flow.ErrRuns)
				y.done(t, ends)
				y.done(t, goes)
				require.NoError(t, y.s.AddJob("c", 0, 1))
				require.NoError(t, y.s.SetShares("c", 0, 2))
				require.NoError(t, y.s.RemoveJob("c"))
				e, err := y.s.Explain(stays)
				require.NoError(t, err)
				require.Zero(t, e.Room.Machines, "the snapshot is the round's")
				require.NotContains(t, e.String(), "room:")
				err = y.s.WriteNetwork(io.Discard, y.now)
				require.NoError(t, err)
				require.NoError(t, y.s.WriteDOT(io.Discard))

				close(gate)
				<-done
				require.NoError(t, failed)
				y.follow(t, report)
				y.check(t)
				y.round(t)
				require.True(t, y.tasks[stays].runs)
				require.True(t, y.tasks[late].runs)
				y.round(t)
				used, err := y.cell.Usage(accountOf(y.cell, "a"))
				require.NoError(t, err)
				require.Equal(t, one.Scale(2), used, "tasks that were done meanwhile hold nothing")
			})
		})
	}
}

// The outcome of a round is in doubt if its context ends in a commit. The next round asks
// again for the outcome of the same transaction, and plans nothing before.
func TestRound_OutcomeInDoubtIsAskedForAgain(t *testing.T) {
	for what, applied := range map[string]bool{"applied": true, "not applied": false} {
		t.Run(what, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				y, store := slowYard(t, one, one, one)
				y.addJob(t, "a", 0, 9)
				first := y.add(t, "a", one, 0)
				gate := make(chan struct{})
				if applied {
					store.after = until(gate)
				} else {
					store.before = until(gate)
				}
				for range 2 {
					ctx, cancel := context.WithTimeoutCause(t.Context(), time.Minute, errLine)
					r, err := y.s.Round(ctx, y.now)
					cancel()
					require.ErrorIs(t, err, omega.ErrOutcome)
					require.ErrorIs(t, err, errLine)
					require.Empty(t, r.Start)
					require.Equal(t, 1, r.Running, "the plan stands")
				}
				ctx, cancel := context.WithCancel(t.Context())
				cancel()
				_, err := y.s.Round(ctx, y.now)
				require.ErrorIs(t, err, omega.ErrOutcome)

				close(gate)
				other := y.add(t, "a", one, 1)
				r := y.round(t)
				require.Equal(t, []name{first}, starts(r), "the round that was in doubt, and no other plan")
				require.Equal(t, 4, store.commits)
				require.Equal(t, []name{other}, starts(y.round(t)))
			})
		})
	}
}

var errLine = errors.New("line is down")

// The cell decides on a commit as it is by then. Claims on a removed machine are refused, and
// those of a replaced scheduler.
func TestRound_CellChangesWhileTheCommitIsOnTheWay(t *testing.T) {
	t.Run("a machine is removed", func(t *testing.T) {
		y, store := slowYard(t, one, one, one)
		y.addJob(t, "a", 0, 9)
		n := y.add(t, "a", one, 0)
		store.before = func(context.Context) error {
			store.before = nil
			y.lose(t, machineAt(y.cell, 0))
			return nil
		}
		r := y.round(t)
		require.Empty(t, r.Start)
		require.Equal(t, 1, r.Conflicts)
		require.Equal(t, []name{n}, starts(y.round(t)), "on the other one")
	})
	t.Run("the scheduler is replaced", func(t *testing.T) {
		y, store := slowYard(t, one, one)
		y.addJob(t, "a", 0, 9)
		n := y.add(t, "a", one, 0)
		store.before = func(context.Context) error {
			_, err := y.cell.Replace("flow")
			require.NoError(t, err)
			return nil
		}
		r, err := y.s.Round(t.Context(), y.now)
		require.ErrorIs(t, err, omega.ErrSuperseded)
		require.Empty(t, r.Start)
		e, err := y.s.Explain(n)
		require.NoError(t, err)
		require.ErrorIs(t, e.Refused, omega.ErrSuperseded)
	})
}

// A store that panics leaves the scheduler in order.
func TestRound_StoreThatPanicsHoldsNoLock(t *testing.T) {
	y, store := slowYard(t, one, one)
	y.addJob(t, "a", 0, 9)
	y.add(t, "a", one, 0)
	store.refresh = func(context.Context) error { panic("store") }
	require.PanicsWithValue(t, "store", func() { _, _ = y.s.Round(t.Context(), y.now) })
	store.refresh = nil
	y.round(t)
	require.Equal(t, 1, y.running("a"))
}

// Calls and changes of the cell may come while commits are on the way, or in doubt. No task
// runs on room that it does not have, and in the end all is given back.
func TestRound_AnythingWhileCommitsAreOnTheWay(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		y, store := slowYard(t, resources.Vector{2, 2})
		for range rapid.IntRange(1, 4).Draw(t, "machines") {
			y.addMachine(t, draw(t, "capacity", 8))
		}
		if rapid.Bool().Draw(t, "limited") {
			most := draw(t, "limit", 12)
			y.limit(t, omega.Limits{Held: &most})
			store.Scheduler = y.ours
		}
		y.addJob(t, "a", rapid.IntRange(0, 2).Draw(t, "E"), 5)
		y.addJob(t, "b", 0, 9)
		pick := func(label string, n int) int { return rapid.IntRange(0, n-1).Draw(t, label) }
		meddle := func() {
			for range rapid.IntRange(0, 3).Draw(t, "meddles") {
				states := y.states()
				switch what := pick("meddle", 6); {
				case what == 0:
					y.add(t, "b", drawNeed(t, 4), locality.Node(pick("data", 4)))
				case what == 1 && len(y.names) > 0:
					y.done(t, y.names[pick("task", len(y.names))])
				case what == 2:
					for _, n := range y.names {
						if y.tasks[n].stop && rapid.Bool().Draw(t, "has") {
							y.stopped(t, n)
						}
					}
				case what == 3 && len(states) > 0:
					y.take(t, states[pick("machine", len(states))].ID, drawNeed(t, 4), omega.Precedence(pick("precedence", 3)))
				case what == 4 && len(states) > 1:
					y.lose(t, states[pick("machine", len(states))].ID)
				case what == 5:
					y.addMachine(t, draw(t, "capacity", 8))
				}
			}
		}
		doubts := 0
		midst := func(context.Context) error {
			meddle()
			if doubts > 0 {
				doubts--
				return omega.ErrOutcome
			}
			return nil
		}
		t.Repeat(map[string]func(*rapid.T){
			"add": func(t *rapid.T) { y.add(t, "a", drawNeed(t, 3), locality.Node(pick("data", 4))) },
			"end": func(t *rapid.T) {
				if len(y.names) > 0 {
					y.done(t, y.names[pick("task", len(y.names))])
				}
			},
			"return": func(t *rapid.T) {
				if len(y.theirs) > 0 {
					y.giveBack(t, pick("which", len(y.theirs)))
				}
			},
			"round": func(t *rapid.T) {
				doubts = rapid.IntRange(0, 2).Draw(t, "doubts")
				store.before, store.after = nil, nil
				if rapid.Bool().Draw(t, "before") {
					store.before = midst
				} else {
					store.after = midst
				}
				for {
					r, err := y.s.Round(t.Context(), y.now)
					y.follow(t, r)
					y.check(t)
					if err == nil {
						break
					}
					require.ErrorIs(t, err, omega.ErrOutcome)
					meddle()
				}
				store.before, store.after = nil, nil
				y.round(t)
				y.pass(t, time.Duration(pick("seconds", 9))*time.Second)
			},
			"": func(t *rapid.T) { y.check(t) },
		})
		y.drain(t)
	})
}

// A commit that fails has changed nothing. The next round gives back the room of tasks that
// have ended, and places no task that is done.
func TestRound_CommitThatFailsKeepsWhatWasTold(t *testing.T) {
	y, store := slowYard(t, one, one, one, one)
	y.addJob(t, "a", 0, 9)
	early, late := y.add(t, "a", one, 0), y.add(t, "a", one, 1)
	y.round(t)
	y.done(t, early)
	goes := y.add(t, "a", one, 2)
	store.before = func(context.Context) error {
		y.done(t, late)
		y.done(t, goes)
		return errLine
	}
	r, err := y.s.Round(t.Context(), y.now)
	require.EqualError(t, err, errLine.Error(), "and nothing else")
	require.Empty(t, r.Start)
	store.before = nil
	y.round(t)
	used, err := y.cell.Usage(accountOf(y.cell, "a"))
	require.NoError(t, err)
	require.Zero(t, used)
}

// A task that the plan has preempted is told to stop once the commit has its outcome. A task
// that is done by then is not told.
func TestRound_TellsToStopAfterTheOutcome(t *testing.T) {
	y, store := slowYard(t, one, one, one)
	y.addJob(t, "a", 0, 9)
	gone, leaves := y.add(t, "a", one, 0), y.add(t, "a", one, 1)
	y.round(t)
	y.lose(t, y.tasks[gone].on)
	y.addJob(t, "b", 0, 9)
	y.add(t, "b", one, 1)
	require.NoError(t, y.s.SetShares("a", 0, 0))
	y.jobs["a"] = [2]int{0, 0}
	store.before = func(context.Context) error {
		require.ErrorIs(t, y.s.Stopped(leaves), flow.ErrRuns)
		y.done(t, gone)
		return nil
	}
	r := y.round(t)
	require.Positive(t, store.commits)
	require.Equal(t, []name{leaves}, stops(r))
}
