package offers

import (
	"errors"
	"fmt"

	"github.com/cellsched/cellsched/omega"
)

// Why an offer can not be accepted or declined. Methods return an [OfferError]
// that wraps one of them.
var (
	// ErrUnknown: the master never made such an offer, or it ended long ago.
	ErrUnknown = errors.New("unknown")
	// ErrUsed: the offer was accepted before, or is named twice.
	ErrUsed = errors.New("used already")
	// ErrDeclined: the framework has declined it.
	ErrDeclined = errors.New("was declined")
	// ErrRescinded: the master, or the loss of the machine, took it back.
	ErrRescinded = errors.New("was rescinded")
	// ErrExpired: it was not answered before its deadline.
	ErrExpired = errors.New("has expired")
	// ErrForeign: the offer was made to another framework.
	ErrForeign = errors.New("belongs to another framework")
	// ErrMachine: offers that are to be combined are of different machines.
	ErrMachine = errors.New("is of another machine")
)

// What a call as a whole can fail with; nothing has changed then.
var (
	// ErrExceeds: tasks need more than was offered, or than a cap allows; or a request
	// is for more than the cell could hold, or than is guaranteed.
	ErrExceeds = errors.New("offers: more than there is")
	// ErrEmpty: no offer, no task, or nothing asked for.
	ErrEmpty = errors.New("offers: nothing")
	// ErrName: a name is empty, taken, or has a slash in it.
	ErrName = errors.New("offers: invalid name")
	// ErrUnregistered: the framework is not registered any more, and nobody had taken
	// it over before.
	ErrUnregistered = errors.New("offers: framework is not registered")
	// ErrEvicted reports that [Master.Evict] has ended the framework. It wraps
	// [ErrUnregistered].
	ErrEvicted = fmt.Errorf("%w: evicted", ErrUnregistered)
	// ErrFenced: a successor speaks for the framework, or has until that ended, or
	// speaks for the master.
	ErrFenced = errors.New("offers: replaced by a successor")
	// ErrGuarantee: the cell can not keep another promise.
	ErrGuarantee = errors.New("offers: guaranteed more than there is")
	// ErrSpan: a time that is negative, or 0 where that makes no sense.
	ErrSpan = errors.New("offers: invalid time")
	// ErrWeight: a weight outside of [drf.MinWeight] to [drf.MaxWeight], or no number.
	ErrWeight = errors.New("offers: invalid weight")
	// ErrFraction: a part of the cell or of a machine that is no part.
	ErrFraction = errors.New("offers: invalid fraction")
)

// An OfferError says which offer an answer failed on. It wraps the reason.
type OfferError struct {
	Framework string
	Offer     OfferID
	Reason    error
}

// Error names framework, offer and reason.
func (e *OfferError) Error() string {
	return fmt.Sprintf("offers: framework %q: offer %v: %v", e.Framework, e.Offer, e.Reason)
}

// Unwrap returns the reason.
func (e *OfferError) Unwrap() error { return e.Reason }

// fenced turns an error of the cell into that of this package where there is
// one.
func fenced(err error) error {
	if errors.Is(err, omega.ErrSuperseded) {
		return fmt.Errorf("%w: %w", ErrFenced, err)
	}
	return err
}

func isFenced(err error) bool { return errors.Is(err, ErrFenced) }
