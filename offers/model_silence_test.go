package offers_test

import (
	"math"
	"time"

	"github.com/cellsched/cellsched/offers"
	"github.com/cellsched/cellsched/resources"
)

// Frameworks of the model that are asleep make no calls: they are asked, then silent, then
// taken for gone.

// silence holds what the master should know of the calls of a framework.
type silence struct {
	heard, asked  time.Time // asked is the zero time if it was not since it called
	quiet, silent bool
	slow          time.Duration
}

// never is longer than any model runs.
const never = time.Duration(math.MaxInt64 / 100)

// length returns how long a span is.
func length(s offers.Span, unset time.Duration) time.Duration {
	if d, err := time.ParseDuration(s.String()); err == nil {
		return d
	}
	if s == offers.Never() {
		return never
	}
	return unset
}

// spans returns the offer timeout, and after which time without a call a framework is
// asked, and is gone.
func (m *model) spans(f *fw) (timeout, ask, gone time.Duration) {
	timeout = length(m.cfg.Timeout, 0)
	gone = length(m.cfg.Liveness, max(10*time.Minute, 20*timeout))
	if ask = min(timeout, gone/2); f.suppressed && len(f.requests) == 0 {
		ask = gone / 2
	}
	return timeout, ask, gone
}

// called notes that a framework has called.
func (m *model) called(f *fw) {
	w := &f.watch
	if timeout, _, _ := m.spans(f); w.quiet {
		w.slow = 0
		if away := m.now.Sub(w.heard); away <= 4*timeout {
			w.slow = 2 * away
		}
	}
	*w = silence{heard: m.now, slow: w.slow}
}

// counts reports whether a framework counts in the shares of others.
func (m *model) counts(f *fw) bool {
	return f.here && !f.suppressed && !f.watch.silent && m.hasUse(f)
}

// listen follows a step: each framework goes on by one stage at most.
func (m *model) listen() {
	for _, f := range m.those(func(f *fw) bool { return f.here }) {
		w := &f.watch
		timeout, ask, gone := m.spans(f)
		if w.asked.IsZero() && m.now.Sub(w.heard) < ask {
			continue
		}
		if w.asked.IsZero() {
			w.asked = m.now
		}
		waited, patience := m.now.Sub(w.asked), 2*timeout
		if w.slow > 0 {
			patience = w.slow
		}
		expected := !f.suppressed || len(f.requests) > 0
		w.quiet = w.quiet || expected && waited >= patience-ask
		switch {
		case waited < gone-ask:
		case f.needs() == resources.Vector{}:
			m.forget(f)
		default:
			m.away(f)
		}
	}
	for _, f := range m.all {
		if m.counts(f) && !f.watch.quiet {
			for _, f := range m.all {
				f.watch.silent = f.watch.silent || f.here && f.watch.quiet
			}
			break
		}
	}
}
