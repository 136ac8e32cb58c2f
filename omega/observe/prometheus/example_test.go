package prometheus_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"

	prom "github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/cellsched/cellsched/omega"
	"github.com/cellsched/cellsched/omega/observe/prometheus"
	"github.com/cellsched/cellsched/omega/pool"
	"github.com/cellsched/cellsched/resources"
)

// A pool is scraped at /metrics.
func Example() {
	p, err := pool.New(pool.Config{Machines: []omega.Machine{{Name: "m", Capacity: resources.Vector{4}}}})
	if err != nil {
		fmt.Println(err)
		return
	}
	registry := prom.NewRegistry()
	registry.MustRegister(prometheus.New(prometheus.Config{Pools: map[string]*pool.Pool{"workers": p}}))
	mux := http.NewServeMux()
	mux.Handle("/metrics", promhttp.HandlerFor(registry, promhttp.HandlerOpts{}))

	lease, err := p.Acquire(context.Background(), "web", resources.Vector{1})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer lease.Release()
	page := httptest.NewRecorder()
	mux.ServeHTTP(page, httptest.NewRequest(http.MethodGet, "/metrics", nil))
	fmt.Println(page.Code)
	families, err := registry.Gather()
	for _, f := range families {
		if f.GetName() == "cellsched_tenant_share" {
			fmt.Println(f.GetMetric()[0].GetLabel()[1].GetValue(), f.GetMetric()[0].GetGauge().GetValue(), err)
		}
	}
	// Output:
	// 200
	// web 0.25 <nil>
}
