package mcf_test

import (
	"context"
	"encoding/csv"
	"errors"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/cellsched/cellsched/internal/mcf"
)

// The optimal costs were agreed by seven programs, C and C++ solvers among
// them.
func TestSolve_AgreesWithOtherSolvers(t *testing.T) {
	dir := os.Getenv("CELLSCHED_DATA")
	if dir == "" {
		dir = "../../../../../shared/data"
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
			g, err := mcf.Read(f)
			require.NoError(t, err)
			s, err := g.Solve(t.Context())
			require.NoError(t, err)
			require.Equal(t, row[3], strconv.FormatInt(s.Cost, 10))
			require.NoError(t, g.Verify(s))
		})
	}
}

func drawGraph(t *rapid.T) *mcf.Graph {
	n := rapid.IntRange(2, 9).Draw(t, "nodes")
	g := &mcf.Graph{Supply: make([]int64, n)}
	node := rapid.Int32Range(0, int32(n-1))
	for range rapid.IntRange(0, 30).Draw(t, "arcs") {
		a := mcf.Arc{From: node.Draw(t, "from"), To: node.Draw(t, "to")}
		if a.From == a.To {
			continue
		}
		a.Low = max(0, rapid.Int64Range(-4, 2).Draw(t, "low"))
		a.Cap = a.Low + rapid.Int64Range(0, 5).Draw(t, "more")
		a.Cost = rapid.Int64Range(-9, 9).Draw(t, "cost")
		g.Arcs = append(g.Arcs, a)
	}
	for range rapid.IntRange(0, 6).Draw(t, "pairs") {
		units := rapid.Int64Range(1, 3).Draw(t, "units")
		g.Supply[node.Draw(t, "source")] += units
		g.Supply[node.Draw(t, "sink")] -= units
	}
	return g
}

func TestSolve_LeavesNoCheaperCycle(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		g := drawGraph(t)
		s, err := g.Solve(context.Background())
		if !feasible(g) {
			require.ErrorIs(t, err, mcf.ErrInfeasible)
			return
		}
		require.NoError(t, err)
		cost, err := g.Cost(s.Flow)
		require.NoError(t, err)
		require.Equal(t, cost, s.Cost)
		require.NoError(t, g.Verify(s))

		// Bellman and Ford: without a negative cycle all is settled after as
		// many passes as there are nodes.
		dist := make([]int64, len(g.Supply))
		for range g.Supply {
			relax(g, s.Flow, dist)
		}
		require.False(t, relax(g, s.Flow, dist), "a cycle of negative cost is left")
	})
}

func relax(g *mcf.Graph, flow, dist []int64) (changed bool) {
	for i, a := range g.Arcs {
		if flow[i] < a.Cap && dist[a.From]+a.Cost < dist[a.To] {
			dist[a.To] = dist[a.From] + a.Cost
			changed = true
		}
		if flow[i] > a.Low && dist[a.To]-a.Cost < dist[a.From] {
			dist[a.From] = dist[a.To] - a.Cost
			changed = true
		}
	}
	return changed
}

// feasible augments along any path until none is left.
func feasible(g *mcf.Graph) bool {
	left := append([]int64(nil), g.Supply...)
	flow := make([]int64, len(g.Arcs))
	for i, a := range g.Arcs {
		flow[i] = a.Low
		left[a.From] -= a.Low
		left[a.To] += a.Low
	}
	for v := range left {
		for left[v] > 0 {
			if !augment(g, flow, left, int32(v), make([]bool, len(left))) {
				return false
			}
			left[v]--
		}
	}
	return true
}

func augment(g *mcf.Graph, flow, left []int64, v int32, seen []bool) bool {
	if left[v] < 0 {
		left[v]++
		return true
	}
	seen[v] = true
	for i, a := range g.Arcs {
		if a.From == v && flow[i] < a.Cap && !seen[a.To] && augment(g, flow, left, a.To, seen) {
			flow[i]++
			return true
		}
		if a.To == v && flow[i] > a.Low && !seen[a.From] && augment(g, flow, left, a.From, seen) {
			flow[i]--
			return true
		}
	}
	return false
}

