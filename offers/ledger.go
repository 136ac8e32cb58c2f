package offers

import (
	"slices"
	"time"

	"github.com/cellsched/cellsched/omega"
	"github.com/cellsched/cellsched/omega/observe"
	"github.com/cellsched/cellsched/resources"
)

// ledger holds the offers. It makes and ends them, and notes the room that is not to be
// charged for them any more.
type ledger struct {
	*client
	registry *registry
	inbox    *inbox
	queue    *queue
	floor    *floor
	caps     *caps

	offers  offerTable
	charged []*member // see discharge
}

// open makes the offer that a claim was granted for.
func (l *ledger) open(p *pick, claim omega.AllocationID) *offer {
	o := l.offers.add(l.epoch)
	o.to, o.node, o.claim = p.to, p.node, claim
	o.Machine, o.Room = p.node.id, p.room
	o.Deadline = after(l.now, l.cfg.Timeout.or(defaultTimeout))
	o.Ready = time.Time{}
	if o.kept() {
		o.Ready, _ = l.cell.ReadyAt(claim) // it is live, or about to be rescinded
	}
	l.list(o)
	if l.cfg.Events.Active() {
		l.event(observe.Event{Kind: observe.Offered, Tenant: o.to.name, Need: o.Room}, o.Machine)
	}
	return o
}

// list puts an offer in all lists.
func (l *ledger) list(o *offer) {
	o.state = fateOutstanding
	o.ofNode, o.ofMember = len(o.node.offers), len(o.to.offers)
	o.node.offers, o.to.offers = append(o.node.offers, o), append(o.to.offers, o)
	if !o.Deadline.IsZero() {
		l.timers.Start(&o.timer, o.Deadline, o)
	}
}

// end takes an offer out of all lists. The caller sees to the charge for it, and to the
// place of its framework in line.
func (l *ledger) end(o *offer, how fate) {
	l.unlist(o, how)
	l.close(o, how)
}

// unlist takes an offer out of all lists.
func (l *ledger) unlist(o *offer, state fate) {
	o.state = state
	l.timers.Stop(&o.timer)
	o.node.offers = removeAt(o.node.offers, o.ofNode, func(moved *offer, i int) { moved.ofNode = i })
	o.to.offers = removeAt(o.to.offers, o.ofMember, func(moved *offer, i int) { moved.ofMember = i })
}

// close forgets an offer that is in no list.
func (l *ledger) close(o *offer, how fate) {
	o.state = how
	l.offers.vacant = append(l.offers.vacant, o.ID.slot)
	if l.caps.enabled() {
		l.caps.unpromise(o)
	}
	if o.kept() {
		o.to.offered, _ = o.to.offered.Sub(o.Room)
	}
	// An offer that the framework has not read of ends without news.
	if o.told && (how == fateRescinded || how == fateExpired) {
		l.inbox.tellEnd(o.to, o)
	}
}

// removeAt removes the element at i from a list, and moves the last one to its place.
func removeAt(list []*offer, i int, moved func(o *offer, i int)) []*offer {
	last := len(list) - 1
	list[i] = list[last]
	moved(list[i], i)
	list[last] = nil
	return list[:last]
}

// rescind takes an offer back, and its room is free again. Its framework is charged for
// it until the next discharge.
func (l *ledger) rescind(o *offer, how fate) {
	f := o.to
	if o.kept() {
		if err := l.release(l.sched, o.claim); err != nil {
			l.note(err)
		}
		// The order is asked once a call for each framework, not once an offer.
		if f.ended == (resources.Vector{}) {
			l.charged = append(l.charged, f)
		}
		f.ended = f.ended.Add(o.Room)
	}
	l.end(o, how)
	l.floor.markDirty(o.node)
}

// takeBack rescinds all offers of a machine.
func (l *ledger) takeBack(n *node) {
	for len(n.offers) > 0 {
		l.rescind(n.offers[0], fateRescinded)
	}
}

// discharge takes the room of offers that have ended in a call off the charges of their
// frameworks. It asks once for the place of each framework.
func (l *ledger) discharge() {
	for _, f := range l.charged {
		had := f.ended
		f.ended = resources.Vector{}
		l.queue.credit(f, had)
	}
	clear(l.charged)
	l.charged = l.charged[:0]
}

// answerable returns an offer that f can answer now. One that is late ends here,
// if no Step has come to it yet.
func (l *ledger) answerable(f *member, id OfferID) (*offer, error) {
	o, err := l.offers.find(f, id)
	if err == nil && o.late(l.now) {
		l.expireOffer(o)
		err = ErrExpired
	}
	if err != nil {
		return nil, &OfferError{f.name, id, err}
	}
	return o, nil
}

