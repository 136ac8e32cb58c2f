package offers

import (
	"context"
	"slices"

	"github.com/cellsched/cellsched/internal/fault"
	"github.com/cellsched/cellsched/omega"
	"github.com/cellsched/cellsched/resources"
)

// accepting is an accept while it is checked, on the way to the cell, or in doubt.
//
//	offers:  outstanding ──▶ accepted ──▶ used          granted
//	                            ├───────▶ outstanding   refused
//	                            └───────▶ rescinded, expired: refused, and the master would
//	                                      have taken them back meanwhile
//
// Invariants, also while the mutex is free:
//
//   - An accepted offer is in no list and has no timer, so that nothing else ends it. It
//     still counts in member.offered, in what is promised of caps, and is charged. It counts
//     in member.picked in place of member.offers.
//   - A framework has one accept on the way, or in doubt, at most: member.accept. Only the
//     call whose accept it is, or one that asks again, applies the outcome, whatever has
//     become of the framework and the machines by then.
//   - A framework that ends meanwhile has its tasks released after that: see departure.
type accepting struct {
	omega.Attempt

	of       *member
	by       *omega.Scheduler
	account  omega.Account
	flying   bool
	launches []Launch // copies, once in doubt
	usage    resources.Vector
	reads    uint64 // of Master.reads, at launch

	serial uint64
	claims []omega.AllocationID // of all launches; each has a part
	tasks  []omega.Claim        // of one launch
	offers []*offer             // of all launches
	sums   []sums               // by launch
	longs  []longLaunch         // by launch, where there are caps

	optimistic bool // one of the offers is
}

// accepting returns an accept of a framework, without launches.
func (m *Master) accepting(f *member) *accepting {
	var a *accepting
	if n := len(m.landed); n > 0 {
		a, m.landed = m.landed[n-1], m.landed[:n-1]
	} else {
		a = new(accepting)
	}
	if a.by != f.sched {
		a.by, a.Store = f.sched, m.storeOf(f.sched)
	}
	a.of, a.account = f, f.account.id
	a.Txn.Reset()
	clear(a.offers)
	m.accepts++
	a.serial = m.accepts
	a.claims, a.offers, a.sums = a.claims[:0], a.offers[:0], a.sums[:0]
	a.longs, a.optimistic = a.longs[:0], false
	return a
}

// launch has the offers of an accept be accepted, so that it can be sent.
func (m *Master) launch(a *accepting) {
	f := a.of
	for _, o := range a.offers {
		m.ledger.unlist(o, accepted)
	}
	f.picked += len(a.offers)
	f.accept, a.reads = a, m.reads
	if f.reg.Guaranteed != (resources.Vector{}) {
		a.usage = f.sched.Usage()
	}
	m.flights = append(m.flights, a)
}

// flies reports whether an accept of a framework of that name is on the way.
func (m *Master) flies(framework string) bool {
	return slices.ContainsFunc(m.flights, func(a *accepting) bool { return a.flying && a.of.name == framework })
}

// inFlight reports whether a claim is that of an accepted offer.
func (m *Master) inFlight(claim omega.AllocationID) bool {
	return slices.ContainsFunc(m.flights, func(a *accepting) bool { return slices.Contains(a.claims, claim) })
}

// fly sends an accept, the first time or again, with the mutex free, and applies the outcome.
// In doubt the accept stays that of its framework.
func (m *Master) fly(ctx context.Context, a *accepting, launches []Launch) ([]omega.AllocationID, error) {
	f := a.of
	granted, err := m.sendAccept(ctx, a, launches)
	if a.Doubt() > 0 {
		return nil, fault.Newf("offers", err, "framework %q: accept", f.name)
	}
	f.accept = nil
	m.flights = slices.DeleteFunc(m.flights, func(one *accepting) bool { return one == a })
	defer m.recycle(a)
	if err != nil || granted < a.Txn.Len() {
		for _, o := range a.offers {
			f.picked--
			m.ledger.list(o)
		}
		err = m.refused(a, err)
		for _, o := range a.offers {
			if o.state == outstanding {
				m.review(a, o)
			}
		}
		return nil, err
	}
	ids := make([]omega.AllocationID, granted)
	for i := range ids {
		ids[i], _ = a.Txn.Allocation(i)
	}
	m.settle(a, launches, ids)
	if f.gone {
		return nil, f.over()
	}
	return ids, nil
}

// sendAccept commits an accept with the mutex free. Without an outcome, also since the store
// has panicked, the launches are kept for the call that asks again.
func (m *Master) sendAccept(ctx context.Context, a *accepting, launches []Launch) (granted int, err error) {
	decided := false
	a.flying = true
	defer func() {
		if a.flying = false; !decided {
			a.keep(launches)
		}
		m.signal()
	}()
	granted, err = m.commit(ctx, &a.Attempt, m.now)
	decided = a.Doubt() == 0
	return granted, err
}

// keep has the launches outlast the call, in copies: those of the caller stay off the heap.
func (a *accepting) keep(launches []Launch) {
	var kept []Launch
	for i := range launches {
		l := &launches[i]
		kept = append(kept, Launch{Offers: slices.Clone(l.Offers), Tasks: slices.Clone(l.Tasks), Filter: l.Filter, Refuse: l.Refuse})
	}
	a.launches = kept
}

// recycle keeps an accept for its memory.
func (m *Master) recycle(a *accepting) {
	a.launches = nil
	m.landed = append(m.landed, a)
}

// review ends an offer that was accepted in vain if the master would have ended it
// meanwhile, and tells a framework of it that has registered since.
func (m *Master) review(a *accepting, o *offer) {
	f, n := a.of, m.floor.nodeOf(o.Machine)
	st, in := m.cell.State(o.Machine)
	switch {
	case f.gone || f.account.id != a.account: // it is charged to neither
		if o.kept() {
			m.note(m.sched.Release(o.claim))
		}
		m.ledger.end(o, rescinded)
		m.floor.markDirty(o.node)
		m.queue.rechargeAll(a.account)
	case f.silent,
		n == nil || !in || st.Condition != omega.Ready,
		n.barred() && n.kept.of != f && !o.assured():
		m.ledger.rescind(o, rescinded)
	case o.late(m.now):
		m.ledger.expireOffer(o)
	case f.sched != a.by:
		m.caps.unpromise(o)
		o.told = false
		m.ledger.tellOffer(f, o)
	}
}

// equal reports whether two launches ask for the same.
func (l Launch) equal(other Launch) bool {
	return l.Filter == other.Filter && l.Refuse == other.Refuse &&
		slices.Equal(l.Offers, other.Offers) && slices.Equal(l.Tasks, other.Tasks)
}
