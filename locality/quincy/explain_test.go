package quincy_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cellsched/cellsched/locality"
	"github.com/cellsched/cellsched/locality/quincy"
)

// fixed is a planner of tasks with arcs from a table.
func fixed(t *testing.T, arcs map[string][]quincy.Arc) *quincy.Planner[string, string] {
	t.Helper()
	p, err := quincy.New[string](quincy.Config[string]{Verify: true, Arcs: func(to []quincy.Arc, task string, _ quincy.State, _ int64) []quincy.Arc {
		return append(to, arcs[task]...)
	}})
	require.NoError(t, err)
	return p
}

func TestExplain_NamesTheHoldersAndTheChanges(t *testing.T) {
	p := fixed(t, map[string][]quincy.Arc{
		"a": {{To: quincy.OnMachine(1), Cost: 1}, {To: quincy.OnMachine(2), Cost: 5}},
		"b": {{To: quincy.OnMachine(2), Cost: 1}, {To: quincy.Unscheduled(), Cost: 9}},
		"c": {{To: quincy.OnMachine(1), Cost: 2, Rate: 1}, {To: quincy.InRack(2), Cost: 1}, {To: quincy.Unscheduled(), Cost: 3}},
	})
	require.NoError(t, p.AddMachine(quincy.Machine{Node: 1, Rack: 1, Slots: 1}))
	require.NoError(t, p.AddMachine(quincy.Machine{Node: 2, Rack: 2, Slots: 1}))
	require.NoError(t, p.AddJob("j", 0, 2))
	require.NoError(t, p.AddJob("k", 0, 2))
	for _, task := range []string{"a", "b"} {
		require.NoError(t, p.AddTask(task, "j", 0))
	}
	_, err := p.Plan(t.Context(), 0)
	require.NoError(t, err)
	require.NoError(t, p.AddTask("c", "k", 0))
	_, err = p.Plan(t.Context(), 4)
	require.NoError(t, err)

	why, err := p.Explain("c")
	require.NoError(t, err)
	require.Equal(t, quincy.Explanation[string, string]{
		Task: "c", Job: "k", Top: 2,
		Ways: []quincy.Way[string, string]{
			{To: quincy.Unscheduled(), Cost: 3, Open: true, Leaf: quincy.Unscheduled()},
			{
				To: quincy.InRack(2), Cost: 1, Open: true, Leaf: quincy.OnMachine(2), Extra: 1 - 3 + 8,
				Displaced: []quincy.Displaced[string, string]{{Task: "b", From: quincy.OnMachine(2), To: quincy.Unscheduled()}},
			},
			{
				To: quincy.OnMachine(1), Cost: 6, Open: true, Leaf: quincy.OnMachine(1), Extra: 6 - 3 + 4 + 8,
				Displaced: []quincy.Displaced[string, string]{
					{Task: "a", From: quincy.OnMachine(1), To: quincy.OnMachine(2)},
					{Task: "b", From: quincy.OnMachine(2), To: quincy.Unscheduled()},
				},
			},
		},
	}, shown(why))
	require.Equal(t, `task c of job k waits; 0 of the job run, want 0 to 2
  unscheduled: cost 3, 1 of 1 wait; it is here
  rack 2: cost 1, 1 of 1 slots in use; +6 in all, on machine 2: b of j from machine 2 to unscheduled +8
  machine 1: cost 6, 1 of 1 slots in use by a; +15 in all: a of j from machine 1 to machine 2 +4, b of j from machine 2 to unscheduled +8
`, why.String())

	// b must run: no task can give way, and the explanation of c shows that.
	require.NoError(t, p.SetShares("j", 2, 2))
	_, err = p.Plan(t.Context(), 4)
	require.NoError(t, err)
	why, err = p.Explain("c")
	require.NoError(t, err)
	require.Len(t, why.Ways, 3)
	for i, w := range why.Ways {
		require.Equal(t, i == 0, w.Open)
	}
	require.Contains(t, why.String(), "machine 1: cost 6, 1 of 1 slots in use by a; no way to make room\n")
}

func TestExplain_SaysThatTheShareIsUsedUp(t *testing.T) {
	arcs := []quincy.Arc{{To: quincy.Cluster()}, {To: quincy.Unscheduled(), Cost: 7}}
	p := fixed(t, map[string][]quincy.Arc{"a": append(arcs, quincy.Arc{To: quincy.OnMachine(0), Cost: -1}), "b": arcs})
	require.NoError(t, p.AddMachine(quincy.Machine{Node: 0, Slots: 9}))
	require.NoError(t, p.AddJob("j", 0, 1))
	require.NoError(t, p.AddTask("a", "j", 0))
	require.NoError(t, p.AddTask("b", "j", 0))
	_, err := p.Plan(t.Context(), 0)
	require.NoError(t, err)
	why, err := p.Explain("b")
	require.NoError(t, err)
	require.Equal(t, `task b of job j waits; 1 of the job run, want 0 to 1: its share is used up
  unscheduled: cost 7, 1 of 2 wait; it is here
  cluster: cost 0, 1 of 9 slots in use; +1 in all, on machine 0: a of j from machine 0 to unscheduled +8
`, why.String())
}

