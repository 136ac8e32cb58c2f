package omega_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/cellsched/cellsched/locality"
	"github.com/cellsched/cellsched/omega"
	"github.com/cellsched/cellsched/resources"
)

// vacate is a cell in which a change frees three units, or lets a scheduler have them.
// The machine is full with one allocation each of one, and of three.
type vacate struct {
	t            *testing.T
	cell         *omega.Cell
	m            omega.MachineID
	holder       *omega.Scheduler
	small, large omega.AllocationID
	waiter       *omega.Scheduler
}

func (v vacate) commit(fill func(tx *omega.Txn)) {
	v.t.Helper()
	tx := omega.Txn{Now: time.Unix(1, 0), Grace: omega.AtOnce}
	fill(&tx)
	commit(v.t, v.holder, &tx)
	for i := range tx.Len() {
		require.NoError(v.t, tx.Err(i))
	}
}

func newVacate(t *testing.T) vacate {
	t.Helper()
	cell, ids := newCell(t, 1, resources.Vector{4, 10})
	v := vacate{t: t, cell: cell, m: ids[0], holder: ranked(t, cell, "holder"), waiter: register(t, cell, "waiter")}
	live := held(t, v.holder, v.m, 0, resources.Vector{1}, resources.Vector{3})
	v.small, v.large = live[0], live[1]
	return v
}

// enough are the changes that let three units fit in a vacate's cell.
var enough = map[string]func(v vacate){
	"a release": func(v vacate) { require.NoError(v.t, v.holder.Release(v.large)) },
	"a release in a commit": func(v vacate) {
		v.commit(func(tx *omega.Txn) { tx.Release(v.large) })
	},
	"a release beside a gang that is refused": func(v vacate) {
		tx := omega.Txn{Gang: true}
		tx.Release(v.large)
		require.Zero(v.t, commit(v.t, v.holder, &tx, claim(v.m, 9)))
	},
	"a resize": func(v vacate) {
		v.commit(func(tx *omega.Txn) { tx.Resize(v.large, resources.Vector{0, 1}) })
	},
	"an exchange for less": func(v vacate) {
		v.commit(func(tx *omega.Txn) {
			tx.Exchange([]omega.AllocationID{v.small, v.large}, claim(v.m, 1))
		})
	},
	"victims that had more": func(v vacate) {
		v.commit(func(tx *omega.Txn) {
			tx.Claim(omega.Claim{Machine: v.m, Need: resources.Vector{0, 1}, Precedence: 1, Victims: []omega.AllocationID{v.large}})
		})
	},
	"a machine that is added": func(v vacate) {
		_, err := v.cell.Add(omega.Machine{Name: "new", Capacity: resources.Vector{3}})
		require.NoError(v.t, err)
	},
	"a machine that takes a removed one's place": func(v vacate) {
		full, err := v.cell.Add(omega.Machine{Name: "draining", Capacity: resources.Vector{2}})
		require.NoError(v.t, err)
		require.NoError(v.t, v.cell.Drain(full))
		require.NoError(v.t, v.cell.SetCapacity(full, resources.Vector{3}))
		_, err = v.cell.Remove(v.m)
		require.NoError(v.t, err)
		_, err = v.cell.Add(omega.Machine{Name: "new", Capacity: resources.Vector{3}})
		require.NoError(v.t, err)
	},
	"a machine that takes claims again": func(v vacate) {
		require.NoError(v.t, v.cell.Drain(v.m))
		require.NoError(v.t, v.holder.Release(v.large))
		require.NoError(v.t, v.cell.Resume(v.m))
	},
	"more capacity": func(v vacate) {
		require.NoError(v.t, v.cell.SetCapacity(v.m, resources.Vector{7, 10}))
	},
}

// Any change that lets the need fit wakes the scheduler that waits for it.
func TestWait_IsWokenByWhateverMakesRoom(t *testing.T) {
	for name, change := range enough {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				v := newVacate(t)
				w := wait(t.Context(), v.waiter, 3)
				asleep(t, "before", w)
				change(v)
				awake(t, "after", w)
				_, found := v.waiter.Snapshot().Find(omega.Query{Need: resources.Vector{3}}, omega.NextFit())
				require.True(t, found)
			})
		})
	}
}

