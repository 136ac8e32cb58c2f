package quincy_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cellsched/cellsched/locality"
	"github.com/cellsched/cellsched/locality/quincy"
)

// The same calls give the same plans, reasons and graphs, ties and all.
func TestPlanner_IsDeterministic(t *testing.T) {
	first := history(t)
	for range 4 {
		require.Equal(t, first, history(t))
	}
}

// history is all results of a planner in some rounds in which tasks end and come,
// and machines are lost. Far more tasks are equal than not.
func history(t *testing.T) string {
	t.Helper()
	rng := rand.New(rand.NewPCG(7, 7))
	b := newBench(t, quincy.DataCosts{Core: 1, Rack: 1, Wait: 1, Work: 1, Unscheduled: 10})
	for n := range 12 {
		b.addMachine(t, locality.Node(n), 2)
	}
	for _, j := range []string{"j", "k", "l"} {
		require.NoError(t, b.p.AddJob(j, 1, 9))
		b.shares[j] = [2]int{1, 9}
	}
	var said strings.Builder
	for round := range 6 {
		for i := range 10 {
			near := []locality.Node{locality.Node(rng.IntN(4)), locality.Node(rng.IntN(7))}
			b.addTask(t, []string{"j", "k", "l"}[i%3], []quincy.Block{{Bytes: gigabyte, Nodes: near}})
		}
		if round > 0 {
			for range 4 {
				b.removeTask(t, rng.IntN(len(b.tasks)))
			}
			require.NoError(t, b.p.RemoveMachine(locality.Node(round), b.now))
		}
		b.now += int64(rng.IntN(3))
		plan, err := b.p.Plan(t.Context(), b.now)
		require.NoError(t, err)
		fmt.Fprintln(&said, plan)
		for task, cost := range b.p.Waiting() {
			why, err := b.p.Explain(task)
			require.NoError(t, err)
			fmt.Fprintln(&said, task, cost, why)
		}
		require.NoError(t, b.p.WriteDOT(&said))
	}
	require.NoError(t, b.p.SetShares("j", 8, 9))
	require.NoError(t, b.p.SetShares("k", 8, 9))
	_, err := b.p.Plan(t.Context(), b.now)
	require.ErrorIs(t, err, quincy.ErrInfeasible)
	fmt.Fprintln(&said, err)
	return said.String()
}
