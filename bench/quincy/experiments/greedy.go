package experiments

import (
	"context"

	"github.com/cellsched/cellsched/locality"
)

// greedy gives each free slot to the task that is nearest to it, of equal ones to
// that of the job that came first. These are the queues for machines, racks and cluster
// of the Quincy paper, section 3. If it is fair, a job that has its share gets
// nothing more. If it also preempts, jobs that have more than their share lose
// their youngest tasks to those that have less.
type greedy struct {
	fair, preempts bool
}

func (g *greedy) add(*world, *live) error        { return nil }
func (g *greedy) ended(*world, *live, int) error { return nil }

func (g *greedy) round(_ context.Context, w *world) error {
	if g.preempts {
		if err := g.preempt(w); err != nil {
			return err
		}
	}
	// Tasks for which a slot is nearest go first, on any machine.
	for level := onNode; level <= beyond && w.vacant > 0; level++ {
		if err := w.eachFree(func(n locality.Node) (bool, error) { return g.fill(w, n, level) }); err != nil {
			return err
		}
	}
	return nil
}

// fill starts a task on n, if one is as near as that.
func (g *greedy) fill(w *world, n locality.Node, level locality.Level) (bool, error) {
	for _, l := range w.jobs {
		if l.waiting == 0 || g.fair && l.running >= l.share {
			continue
		}
		if task, near, ok := l.nearest(w.cell, n); ok && near <= level {
			return true, w.start(l, task, n)
		}
	}
	return false, nil
}

// preempt stops the tasks that jobs have above their shares. Each stopped task has a
// job below its share. Proof:
//
//  1. Shares add up to all slots, or to all tasks if these are fewer.
//  2. If to all tasks, no job is above its share, and none is stopped.
//  3. If to all slots, no more tasks run than the shares add up to. So where one job is
//     above its share, others are below theirs, by as many tasks at least.
func (g *greedy) preempt(w *world) error {
	for _, l := range w.jobs {
		for l.running > l.share {
			if err := w.stop(l, l.youngest()); err != nil {
				return err
			}
		}
	}
	return nil
}

// youngest returns the running task that was started last.
func (l *live) youngest() (task int) {
	task = -1
	for i := range l.state {
		if a := &l.state[i]; a.phase != waits && a.phase != ended && (task < 0 || a.begun >= l.state[task].begun) {
			task = i
		}
	}
	return task
}