// And a scheduler that looked before it happened, but waits only afterwards, does not
// wait.
func TestWait_SeesWhatHappenedSinceTheSnapshot(t *testing.T) {
	for name, change := range enough {
		t.Run(name, func(t *testing.T) {
			for what, looked := range map[string]bool{"has looked": true, "never looked": false} {
				synctest.Test(t, func(t *testing.T) {
					v := newVacate(t)
					if looked {
						v.waiter.Snapshot().Refresh(time.Time{})
					}
					change(v)
					w := wait(t.Context(), v.waiter, 3)
					awake(t, what, w)
					_, found := v.waiter.Snapshot().Find(omega.Query{Need: resources.Vector{3}}, omega.NextFit())
					require.True(t, found, what)
					again := wait(t.Context(), v.waiter, 3)
					asleep(t, what+": it is not news any more", again)
				})
			}
		})
	}
}

// A change that does not let the need fit wakes no scheduler.
func TestWait_IsNotWokenInVain(t *testing.T) {
	changes := map[string]func(v vacate){
		"too little": func(v vacate) { require.NoError(v.t, v.holder.Release(v.small)) },
		"a draining machine": func(v vacate) {
			require.NoError(v.t, v.cell.Drain(v.m))
			require.NoError(v.t, v.holder.Release(v.large))
		},
		"a cut": func(v vacate) { v.cell.Cut() },
		"less capacity of another kind": func(v vacate) {
			require.NoError(v.t, v.cell.SetCapacity(v.m, resources.Vector{4, 5}))
		},
		"a machine without enough": func(v vacate) {
			_, err := v.cell.Add(omega.Machine{Name: "new", Capacity: resources.Vector{2}})
			require.NoError(v.t, err)
		},
		"a claim that is refused": func(v vacate) {
			require.Zero(v.t, commit(v.t, v.holder, &omega.Txn{}, claim(v.m, 1)))
		},
		"a machine that is lost, and another that is full": func(v vacate) {
			m, err := v.cell.Add(omega.Machine{Name: "full", Capacity: resources.Vector{0, 3}})
			require.NoError(v.t, err)
			require.NoError(v.t, v.cell.Drain(m))
			require.NoError(v.t, v.cell.SetCapacity(m, resources.Vector{4}))
			lost, err := v.cell.Remove(v.m)
			require.NoError(v.t, err)
			for _, a := range lost {
				require.NoError(v.t, v.holder.Release(a.ID))
			}
		},
	}
	for name, change := range changes {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				v := newVacate(t)
				w := wait(t.Context(), v.waiter, 3)
				change(v)
				asleep(t, "nothing fits", w)
			})
		})
	}
}

// A scheduler that may not claim a machine is not woken for it, until it may.
func TestWait_KeepsToTheMask(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cell, _, holder, live := packedCell(t, 2, 1)
		s, other := register(t, cell, "s"), register(t, cell, "other")
		require.NoError(t, s.Restrict(t.Context(), omega.NewMask(amongst([]locality.Node{0}))))
		first, second := wait(t.Context(), s, 1), wait(t.Context(), other, 1)
		require.NoError(t, holder.Release(live[1][0]))
		awake(t, "it may", second)
		second.s.Pass()
		asleep(t, "it may not", first)
		require.NoError(t, s.Restrict(t.Context(), omega.NewMask(amongst([]locality.Node{1}))))
		awake(t, "now it may", first)
	})
}

// A mask that changes after the scheduler has looked, and before it waits, is
// news as well.
func TestWait_SeesThatTheMaskHasChanged(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cell, _ := newCell(t, 2, resources.Vector{1})
		s := register(t, cell, "s")
		require.NoError(t, s.Restrict(t.Context(), omega.Mask{}))
		s.Snapshot().Refresh(time.Time{})
		_, found := s.Snapshot().Find(omega.Query{Need: resources.Vector{1}}, omega.NextFit())
		require.False(t, found)
		require.NoError(t, s.Restrict(t.Context(), nil))
		awake(t, "there is room where it may claim now", wait(t.Context(), s, 1))
		w := wait(t.Context(), s, 1)
		asleep(t, "it is not news any more", w)
		require.NoError(t, s.Restrict(t.Context(), omega.NewMask(amongst([]locality.Node{1}))))
		awake(t, "it looks for itself", w)
		asleep(t, "and it knows that now", wait(t.Context(), s, 1))
	})
}

// A scheduler that found no machine with the right attributes is woken where one gets
// others.
func TestWait_IsWokenByOtherAttributes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cell, ids := newCell(t, 1, resources.Vector{1})
		s := register(t, cell, "s")
		s.Snapshot().Refresh(time.Time{})
		w := wait(t.Context(), s, 1)
		asleep(t, "it knows the room that there is", w)
		require.NoError(t, cell.SetAttributes(ids[0], map[string]string{"zone": "a"}))
		awake(t, "the machine is another now", w)
	})
}
