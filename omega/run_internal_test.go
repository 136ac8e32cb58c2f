package omega

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cellsched/cellsched/resources"
)

// Claims of one account that come one after the other change its tally once, and so do
// releases and refused claims. Every tally ends up with what is allocated.
func TestCommit_ChangesATallyOnceForARunOfItems(t *testing.T) {
	cell, all := twoSchedulers(t, 12)
	s := all[0]
	var accounts [2]Account
	for i, name := range []string{"a", "b"} {
		a, err := cell.Account(t.Context(), name)
		require.NoError(t, err)
		accounts[i] = a
	}
	taken := func() (sum [2]uint64) {
		for i, a := range accounts {
			sum[i] = s.charged(a, 0).taken.Load()
		}
		return sum
	}
	for _, gang := range []bool{false, true} {
		tx := Txn{Gang: gang}
		for node := range uint32(12) { // four of a, four of b, and four of a
			tx.Claim(Claim{Machine: cell.machine(node, 0), Account: accounts[node/4%2], Need: resources.Vector{int64(node) + 1, 2}})
		}
		granted, err := s.Commit(&tx)
		require.NoError(t, err)
		require.Equal(t, 12, granted)
		require.NoError(t, cell.Check())
		before := taken()

		refused := Txn{Gang: gang}
		for range 3 {
			refused.Claim(Claim{Machine: cell.machine(11, 0), Account: accounts[1], Need: resources.Vector{20, 20}})
		}
		granted, err = s.Commit(&refused)
		require.NoError(t, err)
		require.Zero(t, granted)
		require.Equal(t, [2]uint64{before[0], before[1] + 1}, taken())
		require.NoError(t, cell.Check())

		back := Txn{Gang: gang}
		for i := range 12 {
			a, ok := tx.Allocation(i)
			require.True(t, ok)
			back.Release(a)
		}
		_, err = s.Commit(&back)
		require.NoError(t, err)
		require.Equal(t, [2]uint64{before[0] + 2, before[1] + 2}, taken(), "two runs of a, one of b and that of the refused claims")
		require.Zero(t, s.Usage())
		require.NoError(t, cell.Check())
	}
}

// Amounts of a run may add up to more than 63 bits hold: a tally is left with the rest
// all the same.
func TestRun_AddsUpModuloAllBits(t *testing.T) {
	by := &tally{owner: &owner{held: new(amount)}}
	most := resources.Uniform(resources.MaxQuantity)
	in, out := run{}, run{ended: true}
	for range 3 {
		in.put(by, &most)
	}
	in.put(by, &resources.Vector{7, 1})
	in.flush()
	for range 3 {
		out.put(by, &most)
	}
	out.flush()
	out.flush()
	require.Equal(t, resources.Vector{7, 1}, by.used.load())
	require.Equal(t, resources.Vector{7, 1}, by.owner.held.load())
	require.EqualValues(t, 1, by.taken.Load(), "of nothing none is taken")
}
