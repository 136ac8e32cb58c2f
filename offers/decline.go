package offers

import (
	"errors"
	"time"

	"github.com/cellsched/cellsched/internal/fault"
)

// Decline refuses offers, which go to others at once. For the time given the
// framework is not offered anything on these machines that is contained in what
// it refused there: 5 s by default, no time at all for 0, else Config.Interval at
// least and 365 days at most.
//
// Whoever declines, or lets expire, again and again without accepting anything
// has to stand back: from its second call on, what it declines is hidden from it
// for a time that doubles, up to 16 intervals, whatever it asks for; what others
// have declined goes to those first who decline less; and it has fewer offers at
// once, down to a 64th of what it may have, but one at least. Accepting ends
// this, but for what is hidden already. A call counts once, however many offers it
// declines, and so do offers that expire together.
//
// Among those who decline as little, what others have declined goes by the order,
// but at most one piece in eight, to whoever was passed over longest, if it was
// offered nothing while each framework could have been offered something twice. No
// delay is bounded without that: under strict precedence, say, many who decline
// only now and then would pass room on among themselves for ever. It is all that
// departs from the order, and nothing does where the order itself reaches everybody.
//
// So a framework that needs room is offered some within two rounds in which each
// free machine is offered once, whoever else is there to decline it, once they are
// known for that; while they are not, within one round more than there are
// frameworks for each machine.
//
// Cost: O(log n) for an offer in the offers and filters there are, up to two heap
// objects, and what it takes to offer the room to others. The [Order] is asked once
// where the framework stands, however many offers it declines. Errors: [ErrSpan]; an
// [OfferError] for each offer that it could not decline, joined, while it
// declines the others; [ErrFenced], [ErrUnregistered].
func (h *Framework) Decline(now time.Time, refuse Span, ids ...OfferID) error {
	if err := h.check(); err != nil {
		return err
	}
	if err := refuse.check("refuse", 0); err != nil {
		return fault.Newf("offers", err, "framework %q", h.f.name)
	}
	m, f := h.m, h.f
	m.mu.Lock()
	defer m.unlock()
	if err := h.enter(now); err != nil {
		return err
	}
	var errs []error
	blamed := false
	for _, id := range ids {
		o, err := m.ledger.answerable(f, id)
		if err != nil {
			errs = append(errs, err)
			continue
		}
		if !blamed {
			f.blame()
			blamed = true
		}
		n := o.node
		m.floor.refuse(f, n, &o.Room, refuse.or(defaultRefuse))
		m.ledger.rescind(o, fateDeclined)
	}
	m.replan(planRooms)
	return errors.Join(errs...)
}
