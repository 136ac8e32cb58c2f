package delay

import (
	"math/bits"
	"slices"
	"time"
)

// age adds the time since the last offer to the waits of the jobs that passed it
// up. It opens the levels for which that was enough, and returns that time.
func (q *Queue[J]) age(now time.Time) (since time.Duration) {
	if q.added >= limit {
		q.rebuild() // before the tree could overflow
	}
	if q.started {
		since = min(now.Sub(q.last), limit-1)
	}
	if q.fresh.skipLimit == 0 {
		q.add(q.marked, int64(since))
	}
	q.clock = older(q.clock, since)
	q.tally.pass(since, q.fresh.whole)
	q.last, q.started = now, true
	for i := q.tree.ripe(); i >= 0; i = q.tree.ripe() {
		e := q.slots[i].queued
		q.store(e, q.load(e))
	}
	return since
}

// pass notes that the first n jobs have passed up an offer.
func (q *Queue[J]) pass(n int) {
	q.marked = n
	if q.fresh.skipLimit > 0 {
		q.add(n, 1)
	}
}

// add adds x to the first n numbers of the tree.
func (q *Queue[J]) add(n int, x int64) {
	q.added += x
	q.tree.addFirst(n, x)
}

// load returns the job of e as it stands.
func (q *Queue[J]) load(e *queued) Job {
	j := e.job
	count := min(q.tree.get(e.slot)+e.threshold, 2*limit)
	if j.skipLimit > 0 {
		j.skips = int(count)
	} else {
		j.aged = time.Duration(count)
	}
	j.waiting = e.slot < q.marked
	j.last, j.started = q.last, q.started
	j.rested = older(j.rested, q.clock-e.clock-(j.aged-e.waited))
	return j
}

// store puts j in the place of the job of e, and lists e for the levels that it now
// takes.
func (q *Queue[J]) store(e *queued, j Job) {
	count, need := int64(j.aged), int64(2*limit-1)
	allowed := j.allowed(j.aged)
	switch {
	case j.skipLimit > 0:
		count = int64(j.skips)
		if j.skips < j.skipLimit {
			need = int64(j.skipLimit)
		}
	case allowed < anyLevel:
		need = int64(j.need(allowed + 1))
	case count >= need:
		count = need - 1 // it takes all levels, and its wait is beyond the limit
	}
	e.job, e.threshold = j, need
	e.clock, e.waited = q.clock, time.Duration(count)
	q.tree.set(e.slot, count-need)
	before := e.allowed
	if e.allowed = allowed; allowed > before {
		q.list(e, before+1)
	}
}

// append gives e the last slot.
func (q *Queue[J]) append(e *queued, key J) {
	if len(q.slots) == len(q.tree.nodes)/2 {
		q.rebuild()
	}
	e.slot = len(q.slots)
	q.slots = append(q.slots, slot[J]{e, key})
}

// leave takes e out of the queue, and out of all buckets: one of a node that is
// never free again would keep it for ever.
func (q *Queue[J]) leave(e *queued) {
	for _, spots := range e.spots {
		for _, s := range spots {
			q.unlist(s)
		}
	}
	q.unlist(e.free)
	q.tree.set(e.slot, vacant)
	delete(q.jobs, q.slots[e.slot].key)
	q.slots[e.slot] = slot[J]{}
}

// rebuild moves the jobs together, and makes room for as many again. It costs
// O(jobs × log jobs), once in as many calls of Add.
func (q *Queue[J]) rebuild() {
	counts := make([]int64, 0, len(q.jobs))
	marked := 0
	for i, e := range q.slots {
		if e.queued == nil {
			continue
		}
		counts = append(counts, q.tree.get(i))
		if i < q.marked {
			marked++
		}
	}
	q.slots = slices.DeleteFunc(q.slots, func(e slot[J]) bool { return e.queued == nil })
	q.marked, q.added = marked, 0
	q.tree = newTree(1 << bits.Len(uint(2*len(q.slots))))
	for i, e := range q.slots {
		e.slot = i
		q.tree.set(i, counts[i])
	}
}
