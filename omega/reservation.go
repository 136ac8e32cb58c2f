package omega

import (
	"fmt"
	"iter"
	"time"

	"github.com/cellsched/cellsched/resources"
)

// ReservationID names one reservation of a cell for ever; of two, the older has the lower
// ID. The zero ReservationID names none.
type ReservationID uint64

// Reservation is room that a cell keeps for one need which does not fit yet: on one
// machine or, for a gang, on several. It collects free room there, now and as it is
// freed, up to the need, kind by kind. A claim that names it is granted that room, in
// the step that ends it.
//
// Reservations are in one order: higher precedence first, then the older. The first keeps
// room, and the next ones do as far as all together stay within [Config.Reserved]; the
// others wait in line. Of the room that a reservation keeps,
//
//   - a claim of its precedence or below that does not name it takes nothing, even if
//     its transaction releases or preempts as much on the machine;
//   - a claim of a higher precedence may take some, and the reservation waits on;
//   - a claim that names a later reservation takes nothing;
//   - an exchange keeps the room that it gives up for its own claims.
//
// A reservation ends when
//
//   - claims that name it have been granted all of its need;
//   - its scheduler withdraws it ([Txn.Unreserve]) or leaves; a successor keeps it;
//   - Until has passed: the next commit ends it that meets it with a later [Txn.Now];
//   - one of its machines takes no claims any more, or has become too small.
//
// It is not charged: [Cell.Usage] counts allocations alone, so that an order by share
// does not put an account last because room is kept for it. Limits hold for it as for its
// claims; all reservations of a scheduler may need no more than it may hold.
type Reservation struct {
	ID         ReservationID
	Scheduler  string
	Precedence Precedence
	Until      time.Time
	// Claims are of the need that is left, one for each machine. They name the reservation,
	// and may be added to a transaction as they are.
	Claims []Claim
	// Ready tells that the claims fit, as the snapshot knows the machines.
	Ready bool
	// InLine tells that it keeps no room yet.
	InLine bool
}

// reserving is a part of a transaction that begins or ends a reservation.
type reserving struct {
	claims []Claim
	until  time.Time
	id     ReservationID // of the one that it ends, or has begun
	end    bool
	err    error // of its outcome
}

// Reserve adds a reservation for claims that are needed at once, and returns its number,
// from 0, for [Txn.Reservation]; -1 for a committed transaction. It ends at until, by the
// Now of later commits. The claims have one account and precedence, no victims and no
// grantee.
//
// A transaction ends reservations before its claims and releases and begins them after
// these, whatever becomes of those. Its commit takes a mutex then, as Add, Drain and
// Remove do. Cost: O(reservations × their machines).
func (t *Txn) Reserve(until time.Time, claims ...Claim) int {
	return t.reserve(reserving{until: until, claims: claims})
}

// Unreserve adds the end of a reservation, of the scheduler's own or any that is over at
// Txn.Now, and returns its number, as Reserve does.
func (t *Txn) Unreserve(id ReservationID) int { return t.reserve(reserving{id: id, end: true}) }

func (t *Txn) reserve(r reserving) int {
	if t == nil || !t.open() {
		return -1
	}
	t.reserves = append(t.reserves, r)
	return len(t.reserves) - 1
}

// Reservation returns the ID of reservation i of a committed transaction, and an error if
// it was not begun, or could not be ended:
//
//   - [ErrForbidden] or [ErrLimit]: the [Limits] do not allow it;
//   - [ErrDraining], [ErrRemoved] or [ErrNeverFits]: a machine cannot have it;
//   - [ErrReleased], [ErrNotOwner]: it is over, or another scheduler's;
//   - [ErrSuperseded]; [ErrTxn]; [ErrUnknown] for another i.
func (t *Txn) Reservation(i int) (ReservationID, error) {
	switch {
	case t == nil:
		return 0, absent("transaction")
	case i < 0 || i >= len(t.reserves):
		return 0, unknown("reservation %d of a transaction of %d", i, len(t.reserves))
	case !t.committed():
		return 0, errUncommitted
	}
	return t.reserves[i].id, t.reserves[i].err
}

