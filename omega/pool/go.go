package pool

import (
	"context"
	"fmt"
	"time"

	"github.com/cellsched/cellsched/locality"
	"github.com/cellsched/cellsched/resources"
)

// Go queues fn, to run in a goroutine of the pool when it is the tenant's turn and a
// machine has room, and returns at once. The lease is released when fn returns. The
// context of fn ends with ctx, and as [Lease.Context] says.
//
// A task that waits has no goroutine and takes 216 bytes. A goroutine that ends a task
// takes the next one itself. A task with a ctx that ends before its turn is dropped when
// its turn comes, or with its [Group]. A task beyond its maximum wait is dropped at once.
// Its error, the error of fn and a panic as [PanicError] go to Config.OnError, and to
// [Pool.Shutdown]. The error of fn is [ErrPreempted] as well where fn fails after the
// lease was preempted.
//
// Errors: as [Tenant.Acquire], of those that are known at once.
func (t *Tenant) Go(ctx context.Context, need resources.Vector, fn func(context.Context, Lease) error) error {
	if t.none() {
		return absent("tenant")
	}
	return t.submit(&need, task{ctx, fn, nil})
}

// noFunc refuses a task without a function.
func noFunc(tenant string) error {
	return refuse(ErrConfig, fmt.Sprintf("task of %q: nil func, want work", tenant))
}

func (t *Tenant) submit(need *resources.Vector, job task) error {
	if job.fn == nil {
		return noFunc(t.name)
	}
	if job.ctx == nil || job.ctx.Err() != nil {
		return ended(job.ctx)
	}
	p := t.pool
	p.mu.Lock()
	defer p.mu.Unlock()
	if job.group != nil && job.group.dropped {
		return context.Cause(job.ctx) // it has ended since
	}
	if node := p.roomNow(t, need); node >= 0 {
		w := p.waits.idle.take()
		w.tenant, w.task, w.lease = t, job, p.grant(t, need, node, locality.NodeLocal)
		if t.bounded {
			t.spend()
		}
		p.waits.ready.add(w)
	} else {
		own, err := p.admission.admissible(job.ctx, t, need)
		if err != nil {
			return err
		}
		w := p.waits.idle.take()
		w.tenant, w.need, w.since, w.task = t, *need, p.at, job
		if own != nil {
			w.extra = &extra{own: own}
		}
		if p.enqueue(w); w.queued && t.set.MaxWait > 0 && !t.expiring {
			t.expireIn(t.set.MaxWait)
		}
	}
	if job.group != nil {
		job.group.running.Add(1)
	}
	p.crew.launch()
	return nil
}

// expireIn has tasks dropped that have waited for their maximum by then. Called with mu
// held.
func (t *Tenant) expireIn(d time.Duration) {
	t.expiring = true
	setTimer(&t.expiry, d, t.expire)
}

// expire drops the tasks that have waited for their maximum. They are in the order in
// which they came, so the first that may go on is the next to be looked at.
func (t *Tenant) expire() {
	p := t.pool
	p.mu.Lock()
	defer p.mu.Unlock()
	p.tick()
	t.expiring = false
	for w := t.first; w != nil && t.set.MaxWait > 0; {
		next := w.next
		if w.task.fn != nil {
			if w.err = w.expired(); w.err == nil {
				t.expireIn(w.since + t.set.MaxWait - p.at)
				break
			}
			t.gaveUp(w.err)
			p.serve(w)
		}
		w = next
	}
	p.next()
}

// expired returns why a task that waits is to be dropped, or nil. Called with mu
// held, after a tick.
func (w *waiter) expired() error {
	if w.task.fn == nil {
		return nil
	}
	if w.task.ctx.Err() != nil {
		return context.Cause(w.task.ctx)
	}
	if most := w.most(); most > 0 && w.tenant.pool.at-w.since >= most {
		return w.tenant.pool.admission.failed(w, w.behind(), ErrWait)
	}
	return nil
}
