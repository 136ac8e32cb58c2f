package observe

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"github.com/cellsched/cellsched/resources"
)

// Kind is the kind of an event of a request, a task, a lease, an offer or a round.
type Kind uint8

// The kinds of events.
const (
	Granted   Kind = iota + 1 // a request got its room
	Refused                   // a request failed: Err tells why
	Preempted                 // room that was granted is taken back
	Released                  // room was given back
	Offered                   // free room was offered
	Round                     // a round of placements was committed: Count are its grants
)

var kindNames = [...]string{Granted: "granted", Refused: "refused", Preempted: "preempted", Released: "released", Offered: "offered", Round: "round"}

// String returns the kind in lower case.
func (k Kind) String() string {
	if k > 0 && int(k) < len(kindNames) {
		return kindNames[k]
	}
	return fmt.Sprintf("Kind(%d)", uint8(k))
}

// Event is one decision, as a plain value. Packages tell the kinds that their decisions have:
//
//	pool    granted, refused, preempted, released
//	loop    granted, refused, preempted
//	offers  granted, refused, preempted, offered, round
//	flow    granted, refused, preempted, round
//
// A cell tells none by itself. Event is a [slog.LogValuer]:
//
//	slog.Info("scheduler", "event", e)
//
// Fields that do not apply are zero.
type Event struct {
	Kind    Kind
	At      time.Time
	Source  string           // the package that tells it: "pool", "loop", "offers", "flow"
	Tenant  string           // or account, or framework
	Label   string           // of the request, or the key of the job
	Machine string           // where the room is
	Need    resources.Vector // in base units of the source's space
	Count   int              // of allocations, where it may be several
	Waited  time.Duration    // of a granted request that waited
	Err     error            // of a refused request
}

// LogValue returns the event as a group, without fields that say nothing. Amounts
// are printed by kind: an event does not know the names of a space.
func (e Event) LogValue() slog.Value {
	attrs := make([]slog.Attr, 0, 9)
	attrs = append(attrs, slog.String("kind", e.Kind.String()))
	for _, text := range []struct{ key, value string }{
		{"source", e.Source}, {"tenant", e.Tenant}, {"label", e.Label}, {"machine", e.Machine},
	} {
		if text.value != "" {
			attrs = append(attrs, slog.String(text.key, text.value))
		}
	}
	if e.Need != (resources.Vector{}) {
		attrs = append(attrs, slog.String("need", (*resources.Space)(nil).Format(e.Need)))
	}
	if e.Count > 0 {
		attrs = append(attrs, slog.Int("count", e.Count))
	}
	if e.Waited > 0 {
		attrs = append(attrs, slog.Duration("waited", e.Waited))
	}
	if e.Err != nil {
		attrs = append(attrs, slog.Any("error", e.Err))
	}
	return slog.GroupValue(attrs...)
}

// Log writes each event of a subscription to a logger, until the subscription is closed or
// ctx is done. A refusal is a warning, and so is a preemption. Other events are of level
// debug. A handler that is slow drops events, and holds no scheduler up: Log writes how many
// were dropped each time that the number has doubled, and at the end. It blocks: give it a
// goroutine.
func Log(ctx context.Context, to *slog.Logger, s *Subscription) {
	written := uint64(0) // how many were dropped
	dropped := func(least uint64) {
		if n := s.Dropped(); n >= least {
			written = n
			to.LogAttrs(ctx, slog.LevelWarn, "scheduler", slog.Uint64("dropped", n))
		}
	}
	for {
		select {
		case <-ctx.Done():
			dropped(written + 1)
			return
		case e, open := <-s.Events():
			if !open {
				dropped(written + 1)
				return
			}
			level := slog.LevelDebug
			if e.Kind == Refused || e.Kind == Preempted {
				level = slog.LevelWarn
			}
			to.LogAttrs(ctx, level, "scheduler", slog.Any("event", e))
			dropped(max(1, 2*written))
		}
	}
}