// A transport of a thousand units over layers that are far from cheap to
// leave: many phases, updates of prices, and distances beyond the near ones.
func TestSolve_FindsFlowsInLargerGraphs(t *testing.T) {
	g := layers(40, 12)
	s, err := g.Solve(t.Context())
	require.NoError(t, err)
	require.NoError(t, g.Verify(s))
}

// layers returns what sends 25 units from each of the nodes of the first layer to
// those of the last.
func layers(width, count int) *mcf.Graph {
	g := &mcf.Graph{Supply: make([]int64, width*count)}
	x := uint64(7)
	draw := func(n uint64) int64 {
		x = x*6364136223846793005 + 1442695040888963407
		return int64(x >> 33 % n)
	}
	for v := range width {
		g.Supply[v] = 25
		g.Supply[width*(count-1)+v] = -25
	}
	for v := range int32(width * (count - 1)) {
		next := (v/int32(width) + 1) * int32(width)
		for range 6 {
			g.Arcs = append(g.Arcs, mcf.Arc{From: v, To: next + int32(draw(uint64(width))), Cap: 1 + draw(30), Cost: draw(1_000_000)})
		}
		g.Arcs = append(g.Arcs, mcf.Arc{From: v, To: next + v%int32(width), Cap: 25, Cost: 5_000_000})
	}
	return g
}

func TestSolve_StopsWhenCancelled(t *testing.T) {
	cause := errors.New("enough")
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(cause)
	g := &mcf.Graph{Supply: []int64{1, 0, -1}, Arcs: []mcf.Arc{{From: 0, To: 1, Cap: 1, Cost: 2}, {From: 1, To: 2, Cap: 1, Cost: 2}}}
	_, err := g.Solve(ctx)
	require.ErrorIs(t, err, cause)
}

// fragile is a context that is cancelled once it has been looked at so often.
type fragile struct{ left int }

func (f *fragile) Deadline() (time.Time, bool) { return time.Time{}, false }
func (f *fragile) Done() <-chan struct{}       { return nil }
func (f *fragile) Value(any) any               { return nil }

func (f *fragile) Err() error {
	if f.left--; f.left < 0 {
		return context.Canceled
	}
	return nil
}

func TestSolve_StopsWhereverItIs(t *testing.T) {
	g := layers(20, 8)
	for steps := 0; ; steps += 3 {
		ctx := &fragile{steps}
		_, err := g.Solve(ctx)
		if ctx.left >= 0 {
			require.NoError(t, err)
			require.Greater(t, steps, 8, "looks at the context")
			return
		}
		require.ErrorIs(t, err, context.Canceled)
	}
}

func TestVerify_FindsEachFault(t *testing.T) {
	tests := map[string]struct {
		spoil func(*mcf.Solution)
		err   error
	}{
		"price":       {func(s *mcf.Solution) { s.Price[1]++ }, mcf.ErrNotOptimal},
		"other price": {func(s *mcf.Solution) { s.Price[1]-- }, mcf.ErrNotOptimal},
		"third price": {func(s *mcf.Solution) { s.Price[2]-- }, mcf.ErrNotOptimal},
		"cost":        {func(s *mcf.Solution) { s.Cost++ }, mcf.ErrNotOptimal},
		"dearer flow": {func(s *mcf.Solution) { s.Flow, s.Cost = []int64{0, 1, 0}, 9 }, mcf.ErrNotOptimal},
		"no prices":   {func(s *mcf.Solution) { s.Price = s.Price[:2] }, mcf.ErrNotOptimal},
		"no flow":     {func(s *mcf.Solution) { s.Flow[0] = 0 }, mcf.ErrInfeasible},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			g := &mcf.Graph{Supply: []int64{1, 0, -1}, Arcs: []mcf.Arc{{From: 0, To: 1, Cap: 5, Cost: 2}, {From: 0, To: 2, Cap: 1, Cost: 9}, {From: 1, To: 2, Cap: 5, Cost: 2}}}
			s, err := g.Solve(t.Context())
			require.NoError(t, err)
			require.NoError(t, g.Verify(s))
			test.spoil(&s)
			require.ErrorIs(t, g.Verify(s), test.err)
		})
	}
}

