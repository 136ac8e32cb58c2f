package omega

import (
	"fmt"
	"iter"
	"time"

	"github.com/cellsched/cellsched/resources"
)

// ReservationID names one reservation of a cell for ever. The zero ReservationID names
// none. IDs are plain values; of two, that of the older reservation is lower.
type ReservationID uint64

// Reservation is room that a cell keeps for one need which does not fit yet: on one
// machine or, for a gang, on several. It takes what is free there now and what becomes
// free there, up to the need, kind by kind. A claim that names it is granted that room,
// in the step that ends the reservation.
//
// Reservations are in one order: a higher precedence comes first, then the older. Claims
// meet them so:
//
//   - A claim that names no reservation does not take the room of reservations of its own
//     precedence and above. It is refused even where its transaction releases as much on
//     the machine or preempts allocations for it.
//   - A claim of a higher precedence may take the room. The reservation stays, and waits on.
//   - A claim that names a reservation does not take the room of those before it.
//   - Exchanged room stays with the claims that it is exchanged for.
//
// The first reservation in the order keeps room. Those behind it do so, in the order, as
// far as all together stay within [Config.Reserved]; the others wait in line.
//
// A reservation ends when
//
//   - claims that name it have been granted all of its need;
//   - its scheduler withdraws it ([Txn.Unreserve]) or leaves;
//   - Until has passed: any scheduler's commit ends it that meets it with a later
//     [Txn.Now], as does [Txn.Unreserve] of any scheduler;
//   - one of its machines takes no claims any more, or has become too small.
//
// A scheduler that is replaced leaves its reservations to its successor.
//
// Nothing is charged for a reservation: [Cell.Usage] and [Scheduler.Usage] are of
// allocations. An order that serves the least share would otherwise serve an account
// last because room is kept for it. [Limits] hold for it as for its claims; those that
// a scheduler has may not need more together than it may hold.
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
	err    error // of what has become of it
}

// Reserve adds a reservation for claims, all of which are needed at once. It returns
// its number, from 0, by which [Txn.Reservation] tells what has become of it; -1 for a
// transaction that was committed.
//
// A reservation ends at until, by the times that schedulers commit with. The claims are
// of one account and precedence, and have neither victims nor a grantee. Claims on one
// machine are kept room for together.
//
// Reservations end before the claims and releases of the transaction and begin after them,
// in the order in which they were added, whatever becomes of those. The commit takes a mutex
// then, that Add, Drain and Remove take. Cost: O(reservations × their machines).
func (t *Txn) Reserve(until time.Time, claims ...Claim) int {
	return t.reserve(reserving{until: until, claims: claims})
}

// Unreserve adds the end of a reservation: of the scheduler's own, or of any that is over at
// [Txn.Now]. It returns its number, as Reserve does.
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
//   - [ErrForbidden] or [ErrLimit] if the scheduler's [Limits] do not allow it;
//   - [ErrDraining], [ErrRemoved] or [ErrNeverFits] for a machine that cannot have it;
//   - [ErrReleased] for the end of one that there is not, or not any more;
//   - [ErrNotOwner] for the end of another scheduler's that is not over;
//   - [ErrSuperseded]; [ErrUncommitted]; [ErrUnknown] for another i.
func (t *Txn) Reservation(i int) (ReservationID, error) {
	switch {
	case t == nil:
		return 0, absent("transaction")
	case i < 0 || i >= len(t.reserves):
		return 0, unknown("reservation %d of a transaction of %d", i, len(t.reserves))
	case !t.committed():
		return 0, ErrUncommitted
	}
	return t.reserves[i].id, t.reserves[i].err
}

// checkReserves validates what t reserves.
func (t *Txn) checkReserves(s *Scheduler) error {
	for i := range t.reserves {
		r := &t.reserves[i]
		if r.end {
			t.ends = true
			continue
		}
		switch {
		case len(r.claims) == 0:
			return fmt.Errorf("%w: reservation %d for no claim", ErrReservation, i)
		case r.until.IsZero():
			return fmt.Errorf("%w: reservation %d without the time until which", ErrReservation, i)
		case !t.Now.IsZero() && !t.Now.Before(r.until):
			return fmt.Errorf("%w: reservation %d until %v, want a time after %v", ErrReservation, i, r.until, t.Now)
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
					ErrReservation, i, n, claim.Account, claim.Precedence, first.Account, first.Precedence)
			case len(claim.Victims) > 0 || claim.Grantee != nil || claim.Reservation != 0:
				return fmt.Errorf("%w: reservation %d: claim %d has victims, a grantee or a reservation, want none", ErrReservation, i, n)
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

// Reservations walks the reservations that the cell has now, in their order, those that
// wait in line included. Whether they are ready is as the snapshot knows the machines.
// The loop body may commit. Cost: O(reservations × their
// machines), and two heap objects for each.
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

// FreeFor is [Snapshot.Free] for a claim that names a reservation of the snapshot's
// scheduler: with what is kept for that and for those behind it. Room that was taken with
// [Snapshot.Take] is free here.
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
