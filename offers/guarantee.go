package offers

import (
	"fmt"

	"github.com/cellsched/cellsched/resources"
)

// guarantees says which tasks may be revoked, so that others have what they are guaranteed.
type guarantees struct {
	*client
	registry *registry
	inbox    *inbox
	queue    *queue
	floor    *floor
	accepts  *accepts
}

// covers returns what a framework asks for, with a request and others before it that
// revoke, and whether that is within its guarantee beside what it runs and is offered,
// of all kinds that the request is for.
func (gu *guarantees) covers(f *member, r *Request) (asks resources.Vector, ok bool) {
	asks = r.total()
	for _, other := range gu.registry.requests {
		if &other.Request == r {
			break
		}
		if other.of == f && other.Revoke && !other.overdue(gu.now) {
			asks = asks.Add(other.total())
		}
	}
	most := f.runs().Add(f.offered).Add(asks)
	for k, q := range r.Each {
		if q > 0 && most[k] > f.reg.Guaranteed[k] {
			return asks, false
		}
	}
	return asks, true
}

// beyond says what a framework would hold that asks for so much, and what it is
// guaranteed.
func (gu *guarantees) beyond(f *member, asks resources.Vector) error {
	runs := f.runs()
	return fmt.Errorf("%w: framework %q would hold %s, of which it runs %s, is offered %s and asks for %s: it is guaranteed %s",
		ErrExceeds, f.name, gu.format(runs.Add(f.offered).Add(asks)),
		gu.format(runs), gu.format(f.offered), gu.format(asks), gu.format(f.reg.Guaranteed))
}

// runs returns what the tasks of a framework hold. Those of an accept on the way do not count
// yet: they are offered to it.
func (f *member) runs() resources.Vector {
	if f.accept != nil && f.reg.Guaranteed != (resources.Vector{}) {
		return f.accept.usage
	}
	return f.sched.Usage()
}

// spares tells whether a framework has what it is guaranteed, of all kinds that
// the last task holds, when it has lost so much. Its own tasks count, whoever else
// charges its account.
func (f *member) spares(lost, last resources.Vector) bool {
	left, ok := f.sched.Usage().Sub(lost)
	if !ok {
		return false
	}
	for k, q := range last {
		if q > 0 && left[k] < f.reg.Guaranteed[k] {
			return false
		}
	}
	return true
}
