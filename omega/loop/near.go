package loop

import (
	"slices"
	"time"

	"github.com/cellsched/cellsched/delay"
	"github.com/cellsched/cellsched/locality"
	"github.com/cellsched/cellsched/omega"
)

// Near places tasks near their data, by delay scheduling: each job passes up machines
// that are far from the data of its tasks, for as long as a [delay.Policy] says. Its
// method Place is a [Place].
//
// Each task has nodes that it prefers, such as those with a replica of its input. A job
// starts the tasks first that are nearest to the machines with room. [Event.Tasks] of a
// [Placed] event has the task of each allocation, and its level.
//
// A job that passes up a machine waits until the policy takes one farther away, or until
// machines change: see [PassedUp]. Each such look counts as one offer. A launch counts
// when it is granted. The groups of nodes are the topology's at the first placement of a
// job.
//
// [NewNear] makes one. It belongs to the steps of one loop. Cost of a Place: the
// searches, O(tasks left) or O(machines with room), whichever is likely to be less; and
// once a job O(tasks × preferred nodes × levels). M. Zaharia et al., EuroSys 2010.
type Near[K any] struct {
	wait     delay.Job // as each job begins
	learns   bool
	topology *locality.Topology
	search   omega.Policy
	prefers  func(job *Job[K], task int) []locality.Node
}

// NewNear returns a place by delay scheduling. Prefers returns the nodes that a task of
// a job prefers, none for any; tasks are numbered from 0. It is called once for each
// task, and its slices are kept. Search picks among machines that are equally near. A
// nil topology is one without groups.
//
//	near, err := loop.NewNear(delay.Policy{Skips: 20}, topology, omega.NextFit(),
//		func(j *loop.Job[string], task int) []locality.Node { return blocks.Nodes(input[j.Key][task]) })
//
// Errors: those of [delay.New], [resources.ErrNil].
func NewNear[K any](
	policy delay.Policy, topology *locality.Topology, search omega.Policy, prefers func(job *Job[K], task int) []locality.Node,
) (*Near[K], error) {
	if prefers == nil {
		return nil, absent("prefers")
	}
	wait, err := delay.New(policy)
	if err != nil {
		return nil, err
	}
	return &Near[K]{wait: wait, learns: policy.Learn != nil, topology: topology, search: search, prefers: prefers}, nil
}

// Task is a task of a job that a [Near] has placed.
type Task struct {
	Index int            // of the job's
	Level locality.Level // of the machine, from the data of the task
}

// Place places tasks as near to their data as may be: see [Place].
func (n *Near[K]) Place(s *Search[K]) {
	if n == nil || n.prefers == nil {
		return
	}
	b := n.of(s)
	b.forget()
	wait, last, query := b.wait, n.topology.Any(), s.Job.Query()
	var far omega.MachineID
	for level := locality.Level(0); len(b.plans) < s.Tasks; {
		m, ok := n.find(s.Snapshot, b, query, level)
		switch {
		case ok && level > wait.Allowed(s.Now):
			far = m
		case ok && s.Claim(m):
			task, at := b.nearest(m.Node(), level)
			b.plan(m.Node(), task, at)
			// A copy would teach the learner twice. Tasks of a gang start together, so
			// none of them ends the wait of another.
			if !n.learns && !s.Job.Gang {
				_, _ = wait.Offer(s.Now, at)
			}
			continue
		case level < last:
			level++
			continue
		}
		break
	}
	if far == 0 {
		return
	}
	_, b.far = b.nearest(far.Node(), last)
	b.passed = true
	_, _ = wait.Offer(s.Now, b.far)
	until, _ := wait.NextRelax(s.Now)
	s.PassUp(until)
}

// of returns the lists of a job, and makes them at its first attempt.
func (n *Near[K]) of(s *Search[K]) *nearby {
	if s.pending != nil && s.pending.near != nil {
		return s.pending.near
	}
	b := &nearby{wait: n.wait, topology: n.topology, begun: make([]bool, s.Job.Tasks), lists: map[group][]int{}}
	choosy := 0
	for t := range s.Job.Tasks {
		b.prefers = append(b.prefers, n.prefers(s.Job, t))
		if len(b.prefers[t]) > 0 {
			choosy++
		}
		b.list(t)
	}
	b.left = s.Job.Tasks
	b.wait.SetPending(choosy)
	if s.pending != nil {
		s.pending.near = b
	}
	return b
}

// few is how many tasks are looked at one by one for room on their own nodes. Where
// there are more, the machines with room are.
const few = 64

