package loop_test

import (
	"context"
	"fmt"
	"iter"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/cellsched/cellsched/delay"
	"github.com/cellsched/cellsched/locality"
	"github.com/cellsched/cellsched/omega"
	"github.com/cellsched/cellsched/omega/loop"
	"github.com/cellsched/cellsched/resources"
)

// racked returns a topology of so many nodes, two to a rack.
func racked(tb testing.TB, nodes int) *locality.Topology {
	tb.Helper()
	cfg := locality.Config{Levels: []string{"node", "rack", "any"}}
	for n := range nodes {
		cfg.Nodes = append(cfg.Nodes, fmt.Sprint("r", n/2))
	}
	topology, err := locality.New(cfg)
	require.NoError(tb, err)
	return topology
}

// newNear returns a Near with tasks that prefer the nodes listed for their job.
func newNear(tb testing.TB, p delay.Policy, nodes int, data map[string][][]locality.Node) *loop.Near[string] {
	tb.Helper()
	near, err := loop.NewNear(p, racked(tb, nodes), omega.NextFit(), func(j *loop.Job[string], task int) []locality.Node {
		return data[j.Key][task]
	})
	require.NoError(tb, err)
	return near
}

// A job passes up a machine that is far from its data. It takes the next level of
// distance when the time of the policy is over: each at its instant, in virtual time.
func TestNear_TakesTheNextLevelWhenItsTimeHasCome(t *testing.T) {
	cell := newCell(t, 1, 1, 1, 1)
	near := newNear(t, delay.Policy{Waits: delay.Waits{5 * time.Second, 10 * time.Second}}, 4,
		map[string][][]locality.Node{"a": {{0}}, "b": {{0}}, "c": {{2}}})
	r := newRig(t, cell, loop.Config[string]{Place: near.Place})
	other := register(t, cell, "other")
	full := claim(t, other, "m2", cell, 1)
	for _, key := range []string{"a", "b", "c"} {
		r.submit(t, epoch, job(key, 1, 1))
	}
	next := r.settle(t, epoch)
	require.Equal(t, []string{
		"a submitted", "b submitted", "c submitted", "a placed 1", "a complete", "b passed up", "c passed up",
	}, r.log())
	require.Equal(t, at(5), next, "the first wait is over")
	r.settle(t, next)
	require.Equal(t, []loop.Task{{Index: 0, Level: locality.RackLocal}}, r.events[0].Tasks, "b is in the rack of its data")
	require.Equal(t, locality.Node(1), r.held["b"][0].Node())
	require.Equal(t, []string{"b placed 1", "b complete", "c placed 1", "c complete"}, r.log())
	require.Equal(t, locality.Node(3), r.held["c"][0].Node())
	require.EqualValues(t, 2, r.Stats().PassedUp)
	require.Zero(t, r.Stats().NoRoom, "that is no failure")
	require.NoError(t, other.Release(full))
}

// Passing up uses up no attempts, however often.
func TestNear_PassingUpCountsAgainstNoLimit(t *testing.T) {
	cell := newCell(t, 1, 1, 1, 1)
	near := newNear(t, delay.Policy{Skips: 50}, 4, map[string][][]locality.Node{"a": {{0}}})
	r := newRig(t, cell, loop.Config[string]{Place: near.Place, Attempts: 3, Fruitless: 2})
	other := register(t, cell, "other")
	claim(t, other, "m0", cell, 1)
	p := r.submit(t, epoch, job("a", 1, 1))
	next := r.settle(t, epoch)
	for p.Attempts() < 40 {
		next = r.settle(t, next)
	}
	var held []omega.AllocationID
	for _, m := range []string{"m1", "m2", "m3"} {
		held = append(held, claim(t, other, m, cell, 1))
	}
	next = r.settle(t, next)
	require.Equal(t, loop.BackedOff, r.events[len(r.events)-1].Kind, "the first attempt that fails")
	for _, a := range held {
		require.NoError(t, other.Release(a))
	}
	for !next.IsZero() {
		next = r.settle(t, next)
	}
	require.Equal(t, 52, p.Attempts())
	require.EqualValues(t, 50, r.Stats().PassedUp)
	require.EqualValues(t, 1, r.Stats().Complete)
}

