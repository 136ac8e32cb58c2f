package network_test

import (
	"context"
	"encoding/csv"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/cellsched/cellsched/internal/mcf"
	"github.com/cellsched/cellsched/internal/network"
	"github.com/cellsched/cellsched/internal/slots"
)

// The optimal costs were agreed by seven programs.
func TestNetwork_CostsOfAllInstances(t *testing.T) {
	dir := os.Getenv("CELLSCHED_DATA")
	if dir == "" {
		dir = "../../../shared/data"
	}
	list, err := os.Open(filepath.Join(dir, "flow", "costs.csv"))
	if err != nil {
		t.Skip("no instances:", err)
	}
	defer func() { require.NoError(t, list.Close()) }()
	rows, err := csv.NewReader(list).ReadAll()
	require.NoError(t, err)
	for _, row := range rows[1:] {
		t.Run(row[0], func(t *testing.T) {
			f, err := os.Open(filepath.Join(dir, "flow", row[0]))
			require.NoError(t, err)
			defer func() { require.NoError(t, f.Close()) }()
			n, err := network.Read(f)
			require.NoError(t, err)
			require.Equal(t, row[1], strconv.Itoa(n.Nodes()))
			require.Equal(t, row[2], strconv.Itoa(n.Arcs()))
			for _, solver := range []network.Solver{network.Special, network.Generic} {
				run, err := n.Prepare(solver)
				require.NoError(t, err)
				require.Equal(t, solver, run.Solver)
				cost, err := run.Solve(t.Context())
				require.NoError(t, err)
				require.Equal(t, row[3], strconv.FormatInt(cost, 10), solver)
				require.NoError(t, run.Verify())
			}
		})
	}
}

// two tasks, one job that may keep one of them waiting, two machines in a rack.
const small = `p min 7 9
n 1 1
n 2 1
n 3 -1
n 7 -1
a 1 3 0 1 9
a 1 4 0 1 2
a 2 3 0 1 5
a 2 5 0 1 1
a 4 5 0 1 0
a 4 6 0 1 0
a 5 7 0 1 0
a 6 7 0 1 0
a 3 7 0 0 0
`

func TestNetwork_SaysWhyTheSpecialSolverDoesNotTakeIt(t *testing.T) {
	tests := map[string]struct{ from, to, why string }{
		"lower bound":      {"a 4 5 0 1 0", "a 4 5 1 1 0", "arc 5 has a lower bound"},
		"two sinks":        {"a 6 7 0 1 0", "a 3 5 0 1 0", "nodes 6 and 7 have no arcs"},
		"a cost inside":    {"a 4 5 0 1 0", "a 4 5 0 1 1", "arc 5 has a cost"},
		"task to sink":     {"a 1 3 0 1 9", "a 1 7 0 1 9", "arc 1 leads from a task to the sink"},
		"two groups":       {"a 6 7 0 1 0\na 3 7 0 0 0", "a 6 7 0 1 0\na 3 5 0 1 0", "node 5 is in two groups"},
		"little room":      {"a 4 5 0 1 0", "a 4 5 0 0 0", "arc 5 holds 0 units, node 5 can take 1"},
		"a loop that pays": {"a 2 3 0 1 5", "a 2 2 0 1 -5", "arc 3 pays for what flows from node 2 to itself"},
		"task of two":      {"n 1 1\nn 2 1\nn 3 -1", "n 1 2\nn 2 1\nn 3 -2", "node 1 has a supply of 2"},
		"supply of a rack": {"n 2 1\n", "n 4 1\n", "node 4 has a supply of 1"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			require.Contains(t, small, test.from)
			n, err := network.Read(strings.NewReader(strings.Replace(small, test.from, test.to, 1)))
			require.NoError(t, err)
			_, err = n.Prepare(network.Special)
			require.ErrorIs(t, err, network.ErrShape)
			require.ErrorContains(t, err, test.why)
			run, err := n.Prepare(network.Auto)
			require.NoError(t, err)
			require.Equal(t, network.Generic, run.Solver)
			require.Contains(t, run.Reason, test.why)
		})
	}
}

func TestNetwork_InfeasibleNamesANode(t *testing.T) {
	// The job keeps one task, and the other one's machine is gone.
	text := strings.NewReplacer("a 5 7 0 1 0", "a 5 7 0 0 0", "a 4 5 0 1 0", "a 4 5 0 0 0", "a 6 7 0 1 0", "a 6 7 0 0 0", "a 4 6 0 1 0", "a 4 6 0 0 0").Replace(small)
	n, err := network.Read(strings.NewReader(text))
	require.NoError(t, err)
	for _, solver := range []network.Solver{network.Special, network.Generic} {
		run, err := n.Prepare(solver)
		require.NoError(t, err)
		_, err = run.Solve(t.Context())
		require.ErrorIs(t, err, mcf.ErrInfeasible)
		require.Regexp(t, `node \d+ `, err.Error())
	}
}

