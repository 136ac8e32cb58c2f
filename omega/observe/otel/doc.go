// Package otel exports the statistics of schedulers to OpenTelemetry, and traces the calls that
// may take long.
//
//	registration, err := otel.Observe(provider.Meter("scheduler"), map[string]func() observe.Counts{
//		"scheduler/batch": batch.Stats,
//		"offers/mesos":    master.Stats,
//	})
//
//	batch.Stats ◀── asked at each collection ── Observe ──▶ meter
//	Acquire(ctx, tracer, pool, …)  ── span ──▶ tracer
//
// # Metrics
//
// All have the attributes "source" and "name", the parts of the key. What a source does not
// count is not observed: see [observe.Counts].
//
//	cellsched.commits        counter    transactions, and rounds
//	cellsched.claims         counter    with "outcome": "granted", or the reason of the refusal
//	cellsched.retries        counter    claims judged again after a lost race for a machine
//	cellsched.preemptions    counter    allocations that the source has lost
//	cellsched.victims        counter    of others, preempted for its claims
//	cellsched.waiting        gauge      requests that wait now
//	cellsched.offers         gauge      offers that are outstanding
//	cellsched.wait.time      counter    seconds that granted requests have waited
//	cellsched.wait.count     counter    those requests
//	cellsched.placement.time, cellsched.placement.count
//
// # Spans
//
// [Acquire], [Commit] and [Step] are the calls of a pool, a scheduler and a loop in a span of
// their names. A refused claim is an attribute of the span, not an error. A span is an error
// where the call returns one. A nil tracer records nothing.
package otel
