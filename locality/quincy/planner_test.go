package quincy_test

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/cellsched/cellsched/internal/network"
	"github.com/cellsched/cellsched/locality"
	"github.com/cellsched/cellsched/locality/quincy"
)

// bench is a planner and what the test knows besides.
type bench struct {
	p        *quincy.Planner[string, int]
	inputs   map[int][]quincy.Block
	jobOf    map[int]string
	tasks    []int
	machines map[locality.Node]int // slots
	shares   map[string][2]int
	placed   map[int]locality.Node
	now      int64
	next     int
}

func newBench(t require.TestingT, costs quincy.DataCosts) *bench {
	b := &bench{inputs: map[int][]quincy.Block{}, jobOf: map[int]string{}, machines: map[locality.Node]int{}, shares: map[string][2]int{}, placed: map[int]locality.Node{}}
	var err error
	b.p, err = quincy.New[string](quincy.Config[int]{Verify: true, Arcs: func(arcs []quincy.Arc, task int, s quincy.State, now int64) []quincy.Arc {
		return costs.Arcs(arcs, b.inputs[task], s, now)
	}})
	require.NoError(t, err)
	return b
}

// plan makes a plan, follows it and checks all that has to hold.
func (b *bench) plan(t require.TestingT) {
	// What it costs from scratch, by another solver.
	var text bytes.Buffer
	require.NoError(t, b.p.WriteNetwork(&text, b.now))
	problem, err := network.Read(&text)
	require.NoError(t, err)
	scratch, err := problem.Prepare(network.Generic)
	require.NoError(t, err)
	cost, infeasible := scratch.Solve(context.Background())

	plan, err := b.p.Plan(context.Background(), b.now)
	if err != nil {
		require.ErrorIs(t, infeasible, quincy.ErrInfeasible)
		require.ErrorIs(t, err, quincy.ErrInfeasible)
		require.Less(t, b.slots(), b.lowest(), "slots and the lower shares of jobs")
		return
	}
	require.NoError(t, infeasible)
	require.Equal(t, cost, plan.Cost)
	require.True(t, slices.IsSortedFunc(plan.Changes, func(a, b quincy.Change[int]) int {
		return cmp.Compare(b.Action, a.Action) // what frees slots comes first
	}))
	for _, c := range plan.Changes {
		from, ran := b.placed[c.Task]
		require.Equal(t, c.Action != quincy.Place, ran)
		require.Equal(t, from, c.From)
		if c.Action == quincy.Preempt {
			delete(b.placed, c.Task)
		} else {
			b.placed[c.Task] = c.To
		}
	}
	used, runs := map[locality.Node]int{}, map[string]int{}
	for _, task := range b.tasks {
		n, ok := b.p.Placed(task)
		want, placed := b.placed[task]
		require.Equal(t, placed, ok)
		require.Equal(t, want, n)
		if ok {
			used[n]++
			runs[b.jobOf[task]]++
		}
	}
	for n, k := range used {
		require.LessOrEqual(t, k, b.machines[n], "slots of machine %d", n)
	}
	total := map[string]int{}
	for _, j := range b.jobOf {
		total[j]++
	}
	for j, s := range b.shares {
		require.GreaterOrEqual(t, runs[j], min(s[0], total[j]), "E of %s", j)
		require.LessOrEqual(t, runs[j], s[1], "F of %s", j)
	}
	for _, task := range b.tasks {
		b.explain(t, task, len(plan.Changes) == 0)
	}
	require.Equal(t, len(b.jobOf)-len(b.placed), plan.Waiting)
	require.Equal(t, len(b.tasks)-len(b.placed), plan.Waiting)
}

