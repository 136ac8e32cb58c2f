package prometheus_test

import (
	"fmt"
	"testing"

	prom "github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"

	"github.com/cellsched/cellsched/omega/observe/prometheus"
	"github.com/cellsched/cellsched/omega/pool"
)

// BenchmarkScrape is a scrape of a pool, registry included.
//
// Measured 2026-11-23 on 2 idle cores of an AMD EPYC, Go 1.26.8, five runs:
//
//	go -C omega/observe/prometheus test -run '^$' -bench Scrape -count 5
//
//	100 tenants: 0.93 ms; 10,000 tenants: 8.5 to 10.3 ms, half of them below 9.1 ms
func BenchmarkScrape(b *testing.B) {
	for _, tenants := range []int{100, 10_000} {
		b.Run(fmt.Sprint("tenants=", tenants), func(b *testing.B) {
			registry := prom.NewRegistry()
			registry.MustRegister(prometheus.New(prometheus.Config{Pools: map[string]*pool.Pool{"p": newPool(b, tenants)}}))
			series := 0
			b.ReportAllocs()
			for b.Loop() {
				families, err := registry.Gather()
				require.NoError(b, err)
				series = 0
				for _, f := range families {
					series += len(f.GetMetric())
				}
			}
			b.ReportMetric(float64(series), "series")
		})
	}
}
