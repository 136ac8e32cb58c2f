package admission_test

import (
	"sync"
	"testing"
	"time"

	"github.com/panjf2000/ants/v2"
	"github.com/stretchr/testify/require"
)

// antsPeer is github.com/panjf2000/ants: workers that stay, each with a channel
// of its own, on a stack behind a spin lock.
//
// Settings: idle workers are not purged, which spares a goroutine that looks
// for them. Preallocating the queue of workers was no faster where there are
// two, and not reliably where there are 100. A submit waits for a worker, as by
// default. The pool does not tell when all tasks have run, so a WaitGroup does.
type antsPeer struct {
	check
	pool *ants.Pool
	left sync.WaitGroup
	run  func()
}

func openAnts(tb testing.TB, limit int, task func()) peer {
	tb.Helper()
	pool, err := ants.NewPool(limit, ants.WithDisablePurge(true))
	require.NoError(tb, err)
	p := &antsPeer{check: check{tb}, pool: pool}
	tb.Cleanup(func() { p.must(pool.ReleaseTimeout(time.Minute)) })
	p.run = func() {
		task()
		p.left.Done()
	}
	return p
}

func (p *antsPeer) submit(int) {
	p.left.Add(1)
	p.must(p.pool.Submit(p.run))
}

func (p *antsPeer) wait() { p.left.Wait() }
