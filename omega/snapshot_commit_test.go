package omega_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/cellsched/cellsched/locality"
	"github.com/cellsched/cellsched/omega"
	"github.com/cellsched/cellsched/resources"
)

// A gang that only acknowledges a preemption on some machine shows its scheduler what the
// machine is now, although it leaves the machine as it is.
func TestCommit_ShowsMachinesThatAGangLeavesAsTheyAre(t *testing.T) {
	for name, gang := range map[string]bool{"gang": true, "one by one": false} {
		t.Run(name, func(t *testing.T) {
			cell, ids := newCell(t, 2, resources.Vector{10})
			low, high := ranked(t, cell, "low"), ranked(t, cell, "high")
			snap := low.Snapshot()
			victims := held(t, low, ids[0], 0, resources.Vector{4})
			tx := omega.Txn{Now: time.Unix(1, 0), Grace: omega.AtOnce}
			tx.Claim(omega.Claim{Machine: ids[0], Need: resources.Vector{9}, Precedence: 1, Victims: victims})
			granted, err := high.Commit(&tx)
			require.NoError(t, err)
			require.Equal(t, 1, granted)

			free, ok := snap.Free(ids[0])
			require.True(t, ok)
			require.Equal(t, resources.Vector{6}, free, "it has not looked since")
			own := omega.Txn{Gang: gang}
			own.Release(victims[0])
			own.Claim(claim(ids[1], 3))
			granted, err = low.Commit(&own)
			require.NoError(t, err)
			require.Equal(t, 1, granted)
			for i, want := range []int64{1, 7} {
				free, ok = snap.Free(ids[i])
				require.True(t, ok)
				require.Equal(t, resources.Vector{want}, free, "machine %d", i)
			}
		})
	}
}

// A commit on a machine gives back what the snapshot alone has taken there, and a search
// finds that room, also after one in vain.
func TestCommit_GivesBackWhatIsTakenWhereASearchFindsIt(t *testing.T) {
	cell, ids := newCell(t, 32, resources.Vector{10})
	s, other := register(t, cell, "s"), register(t, cell, "other")
	for _, id := range ids[1:] {
		commit(t, other, &omega.Txn{}, claim(id, 10))
	}
	snap := s.Snapshot()
	require.True(t, snap.Take(ids[0], resources.Vector{8}))
	q := omega.Query{Need: resources.Vector{5}}
	for range 2 {
		_, found := snap.Find(q, omega.BestFit())
		require.False(t, found)
	}
	require.Equal(t, 1, commit(t, s, &omega.Txn{}, claim(ids[0], 1)))
	m, found := snap.Find(q, omega.BestFit())
	require.True(t, found)
	require.Equal(t, ids[0], m)
	free, _ := snap.Free(ids[0])
	require.Equal(t, resources.Vector{9}, free)
}

// A search finds the room that a commit gives back, also after one in vain. The commit may
// claim on the same machine, as a gang or not.
func TestCommit_GivesBackRoomWhereASearchFindsIt(t *testing.T) {
	type action func(tx *omega.Txn, held []omega.AllocationID, ids []omega.MachineID)
	for name, act := range map[string]action{
		"release": func(tx *omega.Txn, held []omega.AllocationID, _ []omega.MachineID) { tx.Release(held[1]) },
		"releases": func(tx *omega.Txn, held []omega.AllocationID, _ []omega.MachineID) {
			tx.Release(held[0])
			tx.Release(held[1])
		},
		"release beside a claim": func(tx *omega.Txn, held []omega.AllocationID, ids []omega.MachineID) {
			tx.Release(held[1])
			tx.Claim(claim(ids[1], 1))
		},
		"release elsewhere": func(tx *omega.Txn, held []omega.AllocationID, ids []omega.MachineID) {
			tx.Release(held[0])
			tx.Release(held[1])
			tx.Claim(claim(ids[0], 10))
		},
		"exchange": func(tx *omega.Txn, held []omega.AllocationID, ids []omega.MachineID) {
			tx.Exchange([]omega.AllocationID{held[1]}, claim(ids[1], 1), claim(ids[1], 2))
		},
		"resize": func(tx *omega.Txn, held []omega.AllocationID, _ []omega.MachineID) {
			tx.Resize(held[1], resources.Vector{4})
		},
		"preemption": func(tx *omega.Txn, held []omega.AllocationID, ids []omega.MachineID) {
			c := claim(ids[1], 2)
			c.Precedence, c.Victims = 1, []omega.AllocationID{held[1]}
			tx.Claim(c)
		},
	} {
		for _, gang := range []bool{false, true} {
			t.Run(fmt.Sprint(name, "/gang=", gang), func(t *testing.T) {
				cell, ids := newCell(t, 32, resources.Vector{10})
				s, err := cell.Register("s", omega.Limits{Highest: 1})
				require.NoError(t, err)
				snap := s.Snapshot()
				var tx omega.Txn
				var held []omega.AllocationID
				for _, id := range ids {
					tx.Reset()
					require.Equal(t, 1, commit(t, s, &tx, claim(id, 10)))
					a, _ := tx.Allocation(0)
					held = append(held, a)
				}
				q := omega.Query{Need: resources.Vector{5}}
				_, found := snap.Find(q, omega.FirstFit(nil))
				require.False(t, found)
				tx.Reset()
				tx.Gang, tx.Now, tx.Grace = gang, time.Unix(1, 0), omega.AtOnce
				act(&tx, held, ids)
				commit(t, s, &tx)
				for i := range tx.Len() {
					require.NoError(t, tx.Err(i))
				}
				q.Among = func(yield func(locality.Node) bool) { yield(1) }
				_, found = snap.Find(q, omega.NextFit())
				require.True(t, found, "machine 1 has room")
				q.Among = nil
				_, found = snap.Find(q, omega.FirstFit(nil))
				require.True(t, found)
				require.NoError(t, cell.Check())
			})
		}
	}
}

// A search finds the room that a reservation has kept from it, once a commit of the
// scheduler's own has met the reservation when it was over.
func TestCommit_ShowsRoomThatAReservationNoLongerKeeps(t *testing.T) {
	cell, ids := newCell(t, 1, resources.Vector{10})
	s, other := register(t, cell, "s"), register(t, cell, "other")
	var tx omega.Txn
	tx.Reserve(time.Unix(10, 0), claim(ids[0], 9))
	commit(t, other, &tx)
	snap := s.Snapshot()
	q := omega.Query{Need: resources.Vector{5}}
	_, found := snap.Find(q, omega.FirstFit(nil))
	require.False(t, found)
	require.Equal(t, 1, commit(t, s, &omega.Txn{Now: time.Unix(20, 0)}, claim(ids[0], 1)))
	_, found = snap.Find(q, omega.FirstFit(nil))
	require.True(t, found)
	require.NoError(t, cell.Check())
}
