package offers

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/cellsched/cellsched/internal/fault"
	"github.com/cellsched/cellsched/omega"
	"github.com/cellsched/cellsched/resources"
)

// Task is what a framework starts on what it was offered.
type Task struct {
	Need resources.Vector // something, and no more than was offered
	// Long says that it will run for long: see Offer.Long.
	Long bool
}

// Launch is tasks on one machine, and the offers that they are started on.
type Launch struct {
	Offers []OfferID // one at least, of one machine; their room is taken together
	Tasks  []Task    // one at least
	// Refuse hides what is left over from the framework, as [Framework.Decline]
	// does, if Filter is set; if not, it may be offered to it again at once.
	Filter bool
	Refuse Span
}

// Accept starts tasks on offers: they are the framework's from then on, and what
// they do not need is free for others. It all happens in one step, and since the
// room was kept for the framework, nobody can have taken it. An offer can be
// accepted before its deadline, and once.
//
// It starts all tasks of all launches or, with an error, none: then valid offers
// stay as they are, so that the call can be repeated without the offer that was
// not. Optimistic offers (see [Terms]) may be in conflict with what others have
// taken meanwhile, of the machine or of the part of it that is offered: then the error
// is an [OfferError] that names the first of them on that machine and wraps an
// [omega.ItemError] with what there is, they have ended, and what there is is offered
// anew. IDs of the tasks are returned in their order, launch by launch.
//
// Cost: that of [omega.Scheduler.Commit], and of offering the rest, which is more for
// a framework that shares an account: see Registration.Account. Errors: an
// [OfferError]; [ErrEmpty] for a launch without offers or tasks or a task of
// nothing; [ErrExceeds], also for more long tasks than may be; [ErrSpan];
// [resources.ErrQuantity]; [omega.ErrFull]; [ErrFenced], [ErrUnregistered].
func (h *Framework) Accept(now time.Time, launches ...Launch) ([]omega.AllocationID, error) {
	return h.AcceptContext(context.Background(), now, launches...)
}

// AcceptContext is [Framework.Accept] that waits for Config.Store no longer than ctx lasts,
// and while another accept of the framework is on the way. The master is not locked
// meanwhile. The offers can be neither accepted nor declined then: [ErrPending]. The room
// that they keep stays the framework's, whatever happens to the machine or the framework,
// until there is an outcome.
//
// An error that wraps [omega.ErrOutcome] says that the outcome is in doubt. The same call
// again returns it. Any other accept of the framework asks for it first, and then the tasks
// are among [Framework.Tasks].
func (h *Framework) AcceptContext(ctx context.Context, now time.Time, launches ...Launch) ([]omega.AllocationID, error) {
	if err := h.check(); err != nil {
		return nil, err
	}
	m, f := h.m, h.f
	m.mu.Lock()
	defer m.unlock()
	if err := h.enter(now); err != nil {
		return nil, err
	}
	for f.accept != nil {
		if a := f.accept; !a.flying {
			same := slices.EqualFunc(a.launches, launches, Launch.equal)
			if ids, err := m.land(ctx, a, a.launches); same || f.accept == a {
				return ids, err
			}
		} else if err := m.wait(ctx); err != nil {
			return nil, fault.Newf("offers", err, "framework %q: accept", f.name)
		}
		if err := h.enter(now); err != nil {
			return nil, err
		}
	}
	a, err := m.prepare(f, launches)
	if err != nil {
		m.recycle(a)
		m.replan(rooms) // an offer may have turned out to be late
		return nil, err
	}
	m.launch(a)
	return m.land(ctx, a, launches)
}

// land sends an accept, applies the outcome, and plans with what is free then.
func (m *Master) land(ctx context.Context, a *accepting, launches []Launch) ([]omega.AllocationID, error) {
	ids, err := m.fly(ctx, a, launches)
	if a.Doubt() == 0 {
		m.replan(rooms)
	}
	return ids, err
}

// prepare checks an accept.
func (m *Master) prepare(f *member, launches []Launch) (*accepting, error) {
	a := m.accepting(f)
	for i := range launches {
		if err := m.admit(a, f, &launches[i]); err != nil {
			return a, err
		}
	}
	if a.Txn.Len() == 0 {
		return a, fmt.Errorf("%w: framework %q: accept without a launch", ErrEmpty, f.name)
	}
	if len(a.longs) > 0 {
		on, late, err := m.caps.check(a, f)
		if late {
			err = m.conflicted(a, f, on, err)
		}
		if err != nil {
			return a, err
		}
	}
	if a.optimistic {
		if on, err := m.overdrawn(a, launches); err != nil {
			return a, m.conflicted(a, f, on, err)
		}
	}
	a.Txn.Gang = len(launches) > 1
	return a, nil
}

