package admission_test

import (
	"sync"
	"testing"

	"github.com/alitto/pond/v2"
)

// pondPeer is github.com/alitto/pond: workers that start when there is a task,
// end when there is none, and share a queue.
//
// Settings: tasks wait in a queue, as by default, but in one of 10,000 instead
// of endless, since a submit that never waits bounds no memory. It was as fast
// as the endless one or faster, and as one of 100 or 1,000. Panics are not
// caught, which made no difference to be seen. Go is the submit without a
// handle to wait on. All tasks are waited for by a WaitGroup: Stop would do, but
// runs on a pool of the package's own, which the tests' bubbles keep out.
type pondPeer struct {
	check
	pool pond.Pool
	left sync.WaitGroup
	run  func()
}

func openPond(tb testing.TB, limit int, task func()) peer {
	tb.Helper()
	p := &pondPeer{check: check{tb}, pool: pond.NewPool(limit,
		pond.WithQueueSize(10_000), pond.WithoutPanicRecovery(), pond.WithContext(tb.Context()))}
	p.run = func() {
		task()
		p.left.Done()
	}
	return p
}

func (p *pondPeer) submit(int) {
	p.left.Add(1)
	p.must(p.pool.Go(p.run))
}

func (p *pondPeer) wait() { p.left.Wait() }