// The costs of a way add up to more than prices can be.
func TestSolve_RefusesWaysThatAreTooDear(t *testing.T) {
	const nodes = 1 << 12
	g := &mcf.Graph{Supply: make([]int64, nodes)}
	g.Supply[0], g.Supply[nodes-1] = 1, -1
	for v := range int32(nodes - 1) {
		g.Arcs = append(g.Arcs, mcf.Arc{From: v, To: v + 1, Cap: 2, Cost: mcf.MaxCost})
	}
	_, err := g.Solve(t.Context())
	require.ErrorIs(t, err, mcf.ErrRange)
	require.ErrorContains(t, err, "beyond 2^61")
	for i := range g.Arcs {
		g.Arcs[i].Cost >>= 6
	}
	s, err := g.Solve(t.Context())
	require.NoError(t, err)
	require.NoError(t, g.Verify(s))
}

func TestRead_NamesFaultAndLine(t *testing.T) {
	const p = "c two nodes\np min 2 1\n"
	tests := map[string]struct {
		text, line string
		err        error
	}{
		"empty":              {"", "line 0: no line", mcf.ErrFormat},
		"no problem line":    {"n 1 1\n", `line 1: "n" before`, mcf.ErrFormat},
		"two of them":        {p + "p min 2 1\n", "line 3: a second p line", mcf.ErrFormat},
		"another problem":    {"p max 2 1\n", `line 1: "p max 2 1", want p min`, mcf.ErrFormat},
		"no nodes":           {"p min 0 0\n", "line 1: 0 nodes", mcf.ErrRange},
		"too many arcs":      {"p min 2 999999999999\n", "line 1: 999999999999 arcs", mcf.ErrRange},
		"unknown line":       {p + "x 1\n", `line 3: "x", want c, p, n or a`, mcf.ErrFormat},
		"no number":          {p + "n 1 one\n", `line 3: "one", want a number`, mcf.ErrFormat},
		"beyond 64 bits":     {p + "n 1 9223372036854775808\n", "line 3: ", mcf.ErrFormat},
		"words missing":      {p + "a 1 2 0 1\n", "line 3: 5 words", mcf.ErrFormat},
		"node 0":             {p + "n 0 1\n", "line 3: node 0, want 1 to 2", mcf.ErrRange},
		"node beyond":        {p + "a 1 3 0 1 1\n", "line 3: node 3, want 1 to 2", mcf.ErrRange},
		"a supply twice":     {p + "n 1 1\nn 1 1\n", "line 4: a second supply of node 1", mcf.ErrFormat},
		"too much supply":    {p + "n 1 1099511627777\n", "line 3: supply 1099511627777", mcf.ErrRange},
		"negative capacity":  {p + "a 1 2 0 -1 1\n", "line 3: lower bound 0, want 0 to the capacity of -1", mcf.ErrRange},
		"low above capacity": {p + "a 1 2 2 1 1\n", "line 3: lower bound 2", mcf.ErrRange},
		"too costly":         {p + "a 1 2 0 1 -1099511627777\n", "line 3: cost -1099511627777", mcf.ErrRange},
		"one arc too many":   {p + "a 1 2 0 1 1\na 1 2 0 1 1\n", "line 4: more than 1 arcs", mcf.ErrFormat},
		"cut":                {p + "n 1 1\n", "line 3: ends after 0 of 1 arcs", mcf.ErrFormat},
		"unbalanced":         {p + "n 1 1\na 1 2 0 1 1\n", "add up to 1, want 0", mcf.ErrUnbalanced},
		"line without end":   {strings.Repeat("c", 1<<17), "line 1: ", nil},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			_, err := mcf.Read(strings.NewReader(test.text))
			require.ErrorContains(t, err, test.line)
			if test.err != nil {
				require.ErrorIs(t, err, test.err)
			}
		})
	}
}

func TestWrite_IsReadBack(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		g := drawGraph(t)
		var text strings.Builder
		require.NoError(t, g.Write(&text))
		back, err := mcf.Read(strings.NewReader(text.String()))
		require.NoError(t, err)
		require.Equal(t, g, back)
	})
}