// expireOffer ends an offer that was not answered in time.
func (l *ledger) expireOffer(o *offer) {
	f, n := o.to, o.node
	read := o.seen && !f.awaits(o.ID)
	l.rescind(o, fateExpired)
	if !o.kept() {
		return // it kept nothing from any framework
	}
	if !f.lapsed.Equal(l.now) {
		f.lapsed = l.now // what expires together counts once
		f.countRefusal()
		if !read {
			f.watch.missed++
		}
	}
	if hides := l.floor.refuse(f, n, &o.Room, defaultRefuse); hides != nil {
		hides.unread = !read
	}
}

// tellOffer adds an offer to the news.
func (l *ledger) tellOffer(f *member, o *offer) {
	if !f.connected {
		return // it is told when the framework is back
	}
	// A framework that does not read its news would collect IDs of ended offers for ever.
	if len(f.unread) > 2*len(f.offers)+16 {
		kept := f.unread[:0]
		for _, id := range f.unread {
			if _, err := l.offers.find(f, id); err == nil {
				kept = append(kept, id)
			}
		}
		f.unread = kept
	}
	f.unread = append(f.unread, o.ID)
	l.inbox.tell(f)
}

// rescindUnread rescinds unread offers that other frameworks would not have been made if f had
// been there to share the cell. Only offers of room that f may be offered are worth it.
// Cost: O(frameworks + unread offers of frameworks that have enough).
func (l *ledger) rescindUnread(f *member) {
	if !f.wants() || l.cfg.Terms.Optimistic {
		return
	}
	for _, other := range l.registry.order {
		if other == f || !other.wants() || !l.queue.sated(other) {
			continue
		}
		// The latest go first, as long as the offers before them are enough.
		for _, id := range slices.Backward(other.unread) {
			o, err := l.offers.find(other, id)
			if err != nil || o.seen || !o.kept() || !l.cfg.Terms.Machines.Has(o.Machine.Node()) || !f.eligible(o.node, &o.Room) {
				continue
			}
			rest, _ := other.offered.Sub(o.Room)
			if !l.queue.enough(other, &rest) {
				break
			}
			l.rescind(o, fateRescinded)
		}
	}
}

// offerTable is all offers. Slots are used again in the order in which they
// became vacant, and objects with them.
type offerTable struct {
	slots  []*offer
	vacant []uint32
	head   int // of vacant
	serial uint64
	warmed uint64
}

// warm reads the records of the next n offers, for the caches alone. Slots that became
// vacant long ago are in no cache, and their misses overlap here.
func (t *offerTable) warm(n int) {
	next := t.vacant[t.head:]
	for _, slot := range next[:min(n, len(next))] {
		o := t.slots[slot]
		t.warmed += o.ID.serial + uint64(o.Room[6]) + uint64(o.Long[6]) + o.named + uint64(o.ofNode)
		if o.node != nil {
			t.warmed += uint64(o.state)
		}
	}
}

// add returns an offer with a new ID in a vacant slot.
func (t *offerTable) add(epoch uint32) *offer {
	for len(t.vacant)-t.head <= forgotten {
		chunk := make([]offer, 256)
		for i := range chunk {
			chunk[i].ID.slot = uint32(len(t.slots))
			t.vacant = append(t.vacant, chunk[i].ID.slot)
			t.slots = append(t.slots, &chunk[i])
		}
	}
	o := t.slots[t.vacant[t.head]]
	if t.head++; t.head > len(t.vacant)/2 {
		t.vacant = append(t.vacant[:0], t.vacant[t.head:]...)
		t.head = 0
	}
	t.serial++
	o.ID.epoch, o.ID.serial = epoch, t.serial
	o.state, o.told, o.owed, o.seen, o.named = fateOutstanding, false, false, false, 0
	return o
}

// find returns the outstanding offer of that ID, or why there is none.
func (t *offerTable) find(f *member, id OfferID) (*offer, error) {
	if uint64(id.slot) >= uint64(len(t.slots)) {
		return nil, ErrUnknown
	}
	o := t.slots[id.slot]
	switch {
	case o.ID != id:
		return nil, ErrUnknown
	case o.to != f:
		return nil, errForeign
	case o.state != fateOutstanding:
		return nil, o.state.reason()
	}
	return o, nil
}

// forgotten is the least number of offers that have ended and are remembered.
const forgotten = 1024
