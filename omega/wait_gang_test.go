package omega_test

import (
	"context"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/cellsched/cellsched/locality"
	"github.com/cellsched/cellsched/omega"
	"github.com/cellsched/cellsched/resources"
)

// waitAll is wait for several needs at once.
func waitAll(ctx context.Context, s *omega.Scheduler, needs ...resources.Vector) *waiting {
	w := &waiting{s: s}
	go func() {
		w.err = s.Wait(ctx, needs...)
		w.over = true
	}()
	synctest.Wait()
	return w
}

// tasks returns so many needs of the same amount.
func tasks(n int, need int64) []resources.Vector {
	return slices.Repeat([]resources.Vector{{need}}, n)
}

func TestWait_WakesAGangWhenThereIsRoomForAllOfIt(t *testing.T) {
	tests := map[string][]resources.Vector{
		"needs that are alike":      tasks(4, 1),
		"two on each machine":       tasks(2, 2),
		"needs that differ":         {{2}, {1}, {1}},
		"needs that differ by kind": {{1}, {1}, {1}, {1, 1}},
	}
	for name, needs := range tests {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				cell, ids := newCell(t, 2, resources.Vector{2, 1})
				holder := register(t, cell, "holder")
				units := slices.Repeat([]resources.Vector{{1}}, 2)
				live := append(held(t, holder, ids[0], 0, units...), held(t, holder, ids[1], 0, units...)...)
				gang := waitAll(t.Context(), register(t, cell, "gang"), needs...)
				for _, a := range live {
					asleep(t, "there is not enough yet", gang)
					require.NoError(t, holder.Release(a))
				}
				awake(t, "there is room for all", gang)
				for _, m := range ids {
					room, ok := gang.s.Snapshot().Free(m)
					require.True(t, ok)
					require.Equal(t, resources.Vector{2, 1}, room, "the snapshot is fresh")
				}
				require.NoError(t, cell.Check())
			})
		})
	}
}

// A gang that came first, and has not enough yet, keeps its place and does not keep
// others from what it cannot use.
func TestWait_AGangThatLacksRoomPassesItOn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cell, ids, holder, live := packedCell(t, 2, 2)
		gang := waitAll(t.Context(), register(t, cell, "gang"), tasks(3, 1)...)
		first := wait(t.Context(), register(t, cell, "first"), 1)
		second := wait(t.Context(), register(t, cell, "second"), 1)
		late := waitAll(t.Context(), register(t, cell, "late"), tasks(2, 1)...)

		require.NoError(t, holder.Release(live[0][0]))
		awake(t, "what the gang cannot use is the next's", first)
		asleep(t, "there is room for one", gang, second, late)
		require.Equal(t, 1, commit(t, first.s, &omega.Txn{}, claim(ids[0], 1)))
		asleep(t, "none is left", gang, second, late)

		require.NoError(t, holder.Release(live[0][1]))
		awake(t, "again", second)
		second.s.Pass()
		asleep(t, "one is not enough", gang, late)
		require.NoError(t, holder.Release(live[1][0]))
		awake(t, "two are enough, and three are not", late)
		asleep(t, "it keeps its place", gang)
		first.s.Snapshot().Refresh(time.Time{})
		last := wait(t.Context(), first.s, 1)
		require.NoError(t, holder.Release(live[1][1]))
		awake(t, "it came before the last", gang)
		asleep(t, "until the gang has taken its part", last)
		require.Equal(t, 3, commit(t, gang.s, &omega.Txn{Gang: true}, claim(ids[0], 1), claim(ids[1], 1), claim(ids[1], 1)))
		asleep(t, "none is left", last)
		require.NoError(t, cell.Check())
	})
}

// Room that one gang declines is offered to each of the others once.
func TestWait_GangsDoNotPassABatonToAndFro(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cell, _, holder, live := packedCell(t, 2, 2)
		var ws []*waiting
		for _, name := range []string{"a", "b", "c"} {
			ws = append(ws, waitAll(t.Context(), register(t, cell, name), tasks(4, 1)...))
		}
		single := wait(t.Context(), register(t, cell, "single"), 1)
		for _, a := range []omega.AllocationID{live[0][0], live[0][1], live[1][0]} {
			require.NoError(t, holder.Release(a))
			awake(t, "past the gangs", single)
			asleep(t, "it is not enough", ws...)
			single = wait(t.Context(), single.s, 1)
		}
		require.NoError(t, holder.Release(live[1][1]))
		for i, w := range ws {
			awake(t, "one after the other", w)
			asleep(t, "not before it is passed on", ws[i+1:]...)
			w.s.Pass()
		}
		awake(t, "the last", single)
	})
}

// A gang that gives up, or has to, while it waits hands on what it was offered.
func TestWait_AGangThatEndsBlocksNoWaiter(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cell, _, holder, live := packedCell(t, 1, 3)
		ctx, cancel := context.WithCancel(t.Context())
		gang := waitAll(ctx, register(t, cell, "gang"), tasks(2, 1)...)
		replaced := waitAll(t.Context(), register(t, cell, "replaced"), tasks(3, 1)...)
		single := wait(t.Context(), register(t, cell, "single"), 1)
		cancel()
		synctest.Wait()
		require.ErrorIs(t, gang.err, context.Canceled)
		_, err := cell.Replace("replaced")
		require.NoError(t, err)
		synctest.Wait()
		require.ErrorIs(t, replaced.err, omega.ErrSuperseded)
		require.NoError(t, holder.Release(live[0][0]))
		awake(t, "it is the only one", single)
	})
}

