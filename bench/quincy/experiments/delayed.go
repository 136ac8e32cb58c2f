package experiments

import (
	"context"
	"fmt"
	"iter"
	"time"

	"github.com/cellsched/cellsched/delay"
	"github.com/cellsched/cellsched/drf"
	"github.com/cellsched/cellsched/locality"
	"github.com/cellsched/cellsched/resources"
)

// delayed offers each free slot to the jobs by the slots that they have, those
// with the fewest first. Each waits for its data as delay scheduling says.
type delayed struct {
	policy delay.Policy
	line   delay.Line
	order  *drf.Heap[int]
	jobs   map[int]*waiter
	by     map[*delay.Job]*waiter
}

// waiter is a job in line.
type waiter struct {
	delay.Job

	l    *live
	user drf.User
}

// epoch is when virtual time begins.
func epoch() time.Time { return time.Unix(0, 0).UTC() }

func newDelayed(slots int, wait time.Duration) (*delayed, error) {
	order, err := drf.New[int](resources.Vector{int64(slots)})
	if err != nil {
		return nil, err
	}
	return &delayed{
		policy: delay.Policy{Waits: delay.Waits{wait, wait}}, order: order,
		jobs: make(map[int]*waiter), by: make(map[*delay.Job]*waiter),
	}, nil
}

func (d *delayed) add(_ *world, l *live) error {
	job, err := delay.New(d.policy)
	if err != nil {
		return err
	}
	job.SetPending(l.waiting)
	user, err := d.order.Add(l.number, 1)
	if err != nil {
		return err
	}
	it := &waiter{Job: job, l: l, user: user}
	d.jobs[l.number], d.by[&it.Job] = it, it
	return nil
}

func (d *delayed) ended(_ *world, l *live, _ int) error {
	it := d.jobs[l.number]
	if err := d.order.Credit(it.user, resources.Vector{1}); err != nil {
		return err
	}
	if l.waiting+l.running > 0 {
		return nil
	}
	delete(d.jobs, l.number)
	delete(d.by, &it.Job)
	return d.order.Remove(it.user)
}

func (d *delayed) round(_ context.Context, w *world) error {
	return w.eachFree(func(n locality.Node) (bool, error) {
		taker, err := d.line.Offer(epoch().Add(w.now), d.inOrder(w, n))
		if taker == nil || err != nil {
			return false, err
		}
		it := d.by[taker]
		task, _, ok := it.l.nearest(w.cell, n)
		if !ok {
			return false, fmt.Errorf("job %d has no task for machine %d: %w", it.l.number, n, errPolicy)
		}
		if err := w.start(it.l, task, n); err != nil {
			return false, err
		}
		return true, d.order.Charge(it.user, resources.Vector{1})
	})
}

// inOrder walks the jobs that have waiting tasks, with the level of the nearest
// for n.
func (d *delayed) inOrder(w *world, n locality.Node) iter.Seq2[*delay.Job, locality.Level] {
	return func(yield func(*delay.Job, locality.Level) bool) {
		for user := range d.order.All() {
			number, _ := d.order.Key(user)
			it := d.jobs[number]
			if it.l.waiting == 0 {
				continue
			}
			if _, level, ok := it.l.nearest(w.cell, n); ok && !yield(&it.Job, level) {
				return
			}
		}
	}
}
