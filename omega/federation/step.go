package federation

import (
	"context"
	"time"

	"github.com/cellsched/cellsched/resources"
)

// Step decides at now: it matches the tasks that wait, and returns the messages to send
// in their order. It tells Config.Notify of the events since the last call. Next is when
// it is to be called again at the latest, if no message is received before; zero if only
// a message or a job is a reason to.
//
// It reads no clock and does not wait. Cost: about a microsecond for each match, plus
// one search of all partitions for each class of jobs that does not fit. Once a successor
// is heard of it does nothing.
func (g *Global) Step(now time.Time) (out []Message, next time.Time) {
	if g == nil {
		return nil, time.Time{}
	}
	g.mu.Lock()
	if !g.gone {
		g.suspect(now)
		var total resources.Vector
		for _, s := range g.sites {
			total = total.Add(s.total)
		}
		g.order.resize(total)
		g.match()
		next = g.seek(now)
		for _, s := range g.sites {
			out = g.messages(s, now, out)
			next = earlier(next, g.due(s))
		}
	}
	events := g.events
	g.events = nil
	g.mu.Unlock()
	if g.cfg.Notify != nil {
		for _, e := range events {
			g.cfg.Notify(e)
		}
	}
	return out, next
}

// suspect stops launches to sites that did not answer in time.
func (g *Global) suspect(now time.Time) {
	for _, s := range g.sites {
		if len(s.batches) > 0 && !now.Before(s.batches[0].at.Add(g.cfg.Timeout)) {
			s.silent = true
		}
	}
}

// messages appends the messages to a site: a request for its list, batches that are new
// or were not answered in time, acknowledgements.
func (g *Global) messages(s *site, now time.Time, out []Message) []Message {
	if s.unlisted() {
		if s.asked.IsZero() || !now.Before(s.asked.Add(g.cfg.Timeout)) {
			s.asked = now
			out = append(out, Message{From: g.cfg.Name, To: s.name, ask: &ask{Epoch: g.epoch}})
		}
		return out
	}
	fresh := s.number
	g.number(s)
	for _, b := range s.batches {
		if b.number <= fresh && now.Before(b.at.Add(g.cfg.Timeout)) {
			continue
		}
		b.at = now
		out = append(out, g.ask(s, &ask{Number: b.number, Launches: b.launches, Heard: s.heard}))
		s.heard = nil
	}
	switch {
	case len(s.heard) == 0:
		s.due = time.Time{}
	case s.due.IsZero():
		s.due = now.Add(g.cfg.Timeout)
	case !now.Before(s.due):
		out = append(out, g.ask(s, &ask{Heard: s.heard}))
		s.heard, s.due = nil, time.Time{}
	}
	return out
}

// unlisted reports whether the list of the verifier is still to come.
func (s *site) unlisted() bool { return s.incarnation == 0 || s.replaced }

// ask returns a message for a site.
func (g *Global) ask(s *site, a *ask) Message {
	a.Epoch, a.Incarnation, a.Settled = g.epoch, s.incarnation, s.settled()
	return Message{From: g.cfg.Name, To: s.name, ask: a}
}

// due returns when a message to a site is due, if nothing is heard from it.
func (g *Global) due(s *site) (due time.Time) {
	if s.unlisted() {
		return s.asked.Add(g.cfg.Timeout)
	}
	for _, b := range s.batches {
		due = earlier(due, b.at.Add(g.cfg.Timeout))
	}
	return earlier(due, s.due)
}

// earlier returns the earlier time; zero is none.
func earlier(a, b time.Time) time.Time {
	if a.IsZero() || !b.IsZero() && b.Before(a) {
		return b
	}
	return a
}

// Run steps whenever a message was received, a job submitted, or a time has come, and
// sends the messages. It returns the context's cause once ctx is done, and
// [ErrSuperseded]. Send must not wait; a message that it loses is sent again.
func (g *Global) Run(ctx context.Context, send func(Message)) error {
	if g == nil {
		return absent("global master")
	}
	return run(ctx, g.wake, func(now time.Time) (time.Time, error) {
		out, next := g.Step(now)
		for _, m := range out {
			send(m)
		}
		g.mu.Lock()
		defer g.mu.Unlock()
		if g.gone {
			return next, ErrSuperseded
		}
		return next, nil
	})
}

// run calls step now, whenever there is a signal, and at the times that it returns.
func run(ctx context.Context, wake <-chan struct{}, step func(time.Time) (time.Time, error)) error {
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		next, err := step(time.Now())
		if err != nil {
			return err
		}
		var due <-chan time.Time
		if !next.IsZero() {
			timer.Reset(time.Until(next))
			due = timer.C
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-wake:
		case <-due:
		}
	}
}
