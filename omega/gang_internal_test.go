package omega

import (
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/cellsched/cellsched/resources"
)

// stalled is a gang that takes one unit on each of n machines of a cell of its own. Its
// scheduler stopped after it had put the first few versions in place.
type stalled struct {
	cell  *Cell
	gang  *gang
	steps []step
}

func stall(t *testing.T, machines, inPlace int) *stalled {
	t.Helper()
	cell, err := NewCell(Config{})
	require.NoError(t, err)
	st := &stalled{cell: cell, gang: &gang{}}
	s, err := cell.Register("stalled", Limits{})
	require.NoError(t, err)
	tx := &Txn{Gang: true}
	for i := range machines {
		m, err := cell.Add(Machine{Name: fmt.Sprint(i), Capacity: resources.Vector{10}})
		require.NoError(t, err)
		tx.Claim(Claim{Machine: m, Need: resources.Vector{1}})
	}
	require.NoError(t, tx.check(s))
	require.True(t, s.prepare(tx))
	tx.sort()
	for left := tx.order; len(left) > 0; {
		var g group
		g, left = tx.nextGroup(left)
		w := cell.words.at(g.node)
		next := &object{}
		moved, refused := s.build(tx, g, parts{claims: true}, load(w), cell.table(g.node), &next.V)
		require.True(t, moved)
		require.False(t, refused)
		next.V.op = st.gang
		next.V.prev.Store(w.Keep())
		st.steps = append(st.steps, step{word: w, expect: w.Keep(), next: next})
	}
	st.gang.steps.Store(&st.steps)
	for i := range st.steps[:inPlace] {
		require.True(t, st.gang.install(&st.steps[i], 0))
	}
	return st
}

func (st *stalled) free(node uint32) int64 { return load(st.cell.words.at(node)).room[0] }

// A reader never sees a gang before it is decided, wherever it stopped, and
// does not wait for it either.
func TestGang_IsUnseenUntilDecided(t *testing.T) {
	const machines = 3
	for inPlace := range machines + 1 {
		st := stall(t, machines, inPlace)
		s, err := st.cell.Register("reader", Limits{})
		require.NoError(t, err)
		snap := s.Snapshot()
		snap.catchUpAll()
		for node := range uint32(machines) {
			require.EqualValues(t, 10, st.free(node))
			require.EqualValues(t, 10, snap.free[node][0])
		}
		st.gang.help()
		require.Equal(t, inPlace, snap.Refresh(time.Time{})-(machines-inPlace), "a machine whose word has not moved since is copied too")
		snap.catchUpAll()
		for node := range uint32(machines) {
			require.EqualValues(t, 9, st.free(node))
			require.EqualValues(t, 9, snap.free[node][0])
		}
		require.NoError(t, st.cell.Check())
	}
}

// A scheduler that stopped anywhere inside its gang keeps no other from committing on the
// same machines: a scheduler that meets the gang finishes it. The gang stops with its
// slots taken and nothing in place, after each swap, and between the decision and the
// work after it. Each time others commit 100,000 times.
func TestGang_StalledBlocksNoOther(t *testing.T) {
	machines, commits := 4, 50_000 // and as many to give back
	if testing.Short() {
		commits /= 20
	}
	for at := range machines + 2 {
		inPlace := min(at, machines)
		st := stall(t, machines, inPlace)
		if at > machines {
			st.gang.help()
		}
		other, err := st.cell.Register("other", Limits{})
		require.NoError(t, err)
		for i := range commits {
			tx := Txn{Gang: i%2 == 0}
			for node := range uint32(machines) {
				tx.Claim(Claim{Machine: st.cell.machine(node, 0), Need: resources.Vector{2}})
			}
			n, err := other.Commit(&tx)
			require.NoError(t, err)
			require.Equal(t, machines, n)
			back := Txn{Gang: true}
			for i := range machines {
				a, _ := tx.Allocation(i)
				back.Release(a)
			}
			_, err = other.Commit(&back)
			require.NoError(t, err)
		}
		want := granted
		if inPlace == 0 {
			// No commit met it; by now every machine has moved on.
			st.gang.help()
			want = failed
		}
		require.Equal(t, want, st.gang.status.Load())
		require.NoError(t, st.cell.Check())
	}
}