// find returns a machine with room that is as near to a task as the level says.
func (n *Near[K]) find(snap *omega.Snapshot, b *nearby, q omega.Query, level locality.Level) (omega.MachineID, bool) {
	switch allow := q.Allow; {
	case level == n.topology.Any() || level == 0 && b.first(anywhere) >= 0:
	case level == 0 && b.left <= few:
		q.Among = func(yield func(locality.Node) bool) {
			for t, begun := range b.begun {
				if !begun && slices.ContainsFunc(b.prefers[t], func(node locality.Node) bool { return !yield(node) }) {
					return
				}
			}
		}
	default:
		q.Allow = func(node locality.Node) bool {
			return b.has(node, level) && (allow == nil || allow(node))
		}
	}
	return snap.Find(q, n.search)
}

// nearby is the state of one job in a Near.
type nearby struct {
	wait     delay.Job
	topology *locality.Topology
	prefers  [][]locality.Node // by task
	begun    []bool            // by task: started or planned
	left     int               // not started
	lists    map[group][]int   // tasks that may not have begun
	rest     int               // all tasks before it have begun

	plans  []plan // of the attempt
	passed bool   // in the attempt, a machine at the level far
	far    locality.Level
}

// group is the nodes within a level of each other.
type group struct {
	level  locality.Level
	number uint32
}

// anywhere lists tasks that prefer no node.
var anywhere = group{level: locality.MaxLevels}

// plan is a task that starts on a node if the claim is granted.
type plan struct {
	node  locality.Node
	task  int
	level locality.Level
}

// list enters a task that has not begun in the lists of its groups.
func (b *nearby) list(task int) {
	b.rest = min(b.rest, task)
	if len(b.prefers[task]) == 0 {
		b.lists[anywhere] = append(b.lists[anywhere], task)
		return
	}
	for level := range b.topology.Any() {
		var before []uint32
		for _, node := range b.prefers[task] {
			number := b.topology.Group(node, level)
			if !slices.Contains(before, number) {
				before = append(before, number)
				at := group{level, number}
				b.lists[at] = append(b.lists[at], task)
			}
		}
	}
}

// first returns the first task of a list that has not begun, or -1.
func (b *nearby) first(at group) int {
	list := b.lists[at]
	for len(list) > 0 && b.begun[list[0]] {
		list = list[1:]
		b.lists[at] = list
	}
	if len(list) == 0 {
		return -1
	}
	return list[0]
}

// has reports whether a task that has not begun is as near to a node as the level says.
func (b *nearby) has(node locality.Node, level locality.Level) bool {
	return b.first(group{level, b.topology.Group(node, level)}) >= 0
}

// nearest returns the task to start on a node, with its level there, at most as far as
// most. At least one task has not begun.
func (b *nearby) nearest(node locality.Node, most locality.Level) (task int, level locality.Level) {
	last := b.topology.Any()
	for level := range min(most+1, last) {
		if task := b.first(group{level, b.topology.Group(node, level)}); task >= 0 {
			return task, level
		}
		if level == 0 {
			if task := b.first(anywhere); task >= 0 {
				return task, 0
			}
		}
	}
	for b.begun[b.rest] {
		b.rest++
	}
	return b.rest, last
}

func (b *nearby) plan(node locality.Node, task int, level locality.Level) {
	b.plans = append(b.plans, plan{node, task, level})
	b.begun[task] = true
}

// forget drops the plans of an attempt that were not granted.
func (b *nearby) forget() {
	for _, p := range b.plans {
		b.begun[p.task] = false
		b.list(p.task)
	}
	b.plans, b.passed = b.plans[:0], false
}

// settle starts the tasks that were planned for allocations, and has the job wait if it
// has passed up a machine. A nil nearby belongs to a job that another Place has placed.
func (b *nearby) settle(now time.Time, granted []omega.AllocationID) (tasks []Task) {
	if b == nil {
		return nil
	}
	tasks = make([]Task, len(granted))
	others := false
	for i, id := range granted {
		at := slices.IndexFunc(b.plans, func(p plan) bool { return p.node == id.Node() })
		if at < 0 {
			tasks[i].Index, others = -1, true
			continue
		}
		tasks[i] = Task{b.plans[at].task, b.plans[at].level}
		b.plans = slices.Delete(b.plans, at, at+1)
	}
	passed := b.passed
	b.forget()
	if others { // claims that another Place has added
		for i, id := range granted {
			if tasks[i].Index < 0 {
				tasks[i].Index, tasks[i].Level = b.nearest(id.Node(), b.topology.Any())
				b.begun[tasks[i].Index] = true
			}
		}
	}
	for _, task := range tasks {
		_, _ = b.wait.Offer(now, task.Level)
	}
	b.left -= len(tasks)
	if passed {
		_, _ = b.wait.Offer(now, b.far)
	}
	return tasks
}