// sums are what a launch is offered, how much of that is claimed, and what it
// needs.
type sums struct{ room, claimed, need resources.Vector }

// admit adds a launch to the transaction, or says what is wrong with it.
func (m *Master) admit(a *accepting, f *member, l *Launch) error {
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
		o, err := m.ledger.answerable(f, id)
		switch {
		case err != nil:
			return err
		case o.named == a.serial:
			return &OfferError{f.name, id, ErrUsed}
		case on != nil && o.node != on:
			return &OfferError{f.name, id, ErrMachine}
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
			return fault.Newf("offers", err, "framework %q: task %d on machine %s", f.name, i, m.nameOf(on.id))
		}
		if t.Need == (resources.Vector{}) {
			return fmt.Errorf("%w: framework %q: task %d on machine %s needs nothing", ErrEmpty, f.name, i, m.nameOf(on.id))
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
			ErrExceeds, m.format(sum.need), m.format(sum.room))}
	}
	if m.caps.enabled() {
		a.admitLong(on, l, long)
	}
	a.sums = append(a.sums, sum)
	a.Txn.Exchange(a.claims[first:len(a.claims):len(a.claims)], a.tasks...)
	return nil
}

// settle follows an accept that the cell has granted.
func (m *Master) settle(a *accepting, launches []Launch, ids []omega.AllocationID) {
	f := a.of
	if !f.gone {
		f.forgetRefusals()
	}
	held, known := f.account.held, m.reads == a.reads && f.account.id == a.account
	offers := a.offers
	for i := range launches {
		l, sum := &launches[i], &a.sums[i]
		n := m.floor.nodeOf(offers[0].Machine)
		for range l.Offers {
			f.picked--
			m.ledger.close(offers[0], used)
			offers = offers[1:]
		}
		if f.gone || n == nil { // which its tasks do not outlast
			ids = ids[len(l.Tasks):]
			known = false
			continue
		}
		for k := range l.Tasks {
			if l.Tasks[k].Long {
				m.caps.began(f, ids[k], n, l.Tasks[k].Need)
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
			m.floor.refuse(f, n, &rest, l.Refuse.or(DefaultRefuse))
			n.refused = false // it took some
		}
		m.floor.markDirty(n)
	}
	if f.account.id != a.account {
		m.queue.rechargeAll(a.account)
	}
	if f.gone {
		return
	}
	switch {
	case !known:
		m.queue.recharge(f)
	case held != f.account.held:
		m.accounts.hold(f, held)
		m.queue.rerank(f.role, false)
	}
	m.queue.requeue(f, false)
}

// refused says why the cell did not grant an accept. Offers that are not there
// any more, since their machine was lost or their claim preempted, end.
func (m *Master) refused(a *accepting, err error) error {
	f, judged := a.of, err == nil
	for i := 0; err == nil && i < a.Txn.Len(); i++ {
		if err = a.Txn.Err(i); errors.Is(err, omega.ErrGang) {
			err = nil // it is another one's fault
		}
	}
	m.heed(err)
	if !judged || isOver(err) {
		return fault.Newf("offers", fenced(err), "framework %q: accept", f.name)
	}
	if errors.Is(err, omega.ErrConflict) {
		var on *node
		if item, ok := errors.AsType[*omega.ItemError](err); ok {
			on = m.floor.nodeOf(item.Machine)
		}
		return m.conflicted(a, f, on, err)
	}
	for _, o := range a.offers {
		if !o.kept() || o.state != outstanding {
			continue
		}
		if st, ok := m.cell.State(o.Machine); ok && st.Condition != omega.Removed && !m.isGone(o) {
			continue
		}
		err = &OfferError{f.name, o.ID, fault.New("offers", fault.Bare(ErrRescinded), err, ErrRescinded)}
		m.ledger.rescind(o, rescinded)
	}
	if _, known := errors.AsType[*OfferError](err); known {
		return err
	}
	return fault.Newf("offers", fenced(err), "framework %q: accept", f.name)
}

// isGone tells whether the cell has taken the claim of an offer away.
func (m *Master) isGone(o *offer) bool {
	if _, err := m.cell.ReadyAt(o.claim); err != nil {
		return true
	}
	for mark := range m.sched.Marked() {
		if mark.Allocation.ID == o.claim {
			return true
		}
	}
	return false
}
