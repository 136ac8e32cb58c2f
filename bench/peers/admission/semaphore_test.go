package admission_test

import (
	"context"
	"testing"

	"golang.org/x/sync/semaphore"
)

// semaphorePeer is golang.org/x/sync/semaphore: a mutex, a number, and a list
// of those that wait, first come, first served. It has no settings. It gets the
// same context as the pool: one that can end.
type semaphorePeer struct {
	check
	ctx   context.Context //nolint:containedctx // as long-lived as the peer
	sem   *semaphore.Weighted
	limit int64
	task  func()
}

func newSemaphore(tb testing.TB, limit int, task func()) *semaphorePeer {
	tb.Helper()
	n := int64(limit)
	return &semaphorePeer{check: check{tb}, ctx: tb.Context(), sem: semaphore.NewWeighted(n), limit: n, task: task}
}

func openSemaphore(tb testing.TB, limit int, task func()) peer {
	tb.Helper()
	return newSemaphore(tb, limit, task)
}

func (p *semaphorePeer) run() {
	p.task()
	p.sem.Release(1)
}

func (p *semaphorePeer) submit(int) {
	p.must(p.sem.Acquire(p.ctx, 1))
	p.run()
}

// wait takes everything, as the package's example of a worker pool does.
func (p *semaphorePeer) wait() { p.must(p.sem.Acquire(p.ctx, p.limit)) }

// semaphoreGo runs the task in a goroutine of its own, as that example does.
type semaphoreGo struct{ *semaphorePeer }

func (p semaphoreGo) submit(int) {
	p.must(p.sem.Acquire(p.ctx, 1))
	go p.run()
}

func openSemaphoreGo(tb testing.TB, limit int, task func()) peer {
	tb.Helper()
	return semaphoreGo{newSemaphore(tb, limit, task)}
}
