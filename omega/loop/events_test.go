package loop_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/cellsched/cellsched/omega"
	"github.com/cellsched/cellsched/omega/loop"
	"github.com/cellsched/cellsched/omega/observe"
	"github.com/cellsched/cellsched/resources"
)

func TestEvents_TellOfJobsInTheShapeOfAllPackages(t *testing.T) {
	cell, err := omega.NewCell(omega.Config{Machines: []omega.Machine{{Name: "m", Capacity: resources.Vector{2}}}})
	require.NoError(t, err)
	sched, err := cell.Register("s", omega.Limits{})
	require.NoError(t, err)
	account, err := cell.Account(t.Context(), "web")
	require.NoError(t, err)
	var stream observe.Stream
	told := stream.Subscribe(10)
	l, err := loop.New(loop.Config[string]{Store: omega.Local{Scheduler: sched}, Events: &stream})
	require.NoError(t, err)
	start := time.Unix(100, 0)
	_, err = l.Submit(start, loop.Job[string]{Key: "fits", Account: account, Need: resources.Vector{2}, Tasks: 1})
	require.NoError(t, err)
	_, err = l.Submit(start, loop.Job[string]{Key: "waits", Need: resources.Vector{1}, Tasks: 1})
	require.NoError(t, err)
	for i := range 2 {
		_, _, err = l.Step(t.Context(), start.Add(time.Duration(i)*time.Second))
		require.NoError(t, err)
	}
	told.Close()
	first := <-told.Events()
	require.Equal(t, observe.Event{
		Kind: observe.Granted, At: start, Source: "loop", Tenant: "web", Label: "fits", Need: resources.Vector{2}, Count: 1,
	}, first)
	second := <-told.Events()
	require.Equal(t, observe.Refused, second.Kind)
	require.Equal(t, "waits", second.Label)
	require.ErrorIs(t, second.Err, omega.ErrNoRoom)

	stats := l.Stats()
	c := stats.Counts()
	require.EqualValues(t, 1, c.Granted)
	require.Equal(t, 1, c.Waiting)
	require.Equal(t, stats.NoRoom, c.Refused[0].Count)
	require.Equal(t, "no room", c.Refused[0].Reason)
	require.EqualValues(t, 1, c.Waited.Count())
	require.Equal(t, c.Claims, c.Granted+c.Refused[0].Count)
}
