package offers

import (
	"fmt"
	"slices"
	"time"

	"github.com/cellsched/cellsched/omega"
	"github.com/cellsched/cellsched/resources"
)

// Request asks for room on several machines at once: a gang offer.
type Request struct {
	// Machines is how many machines, and Each what is to be offered on each.
	Machines int
	Each     resources.Vector
	// Deadline is when the framework gives up, the zero time for never.
	Deadline time.Time
	// Revoke takes the room from those who hold more than they are guaranteed, if
	// there is none. What the framework runs, is offered (and may decline first) and asks
	// for, by this one and by what it has asked for before that revokes, has to be within
	// its own guarantee, of each kind that this one asks for. It has to be so until others
	// have left: where it is not any more, since the framework has come to have more
	// otherwise, they may stay, and the request waits for free room like any other until
	// it is again.
	Revoke bool
}

// total returns what a request adds up to.
func (r *Request) total() resources.Vector { return r.Each.Scale(int64(r.Machines)) }

// RequestID names one request of a framework.
type RequestID uint64

// Answer is what became of a request.
type Answer struct {
	Request RequestID
	// Offers are what was asked for, if there is no Reason; else it is
	// [ErrExpired].
	Offers []Offer
	Reason error
}

// request is one that is not answered.
type request struct {
	Request
	id    RequestID
	of    *member
	timer timer
	plan  *plan // of a revocation that has begun
}

// Request asks for a gang offer: all of its machines or none. Nothing is kept
// free for it, so two frameworks that each need most of the cell never wait for
// what the other has: whoever comes first gets it in one step, and the other one
// once it is free again. Neither does anybody wait for a gang that does not
// come about: in a busy cell it is a matter of luck, unless it may Revoke.
//
// What is asked for is offered before what the framework merely wants, and while
// it is suppressed, too: filters, its minimum, Config.Smallest and what it is offered
// at once play no part, nor does the [Order]: of all who ask, those go first who
// decline less, then who asked first, before everybody who does not ask, whatever
// they hold. While others are to leave for it the framework is offered
// nothing else. The answer comes with the [News].
//
// A gang for which there could be no room even if nothing ran is refused: fewer
// machines that the framework can use are large enough, of those in the cell as the
// master has seen it. The terms do not count, which move. Once it is asked for it
// waits, though machines may go: they may also come. Whoever registers in the name
// of the framework does not take its requests over: see [Master.Register].
//
// Cost: O(machines + requests); while there are requests, what changes machines
// costs O(requests × machines with room that nobody wanted) more, or O(machines) for
// each of less than Config.Smallest, and a [Master.Step] O(requests + allocations) for
// each that would revoke and cannot. Errors: [ErrEmpty] for no machine or nothing on
// each, [resources.ErrQuantity], [ErrExceeds] for more than the cell could hold or a
// revocation beyond the guarantee, [ErrExpired] for a deadline that is past,
// [ErrFenced], [ErrUnregistered].
func (h *Framework) Request(now time.Time, r Request) (RequestID, error) {
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
		return 0, fmt.Errorf("offers: framework %q: request: %w", f.name, err)
	}
	if !r.Deadline.IsZero() && !m.now.Before(r.Deadline) {
		return 0, fmt.Errorf("%w: framework %q: request: its deadline %v is past", ErrExpired, f.name, r.Deadline)
	}
	if n := m.largeEnough(f, &r); n < r.Machines {
		return 0, fmt.Errorf("%w: framework %q asks for %s on %d machines, %d that it can use are so large",
			ErrExceeds, f.name, m.format(r.Each), r.Machines, n)
	}
	if asks, ok := m.covers(f, &r); r.Revoke && !ok {
		return 0, m.beyond(f, asks)
	}
	m.last++
	one := &request{Request: r, id: RequestID(m.last), of: f}
	m.requests = append(m.requests, one)
	if !r.Deadline.IsZero() {
		m.timers.start(&one.timer, r.Deadline, one)
	}
	m.serve()
	m.revoke()
	m.allocate()
	return one.id, m.fenced
}

// Withdraw takes a request back. Errors: [ErrUnknown] if it is answered or never
// was, [ErrFenced], [ErrUnregistered].
func (h *Framework) Withdraw(now time.Time, id RequestID) error {
	m, f := h.m, h.f
	m.mu.Lock()
	defer m.unlock()
	if err := h.enter(now); err != nil {
		return err
	}
	i := slices.IndexFunc(m.requests, func(r *request) bool { return r.of == f && r.id == id })
	if i < 0 {
		return fmt.Errorf("offers: framework %q: request %d: %w", f.name, id, ErrUnknown)
	}
	m.drop(m.requests[i])
	m.allocate()
	return m.fenced
}

