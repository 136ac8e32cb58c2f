package pool

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cellsched/cellsched/omega"
	"github.com/cellsched/cellsched/resources"
)

// A machine that holds as many leases as it can has no room, whatever its
// resources are.
func TestAcquire_WaitsWhereNoLeaseIsLeft(t *testing.T) {
	one, many := resources.Vector{1}, resources.Vector{2 * maxLeases}
	p, err := New(Config{Machines: []omega.Machine{{Name: "a", Capacity: many}, {Name: "b", Capacity: many}}})
	require.NoError(t, err)
	p.count[0], p.count[1] = maxLeases, maxLeases-1
	l, err := p.TryAcquire("a", one)
	require.NoError(t, err)
	require.EqualValues(t, 1, l.Node())
	_, err = p.TryAcquire("a", one)
	require.ErrorIs(t, err, ErrNoRoom)
	require.NoError(t, l.Release())
	w := &waiter{needs: []resources.Vector{one, one}}
	require.Nil(t, p.grantAll(w, p.pack(w)), "not both")
}

// Names that were used once leave nothing behind.
func TestTenants_LeaveNothingBehind(t *testing.T) {
	p, err := New(Config{Machines: []omega.Machine{{Name: "a", Capacity: resources.Vector{1}}}})
	require.NoError(t, err)
	for i := range 3 * sweepMin {
		l, err := p.TryAcquire(fmt.Sprint(i), resources.Vector{1})
		require.NoError(t, err)
		require.NoError(t, l.Release())
	}
	require.LessOrEqual(t, p.heap.Len(), sweepMin+1)
	require.LessOrEqual(t, len(p.tenants), sweepMin+1)
}
