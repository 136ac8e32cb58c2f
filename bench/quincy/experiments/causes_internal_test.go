package experiments

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/cellsched/cellsched/bench/internal/race"
	"github.com/cellsched/cellsched/locality/quincy"
)

// Each cause that is taken away takes its effect with it.
func TestCauses_TakeOneAway(t *testing.T) {
	if race.Detector {
		t.Skip("a run is one goroutine, and slow under the race detector")
	}
	causes, err := Causes(t.Context(), Options{Seeds: 2, Parallel: 2, Span: 10 * time.Minute})
	require.NoError(t, err)
	require.Len(t, causes, 5)
	for i := range causes {
		c := &causes[i]
		more, lost := c.Flow.Figure(Lost).Mean-c.Queues.Figure(Lost).Mean, causes[0].More.Mean
		require.InDelta(t, more, c.More.Mean, 1e-9, c.Without)
		require.InDelta(t, more-lost, c.Change.Mean, 1e-9, c.Without)
		require.InDelta(t, 0, c.Queues.Figure(Stopped).Mean-c.Queues.Figure(Forced).Mean, 1e-9, "queues stop as many as shares ask for")
		require.Positive(t, c.MoreElective.Mean, c.Without)
	}
	published, youngest, instant := &causes[0], &causes[3], &causes[4]
	require.Less(t, youngest.MoreElective.Mean, 0.2*published.MoreElective.Mean)
	require.Greater(t, youngest.Flow.Figure(Each).Mean, published.Flow.Figure(Each).Mean, "the youngest where shares ask for it, or any that has run for less")
	require.InEpsilon(t, instant.Queues.Figure(Mean).Mean, instant.Flow.Figure(Mean).Mean, 0.1, "jobs take as long where data takes no time")
	require.Equal(t, published.Queues, causes[1].Queues)
	require.NotEqual(t, published.Queues, instant.Queues)

	_, err = Causes(t.Context(), Options{Seeds: 1})
	require.ErrorContains(t, err, "1 seeds: want 2 or more")
	_, err = Causes(t.Context(), Options{Seeds: -1})
	require.ErrorContains(t, err, "-1 seeds")
}

func TestCause_IsRemovedFromTheArcsOfARunningTask(t *testing.T) {
	arcs := func() []quincy.Arc {
		return []quincy.Arc{
			{To: quincy.Cluster(), Cost: 1}, // of another task
			{To: quincy.OnMachine(1), Cost: 70, Rate: -3},
			{To: quincy.Unscheduled(), Cost: 5, Rate: 2},
			{To: quincy.OnMachine(2), Cost: 4},
			{To: quincy.Cluster(), Cost: 9},
		}
	}
	for c, want := range map[cause][]quincy.Arc{
		asPublished: arcs(),
		moving:      arcs()[:3],
		fetched:     {arcs()[0], {To: quincy.OnMachine(1), Cost: -30, Rate: -3}, arcs()[2], arcs()[3], arcs()[4]},
		choosing:    {arcs()[0], {To: quincy.OnMachine(1), Cost: 70 - 9*30, Rate: -30}, arcs()[2]},
	} {
		require.Equal(t, want, c.removed(arcs(), 1, 3, 10))
	}
}
