package omega

import (
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cellsched/cellsched/resources"
)

// Two goroutines change the same words at full speed, in an ordinary build. The
// scenarios under the tag explore go through the same in every order.

// against runs two functions beside each other. The first runs so many times, the
// second over and over until the first is done or it fails.
func against(t *testing.T, times int, first func(n int) error, second func() error) {
	t.Helper()
	var wg sync.WaitGroup
	var done atomic.Bool
	var errs [2]error
	wg.Go(func() {
		defer done.Store(true)
		for n := 0; n < times && errs[0] == nil; n++ {
			errs[0] = first(n)
		}
	})
	wg.Go(func() {
		for !done.Load() && errs[1] == nil {
			errs[1] = second()
		}
	})
	wg.Wait()
	require.NoError(t, errors.Join(errs[:]...))
}

func rounds(n int) int {
	if testing.Short() {
		return n / 10
	}
	return n
}

// An allocation is counted as long as it is live.
func TestUsage_CountsWhatIsReleasedUntilItIs(t *testing.T) {
	cell, err := NewCell(Config{Machines: []Machine{{Name: "a", Capacity: resources.Vector{1}}}})
	require.NoError(t, err)
	s, err := cell.Register("s", Limits{})
	require.NoError(t, err)
	against(t, rounds(50_000), func(int) error {
		var tx Txn
		tx.Claim(Claim{Machine: cell.machine(0, 0), Need: resources.Vector{1}})
		if _, err := s.Commit(&tx); err != nil {
			return err
		}
		a, _ := tx.Allocation(0)
		return s.Release(a)
	}, func() error {
		before := load(cell.words.at(0))
		used := s.Usage()
		if before.live.count() == 1 && used[0] < 1 && load(cell.words.at(0)) == before {
			return fmt.Errorf("usage %v, and 1 is allocated", used)
		}
		return nil
	})
}

// No mark is lost where several preemptors leave one at the same time.
func TestMarks_ThatSeveralPushAreAllThere(t *testing.T) {
	cell, low, _, ids := preempted(t, 2)
	before := low.owner.marks.Load().size
	push := func() error {
		low.owner.push(cell, Mark{Allocation: Allocation{ID: ids[0]}, Fate: Preempted, By: "high"})
		return nil
	}
	n, others := rounds(10_000), 0
	against(t, n, func(int) error { return push() }, func() error {
		others++
		if others > n { // the list is as long as both are fast
			return nil
		}
		return push()
	})
	require.Equal(t, before+n+min(others, n), low.owner.marks.Load().size)
}

// A list of marks that all stand is copied when it has doubled, not with each mark.
func TestMarks_AreLookedThroughWhenTheyHaveDoubled(t *testing.T) {
	cell, low, _, ids := preempted(t, 2)
	copies := 0
	for range 1000 {
		before := low.owner.marks.Load()
		low.owner.push(cell, Mark{Allocation: Allocation{ID: ids[0]}, Fate: Preempted, By: "high"})
		if low.owner.marks.Load().next != before {
			copies++
		}
	}
	require.LessOrEqual(t, copies, 5)
}

// Calls of Cut at once wait for one another.
func TestCut_IsTakenOneAtATime(t *testing.T) {
	const cutters, machines = 4, 5000
	cell := largeCell(t, machines)
	var wg sync.WaitGroup
	for range cutters {
		wg.Go(func() {
			for range rounds(40) {
				if n := len(cell.Cut().machines); n != machines {
					panic(fmt.Sprint(n, " machines in a cut"))
				}
			}
		})
	}
	wg.Wait()
	require.Zero(t, cell.epoch.Load()%2)
}

