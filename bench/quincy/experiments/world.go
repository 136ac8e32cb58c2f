package experiments

import (
	"errors"
	"fmt"
	"time"

	"github.com/cellsched/cellsched/bench/internal/queue"
	"github.com/cellsched/cellsched/drf/allot"
	"github.com/cellsched/cellsched/locality"
	"github.com/cellsched/cellsched/resources"
)

// errPolicy reports an action that a policy cannot do.
var errPolicy = errors.New("not possible")

// world is a run: the part of it that policies see, and change it by.
type world struct {
	*cell

	policy policy
	every  time.Duration // there is a round
	now    time.Duration
	jobs   []*live // that have not ended, as they came
	free   []int32 // slots, by machine
	vacant int     // slots together
	ours   int     // slots that are not taken by others
	others *others // nil for none

	changed bool          // since the round before
	ran     time.Duration // when a task ran for the last time

	core   core
	over   map[int64]place // tasks that the core switch moves bytes for, by flow
	flows  int64
	events queue.Queue[event]
	tally  tally
}

type place struct {
	l    *live
	task int
}

func newWorld(c *cell, p policy, every time.Duration) *world {
	w := &world{
		cell: c, policy: p, every: every, free: make([]int32, len(c.rack)),
		core: core{capacity: c.core, link: c.link}, over: make(map[int64]place),
	}
	for n := range w.free {
		w.free[n] = int32(c.slots)
	}
	w.vacant = len(w.free) * c.slots
	w.ours = w.vacant
	return w
}

// start has a task that waits run on n, where a slot is to be free.
func (w *world) start(l *live, task int, n locality.Node) error {
	a := &l.state[task]
	if a.phase != waits || w.free[n] < 1 {
		return fmt.Errorf("task %d of job %d to machine %d, which has %d slots free: %w", task, l.number, n, w.free[n], errPolicy)
	}
	w.free[n]--
	w.vacant--
	l.waiting--
	l.running++
	w.tally.starts++
	*a = attempt{count: a.count + 1, node: n, begun: w.now}
	rack, _ := w.far(l.tasks[task].input, n)
	w.enter(l, task, fetchesInRack, transfer(rack, w.link))
	return nil
}

// stop has a task that runs wait again. Its work is lost.
func (w *world) stop(l *live, task int) error {
	a := &l.state[task]
	if a.phase == waits || a.phase == ended {
		return fmt.Errorf("stop of task %d of job %d, which does not run: %w", task, l.number, errPolicy)
	}
	w.settle(l, task)
	w.leave(l, a, waits)
	w.tally.stop(a.moved, w.now-a.begun)
	l.wait(w.cell, task)
	return nil
}

// divide gives each job its share of the slots: one after the other gets one, the
// job with the fewest first, as long as it has tasks for them. That is the A of
// the Quincy paper.
func (w *world) divide() error {
	takers := make([]allot.Taker, 0, len(w.jobs))
	one := resources.Vector{1}
	for _, l := range w.jobs {
		takers = append(takers, allot.Taker{Demand: one, Tasks: int64(l.waiting + l.running)})
	}
	if w.ours == 0 || len(takers) == 0 {
		for _, l := range w.jobs {
			l.share = 0
		}
		return nil
	}
	shares, err := allot.Fill(resources.Vector{int64(w.ours)}, takers, allot.FillOptions{})
	for i, share := range shares {
		w.jobs[i].share = int(share)
	}
	return err
}

// eachFree calls place for the free slots, machine by machine, from another one
// in each round: for each machine until it has none, or place starts nothing.
func (w *world) eachFree(place func(n locality.Node) (started bool, err error)) error {
	first := int(w.now/w.every) % len(w.free)
	for i := range w.free {
		n := locality.Node((first + i) % len(w.free))
		for w.free[n] > 0 {
			started, err := place(n)
			if err != nil {
				return err
			}
			if !started {
				break
			}
		}
	}
	return nil
}
