package pools

import (
	"cmp"
	"slices"

	"github.com/cellsched/cellsched/drf"
	"github.com/cellsched/cellsched/resources"
)

// plan returns the best plan of all machines.
func (q *preemption) plan() Plan {
	all, ends := q.byMachine()
	var best Plan
	failed := drf.HasShare // verdicts are in the order of how far they came
	if len(q.free) == 0 {
		failed = drf.NoMachine
	}
	for m := range q.free {
		tasks, verdict := q.stop(m, all[ends[m]:ends[m+1]])
		switch {
		case verdict != drf.Yields:
			failed = max(failed, verdict)
		case best.Tasks == nil || q.better(tasks, best.Tasks):
			best = Plan{Verdict: verdict, Machine: m, Tasks: tasks}
		}
	}
	if best.Tasks == nil {
		return Plan{Verdict: failed}
	}
	return best
}

// byMachine groups the tasks of other jobs by machine: those on m are
// tasks[ends[m]:ends[m+1]].
func (q *preemption) byMachine() (tasks, ends []int) {
	ends = make([]int, len(q.free)+2)
	for t := range q.running {
		if q.owners[t] != q.claimant {
			ends[q.running[t].Machine+2]++
		}
	}
	for m := range q.free {
		ends[m+2] += ends[m+1]
	}
	tasks = make([]int, ends[len(ends)-1])
	for t := range q.running {
		if q.owners[t] != q.claimant {
			next := &ends[q.running[t].Machine+1] // in the end, where the next machine's begin
			tasks[*next] = t
			*next++
		}
	}
	return tasks, ends
}

// better reports whether stopping a is preferred to stopping b. The last task of
// each is its oldest.
func (q *preemption) better(a, b []int) bool {
	return cmp.Or(
		cmp.Compare(len(a), len(b)),
		cmp.Compare(q.running[b[len(b)-1]].Started, q.running[a[len(a)-1]].Started),
	) < 0
}

// stop chooses the tasks to stop on a machine. It reorders of.
func (q *preemption) stop(machine int, of []int) ([]int, drf.Verdict) {
	room := q.free[machine]
	missing := q.missing(&room)
	if !q.entitled(missing) {
		return nil, drf.HasShare
	}
	over, most := of[:0], room
	for _, t := range of {
		if need := &q.running[t].Need; q.preemptible(t, holds(need)&missing, missing) {
			over, most = append(over, t), most.Add(*need)
		}
	}
	if len(over) == 0 {
		return nil, drf.NoneOver
	}
	// All of them together are not enough: no need to try.
	if !resources.Fits(q.demand, &most) {
		return nil, drf.NoMachine
	}
	slices.SortFunc(over, q.younger)
	var taken []int
	for _, t := range over {
		if resources.Fits(q.demand, &room) {
			break
		}
		// A task counts only for a kind that is still missing.
		need := &q.running[t].Need
		if holds(need)&q.missing(&room) != 0 && q.allows(t, missing) {
			q.take(t)
			room, taken = room.Add(*need), append(taken, t)
		}
	}
	fits := resources.Fits(q.demand, &room)
	// Each machine starts from the standings as they are.
	for _, t := range taken {
		q.giveBack(t)
	}
	if !fits {
		return q.stopOne(machine, over, missing)
	}
	return q.dropUnneeded(taken, &room), drf.Yields
}

// missing returns the kinds of which room has less than the demand.
func (q *preemption) missing(room *resources.Vector) (set kinds) {
	for k, need := range q.demand {
		if need > room[k] {
			set |= 1 << k
		}
	}
	return set
}

// entitled reports whether a node on the path, the root aside, may have tasks
// stopped for the missing kinds.
func (q *preemption) entitled(missing kinds) bool {
	for i := q.claimant; q.branches[i].parent != nowhere; i = q.branches[i].parent {
		if missing&^q.branches[i].may == 0 {
			return true
		}
	}
	return false
}

// preemptible reports whether a task's job, and all above it up to the path, have a
// surplus of one missing kind that the task has. The opponent must be entitled to
// all missing kinds.
func (q *preemption) preemptible(task int, has, missing kinds) bool {
	b := &q.branches[q.owners[task]]
	return has&b.surplus != 0 && missing&^q.branches[b.opponent].may == 0
}

// younger orders two tasks, the younger first.
func (q *preemption) younger(i, j int) int {
	return cmp.Or(cmp.Compare(q.running[j].Started, q.running[i].Started), cmp.Compare(j, i))
}

// allows reports whether all nodes that lose by it keep their protected amounts
// when one more task is stopped.
func (q *preemption) allows(task int, missing kinds) bool {
	need := &q.running[task].Need
	for i := q.owners[task]; i != nowhere; i = q.branches[i].parent {
		b, kept := &q.branches[i], q.scarce
		if !b.onPath {
			kept |= missing
		}
		for k, loss := range need {
			if loss > 0 && kept>>k&1 == 1 && b.left[k]-loss < q.protected(i, k) {
				return false
			}
		}
	}
	return true
}

// take notes that a task is stopped.
func (q *preemption) take(task int) {
	for i := q.owners[task]; i != nowhere; i = q.branches[i].parent {
		b := &q.branches[i]
		b.left, _ = b.left.Sub(q.running[task].Need) // the need is part of it: see check
	}
}

// giveBack takes back take.
func (q *preemption) giveBack(task int) {
	for i := q.owners[task]; i != nowhere; i = q.branches[i].parent {
		b := &q.branches[i]
		b.left = b.left.Add(q.running[task].Need)
	}
}

// dropUnneeded drops the tasks that the demand does not need, the oldest first.
func (q *preemption) dropUnneeded(taken []int, room *resources.Vector) []int {
	for n, t := range slices.Backward(taken) {
		if without, ok := room.Sub(q.running[t].Need); ok && resources.Fits(q.demand, &without) {
			*room, taken[n] = without, -1
		}
	}
	return slices.DeleteFunc(taken, func(t int) bool { return t < 0 })
}

// stopOne chooses the youngest task that is enough alone.
func (q *preemption) stopOne(machine int, of []int, missing kinds) ([]int, drf.Verdict) {
	for _, t := range of {
		room := q.free[machine].Add(q.running[t].Need)
		if resources.Fits(q.demand, &room) && q.allows(t, missing) {
			return []int{t}, drf.Yields
		}
	}
	return nil, drf.WouldFlip
}