func TestSolve_RefusesValuesOutOfRange(t *testing.T) {
	wide := &mcf.Graph{Supply: make([]int64, 1<<19), Arcs: []mcf.Arc{{From: 0, To: 1, Cap: 1, Cost: mcf.MaxCost}}}
	_, err := wide.Solve(t.Context())
	require.ErrorContains(t, err, "cost 1099511627776 with 524288 nodes")
	require.ErrorIs(t, err, mcf.ErrRange)

	dear := &mcf.Graph{Supply: []int64{1 << 30, -1 << 30}, Arcs: []mcf.Arc{{From: 0, To: 1, Cap: math.MaxInt32, Cost: mcf.MaxCost}}}
	_, err = dear.Solve(t.Context())
	require.ErrorContains(t, err, "arc 1: 1073741824 units at 1099511627776")
	require.ErrorIs(t, err, mcf.ErrRange)
}

// Sums of what is in range each may not be.
func TestCheck_RefusesMoreUnitsThanItCanCount(t *testing.T) {
	g := &mcf.Graph{Supply: make([]int64, 1<<22), Arcs: []mcf.Arc{{From: 0, To: 1}}}
	for v := range g.Supply {
		g.Supply[v] = mcf.MaxCapacity - int64(v%2)*2*mcf.MaxCapacity
	}
	require.NoError(t, g.Check())
	g.Arcs[0].Cap = 1
	err := g.Check()
	require.ErrorIs(t, err, mcf.ErrRange)
	require.ErrorContains(t, err, "arc 1: all capacities and supplies come to more than 2^62")
	g.Supply = append(g.Supply, 1, -1)
	err = g.Check()
	require.ErrorIs(t, err, mcf.ErrRange)
	require.ErrorContains(t, err, "node 4194305: all supplies come to more than 2^62")
}

func FuzzRead(f *testing.F) {
	f.Add("p min 2 1\nn 1 1\nn 2 -1\na 1 2 0 1 5\n")
	f.Add("c\np min 3 2\na 1 2 1 4 -7\na 2 1 0 1 1\n")
	f.Fuzz(func(t *testing.T, text string) {
		g, err := mcf.Read(strings.NewReader(text))
		if err != nil {
			return
		}
		require.NoError(t, g.Check())
	})
}

// The error names a node that cannot send what it has.
func TestSolve_InfeasibleNamesANode(t *testing.T) {
	g, err := mcf.Read(strings.NewReader("p min 5 3\nn 1 1\nn 2 1\nn 5 -2\na 1 3 0 1 1\na 2 4 0 1 1\na 4 5 0 2 0\n"))
	require.NoError(t, err)
	_, err = g.Solve(t.Context())
	require.ErrorIs(t, err, mcf.ErrInfeasible)
	require.Regexp(t, `^quincy: node [13] `, err.Error())
}

// Each of the loops of one phase looks at the context when it begins: what the graph
// is made into, prices, pushes, the proof.
func TestSolve_LooksAtItsContextInEachLoop(t *testing.T) {
	g := mcf.Graph{Supply: []int64{1, -1}, Arcs: []mcf.Arc{{To: 1, Cap: 1}}}
	ctx := &fragile{100}
	_, err := g.Solve(ctx)
	require.NoError(t, err)
	require.Equal(t, 100-4, ctx.left)
}

// What flows from a node to itself costs what it costs, whatever flows elsewhere.
func TestSolve_FlowsFromNodesToThemselvesWherePaid(t *testing.T) {
	g, err := mcf.Read(strings.NewReader("p min 2 5\nn 1 2\nn 2 -2\na 1 1 1 5 3\na 1 2 0 9 4\na 2 2 1 5 -7\na 2 1 0 9 1\na 1 1 0 5 0\n"))
	require.NoError(t, err)
	s, err := g.Solve(t.Context())
	require.NoError(t, err)
	require.NoError(t, g.Verify(s))
	require.Equal(t, []int64{1, 2, 5, 0, 0}, s.Flow)
	require.Equal(t, int64(3+8-35), s.Cost)
}
