package pools

import (
	"github.com/cellsched/cellsched/drf"
	"github.com/cellsched/cellsched/resources"
)

// Running is a task that [Preempt] may stop.
type Running struct {
	Job     Node             // whose it is
	Machine int              // where it is, by its index
	Need    resources.Vector // what it holds, in base units
	// Started is larger the later it was started: a time, or a number that
	// counts. Of equal ones, the one listed later is taken for the younger.
	Started int64
}

// Plan is what [Preempt] says to do, or why there is nothing to do.
type Plan struct {
	// Verdict is [drf.Yields] where Tasks make room. Of the others, those about
	// machines say how far the machine came on which it came furthest.
	Verdict drf.Verdict
	// Machine is where the demand is to go: of [drf.Yields] and
	// [drf.FitsAlready].
	Machine int
	// Tasks are those to stop, all on Machine, by index, the youngest first: of
	// [drf.Yields].
	Tasks []int
}

// Preempt says which tasks, all on one machine, to stop for the demand of a
// job, which fits on none, where its side of the tree has less than its fair
// share while others have more. Standings are of the whole tree, the root first
// and parents before their children. Free is what is free on each machine where
// the demand may run, running what may be stopped there; the job's own tasks are
// passed over. A caller without machines has a single one, the cell.
//
// What decides is where the ways down to the job and to another's task part, at
// the lowest pool that both are in. Its child on the one side, a pool or the job
// itself, stands against that on the other; further up, all is the same for both.
// The task may be stopped if both sides agree, in the kinds that are missing,
// which are those of which the demand is more than is free:
//
//   - The job's side does not have its fair share: of no kind has it more than
//     that, or just that while it wants more. Neither does it get more than its
//     fair share of what is missing by the demand. Whether the job is the one in
//     there whose turn it is, such as in a pool that is first come, first served,
//     is the caller's to decide.
//   - The task's side, and all on the way from there down to the job whose task
//     it is, have more than their fair shares and min shares of some of what is
//     missing that the task holds, and do not end below them in any, all that is
//     stopped taken together. So no pool is pushed below its share for another's.
//
// Of kinds that are not missing, a victim may end below its share: nobody takes
// these from it, and they are free for its next tasks. If they were protected,
// too, a pool with all CPUs and little memory would be out of reach of those
// without a CPU, since its tasks hold a little memory as well. They are protected
// where they are scarce: where some pool or job that wants them has a fair share
// of nothing, as with few GPUs for many. Of these, a pool that both the job and
// the task are in does not end with less of its share, either.
//
// Tasks are stopped from the youngest on, whichever pool they are in, as they
// have the least work to lose; not those that have none of what is still
// missing; until the demand fits. Those that turn out to be unnecessary are
// spared, the oldest first, so that none of those left could be. Of several
// machines it is the one where the fewest tasks are stopped, then where the
// oldest of these is the youngest, then the one listed first. Where stopping one
// task alone would do, or where all that may be stopped alone may be stopped
// together, a plan is found; of what only some other sets would do, not all are:
// that would be a knapsack problem.
//
// The room is for the demand: the caller starts that job's task there, by
// [Tree.Charge], and does not pick anew.
//
// What is due is what standings say: who is to get no more than its min share by
// preemption, as in the Hadoop Fair Scheduler once the time for that is up, and
// the fair share later, asks with its Fair lowered to its Min.
//
// Max shares bound fair shares; beyond that, standings do not have them: whether
// there is room for the demand below them is the caller's to see to.
//
// # No two users preempt each other in turn
//
// As long as jobs only preempt by this rule or take what is free, while no task
// ends, stopped tasks wait to run again, and totals and limits stay, they arrive
// at a state where nobody can preempt, whatever the order: no sequence of such
// steps ever leads back to where it began. Fair shares stay the same meanwhile,
// since they follow from what is wanted, and what a stopped task held is wanted
// as before.
//
// This has a price, which the proof needs. A side that has its share of one kind,
// and wants more of it, cannot preempt for another kind: as in DRF, it has its
// share. And a pool with a share of a scarce kind keeps the tasks that hold it,
// whatever else they hold: if it did not, three pools whose tasks hold two kinds
// each could take from each other in turn for ever.
//
// It changes nothing: a pure function, so that a caller whose view may be stale
// has the plan verified where it is carried out, and asks again if it fails.
// Cost: O(n + c log c + c·d + M·d) for n nodes, c tasks, M machines and depth d,
// where only tasks are sorted whose pools are above their shares, and O(n + c)
// memory.
//
// Errors name what is wrong, by its index: an [ErrTree] for standings in which
// parents do not come first, a node comes twice, or there is more than one root;
// an [ErrNode] for a job that is not in them or is a pool; a [drf.ErrMachine]; a
// [drf.ErrEmpty] for a demand of nothing; a [resources.ErrQuantity] for an
// invalid amount; a [drf.ErrHeld] where children hold more than their pool, or
// tasks more than their job.
//
// Fair shares, min shares and the youngest first are those of the Hadoop Fair
// Scheduler; that claims are settled where two branches part, by kinds that are
// missing, and that both sides are looked at as they are afterwards, is not.
func Preempt(standings []Standing, job Node, demand resources.Vector, free []resources.Vector, running []Running) (Plan, error) {
	q := question{standings: standings, demand: &demand, free: free, running: running}
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

// question is what [Preempt] is asked, and what it knows of it.
type question struct {
	standings []Standing
	branches  []branch // by the index of the standing
	claimant  int32
	demand    *resources.Vector
	free      []resources.Vector
	running   []Running
	owners    []int32 // of tasks: whose they are
	scarce    kinds   // of which somebody who wants some has no fair share
}

// nowhere is the index of no standing.
const nowhere = -1

// check finds what is wrong with the question, and who is where in the tree.
func (q *question) check(job Node) error {
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

func (q *question) checkStandings(at map[Node]int32) error {
	q.branches = make([]branch, len(q.standings))
	for i := range q.standings {
		s, b := &q.standings[i], &q.branches[i]
		parent, ok := at[s.Parent]
		_, twice := at[s.Node]
		switch {
		case s.Node == Node{}:
			return refuse(ErrTree, "preempt: standing %d is of the zero node, which is nobody", i)
		case twice:
			return refuse(ErrTree, "preempt: standing %d is of a node that is listed before, want each once", i)
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

func (q *question) checkRunning(at map[Node]int32) error {
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
