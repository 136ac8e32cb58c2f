package pool

import (
	"time"

	"github.com/cellsched/cellsched/omega/observe"
	"github.com/cellsched/cellsched/resources"
)

// Subscribe returns a subscription to the events of the pool, of Config.Events where
// that is set, that holds up to size of them: those of the given kinds, or all. The pool
// never waits for it: an event that finds it full is dropped and counted. Without
// subscriptions events cost nothing. The channel stays open when the pool is closed: close the subscription to
// end a range over it.
//
// Granted and Refused tell the label of a [Request].
func (p *Pool) Subscribe(size int, kinds ...observe.Kind) *observe.Subscription {
	if p.none() {
		return nil
	}
	return p.events.Subscribe(size, kinds...)
}

// tellRefused sends the event of a request that failed. Events are made out of
// line: see Pool.drop.
//
//go:noinline
func (p *Pool) tellRefused(t *Tenant, need *resources.Vector, label string, err error) {
	p.events.Tell(observe.Event{
		Kind: observe.Refused, At: time.Now(), Source: "pool", Tenant: t.name, Label: label, Need: *need, Err: err,
	})
}

// tellOf sends an event of a lease. A granted one is of the waiter that was found
// last, if that is of its tenant.
//
//go:noinline
func (p *Pool) tellOf(kind observe.Kind, r *record) {
	e := observe.Event{
		Kind: kind, At: time.Now(), Source: "pool", Tenant: r.tenant.name,
		Machine: p.books.machines[r.node].name, Need: r.run.Need,
	}
	if w := p.found.w; kind == observe.Granted && w != nil && w.queued && w.tenant == r.tenant {
		e.Waited, e.Label = p.at-w.since, w.label()
	}
	p.events.Tell(e)
}

// label returns that of the request.
func (w *waiter) label() string {
	if w.extra == nil {
		return ""
	}
	return w.extra.label
}
