package omega_test

import (
	"bytes"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/cellsched/cellsched/omega"
	"github.com/cellsched/cellsched/resources"
)

// A transaction with a detection that there is not is refused, before a journal keeps it: no
// copy could read it.
func TestCommit_RefusesAnUnknownDetection(t *testing.T) {
	cell, log, first := newTaped(t, omega.Config{Machines: []omega.Machine{{Name: "m", Capacity: resources.Vector{8}}}})
	s, err := cell.Register("s", omega.Limits{})
	require.NoError(t, err)
	s.Snapshot().Refresh(time.Unix(1e9, 0))
	m, _ := cell.Machine("m")
	for detect := omega.Fine; detect <= omega.Coarse+1; detect++ {
		tx := omega.Txn{Detect: detect}
		tx.Claim(omega.Claim{Machine: m, Need: resources.Vector{1}})
		switch _, err := s.Commit(&tx); detect {
		case omega.Coarse + 1:
			require.ErrorIs(t, err, omega.ErrUnknown)
			require.ErrorContains(t, err, "detection 3")
		default:
			require.NoError(t, err)
		}
	}
	other := copyOf(t, first)
	log.play(t, other, 0, len(log.ops))
	require.True(t, bytes.Equal(saved(t, cell), saved(t, other)))
}

// A caller that goes on with a mask of its own changes no limit: other copies of the cell would
// not know of that.
func TestRegister_KeepsAMaskOfItsOwn(t *testing.T) {
	cell, log, first := newTaped(t, omega.Config{Machines: []omega.Machine{
		{Name: "m0", Capacity: resources.Vector{8}}, {Name: "m1", Capacity: resources.Vector{8}},
	}})
	chief, err := cell.Register("chief", omega.Limits{})
	require.NoError(t, err)
	mask := omega.Mask{1}
	registered, err := cell.Register("registered", omega.Limits{Machines: mask})
	require.NoError(t, err)
	deputy, err := chief.Deputy("deputy", omega.Limits{Machines: mask})
	require.NoError(t, err)
	mask[0] = 3
	registered.Limits().Machines[0] = 3
	deputy.Limits().Machines[0] = 3
	m1, _ := cell.Machine("m1")
	for _, s := range []*omega.Scheduler{registered, deputy} {
		require.Equal(t, omega.Mask{1}, s.Limits().Machines)
		var tx omega.Txn
		tx.Claim(omega.Claim{Machine: m1, Need: resources.Vector{1}})
		_, err := s.Commit(&tx)
		require.NoError(t, err)
		require.ErrorIs(t, tx.Err(0), omega.ErrForbidden)
	}
	other := copyOf(t, first)
	log.play(t, other, 0, len(log.ops))
	require.True(t, bytes.Equal(saved(t, cell), saved(t, other)))
}
