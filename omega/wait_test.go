package omega_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/cellsched/cellsched/omega"
	"github.com/cellsched/cellsched/resources"
)

// waiting is a call of Wait in a goroutine of its own.
type waiting struct {
	s    *omega.Scheduler
	over bool
	err  error
}

// wait calls Wait and returns once that has returned or all goroutines are asleep. It
// is for a test in a bubble.
func wait(ctx context.Context, s *omega.Scheduler, need ...int64) *waiting {
	w := &waiting{s: s}
	go func() {
		w.err = s.Wait(ctx, claim(0, need...).Need)
		w.over = true
	}()
	synctest.Wait()
	return w
}

// asleep requires that none of the waits has been woken so far.
func asleep(t *testing.T, message string, ws ...*waiting) {
	t.Helper()
	synctest.Wait()
	for i, w := range ws {
		require.False(t, w.over, "%s: waiter %d is awake: %v", message, i, w.err)
	}
}

// awake requires that w was woken for room.
func awake(t *testing.T, message string, w *waiting) {
	t.Helper()
	synctest.Wait()
	require.True(t, w.over, message+": asleep")
	require.NoError(t, w.err, message)
}

// packedCell returns a cell of full machines, each with room for so many units, their
// holder, and its allocations: for each machine one allocation a unit.
func packedCell(t *testing.T, machines int, units int64) (*omega.Cell, []omega.MachineID, *omega.Scheduler, [][]omega.AllocationID) {
	t.Helper()
	cell, ids := newCell(t, machines, resources.Vector{units, 1})
	holder := register(t, cell, "holder")
	live := make([][]omega.AllocationID, machines)
	for i, m := range ids {
		for range units {
			live[i] = append(live[i], held(t, holder, m, 0, resources.Vector{1})...)
		}
	}
	return cell, ids, holder, live
}

// Each unit that is freed wakes one, in the order in which they came.
func TestWait_WakesOneInOrderOfArrival(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cell, ids, holder, live := packedCell(t, 1, 3)
		var ws []*waiting
		for _, name := range []string{"first", "second", "third"} {
			ws = append(ws, wait(t.Context(), register(t, cell, name), 1))
		}
		asleep(t, "nothing is free", ws...)
		for i, w := range ws {
			require.NoError(t, holder.Release(live[0][i]))
			awake(t, "its turn", w)
			room, _ := w.s.Snapshot().Free(ids[0])
			require.EqualValues(t, 1, room[0], "the snapshot is fresh")
			asleep(t, "not its turn", ws[i+1:]...)
			require.Equal(t, 1, commit(t, w.s, &omega.Txn{}, claim(ids[0], 1)))
			asleep(t, "the room is taken", ws[i+1:]...)
		}
	})
}

// A scheduler that needs more than is free is passed by and keeps its place.
func TestWait_WakesTheFirstThatFits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cell, ids, holder, live := packedCell(t, 1, 3)
		large := wait(t.Context(), register(t, cell, "large"), 3)
		small := wait(t.Context(), register(t, cell, "small"), 1)
		late := wait(t.Context(), register(t, cell, "late"), 3)
		require.NoError(t, holder.Release(live[0][0]))
		awake(t, "one is enough", small)
		small.s.Pass()
		require.NoError(t, holder.Release(live[0][1]))
		asleep(t, "two are free", large, late)
		require.NoError(t, holder.Release(live[0][2]))
		awake(t, "three are free", large)
		asleep(t, "it came last", late)
		require.Equal(t, 1, commit(t, large.s, &omega.Txn{}, claim(ids[0], 2)))
		asleep(t, "one is left", late)
		require.NoError(t, cell.Check())
	})
}

// holding is a scheduler that has the token.
type holding struct {
	t   *testing.T
	s   *omega.Scheduler
	ids []omega.MachineID
}