// largeEnough counts the machines on which a framework could ever have one part of
// a request.
func (m *Master) largeEnough(f *member, r *Request) (count int) {
	for _, n := range m.nodes {
		if !n.gone && f.suits(n) && r.Each.Fits(n.capacity) {
			count++
		}
	}
	return count
}

// overdue tells whether the framework has given up.
func (r *request) overdue(now time.Time) bool { return !r.Deadline.IsZero() && !now.Before(r.Deadline) }

// expire is called at the deadline.
func (r *request) expire(m *Master) {
	m.drop(r)
	m.answer(r, Answer{Request: r.id, Reason: ErrExpired})
}

// drop forgets a request, and the revocation that has begun for it.
func (m *Master) drop(r *request) {
	m.timers.stop(&r.timer)
	m.requests = slices.DeleteFunc(m.requests, func(one *request) bool { return one == r })
	m.abandon(r)
}

// dropAll forgets the requests of a framework.
func (m *Master) dropAll(f *member) {
	for _, r := range slices.Clone(m.requests) {
		if r.of == f {
			m.drop(r)
		}
	}
}

func (m *Master) answer(r *request, a Answer) {
	r.of.news.Answers = append(r.of.news.Answers, a)
	r.of.tell(m)
}

// serve answers the requests for which there is room, those first whose
// frameworks decline less, then in the order in which they came.
func (m *Master) serve() {
	if len(m.requests) == 0 {
		return
	}
	order := slices.Clone(m.requests)
	slices.SortStableFunc(order, func(a, b *request) int { return int(a.of.class) - int(b.of.class) })
	for _, r := range order {
		if r.overdue(m.now) {
			r.expire(m) // no Step has come to it yet
		} else if nodes := m.gather(r); nodes != nil {
			m.grant(r, nodes, nil)
		}
	}
}

// gather returns as many machines as a request needs that have room for it, or
// nil: first those that others were told to leave for it. All other room that may
// be offered is on machines that are to be looked at, or idle; less than that may be
// anywhere.
func (m *Master) gather(r *request) (nodes []*node) {
	try := func(n *node) bool {
		if n.kept == nil || n.kept == r.plan {
			room, ok := m.space(n)
			if ok && r.Each.Fits(room) && r.of.suits(n) && !r.of.standsBack(n, &r.Each, m.now) && !slices.Contains(nodes, n) {
				nodes = append(nodes, n)
			}
		}
		return len(nodes) < r.Machines
	}
	if r.plan != nil {
		for _, n := range r.plan.nodes {
			if !try(n) {
				return nodes
			}
		}
	}
	if !resources.Fits(&m.cfg.Smallest, &r.Each) {
		for _, n := range m.nodes {
			if !try(n) {
				return nodes
			}
		}
		return nil
	}
	for _, number := range m.dirty {
		if !try(m.nodes[number]) {
			return nodes
		}
	}
	for _, e := range m.idle.entries {
		if e.node.idle == e.seq && !e.node.dirty && !try(e.node) {
			return nodes
		}
	}
	return nil
}

// grant claims room for a request on all of the nodes or none, from victims
// where there are any, and answers it. It reports whether that worked.
func (m *Master) grant(r *request, nodes []*node, victims [][]omega.AllocationID) bool {
	f := r.of
	m.tx.Reset()
	m.tx.Gang, m.tx.Now = true, m.now
	for i, n := range nodes {
		c := omega.Claim{
			Machine: n.id, Account: f.account.id, Need: r.Each, Precedence: f.reg.Precedence, Grantee: f.sched,
		}
		if victims != nil && len(victims[i]) > 0 {
			// A guarantee holds against whatever precedence.
			c.Victims, c.Precedence = victims[i], highest
		}
		m.tx.Claim(c)
	}
	granted, err := m.sched.Commit(&m.tx)
	m.tx.Gang = false
	m.check(err)
	if err != nil || granted < len(nodes) {
		return false
	}
	a := Answer{Request: r.id}
	for i, n := range nodes {
		id, _ := m.tx.Allocation(i)
		f.offered = f.offered.Add(r.Each)
		o := m.open(&pick{to: f, node: n, room: r.Each}, id)
		o.owed = r.Revoke
		m.promise(o)
		a.Offers = append(a.Offers, o.Offer)
		m.idle.remove(n)
		m.soil(n)
	}
	all := r.Each.Scale(int64(len(nodes)))
	m.charge(f, &all, 1)
	m.drop(r)
	m.answer(r, a)
	return true
}
