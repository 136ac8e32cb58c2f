package main

import (
	"context"
	"iter"
	"time"

	"github.com/cellsched/cellsched/bench/internal/queue"
	"github.com/cellsched/cellsched/delay"
	"github.com/cellsched/cellsched/locality"
)

// simulation is a run of a cell.
type simulation struct {
	cell
	s      scheduler
	out    outcome
	jobs   map[int]*job // those that have not ended
	next   func() (*job, bool)
	coming bool // there is a job among the events
	events queue.Queue[event]
	taken  []uint32 // how often each slot was taken
	parked []event  // beats of slots that idle for want of jobs
}

type event struct {
	kind  kind
	slot  int32
	taken uint32 // of the slot: the planned event of an idle one is void if it is taken
	what  delay.Launch[int]
	job   *job
}

type kind uint8

const (
	arrives kind = iota // a job
	ends                // a task
	freed               // a slot
	beats               // a node, for an idle slot
	loads               // something else, an idle slot
)

// simulate has the jobs run by s, in order of their coming, up to so many
// launches or to the end of them all. A cancelled ctx ends it with its cause.
func (c cell) simulate(ctx context.Context, s scheduler, jobs iter.Seq[*job], launches int) (*outcome, error) {
	next, stop := iter.Pull(jobs)
	defer stop()
	r := &simulation{cell: c, s: s, jobs: make(map[int]*job), next: next, taken: make([]uint32, c.nodes*c.slots)}
	if err := r.begin(); err != nil {
		return nil, err
	}
	for i := 0; len(r.out.launches) < launches && (len(r.jobs) > 0 || r.coming); i++ {
		if i%1024 == 0 && ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		at, e, ok := r.events.Pop()
		if !ok {
			break
		}
		if err := r.step(at, e); err != nil {
			return nil, err
		}
	}
	return &r.out, nil
}

// begin has slots free or busy, and brings the first jobs.
func (r *simulation) begin() error {
	if r.backlog == 0 {
		r.more()
	}
	for slot := range int32(len(r.taken)) {
		if r.load == nil {
			r.events.Push(r.nextBeat(slot, -1), event{kind: beats, slot: slot})
		} else {
			r.events.Push(r.load(), event{kind: freed, slot: slot})
		}
	}
	return r.fill(0)
}

// more has the next job come, if there is one.
func (r *simulation) more() {
	j, ok := r.next()
	if r.coming = ok; ok {
		r.events.Push(j.at, event{kind: arrives, job: j})
	}
}

// fill adds jobs up to the backlog.
func (r *simulation) fill(now time.Duration) error {
	for r.s.waiting() < r.backlog {
		j, ok := r.next()
		if !ok {
			return nil
		}
		if err := r.add(now, j); err != nil {
			return err
		}
	}
	return nil
}

func (r *simulation) add(now time.Duration, j *job) error {
	number := len(r.out.jobs)
	r.out.jobs = append(r.out.jobs, completion{at: now, left: len(j.tasks)})
	r.jobs[number] = j
	for _, e := range r.parked {
		if e.taken == r.taken[e.slot] {
			r.idles(now, e.slot)
		}
	}
	r.parked = r.parked[:0]
	return r.s.add(number, j)
}

func (r *simulation) step(now time.Duration, e event) error {
	switch e.kind {
	case arrives:
		r.more()
		return r.add(now, e.job)
	case ends:
		if err := r.ended(now, e); err != nil {
			return err
		}
		return r.freed(now, e.slot)
	case freed:
		return r.freed(now, e.slot)
	case loads:
		if e.taken == r.taken[e.slot] {
			r.taken[e.slot]++
			r.events.Push(now+r.load(), event{kind: freed, slot: e.slot})
		}
	case beats:
		if e.taken == r.taken[e.slot] {
			return r.offer(now, e.slot)
		}
	}
	return nil
}

func (r *simulation) ended(now time.Duration, e event) error {
	t := &r.jobs[e.what.Job].tasks[e.what.Task]
	c := &r.out.jobs[e.what.Job]
	r.out.end = now
	if c.left--; c.left == 0 {
		c.took = now - c.at
		delete(r.jobs, e.what.Job)
	}
	return r.s.ended(e.what, t)
}

// freed has a slot idle.
func (r *simulation) freed(now time.Duration, slot int32) error {
	if r.load != nil {
		r.events.Push(now+r.gap(), event{kind: loads, slot: slot, taken: r.taken[slot]})
	}
	if r.late {
		r.idles(now, slot)
		return nil
	}
	return r.offer(now, slot)
}

// idles has a slot wait for the next beat of its node.
func (r *simulation) idles(now time.Duration, slot int32) {
	r.events.Push(r.nextBeat(slot, now), event{kind: beats, slot: slot, taken: r.taken[slot]})
}

// offer offers an idle slot.
func (r *simulation) offer(now time.Duration, slot int32) error {
	if r.s.waiting() == 0 {
		r.parked = append(r.parked, event{slot: slot, taken: r.taken[slot]})
		return nil
	}
	l, ok, err := r.s.offer(now, r.node(slot))
	if err != nil {
		return err
	}
	if !ok {
		r.idles(now, slot)
		return nil
	}
	t := &r.jobs[l.Job].tasks[l.Task]
	r.out.launches = append(r.out.launches, launch{job: l.Job, local: l.Level == 0, choosy: len(t.holders) > 0})
	r.taken[slot]++
	r.events.Push(now+t.run(l.Level), event{kind: ends, slot: slot, what: l})
	return r.fill(now)
}

func (r *simulation) node(slot int32) locality.Node { return locality.Node(int(slot) / r.slots) }

// nextBeat returns when the node of a slot is heard for the first time after
// now. Nodes are heard one after the other.
func (r *simulation) nextBeat(slot int32, now time.Duration) time.Duration {
	phase := r.beat * time.Duration(r.node(slot)) / time.Duration(r.nodes)
	if now < phase {
		return phase
	}
	return now + r.beat - (now-phase)%r.beat
}
