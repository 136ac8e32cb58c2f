package flow_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/cellsched/cellsched/locality"
	"github.com/cellsched/cellsched/locality/quincy"
	"github.com/cellsched/cellsched/omega"
	"github.com/cellsched/cellsched/omega/flow"
	"github.com/cellsched/cellsched/omega/observe"
	"github.com/cellsched/cellsched/resources"
)

// job and name are types of the test's own, as users have theirs.
type (
	job  string
	name int
)

// work is a task in the test's own record, with its real state.
type work struct {
	flow.Task[job]
	input []quincy.Block
	runs  bool // from its Start until its end is told
	on    omega.MachineID
	alloc omega.AllocationID
	since time.Time
	stop  bool      // it was told to stop
	by    time.Time // no later than this, if another scheduler says so
}

// yard is a cell, a flow scheduler and a rival, and what runs there.
type yard struct {
	events observe.Stream
	cell   *omega.Cell
	s      *flow.Scheduler[job, name]
	rival  *omega.Scheduler
	now    time.Time

	slot   resources.Vector
	tasks  map[name]*work
	names  []name // of tasks, in the order in which they were added
	next   name
	jobs   map[job][2]int
	theirs []omega.AllocationID
	added  int // machines

	// meddle is called once in the middle of the next round, when it asks for
	// arcs for the given time.
	meddle func()
	asks   int
	seen   map[name]quincy.State // that the arcs were last asked for with
	bad    map[name]bool         // tasks with invalid arcs
	stay   bool                  // running tasks may go nowhere else
	tie    map[name]bool         // tasks that may run on machine 0 alone
	must   bool                  // no task may wait
	still  bool                  // costs do not grow with time
	ours   *omega.Scheduler
	most   *resources.Vector // that ours may hold

	patience time.Duration
	store    omega.Store // nil for that of the cell
}

var start = time.Unix(1000, 0)

// costs let no task wait where there is a slot.
var costs = quincy.DataCosts{Core: 20, Rack: 10, Wait: 3, Work: 2, Unscheduled: 1000}

func newYard(t require.TestingT, slot resources.Vector, machines ...resources.Vector) *yard {
	y := &yard{now: start, slot: slot, tasks: map[name]*work{}, jobs: map[job][2]int{}}
	var err error
	y.cell, err = omega.NewCell(omega.Config{})
	require.NoError(t, err)
	for _, m := range machines {
		y.addMachine(t, m)
	}
	y.seen, y.bad = map[name]quincy.State{}, map[name]bool{}
	y.ours, err = y.cell.Register("flow", omega.Limits{})
	require.NoError(t, err)
	y.rival, err = y.cell.Register("rival", omega.Limits{Highest: 9})
	require.NoError(t, err)
	y.begin(t)
	return y
}

// limit has flow schedule in the name of another scheduler, which has limits.
func (y *yard) limit(t require.TestingT, limits omega.Limits) {
	var err error
	y.most = limits.Held
	y.ours, err = y.cell.Register("limited", limits)
	require.NoError(t, err)
	y.begin(t)
}

// begin makes a new flow scheduler, which knows of nothing yet.
func (y *yard) begin(t require.TestingT) {
	var err error
	y.s, err = flow.New[job](flow.Config[name]{
		Cell: y.cell, Scheduler: y.ours, Store: y.store, Events: &y.events, Slot: y.slot, Verify: true, Patience: y.patience,
		Rack: func(m omega.MachineState) quincy.Rack { return quincy.Rack(m.ID.Node() / 3) },
		Arcs: y.arcsOf,
	})
	require.NoError(t, err)
}

func (y *yard) arcsOf(arcs []quincy.Arc, task name, state quincy.State, now int64) []quincy.Arc {
	if y.asks--; y.asks == 0 {
		y.meddle()
	}
	y.seen[task] = state
	if y.stay && state.Running {
		return append(arcs, quincy.Arc{To: quincy.OnMachine(state.On)})
	}
	if y.bad[task] {
		return append(arcs, quincy.Arc{To: quincy.Cluster()}, quincy.Arc{To: quincy.Cluster()})
	}
	costs := costs
	if y.still {
		costs.Wait, costs.Work = 0, 0
	}
	arcs = costs.Arcs(arcs, y.tasks[task].input, state, now)
	if y.tie[task] {
		arcs = slices.DeleteFunc(arcs, func(a quincy.Arc) bool {
			return a.To != quincy.Unscheduled() && a.To != quincy.OnMachine(0)
		})
	}
	if y.must {
		arcs = slices.DeleteFunc(arcs, func(a quincy.Arc) bool { return a.To == quincy.Unscheduled() })
		arcs = append(arcs, quincy.Arc{To: quincy.OnMachine(77)}, quincy.Arc{To: quincy.InRack(77)})
	}
	return arcs
}

