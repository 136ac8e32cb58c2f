package omega

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/cellsched/cellsched/resources"
)

// stepCut takes a cut in three steps, before each of which, and at the end, it
// calls at with the number of the step.
func stepCut(c *Cell, at func(step int)) *Cut {
	at(0)
	c.cutting.Lock()
	defer c.cutting.Unlock()
	cut := c.beginCut()
	at(1)
	for node := range cut.machines {
		cut.machines[node] = *c.fence(uint32(node)).past.Swap(nil)
	}
	at(2)
	cut.settle()
	c.epoch.Add(1)
	at(3)
	return cut
}

// preempted returns a cell in which high has preempted victims of low's, and one
// allocation of low's is lost with its machine.
func preempted(t *testing.T, victims int) (cell *Cell, low, high *Scheduler, ids []AllocationID) {
	t.Helper()
	cell, err := NewCell(Config{Machines: []Machine{
		{Name: "a", Capacity: resources.Vector{int64(victims)}}, {Name: "b", Capacity: resources.Vector{1}},
	}})
	require.NoError(t, err)
	low, err = cell.Register("low", Limits{})
	require.NoError(t, err)
	high, err = cell.Register("high", Limits{Highest: 1})
	require.NoError(t, err)
	var tx Txn
	for range victims {
		tx.Claim(Claim{Machine: cell.machine(0, 0), Need: resources.Vector{1}})
	}
	tx.Claim(Claim{Machine: cell.machine(1, 0), Need: resources.Vector{1}})
	_, err = low.Commit(&tx)
	require.NoError(t, err)
	for i := range victims {
		a, ok := tx.Allocation(i)
		require.True(t, ok)
		ids = append(ids, a)
	}
	taking := Txn{Now: time.Unix(1, 0).UTC(), Grace: time.Second}
	taking.Claim(Claim{Machine: cell.machine(0, 0), Need: resources.Vector{int64(victims)}, Precedence: 1, Victims: ids})
	granted, err := high.Commit(&taking)
	require.NoError(t, err)
	require.Equal(t, 1, granted)
	_, err = cell.Remove(cell.machine(1, 0))
	require.NoError(t, err)
	lost, ok := tx.Allocation(victims)
	require.True(t, ok)
	return cell, low, high, append(ids, lost)
}

// fileOf returns the saved form of a cut.
func fileOf(t *testing.T, k *Cut) []byte {
	t.Helper()
	var file bytes.Buffer
	require.NoError(t, k.Save(&file))
	return file.Bytes()
}

// A call that changes no machine is in a cut if it ended before the cut began, and
// not if it began after.
func TestCut_HasReleasesJobsAndMasksUpToItsBeginning(t *testing.T) {
	acts := map[string]func(low *Scheduler, ids []AllocationID) error{
		"release of what was preempted": func(low *Scheduler, ids []AllocationID) error { return low.Release(ids[0]) },
		"release of what was lost":      func(low *Scheduler, ids []AllocationID) error { return low.Release(ids[len(ids)-1]) },
		"releases in a transaction": func(low *Scheduler, ids []AllocationID) error {
			var tx Txn
			for _, id := range ids {
				tx.Release(id)
			}
			_, err := low.Commit(&tx)
			return errors.Join(err, tx.Err(0), tx.Err(len(ids)-1))
		},
		"releases, after which the marks are pruned": func(low *Scheduler, ids []AllocationID) error {
			err := errors.Join(low.Release(ids[1]), low.Release(ids[2]))
			if n := len(slices.Collect(low.Marked())); n != 1 {
				return fmt.Errorf("%d marks, want 1", n)
			}
			return err
		},
		"jobs": func(low *Scheduler, _ []AllocationID) error {
			return errors.Join(low.BeginJob(), low.BeginJob())
		},
		"the end of a job": func(low *Scheduler, _ []AllocationID) error { return low.EndJob() },
		"a mask": func(low *Scheduler, _ []AllocationID) error {
			require.NoError(t, low.Restrict(t.Context(), Mask{2}))
			return nil
		},
	}
	for name, act := range acts {
		for step := range 4 {
			t.Run(fmt.Sprint(name, ", step ", step), func(t *testing.T) {
				cell, low, _, ids := preempted(t, 2)
				require.NoError(t, low.BeginJob())
				before := fileOf(t, cell.Cut())
				cut := stepCut(cell, func(n int) {
					if n == step {
						require.NoError(t, act(low, ids))
					}
				})
				after := fileOf(t, cell.Cut())
				require.NotEqual(t, before, after, "it does not act")
				got := fileOf(t, cut)
				require.Equal(t, step == 0, bytes.Equal(after, got))
				require.Equal(t, step != 0, bytes.Equal(before, got))
				_, err := Restore(bytes.NewReader(got), nil)
				require.NoError(t, err)
			})
		}
	}
}

