package loop_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/cellsched/cellsched/locality"
	"github.com/cellsched/cellsched/omega"
	"github.com/cellsched/cellsched/omega/loop"
	"github.com/cellsched/cellsched/resources"
)

// refiller fills machines with units, each of which runs for so many seconds.
type refiller struct {
	s      *omega.Scheduler
	other  *omega.Scheduler // of the loop; its tasks run as long
	cell   *omega.Cell
	ends   map[int][]omega.AllocationID
	length int
}

func (f *refiller) second(tb testing.TB, now int) {
	tb.Helper()
	for _, id := range f.ends[now] {
		if f.s.Holds(id) {
			require.NoError(tb, f.s.Release(id))
		} else {
			require.NoError(tb, f.other.Release(id))
		}
	}
	for m := range f.cell.Machines() {
		for ok := true; ok; {
			var tx omega.Txn
			tx.Claim(omega.Claim{Machine: m.ID, Need: resources.Vector{1}})
			_, err := f.s.Commit(&tx)
			require.NoError(tb, err)
			var id omega.AllocationID
			if id, ok = tx.Allocation(0); ok {
				f.ends[now+f.length] = append(f.ends[now+f.length], id)
			}
		}
	}
}

// reservations returns how many there are in a cell.
func reservations(s *omega.Scheduler) (n int) {
	s.Snapshot().Refresh(time.Time{})
	for range s.Snapshot().Reservations() {
		n++
	}
	return n
}

// Another scheduler refills each unit as it ends. A large job and a gang are placed
// within a length of an allocation after their patience. Each task of a job that is no
// gang comes after another one. Without reservations they starve.
func TestPatience_LargeJobsRunBesideASchedulerThatRefills(t *testing.T) {
	const length, patience = 4, 5
	tests := map[string]struct {
		job  loop.Job[string]
		most int
	}{
		"task":  {job("j", 1, 3), patience + length},
		"gang":  {loop.Job[string]{Key: "j", Tasks: 4, Need: resources.Vector{2}, Gang: true}, patience + length},
		"tasks": {job("j", 2, 4), 2 * (patience + length)},
	}
	for name, tt := range tests {
		for _, patience := range []time.Duration{patience * time.Second, -1} {
			t.Run(name+" "+patience.String(), func(t *testing.T) {
				cell := newCell(t, 4, 4)
				f := &refiller{register(t, cell, "small"), nil, cell, map[int][]omega.AllocationID{}, length}
				f.second(t, 0)
				r := newRig(t, cell, loop.Config[string]{Patience: patience, MaxDelay: 100 * time.Millisecond})
				f.other = r.sched
				p := r.submit(t, epoch, tt.job)
				placed := -1
				for second := 1; second < 60; second++ {
					for now := at(float64(second - 1)); now.Before(at(float64(second))); {
						next := r.settle(t, now)
						if now = next; next.IsZero() {
							break
						}
					}
					if p.Left() == 0 && placed < 0 {
						placed = second
					}
					for _, e := range r.events {
						f.ends[second+length] = append(f.ends[second+length], e.Allocations...)
					}
					r.events = nil
					f.second(t, second)
				}
				if patience < 0 {
					require.Equal(t, -1, placed)
					return
				}
				require.Greater(t, placed, int(patience/time.Second))
				require.LessOrEqual(t, placed, tt.most+1)
				require.Zero(t, reservations(f.s))
				require.NoError(t, cell.Check())
			})
		}
	}
}

// A job that ends, or finds room elsewhere, leaves no reservation behind.
func TestPatience_LeavesNoReservation(t *testing.T) {
	cell := newCell(t, 4, 4)
	other := register(t, cell, "other")
	first, second := claim(t, other, "m0", cell, 2), claim(t, other, "m1", cell, 3)
	r := newRig(t, cell, loop.Config[string]{Patience: time.Second})
	p := r.submit(t, epoch, job("j", 1, 4))
	require.False(t, r.settle(t, epoch).IsZero())
	require.Zero(t, reservations(other))
	r.settle(t, at(2))
	require.Equal(t, 1, reservations(other))
	m, _ := cell.Machine("m0")
	free, _ := other.Snapshot().Free(m)
	require.Zero(t, free[0], "where it lacks least")
	r.Cancel(p)
	r.settle(t, at(3))
	require.Zero(t, reservations(other))

	r.submit(t, at(3), job("k", 1, 4))
	r.settle(t, at(3))
	r.settle(t, at(5))
	require.Equal(t, 1, reservations(other))
	require.NoError(t, other.Release(second))
	r.Recheck()
	r.settle(t, at(6))
	require.Contains(t, r.log(), "k placed 1")
	require.Zero(t, reservations(other))
	require.NoError(t, other.Release(first))
}

// A reservation is not lost with an unknown outcome of its commit.
func TestPatience_UnknownOutcomes(t *testing.T) {
	cell := newCell(t, 4)
	other := register(t, cell, "other")
	held := claim(t, other, "m0", cell, 2)
	store, r := newFaulty(t, cell, loop.Config[string]{Patience: time.Second})
	p := r.submit(t, epoch, job("j", 1, 4))
	r.settle(t, epoch)
	store.unsure = 2
	for now := 2.0; now < 12; now++ {
		r.settle(t, at(now))
	}
	require.Equal(t, 1, reservations(other))
	store.unsure = 2
	r.Cancel(p)
	for now := 12.0; now < 22; now++ {
		r.settle(t, at(now))
	}
	require.Zero(t, reservations(other))
	require.NoError(t, other.Release(held))
}

// A machine with tasks that never end is given up when its reservation ends, for another one.
func TestPatience_GivesUpMachinesThatStayFull(t *testing.T) {
	cell := newCell(t, 4, 4)
	f := &refiller{register(t, cell, "small"), nil, cell, map[int][]omega.AllocationID{}, 2}
	claim(t, f.s, "m0", cell, 3) // for ever
	f.second(t, 0)
	r := newRig(t, cell, loop.Config[string]{Patience: time.Second, Attempts: -1, Fruitless: -1})
	p := r.submit(t, epoch, job("j", 1, 4))
	for second := 1; second < 40 && p.Left() > 0; second++ {
		r.settle(t, at(float64(second)))
		f.second(t, second)
	}
	require.Zero(t, p.Left())
	require.Equal(t, locality.Node(1), r.held["j"][0].Node())
}

// Allocations of another scheduler last longer than many reservations, end one after the
// other, and are refilled at once. The need is met all the same.
func TestPatience_IsEnoughHoweverLongAllocationsLast(t *testing.T) {
	const length, patience = 60, 1
	cell := newCell(t, 4, 4)
	f := &refiller{register(t, cell, "small"), nil, cell, map[int][]omega.AllocationID{}, length}
	for i := range 8 {
		name := []string{"m0", "m1"}[i%2]
		f.ends[1+i*length/8] = append(f.ends[1+i*length/8], claim(t, f.s, name, cell, 1))
	}
	r := newRig(t, cell, loop.Config[string]{
		Patience: patience * time.Second, MaxDelay: time.Second, Attempts: -1, Fruitless: -1,
	})
	p := r.submit(t, epoch, job("j", 1, 3))
	// A reservation of 8 × 10 patiences is long enough. See omega.Reservation for the sum.
	const most = patience + 4*8*10*patience
	second := 1
	for ; p.Left() > 0 && second < 2*most; second++ {
		r.settle(t, at(float64(second)))
		f.second(t, second)
	}
	require.LessOrEqual(t, second, most)
	require.NoError(t, cell.Check())
}
