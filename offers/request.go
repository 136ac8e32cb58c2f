package offers

import (
	"fmt"
	"slices"
	"time"

	"github.com/cellsched/cellsched/internal/fault"
	"github.com/cellsched/cellsched/resources"
)

// Request asks for a gang offer: all of its machines or none. The answer comes with the
// [News].
//
// The machines of a request are offered without regard to suppression, filters of
// declines, Registration.Minimum, Registration.Outstanding and Config.Smallest. Back-off
// does count: room that the framework declines, or lets expire, again and again stays
// hidden from it.
//
// Room that becomes free goes by turns to requests and to frameworks that wait for
// offers, by the [Order]. Room that was declined goes first to frameworks that decline
// less. The rank of a request is the rank of its framework without the request. So a gang
// can be larger than a fair share, once it is its turn.
//
// Once it is its turn, a request without room reserves its machines in the cell: see
// [omega.Reservation]. So neither small offers nor other schedulers of the cell starve it.
// Nothing is charged to an account for that. Only one request at a time reserves.
//
// Let T be the timeout of offers, or 30 s if offers do not expire.
//
//   - The first reservation of one machine ends after 10 T. It ends earlier if another
//     framework is ahead, unless the request has waited for T.
//   - The first reservation of several machines ends when no further machine has had the
//     room for T, or after 10 T.
//   - Later ones of the request may last longer: 1, 2, 1, 1, 2, 4, ... times as long. So one
//     of them is long enough.
//
// After a reservation that expired without an answer, the framework reserves nothing for
// T, or until each framework could have been offered something twice; after a longer one
// for as many times that. A framework that backs off reserves nothing.
//
// Bound: let L be the longest time of an allocation, and each reservation of the request
// the first in the order of the cell. A request for one machine is answered within L of its
// first reservation if L is 10 T at most, else within some 2 L × log2(L/T). This holds
// whatever other schedulers commit. Requests of other frameworks that are ahead come first.
//
// Room that no other framework wants is there for all requests. Those of frameworks that
// decline less go first, then by the order, then by age.
//
// A request that may Revoke, and is within the guarantee, goes before all others. It has
// the free room, what others reserve, and what others are offered beyond their
// guarantees. While tasks of others are being revoked for it, its framework is offered
// nothing else. With optimistic offers (see [Terms]) nothing is reserved, and all
// requests go first.
//
// A gang is refused if there could be no room for it even in an empty cell. Then too few
// of the machines that the framework can use are large enough, as the master has seen
// them. The terms do not count, since they change. An accepted request waits even if machines
// go, since they may also come. A later registration of the framework forgets its
// requests: see [Master.Register].
//
// Cost: O(machines + requests). While there are requests, more is due at each change. An
// idle machine has room that no framework wanted.
//
//   - A machine that changes costs O(requests).
//   - A call that changes some costs O(requests × idle machines), or O(machines) for each
//     request of less than Config.Smallest.
//   - A [Master.Step] costs O(requests + allocations) for each request that would revoke
//     and cannot.
//
// Errors:
//
//   - [ErrEmpty] for no machine, or for nothing on each,
//   - [resources.ErrQuantity],
//   - [ErrExceeds] for more than the cell could hold, or a revocation beyond the
//     guarantee,
//   - [ErrExpired] for a deadline that is past,
//   - [ErrFenced], [ErrUnregistered].
func (h *Framework) Request(now time.Time, r Request) (RequestID, error) {
	m, f, err := h.enter(now)
	if err != nil {
		return 0, err
	}
	defer m.unlock()
	if r.Machines < 1 || r.Each == (resources.Vector{}) {
		return 0, fmt.Errorf("%w: framework %q asks for %s on %d machines", ErrEmpty, f.name, m.format(r.Each), r.Machines)
	}
	if err := r.Each.Check(); err != nil {
		return 0, fault.Newf("offers", err, "framework %q: request", f.name)
	}
	if !r.Deadline.IsZero() && !m.now.Before(r.Deadline) {
		return 0, fmt.Errorf("%w: framework %q: its deadline %v is past", errRequestExpired, f.name, r.Deadline)
	}
	if n := m.floor.largeEnough(f, &r); n < r.Machines {
		return 0, fmt.Errorf("%w: framework %q asks for %s on %d machines, %d that it can use are so large: %d are missing",
			ErrExceeds, f.name, m.format(r.Each), r.Machines, n, r.Machines-n)
	}
	if asks, ok := m.guarantees.covers(f, &r); r.Revoke && !ok {
		return 0, m.guarantees.beyond(f, asks)
	}
	m.registry.last++
	one := &request{Request: r, id: RequestID(m.registry.last), of: f, since: m.now}
	m.registry.requests = append(m.registry.requests, one)
	if !r.Deadline.IsZero() {
		m.timers.Start(&one.timer, r.Deadline, one)
	}
	m.replan(planRequests)
	return one.id, m.fenced
}

// Withdraw takes a request back. Errors: [ErrUnknown] if it is answered or never
// was, [ErrFenced], [ErrUnregistered].
func (h *Framework) Withdraw(now time.Time, id RequestID) error {
	m, f, err := h.enter(now)
	if err != nil {
		return err
	}
	defer m.unlock()
	i := slices.IndexFunc(m.registry.requests, func(r *request) bool { return r.of == f && r.id == id })
	if i < 0 {
		return fault.New("offers", fmt.Sprintf("framework %q: request %d", f.name, id), errUnknown, ErrUnknown)
	}
	m.gangs.drop(m.registry.requests[i])
	m.replan(planRooms)
	return m.fenced
}

// largeEnough counts the machines on which a framework could ever have one part of
// a request.
func (fl *floor) largeEnough(f *member, r *Request) (count int) {
	for _, n := range fl.nodes {
		if !n.gone && f.suits(n) && r.Each.Fits(n.capacity) {
			count++
		}
	}
	return count
}
