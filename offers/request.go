package offers

import (
	"fmt"
	"slices"
	"time"

	"github.com/cellsched/cellsched/internal/fault"
	"github.com/cellsched/cellsched/resources"
)

// Request asks for a gang offer: all of its machines or none.
//
// What is asked for is offered also while the framework is suppressed, and without
// regard to filters, its minimum, Config.Smallest and what it is offered at once; but it
// has to stand back as from other offers from what it declines, or lets expire, again and
// again. Room that becomes free goes by turns to requests and to those who wait for
// offers: by the [Order], and if it was declined to those first who decline less. A
// request counts as its framework stands without it, so that a gang comes about that is
// larger than a fair share, once it is its turn. Then what it needs of a machine is kept
// from other frameworks until there is enough, so that no stream of small offers starves
// it; until then it is not claimed in the cell, nor charged to anybody. Only one
// request at a time gathers in this way, so that no two wait for each other's room; and
// where nothing has been added for as long as an offer lasts, or 30 s if that is for ever,
// it lets all of it go, and gathers no more until each framework could have been
// offered something twice. Nothing is kept for who has to stand back. Room that nobody
// else wants is there for all requests: those go first whose frameworks decline less,
// then by the order, then whoever asked first.
//
// One that may Revoke, and is within the guarantee, goes before everybody else: it
// has what is free and what others gather, or are offered beyond what they are
// guaranteed. While others are to leave for it the framework is offered nothing else.
// Where offers are optimistic (see [Terms]) nothing is kept from anybody, and all
// requests go first. The answer comes with the [News].
//
// A gang for which there could be no room even if nothing ran is refused: fewer
// machines that the framework can use are large enough, of those in the cell as the
// master has seen it. The terms do not count, which move. Once it is asked for it
// waits, though machines may go: they may also come. Whoever registers in the name
// of the framework does not take its requests over: see [Master.Register].
//
// Cost: O(machines + requests). While there are requests, each machine that changes
// costs O(requests) more, and each call that changes some O(requests × machines with
// room that nobody wanted), or O(machines) for each of less than Config.Smallest; a
// [Master.Step] costs O(requests + allocations) for each that would revoke and cannot.
// Errors: [ErrEmpty] for no machine or nothing on each, [resources.ErrQuantity],
// [ErrExceeds] for more than the cell could hold or a revocation beyond the guarantee,
// [ErrExpired] for a deadline that is past, [ErrFenced], [ErrUnregistered].
func (h *Framework) Request(now time.Time, r Request) (RequestID, error) {
	if err := h.check(); err != nil {
		return 0, err
	}
	m, f := h.m, h.f
	m.mu.Lock()
	defer m.unlock()
	if err := h.enter(now); err != nil {
		return 0, err
	}
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
	one := &request{Request: r, id: RequestID(m.registry.last), of: f}
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
	if err := h.check(); err != nil {
		return err
	}
	m, f := h.m, h.f
	m.mu.Lock()
	defer m.unlock()
	if err := h.enter(now); err != nil {
		return err
	}
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