// Slots are free, and a may not stop: it is the job's share that b waits for.
func TestExplain_ShowsThatNoTaskOfTheJobCanStop(t *testing.T) {
	p := fixed(t, map[string][]quincy.Arc{"a": {{To: quincy.OnMachine(0)}}, "b": {{To: quincy.Cluster()}, {To: quincy.Unscheduled(), Cost: 7}}})
	require.NoError(t, p.AddMachine(quincy.Machine{Node: 0, Slots: 9}))
	require.NoError(t, p.AddJob("j", 0, 1))
	require.NoError(t, p.AddTask("a", "j", 0))
	require.NoError(t, p.AddTask("b", "j", 0))
	_, err := p.Plan(t.Context(), 0)
	require.NoError(t, err)
	why, err := p.Explain("b")
	require.NoError(t, err)
	require.Equal(t, `task b of job j waits; 1 of the job run, want 0 to 1: its share is used up
  unscheduled: cost 7, 1 of 2 wait; it is here
  cluster: cost 0, 1 of 9 slots in use; no other task of the job can stop for it
`, why.String())
}

func TestExplain_ShowsTheWaysOfAnyTask(t *testing.T) {
	arcs := []quincy.Arc{{To: quincy.OnMachine(3), Cost: 1}, {To: quincy.InRack(0), Cost: 4}, {To: quincy.Unscheduled(), Cost: 7}}
	p := fixed(t, map[string][]quincy.Arc{"a": arcs, "b": append([]quincy.Arc{{To: quincy.OnMachine(4), Cost: 5}}, arcs...)})
	require.NoError(t, p.AddMachine(quincy.Machine{Node: 3, Slots: 1}))
	require.NoError(t, p.AddMachine(quincy.Machine{Node: 4, Slots: 1}))
	require.NoError(t, p.AddJob("j", 0, 2))
	require.NoError(t, p.AddTask("a", "j", 0))

	// Before the first plan.
	why, err := p.Explain("a")
	require.NoError(t, err)
	require.NotContains(t, why.String(), "it is here")
	require.Equal(t, []int64{1, 4, 7}, extras(why))
	_, err = p.Plan(t.Context(), 0)
	require.NoError(t, err)

	// Where it runs.
	why, err = p.Explain("a")
	require.NoError(t, err)
	require.True(t, why.Running)
	require.Equal(t, locality.Node(3), why.On)
	require.Equal(t, []int64{0, 3, 6}, extras(why))
	require.Contains(t, why.String(), "task a of job j runs on machine 3; 1 of the job run, want 0 to 2\n  machine 3: cost 1, 1 of 1 slots in use by a; it is here\n  rack 0: cost 4, 1 of 2 slots in use; +3 in all, on machine 3\n")

	// What the next plan would gain.
	require.NoError(t, p.AddTask("b", "j", 0))
	_, err = p.Plan(t.Context(), 0)
	require.NoError(t, err)
	require.NoError(t, p.RemoveTask("a"))
	why, err = p.Explain("b")
	require.NoError(t, err)
	require.Equal(t, quincy.OnMachine(4), quincy.OnMachine(why.On))
	require.Equal(t, quincy.OnMachine(3), why.Ways[0].To)
	require.Equal(t, int64(-4), why.Ways[0].Extra)
	_, err = p.Explain("a")
	require.EqualError(t, err, `quincy: task "a": unknown key`)
}

// shown has the fields of an explanation that are exported.
func shown(why quincy.Explanation[string, string]) quincy.Explanation[string, string] {
	ways := why.Ways
	why.Ways = nil
	for _, w := range ways {
		way := quincy.Way[string, string]{To: w.To, Cost: w.Cost, Open: w.Open, Leaf: w.Leaf, Extra: w.Extra}
		for _, d := range w.Displaced {
			way.Displaced = append(way.Displaced, quincy.Displaced[string, string]{Task: d.Task, From: d.From, To: d.To})
		}
		why.Ways = append(why.Ways, way)
	}
	return why
}

func extras(why quincy.Explanation[string, string]) (out []int64) {
	for _, w := range why.Ways {
		out = append(out, w.Extra)
	}
	return out
}

func TestExplain_FailsAsThePlanDid(t *testing.T) {
	p := fixed(t, map[string][]quincy.Arc{"a": {{To: quincy.OnMachine(0)}}, "b": {{To: quincy.OnMachine(0)}}})
	require.NoError(t, p.AddMachine(quincy.Machine{Node: 0, Slots: 1}))
	require.NoError(t, p.AddJob("j", 0, 2))
	require.NoError(t, p.AddTask("a", "j", 0))
	require.NoError(t, p.AddTask("b", "j", 0))
	_, failed := p.Plan(t.Context(), 0)
	require.ErrorIs(t, failed, quincy.ErrInfeasible)
	_, err := p.Explain("a")
	require.Equal(t, failed, err)
	require.NoError(t, p.RemoveTask("b"))
	_, err = p.Plan(t.Context(), 0)
	require.NoError(t, err)
	_, err = p.Explain("a")
	require.NoError(t, err)
}