func (y *yard) addMachine(t require.TestingT, capacity resources.Vector) omega.MachineID {
	id, err := y.cell.Add(omega.Machine{Name: fmt.Sprint("m", y.added), Capacity: capacity})
	require.NoError(t, err)
	y.added++
	return id
}

func (y *yard) addJob(t require.TestingT, j job, low, top int) {
	require.NoError(t, y.s.AddJob(j, low, top))
	y.jobs[j] = [2]int{low, top}
}

// add adds a task with its gigabyte on the given machines.
func (y *yard) add(t require.TestingT, j job, need resources.Vector, data ...locality.Node) name {
	n := y.next
	y.next++
	w := &work{Task: flow.Task[job]{Job: j, Need: need, Account: accountOf(y.cell, string(j))}}
	if len(data) > 0 {
		w.input = []quincy.Block{{Bytes: 1 << 30, Nodes: data}}
	}
	y.tasks[n] = w
	require.NoError(t, y.s.Add(n, w.Task, y.now))
	y.names = append(y.names, n)
	return n
}

// round has a round, follows it and checks what holds.
func (y *yard) round(t require.TestingT) flow.Report[name] {
	r, err := y.s.Round(context.Background(), y.now)
	require.NoError(t, err)
	y.follow(t, r)
	y.hold(t, r)
	return r
}

// follow does what a report says, and checks that it can be done.
func (y *yard) follow(t require.TestingT, r flow.Report[name]) {
	for _, stop := range r.Stop {
		w := y.tasks[stop.Task]
		require.NotNil(t, w)
		require.True(t, w.runs, "%v is told to stop and does not run", stop.Task)
		require.Equal(t, w.on, stop.Machine)
		require.Equal(t, stop.Reason != flow.Taken, stop.By.IsZero())
		if stop.Reason == flow.Lost {
			w.runs, w.stop = false, false
			continue
		}
		require.False(t, w.stop && stop.Reason != flow.Taken, "%v is told to stop twice", stop.Task)
		w.stop, w.by = true, stop.By
	}
	for _, s := range r.Start {
		w := y.tasks[s.Task]
		require.NotNil(t, w)
		require.False(t, w.runs, "%v is started and runs already", s.Task)
		w.runs, w.stop, w.by, w.on, w.alloc, w.since = true, false, time.Time{}, s.Machine, s.Allocation, y.now
		require.Equal(t, s.Machine.Node(), s.Allocation.Node())
	}
}

// hold checks what holds after a round.
func (y *yard) hold(t require.TestingT, r flow.Report[name]) {
	runs := map[omega.AllocationID]bool{}
	for _, w := range y.tasks {
		if w.runs {
			runs[w.alloc] = true
		}
	}
	unused := 0
	for a := range y.ours.Allocations() {
		if !runs[a.ID] {
			unused++
		}
	}
	waiting := 0
	counts := map[job]int{}
	for _, n := range y.names {
		if w := y.tasks[n]; w.runs && !w.stop {
			counts[w.Job]++
		} else {
			waiting++
		}
	}
	require.Equal(t, len(y.names), r.Running+r.Waiting)
	require.LessOrEqual(t, r.Limited, r.Waiting)
	if y.most != nil {
		y.neverAsksForTooMuch(t)
	}
	require.GreaterOrEqual(t, waiting, r.Waiting)
	require.LessOrEqual(t, unused, waiting-r.Waiting, "allocations that no task has and none is to be started in")
	for j, n := range counts {
		require.LessOrEqual(t, n, y.jobs[j][1], "F of %s", j)
	}
	y.check(t)
}

// neverAsksForTooMuch checks that the cell has refused nothing by a limit.
func (y *yard) neverAsksForTooMuch(t require.TestingT) {
	for _, n := range y.names {
		e, _ := y.s.Explain(n) // without the plan's part where there was no plan
		if item := (*omega.RefusalError)(nil); errors.As(e.Refused, &item) && item.Scheduler == "" {
			require.NotErrorIs(t, item, omega.ErrLimit)
		}
	}
}