// The ID of an allocation that was released names nothing while another claim is about to
// get its slot. That holds also if the claim is for a version that was overtaken.
func TestPlace_DoesNotReuseTheIDOfThePredecessor(t *testing.T) {
	cell, err := NewCell(Config{Machines: []Machine{{Name: "a", Capacity: resources.Vector{2}}}})
	require.NoError(t, err)
	s, err := cell.Register("s", Limits{})
	require.NoError(t, err)
	other, err := cell.Register("other", Limits{})
	require.NoError(t, err)
	claim := Claim{Machine: cell.machine(0, 0), Need: resources.Vector{1}}

	old := load(cell.words.at(0)) // that s has read, and then stalls
	var tx Txn
	tx.Claim(claim)
	_, err = other.Commit(&tx)
	require.NoError(t, err)
	a, ok := tx.Allocation(0)
	require.True(t, ok)
	require.NoError(t, other.Release(a))
	require.Equal(t, old.seq+1, a.seq)

	it := &item{claim: claim}
	s.charge(new(Txn), it)
	for seq := old.seq + 1; seq < old.seq+5; seq++ { // s goes on, and tries again
		live := old.live
		require.True(t, s.place(new(Txn), it, nil, &live, cell.table(0), seq))
		require.Equal(t, a.slot(), it.id.slot())
		require.NotEqual(t, a, it.id)
		_, ok = cell.record(a)
		require.False(t, ok)
		require.False(t, cell.holds(a))
		rec, ok := cell.record(it.id)
		require.True(t, ok)
		require.Equal(t, record{need: claim.Need, tally: it.tally}, rec)
		require.GreaterOrEqual(t, it.id.seq, seq)
		_, err = cell.ReadyAt(a)
		require.ErrorIs(t, err, ErrReleased)
		require.ErrorIs(t, other.Release(a), ErrReleased)
	}
}

// stops runs a function that has to fail in the middle. A panic there stands for a
// goroutine that is stopped for good.
func stops(t *testing.T, inTheMiddle func()) {
	t.Helper()
	require.Panics(t, inTheMiddle)
}

// A tally counts a subtraction before it subtracts: a sum that is made meanwhile is made
// again.
func TestTally_CountsWhatItTakesOffBefore(t *testing.T) {
	one := resources.Vector{1}
	tally := &tally{} // without an owner, of which the middle asks
	tally.used.add(&one)
	stops(t, func() { tally.sub(&one) })
	require.Zero(t, tally.used.load())
	require.EqualValues(t, 1, tally.taken.Load())
}

// A writer that stops at its stamp has not changed the machine, whichever way it writes.
// A later change finds the stamp open.
func TestStamp_IsOpenedBeforeTheWordIsSwapped(t *testing.T) {
	node := unstamped // the first with a stamp: a cut stops there too
	id := func(cell *Cell) MachineID { return cell.machine(node, 0) }
	writes := map[string]func(cell *Cell, s *Scheduler, held AllocationID){
		"claim": func(cell *Cell, s *Scheduler, _ AllocationID) {
			var tx Txn
			tx.Claim(Claim{Machine: id(cell), Need: resources.Vector{1}})
			_, _ = s.Commit(&tx)
		},
		"gang": func(cell *Cell, s *Scheduler, _ AllocationID) {
			tx := Txn{Gang: true}
			tx.Claim(Claim{Machine: cell.machine(0, 0), Need: resources.Vector{1}})
			tx.Claim(Claim{Machine: id(cell), Need: resources.Vector{1}})
			_, _ = s.Commit(&tx)
		},
		"release":     func(_ *Cell, s *Scheduler, held AllocationID) { _ = s.Release(held) },
		"drain":       func(cell *Cell, _ *Scheduler, _ AllocationID) { _ = cell.Drain(id(cell)) },
		"remove":      func(cell *Cell, _ *Scheduler, _ AllocationID) { _, _ = cell.Remove(id(cell)) },
		"capacity":    func(cell *Cell, _ *Scheduler, _ AllocationID) { _ = cell.SetCapacity(id(cell), resources.Vector{9}) },
		"cut":         func(cell *Cell, _ *Scheduler, _ AllocationID) { cell.Cut() },
		"replacement": func(cell *Cell, _ *Scheduler, _ AllocationID) { _, _ = cell.Replace("s") },
	}
	for name, write := range writes {
		t.Run(name, func(t *testing.T) {
			cell := largeCell(t, node+1)
			s, err := cell.Register("s", Limits{})
			require.NoError(t, err)
			var tx Txn
			tx.Claim(Claim{Machine: id(cell), Need: resources.Vector{1}})
			_, err = s.Commit(&tx)
			require.NoError(t, err)
			held, ok := tx.Allocation(0)
			require.True(t, ok)

			before := load(cell.words.at(node))
			cell.stamps = segments[stamp]{} // where the writer stops
			stops(t, func() { write(cell, s, held) })
			require.Same(t, before, load(cell.words.at(node)))
		})
	}
}
