package observe

import (
	"fmt"
	"log/slog"
	"time"

	"github.com/cellsched/cellsched/resources"
)

// Kind is the kind of an event of a request, a task or a lease.
type Kind uint8

// The kinds of events.
const (
	Granted   Kind = iota + 1 // a request got its room
	Refused                   // a request failed: Err tells why
	Preempted                 // room that was granted is taken back
	Released                  // room was given back
)

var kindNames = [...]string{Granted: "granted", Refused: "refused", Preempted: "preempted", Released: "released"}

// String returns the kind in lower case.
func (k Kind) String() string {
	if k > 0 && int(k) < len(kindNames) {
		return kindNames[k]
	}
	return fmt.Sprintf("kind %d", uint8(k))
}

// Event is one decision, as a plain value. It is a [slog.LogValuer]:
//
//	slog.Info("scheduler", "event", e)
//
// Fields that do not apply are zero.
type Event struct {
	Kind    Kind
	At      time.Time
	Source  string           // the package that tells it: "pool"
	Tenant  string           // or account, or framework
	Label   string           // of the request, or the key of the job
	Machine string           // where the room is
	Need    resources.Vector // in base units of the source's space
	Waited  time.Duration    // of a granted request that waited
	Err     error            // of a refused request
}

// LogValue returns the event as a group, without fields that say nothing. Amounts
// are printed by kind: an event does not know the names of a space.
func (e Event) LogValue() slog.Value {
	attrs := make([]slog.Attr, 0, 8)
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
	if e.Waited > 0 {
		attrs = append(attrs, slog.Duration("waited", e.Waited))
	}
	if e.Err != nil {
		attrs = append(attrs, slog.Any("error", e.Err))
	}
	return slog.GroupValue(attrs...)
}
