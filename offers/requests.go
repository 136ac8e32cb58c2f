package offers

import (
	"time"

	"github.com/cellsched/cellsched/resources"
)

// Request asks for room on several machines at once: a gang offer.
type Request struct {
	// Machines is how many machines, and Each what is to be offered on each.
	Machines int
	Each     resources.Vector
	// Deadline is when the framework gives up, the zero time for never.
	Deadline time.Time
	// Revoke takes the room from those who hold more than they are guaranteed, if
	// there is none. What the framework runs, is offered (and may decline first) and asks
	// for, by this one and by what it has asked for before that revokes, has to be within
	// its own guarantee, of each kind that this one asks for. It has to be so until others
	// have left: where it is not any more, since the framework has come to have more
	// otherwise, they may stay, and the request waits for free room like any other until
	// it is again.
	Revoke bool
}

// total returns what a request adds up to.
func (r *Request) total() resources.Vector { return r.Each.Scale(int64(r.Machines)) }

// RequestID names one request of a framework.
type RequestID uint64

// Answer is what became of a request.
type Answer struct {
	Request RequestID
	// Offers are what was asked for, if there is no Reason; else it is
	// [ErrExpired].
	Offers []Offer
	Reason error
}
