package pools

import (
	"github.com/cellsched/cellsched/drf"
	"github.com/cellsched/cellsched/resources"
)

// Running is a task that [Preempt] may stop.
type Running struct {
	Job     Node             // its job
	Machine int              // its machine, by index
	Need    resources.Vector // the amount that it holds, in base units
	// Started is the start as a time or a counter, larger for a later start. Of
	// equal ones the one listed later counts as the younger.
	Started int64
}

// Plan is the plan of [Preempt], or the reason why there is none.
type Plan struct {
	// Verdict is [drf.Yields] if Tasks make room. If no machine works, it is the
	// verdict of the machine that came furthest.
	Verdict drf.Verdict
	// Machine is the machine for the demand: with [drf.Yields] and
	// [drf.FitsAlready].
	Machine int
	// Tasks are the ones to stop, all on Machine, by index, the youngest first:
	// with [drf.Yields].
	Tasks []int
}

// Preempt plans a preemption: it chooses tasks to stop, all on one machine, for the
// demand of a job that fits on no machine.
//
// Standings are those of the whole tree, the root first and parents before
// children. Free is the free room of each machine where the demand may run. Running
// are the tasks that may be stopped there; the job's own tasks are never chosen. A
// caller without machines has a single one, the cell. The caller starts the job's
// task in the room, by [Tree.Charge], and does not pick again.
//
// # The rule
//
// A kind is missing if the demand exceeds the free amount of it. The lowest pool
// that both the job and a task are in has a child on the job's side and one on the
// task's side. The task may be stopped under two conditions:
//
//   - The job's side lacks its fair share: it holds no kind beyond that, and none
//     up to just that while it wants more. With the demand it stays within its fair
//     share of the missing kinds.
//   - There is a missing kind that the task has. The task's side, and each node
//     from there down to its job, holds more of it than its fair share and its min
//     share. With all stopped tasks together it does not end below these in any
//     missing kind.
//
// So no pool is pushed below its share for another's. The caller decides which job
// of a side asks: in a first-come pool it should be the first.
//
// A victim may end below its share of kinds that are not missing: they are free for
// its next tasks. Were those kinds protected too, a pool with all CPUs and little
// memory would be out of reach: its tasks hold a little memory.
//
// Scarce kinds are protected even if they are not missing. A kind is scarce if some
// node wants it and has a fair share of nothing, as with few GPUs for many pools. A
// pool that both the job and the task are in keeps its share of a scarce kind, too.
//
// # Which tasks
//
//   - Tasks are stopped from the youngest on, in any pool, until the demand fits:
//     they have the least work to lose.
//   - A task without any kind that is still missing is left alone.
//   - Tasks that turn out to be unnecessary are spared, the oldest first.
//   - Of several machines the plan prefers the fewest tasks, then the youngest
//     oldest task, then the machine listed first.
//
// A plan is found if one task is enough alone, or if all tasks that may be stopped
// alone may be stopped together. Not all plans with other sets are found: that
// would be a knapsack problem.
//
// To preempt for min shares only, pass standings with Fair lowered to Min. The
// Hadoop Fair Scheduler does so first, and preempts for fair shares later. Max
// shares bound the fair shares; beyond that, the caller has to check that the
// demand is within them.
//
// # No two users preempt each other in turn
//
// Suppose that jobs only preempt by this rule or take free room, and that no task
// ends. Stopped tasks wait to run again, and totals and limits stay. Then no
// sequence of steps, in any order, leads back to where it began, and jobs arrive at
// a state without a further preemption. Fair shares stay the same meanwhile, since
// a stopped task is wanted as before.
//
// The proof has a price:
//
//   - A side that has its share of one kind, and wants more of it, cannot preempt
//     for another kind: as in DRF, it has its share.
//   - A pool with a share of a scarce kind keeps the tasks that hold it, with all
//     else they hold. Otherwise three pools with tasks of two kinds each could
//     take from each other in turn for ever.
//
// # Cost and errors
//
// Preempt is a pure function. A caller with a stale view has the plan verified
// where it is carried out, and asks again if it fails. Cost: O(n + c log c + c·d +
// M·d) for n nodes, c tasks, M machines and depth d, and O(n + c) memory. Only
// tasks of pools above their shares are sorted.
//
// Errors name the index of the wrong value:
//
//   - [ErrTree]: standings in which parents do not come first, a node comes twice,
//     or there is more than one root;
//   - [ErrNode]: a job that is not in them or is a pool;
//   - [drf.ErrMachine]; [drf.ErrEmpty] for a demand of nothing;
//     [resources.ErrQuantity] for an invalid amount;
//   - [drf.ErrHeld]: children that hold more than their pool, or tasks of more than
//     their job.
//
// Fair shares, min shares and the order by youth are those of the Hadoop Fair
// Scheduler. The rules for missing kinds, for the lowest common pool and for the
// state afterwards are not.
func Preempt(standings []Standing, job Node, demand resources.Vector, free []resources.Vector, running []Running) (Plan, error) {
	q := preemption{standings: standings, demand: &demand, free: free, running: running}
	if err := q.check(job); err != nil {
		return Plan{}, err
	}
	for m := range free {
		if resources.Fits(&demand, &free[m]) {
			return Plan{Verdict: drf.FitsAlready, Machine: m}, nil
		}
	}
	q.survey()
	return q.plan(), nil
}

