package admission_test

import (
	"testing"

	"github.com/sourcegraph/conc/pool"
)

// concPeer is github.com/sourcegraph/conc/pool with its only setting for plain
// tasks, WithMaxGoroutines: workers start one by one until there are so many,
// and take tasks from a channel without a buffer. The plain pool is its
// cheapest; those with contexts, errors or results are built on it.
type concPeer struct {
	pool *pool.Pool
	task func()
}

func openConc(_ testing.TB, limit int, task func()) peer {
	return &concPeer{pool: pool.New().WithMaxGoroutines(limit), task: task}
}

func (p *concPeer) submit(int) { p.pool.Go(p.task) }

func (p *concPeer) wait() { p.pool.Wait() }
