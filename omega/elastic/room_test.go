package elastic_test

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/cellsched/cellsched/locality"
	"github.com/cellsched/cellsched/omega"
	"github.com/cellsched/cellsched/omega/elastic"
	"github.com/cellsched/cellsched/resources"
)

func TestLook_CountsWhatFits(t *testing.T) {
	ten := resources.Vector{10, 100}
	cell := newCell(t, ten, ten, ten, resources.Vector{10, 2})
	s := register(t, cell, "batch", omega.Limits{})
	occupy(t, s, machineAt(cell, 0), resources.Vector{5})
	occupy(t, s, machineAt(cell, 1), resources.Vector{9})

	q := omega.Query{Need: resources.Vector{2, 1}}
	total := resources.Vector{40, 302}
	require.Equal(t, elastic.Room{Workers: 2 + 0 + 5 + 2, Used: resources.Vector{14}, Total: total}, look(t, s, q))

	require.True(t, s.Snapshot().Take(machineAt(cell, 2), resources.Vector{4}))
	room, err := elastic.Look(s.Snapshot(), q)
	require.NoError(t, err)
	require.Equal(t, elastic.Room{Workers: 2 + 0 + 3 + 2, Used: resources.Vector{18}, Total: total}, room, "taken and not committed")

	require.NoError(t, cell.Drain(machineAt(cell, 2)))
	require.Equal(t, elastic.Room{Workers: 2 + 0 + 0 + 2, Used: resources.Vector{14}, Total: total}, look(t, s, q), "one drains")

	_, err = cell.Remove(machineAt(cell, 0))
	require.NoError(t, err)
	require.Equal(t, elastic.Room{Workers: 2, Used: resources.Vector{9}, Total: resources.Vector{30, 202}}, look(t, s, q), "one is gone")
}

func TestLook_WithinWhatTheQueryAndTheSchedulerMay(t *testing.T) {
	ten := resources.Vector{10}
	cell := newCell(t, ten, ten, ten, ten)
	s := register(t, cell, "batch", omega.Limits{Machines: omega.NewMask(slices.Values([]locality.Node{0, 1, 2}))})
	tests := map[string]struct {
		allow   func(locality.Node) bool
		among   []locality.Node
		workers int
	}{
		"all that the scheduler may": {workers: 15},
		"the query forbids one":      {allow: func(n locality.Node) bool { return n != 1 }, workers: 10},
		"the query names some":       {among: []locality.Node{3, 2, 1, 1, 7}, workers: 10},
		"it names none":              {among: []locality.Node{}, workers: 0},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			q := omega.Query{Need: resources.Vector{2}, Allow: test.allow}
			if test.among != nil {
				q.Among = slices.Values(test.among)
			}
			require.Equal(t, elastic.Room{Workers: test.workers, Total: resources.Vector{40}}, look(t, s, q))
		})
	}
}

func TestLook_RefusesWorkersThatNeedNothing(t *testing.T) {
	s := register(t, newCell(t, resources.Vector{1}), "batch", omega.Limits{})
	for _, need := range []resources.Vector{{}, {-1}} {
		_, err := elastic.Look(s.Snapshot(), omega.Query{Need: need})
		require.ErrorIs(t, err, resources.ErrQuantity)
	}
}

// What is counted is what the library's own search places, whichever machines
// are full, draining or forbidden, and looking changes nothing.
func TestLook_AgreesWithPlace(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		vector := func(most int64, name string) resources.Vector {
			return resources.Vector{
				rapid.Int64Range(0, most).Draw(t, name+" cpu"), rapid.Int64Range(0, most).Draw(t, name+" memory"),
			}
		}
		machines := rapid.IntRange(0, 12).Draw(t, "machines")
		capacities := make([]resources.Vector, machines)
		for i := range capacities {
			capacities[i] = vector(20, "capacity")
		}
		cell := newCell(t, capacities...)
		mask := omega.Mask{rapid.Uint64().Draw(t, "mask")}
		s := register(t, cell, "batch", omega.Limits{Machines: mask})
		others := register(t, cell, "others", omega.Limits{})
		for m := range machines {
			var tx omega.Txn
			need := vector(20, "used")
			if need == (resources.Vector{}) {
				continue
			}
			tx.Claim(omega.Claim{Machine: machineAt(cell, m), Need: need})
			_, err := others.Commit(&tx)
			require.NoError(t, err)
			if rapid.IntRange(0, 4).Draw(t, "drained") == 0 {
				require.NoError(t, cell.Drain(machineAt(cell, m)))
			}
		}
		q := omega.Query{Need: vector(4, "need")}
		q.Need[1]++
		room := look(t, s, q)
		again, err := elastic.Look(s.Snapshot(), q)
		require.NoError(t, err)
		require.Equal(t, room, again)

		placed := s.Snapshot().Place(q, omega.NextFit(), room.Workers+1, func(omega.MachineID, int) {})
		require.Equal(t, placed, room.Workers)
		full, err := elastic.Look(s.Snapshot(), q)
		require.NoError(t, err)
		require.Equal(t, room.Less(q.Need, placed), full, "as if they were there")
	})
}

func TestRoom_LessIsNeverBelowNothing(t *testing.T) {
	room := elastic.Room{Workers: 2, Used: resources.Vector{5}, Total: resources.Vector{10}}
	require.Equal(t, elastic.Room{Workers: 1, Used: resources.Vector{7}, Total: resources.Vector{10}}, room.Less(resources.Vector{2}, 1))
	require.Equal(t, elastic.Room{Used: resources.Vector{10}, Total: resources.Vector{10}}, room.Less(resources.Vector{2}, 1000))
	require.Equal(t, room, room.Less(resources.Vector{2}, 0))
	require.Equal(t, room, room.Less(resources.Vector{2}, -1))
}
