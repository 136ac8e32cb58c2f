package offers_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cellsched/cellsched/offers"
	"github.com/cellsched/cellsched/omega"
	"github.com/cellsched/cellsched/resources"
)

// What others change on a machine is noticed although the master commits there
// before the next Step, after which its snapshot does not tell of that any more.
func TestMaster_NoticesChangesBeforeItsOwnCommit(t *testing.T) {
	tests := map[string]func(t *testing.T, m *offers.Master){
		"by an offer": func(t *testing.T, m *offers.Master) {
			t.Helper()
			f := register(t, m, offers.Registration{Name: "f", Outstanding: 0.1})
			require.NotEmpty(t, read(t, f, start).Offers)
			require.NoError(t, f.Suppress(start))
		},
		"by a gang": func(t *testing.T, m *offers.Master) {
			t.Helper()
			f := register(t, m, offers.Registration{Name: "f", Minimum: resources.Vector{100}})
			_, err := f.Request(start, offers.Request{Machines: 1, Each: resources.Vector{1}})
			require.NoError(t, err)
			require.Len(t, read(t, f, start).Answers, 1)
		},
	}
	for name, commit := range tests {
		t.Run(name, func(t *testing.T) {
			cell, machines := newCell(t, 1, resources.Vector{4})
			m := newMaster(t, cell, offers.Config{LongOnMachine: 50, Terms: offers.Terms{Percent: 50}})
			require.NoError(t, cell.SetCapacity(machines[0], resources.Vector{10}))
			require.NoError(t, cell.SetAttributes(machines[0], map[string]string{"zone": "a"}))
			commit(t, m)
			require.NoError(t, m.Step(start))
			g := register(t, m, offers.Registration{
				Name: "g", Labels: map[string][]string{"zone": nil}, Guaranteed: resources.Vector{10},
			})
			got := read(t, g, start).Offers
			require.Len(t, got, 1, "it has the label")
			_, err := g.Accept(start, offers.Launch{
				Offers: ids(got), Tasks: []offers.Task{{Need: resources.Vector{3}, Long: true}},
			})
			require.NoError(t, err, "less than half of the machine")
		})
	}
}

// The same of machines that have gone and left their number to another one.
func TestMaster_NoticesAMachineThatHasGoneBeforeItsOwnCommit(t *testing.T) {
	cell, machines := newCell(t, 2, resources.Vector{4})
	m := newMaster(t, cell, offers.Config{})
	_, err := cell.Remove(machines[0])
	require.NoError(t, err)
	again, err := cell.Add(omega.Machine{Name: "again", Capacity: resources.Vector{10}})
	require.NoError(t, err)
	require.Equal(t, machines[0].Node(), again.Node())
	f := register(t, m, offers.Registration{Name: "f", Outstanding: 1})
	require.NoError(t, m.Step(start))
	var room int64
	for _, o := range read(t, f, start).Offers {
		room += o.Room[0]
	}
	require.EqualValues(t, 14, room)
	register(t, m, offers.Registration{Name: "g", Guaranteed: resources.Vector{14}})
}