// A machine that changed after the gang had looked at it fails the gang. The versions
// that it put in place stand for the earlier ones.
func TestGang_FailsWhenAMachineMoved(t *testing.T) {
	st := stall(t, 3, 2)
	other, err := st.cell.Register("other", Limits{})
	require.NoError(t, err)
	var tx Txn
	tx.Claim(Claim{Machine: st.cell.machine(2, 0), Need: resources.Vector{4}})
	_, err = other.Commit(&tx)
	require.NoError(t, err)

	st.gang.help()
	require.Equal(t, failed, st.gang.status.Load())
	require.Equal(t, []int64{10, 10, 6}, []int64{st.free(0), st.free(1), st.free(2)})

	// A helper that was delayed can neither grant it after all, nor do harm by
	// putting one more of its versions in place.
	last := &st.steps[2]
	raw := last.word.Keep()
	last.expect = raw
	last.next.V.prev.Store(raw)
	st.gang.help()
	require.True(t, last.word.CompareAndSwap(raw, last.next))
	st.gang.help()
	require.Equal(t, failed, st.gang.status.Load())
	require.EqualValues(t, 6, st.free(2))
	require.NoError(t, st.cell.Check())
}

// A decided gang drops the versions that it no longer needs, or each version would keep
// all earlier ones of the machine alive.
func TestGang_KeepsNoHistory(t *testing.T) {
	st := stall(t, 2, 1)
	s, err := st.cell.Register("many", Limits{})
	require.NoError(t, err)
	for range 100 {
		tx := Txn{Gang: true}
		for node := range uint32(2) {
			tx.Claim(Claim{Machine: st.cell.machine(node, 0), Need: resources.Vector{1}})
		}
		_, err := s.Commit(&tx)
		require.NoError(t, err)
	}
	for node := range uint32(2) {
		v := load(st.cell.words.at(node))
		require.NotNil(t, v.op)
		require.Nil(t, v.op.steps.Load())
		require.Nil(t, v.prev.Keep())
	}
	for _, step := range st.steps {
		require.Nil(t, step.next.V.prev.Keep(), "dropped by those who built on it, its own scheduler being stalled")
	}
}

// A second goroutine inside a scheduler's commit gets an error; nothing changes.
func TestCommit_RefusesASecondGoroutine(t *testing.T) {
	cell, err := NewCell(Config{Machines: []Machine{{Name: "a", Capacity: resources.Vector{10}}}})
	require.NoError(t, err)
	s, err := cell.Register("s", Limits{})
	require.NoError(t, err)
	word, _ := s.occupy() // as it is while another goroutine commits
	var tx Txn
	tx.Claim(Claim{Machine: cell.machine(0, 0), Need: resources.Vector{1}})
	_, err = s.Commit(&tx)
	require.ErrorIs(t, err, ErrBusy)
	require.ErrorContains(t, err, `"s"`)
	s.vacate(word)
	n, err := s.Commit(&tx)
	require.NoError(t, err)
	require.Equal(t, 1, n)
}

// A copy of a transaction that was committed is another transaction. It takes over
// nothing of the first, even where go vet forbids the copy.
func TestCommit_OfACopyTakesNothingOver(t *testing.T) {
	cell, err := NewCell(Config{Machines: []Machine{{Name: "a", Capacity: resources.Vector{1000}}}})
	require.NoError(t, err)
	s, err := cell.Register("s", Limits{})
	require.NoError(t, err)
	var tx Txn
	tx.Claim(Claim{Machine: cell.machine(0, 0), Need: resources.Vector{3}})
	again := Txn{items: tx.items}
	for _, tx := range []*Txn{&tx, &again} {
		n, err := s.Commit(tx)
		require.NoError(t, err)
		require.Equal(t, 1, n)
		require.NoError(t, cell.Check())
	}
	state, _ := cell.State(cell.machine(0, 0))
	require.Equal(t, resources.Vector{994}, state.Free)
}

