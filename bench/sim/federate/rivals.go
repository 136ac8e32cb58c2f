package federate

import (
	"context"
	"math/rand/v2"
	"time"

	"github.com/cellsched/cellsched/bench/internal/queue"
)

// Sparrow runs the jobs by batch sampling with late binding, two probes to a task: K.
// Ousterhout, P. Wendell, M. Zaharia and I. Stoica, "Sparrow: distributed, low latency
// scheduling", SOSP 2013. A probe takes one delay. A worker with a free slot asks for its
// task, which takes two. It is for comparison; the one of package simulate gives all tasks
// of a job one length. Errors: [ErrConfig]; the context's cause.
func Sparrow(ctx context.Context, c Cluster, jobs []Job) (*Result, error) {
	if err := c.check(jobs); err != nil {
		return nil, err
	}
	s := &sparrow{
		delay: c.Delay, meter: newMeter(jobs), rand: rand.New(rand.NewPCG(c.Seed, 2)),
		workers: make([]worker, c.Workers), order: make([]int32, c.Workers), given: make([]int, len(jobs)),
	}
	for i := range s.order {
		s.order[i] = int32(i)
	}
	for next := 0; ; {
		at, ok := s.queue.Next()
		if next < len(jobs) && (!ok || jobs[next].Submit <= at) {
			s.now = jobs[next].Submit
			s.probe(next)
			next++
			continue
		}
		if !ok {
			return s.meter.done()
		}
		if s.meter.result.Processed++; s.meter.result.Processed%4096 == 0 && ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		var e step
		s.now, e, _ = s.queue.Pop()
		s.follow(e)
	}
}

type sparrow struct {
	delay   time.Duration
	meter   *meter
	rand    *rand.Rand
	now     time.Duration
	queue   queue.Queue[step]
	workers []worker
	order   []int32 // workers, in any order
	given   []int   // tasks, by job
}

// worker has one slot, and reservations for jobs, the oldest first.
type worker struct {
	waiting []int32
	busy    bool
}

// step is a probe that arrives, an answer to a worker, or the end of a task.
type step struct {
	worker, job int32
	kind        stepKind
}

type stepKind uint8

const (
	probed stepKind = iota
	answered
	finished
)

// probe sends two reservations for each task to different workers, as far as there are.
func (s *sparrow) probe(job int) {
	left := len(s.order)
	for range 2 * len(s.meter.jobs[job].Lengths) {
		i := s.rand.IntN(left)
		left--
		s.order[i], s.order[left] = s.order[left], s.order[i]
		s.queue.Push(s.now+s.delay, step{s.order[left], int32(job), probed})
		if left == 0 {
			left = len(s.order)
		}
	}
}

func (s *sparrow) follow(e step) {
	w := &s.workers[e.worker]
	switch e.kind {
	case probed:
		w.waiting = append(w.waiting, e.job)
	case answered:
		w.busy = false
		if lengths := s.meter.jobs[e.job].Lengths; s.given[e.job] < len(lengths) {
			w.busy = true
			s.meter.started(int(e.job), s.now)
			s.queue.Push(s.now+lengths[s.given[e.job]], step{e.worker, e.job, finished})
			s.given[e.job]++
		}
	case finished:
		w.busy = false
		s.meter.ended(int(e.job), s.now)
	}
	if !w.busy && len(w.waiting) > 0 {
		w.busy = true
		s.queue.Push(s.now+2*s.delay, step{e.worker, w.waiting[0], answered})
		w.waiting = w.waiting[1:]
	}
}

// Ideal runs the jobs in the order of submission on whichever slot is free, without any
// delay. Errors: [ErrConfig]; the context's cause.
func Ideal(ctx context.Context, c Cluster, jobs []Job) (*Result, error) {
	if err := c.check(jobs); err != nil {
		return nil, err
	}
	m, free := newMeter(jobs), c.Workers
	var ends queue.Queue[int]
	type task struct{ job, index int }
	var waiting []task
	next := 0
	for {
		at, ok := ends.Next()
		switch {
		case next < len(jobs) && (!ok || jobs[next].Submit <= at):
			at = jobs[next].Submit
			for i := range jobs[next].Lengths {
				waiting = append(waiting, task{next, i})
			}
			next++
		case !ok:
			return m.done()
		default:
			_, job, _ := ends.Pop()
			m.ended(job, at)
			free++
		}
		if m.result.Processed++; m.result.Processed%4096 == 0 && ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		for ; free > 0 && len(waiting) > 0; free-- {
			t := waiting[0]
			waiting = waiting[1:]
			m.started(t.job, at)
			ends.Push(at+jobs[t.job].Lengths[t.index], t.job)
		}
	}
}
