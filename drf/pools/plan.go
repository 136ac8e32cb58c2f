package pools

import (
	"github.com/cellsched/cellsched/drf"
	"github.com/cellsched/cellsched/drf/allot"
	"github.com/cellsched/cellsched/resources"
)

// Preemption tells which tasks may be stopped for the demand of a job, and bounds the
// losses of their jobs and pools. [Preempt] makes one; the zero Preemption stops none.
// It suits omega.ChooseVictims and omega.Ranking, with one rank for all. It is not safe
// for concurrent use.
type Preemption struct {
	standings []Standing
	at        map[Node]int32 // by node, the index of its standing
	branches  []branch       // by the index of the standing
	claimant  int32
	demand    resources.Vector
	scarce    kinds // wanted by a node with a fair share of nothing
}

// Preempt tells which tasks may be stopped for the demand of a job that fits nowhere.
// Standings are those of the whole tree, the root first and parents before children. They
// are kept and must not change meanwhile. The caller starts the job's task in the room, by
// [Tree.Charge], and does not pick again.
//
// # The rule
//
// A kind is missing on a machine if the demand exceeds the free amount of it. The lowest
// pool that both the job and a task are in has a child on the job's side and one on the
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
// So no pool is pushed below its share for another's. The job's own tasks are not stopped.
// The caller decides which job of a side asks: in a first-come pool it should be the first.
//
// A victim may end below its share of kinds that are not missing: they are free for
// its next tasks. Were those kinds protected too, a pool with all CPUs and little
// memory would be out of reach: its tasks hold a little memory.
//
// Scarce kinds are protected even if they are not missing. A kind is scarce if some
// node wants it and has a fair share of nothing, as with few GPUs for many pools. A
// pool that both the job and the task are in keeps its share of a scarce kind, too.
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
// Cost: O(n) for n nodes. A caller with a stale view has the choice verified where it is
// carried out, and asks again if it fails. Errors name the index of the wrong value:
//
//   - [ErrTree]: standings in which parents do not come first, a node comes twice,
//     or there is more than one root;
//   - [ErrNode]: a job that is not in them or is a pool;
//   - [drf.ErrEmpty] for a demand of nothing; [resources.ErrQuantity] for an invalid
//     amount; [drf.ErrHeld] for children that hold more than their pool.
//
// Fair shares, min shares and the order by youth are those of the Hadoop Fair
// Scheduler. The rules for missing kinds, for the lowest common pool and for the
// state afterwards are not.
func Preempt(standings []Standing, job Node, demand resources.Vector) (*Preemption, error) {
	p := &Preemption{standings: standings, demand: demand, at: make(map[Node]int32, len(standings))}
	if err := p.check(job); err != nil {
		return nil, err
	}
	p.survey()
	return p, nil
}

// Verdict returns whether there are tasks that may be stopped on some machine, or why
// not.
func (p *Preemption) Verdict() allot.Verdict {
	if p == nil || len(p.branches) == 0 {
		return 0
	}
	var may kinds
	for i := p.claimant; p.branches[i].parent != nowhere; i = p.branches[i].parent {
		may |= p.branches[i].may & holds(&p.demand)
	}
	if may == 0 {
		return allot.HasShare
	}
	for i := range p.branches {
		if p.branches[i].surplus&holds(&p.demand) != 0 {
			return allot.Yields
		}
	}
	return allot.NoneOver
}

// Rank returns 0 for a task of a job that may be stopped where a machine has some room
// free: among such tasks, the youngest is stopped first. It returns false for a task that
// may not be stopped there. Cost: O(1).
func (p *Preemption) Rank(job Node, need, room resources.Vector) (rank int, ok bool) {
	i, ok := p.job(job)
	if !ok {
		return 0, false
	}
	b, missing := &p.branches[i], p.missing(&room)
	return 0, holds(&need)&missing&b.surplus != 0 && missing&^p.branches[b.opponent].may == 0
}