// Whatever the one that was woken does next, the room that it does not use is
// offered to the next.
func TestWait_PassesTheBatonOn(t *testing.T) {
	canceled, cancel := context.WithCancel(t.Context())
	cancel()
	tests := map[string]func(h holding){
		"it passes": func(h holding) { h.s.Pass() },
		"it takes a part": func(h holding) {
			require.Equal(h.t, 1, commit(h.t, h.s, &omega.Txn{}, claim(h.ids[0], 1)))
		},
		"it commits elsewhere": func(h holding) {
			require.Equal(h.t, 1, commit(h.t, h.s, &omega.Txn{}, claim(h.ids[1], 0, 1)))
		},
		"it is refused": func(h holding) {
			require.Zero(h.t, commit(h.t, h.s, &omega.Txn{Gang: true}, claim(h.ids[0], 9)))
		},
		"it commits what makes no sense": func(h holding) {
			var tx omega.Txn
			tx.Claim(claim(h.ids[0], -1))
			_, err := h.s.Commit(&tx)
			require.ErrorIs(h.t, err, resources.ErrQuantity)
		},
		"it waits again": func(h holding) { wait(h.t.Context(), h.s, 9) },
		"it waits in vain": func(h holding) {
			require.ErrorIs(h.t, h.s.Wait(canceled, resources.Vector{1}), context.Canceled)
		},
	}
	for name, next := range tests {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				cell, ids, holder, live := packedCell(t, 2, 2)
				first := wait(t.Context(), register(t, cell, "first"), 1)
				second := wait(t.Context(), register(t, cell, "second"), 1)
				third := wait(t.Context(), register(t, cell, "third"), 2)
				var tx omega.Txn
				tx.Release(live[0][0])
				tx.Release(live[0][1])
				commit(t, holder, &tx)
				awake(t, "the first", first)
				asleep(t, "one at a time", second, third)
				next(holding{t, first.s, ids})
				awake(t, "the next", second)
				asleep(t, "the last", third)
				require.NoError(t, cell.Check())
			})
		})
	}
}

// Unused room is offered once to each scheduler that came before it was freed, and not
// for ever.
func TestWait_BatonGoesAroundOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cell, _, holder, live := packedCell(t, 1, 2)
		ws := []*waiting{
			wait(t.Context(), register(t, cell, "a"), 1),
			wait(t.Context(), register(t, cell, "b"), 1),
			wait(t.Context(), register(t, cell, "c"), 1),
		}
		require.NoError(t, holder.Release(live[0][0]))
		for i, w := range ws {
			awake(t, "once around", w)
			asleep(t, "not before it is passed on", ws[i+1:]...)
			ws[i] = wait(t.Context(), w.s, 1)
		}
		asleep(t, "it has been around", ws...)
		require.NoError(t, holder.Release(live[0][1]))
		awake(t, "new room", ws[0])
		asleep(t, "one at a time", ws[1:]...)
	})
}

// A scheduler that gives up gets the context's cause, and stands in no other's way.
func TestWait_ReturnsTheContextsCause(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cell, _, holder, live := packedCell(t, 1, 1)
		tired := errors.New("tired")
		ctx, cancel := context.WithCancelCause(t.Context())
		first := wait(ctx, register(t, cell, "first"), 1)
		second := wait(t.Context(), register(t, cell, "second"), 1)
		cancel(tired)
		synctest.Wait()
		require.True(t, first.over)
		require.ErrorIs(t, first.err, tired)
		require.ErrorIs(t, first.s.Wait(ctx, resources.Vector{1}), tired, "even where there is room")
		require.ErrorIs(t, first.s.Wait(t.Context(), resources.Vector{-1}), resources.ErrQuantity)
		require.NoError(t, holder.Release(live[0][0]))
		awake(t, "the other", second)

		soon, stop := context.WithTimeout(t.Context(), time.Second)
		defer stop()
		third := wait(soon, second.s, 1)
		time.Sleep(time.Second) // of the bubble
		synctest.Wait()
		require.ErrorIs(t, third.err, context.DeadlineExceeded)
	})
}