// explain checks that the tasks that would have to give way to a task can. If the
// last plan has changed nothing, arcs included, no way may be cheaper than the
// task's place.
func (b *bench) explain(t require.TestingT, task int, settled bool) {
	why, err := b.p.Explain(task)
	require.NoError(t, err)
	on, running := b.placed[task]
	require.Equal(t, b.jobOf[task], why.Job)
	require.Equal(t, running, why.Running)
	require.Equal(t, on, why.On)
	at := map[bool]quincy.Target{true: quincy.OnMachine(on), false: quincy.Unscheduled()}[running]
	require.Contains(t, why.String(), "it is here")
	for _, w := range why.Ways {
		if w.To == at {
			require.True(t, w.Open)
			require.Zero(t, w.Extra)
			require.Empty(t, w.Displaced)
		}
		if !w.Open {
			continue
		}
		require.True(t, w.Extra >= 0 || !settled, "%v", why)
		more := map[quincy.Target]int{w.Leaf: 1} // net of a slot
		more[at]--
		for _, d := range w.Displaced {
			n, ok := b.placed[d.Task]
			require.Equal(t, ok, d.From == quincy.OnMachine(n))
			more[d.From]--
			more[d.To]++
		}
		for n, slots := range b.machines {
			used := 0
			for _, m := range b.placed {
				if m == n {
					used++
				}
			}
			require.LessOrEqual(t, used+more[quincy.OnMachine(n)], slots)
		}
	}
}

func (b *bench) slots() (sum int) {
	for _, n := range b.machines {
		sum += n
	}
	return sum
}

func (b *bench) lowest() (sum int) {
	total := map[string]int{}
	for _, j := range b.jobOf {
		total[j]++
	}
	for j, s := range b.shares {
		sum += min(s[0], total[j])
	}
	return sum
}

func (b *bench) addTask(t require.TestingT, job string, in []quincy.Block) {
	task := b.next
	b.next++
	b.inputs[task] = in
	require.NoError(t, b.p.AddTask(task, job, b.now))
	b.jobOf[task] = job
	b.tasks = append(b.tasks, task)
}

func (b *bench) removeTask(t require.TestingT, i int) {
	task := b.tasks[i]
	require.NoError(t, b.p.RemoveTask(task))
	b.tasks = slices.Delete(b.tasks, i, i+1)
	delete(b.jobOf, task)
	delete(b.placed, task)
}

func (b *bench) addMachine(t require.TestingT, n locality.Node, slots int) {
	require.NoError(t, b.p.AddMachine(quincy.Machine{Node: n, Rack: quincy.Rack(n / 3), Slots: slots}))
	b.machines[n] = slots
}

const gigabyte = 1 << 30

