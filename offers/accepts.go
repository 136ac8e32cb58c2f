package offers

import (
	"context"
	"fmt"
	"slices"

	"github.com/cellsched/cellsched/internal/fault"
	"github.com/cellsched/cellsched/omega"
	"github.com/cellsched/cellsched/resources"
)

// accepts checks accepts, sends them to the cell and follows their outcomes.
type accepts struct {
	*client
	registry *registry
	accounts *accountBook
	queue    *queue
	floor    *floor
	caps     *caps
	ledger   *ledger
	planner  *planner

	flights []*accepting // on the way, or in doubt
	landed  []*accepting // kept for their memory
	count   uint64
}

// take returns an accept of a framework, without launches.
func (ac *accepts) take(f *member) *accepting {
	var a *accepting
	if n := len(ac.landed); n > 0 {
		a, ac.landed = ac.landed[n-1], ac.landed[:n-1]
	} else {
		a = new(accepting)
	}
	if a.by != f.sched {
		a.by, a.Store = f.sched, ac.storeOf(f.sched)
	}
	a.of, a.account = f, f.account.id
	a.Txn.Reset()
	clear(a.offers)
	ac.count++
	a.serial = ac.count
	a.claims, a.offers, a.sums = a.claims[:0], a.offers[:0], a.sums[:0]
	a.longs, a.optimistic = a.longs[:0], false
	return a
}

// launch has the offers of an accept be accepted, so that it can be sent.
func (ac *accepts) launch(a *accepting) {
	f := a.of
	for _, o := range a.offers {
		ac.ledger.unlist(o, fateAccepted)
	}
	f.picked += len(a.offers)
	f.accept, a.reads = a, ac.reads
	if f.reg.Guaranteed != (resources.Vector{}) {
		a.usage = f.sched.Usage()
	}
	ac.flights = append(ac.flights, a)
}

// flies reports whether an accept of a framework of that name is on the way.
func (ac *accepts) flies(framework string) bool {
	return slices.ContainsFunc(ac.flights, func(a *accepting) bool { return a.flying && a.of.name == framework })
}

// inFlight reports whether a claim is that of an accepted offer.
func (ac *accepts) inFlight(claim omega.AllocationID) bool {
	return slices.ContainsFunc(ac.flights, func(a *accepting) bool { return slices.Contains(a.claims, claim) })
}

// fly sends an accept, the first time or again, with the mutex free, and applies the outcome.
// In doubt the accept stays that of its framework.
func (ac *accepts) fly(ctx context.Context, a *accepting, launches []Launch) ([]omega.AllocationID, error) {
	f := a.of
	granted, err := ac.sendAccept(ctx, a, launches)
	if a.Doubt() > 0 {
		return nil, fault.Newf("offers", err, "framework %q: accept", f.name)
	}
	f.accept = nil
	ac.flights = slices.DeleteFunc(ac.flights, func(one *accepting) bool { return one == a })
	defer ac.recycle(a)
	if err != nil || granted < a.Txn.Len() {
		for _, o := range a.offers {
			f.picked--
			ac.ledger.list(o)
		}
		err = ac.refusal(a, err)
		ac.countAccept(a, launches, err)
		for _, o := range a.offers {
			if o.state == fateOutstanding {
				ac.review(a, o)
			}
		}
		return nil, err
	}
	ids := make([]omega.AllocationID, granted)
	for i := range ids {
		ids[i], _ = a.Txn.Allocation(i)
	}
	ac.countAccept(a, launches, nil)
	ac.settle(a, launches, ids)
	if f.gone {
		return nil, f.over()
	}
	return ids, nil
}

// sendAccept commits an accept with the mutex free. Without an outcome, also since the store
// has panicked, the launches are kept for the call that asks again.
func (ac *accepts) sendAccept(ctx context.Context, a *accepting, launches []Launch) (granted int, err error) {
	decided := false
	a.flying = true
	defer func() {
		if a.flying = false; !decided {
			a.keep(launches)
		}
		ac.planner.signal()
	}()
	granted, err = ac.planner.commit(ctx, &a.Attempt, ac.now)
	decided = a.Doubt() == 0
	return granted, err
}

// keep copies the launches, so that they outlast the call and the caller's stay off the
// heap.
func (a *accepting) keep(launches []Launch) {
	var kept []Launch
	for i := range launches {
		l := &launches[i]
		kept = append(kept, Launch{Offers: slices.Clone(l.Offers), Tasks: slices.Clone(l.Tasks), Filter: l.Filter, Refuse: l.Refuse})
	}
	a.launches = kept
}

// recycle keeps an accept for its memory.
func (ac *accepts) recycle(a *accepting) {
	a.launches = nil
	ac.landed = append(ac.landed, a)
}

// review ends an offer that was accepted in vain if the master would have ended it
// meanwhile. It tells a framework of the offer that has registered since.
func (ac *accepts) review(a *accepting, o *offer) {
	f, n := a.of, ac.floor.nodeOf(o.Machine)
	st, in := ac.cell.State(o.Machine)
	switch {
	case f.gone || f.account.id != a.account: // it is charged to neither
		if o.kept() {
			ac.note(ac.release(ac.sched, o.claim))
		}
		ac.ledger.end(o, fateRescinded)
		ac.floor.markDirty(o.node)
		ac.queue.rechargeAll(a.account)
	case f.silent,
		n == nil || !in || st.Condition != omega.Ready,
		n.revoking() && n.kept.of != f && !o.assured():
		ac.ledger.rescind(o, fateRescinded)
	case o.late(ac.now):
		ac.ledger.expireOffer(o)
	case f.sched != a.by:
		ac.caps.unpromise(o)
		o.told = false
		ac.ledger.tellOffer(f, o)
	}
}

