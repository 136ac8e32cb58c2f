package omega_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cellsched/cellsched/omega"
	"github.com/cellsched/cellsched/resources"
)

// A claim and its release write versions anew that their scheduler made before, where no
// other goroutine has read them. The claim's record is that of an earlier claim like it.
// The other heap objects are the first slot of a new segment, and now and then a part of
// the set of live slots.
func TestCommit_AllocatesNoVersion(t *testing.T) {
	tests := map[string]struct {
		release, read, snapshot, renew bool
		full                           int              // allocations of each machine at first
		more                           resources.Vector // of its capacity
		want                           float64
	}{
		"claims":                         {snapshot: true},
		"claims without a snapshot":      {},
		"claims and releases":            {release: true, snapshot: true},
		"of machines in place of others": {release: true, renew: true},
		"of machines of eight kinds":     {release: true, snapshot: true, more: resources.Uniform(1)},
		"of machines of many slots":      {release: true, snapshot: true, full: 200},
		"of machines that others read":   {release: true, read: true, snapshot: true, want: 2},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			cell, ids := newCell(t, 100, tt.more.Add(resources.Vector{1 << 40}))
			if tt.renew {
				for i, id := range ids {
					_, err := cell.Remove(id)
					require.NoError(t, err)
					ids[i], err = cell.Add(omega.Machine{Name: fmt.Sprint("next-", i), Capacity: resources.Vector{1 << 40}})
					require.NoError(t, err)
				}
			}
			s := register(t, cell, "s")
			if tt.snapshot {
				s.Snapshot()
			}
			var tx omega.Txn
			i := 0
			for _, id := range ids {
				tx.Reset()
				for range tt.full {
					tx.Claim(claim(id, 1))
				}
				if tt.full > 0 {
					_, err := s.Commit(&tx)
					require.NoError(t, err)
				}
			}
			commit := func(granted int) {
				n, err := s.Commit(&tx)
				require.NoError(t, err)
				require.Equal(t, granted, n)
				if tt.read {
					cell.State(ids[i%len(ids)])
				}
			}
			step := func() {
				tx.Reset()
				tx.Claim(claim(ids[i%len(ids)], 1))
				commit(1)
				if tt.release {
					a, _ := tx.Allocation(0)
					tx.Reset()
					tx.Release(a)
					commit(0)
				}
				i++
			}
			for range ids {
				step() // so that all slots are there
			}
			require.Equal(t, tt.want, testing.AllocsPerRun(1500, step))
		})
	}
}

// A gang and the commit that releases it write versions anew, too. Three objects are new,
// since helpers may still have the last ones in their hands: the list of machines, its
// header, and the gang's status.
func TestCommit_OfAGangAllocatesNoVersion(t *testing.T) {
	for _, size := range []int{2, 10, 100, 1000} {
		for _, gangRelease := range []bool{false, true} {
			t.Run(fmt.Sprint("size=", size, "/gang release=", gangRelease), func(t *testing.T) {
				cell, ids := newCell(t, size, resources.Vector{1 << 40})
				s := register(t, cell, "s")
				s.Snapshot()
				gang, back := omega.Txn{Gang: true}, omega.Txn{Gang: gangRelease}
				step := func() {
					gang.Reset()
					for _, id := range ids {
						gang.Claim(claim(id, 1))
					}
					granted, err := s.Commit(&gang)
					require.NoError(t, err)
					if granted != size { // Equal allocates
						t.Fatal(granted)
					}
					back.Reset()
					for i := range ids {
						a, _ := gang.Allocation(i)
						back.Release(a)
					}
					_, err = s.Commit(&back)
					require.NoError(t, err)
				}
				for range 3 {
					step()
				}
				want := 3.0
				if gangRelease {
					want = 6
				}
				require.Equal(t, want, testing.AllocsPerRun(20, step))
			})
		}
	}
}
