package omega

import (
	"cmp"
	"slices"
	"time"

	"github.com/cellsched/cellsched/locality"
	"github.com/cellsched/cellsched/resources"
)

// reservation is a [Reservation] in the cell. It is immutable.
type reservation struct {
	id         ReservationID
	owner      *owner
	account    Account
	precedence Precedence
	until      time.Time
	parts      []part           // one for each machine, by number
	need       resources.Vector // of all parts
}

// part is the room that is reserved on one machine.
type part struct {
	machine MachineID
	need    resources.Vector
}

// before reports whether r precedes q in the order of reservations.
func (r *reservation) before(q *reservation) bool {
	return cmp.Or(cmp.Compare(q.precedence, r.precedence), cmp.Compare(r.id, q.id)) < 0
}

// over reports whether r has ended at a time. At the zero time none has.
func (r *reservation) over(now time.Time) bool { return !now.IsZero() && !now.Before(r.until) }

// lined is a reservation in the line of a cell. The line is the list of the cell's
// reservations in their order. It is immutable, and replaced with the mutex held.
//
// Invariant, while the mutex is not held: a version has a part of a reservation only if
// the reservation is in the line, and active. The first of the line is active. A
// reservation that has ended by the grants of a commit may still be in the line, until
// that commit returns.
//
// Versions get parts with the mutex held, and lose them with it or by a commit. A cut
// begins with the mutex held. So it has all parts of a reservation or none, but for those
// that were granted.
type lined struct {
	*reservation
	active bool // it keeps room
}

// reserved returns the reservations in their order. The list is immutable.
func (c *Cell) reserved() []lined {
	if list := c.reservations.Load(); list != nil {
		return *list
	}
	return nil
}

// setLine replaces the list of reservations, with the mutex held.
func (c *Cell) setLine(list []lined) {
	if len(list) == 0 {
		c.reservations.Store(nil)
		return
	}
	c.reservations.Store(&list)
}

// left returns the rest of an active reservation's part, nil for nothing.
func (c *Cell) left(r *reservation, p *part) *resources.Vector {
	parts := load(c.words.at(uint32(p.machine.Node()))).reserved()
	if at := parts.find(r.id); at >= 0 {
		return &parts[at].need
	}
	return nil
}

// begin puts a reservation in the line, with the mutex held, unless it is not allowed.
func (s *Scheduler) begin(asked *reserving) (ReservationID, error) {
	c, o, first := s.cell, s.owner, &asked.claims[0]
	r := &reservation{owner: o, account: first.Account, precedence: first.Precedence, until: asked.until}
	mask := o.mask.Load()
	for i := range asked.claims {
		claim := &asked.claims[i]
		switch o.permits(claim, mask) {
		case notPermitted:
			return 0, refuse(ErrForbidden, "scheduler %q: reservation at precedence %d, want %d to %d",
				o.name, claim.Precedence, o.limits.Lowest, o.limits.Highest)
		case forbidden:
			return 0, refuse(ErrForbidden, "scheduler %q: reservation on machine %v, permitted are %s", o.name, claim.Machine, mask.text())
		}
		r.need = r.need.Add(claim.Need)
		at, found := slices.BinarySearchFunc(r.parts, claim.Machine.Node(), func(p part, node locality.Node) int {
			return cmp.Compare(p.machine.Node(), node)
		})
		if !found {
			r.parts = slices.Insert(r.parts, at, part{machine: claim.Machine})
		}
		r.parts[at].need = r.parts[at].need.Add(claim.Need)
	}
	for i := range r.parts {
		if err := c.unfit(&r.parts[i]); err != nil {
			return 0, err
		}
	}
	if o.jobless() {
		return 0, limit("scheduler %q: reservation while no job is admitted", o.name)
	}
	all := r.need
	for _, other := range c.reserved() {
		if other.owner == o {
			all = all.Add(other.need)
		}
	}
	if err := o.limits.allow(o.name, len(asked.claims), &all, c.space); err != nil {
		return 0, err
	}
	c.lastReservation++
	r.id = c.lastReservation
	list := slices.Clone(c.reserved())
	at := 0
	for at < len(list) && list[at].before(r) {
		at++
	}
	c.setLine(slices.Insert(list, at, lined{reservation: r}))
	c.tellNews(o)
	return r.id, nil
}

// unfit returns an error unless the machine of a part could hold it if it were empty, and
// takes claims.
func (c *Cell) unfit(p *part) error {
	val := load(c.words.at(uint32(p.machine.Node())))
	switch {
	case val.spec.id != p.machine || val.cond == Removed:
		return refuse(ErrRemoved, "reservation on machine %v", p.machine)
	case val.cond == Draining:
		return refuse(ErrDraining, "reservation on machine %q", val.spec.Name)
	case !resources.Fits(&p.need, &val.spec.Capacity):
		return refuse(ErrNeverFits, "reservation of %s on machine %q of %s",
			c.space.Format(p.need), val.spec.Name, c.space.Format(val.spec.Capacity))
	}
	return nil
}

// unreserve ends a reservation, with the mutex held.
func (s *Scheduler) unreserve(id ReservationID, now time.Time) error {
	c := s.cell
	i := slices.IndexFunc(c.reserved(), func(r lined) bool { return r.id == id })
	if i < 0 {
		return refuse(ErrReleased, "reservation %d", id)
	}
	r := c.reserved()[i]
	if r.owner != s.owner && !r.over(now) {
		return refuse(ErrNotOwner, "reservation %d of %q", id, r.owner.name)
	}
	c.drop(r)
	c.setLine(slices.Delete(slices.Clone(c.reserved()), i, i+1))
	return nil
}

