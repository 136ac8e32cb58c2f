package otel_test

import (
	"context"
	"fmt"

	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	"go.opentelemetry.io/otel/trace/noop"

	"github.com/cellsched/cellsched/omega"
	"github.com/cellsched/cellsched/omega/observe"
	"github.com/cellsched/cellsched/omega/observe/otel"
	"github.com/cellsched/cellsched/resources"
)

// A scheduler's commits are counted and traced. A program has an exporter of its own in
// place of the reader and the tracer here.
func Example() {
	cell, err := omega.NewCell(omega.Config{Machines: []omega.Machine{{Name: "m", Capacity: resources.Vector{2}}}})
	if err != nil {
		fmt.Println(err)
		return
	}
	batch, err := cell.Register("batch", omega.Limits{})
	if err != nil {
		fmt.Println(err)
		return
	}
	reader := sdkmetric.NewManualReader()
	meter := sdkmetric.NewMeterProvider(sdkmetric.WithReader(reader)).Meter("scheduler")
	if _, err := otel.Observe(meter, map[string]func() observe.Counts{"scheduler/batch": batch.Stats}); err != nil {
		fmt.Println(err)
		return
	}
	tracer := noop.NewTracerProvider().Tracer("scheduler")
	machine, _ := cell.Machine("m")
	var tx omega.Txn
	tx.Claim(omega.Claim{Machine: machine, Need: resources.Vector{1}})
	if _, err := otel.Commit(context.Background(), tracer, batch, &tx); err != nil {
		fmt.Println(err)
	}

	var all metricdata.ResourceMetrics
	if err := reader.Collect(context.Background(), &all); err != nil {
		fmt.Println(err)
	}
	for _, m := range all.ScopeMetrics[0].Metrics {
		if data, ok := m.Data.(metricdata.Sum[int64]); ok && m.Name == "cellsched.commits" {
			fmt.Println(m.Name, data.DataPoints[0].Value)
		}
	}
	// Output: cellsched.commits 1
}
