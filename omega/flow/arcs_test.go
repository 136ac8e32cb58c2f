package flow_test

import (
	"bytes"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cellsched/cellsched/internal/network"
	"github.com/cellsched/cellsched/locality"
	"github.com/cellsched/cellsched/omega"
	"github.com/cellsched/cellsched/omega/flow"
	"github.com/cellsched/cellsched/omega/observe"
)

func TestRound_MakesArcsUsable(t *testing.T) {
	y := newYard(t, one)
	y.addJob(t, "a", 0, 9)
	y.must = true
	a := y.add(t, "a", one, 2)
	r := y.round(t)
	require.Equal(t, 1, r.Waiting)
	for range 3 {
		y.addMachine(t, one)
	}
	require.Equal(t, []name{a}, starts(y.round(t)))
	require.Equal(t, machineAt(y.cell, 2), y.tasks[a].on)

	var text bytes.Buffer
	require.NoError(t, y.s.WriteNetwork(&text, y.now))
	back, err := network.Read(&text)
	require.NoError(t, err)
	require.Positive(t, back.Arcs())
	text.Reset()
	require.NoError(t, y.s.WriteDOT(&text))
	require.Contains(t, text.String(), "machine 2")
}

func TestRound_LeavesAloneWhatIsForbidden(t *testing.T) {
	y := newYard(t, one, one, one)
	y.addJob(t, "a", 0, 9)
	require.NoError(t, y.ours.Restrict(t.Context(), omega.NewMask(func(yield func(locality.Node) bool) { yield(1) })))
	a := y.add(t, "a", one, 0)
	require.Equal(t, 1, y.round(t).Conflicts)
	e, err := y.s.Explain(a)
	require.NoError(t, err)
	require.ErrorIs(t, e.Refused, omega.ErrForbidden)
	require.Equal(t, []name{a}, starts(y.round(t)))
	require.Equal(t, []observe.Refusal{{Reason: "forbidden", Count: 1}}, y.s.Stats().Refused, "those of earlier rounds count once")
	b := y.add(t, "a", one, 0)
	r := y.round(t)
	require.Zero(t, r.Conflicts)
	require.Equal(t, 1, r.Waiting)
	require.NoError(t, y.ours.Restrict(t.Context(), nil))
	require.Equal(t, []name{b}, starts(y.round(t)))
	y.done(t, a)
	y.done(t, b)

	err = y.s.Add(100, flow.Task[job]{Job: "a", Need: one, Precedence: 7}, y.now)
	require.ErrorIs(t, err, omega.ErrForbidden)
	require.ErrorContains(t, err, `flow: task 100: precedence 7, scheduler "flow" may claim at 0 to 0: `)
	y.add(t, "a", one)
	require.Len(t, y.round(t).Start, 1)
}
