package admission_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cellsched/cellsched/omega"
	"github.com/cellsched/cellsched/omega/pool"
	"github.com/cellsched/cellsched/resources"
)

// poolPeer is omega/pool, brought down to what its peers know: one machine and
// one kind of resource, of which a task takes one unit. Everything else is as
// by default; leases are not watched for leaks.
type poolPeer struct {
	check
	ctx     context.Context //nolint:containedctx // as long-lived as the peer
	pool    *pool.Pool
	task    func()
	tenants []string // by submitter
}

var unit = resources.Vector{1}

func newPool(tb testing.TB, limit int, task func(), tenants []string) *poolPeer {
	tb.Helper()
	host := omega.Machine{Name: "host", Capacity: resources.Vector{int64(limit)}}
	p, err := pool.New(pool.Config{Machines: []omega.Machine{host}})
	require.NoError(tb, err)
	return &poolPeer{check: check{tb}, ctx: tb.Context(), pool: p, task: task, tenants: tenants}
}

// tenants shares the submitters out among so many tenants. One is what the
// peers know; with more, those who wait are served in the fair order.
func tenants(n int) []string {
	names := make([]string, maxSubmitters)
	for s := range names {
		names[s] = fmt.Sprint("tenant-", s%n)
	}
	return names
}

func openPool(tb testing.TB, limit int, task func()) peer {
	tb.Helper()
	return newPool(tb, limit, task, tenants(1))
}

func openPoolOfTenants(tb testing.TB, limit int, task func()) peer {
	tb.Helper()
	return newPool(tb, limit, task, tenants(maxSubmitters))
}

func (p *poolPeer) acquire(submitter int) *pool.Lease {
	lease, err := p.pool.Acquire(p.ctx, p.tenants[submitter], unit)
	p.must(err)
	return lease
}

func (p *poolPeer) run(lease *pool.Lease) {
	p.task()
	p.must(lease.Release())
}

func (p *poolPeer) submit(submitter int) { p.run(p.acquire(submitter)) }

func (p *poolPeer) wait() { p.must(p.pool.Close(p.ctx)) }

// poolGo runs the task in a goroutine of its own: a pool has no workers, so a
// program starts them by hand.
type poolGo struct{ *poolPeer }

func (p poolGo) submit(submitter int) {
	lease := p.acquire(submitter)
	go p.run(lease)
}

func openPoolGo(tb testing.TB, limit int, task func()) peer {
	tb.Helper()
	return poolGo{newPool(tb, limit, task, tenants(1))}
}

func openPoolOfTenantsGo(tb testing.TB, limit int, task func()) peer {
	tb.Helper()
	return poolGo{newPool(tb, limit, task, tenants(maxSubmitters))}
}
