package omega_test

import (
	"bytes"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/cellsched/cellsched/locality"
	"github.com/cellsched/cellsched/omega"
	"github.com/cellsched/cellsched/resources"
)

func TestAttributes_FollowTheCell(t *testing.T) {
	cell, err := omega.NewCell(omega.Config{Machines: []omega.Machine{
		{Name: "a", Capacity: resources.Vector{1}, Attributes: map[string]string{"disk": "ssd", "cores": "8"}},
		{Name: "b", Capacity: resources.Vector{1}, Attributes: map[string]string{"disk": "ssd", "cores": "many"}},
	}})
	require.NoError(t, err)
	index := cell.Attributes("cores")
	ssd, err := index.Register(locality.Equal("disk", locality.Text("ssd")))
	require.NoError(t, err)
	big, err := index.Register(locality.Greater("cores", 3))
	require.NoError(t, err)
	both, err := index.Require(ssd, big)
	require.NoError(t, err)
	meets := func() (nodes []locality.Node) {
		for n := range both.From(0) {
			nodes = append(nodes, n)
		}
		return nodes
	}
	require.Equal(t, []locality.Node{0}, meets(), "b has no number of cores")

	b, _ := cell.Machine("b")
	require.NoError(t, cell.SetAttributes(b, map[string]string{"disk": "ssd", "cores": "4"}))
	require.Equal(t, []locality.Node{0, 1}, meets())
	require.ErrorIs(t, cell.SetAttributes(b, map[string]string{"": ""}), omega.ErrName)
	require.Equal(t, []locality.Node{0, 1}, meets(), "a refused change changes nothing")
	a, _ := cell.Machine("a")
	_, err = cell.Remove(a)
	require.NoError(t, err)
	require.Equal(t, []locality.Node{1}, meets())
	require.ErrorIs(t, cell.SetAttributes(a, nil), omega.ErrRemoved)
	_, err = cell.Add(omega.Machine{Name: "c", Capacity: resources.Vector{1}, Attributes: map[string]string{"disk": "hdd", "cores": "64"}})
	require.NoError(t, err)
	require.Equal(t, []locality.Node{1}, meets(), "the number of a is another machine's")

	s := register(t, cell, "s")
	_, ok := s.Snapshot().Find(omega.Query{Need: resources.Vector{1}, Allow: both.Has}, omega.BestFit())
	require.True(t, ok)
	require.Nil(t, (*omega.Cell)(nil).Attributes())
}

// The topology of a cell agrees with the attributes of any two machines, and a cell that is
// saved and restored has the same topology.
func TestTopology_FollowsTheAttributes(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		cell, err := omega.NewCell(omega.Config{})
		require.NoError(t, err)
		topology, err := cell.Topology("rack", "zone")
		require.NoError(t, err)
		attributes := rapid.Custom(func(t *rapid.T) map[string]string {
			all := map[string]string{}
			for _, name := range []string{"rack", "zone", "other"} {
				if rapid.IntRange(0, 3).Draw(t, "has") > 0 {
					all[name] = rapid.SampledFrom([]string{"1", "2", "", "a/b"}).Draw(t, name)
				}
			}
			return all
		})
		within := func(a, b map[string]string) locality.Level {
			same := func(name string) bool {
				x, ok := a[name]
				y, ok2 := b[name]
				return ok && ok2 && x == y
			}
			_, zoneA := a["zone"]
			_, zoneB := b["zone"]
			switch {
			case same("rack") && (same("zone") || !zoneA && !zoneB):
				return 1
			case same("zone"):
				return 2
			}
			return 3
		}
		names := 0
		for range rapid.IntRange(1, 20).Draw(t, "steps") {
			var ids []omega.MachineID
			for m := range cell.Machines() {
				ids = append(ids, m.ID)
			}
			switch what := rapid.IntRange(0, 3).Draw(t, "what"); {
			case what < 2 || len(ids) == 0:
				names++
				_, err := cell.Add(omega.Machine{Name: fmt.Sprint(names), Capacity: resources.Vector{1}, Attributes: attributes.Draw(t, "attributes")})
				require.NoError(t, err)
			case what == 2:
				require.NoError(t, cell.SetAttributes(rapid.SampledFrom(ids).Draw(t, "machine"), attributes.Draw(t, "attributes")))
			default:
				_, err := cell.Remove(rapid.SampledFrom(ids).Draw(t, "machine"))
				require.NoError(t, err)
			}
		}
		check := func(cell *omega.Cell, topology *locality.Topology) {
			for a := range cell.Machines() {
				for b := range cell.Machines() {
					if a.ID != b.ID {
						require.Equal(t, within(a.Attributes, b.Attributes), topology.Level(a.ID.Node(), b.ID.Node()), "%v and %v", a.Attributes, b.Attributes)
					}
				}
			}
		}
		check(cell, topology)
		var saved bytes.Buffer
		require.NoError(t, cell.Save(&saved))
		again, err := omega.Restore(&saved, nil)
		require.NoError(t, err)
		later, err := again.Topology("rack", "zone")
		require.NoError(t, err)
		check(again, later)
	})
	_, err := (&omega.Cell{}).Topology("rack")
	require.ErrorIs(t, err, resources.ErrNil)
	cell, _ := newCell(t, 1, resources.Vector{1})
	_, err = cell.Topology("rack", "rack")
	require.ErrorContains(t, err, "omega: topology by attributes: ")
}