// prepare checks an accept.
func (ac *accepts) prepare(f *member, launches []Launch) (*accepting, error) {
	a := ac.take(f)
	for i := range launches {
		if err := ac.admit(a, f, &launches[i]); err != nil {
			return a, err
		}
	}
	if a.Txn.Len() == 0 {
		return a, fmt.Errorf("%w: framework %q: accept without a launch", ErrEmpty, f.name)
	}
	if len(a.longs) > 0 {
		on, late, err := ac.caps.check(a, f)
		if late {
			err = ac.conflicted(a, f, on, err)
		}
		if err != nil {
			return a, err
		}
	}
	if a.optimistic {
		if on, err := ac.overdrawn(a, launches); err != nil {
			return a, ac.conflicted(a, f, on, err)
		}
	}
	a.Txn.Gang = len(launches) > 1
	return a, nil
}

// admit adds a launch to the transaction, or returns an error for an invalid one.
func (ac *accepts) admit(a *accepting, f *member, l *Launch) error {
	if len(l.Offers) == 0 || len(l.Tasks) == 0 {
		return fmt.Errorf("%w: framework %q: launch of %d tasks on %d offers: want one of each at least",
			ErrEmpty, f.name, len(l.Tasks), len(l.Offers))
	}
	if err := l.Refuse.check("refuse", 0); err != nil {
		return fault.Newf("offers", err, "framework %q", f.name)
	}
	first := len(a.claims)
	var sum sums
	var long resources.Vector
	var on *node
	for _, id := range l.Offers {
		o, err := ac.ledger.answerable(f, id)
		switch {
		case err != nil:
			return err
		case o.named == a.serial:
			return &OfferError{f.name, id, errUsed}
		case on != nil && o.node != on:
			return &OfferError{f.name, id, errMachine}
		}
		on, o.named = o.node, a.serial
		sum.room, a.offers = sum.room.Add(o.Room), append(a.offers, o)
		if o.kept() {
			sum.claimed, a.claims = sum.claimed.Add(o.Room), append(a.claims, o.claim)
		} else {
			a.optimistic = true
		}
	}
	a.tasks = a.tasks[:0]
	for i := range l.Tasks {
		t := &l.Tasks[i]
		if err := t.Need.Check(); err != nil {
			return fault.Newf("offers", err, "framework %q: task %d on machine %s", f.name, i, ac.nameOf(on.id))
		}
		if t.Need == (resources.Vector{}) {
			return fmt.Errorf("%w: framework %q: task %d on machine %s needs nothing", ErrEmpty, f.name, i, ac.nameOf(on.id))
		}
		sum.need = sum.need.Add(t.Need)
		if t.Long {
			long = long.Add(t.Need)
		}
		a.tasks = append(a.tasks, omega.Claim{
			Machine: on.id, Account: f.account.id, Need: t.Need, Precedence: f.reg.Precedence,
		})
	}
	if !sum.need.Fits(sum.room) {
		return &OfferError{f.name, l.Offers[0], fmt.Errorf("%w: tasks need %s, room %s",
			ErrExceeds, ac.format(sum.need), ac.format(sum.room))}
	}
	if ac.caps.enabled() {
		a.admitLong(on, l, long)
	}
	a.sums = append(a.sums, sum)
	a.Txn.Exchange(a.claims[first:len(a.claims):len(a.claims)], a.tasks...)
	return nil
}

// settle follows an accept that the cell has granted.
func (ac *accepts) settle(a *accepting, launches []Launch, ids []omega.AllocationID) {
	f := a.of
	if !f.gone {
		f.forgetRefusals()
	}
	held, known := f.account.held, ac.reads == a.reads && f.account.id == a.account
	offers := a.offers
	for i := range launches {
		l, sum := &launches[i], &a.sums[i]
		n := ac.floor.nodeOf(offers[0].Machine)
		for range l.Offers {
			f.picked--
			ac.ledger.close(offers[0], fateUsed)
			offers = offers[1:]
		}
		if f.gone || n == nil { // which its tasks do not outlast
			ids = ids[len(l.Tasks):]
			known = false
			continue
		}
		for k := range l.Tasks {
			if l.Tasks[k].Long {
				ac.caps.began(f, ids[k], n, l.Tasks[k].Need)
			}
		}
		ids = ids[len(l.Tasks):]
		n.refused, n.last = false, nil
		if sum.need == sum.claimed && sum.claimed == sum.room {
			continue
		}
		var ok bool
		if held, ok = held.Sub(sum.claimed); !ok {
			known = false // others charge the account, too
		}
		held = held.Add(sum.need)
		if l.Filter {
			rest, _ := sum.room.Sub(sum.need)
			ac.floor.refuse(f, n, &rest, l.Refuse.or(defaultRefuse))
			n.refused = false // it took some
		}
		ac.floor.markDirty(n)
	}
	if f.account.id != a.account {
		ac.queue.rechargeAll(a.account)
	}
	if f.gone {
		return
	}
	switch {
	case !known:
		ac.queue.recharge(f)
	case held != f.account.held:
		ac.accounts.setHeld(f, held)
		ac.queue.rerank(f.role, false)
	}
	ac.queue.requeue(f, false)
}

// admitLong notes how much of a launch is long tasks, and how much its offers keep for
// them or have shown. The offers of the launch are those that were admitted last.
func (a *accepting) admitLong(on *node, l *Launch, need resources.Vector) {
	one := longLaunch{on: on, need: need}
	for _, o := range a.offers[len(a.offers)-len(l.Offers):] {
		if o.kept() {
			one.kept = one.kept.Add(o.Long)
		} else {
			one.shown = one.shown.Add(o.Long)
		}
	}
	a.longs = append(a.longs, one)
}