func TestLimits_AreErrors(t *testing.T) {
	cell, err := NewCell(Config{Machines: []Machine{{Name: "a", Capacity: resources.Vector{10}}}})
	require.NoError(t, err)
	s, err := cell.Register("s", Limits{})
	require.NoError(t, err)

	at := cell.table(0)
	for slot := range uint32(maxAllocations) {
		at.grow(slot).meta().Store(metaTaken)
	}
	var tx Txn
	tx.Claim(Claim{Machine: cell.machine(0, 0), Need: resources.Vector{1}})
	n, err := s.Commit(&tx)
	require.NoError(t, err)
	require.Zero(t, n)
	require.ErrorIs(t, tx.Err(0), ErrFull)
	at.empty(maxAllocations-1, 0)
	tx.Reset()
	tx.Claim(Claim{Machine: cell.machine(0, 0), Need: resources.Vector{1}})
	n, err = s.Commit(&tx)
	require.NoError(t, err)
	require.Equal(t, 1, n, "one slot is left")

	for i := len(cell.owners); i < maxSchedulers; i++ {
		cell.owners[fmt.Sprint("another ", i)] = &owner{}
	}
	_, err = cell.Register("one too many", Limits{})
	require.ErrorIs(t, err, ErrTooMany)
	cell.nodes.Store(maxIndex)
	_, err = cell.Add(Machine{Name: "one too many"})
	require.ErrorIs(t, err, ErrTooMany)
}

// However many goroutines claim and release at once, slots stay as low as there are
// allocations at a time. The hint where to look may drift, the slots may not.
func TestSlots_StayLowUnderContention(t *testing.T) {
	const workers, rounds = 8, 20_000
	cell, err := NewCell(Config{Machines: []Machine{{Name: "a", Capacity: resources.Vector{1 << 20}}}})
	require.NoError(t, err)
	var wg sync.WaitGroup
	highest := make([]uint32, workers)
	for i := range workers {
		s, err := cell.Register(fmt.Sprint(i), Limits{})
		require.NoError(t, err)
		wg.Go(func() {
			var tx Txn
			for range rounds {
				tx.Reset()
				tx.Claim(Claim{Machine: cell.machine(0, 0), Need: resources.Vector{1}})
				_, _ = s.Commit(&tx)
				a, _ := tx.Allocation(0)
				highest[i] = max(highest[i], a.slot())
				_ = s.Release(a)
			}
		})
	}
	wg.Wait()
	require.Less(t, slices.Max(highest), uint32(firstSegment+workers))
	require.NoError(t, cell.Check())
}

// Slots are given back: by releases, by claims that were refused after they
// had taken one, and by machines that were removed.
func TestSlots_AreReused(t *testing.T) {
	cell, err := NewCell(Config{Machines: []Machine{{Name: "a", Capacity: resources.Vector{10}}, {Name: "b", Capacity: resources.Vector{10}}}})
	require.NoError(t, err)
	s, err := cell.Register("s", Limits{})
	require.NoError(t, err)
	claim := func(gang bool, needs ...int64) []AllocationID {
		tx := Txn{Gang: gang}
		for node, need := range needs {
			tx.Claim(Claim{Machine: cell.machine(uint32(node), 0), Need: resources.Vector{need}})
		}
		_, err := s.Commit(&tx)
		require.NoError(t, err)
		var got []AllocationID
		for i := range needs {
			if a, ok := tx.Allocation(i); ok {
				got = append(got, a)
			}
		}
		return got
	}
	for range 3 {
		for _, a := range claim(false, 3, 3) {
			require.Zero(t, a.slot())
			require.NoError(t, s.Release(a))
		}
		require.Empty(t, claim(true, 3, 11), "the first fits and takes a slot, the second does not fit")
	}
	lost := claim(false, 1)
	_, err = cell.Remove(cell.machine(0, 0))
	require.NoError(t, err)
	require.NotZero(t, cell.table(0).at(0).meta().Load(), "until its owner has released it")
	require.NoError(t, s.Release(lost[0]))
	for node := range uint32(2) {
		require.Zero(t, cell.table(node).at(0).meta().Load())
	}
}
