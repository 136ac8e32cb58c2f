package admission_test

import "sync"

// An order is the list of waiting tasks of a queue from which workers pull.
type order interface {
	push(tenant int, task func())
	// pull takes the next task for that worker, or returns nil if none waits.
	pull(worker int) func()
}

// pulled is a queue with workers that each pull a task, run it, and pull the next one.
type pulled struct {
	mu      sync.Mutex
	some    sync.Cond
	order   order
	closed  bool
	workers sync.WaitGroup
}

func openPulled(slots int, o order) *pulled {
	q := &pulled{order: o}
	q.some.L = &q.mu
	for worker := range slots {
		q.workers.Go(func() { q.work(worker) })
	}
	return q
}

func (q *pulled) work(worker int) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for !q.closed {
		task := q.order.pull(worker)
		if task == nil {
			q.some.Wait()
			continue
		}
		q.mu.Unlock()
		task()
		q.mu.Lock()
	}
}

func (q *pulled) do(tenant int, task func()) {
	done := make(chan struct{})
	q.mu.Lock()
	q.order.push(tenant, func() {
		defer close(done)
		task()
	})
	q.mu.Unlock()
	q.some.Signal()
	<-done
}

func (q *pulled) close() {
	q.mu.Lock()
	q.closed = true
	q.mu.Unlock()
	q.some.Broadcast()
	q.workers.Wait()
}
