package otel_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/otel/codes"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"

	"github.com/cellsched/cellsched/omega"
	"github.com/cellsched/cellsched/omega/loop"
	"github.com/cellsched/cellsched/omega/observe"
	"github.com/cellsched/cellsched/omega/observe/otel"
	"github.com/cellsched/cellsched/omega/pool"
	"github.com/cellsched/cellsched/resources"
)

func newScheduler(tb testing.TB) (*omega.Scheduler, omega.MachineID) {
	tb.Helper()
	cell, err := omega.NewCell(omega.Config{Machines: []omega.Machine{{Name: "m", Capacity: resources.Vector{2}}}})
	require.NoError(tb, err)
	s, err := cell.Register("batch", omega.Limits{})
	require.NoError(tb, err)
	m, _ := cell.Machine("m")
	return s, m
}

// collected returns the values of the int64 metrics by name and attributes.
func collected(tb testing.TB, reader sdkmetric.Reader) (map[string]int64, map[string]float64) {
	tb.Helper()
	var all metricdata.ResourceMetrics
	require.NoError(tb, reader.Collect(context.Background(), &all))
	ints, floats := map[string]int64{}, map[string]float64{}
	for _, scope := range all.ScopeMetrics {
		for _, m := range scope.Metrics {
			key := func(p metricdata.DataPoint[int64]) string {
				var text strings.Builder
				text.WriteString(m.Name)
				for _, a := range p.Attributes.ToSlice() {
					text.WriteString(" " + string(a.Key) + "=" + a.Value.AsString())
				}
				return text.String()
			}
			switch data := m.Data.(type) {
			case metricdata.Sum[int64]:
				require.True(tb, data.IsMonotonic)
				for _, p := range data.DataPoints {
					ints[key(p)] = p.Value
				}
			case metricdata.Gauge[int64]:
				for _, p := range data.DataPoints {
					ints[key(p)] = p.Value
				}
			case metricdata.Sum[float64]:
				for _, p := range data.DataPoints {
					floats[m.Name] += p.Value
				}
			}
		}
	}
	return ints, floats
}

func TestObserve_CollectsTheCountsOfTheMoment(t *testing.T) {
	s, m := newScheduler(t)
	reader := sdkmetric.NewManualReader()
	provider := sdkmetric.NewMeterProvider(sdkmetric.WithReader(reader))
	counts := observe.Counts{Waiting: 4, Offers: 5, Preempted: 6, Victims: 7}
	counts.Refuse("why\xff", 8)
	counts.Waited.Add(3 * time.Second)
	sources := map[string]func() observe.Counts{
		"scheduler/batch": s.Stats, "offers/a\xff": func() observe.Counts { return counts }, "none": nil,
	}
	registration, err := otel.Observe(provider.Meter("test"), sources)
	require.NoError(t, err)
	clear(sources) // it is the caller's
	for range 3 {
		var tx omega.Txn
		tx.Claim(omega.Claim{Machine: m, Need: resources.Vector{1}})
		_, err := s.Commit(&tx)
		require.NoError(t, err)
	}
	ints, floats := collected(t, reader)
	for key, want := range map[string]int64{
		"cellsched.commits name=batch source=scheduler":                 3,
		"cellsched.claims name=batch outcome=granted source=scheduler":  2,
		"cellsched.claims name=batch outcome=conflict source=scheduler": 1,
		"cellsched.waiting name=a\uFFFD source=offers":                  4,
		"cellsched.offers name=a\uFFFD source=offers":                   5,
		"cellsched.preemptions name=a\uFFFD source=offers":              6,
		"cellsched.victims name=a\uFFFD source=offers":                  7,
		"cellsched.claims name=a\uFFFD outcome=why\uFFFD source=offers": 8,
		"cellsched.wait.count name=a\uFFFD source=offers":               1,
	} {
		require.Contains(t, ints, key)
		require.Equal(t, want, ints[key], key)
	}
	require.InDelta(t, 3, floats["cellsched.wait.time"], 0)
	require.Contains(t, ints, "cellsched.retries name=batch source=scheduler", "none of a scheduler, which counts them")
	for _, key := range []string{"cellsched.commits name=a\uFFFD source=offers", "cellsched.retries name=a\uFFFD source=offers", "cellsched.offers name=batch source=scheduler"} {
		require.NotContains(t, ints, key, "a source that does not count it")
	}

	require.NoError(t, registration.Unregister())
	ints, _ = collected(t, reader)
	require.Empty(t, ints)
}

