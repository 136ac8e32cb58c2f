package offers

import (
	"time"

	"github.com/cellsched/cellsched/resources"
)

// Request asks for room on several machines at once: a gang offer.
type Request struct {
	// Machines is the number of machines, and Each the room on each of them.
	Machines int
	Each     resources.Vector
	// Deadline is the time at which the request ends unanswered, the zero time for never.
	Deadline time.Time
	// Revoke lets the request preempt tasks of frameworks that hold more than they are
	// guaranteed, if there is no free room.
	//
	// The request has to stay within the guarantee of its own framework, in each kind that
	// it asks for. The sum that counts is what the framework runs, what it is offered (and
	// may decline first), this request, and its earlier requests that revoke.
	//
	// The condition holds until the victims have left. If the framework exceeds it before,
	// since it has come to have more otherwise, the victims may stay. Then the request waits
	// for free room like any other, until it is within the guarantee again.
	Revoke bool
}

// total returns what a request adds up to.
func (r *Request) total() resources.Vector { return r.Each.Scale(int64(r.Machines)) }

// RequestID names one request of a framework.
type RequestID uint64

// Answer is the outcome of a request.
type Answer struct {
	Request RequestID
	// Offers are the machines of the request, if Reason is nil; else Reason is [ErrExpired].
	Offers []Offer
	Reason error
}
