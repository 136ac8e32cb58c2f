package flow_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cellsched/cellsched/locality"
	"github.com/cellsched/cellsched/locality/quincy"
	"github.com/cellsched/cellsched/omega"
	"github.com/cellsched/cellsched/omega/flow"
	"github.com/cellsched/cellsched/resources"
)

// sites is a cell with its machines in a topology, and a scheduler that notes its racks
// in each round: the machines of each rack, by their numbers.
type sites struct {
	cell     *omega.Cell
	topology *locality.Topology
	s        *flow.Scheduler[job, name]
	added    int // machines
	racks    [][]locality.Node
}

func newSites(t *testing.T, level locality.Level, cfg locality.Config, machines int) *sites {
	t.Helper()
	s := &sites{}
	var err error
	s.topology, err = locality.New(cfg)
	require.NoError(t, err)
	s.cell, err = omega.NewCell(omega.Config{})
	require.NoError(t, err)
	for range machines {
		s.add(t)
	}
	ours, err := s.cell.Register("flow", omega.Limits{})
	require.NoError(t, err)
	s.s, err = flow.New[job](flow.Config[name]{
		Cell: s.cell, Scheduler: ours, Slot: resources.Vector{1}, Verify: true,
		Rack: flow.RacksOf(s.topology, level),
		Arcs: func(arcs []quincy.Arc, _ name, state quincy.State, _ int64) []quincy.Arc {
			s.racks = nil
			seen := map[quincy.Rack]bool{}
			for n := range locality.Node(10) {
				if rack, ok := state.Racks.Of(n); ok && !seen[rack] {
					seen[rack] = true
					s.racks = append(s.racks, slices.Clone(state.Racks.Nodes(rack)))
				}
			}
			return append(arcs, quincy.Arc{To: quincy.Unscheduled()})
		},
	})
	require.NoError(t, err)
	require.NoError(t, s.s.AddJob("j", 0, 1))
	require.NoError(t, s.s.Add(0, flow.Task[job]{Job: "j", Need: resources.Vector{1}}, start))
	return s
}

func (s *sites) add(t *testing.T) omega.MachineID {
	t.Helper()
	s.added++
	id, err := s.cell.Add(omega.Machine{Name: fmt.Sprint("machine-", s.added), Capacity: resources.Vector{1}})
	require.NoError(t, err)
	return id
}

// round returns the racks after one.
func (s *sites) round(t *testing.T) [][]locality.Node {
	t.Helper()
	_, err := s.s.Round(t.Context(), start)
	require.NoError(t, err)
	require.NoError(t, s.s.Update(0, start))
	return s.racks
}

func TestRacksOf_AreTheGroupsOfALevel(t *testing.T) {
	cfg := locality.Config{Parents: map[string]string{"r1": "z", "r2": "z"}, Nodes: []string{"r2", "r1", "r2", "", "r3"}}
	for level, want := range [][][]locality.Node{
		locality.NodeLocal: {{0}, {1}, {2}, {3}, {4}, {5}, {6}},
		locality.RackLocal: {{0, 2}, {1}, {3}, {4}, {5}, {6}}, // 5 and 6 are not known
		locality.ZoneLocal: {{0, 1, 2}, {3}, {4}, {5}, {6}},
		locality.Anywhere:  {{0, 1, 2, 3, 4, 5, 6}},
	} {
		require.Equal(t, want, newSites(t, locality.Level(level), cfg, 7).round(t), "level %d", level)
	}
	none := flow.RacksOf(nil, locality.NodeLocal)
	require.NotPanics(t, func() { none(omega.MachineState{}) })
}

// The topology may change at any time. A machine that comes is where it is by
// then, one that moves is there when it has been added again.
func TestRacksOf_FollowMachinesThatComeAgain(t *testing.T) {
	s := newSites(t, locality.RackLocal, locality.Config{Nodes: []string{"r1", "r1", "r2"}}, 3)
	require.Equal(t, [][]locality.Node{{0, 1}, {2}}, s.round(t))

	id := s.add(t)
	require.NoError(t, s.topology.Add(id.Node(), "r2"))
	require.NoError(t, s.topology.Add(0, "r3"))
	require.Equal(t, [][]locality.Node{{0, 1}, {2, 3}}, s.round(t), "0 keeps the rack that it came with")

	for m := range s.cell.Machines() {
		if m.ID.Node() == 0 {
			_, err := s.cell.Remove(m.ID)
			require.NoError(t, err)
		}
	}
	require.EqualValues(t, 0, s.add(t).Node(), "the number is used again")
	require.Equal(t, [][]locality.Node{{0}, {1}, {2, 3}}, s.round(t))
}
