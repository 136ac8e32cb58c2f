package pool

import (
	"time"

	"github.com/cellsched/cellsched/locality"
	"github.com/cellsched/cellsched/resources"
)

// Request is a request to a pool for a tenant, made in one call.
type Request struct {
	// Needs are taken together or not at all, each on one machine. While the
	// request waits it holds nothing, so two of them never block each other.
	Needs []resources.Vector
	// Prefer are machines near which the needs should be placed. The pool's
	// Delay says how long the request waits for them.
	Prefer []locality.Node
	// Required takes no machine but those of Prefer.
	Required bool
	// Priority goes before lower ones within the tenant.
	Priority int
	// MaxWait bounds the wait, which then fails with [ErrWait]. A shorter bound of
	// the tenant holds, too. 0 means that bound alone.
	MaxWait time.Duration
	// Label is shown with the request in [Pool.Waiters]. It is empty, or a name as
	// [resources.CheckName] has it.
	Label string

	// noQueue refuses it with ErrQueueFull where it would wait: see Backlog.
	noQueue bool
}

// sum returns the needs together.
func (r *Request) sum() (need resources.Vector) {
	for i := range r.Needs {
		need = need.Add(r.Needs[i])
	}
	return need
}
