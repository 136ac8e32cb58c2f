package admission_test

import (
	"sync"
	"testing"

	"github.com/cellsched/cellsched/omega/pool"
)

// poolWorkers is omega/pool in front of workers that stay, as conc, pond and
// ants have them. It shows how much of poolGo's time is due to new goroutines: the
// stack of each has to grow before it gets through a Release.
type poolWorkers struct {
	*poolPeer
	granted chan pool.Lease // room for all that there can be, so no send waits
	workers sync.WaitGroup
}

func openPoolWorkers(tb testing.TB, limit int, task func()) peer {
	tb.Helper()
	p := &poolWorkers{poolPeer: newPool(tb, limit, task, tenants(1)), granted: make(chan pool.Lease, limit)}
	for range limit {
		p.workers.Go(func() {
			for lease := range p.granted {
				p.run(lease)
			}
		})
	}
	return p
}

func (p *poolWorkers) submit(submitter int) { p.granted <- p.acquire(submitter) }

func (p *poolWorkers) wait() {
	p.poolPeer.wait()
	close(p.granted)
	p.workers.Wait()
}