// failing is a loop with an error that is no text.
type failing struct{}

func (failing) Step(context.Context, time.Time) (next time.Time, ok bool, err error) {
	return time.Time{}, false, errors.New("not \xff text")
}

func TestNil_IsRefusedOrRecordsNothing(t *testing.T) {
	_, err := otel.Observe(nil, nil)
	require.EqualError(t, err, "otel: meter: argument is nil")
	require.ErrorIs(t, err, resources.ErrNil)
	_, _, err = otel.Step(t.Context(), nil, nil, time.Time{})
	require.EqualError(t, err, "otel: loop: argument is nil")
	s, m := newScheduler(t)
	var tx omega.Txn
	tx.Claim(omega.Claim{Machine: m, Need: resources.Vector{2}})
	granted, err := otel.Commit(t.Context(), nil, s, &tx)
	require.NoError(t, err)
	require.Equal(t, 1, granted)
}

func TestSpans_HaveTheOutcomes(t *testing.T) {
	recorder := tracetest.NewSpanRecorder()
	tracer := sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(recorder)).Tracer("test")
	last := func() map[string]string {
		spans := recorder.Ended()
		span := spans[len(spans)-1]
		all := map[string]string{"span": span.Name()}
		for _, a := range span.Attributes() {
			all[strings.TrimPrefix(string(a.Key), "cellsched.")] = a.Value.String()
		}
		if span.Status().Code == codes.Error {
			all["error"] = span.Status().Description
			require.NotEmpty(t, span.Events())
		}
		return all
	}
	s, m := newScheduler(t)
	var tx omega.Txn
	tx.Claim(omega.Claim{Machine: m, Need: resources.Vector{2}})
	granted, err := otel.Commit(t.Context(), tracer, s, &tx)
	require.NoError(t, err)
	require.Equal(t, 1, granted)
	require.Equal(t, map[string]string{"span": "cellsched.commit", "scheduler": "batch", "items": "1", "granted": "1"}, last())
	_, err = otel.Commit(t.Context(), tracer, s, &tx)
	require.ErrorIs(t, err, omega.ErrTxn)
	require.Equal(t, err.Error(), last()["error"])
	tx.Reset()
	tx.Claim(omega.Claim{Machine: m, Need: resources.Vector{2}})
	_, err = otel.Commit(t.Context(), tracer, s, &tx)
	require.NoError(t, err)
	require.Equal(t, map[string]string{
		"span": "cellsched.commit", "scheduler": "batch", "items": "1", "granted": "0", "refused": tx.Err(0).Error(),
	}, last())

	l, err := loop.New(loop.Config[string]{Store: omega.Local{Scheduler: s}})
	require.NoError(t, err)
	now := time.Unix(0, 0)
	_, err = l.Submit(now, loop.Job[string]{Key: "a", Need: resources.Vector{1}, Tasks: 1})
	require.NoError(t, err)
	next, ok, err := otel.Step(t.Context(), tracer, l, now)
	require.NoError(t, err)
	require.True(t, ok)
	require.Equal(t, map[string]string{"span": "cellsched.step", "next": next.Sub(now).String()}, last())
	_, _, err = otel.Step(t.Context(), tracer, (*loop.Loop[string])(nil), now)
	require.ErrorIs(t, err, resources.ErrNil)
	require.Equal(t, err.Error(), last()["error"])

	_, _, err = otel.Step(t.Context(), tracer, failing{}, now)
	require.Error(t, err)
	require.Equal(t, "not \uFFFD text", last()["error"], "exporters refuse invalid UTF-8")
	spans := recorder.Ended()
	for _, a := range spans[len(spans)-1].Events()[0].Attributes {
		require.True(t, utf8.ValidString(a.Value.AsString()), "%s", a.Key)
	}

	p, err := pool.New(pool.Config{Machines: []omega.Machine{{Name: "m", Capacity: resources.Vector{2}}}})
	require.NoError(t, err)
	lease, err := otel.Acquire(t.Context(), tracer, p, "web", resources.Vector{2})
	require.NoError(t, err)
	require.Equal(t, "cellsched.acquire", last()["span"])
	require.Equal(t, "web", last()["tenant"])
	_, err = otel.Acquire(t.Context(), tracer, p, "web", resources.Vector{3})
	require.Error(t, err)
	require.Equal(t, err.Error(), last()["error"])
	require.NoError(t, lease.Release())
	require.NoError(t, p.Close(context.Background()))
}