// A scheduler that is woken and gives up at the same moment, in whichever order, either
// has the token or has passed it on.
func TestWait_PassesOnWhatComesTooLate(t *testing.T) {
	for range 200 {
		for _, cancelFirst := range []bool{true, false} {
			synctest.Test(t, func(t *testing.T) {
				cell, _, holder, live := packedCell(t, 1, 1)
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				first := wait(ctx, register(t, cell, "first"), 1)
				second := wait(t.Context(), register(t, cell, "second"), 1)
				if cancelFirst {
					cancel()
				}
				require.NoError(t, holder.Release(live[0][0]))
				cancel()
				synctest.Wait()
				require.True(t, first.over)
				if first.err == nil {
					asleep(t, "the first has the token", second)
					first.s.Pass()
				}
				awake(t, "in any case", second)
			})
		}
	}
}

// A scheduler that leaves passes on what it was woken for.
func TestWait_WakeTokenIsPassedOnByLeave(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cell, _, holder, live := packedCell(t, 1, 1)
		first := wait(t.Context(), register(t, cell, "first"), 1)
		second := wait(t.Context(), register(t, cell, "second"), 1)
		require.NoError(t, holder.Release(live[0][0]))
		awake(t, "the first", first)
		asleep(t, "the first has the token", second)
		require.NoError(t, first.s.Leave())
		awake(t, "the first has left", second)
	})
}

// A scheduler was just woken, and leaves, or its gang can never fit any more. It passes
// on the room that it was woken for.
func TestWait_PassesOnWhatItFailsWith(t *testing.T) {
	for range 100 {
		synctest.Test(t, func(t *testing.T) {
			cell, _, holder, live := packedCell(t, 1, 1)
			first := wait(t.Context(), register(t, cell, "first"), 1)
			second := wait(t.Context(), register(t, cell, "second"), 1)
			require.NoError(t, holder.Release(live[0][0]))
			require.NoError(t, first.s.Leave())
			synctest.Wait()
			require.True(t, first.over)
			awake(t, "in any case", second)
		})
		synctest.Test(t, func(t *testing.T) {
			cell, ids := newCell(t, 1, resources.Vector{1})
			other, err := cell.Add(omega.Machine{Name: "other", Capacity: resources.Vector{0, 1}})
			require.NoError(t, err)
			holder := register(t, cell, "holder")
			full := held(t, holder, ids[0], 0, resources.Vector{1})[0]
			gang := waitAll(t.Context(), register(t, cell, "gang"), resources.Vector{1}, resources.Vector{0, 1})
			second := wait(t.Context(), register(t, cell, "second"), 1)
			require.NoError(t, holder.Release(full))
			_, err = cell.Remove(other)
			require.NoError(t, err)
			synctest.Wait()
			require.True(t, gang.over)
			if gang.err == nil {
				gang.s.Pass()
			}
			awake(t, "in any case", second)
		})
	}
}

// A scheduler that was replaced waits for nothing any more, and what it was
// woken for goes to others, its successor among them.
func TestWait_EndsWhereTheSchedulerIsReplaced(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cell, ids, holder, live := packedCell(t, 1, 2)
		dead := wait(t.Context(), register(t, cell, "dead"), 1)
		other := wait(t.Context(), register(t, cell, "other"), 1)
		require.NoError(t, holder.Release(live[0][0]))
		awake(t, "the first", dead) // and is not heard of any more
		asleep(t, "the token is held", other)
		successor, err := cell.Replace("dead")
		require.NoError(t, err)
		awake(t, "the other", other)
		require.Equal(t, 1, commit(t, other.s, &omega.Txn{}, claim(ids[0], 1)))
		require.ErrorIs(t, dead.s.Wait(t.Context(), resources.Vector{1}), omega.ErrSuperseded)

		old := wait(t.Context(), successor, 1)
		next := wait(t.Context(), other.s, 1)
		asleep(t, "full", old, next)
		_, err = cell.Replace("dead")
		require.NoError(t, err)
		synctest.Wait()
		require.True(t, old.over)
		require.ErrorIs(t, old.err, omega.ErrSuperseded)
		asleep(t, "full still", next)
		require.NoError(t, holder.Release(live[0][1]))
		awake(t, "it is the only one", next)
	})
}
