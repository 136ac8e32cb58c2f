package observe

import (
	"slices"
	"sync"
	"sync/atomic"
)

// Stream passes events to its subscriptions. The zero Stream is ready to use; do not
// copy it after first use. It is safe for concurrent use.
//
// Several sources may share one. Events of one source arrive in the order in which it
// has told them. Methods of a nil Stream do nothing.
type Stream struct {
	active atomic.Int32 // subscriptions
	mu     sync.Mutex   // guards the field below, and the order of events
	all    []*Subscription
}

// Subscribe returns a subscription to events of the given kinds, or of all if none is
// given. It holds up to size events, at least one.
func (s *Stream) Subscribe(size int, kinds ...Kind) *Subscription {
	if s == nil {
		return nil
	}
	sub := &Subscription{stream: s, kinds: slices.Clone(kinds), events: make(chan Event, max(size, 1))}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.all = append(s.all, sub)
	s.active.Store(int32(len(s.all)))
	return sub
}

// Active reports whether there is a subscription. A source asks before it makes an
// event. Cost: one load.
func (s *Stream) Active() bool { return s != nil && s.active.Load() > 0 }

// Tell passes an event to the subscriptions. It does not block: one that is full
// drops the event and counts it. Cost: O(subscriptions).
func (s *Stream) Tell(e Event) {
	if !s.Active() {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, sub := range s.all {
		if len(sub.kinds) > 0 && !slices.Contains(sub.kinds, e.Kind) {
			continue
		}
		select {
		case sub.events <- e:
		default:
			sub.dropped.Add(1)
		}
	}
}

// Subscription is a bounded queue of events. [Stream.Subscribe] makes one. Methods of
// a nil or zero Subscription do nothing.
type Subscription struct {
	stream  *Stream
	kinds   []Kind // none: all
	events  chan Event
	dropped atomic.Uint64
}

// Events returns the channel of events, which Close closes.
func (s *Subscription) Events() <-chan Event {
	if s == nil {
		return nil
	}
	return s.events
}

// Stream returns the stream that the subscription is to. Sources may share one.
func (s *Subscription) Stream() *Stream {
	if s == nil {
		return nil
	}
	return s.stream
}

// Dropped returns how many events found the subscription full.
func (s *Subscription) Dropped() uint64 {
	if s == nil {
		return 0
	}
	return s.dropped.Load()
}

// Close ends the subscription. Events that it holds can still be received. A second
// Close does nothing.
func (s *Subscription) Close() {
	if s == nil || s.stream == nil {
		return
	}
	t := s.stream
	t.mu.Lock()
	defer t.mu.Unlock()
	if i := slices.Index(t.all, s); i >= 0 {
		t.all = slices.Delete(t.all, i, i+1)
		t.active.Store(int32(len(t.all)))
		close(s.events)
	}
}
