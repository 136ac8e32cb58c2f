package servertest

import (
	"testing"

	"github.com/cellsched/cellsched/omega"
	"github.com/cellsched/cellsched/omega/pool"
	"github.com/cellsched/cellsched/resources"
)

// Slots returns a pool that runs n tasks of one unit at a time. Of each tenant named, four
// requests wait at most.
func Slots(tb testing.TB, n int64, tenants ...string) *pool.Pool {
	tb.Helper()
	cfg := pool.Config{Machines: []omega.Machine{{Name: "worker", Capacity: resources.Vector{n}}}, Tenants: map[string]pool.Settings{}}
	for _, name := range tenants {
		cfg.Tenants[name] = pool.Settings{Queue: 4}
	}
	p, err := pool.New(cfg)
	if err != nil {
		tb.Fatal(err)
	}
	return p
}