// preemption is the input of one call of [Preempt], and its state.
type preemption struct {
	standings []Standing
	branches  []branch // by the index of the standing
	claimant  int32
	demand    *resources.Vector
	free      []resources.Vector
	running   []Running
	owners    []int32 // standing of each task's job
	scarce    kinds   // wanted by a node with a fair share of nothing
}

// nowhere is the index of no standing.
const nowhere = -1

// check validates the input and builds the tree of the standings.
func (q *preemption) check(job Node) error {
	at := make(map[Node]int32, len(q.standings))
	if err := q.checkStandings(at); err != nil {
		return err
	}
	i, ok := at[job]
	if !ok || q.branches[i].pool {
		return badNode("preempt for", "a job of the standings", job)
	}
	q.claimant = i
	if err := checkSome("preempt: demand", *q.demand); err != nil {
		return err
	}
	if root := &q.standings[0]; exceeds(&root.Usage, q.demand) {
		return refuse(resources.ErrQuantity, "preempt: demand %v where all hold %v, want at most 2^62 in all", *q.demand, root.Usage)
	}
	for m := range q.free {
		if err := q.free[m].Check(); err != nil {
			return refuse(err, "preempt: machine %d has %v free", m, q.free[m])
		}
	}
	return q.checkRunning(at)
}

func (q *preemption) checkStandings(at map[Node]int32) error {
	q.branches = make([]branch, len(q.standings))
	for i := range q.standings {
		s, b := &q.standings[i], &q.branches[i]
		parent, ok := at[s.Parent]
		_, twice := at[s.Node]
		switch {
		case s.Node == Node{}:
			return refuse(ErrTree, "preempt: standing %d is of the zero node, want a node of the tree", i)
		case twice:
			return refuse(ErrTree, "preempt: standing %d repeats an earlier node, want each once", i)
		case i == 0 && s.Parent != Node{}:
			return refuse(ErrTree, "preempt: standing 0 has a parent, want the root first, which has none")
		case i > 0 && !ok:
			return refuse(ErrTree, "preempt: standing %d is below a node that is not listed before it, want parents first", i)
		}
		for _, v := range []*resources.Vector{&s.Usage, &s.Wants, &s.Min, &s.Fair} {
			if err := v.Check(); err != nil {
				return refuse(err, "preempt: standing %d", i)
			}
		}
		at[s.Node] = int32(i)
		b.left, b.pool = s.Usage, i == 0
		if b.parent = nowhere; i == 0 {
			continue
		}
		b.parent = parent
		p := &q.branches[parent]
		if p.left, ok = p.left.Sub(s.Usage); !ok {
			return refuse(drf.ErrHeld, "preempt: children up to standing %d of standing %d, which holds %v, hold more than that", i, parent, q.standings[parent].Usage)
		}
		p.pool = true
	}
	return nil
}

func (q *preemption) checkRunning(at map[Node]int32) error {
	q.owners = make([]int32, len(q.running))
	for t := range q.running {
		r := &q.running[t]
		i, ok := at[r.Job]
		if !ok || q.branches[i].pool {
			return refuse(ErrNode, "preempt: task %d of node %d (generation %d), want a job of the standings", t, r.Job.slot, r.Job.gen)
		}
		q.owners[t] = i
		if r.Machine < 0 || r.Machine >= len(q.free) {
			return refuse(drf.ErrMachine, "preempt: task %d on machine %d, want one of %d", t, r.Machine, len(q.free))
		}
		if err := r.Need.Check(); err != nil {
			return refuse(err, "preempt: task %d", t)
		}
		b := &q.branches[i]
		if b.left, ok = b.left.Sub(r.Need); !ok {
			return refuse(drf.ErrHeld, "preempt: tasks up to %d of standing %d, which holds %v, are more than that", t, i, q.standings[i].Usage)
		}
	}
	return nil
}