// check checks that nothing runs on room that it does not have, and that the cell
// counts for us what is ours.
func (y *yard) check(t require.TestingT) {
	require.NoError(t, y.cell.Check())
	live := map[omega.AllocationID]omega.Allocation{}
	running := map[omega.MachineID]resources.Vector{}
	for a := range y.cell.Allocations() {
		live[a.ID] = a
		at, err := y.cell.ReadyAt(a.ID)
		require.NoError(t, err)
		if a.Scheduler == "rival" && !at.After(y.now) {
			running[a.Machine] = running[a.Machine].Add(a.Need)
		}
	}
	marked := map[omega.AllocationID]bool{}
	for m := range y.ours.Marked() {
		marked[m.Allocation.ID] = true
	}
	for _, n := range y.names {
		w := y.tasks[n]
		if !w.runs {
			continue
		}
		running[w.on] = running[w.on].Add(w.Need)
		if a, ok := live[w.alloc]; ok {
			require.Equal(t, w.Need, a.Need)
			require.Equal(t, w.Account, a.Account)
		} else {
			require.Contains(t, marked, w.alloc, "%v runs without an allocation", n)
		}
	}
	for m := range y.cell.Machines() {
		require.True(t, running[m.ID].Fits(m.Capacity), "%v runs on %v of %v", running[m.ID], m.ID, m.Capacity)
	}
}

// stopped ends what was told to stop.
func (y *yard) stopped(t require.TestingT, n name) {
	w := y.tasks[n]
	require.NoError(t, y.s.Stopped(n))
	w.runs, w.stop = false, false
}

// done ends a task by itself.
func (y *yard) done(t require.TestingT, n name) {
	require.NoError(t, y.s.Done(n))
	delete(y.tasks, n)
	y.names = slices.DeleteFunc(y.names, func(m name) bool { return m == n })
}

// pass lets time pass. Tasks that have to stop by then do.
func (y *yard) pass(t require.TestingT, d time.Duration) {
	y.now = y.now.Add(d)
	for _, n := range y.names {
		if w := y.tasks[n]; w.runs && w.stop && !w.by.IsZero() && !y.now.Before(w.by) {
			y.stopped(t, n)
		}
	}
}

// take has the rival claim on a machine, with what it takes of others at
// precedence 1 and more.
func (y *yard) take(t require.TestingT, m omega.MachineID, need resources.Vector, p omega.Precedence) bool {
	tx := omega.Txn{Now: y.now, Grace: 5 * time.Second}
	claim := omega.Claim{Machine: m, Need: need, Precedence: p}
	if p > 0 {
		claim.Victims, _ = y.cell.Victims(m, need, p)
		// What is told to stop runs already, and knows no other grace than ours.
	}
	tx.Claim(claim)
	_, err := y.rival.Commit(&tx)
	require.NoError(t, err)
	id, ok := tx.Allocation(0)
	if ok {
		y.theirs = append(y.theirs, id)
	}
	return ok
}

func (y *yard) giveBack(t require.TestingT, i int) {
	// It was lost or preempted, or it is live.
	require.NoError(t, y.rival.Release(y.theirs[i]))
	y.theirs = slices.Delete(y.theirs, i, i+1)
}

// states returns the machines.
func (y *yard) states() (all []omega.MachineState) { return slices.Collect(y.cell.Machines()) }

// fits reports whether a machine could have need if it were empty, and a slot for
// what needs no more than that.
func (y *yard) fits(need resources.Vector) bool {
	if y.most != nil && !need.Fits(*y.most) {
		return false
	}
	if need.Fits(y.slot) {
		need = y.slot
	}
	return slices.ContainsFunc(y.states(), func(m omega.MachineState) bool {
		return m.Condition == omega.Ready && need.Fits(m.Capacity)
	})
}

// lose removes a machine. What ran there runs no more.
func (y *yard) lose(t require.TestingT, m omega.MachineID) {
	_, err := y.cell.Remove(m)
	require.NoError(t, err)
}

const locality0 = locality.Node(0)

func nodes(n int) []locality.Node { return []locality.Node{locality.Node(n)} }

// machineAt returns the ID of the first machine that has a node number in a cell
// with machines.
func machineAt(cell *omega.Cell, node int) (id omega.MachineID) {
	for one := range cell.Machines() {
		text, _ := one.ID.MarshalText()
		tag, _, _ := strings.Cut(string(text), "/")
		if err := id.UnmarshalText(fmt.Appendf(nil, "%s/%d", tag, node)); err != nil {
			panic(err)
		}
		return id
	}
	panic("the cell has no machine")
}

// accountOf returns the account of a name that is valid.
func accountOf(cell *omega.Cell, name string) omega.Account {
	a, err := cell.Account(context.Background(), name)
	if err != nil {
		panic(err)
	}
	return a
}
