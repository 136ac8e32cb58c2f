package offers

import (
	"errors"
	"fmt"
	"strings"

	"github.com/cellsched/cellsched/internal/fault"
	"github.com/cellsched/cellsched/omega"
	"github.com/cellsched/cellsched/resources"
)

// Why an offer cannot be accepted or declined. Methods return an [OfferError]
// that wraps one of them.
var (
	// ErrUnknown reports an offer that the framework cannot answer: the master never made it,
	// it ended long ago, was accepted or declined before, belongs to another framework, or is of
	// another machine. The text says which. Requests and inverse offers may be unknown, too.
	ErrUnknown = errors.New("offers: offer unknown")
	// errUsed reports that the offer was accepted before, or is named twice.
	errUsed = fault.Text("offers: offer used already", ErrUnknown)
	// errDeclined reports that the framework has declined the offer.
	errDeclined = fault.Text("offers: offer was declined", ErrUnknown)
	// ErrRescinded reports that the master, or the loss of the machine, took the offer back.
	ErrRescinded = errors.New("offers: offer was rescinded")
	// ErrExpired reports an offer that was not answered before its deadline. Requests may
	// expire, too.
	ErrExpired = errors.New("offers: offer has expired")
	// errForeign reports that the offer was made to another framework.
	errForeign = fault.Text("offers: offer belongs to another framework", ErrUnknown)
	// ErrPending reports that an accept of the offer is on the way, or its outcome in doubt.
	ErrPending = errors.New("offers: offer is being accepted")
	// errMachine reports that offers that are to be combined are of different machines.
	errMachine = fault.Text("offers: offer is of another machine", ErrUnknown)
)

// Errors of a call as a whole; nothing has changed then.
var (
	// ErrExceeds reports tasks that need more than was offered, or than a cap allows. It
	// also reports a request for more than the cell could hold, or than is guaranteed.
	ErrExceeds = errors.New("offers: need exceeds the room")
	// ErrEmpty reports a call without an offer or a task, a request for nothing, or a nil
	// where something is needed. The error for a nil, or a zero Master or Framework, wraps
	// [resources.ErrNil] too.
	ErrEmpty = errors.New("offers: empty argument")
	// ErrConfig reports a value of a configuration or registration that makes no sense: a name,
	// time, weight or fraction. The text says which.
	ErrConfig = errors.New("offers: invalid value")
	// errName reports a name that is taken, has a slash in it, or is refused by
	// [resources.CheckName]. In the last case it wraps the error of CheckName.
	errName = fault.Text("offers: invalid name", ErrConfig)
	// ErrUnregistered reports that the framework is not registered any more, and that no
	// successor had taken it over before.
	ErrUnregistered = errors.New("offers: framework is not registered")
	// ErrEvicted reports that [Master.Evict] has ended the framework. It wraps
	// [ErrUnregistered].
	ErrEvicted = fmt.Errorf("%w: the master has evicted it", ErrUnregistered)
	// ErrFenced reports that a successor has taken over the framework or the master. It also
	// applies when the framework has ended since.
	ErrFenced = errors.New("offers: framework or master was replaced by a successor")
	// ErrGuarantee reports a guarantee that the cell cannot keep beside the others.
	ErrGuarantee = errors.New("offers: guarantees exceed the cell")
	// errSpan reports a time that is negative, or 0 where that makes no sense.
	errSpan = fault.Text("offers: invalid time", ErrConfig)
	// errWeight reports a weight outside of [drf.MinWeight] to [drf.MaxWeight], or NaN.
	errWeight = fault.Text("offers: invalid weight", ErrConfig)
	// errFraction reports an invalid part of the cell or of a machine.
	errFraction = fault.Text("offers: invalid fraction", ErrConfig)
)

// OfferError names the offer that an answer failed on. It wraps the reason.
type OfferError struct {
	Framework string
	Offer     OfferID
	Reason    error
}

// Error names framework, offer and reason.
func (e *OfferError) Error() string {
	if e == nil {
		return ""
	}
	reason := "refused"
	if e.Reason != nil {
		reason = strings.TrimPrefix(fault.Bare(e.Reason), "offer ")
	}
	return fmt.Sprintf("offers: framework %q: offer %v: %s", e.Framework, e.Offer, reason)
}

// Unwrap returns the reason.
func (e *OfferError) Unwrap() error {
	if e == nil {
		return nil
	}
	return e.Reason
}

// fenced turns an error of the cell into that of this package where there is
// one.
func fenced(err error) error {
	if isOver(err) {
		return fault.New("offers", fault.Bare(ErrFenced), err, ErrFenced)
	}
	return err
}

// isOver reports whether a scheduler was replaced, or has left the cell, as one may
// after it was replaced.
func isOver(err error) bool {
	return errors.Is(err, omega.ErrSuperseded) || errors.Is(err, omega.ErrLeft)
}

func isFenced(err error) bool { return errors.Is(err, ErrFenced) }

// checkName returns an error unless name can be that of a thing of this kind. A slash is
// between the names of a master and a framework, which together are that of a scheduler.
func checkName(kind, name string) error {
	if err := resources.CheckName(name); err != nil {
		return fault.New("offers", kind, err, errName)
	}
	if strings.Contains(name, "/") {
		return fmt.Errorf("%w: %s %q: want one without a slash", errName, kind, name)
	}
	return nil
}

// Errors of requests and inverse offers, with texts that name them.
var (
	errUnknown        = errors.New("unknown")
	errRequestExpired = fault.New("offers", "", errors.New("request has expired"), ErrExpired)
)

// wrapName has an error of [resources.CheckName] be an ErrConfig.
func wrapName(err error) error { return fault.New("offers", "", err, errName) }

// missing returns an error for something that is nil, or zero where that is of no use.
func missing(text string) error {
	return fault.Text(ErrEmpty.Error()+": "+text, ErrEmpty, resources.ErrNil)
}