// A machine that becomes free near the data ends the wait at once.
func TestNear_IsWokenByRoomNearTheData(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cell := newCell(t, 1, 1, 1, 1)
		near := newNear(t, delay.Policy{Waits: delay.Waits{time.Hour}}, 4, map[string][][]locality.Node{"a": {{0}}})
		ctx, cancel := context.WithCancel(t.Context())
		start := time.Now()
		var placed loop.Event[string]
		r := newRig(t, cell, loop.Config[string]{Place: near.Place, Observe: func(e loop.Event[string]) {
			if e.Kind == loop.Placed {
				placed = e
				cancel()
			}
		}})
		other := register(t, cell, "other")
		full := claim(t, other, "m0", cell, 1)
		r.submit(t, start, job("a", 1, 1))
		time.AfterFunc(time.Minute, func() { require.NoError(t, other.Release(full)) })
		require.ErrorIs(t, r.Run(ctx), context.Canceled)
		require.Equal(t, time.Minute, placed.At.Sub(start))
		require.Equal(t, []loop.Task{{}}, placed.Tasks)
	})
}

// Of a gang none starts while one of its tasks would be too far from its data.
func TestNear_AGangWaitsForAllOfItsTasks(t *testing.T) {
	cell := newCell(t, 1, 1, 1, 1)
	near := newNear(t, delay.Policy{Waits: delay.Waits{5 * time.Second}}, 4, map[string][][]locality.Node{"g": {{0}, {0}}})
	r := newRig(t, cell, loop.Config[string]{Place: near.Place})
	g := job("g", 2, 1)
	g.Gang = true
	r.submit(t, epoch, g)
	next := r.settle(t, epoch)
	require.Equal(t, []string{"g submitted", "g passed up"}, r.log())
	require.Equal(t, at(5), next)
	r.settle(t, next)
	require.Equal(t, []string{"g placed 2", "g complete"}, r.log())
}

// Whatever the nodes that tasks prefer, and whatever conflicts there are: each task
// starts once, at the level that it is told, and nearer ones go first.
func TestNear_StartsEachTaskOnceAtItsLevel(t *testing.T) {
	const nodes = 8
	topology := racked(t, nodes)
	rapid.Check(t, func(rt *rapid.T) {
		tasks := rapid.SliceOfN(rapid.SliceOfN(rapid.Map(rapid.IntRange(0, nodes-1), func(n int) locality.Node {
			return locality.Node(n)
		}), 0, 3), 1, 12).Draw(rt, "tasks")
		var policy delay.Policy
		if rapid.Bool().Draw(rt, "skips") {
			policy.Skips = rapid.IntRange(0, 5).Draw(rt, "D")
		} else {
			policy.Waits = delay.Waits{
				time.Duration(rapid.IntRange(0, 5).Draw(rt, "W1")) * time.Second,
				time.Duration(rapid.IntRange(0, 5).Draw(rt, "W2")) * time.Second,
			}
		}
		cell := newCell(t, 2, 2, 2, 2, 2, 2, 2, 2)
		other := register(t, cell, "other")
		near := newNear(t, policy, nodes, map[string][][]locality.Node{"j": tasks})
		started := map[int]bool{}
		var r *rig
		busy := 0
		r = newRig(t, cell, loop.Config[string]{
			Place: near.Place,
			Think: func(*loop.Job[string], int) time.Duration {
				m := fmt.Sprint("m", busy%nodes) // other schedulers place meanwhile
				id, _ := cell.Machine(m)
				if s, _ := cell.State(id); busy%3 == 0 && s.Free[0] > 0 {
					claim(t, other, m, cell, 1)
				}
				busy++
				return time.Millisecond
			},
			Observe: func(e loop.Event[string]) {
				require.Len(rt, e.Tasks, len(e.Allocations))
				for i, task := range e.Tasks {
					require.False(rt, started[task.Index], "task %d has started before", task.Index)
					started[task.Index] = true
					node := e.Allocations[i].Node()
					require.Equal(rt, topology.Level(node, tasks[task.Index]...), task.Level)
					require.NoError(rt, r.sched.Release(e.Allocations[i]))
				}
			},
		})
		r.submit(t, epoch, job("j", len(tasks), 1))
		now := epoch
		for range 1000 {
			next := r.step(t, now)
			if next.IsZero() {
				break
			}
			now = next
			for a := range other.Allocations() {
				if rapid.Bool().Draw(rt, "release") {
					require.NoError(rt, other.Release(a.ID))
				}
			}
		}
		require.Len(rt, started, len(tasks))
	})
}

