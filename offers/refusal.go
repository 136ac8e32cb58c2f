package offers

import (
	"errors"
	"fmt"
	"slices"

	"github.com/cellsched/cellsched/internal/fault"
	"github.com/cellsched/cellsched/omega"
)

// refusal returns the reason why the cell did not grant an accept. Offers that are gone,
// since their machine was lost or their claim preempted, end.
func (ac *accepts) refusal(a *accepting, err error) error {
	f, judged := a.of, err == nil
	for i := 0; err == nil && i < a.Txn.Len(); i++ {
		if err = a.Txn.Err(i); errors.Is(err, omega.ErrGang) {
			err = nil // it is another one's fault
		}
	}
	ac.checkFenced(err)
	if !judged || isOver(err) {
		return fault.Newf("offers", fenced(err), "framework %q: accept", f.name)
	}
	if errors.Is(err, omega.ErrConflict) {
		var on *node
		if item, ok := errors.AsType[*omega.RefusalError](err); ok {
			on = ac.floor.nodeOf(item.Machine)
		}
		return ac.conflicted(a, f, on, err)
	}
	for _, o := range a.offers {
		if !o.kept() || o.state != fateOutstanding {
			continue
		}
		if st, ok := ac.cell.State(o.Machine); ok && st.Condition != omega.Removed && !ac.isGone(o) {
			continue
		}
		err = &OfferError{f.name, o.ID, fault.New("offers", fault.Bare(ErrRescinded), err, ErrRescinded)}
		ac.ledger.rescind(o, fateRescinded)
	}
	if _, known := errors.AsType[*OfferError](err); known {
		return err
	}
	return fault.Newf("offers", fenced(err), "framework %q: accept", f.name)
}

// isGone reports whether the cell has taken the claim of an offer away.
func (ac *accepts) isGone(o *offer) bool {
	if _, err := ac.cell.ReadyAt(o.claim); err != nil {
		return true
	}
	for mark := range ac.sched.Marked() {
		if mark.Allocation.ID == o.claim {
			return true
		}
	}
	return false
}

// overdrawn returns an error, and the machine it is about, if an accept of optimistic
// offers exceeds the terms: frameworks would hold too much of the machine. The cell does
// not know the terms. Room that is kept for the framework it may have.
//
// Cost: O(1) where the terms offer machines as a whole, else O(allocations of the
// machines).
func (ac *accepts) overdrawn(a *accepting, launches []Launch) (on *node, err error) {
	if ac.cfg.Terms.whole() {
		return nil, nil
	}
	of := make(map[*node]sums)
	offers := a.offers
	for i := range launches {
		one := of[offers[0].node]
		one.claimed, one.need = one.claimed.Add(a.sums[i].claimed), one.need.Add(a.sums[i].need)
		of[offers[0].node] = one
		offers = offers[len(launches[i].Offers):]
	}
	for _, o := range a.offers {
		one := of[o.node]
		st, in := ac.cell.State(o.Machine)
		held, there := ac.floor.holding(o.node).Sub(one.claimed)
		if !in || !there {
			continue // of which the cell is to tell
		}
		free := st.Free.Add(one.claimed)
		if free = ac.floor.beside(o.node, &held, &free).Max(one.claimed); !one.need.Fits(free) {
			return o.node, &omega.RefusalError{
				Machine: o.Machine, Name: st.Name, Need: one.need, Free: free, Condition: st.Condition,
				Reason: fmt.Errorf("%w: frameworks may hold %d%% of each machine, %s here", omega.ErrConflict,
					ac.cfg.Terms.Percent, ac.format(part(o.node.capacity, ac.cfg.Terms.Percent))),
			}
		}
	}
	return nil, nil
}

// conflicted returns the error of an accept of optimistic offers that was refused. It
// names the first of them, on the machine in question if there is one, with the need and
// the room that there was. All optimistic offers of the accept end, and their room is
// offered anew.
func (ac *accepts) conflicted(a *accepting, f *member, on *node, err error) error {
	of := slices.IndexFunc(a.offers, func(o *offer) bool { return !o.kept() && (on == nil || o.node == on) })
	if of < 0 {
		err = fault.Newf("offers", err, "framework %q: optimistic accept", f.name)
	} else {
		err = &OfferError{f.name, a.offers[of].ID, fault.New("offers", "optimistic accept", err)}
	}
	for _, o := range a.offers {
		if o.kept() || o.state != fateOutstanding {
			continue
		}
		ac.ledger.end(o, fateRescinded)
		ac.floor.markDirty(o.node)
	}
	return err
}
