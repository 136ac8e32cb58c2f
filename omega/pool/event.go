package pool

import (
	"sync/atomic"
	"time"

	"github.com/cellsched/cellsched/resources"
)

// EventKind is what happened to a request or a lease.
type EventKind uint8

// The kinds of events.
const (
	Granted   EventKind = iota + 1 // a request got a lease
	Refused                        // a request failed: Err tells why
	Preempted                      // a guarantee takes the room of a lease back
	Released                       // a lease was released
)

// String returns the kind in lower case.
func (k EventKind) String() string {
	switch k {
	case Granted:
		return "granted"
	case Refused:
		return "refused"
	case Preempted:
		return "preempted"
	case Released:
		return "released"
	}
	return "unknown event"
}

// Event is something that happened in a pool.
type Event struct {
	Kind    EventKind
	Tenant  string
	Machine string // "" of a refused request
	Need    resources.Vector
	At      time.Time
	Waited  time.Duration // of a granted request that waited
	Err     error         // of a refused request
}

// Subscription is a bounded stream of the events of a pool.
type Subscription struct {
	pool    *Pool
	events  chan Event
	dropped atomic.Uint64
}

// Subscribe returns a subscription that holds up to size events, at least one.
// The pool never waits for it: an event that finds it full is dropped and
// counted. Without subscriptions events cost nothing.
func (p *Pool) Subscribe(size int) *Subscription {
	if p.none() {
		return nil
	}
	s := &Subscription{pool: p, events: make(chan Event, max(size, 1))}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.subscriptions = append(p.subscriptions[:len(p.subscriptions):len(p.subscriptions)], s)
	return s
}

// Events returns the channel of events, which Close closes.
func (s *Subscription) Events() <-chan Event {
	if s == nil || s.pool == nil {
		return nil
	}
	return s.events
}

// Dropped returns how many events found the subscription full.
func (s *Subscription) Dropped() uint64 {
	if s == nil || s.pool == nil {
		return 0
	}
	return s.dropped.Load()
}

// Close ends the subscription. A second Close does nothing.
func (s *Subscription) Close() {
	if s == nil || s.pool == nil {
		return
	}
	s.pool.mu.Lock()
	defer s.pool.mu.Unlock()
	for i, o := range s.pool.subscriptions {
		if o == s {
			list := append([]*Subscription(nil), s.pool.subscriptions[:i]...)
			s.pool.subscriptions = append(list, s.pool.subscriptions[i+1:]...)
			close(s.events)
			return
		}
	}
}

// tell sends an event to the subscriptions. Called with mu held, if there are any.
func (p *Pool) tell(e *Event) {
	e.At = time.Now()
	for _, s := range p.subscriptions {
		select {
		case s.events <- *e:
		default:
			s.dropped.Add(1)
		}
	}
}

// tellRefused sends the event of a request that failed. Events are made out of
// line: see Pool.drop.
//
//go:noinline
func (p *Pool) tellRefused(t *Tenant, need *resources.Vector, err error) {
	p.tell(&Event{Kind: Refused, Tenant: t.name, Need: *need, Err: err})
}

// tellOf sends an event of a lease.
//
//go:noinline
func (p *Pool) tellOf(kind EventKind, r *record, waited time.Duration) {
	p.tell(&Event{Kind: kind, Tenant: r.tenant.name, Machine: p.books.machines[r.node].name, Need: r.run.Need, Waited: waited})
}
