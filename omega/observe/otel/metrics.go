package otel

import (
	"context"
	"maps"
	"strings"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"

	"github.com/cellsched/cellsched/internal/fault"
	"github.com/cellsched/cellsched/omega/observe"
	"github.com/cellsched/cellsched/resources"
)

// Observe registers the metrics of some sources with a meter: see the package comment. Keys are
// "source/name"; values are methods that return counts. They are called at each collection.
// The caller ends it with Unregister of the result. Errors are those of the meter, and
// [resources.ErrNil] without one.
func Observe(meter metric.Meter, sources map[string]func() observe.Counts) (metric.Registration, error) {
	if meter == nil {
		return nil, fault.New("otel", "meter", resources.ErrNil)
	}
	var o observer
	return o.register(meter, sources)
}

// observer has the instruments.
type observer struct {
	err     error
	meter   metric.Meter
	created []metric.Observable
}

func (o *observer) counter(name, unit, help string) metric.Int64ObservableCounter {
	c, err := o.meter.Int64ObservableCounter("cellsched."+name, metric.WithUnit(unit), metric.WithDescription(help))
	o.add(c, err)
	return c
}

func (o *observer) seconds(name, help string) metric.Float64ObservableCounter {
	c, err := o.meter.Float64ObservableCounter("cellsched."+name, metric.WithUnit("s"), metric.WithDescription(help))
	o.add(c, err)
	return c
}

func (o *observer) gauge(name, unit, help string) metric.Int64ObservableGauge {
	g, err := o.meter.Int64ObservableGauge("cellsched."+name, metric.WithUnit(unit), metric.WithDescription(help))
	o.add(g, err)
	return g
}

func (o *observer) add(one metric.Observable, err error) {
	o.created = append(o.created, one)
	if o.err == nil {
		o.err = err
	}
}

func (o *observer) register(meter metric.Meter, sources map[string]func() observe.Counts) (metric.Registration, error) {
	o.meter, sources = meter, maps.Clone(sources)
	commits := o.counter("commits", "{transaction}", "Transactions and rounds that were committed.")
	claims := o.counter("claims", "{claim}", "Claims by outcome.")
	retries := o.counter("retries", "{claim}", "Claims judged again after a lost race for a machine.")
	preempted := o.counter("preemptions", "{allocation}", "Allocations of the source that were preempted.")
	victims := o.counter("victims", "{allocation}", "Allocations of others that were preempted for its claims.")
	waiting := o.gauge("waiting", "{request}", "Requests that wait now.")
	offers := o.gauge("offers", "{offer}", "Offers that are outstanding.")
	waitTime, waits := o.seconds("wait.time", "Time that granted requests have waited."), o.counter("wait.count", "{request}", "Requests that have waited and were granted.")
	placeTime, places := o.seconds("placement.time", "Time of attempts and rounds."), o.counter("placement.count", "{attempt}", "Attempts and rounds.")
	if o.err != nil {
		return nil, o.err
	}
	return meter.RegisterCallback(func(_ context.Context, to metric.Observer) error {
		for key, ask := range sources {
			if ask == nil {
				continue
			}
			c := ask()
			source, name, _ := strings.Cut(strings.ToValidUTF8(key, "\uFFFD"), "/")
			labels := []attribute.KeyValue{attribute.String("source", source), attribute.String("name", name)}
			of := metric.WithAttributes(labels...)
			outcome := func(word string, n uint64) {
				to.ObserveInt64(claims, int64(n), of, metric.WithAttributes(attribute.String("outcome", strings.ToValidUTF8(word, "\uFFFD"))))
			}
			if c.Counted.Commits || c.Commits > 0 {
				to.ObserveInt64(commits, int64(c.Commits), of)
			}
			outcome("granted", c.Granted)
			for _, r := range c.Refused {
				outcome(r.Reason, r.Count)
			}
			if c.Counted.Retries || c.Retries > 0 {
				to.ObserveInt64(retries, int64(c.Retries), of)
			}
			to.ObserveInt64(preempted, int64(c.Preempted), of)
			if c.Counted.Victims || c.Victims > 0 {
				to.ObserveInt64(victims, int64(c.Victims), of)
			}
			to.ObserveInt64(waiting, int64(c.Waiting), of)
			if c.Counted.Offers || c.Offers > 0 {
				to.ObserveInt64(offers, int64(c.Offers), of)
			}
			to.ObserveFloat64(waitTime, c.Waited.Sum.Seconds(), of)
			to.ObserveInt64(waits, int64(c.Waited.Count()), of)
			to.ObserveFloat64(placeTime, c.Placed.Sum.Seconds(), of)
			to.ObserveInt64(places, int64(c.Placed.Count()), of)
		}
		return nil
	}, o.created...)
}
