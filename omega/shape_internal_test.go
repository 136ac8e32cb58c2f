package omega

import (
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/cellsched/cellsched/resources"
)

// A transaction has a shape only if its items are on machines of their own, and all are
// releases, or all plain claims. In the order of machines they rise from the item at which
// they fall.
func TestLook_FindsThatMachinesDiffer(t *testing.T) {
	found := [claimsApart + 1]int{}
	rapid.Check(t, func(t *rapid.T) {
		var tx Txn
		nodes := rapid.OneOf(
			rapid.SliceOfN(rapid.Uint32Range(0, 4), 2, 5),
			rapid.Map(rapid.Uint32Range(0, 4), func(first uint32) []uint32 { // as next fit goes around
				return []uint32{first, (first + 1) % 5, (first + 2) % 5, (first + 3) % 5}
			}),
		).Draw(t, "machines")
		kinds := rapid.IntRange(0, 7).Draw(t, "kinds")
		releases, claims := true, true
		apart := make(map[uint32]bool)
		for i, node := range nodes {
			apart[node] = true
			switch {
			case kinds == 0 || kinds > 4:
				tx.Claim(Claim{Machine: machineID(node, 0, 1), Need: resources.Vector{1}})
				releases = false
			case kinds == 1 && i == len(nodes)/2:
				tx.Claim(Claim{Machine: machineID(node, 0, 1), Need: resources.Vector{1}, Victims: make([]AllocationID, 1)})
				claims, releases = false, false
			default:
				tx.Release(allocationID(node, 0, 1, 2))
				claims = false
			}
		}
		tx.look()
		found[tx.shape]++
		if tx.shape == anyShape {
			return
		}
		require.Len(t, apart, len(nodes))
		require.Equal(t, claims, tx.shape == claimsApart)
		require.Equal(t, releases, tx.shape == releasesApart)
		for i := range len(nodes) - 1 {
			at := (i + int(tx.fall)) % len(nodes)
			require.Less(t, nodes[at], nodes[(at+1)%len(nodes)])
		}
	})
	require.NotContains(t, found, 0)
}

// A gang of releases takes effect in one step. So it is not carried out release by release.
func TestApply_AGangOfReleasesIsOneStep(t *testing.T) {
	for _, together := range []bool{false, true} {
		cell, all := twoSchedulers(t, 2)
		s := all[0]
		tx := Txn{Gang: true}
		for node := range uint32(2) {
			tx.Claim(Claim{Machine: cell.machine(node, 0), Need: resources.Vector{1}})
		}
		_, err := s.Commit(&tx)
		require.NoError(t, err)
		back := Txn{Gang: together}
		for i := range 2 {
			a, _ := tx.Allocation(i)
			back.Release(a)
		}
		_, err = s.Commit(&back)
		require.NoError(t, err)
		for node := range uint32(2) {
			require.Equal(t, together, cell.words.at(node).Keep().V.op != nil)
		}
	}
}

// A gang that is refused leaves the versions of its machines where they are: none is used
// again.
func TestCommit_ARefusedGangUsesNoVersionAgain(t *testing.T) {
	cell, all := twoSchedulers(t, 3)
	s := all[0]
	claim := func(need int64, nodes ...uint32) (granted int) {
		tx := Txn{Gang: len(nodes) > 1}
		for i, node := range nodes {
			tx.Claim(Claim{Machine: cell.machine(node, 0), Need: resources.Vector{1 + int64(i)*need}})
		}
		granted, err := s.Commit(&tx)
		require.NoError(t, err)
		return granted
	}
	for node := range uint32(3) {
		require.Equal(t, 1, claim(0, node)) // so that each version is the scheduler's own
	}
	for range 3 {
		require.Zero(t, claim(20, 0, 1), "the second machine has no room")
		require.Equal(t, 1, claim(0, 2))
	}
	require.NoError(t, cell.Check())
	require.Equal(t, resources.Vector{19, 20}, load(cell.words.at(0)).free())
}