func TestWait_AGangIsWokenByItsMask(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cell, ids := newCell(t, 2, resources.Vector{1})
		s := register(t, cell, "s")
		held(t, register(t, cell, "holder"), ids[0], 0, resources.Vector{1})
		m, err := cell.Add(omega.Machine{Name: "third", Capacity: resources.Vector{1}})
		require.NoError(t, err)
		require.NoError(t, s.Restrict(t.Context(), omega.NewMask(amongst([]locality.Node{0, 1}))))
		s.Snapshot()
		w := waitAll(t.Context(), s, tasks(2, 1)...)
		asleep(t, "it may claim one that is free", w)
		require.NoError(t, cell.SetAttributes(ids[1], map[string]string{"zone": "a"}))
		asleep(t, "the other that is free is not in its mask", w)
		require.NoError(t, s.Restrict(t.Context(), omega.NewMask(amongst([]locality.Node{1, m.Node()}))))
		awake(t, "it may claim two", w)
	})
}

// Room for a gang that was there when the scheduler looked is not news.
func TestWait_AGangIsToldOfNewsOnly(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cell, ids, holder, live := packedCell(t, 2, 2)
		require.NoError(t, holder.Release(live[0][0]))
		s := register(t, cell, "s")
		s.Snapshot()
		require.NoError(t, holder.Release(live[0][1]))
		require.NoError(t, s.Wait(t.Context(), tasks(2, 1)...))
		w := waitAll(t.Context(), s, tasks(2, 1)...)
		asleep(t, "it has looked", w)
		require.NoError(t, cell.SetAttributes(ids[1], map[string]string{"zone": "a"}))
		asleep(t, "the machine that has changed is full", w)
		require.NoError(t, cell.SetAttributes(ids[0], map[string]string{"zone": "a"}))
		awake(t, "a constraint may allow it now", w)
	})
}

// Any of several gangs will do, of needs that have nothing in common.
func TestWaitAny_WakesForWhicheverFits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cell, ids := newCell(t, 2, resources.Vector{2, 2})
		holder := register(t, cell, "holder")
		var live [][]omega.AllocationID
		for _, m := range ids {
			live = append(live, held(t, holder, m, 0, resources.Vector{2}, resources.Vector{0, 2}))
		}
		s := register(t, cell, "s")
		anyOf := func(gangs ...[]resources.Vector) *waiting {
			w := &waiting{s: s}
			go func() {
				w.err = s.WaitAny(t.Context(), gangs...)
				w.over = true
			}()
			synctest.Wait()
			return w
		}
		pair, single := tasks(2, 2), []resources.Vector{{0, 1}}
		w := anyOf(pair, single)
		asleep(t, "both kinds are used up", w)
		require.NoError(t, holder.Release(live[0][0]))
		asleep(t, "half of the pair", w)
		require.NoError(t, holder.Release(live[1][1]))
		awake(t, "room for the single", w)
		require.Equal(t, 1, commit(t, s, &omega.Txn{}, claim(ids[1], 0, 2)))
		w = anyOf(single, pair)
		require.NoError(t, holder.Release(live[1][0]))
		awake(t, "room for the pair", w)

		impossible := tasks(3, 2)
		w = anyOf(impossible, single)
		asleep(t, "one of them can be", w)
		for _, m := range ids {
			require.NoError(t, cell.SetCapacity(m, resources.Vector{2, 2, 1}))
		}
		asleep(t, "more of what none needs", w)
		require.ErrorIs(t, s.WaitAny(t.Context(), single), omega.ErrBusy, "one at a time")
		other := register(t, cell, "other")
		err := other.WaitAny(t.Context(), impossible, tasks(1, 5))
		require.ErrorIs(t, err, omega.ErrNeverFits)
		require.ErrorContains(t, err, "gang of 3 needs kind0=6, capacity of 2 machines kind0=4,kind1=4,kind2=2, missing kind0=2")
		require.ErrorContains(t, err, "need kind0=5, largest of 2 machines kind0=2")
		require.ErrorIs(t, other.WaitAny(t.Context()), resources.ErrQuantity)
		require.ErrorIs(t, other.WaitAny(t.Context(), pair, nil), resources.ErrQuantity)
	})
}

// A gang that was offered room in vain is still before those that came after it.
func TestWait_AGangKeepsItsPlaceInTheLine(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cell, _, holder, live := packedCell(t, 2, 2)
		gang := waitAll(t.Context(), register(t, cell, "gang"), tasks(3, 1)...)
		behind := wait(t.Context(), register(t, cell, "behind"), 2)
		require.NoError(t, holder.Release(live[0][0]))
		asleep(t, "one is free", gang, behind)
		require.NoError(t, holder.Release(live[1][0]))
		asleep(t, "one on each machine", gang, behind)
		require.NoError(t, holder.Release(live[0][1]))
		awake(t, "it came first", gang)
		asleep(t, "there is room for it as well", behind)
		gang.s.Pass()
		awake(t, "and now it is offered that", behind)
	})
}