// A release that read the epoch of an earlier cut and stalled is not missing in a
// later cut.
func TestCut_IgnoresReleasesListedForAnEarlierOne(t *testing.T) {
	cell, low, _, ids := preempted(t, 2)
	stepCut(cell, func(step int) {
		if step == 2 {
			cell.acknowledge(ids[0]) // and stalls
		}
	})
	cell.Cut()
	rec, ok := cell.record(ids[0])
	require.True(t, ok)
	stale := &acknowledged{id: ids[0], rec: &rec, epoch: 1}
	cell.acknowledged.Store(stale)
	require.NoError(t, low.Release(ids[0]))
	cut := cell.Cut()
	require.Len(t, cut.marks, 2)
	require.NotContains(t, cut.unreleased, ids[0])
	require.Nil(t, cell.acknowledged.Load(), "kept alive")
}

// However many marks there are, pushing one more ends while a cut is taken.
func TestCut_DoesNotKeepMarksFromBeingPushed(t *testing.T) {
	cell, low, _, ids := preempted(t, 200)
	for _, id := range ids[2:] {
		require.NoError(t, low.Release(id))
	}
	cut := stepCut(cell, func(step int) {
		if step == 1 || step == 2 {
			for range 300 { // as if each had been preempted just before
				low.owner.push(cell, Mark{Allocation: Allocation{ID: ids[2]}, Fate: Preempted, By: "high"})
			}
		}
	})
	require.Contains(t, cut.unreleased, ids[0])
	require.Greater(t, low.owner.marks.Load().size, 600, "what was released in the cut's time is kept")
	low.owner.push(cell, Mark{Allocation: Allocation{ID: ids[2]}, Fate: Preempted, By: "high"})
	require.Less(t, low.owner.marks.Load().size, 10, "pruned once the cut is over")
}

// A commit of a predecessor that has preempted, and has not set the mark yet, keeps the
// successor from leaving. Else the mark would name none of the cell's schedulers.
func TestLeave_WaitsForPreemptionsOfAPredecessor(t *testing.T) {
	cell, low, high, ids := preempted(t, 1)
	high.owner.preempting.Add(1) // as in a commit that is stalled
	heir, err := cell.Replace("high")
	require.NoError(t, err)
	for a := range heir.Allocations() {
		require.NoError(t, heir.Release(a.ID))
	}
	require.NoError(t, low.Release(ids[0]))
	require.ErrorIs(t, heir.Leave(), ErrHolding)
	require.ErrorContains(t, heir.Leave(), "predecessor")
	high.owner.preempting.Add(-1)
	require.NoError(t, heir.Leave())
}

// A cut counts the jobs that were admitted when its epoch began, however many
// begin and end before it comes to count them.
func TestCut_CountsTheJobsOfItsBeginning(t *testing.T) {
	_, low, _, _ := preempted(t, 1)
	require.NoError(t, low.BeginJob())
	epoch := low.cell.epoch.Add(1)
	for range 3 {
		require.NoError(t, low.BeginJob())
	}
	require.NoError(t, low.EndJob())
	require.EqualValues(t, 1, low.owner.jobs.before(epoch))
	require.EqualValues(t, 1, low.owner.jobs.before(epoch), "a second time")
	require.NoError(t, low.BeginJob())
	require.EqualValues(t, 1, low.owner.jobs.before(epoch))
	require.EqualValues(t, 4, low.owner.jobs.Load().count())
	require.EqualValues(t, 4, low.owner.jobs.before(low.cell.epoch.Add(2)))
}