// A place of the caller's own may add claims beside those of the Near, and their tasks
// are told as well.
func TestNear_TellsTheTasksOfClaimsOfAnotherPlace(t *testing.T) {
	cell := newCell(t, 4, 4, 4, 4)
	near := newNear(t, delay.Policy{}, 4, map[string][][]locality.Node{"j": {{0}, {1}, {3}}})
	r := newRig(t, cell, loop.Config[string]{Place: func(s *loop.Search[string]) {
		id, _ := cell.Machine("m3")
		require.True(t, s.Claim(id))
		s.Tasks--
		near.Place(s)
	}})
	r.submit(t, epoch, job("j", 3, 1))
	r.settle(t, epoch)
	placed := r.events[1]
	require.Len(t, placed.Tasks, 3)
	for i, task := range placed.Tasks {
		require.Equal(t, map[locality.Node]int{0: 0, 1: 1, 3: 2}[placed.Allocations[i].Node()], task.Index)
		require.Zero(t, task.Level)
	}
}

func TestNewNear_RefusesBadInput(t *testing.T) {
	_, err := loop.NewNear[string](delay.Policy{}, nil, omega.NextFit(), nil)
	require.ErrorIs(t, err, resources.ErrNil)
	_, err = loop.NewNear(delay.Policy{Skips: -1}, nil, omega.NextFit(), func(*loop.Job[string], int) []locality.Node { return nil })
	require.ErrorIs(t, err, delay.ErrPolicy)
	require.NotPanics(t, func() { (*loop.Near[string])(nil).Place(nil) })
}

// Machines of a walk are taken in its order, and no others.
func TestPlaceAmong_TakesTheMachinesOfTheWalk(t *testing.T) {
	cell := newCell(t, 1, 1, 1, 1)
	r := newRig(t, cell, loop.Config[string]{Place: loop.PlaceAmong(omega.NextFit(), func(*loop.Job[string]) iter.Seq[locality.Node] {
		return slices.Values([]locality.Node{3, 1})
	})})
	r.submit(t, epoch, job("j", 3, 1))
	r.settle(t, epoch)
	require.Len(t, r.held["j"], 2)
	require.Equal(t, []locality.Node{3, 1}, []locality.Node{r.held["j"][0].Node(), r.held["j"][1].Node()})
}

// The input of each task is on some nodes. The second task waits for its own, and goes to
// another one in its rack when five seconds are over.
func ExampleNear() {
	_, s := exampleCell()
	topology, _ := locality.New(locality.Config{Levels: []string{"node", "rack", "any"}, Nodes: []string{"rack", "rack"}})
	input := map[string][][]locality.Node{"count": {{0}, {0}}}
	near, err := loop.NewNear(delay.Policy{Waits: delay.Waits{5 * time.Second}}, topology, omega.NextFit(),
		func(j *loop.Job[string], task int) []locality.Node { return input[j.Key][task] })
	if err != nil {
		panic(err)
	}
	l, _ := loop.New(loop.Config[string]{
		Store: omega.Local{Scheduler: s},
		Place: near.Place,
		Observe: func(e loop.Event[string]) {
			for i, task := range e.Tasks {
				fmt.Println(e.At.Sub(epoch), "task", task.Index, "on node", e.Allocations[i].Node(), "at level", topology.LevelName(task.Level))
			}
		},
	})
	_, _ = l.Submit(epoch, loop.Job[string]{Key: "count", Need: resources.Vector{4}, Tasks: 2})
	for now, more := epoch, true; more; {
		now, more, _ = l.Step(context.Background(), now)
	}
	// Output:
	// 0s task 0 on node 0 at level node
	// 5s task 1 on node 1 at level rack
}

// Tasks run only on machines with an SSD.
func ExamplePlaceAmong() {
	cell, s := exampleCell()
	attributes := new(locality.Attributes)
	ssd, _ := attributes.Register(locality.Exists("ssd"))
	for m := range cell.Machines() {
		if m.Name == "node-1" {
			_ = attributes.Describe(m.ID.Node(), map[string]locality.Value{"ssd": locality.Text("nvme")})
		}
	}
	fast, _ := attributes.Require(ssd)
	l, _ := loop.New(loop.Config[string]{
		Store: omega.Local{Scheduler: s},
		Place: loop.PlaceAmong(omega.NextFit(), func(*loop.Job[string]) iter.Seq[locality.Node] { return fast.From(0) }),
		Observe: func(e loop.Event[string]) {
			for _, a := range e.Allocations {
				fmt.Println("on node", a.Node())
			}
		},
	})
	_, _ = l.Submit(epoch, loop.Job[string]{Key: "index", Need: resources.Vector{1}, Tasks: 2})
	_, _, _ = l.Step(context.Background(), epoch)
	// Output:
	// on node 1
	// on node 1
}
