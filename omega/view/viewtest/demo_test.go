package viewtest_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cellsched/cellsched/omega"
	"github.com/cellsched/cellsched/omega/observe"
	"github.com/cellsched/cellsched/omega/pool"
	"github.com/cellsched/cellsched/omega/view"
	"github.com/cellsched/cellsched/resources"
)

// markup is a name that would run if the page took names for markup.
const markup = `<script>document.title="owned"</script><img src=x onerror="document.title='owned'">`

// world is a cell and a pool to look at.
type world struct {
	cell      *omega.Cell
	scheduler *omega.Scheduler
	pool      *pool.Pool
	server    *httptest.Server
	url       string
}

func newWorld(t *testing.T, machines int) *world {
	t.Helper()
	space, err := resources.NewSpace(resources.CPU(), resources.Memory())
	require.NoError(t, err)
	w := &world{cell: newCell(t, space, machines)}
	w.scheduler, err = w.cell.Register("batch", omega.Limits{})
	require.NoError(t, err)
	w.pool, err = pool.New(pool.Config{
		Space:    space,
		Machines: []omega.Machine{{Name: "gateway", Capacity: resources.Vector{8000, 32 << 30}}},
		Tenants:  map[string]pool.Settings{"web": {Weight: 3}, "etl": {Weight: 2}, markup: {Weight: 1, Queue: 1}},
	})
	require.NoError(t, err)
	mux := http.NewServeMux()
	offers := observe.Counts{Offers: 7}
	offers.Refuse("rescinded", 3)
	mux.Handle("/cell/", view.Handler(view.Config{
		Cell: w.cell, Pools: map[string]*pool.Pool{"front": w.pool},
		Sources: map[string]func() observe.Counts{"mesos": func() observe.Counts { return offers }},
	}))
	w.server = httptest.NewServer(mux)
	t.Cleanup(w.server.Close)
	w.url = w.server.URL + "/cell/"
	return w
}

func newCell(t *testing.T, space *resources.Space, machines int) *omega.Cell {
	t.Helper()
	all := make([]omega.Machine, machines)
	for i := range all {
		all[i] = omega.Machine{
			Name: fmt.Sprintf("rack%03d-m%02d", i/40, i%40), Capacity: resources.Vector{32_000, 128 << 30},
			Attributes: map[string]string{"rack": fmt.Sprintf("rack%03d", i/40)},
		}
	}
	cell, err := omega.NewCell(omega.Config{Space: space, Machines: all})
	require.NoError(t, err)
	return cell
}

// take commits a claim on one machine for an account.
func (w *world) take(t *testing.T, node int, account string, need resources.Vector) {
	t.Helper()
	a, err := w.cell.Account(t.Context(), account)
	require.NoError(t, err)
	m, ok := w.cell.Machine(fmt.Sprintf("rack%03d-m%02d", node/40, node%40))
	require.True(t, ok)
	var tx omega.Txn
	tx.Claim(omega.Claim{Machine: m, Account: a, Need: need})
	_, err = w.scheduler.Commit(&tx)
	require.NoError(t, err)
}

// hold takes a lease for the rest of the test.
func (w *world) hold(t *testing.T, tenant string, need resources.Vector) {
	t.Helper()
	_, err := w.pool.Acquire(context.Background(), tenant, need)
	require.NoError(t, err)
}

// wait queues a request, which waits until the test ends.
func (w *world) wait(t *testing.T, tenant, label string, need resources.Vector) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_ = w.pool.Do(ctx, tenant, pool.Request{Needs: []resources.Vector{need}, Label: label}, func(context.Context, []pool.Lease) error { return nil })
	}()
	t.Cleanup(func() { cancel(); <-ended })
}