// Lose counts the loss of a task, and reports whether all nodes that lose by it keep their
// protected amounts. It counts nothing otherwise. Room is what the machine has free before
// any loss. Cost: O(depth).
func (p *Preemption) Lose(job Node, need, room resources.Vector) bool {
	at, ok := p.job(job)
	if !ok {
		return false
	}
	missing := p.missing(&room)
	for i := at; i != nowhere; i = p.branches[i].parent {
		b, kept := &p.branches[i], p.scarce
		if !b.onPath {
			kept |= missing
		}
		for k, loss := range need {
			if loss > b.left[k] || loss > 0 && kept>>k&1 == 1 && b.left[k]-loss < p.protected(i, k) {
				return false
			}
		}
	}
	for i := at; i != nowhere; i = p.branches[i].parent {
		b := &p.branches[i]
		b.left, _ = b.left.Sub(need)
	}
	return true
}

// Keep takes back a loss that [Preemption.Lose] has counted.
func (p *Preemption) Keep(job Node, need resources.Vector) {
	i, ok := p.job(job)
	for ; ok && i != nowhere; i = p.branches[i].parent {
		b := &p.branches[i]
		b.left = b.left.Add(need)
	}
}

// job returns the index of a job that may lose tasks.
func (p *Preemption) job(job Node) (i int32, ok bool) {
	if p == nil {
		return 0, false
	}
	i, ok = p.at[job]
	return i, ok && i != p.claimant && !p.branches[i].pool
}

// missing returns the kinds of which room has less than the demand.
func (p *Preemption) missing(room *resources.Vector) (set kinds) {
	for k, need := range p.demand {
		if need > room[k] {
			set |= 1 << k
		}
	}
	return set
}

// nowhere is the index of no standing.
const nowhere = -1

// check validates the input and builds the tree of the standings.
func (p *Preemption) check(job Node) error {
	if err := p.checkStandings(); err != nil {
		return err
	}
	i, ok := p.at[job]
	if !ok || p.branches[i].pool {
		return badNode("preempt for", "a job of the standings")
	}
	p.claimant = i
	if err := self.Some("preempt: demand", p.demand); err != nil {
		return err
	}
	if root := &p.standings[0]; exceeds(&root.Usage, &p.demand) {
		return self.Refuse(resources.ErrQuantity, "preempt: demand %v where all hold %v, want at most 2^62 in all", p.demand, root.Usage)
	}
	return nil
}

func (p *Preemption) checkStandings() error {
	p.branches = make([]branch, len(p.standings))
	for i := range p.standings {
		s, b := &p.standings[i], &p.branches[i]
		parent, ok := p.at[s.Parent]
		_, twice := p.at[s.Node]
		switch {
		case s.Node == Node{}:
			return self.Refuse(ErrTree, "preempt: standing %d is of the zero node, want a node of the tree", i)
		case twice:
			return self.Refuse(ErrTree, "preempt: standing %d repeats an earlier node, want each once", i)
		case i == 0 && s.Parent != Node{}:
			return self.Refuse(ErrTree, "preempt: standing 0 has a parent, want the root first, which has none")
		case i > 0 && !ok:
			return self.Refuse(ErrTree, "preempt: standing %d is below a node that is not listed before it, want parents first", i)
		}
		for _, v := range []*resources.Vector{&s.Usage, &s.Wants, &s.Min, &s.Fair} {
			if err := v.Check(); err != nil {
				return self.Refuse(err, "preempt: standing %d", i)
			}
		}
		p.at[s.Node] = int32(i)
		b.left, b.pool = s.Usage, i == 0
		if b.parent = nowhere; i == 0 {
			continue
		}
		b.parent = parent
		above := &p.branches[parent]
		if above.left, ok = above.left.Sub(s.Usage); !ok {
			return self.Refuse(drf.ErrHeld, "preempt: children up to standing %d of standing %d, which holds %v, hold more than that", i, parent, p.standings[parent].Usage)
		}
		above.pool = true
	}
	return nil
}