// checkReserves validates the reservations of t.
func (t *Txn) checkReserves(s *Scheduler) error {
	for i := range t.reserves {
		r := &t.reserves[i]
		if r.end {
			t.ends = true
			continue
		}
		switch {
		case len(r.claims) == 0:
			return fmt.Errorf("%w: reservation %d for no claim", errReservation, i)
		case r.until.IsZero():
			return fmt.Errorf("%w: reservation %d without the time until which", errReservation, i)
		case !t.Now.IsZero() && !t.Now.Before(r.until):
			return fmt.Errorf("%w: reservation %d until %v, want a time after %v", errReservation, i, r.until, t.Now)
		}
		var sum resources.Vector
		for n := range r.claims {
			claim, first := &r.claims[n], &r.claims[0]
			switch {
			case s.cell.word(claim.Machine) == nil:
				return unknown("%s in claim %d of reservation %d", s.cell.called(claim.Machine), n, i)
			case s.cell.ledger(claim.Account) == nil:
				return unknown("account %d in claim %d of reservation %d", claim.Account, n, i)
			case claim.Account != first.Account || claim.Precedence != first.Precedence:
				return fmt.Errorf("%w: reservation %d: claim %d is of account %d at %d, claim 0 of account %d at %d",
					errReservation, i, n, claim.Account, claim.Precedence, first.Account, first.Precedence)
			case len(claim.Victims) > 0 || claim.Grantee != nil || claim.Reservation != 0:
				return fmt.Errorf("%w: reservation %d: claim %d has victims, a grantee or a reservation, want none", errReservation, i, n)
			}
			if err := claim.Need.CheckNeed(); err != nil {
				return refuse(s.cell.inUnits(err, &claim.Need), "reservation %d: claim %d on %s", i, n, s.cell.called(claim.Machine))
			}
			for k, q := range claim.Need {
				if sum[k] += q; uint64(sum[k]) > uint64(resources.MaxQuantity) {
					return refuse(resources.ErrQuantity, "reservation %d: needs add up to more than 2^62 of a kind", i)
				}
			}
		}
	}
	return nil
}

// Reservations walks the cell's present reservations in their order, those in line
// included. Ready is judged by the snapshot. The loop body may commit. Cost:
// O(reservations × their machines), and two heap objects for each.
func (s *Snapshot) Reservations() iter.Seq[Reservation] {
	return func(yield func(Reservation) bool) {
		if s.none() {
			return
		}
		for _, r := range s.cell.reserved() {
			out := Reservation{
				ID: r.id, Scheduler: r.owner.name, Precedence: r.precedence, Until: r.until,
				Claims: make([]Claim, 0, len(r.parts)), Ready: r.active, InLine: !r.active,
			}
			for i := range r.parts {
				p := &r.parts[i]
				need, ready := p.need, false
				if r.active {
					left := s.cell.left(r.reservation, p)
					if left == nil {
						continue
					}
					need = *left
					if s.knows(p.machine) {
						ready = s.val[p.machine.Node()].fills(r.reservation)
					}
				}
				out.Ready = out.Ready && ready
				out.Claims = append(out.Claims, Claim{
					Machine: p.machine, Account: r.account, Need: need, Precedence: r.precedence, Reservation: r.id,
				})
			}
			if len(out.Claims) > 0 && !yield(out) {
				return
			}
		}
	}
}

// FreeFor is [Snapshot.Free] for a claim that names an own reservation: with the room
// kept for that and for those behind it, and with the room taken in the snapshot.
func (s *Snapshot) FreeFor(m MachineID, id ReservationID) (resources.Vector, bool) {
	free, ok := s.Free(m)
	if !ok {
		return free, false
	}
	val := s.val[m.Node()]
	parts := val.reserved().without(0, s.at)
	if at := parts.find(id); at >= 0 && parts[at].by.owner == s.owner {
		all := val.free()
		free = parts.room(&all, parts[at].by.precedence, id)
	}
	return free, true
}

// ready reports whether a reservation of the snapshot's owner is ready.
func (s *Snapshot) ready() bool {
	for r := range s.Reservations() {
		if r.Ready && r.Scheduler == s.owner.name {
			return true
		}
	}
	return false
}
