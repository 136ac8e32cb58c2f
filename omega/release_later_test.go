package omega_test

import (
	"errors"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cellsched/cellsched/omega"
	"github.com/cellsched/cellsched/resources"
)

// A cell without a journal releases at once, all that it can, and tells of the others.
func TestReleaseLater_ReleasesAtOnceWithoutAJournal(t *testing.T) {
	cell, ids := newCell(t, 1, resources.Vector{9})
	s, err := cell.Register("s", omega.Limits{})
	require.NoError(t, err)
	held := held(t, s, ids[0], 0, resources.Vector{1}, resources.Vector{2})
	later, err := s.ReleaseLater()
	require.NoError(t, err)
	require.False(t, later)
	later, err = s.ReleaseLater(held[0], held[0], held[1])
	require.ErrorIs(t, err, omega.ErrReleased)
	require.False(t, later)
	st, _ := cell.State(ids[0])
	require.Equal(t, resources.Vector{9}, st.Free)
	_, err = cell.Replace("s")
	require.NoError(t, err)
	_, err = s.ReleaseLater(held[0])
	require.ErrorIs(t, err, omega.ErrSuperseded)
	_, err = (*omega.Scheduler)(nil).ReleaseLater(held[0])
	require.ErrorIs(t, err, resources.ErrNil)
}

// A cell with a journal releases later, before a commit that is sent afterwards: that finds the
// room.
func TestReleaseLater_ComesBeforeALaterCommit(t *testing.T) {
	cell, j := newPaused(t)
	s, err := cell.Take(t.Context(), "s", omega.Limits{})
	require.NoError(t, err)
	m, _ := cell.Machine("a")
	held := held(t, s, m, 0, resources.Vector{9})
	j.hold = true
	later, err := s.ReleaseLater(held...)
	require.NoError(t, err)
	require.True(t, later)
	st, _ := cell.State(m)
	require.Zero(t, st.Free)
	j.hold = false
	var tx omega.Txn
	commit(t, s, &tx, claim(m, 8))
	_, ok := tx.Allocation(0)
	require.True(t, ok)
	later, err = s.ReleaseLater(held...) // refused, which is not told
	require.NoError(t, err)
	require.True(t, later)
	_, err = cell.Replace("s")
	require.NoError(t, err)
	_, err = s.ReleaseLater(held...)
	require.ErrorIs(t, err, omega.ErrSuperseded)
	require.ErrorIs(t, s.Release(held[0]), omega.ErrSuperseded)
	require.Equal(t, saved(t, j.copy), saved(t, cell))
}

// refusing is a journal that refuses operations from number left on.
type refusing struct {
	left int
	err  error
}

func (j *refusing) Append(op *omega.Operation) {
	if j.left--; j.left < 0 {
		op.Fail(j.err)
		return
	}
	op.Apply()
}

// ReleaseLater returns the error of a journal that refuses a release at once. The
// others are sent.
func TestReleaseLater_TellsOfAReleaseThatTheJournalRefuses(t *testing.T) {
	for _, doubt := range []bool{false, true} {
		cell, ids := newCell(t, 1, resources.Vector{9})
		j := &refusing{left: 5, err: errors.New("disk is full")}
		if doubt {
			j.err = errors.Join(omega.ErrOutcome, j.err)
		}
		require.NoError(t, cell.SetJournal(j))
		s, err := cell.Take(t.Context(), "s", omega.Limits{})
		require.NoError(t, err)
		held := held(t, s, ids[0], 0, resources.Vector{1}, resources.Vector{2}, resources.Vector{3})
		later, err := s.ReleaseLater(held...)
		require.True(t, later)
		require.ErrorIs(t, err, j.err)
		require.Equal(t, doubt, errors.Is(err, omega.ErrOutcome))
		st, _ := cell.State(ids[0])
		require.Equal(t, resources.Vector{4}, st.Free)
	}
}

// A release that no cell grants is refused without the journal.
func TestRelease_AsksNoJournalForNothing(t *testing.T) {
	cell, j := newPaused(t)
	s, err := cell.Take(t.Context(), "s", omega.Limits{})
	require.NoError(t, err)
	j.hold = true // it would wait for ever
	require.ErrorIs(t, s.Release(omega.AllocationID{}), omega.ErrReleased)
}

// A program that holds a lock gives an allocation back, and does not wait.
func ExampleScheduler_ReleaseLater() {
	cell, err := omega.NewCell(omega.Config{Machines: []omega.Machine{{Name: "m", Capacity: resources.Vector{4}}}})
	if err != nil {
		fmt.Println(err)
		return
	}
	s, err := cell.Register("s", omega.Limits{})
	if err != nil {
		fmt.Println(err)
		return
	}
	m, _ := cell.Machine("m")
	var tx omega.Txn
	item := tx.Claim(omega.Claim{Machine: m, Need: resources.Vector{3}})
	if _, err := s.Commit(&tx); err != nil {
		fmt.Println(err)
		return
	}
	a, _ := tx.Allocation(item)
	later, err := s.ReleaseLater(a)
	fmt.Println("later:", later, "error:", err)
	st, _ := cell.State(m)
	fmt.Println("free:", st.Free[0])
	// Output:
	// later: false error: <nil>
	// free: 4
}
