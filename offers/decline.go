package offers

import (
	"errors"
	"time"

	"github.com/cellsched/cellsched/internal/fault"
)

// Decline refuses offers, and their room goes to other frameworks at once. Its second
// effect is a filter: for the time given the framework is not offered any room on these
// machines that is contained in what it refused there. The time is 5 s by default, no
// time at all for 0, else Config.Interval at least and 365 days at most.
//
// A framework that declines, or lets offers expire, again and again without accepting any
// backs off. From its second refusal on:
//
//   - What it refuses is hidden from it for at least a back-off, also where it asks for
//     less: for one Interval after 2 refusals, for two after 4, up to 16 after 32. A
//     filter that it asks for counts where it is longer. [Framework.Revive] shortens each
//     filter to its back-off.
//   - Room that others have declined goes first to frameworks that decline less.
//   - It has fewer offers at once, down to a 64th of what it may have, but at least one.
//
// Accepting ends the back-off, except for room that is hidden already. A call counts
// once, however many offers it declines, and so do offers that expire together.
//
// Among frameworks that decline as little, declined room goes by the [Order], with one
// exception: at most one piece in eight goes to the framework that was passed over
// longest. That framework must have been offered nothing while each framework could have
// been offered something twice. Without the exception no delay is bounded. Under strict
// precedence, say, many frameworks that decline only now and then would pass room on
// among themselves for ever. Nothing else departs from the order, and nothing at all does
// where the order reaches every framework.
//
// Bound: a framework that needs room is offered some within two rounds, once the other
// decliners are known as such. A round offers each free machine once. Until they are
// known the bound is one round more than there are frameworks for each machine.
//
// Cost: O(log n) for an offer in the offers and filters there are, up to two heap
// objects, and offering the room to other frameworks. The [Order] is asked once for the
// framework's place, however many offers it declines.
//
// Errors: [ErrConfig]; an [OfferError] for each offer that it could not decline, joined,
// while it declines the others; [ErrFenced], [ErrUnregistered].
func (h *Framework) Decline(now time.Time, refuse Span, ids ...OfferID) error {
	if err := h.check(); err != nil {
		return err
	}
	if err := refuse.check("refuse", 0); err != nil {
		return fault.Newf("offers", err, "framework %q", h.f.name)
	}
	m, f, err := h.enter(now)
	if err != nil {
		return err
	}
	defer m.unlock()
	var errs []error
	blamed := false
	for _, id := range ids {
		o, err := m.ledger.answerable(f, id)
		if err != nil {
			errs = append(errs, err)
			continue
		}
		if !blamed {
			f.countRefusal()
			blamed = true
		}
		n := o.node
		m.floor.refuse(f, n, &o.Room, refuse.or(defaultRefuse))
		m.ledger.rescind(o, fateDeclined)
	}
	m.replan(planRooms)
	return errors.Join(errs...)
}