// Rounds of anything that can happen: every plan keeps slots and shares, its
// changes add up, and it costs what a solver of any graph finds.
func TestPlanner_PlansAreOptimalAfterAnyCalls(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		b := newBench(t, quincy.DataCosts{Core: 20, Rack: 10, Wait: 3, Work: rapid.Int32Range(0, 5).Draw(t, "work"), Unscheduled: rapid.Int64Range(0, 200).Draw(t, "unscheduled")})
		for i := range rapid.IntRange(1, 3).Draw(t, "jobs") {
			name := fmt.Sprint("job-", i)
			low := rapid.IntRange(0, 2).Draw(t, "E")
			top := low + rapid.IntRange(0, 6).Draw(t, "more")
			require.NoError(t, b.p.AddJob(name, low, top))
			b.shares[name] = [2]int{low, top}
		}
		for n := range rapid.IntRange(1, 7).Draw(t, "machines") {
			b.addMachine(t, locality.Node(n), rapid.IntRange(1, 3).Draw(t, "slots"))
		}
		node := rapid.Uint32Range(0, 9)
		t.Repeat(map[string]func(*rapid.T){
			"add": func(t *rapid.T) {
				for range rapid.IntRange(1, 5).Draw(t, "tasks") {
					var in []quincy.Block
					for range rapid.IntRange(0, 2).Draw(t, "blocks") {
						in = append(in, quincy.Block{Bytes: rapid.Int64Range(0, 9).Draw(t, "GB") * gigabyte, Nodes: []locality.Node{locality.Node(node.Draw(t, "copy")), locality.Node(node.Draw(t, "copy"))}})
					}
					b.addTask(t, fmt.Sprint("job-", rapid.IntRange(0, len(b.shares)-1).Draw(t, "job")), in)
				}
			},
			"adopt": func(t *rapid.T) {
				n := locality.Node(node.Draw(t, "machine"))
				task := b.next
				err := b.p.AddRunning(task, "job-0", n, b.now-rapid.Int64Range(0, 9).Draw(t, "runs for"), 3, b.now)
				if _, ok := b.machines[n]; !ok {
					require.ErrorIs(t, err, quincy.ErrUnknown)
					return
				}
				require.NoError(t, err)
				b.next++
				b.jobOf[task], b.placed[task] = "job-0", n
				b.tasks = append(b.tasks, task)
			},
			"end": func(t *rapid.T) {
				for range min(len(b.tasks), 2) {
					b.removeTask(t, rapid.IntRange(0, len(b.tasks)-1).Draw(t, "task"))
				}
			},
			"lose": func(t *rapid.T) {
				n := locality.Node(node.Draw(t, "machine"))
				if _, ok := b.machines[n]; !ok || len(b.machines) == 1 {
					require.ErrorIs(t, b.p.RemoveMachine(99, b.now), quincy.ErrUnknown)
					return
				}
				require.NoError(t, b.p.RemoveMachine(n, b.now))
				delete(b.machines, n)
				for task, on := range b.placed {
					if on == n {
						delete(b.placed, task)
					}
				}
			},
			"join": func(t *rapid.T) {
				n := locality.Node(node.Draw(t, "machine"))
				if _, ok := b.machines[n]; ok {
					require.ErrorIs(t, b.p.AddMachine(quincy.Machine{Node: n, Slots: 1}), quincy.ErrDuplicate)
					return
				}
				b.addMachine(t, n, rapid.IntRange(1, 3).Draw(t, "slots"))
			},
			"slots": func(t *rapid.T) {
				n, slots := locality.Node(node.Draw(t, "machine")), rapid.IntRange(1, 4).Draw(t, "slots")
				if _, ok := b.machines[n]; ok {
					require.NoError(t, b.p.SetSlots(n, slots))
					b.machines[n] = slots
				}
			},
			"share": func(t *rapid.T) {
				low := rapid.IntRange(0, 2).Draw(t, "E")
				s := [2]int{low, low + rapid.IntRange(0, 5).Draw(t, "more")}
				require.NoError(t, b.p.SetShares("job-0", s[0], s[1]))
				b.shares["job-0"] = s
			},
			"update": func(t *rapid.T) {
				if len(b.tasks) > 0 {
					require.NoError(t, b.p.UpdateTask(rapid.SampledFrom(b.tasks).Draw(t, "task"), b.now))
				}
			},
			"time": func(t *rapid.T) { b.now += rapid.Int64Range(0, 20).Draw(t, "passes") },
			"plan": func(t *rapid.T) { b.plan(t) },
		})
		b.plan(t)
	})
}

// Machines and racks go by any numbers, near each other or not, and those that
// have gone come back.
func TestPlanner_TakesAnyNumbers(t *testing.T) {
	const last = locality.Node(math.MaxUint32)
	p := fixed(t, map[string][]quincy.Arc{
		"a": {{To: quincy.OnMachine(last), Cost: 1}, {To: quincy.InRack(1 << 31)}},
		"b": {{To: quincy.OnMachine(0)}, {To: quincy.OnMachine(last)}},
	})
	for range 2 {
		require.NoError(t, p.AddMachine(quincy.Machine{Node: last, Rack: math.MaxUint32, Slots: 1}))
		require.NoError(t, p.AddMachine(quincy.Machine{Node: 1 << 31, Rack: 1 << 31, Slots: 1}))
		require.NoError(t, p.RemoveMachine(1<<31, 0))
		require.NoError(t, p.RemoveMachine(last, 0))
		require.ErrorIs(t, p.RemoveMachine(last, 0), quincy.ErrUnknown)
	}
	for n := range locality.Node(100) {
		require.NoError(t, p.AddMachine(quincy.Machine{Node: n, Rack: quincy.Rack(n % 7), Slots: 1}))
	}
	require.NoError(t, p.AddMachine(quincy.Machine{Node: last, Rack: 1 << 31, Slots: 1}))
	require.NoError(t, p.AddJob("j", 0, 2))
	require.NoError(t, p.AddTask("a", "j", 0))
	require.NoError(t, p.AddTask("b", "j", 0))
	plan, err := p.Plan(t.Context(), 0)
	require.NoError(t, err)
	require.Zero(t, plan.Waiting)
	on, _ := p.Placed("a")
	require.Equal(t, last, on)
}
