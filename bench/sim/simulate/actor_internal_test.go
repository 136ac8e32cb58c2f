package simulate

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cellsched/cellsched/omega"
	"github.com/cellsched/cellsched/omega/loop"
	"github.com/cellsched/cellsched/resources"
)

// Room that is kept for tasks of one need is not for those of another, which look for
// room of their own.
func TestActor_TakesOffersOfItsNeedOnly(t *testing.T) {
	small, large := resources.Vector{1}, resources.Vector{2}
	a := &actor{sim: &simulation{}, offered: []offer{{need: small}, {need: small}}}
	searched := 0
	a.find = func(s *loop.Search[int]) { searched = s.Tasks }

	var tx omega.Txn
	a.place(&loop.Search[int]{Job: &loop.Job[int]{Need: large}, Tasks: 3, Txn: &tx})
	require.Equal(t, []int{0, 3, 2}, []int{tx.Len(), searched, len(a.offered)})
	a.place(&loop.Search[int]{Job: &loop.Job[int]{Need: small}, Tasks: 3, Txn: &tx})
	require.Equal(t, []int{2, 1, 0}, []int{tx.Len(), searched, len(a.offered)})
}

// An offer that was withdrawn is not exchanged later.
func TestAuditor_WithdrawsOffersFromTheirSchedulers(t *testing.T) {
	one := &actor{offered: []offer{{}, {}}}
	a := &auditor{sim: &simulation{actors: []*actor{one, {}}}}
	require.NoError(t, a.withdraw())
	require.Empty(t, one.offered)
}