// endReservations ends the reservations that the transaction names for that.
func (s *Scheduler) endReservations(tx *Txn) {
	c := s.cell
	c.mu.Lock()
	defer c.mu.Unlock()
	for i := range tx.reserves {
		if r := &tx.reserves[i]; r.end && !s.superseded() {
			r.err = s.unreserve(r.id, tx.time())
		}
	}
	c.arrange(tx.time())
}

// settleReservations follows a commit that has been granted a part of a reservation, or
// has met one that is over. It also begins the reservations of the transaction.
func (s *Scheduler) settleReservations(tx *Txn) {
	c := s.cell
	c.mu.Lock()
	defer c.mu.Unlock()
	for i := range tx.items {
		it := &tx.items[i]
		if it.kind == releaseItem || it.kind == followerItem || it.verdict != done || !it.beside {
			continue
		}
		sum := it.claim.Need
		for n := i + 1; n < len(tx.items) && tx.items[n].kind == followerItem; n++ {
			sum = sum.Add(tx.items[n].claim.Need)
		}
		s.credit(it.claim.Reservation, it.claim.Machine, &sum)
	}
	for i := range tx.reserves {
		if r := &tx.reserves[i]; s.superseded() {
			r.err = s.supersededError()
		} else if !r.end {
			r.id, r.err = s.begin(r)
		}
	}
	c.arrange(tx.time())
}

// credit has a reservation need less on a machine: a claim that names it was granted there
// while it waited in line. The mutex is held.
func (s *Scheduler) credit(id ReservationID, m MachineID, need *resources.Vector) {
	c := s.cell
	list := slices.Clone(c.reserved())
	i := slices.IndexFunc(list, func(r lined) bool { return r.id == id && r.owner == s.owner })
	if i < 0 {
		return
	}
	r := *list[i].reservation
	at := slices.IndexFunc(r.parts, func(p part) bool { return p.machine == m })
	switch {
	case at < 0:
	case list[i].active: // by now
		c.swap(uint32(m.Node()), func(old, next *version) bool {
			next.setReserved(old.reserved().granted(id, need))
			return old.reserved().find(id) >= 0
		})
	default:
		r.parts = slices.Clone(r.parts)
		if r.parts[at].need = less(r.parts[at].need, need); r.parts[at].need == (resources.Vector{}) {
			r.parts = slices.Delete(r.parts, at, at+1)
		}
		list[i].reservation = &r
		c.setLine(list)
	}
}

// less returns the rest of need after a grant of some.
func less(need resources.Vector, some *resources.Vector) resources.Vector {
	for k, q := range some {
		need[k] = max(0, need[k]-q)
	}
	return need
}

// arrange ends reservations, and then has the first ones of the others keep room. It ends
// those that are over at now, have nothing left, or can never be ready any more. The
// mutex is held.
//
// It decides by the present state alone, so any goroutine can do what another has left to
// do. Cost: O(reservations × their machines).
func (c *Cell) arrange(now time.Time) {
	old := c.reserved()
	if len(old) == 0 {
		return
	}
	list := make([]lined, 0, len(old))
	var sum resources.Vector // of the needs of those that keep room
	for _, r := range old {
		if r.owner.left.Load() || r.over(now) || c.done(r) {
			c.drop(r)
			continue
		}
		list = append(list, r)
		if r.active {
			sum = sum.Add(r.need)
		}
	}
	for i := range list {
		r := &list[i]
		if r.active {
			continue
		}
		// The first keeps room even beyond the share.
		if sum = sum.Add(r.need); i > 0 && !c.mayReserve(&sum) {
			break // later reservations are not to overtake it
		}
		r.active = true
		for p := range list[i].parts {
			c.keep(list[i].reservation, &list[i].parts[p])
		}
	}
	c.setLine(list)
}

// done reports whether nothing is left of a reservation, or a machine of it cannot have its
// part any more.
func (c *Cell) done(r lined) bool {
	none := r.active || len(r.parts) == 0
	for i := range r.parts {
		p := r.parts[i]
		if r.active {
			left := c.left(r.reservation, &p)
			if left == nil {
				if _, cond := c.specOf(p.machine); cond == Removed {
					return true // it was lost
				}
				continue // it was granted
			}
			none, p.need = false, *left
		}
		if c.unfit(&p) != nil {
			return true
		}
	}
	return none
}

// mayReserve reports whether sum is within the share that reservations may keep together.
func (c *Cell) mayReserve(sum *resources.Vector) bool {
	for k, q := range sum {
		if float64(q) > c.share*float64(c.total[k]) {
			return false
		}
	}
	return true
}

// keep has a machine keep room for a part of a reservation, with the mutex held. A
// machine that takes no claims any more keeps none, and arrange will find that out.
func (c *Cell) keep(r *reservation, p *part) {
	c.swap(uint32(p.machine.Node()), func(old, next *version) bool {
		if old.spec.id != p.machine || old.cond != Ready {
			return false
		}
		next.setReserved(old.reserved().with(r, p.need))
		return true
	})
}

// drop takes the parts of a reservation off its machines, with the mutex held.
func (c *Cell) drop(r lined) {
	if !r.active {
		return
	}
	for i := range r.parts {
		node := uint32(r.parts[i].machine.Node())
		c.swap(node, func(old, next *version) bool {
			rest := old.reserved().without(r.id, time.Time{})
			if len(rest) == len(old.reserved()) {
				return false
			}
			next.setReserved(rest)
			return true
		})
		c.wake(node)
	}
}
