package omega

import (
	"math"
	"slices"
	"time"

	"github.com/cellsched/cellsched/resources"
)

// rare is the part of a version that few have. It is immutable.
type rare struct {
	leaving  *leaving // see version
	reserved reserved
}

// makeRare returns a rare of what there is, old where that has the same, nil for nothing.
func makeRare(old *rare, l *leaving, r reserved) *rare {
	switch {
	case l == nil && len(r) == 0:
		return nil
	case old != nil && old.leaving == l && slices.Equal(old.reserved, r):
		return old
	}
	return &rare{leaving: l, reserved: r}
}

// leaving returns the preempted allocations that may still be running.
func (v *version) leaving() *leaving {
	if v.rare == nil {
		return nil
	}
	return v.rare.leaving
}

// reserved returns the parts of reservations that keep room.
func (v *version) reserved() reserved {
	if v.rare == nil {
		return nil
	}
	return v.rare.reserved
}

// setReserved gives v other parts. V is in no word yet.
func (v *version) setReserved(r reserved) {
	v.rare = makeRare(v.rare, v.leaving(), r)
	v.keeps = len(r) > 0
}

// reserved are the parts of reservations that keep room on one machine, in the order of
// their reservations. It is immutable.
//
// Bound: assume, from some moment t on, that
//
//   - r is the first reservation in the order;
//   - no allocation is longer than L, counting an exchange as a continuation;
//   - no claim of a higher precedence is granted on the machines of r.
//
// Then r is ready from t + L on, whatever else is committed, unless it ends.
//
//  1. The first reservation keeps room on each of its machines: see lined. Its part is the
//     first in each version there.
//  2. Let a version be put in place after t by a commit, and let q be what the part
//     needs of kind k. The commit read a version that has the part: otherwise its swap
//     would have failed. Each claim in it which needs some of k, and is neither r's nor
//     an exchange, was granted with q of k left free: see room. Releases leave more of
//     k free. An exchange takes no more of k than it gives back and what is free beyond
//     q.
//  3. So once a claim as in 2 was granted, q of k are free from then on. Until then k
//     is in use by allocations alone that were live at t, and by those that were
//     exchanged for them. They end within L. Then all of the machine's k is free, which
//     is q or more, or the reservation would have ended.
//  4. Hence at t + L each part finds its need free, of all kinds, on each machine, and
//     it stays so. A transaction that names r is granted by its first commit. The owner
//     is woken by the release that has made the last part fit: see fills.
//
// So the n-th reservation in the order is ready within n × (L + d), if each before it
// ends within d of being ready. A reservation ends when it is granted, withdrawn, or
// over. Reservations that are begun later and have no higher precedence come behind it.
//
// Bound for a need: let its scheduler begin a reservation as soon as the one before has
// ended by its Until, each as long as package luby says, in units of u. Let each begin as
// the n-th in the order at most, R = n × (L + d), and k the least number with u × 2^k >= R.
//
//  5. Of the first 2^(k+1) - 1 reservations one lasts u × 2^k, and so R or more.
//  6. By the bound above it is ready, and granted, within R of its begin.
//  7. All up to it last (k+1) × u × 2^k, so the need is met within (k+1) × max(u, 2R) of the
//     first begin. No length of an allocation is too long for that, known or not.
//
// The loop, flow, offers and a pool on a cell reserve like this. Whether the machines that
// they choose are the same each time makes no difference.
type reserved []keeps

// keeps is one machine's share of a reservation, with the amount not yet claimed.
type keeps struct {
	by   *reservation
	need resources.Vector
}

// room returns the part of free that a claim of that precedence may have which names
// reservation id, or none. The rest is kept for the reservations that the claim has to leave
// room for: kind by kind as much as there is, up to their needs.
func (r reserved) room(free *resources.Vector, p Precedence, id ReservationID) (room resources.Vector) {
	room = *free
	for i := range r {
		if r[i].by.id == id || r[i].by.precedence < p {
			break // those behind it are of no higher precedence
		}
		room = less(room, &r[i].need)
	}
	return room
}

// beside returns the free room that a claim of need requires at a precedence: the need, and
// in its kinds the room of the reservations that come before it.
func (r reserved) beside(need resources.Vector, p Precedence) resources.Vector {
	for i := range r {
		if r[i].by.precedence < p {
			break
		}
		for k, q := range r[i].need {
			if need[k] > 0 {
				need[k] += min(q, math.MaxInt64-need[k])
			}
		}
	}
	return need
}

// find returns the place of a reservation's part, or -1.
func (r reserved) find(id ReservationID) int {
	return slices.IndexFunc(r, func(one keeps) bool { return one.by.id == id })
}

// with returns r and a part of a reservation, which it does not have yet.
func (r reserved) with(by *reservation, need resources.Vector) reserved {
	at := 0
	for at < len(r) && r[at].by.before(by) {
		at++
	}
	return slices.Insert(slices.Clone(r), at, keeps{by, need})
}

// without returns those parts that are not over at now, and not of reservation id.
func (r reserved) without(id ReservationID, now time.Time) reserved {
	gone := func(one keeps) bool { return one.by.id == id || one.by.over(now) }
	if !slices.ContainsFunc(r, gone) {
		return r
	}
	return slices.DeleteFunc(slices.Clone(r), gone)
}

// granted returns the rest once a claim that names reservation id was granted need.
func (r reserved) granted(id ReservationID, need *resources.Vector) reserved {
	at := r.find(id)
	if at < 0 {
		return r
	}
	rest := slices.Clone(r)
	if rest[at].need = less(rest[at].need, need); rest[at].need == (resources.Vector{}) {
		return slices.Delete(rest, at, at+1)
	}
	return rest
}

// roomFor returns what a snapshot shows its owner as free: the owner may claim it at each
// precedence that it has, by the machine's reservations as they are at now.
func (v *version) roomFor(o *owner, now time.Time) resources.Vector {
	free := v.free()
	return v.reserved().without(0, now).room(&free, o.limits.Lowest, 0)
}

// fills reports whether the machine has room for the rest of a reservation's part.
func (v *version) fills(by *reservation) bool {
	r := v.reserved()
	at := r.find(by.id)
	if at < 0 || v.cond != Ready {
		return false
	}
	room := v.free()
	room = r.room(&room, by.precedence, by.id)
	return resources.Fits(&r[at].need, &room)
}

// fillsOne is fills for any reservation of an owner.
func (v *version) fillsOne(o *owner) bool {
	return slices.ContainsFunc(v.reserved(), func(one keeps) bool { return one.by.owner == o && v.fills(one.by) })
}

// names returns the reservation that a claim of an owner names, if it is the owner's
// and has a part among r. Else it returns 0: a claim that names any other is judged as
// one of none.
func (r reserved) names(o *owner, claim *Claim) ReservationID {
	if claim.Reservation != 0 {
		if at := r.find(claim.Reservation); at >= 0 && r[at].by.owner == o {
			return claim.Reservation
		}
	}
	return 0
}
