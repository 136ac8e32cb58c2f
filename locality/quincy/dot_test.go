package quincy_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cellsched/cellsched/locality/quincy"
)

func TestWriteDOT_ShowsPlacesAndCosts(t *testing.T) {
	p := fixed(t, map[string][]quincy.Arc{
		"map \"1\"\n\\N": {{To: quincy.OnMachine(3), Cost: 1, Rate: 2}, {To: quincy.Unscheduled(), Cost: 90}},
		"reduce\xff":     {{To: quincy.InRack(7), Cost: 4}, {To: quincy.Cluster(), Cost: 5}, {To: quincy.Unscheduled(), Cost: -2}},
		"gone":           {{To: quincy.Cluster()}},
	})
	require.NoError(t, p.AddMachine(quincy.Machine{Node: 3, Rack: 7, Slots: 2}))
	require.NoError(t, p.AddMachine(quincy.Machine{Node: 4, Rack: 8, Slots: 1}))
	require.NoError(t, p.AddMachine(quincy.Machine{Node: 5, Rack: 8, Slots: 1}))
	require.NoError(t, p.AddJob("old", 0, 1))
	require.NoError(t, p.AddJob("sort", 0, 9))
	require.NoError(t, p.AddTask("gone", "sort", 0))
	require.NoError(t, p.AddTask("map \"1\"\n\\N", "sort", 0))
	require.NoError(t, p.AddTask("reduce\xff", "sort", 0))
	require.NoError(t, p.RemoveTask("gone"))
	require.NoError(t, p.RemoveMachine(4, 0))
	require.NoError(t, p.RemoveJob("old"))
	_, err := p.Plan(t.Context(), 3)
	require.NoError(t, err)

	var b strings.Builder
	require.NoError(t, p.WriteDOT(&b))
	require.Equal(t, `digraph quincy {
	rankdir=LR
	node [shape=box]
	sink
	l1 [label="cluster\n1 of 3 slots"]
	l2 [label="rack 7\n1 of 2 slots"]
	l1 -> l2
	l3 [label="machine 3\n1 of 2 slots"]
	l2 -> l3
	l3 -> sink
	l4 [label="rack 8\n0 of 1 slots"]
	l1 -> l4
	l6 [label="machine 5\n0 of 1 slots"]
	l4 -> l6
	l6 -> sink
	l8 [label="unscheduled\nsort\n1 of 2 run, want 0 to 9"]
	l8 -> sink
	t1 [shape=ellipse label="map \"1\" \\N\nsort"]
	t1 -> l3 [label=1 style=bold]
	t1 -> l8 [label=90]
	t2 [shape=ellipse label="reduce�\nsort"]
	t2 -> l2 [label=4]
	t2 -> l1 [label=5]
	t2 -> l8 [label=-2 style=bold]
}
`, b.String())
}

type full struct{ room int }

var errFull = errors.New("full")

func (f *full) Write(b []byte) (int, error) {
	if f.room -= len(b); f.room < 0 {
		return 0, errFull
	}
	return len(b), nil
}

func TestWriteDOT_FailsAsTheWriterDoes(t *testing.T) {
	p := fixed(t, nil)
	require.ErrorIs(t, p.WriteDOT(&full{}), errFull)
	require.NoError(t, p.WriteDOT(&full{1 << 10}))
	require.ErrorIs(t, p.WriteNetwork(&full{}, 0), errFull)
}