// Networks that are almost of the shape: whenever the special solver takes one,
// it finds the generic solver's cost.
func TestNetwork_SolversAgree(t *testing.T) {
	lines := strings.Split(strings.TrimSpace(small), "\n")
	rapid.Check(t, func(t *rapid.T) {
		cost, capacity := rapid.IntRange(-4, 9), rapid.IntRange(0, 2)
		var b strings.Builder
		for _, line := range lines {
			w := strings.Fields(line)
			if w[0] == "a" {
				w[4] = strconv.Itoa(capacity.Draw(t, "capacity"))
				if w[1] == "1" || w[1] == "2" {
					w[5] = strconv.Itoa(cost.Draw(t, "cost"))
				}
			}
			b.WriteString(strings.Join(w, " ") + "\n")
		}
		n, err := network.Read(strings.NewReader(b.String()))
		require.NoError(t, err)
		auto, err := n.Prepare(network.Auto)
		require.NoError(t, err)
		generic, err := n.Prepare(network.Generic)
		require.NoError(t, err)
		got, err := auto.Solve(context.Background())
		want, failed := generic.Solve(context.Background())
		if failed != nil {
			require.ErrorIs(t, err, mcf.ErrInfeasible)
			return
		}
		require.NoError(t, err)
		require.Equal(t, want, got)
		require.NoError(t, auto.Verify())
		require.NoError(t, generic.Verify())
	})
}

// Before there is a solution, nothing is proved.
func TestRun_VerifyNeedsASolution(t *testing.T) {
	n, err := network.Read(strings.NewReader(small))
	require.NoError(t, err)
	for _, solver := range []network.Solver{network.Special, network.Generic} {
		run, err := n.Prepare(solver)
		require.NoError(t, err)
		require.ErrorIs(t, run.Verify(), slots.ErrNotOptimal)
		_, err = run.Solve(t.Context())
		require.NoError(t, err)
		require.NoError(t, run.Verify())
	}
}

func TestPrepare_KnowsThreeSolvers(t *testing.T) {
	n, err := network.Read(strings.NewReader(small))
	require.NoError(t, err)
	_, err = n.Prepare(7)
	require.ErrorIs(t, err, mcf.ErrRange)
	require.EqualError(t, err, "network: Solver(7), want auto, special or generic: out of range")
}

// Of two arcs to one place the cheaper one counts, and what could flow from a node to
// itself does not.
func TestNetwork_TakesArcsTwiceAndLoops(t *testing.T) {
	const arc = "a 2 5 0 1 1\n"
	for _, more := range []string{"a 2 5 0 1 0", "a 2 5 0 1 5", "a 2 2 0 1 5", "a 4 4 0 3 0", "a 7 7 0 1 0"} {
		text := strings.Replace(strings.Replace(small, "p min 7 9", "p min 7 10", 1), arc, arc+more+"\n", 1)
		n, err := network.Read(strings.NewReader(text))
		require.NoError(t, err, more)
		var costs []int64
		for _, solver := range []network.Solver{network.Special, network.Generic} {
			run, err := n.Prepare(solver)
			require.NoError(t, err, more)
			cost, err := run.Solve(t.Context())
			require.NoError(t, err, more)
			require.NoError(t, run.Verify(), more)
			costs = append(costs, cost)
		}
		require.Equal(t, costs[1], costs[0], more)
	}
}

// More locations than the special solver has prices for are for the generic one.
func TestNetwork_OfTooManyLocations(t *testing.T) {
	for machines, solver := range map[int]network.Solver{1<<16 + 1: network.Special, 1<<20 + 1: network.Generic} {
		var b strings.Builder
		fmt.Fprintf(&b, "p min %d %d\nn 1 1\nn 2 -1\n", machines+2, machines+1)
		for n := range machines {
			fmt.Fprintf(&b, "a %d 2 0 1 0\n", n+3)
		}
		fmt.Fprintln(&b, "a 1 3 0 1 7")
		n, err := network.Read(strings.NewReader(b.String()))
		require.NoError(t, err)
		run, err := n.Prepare(network.Auto)
		require.NoError(t, err)
		require.Equal(t, solver, run.Solver, machines)
		if solver == network.Generic {
			require.Equal(t, "1048577 locations, at most 1048576", run.Reason)
		}
		cost, err := run.Solve(t.Context())
		require.NoError(t, err)
		require.Equal(t, int64(7), cost)
	}
}
