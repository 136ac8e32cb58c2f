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

// poolPeer is omega/pool, brought down to the abilities of its peers: one machine and
// one kind of resource, of which a task takes one unit. Everything else is as
// by default; leases are not watched for leaks.
type poolPeer struct {
	check
	ctx     context.Context //nolint:containedctx // as long-lived as the peer
	pool    *pool.Pool
	task    func()
	tenants []*pool.Tenant // by submitter
}

var unit = resources.Vector{1}

func newPool(tb testing.TB, limit int, task func(), tenants []string) *poolPeer {
	tb.Helper()
	host := omega.Machine{Name: "host", Capacity: resources.Vector{int64(limit)}}
	p, err := pool.New(pool.Config{Machines: []omega.Machine{host}})
	require.NoError(tb, err)
	peer := &poolPeer{check: check{tb}, ctx: tb.Context(), pool: p, task: task}
	for _, name := range tenants {
		t, err := p.Tenant(name)
		require.NoError(tb, err)
		peer.tenants = append(peer.tenants, t)
	}
	return peer
}

// tenants shares the submitters out among so many tenants. The peers know one only;
// with more, those that wait are served in the fair order.
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

// openPoolRated gives the tenant a limit and a rate, neither of which holds it up.
func openPoolRated(tb testing.TB, limit int, task func()) peer {
	tb.Helper()
	p := newPool(tb, limit, task, tenants(1))
	require.NoError(tb, p.tenants[0].Set(pool.Settings{
		Rate: 1e9, Burst: 1 << 30, Limit: resources.Vector{int64(limit)}, Limited: true,
	}))
	return p
}

func (p *poolPeer) acquire(submitter int) pool.Lease {
	lease, err := p.tenants[submitter].Acquire(p.ctx, unit)
	p.must(err)
	return lease
}

func (p *poolPeer) run(lease pool.Lease) {
	p.task()
	p.must(lease.Release())
}

func (p *poolPeer) submit(submitter int) { p.run(p.acquire(submitter)) }

func (p *poolPeer) wait() { p.must(p.pool.Close(p.ctx)) }

// poolGo acquires and then runs the task in a goroutine of its own.
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

// poolQueue hands the task to the queue of its tenant, which the pool's own
// goroutines work off.
type poolQueue struct {
	*poolPeer
	work func(context.Context, pool.Lease) error // made once, as that of errgroup
}

func newPoolQueue(p *poolPeer) poolQueue {
	return poolQueue{p, func(context.Context, pool.Lease) error { p.task(); return nil }}
}

func (p poolQueue) submit(submitter int) { p.must(p.tenants[submitter].Go(p.ctx, unit, p.work)) }

func (p poolQueue) wait() { p.must(p.pool.Shutdown(p.ctx)) }

func openPoolQueue(tb testing.TB, limit int, task func()) peer {
	tb.Helper()
	return newPoolQueue(newPool(tb, limit, task, tenants(1)))
}

func openPoolQueueOfTenants(tb testing.TB, limit int, task func()) peer {
	tb.Helper()
	return newPoolQueue(newPool(tb, limit, task, tenants(maxSubmitters)))
}
