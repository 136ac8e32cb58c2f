package offers

import (
	"slices"
	"time"

	"github.com/cellsched/cellsched/offers/internal/timers"
	"github.com/cellsched/cellsched/omega"
	"github.com/cellsched/cellsched/resources"
)

// gathering is what is kept for a request whose turn has come until it is enough.
// There is one at a time: else two could wait for what the other one has.
type gathering struct {
	of    *request // nil if there is none
	nodes []*node  // kept for it
	timer timers.Timer
}

// expire is called when nothing was added for long. Others come first then, until each
// framework could have been offered something twice.
func (m *Master) expireGathering(g *gathering) {
	g.of.of.rests = m.queue.turn + 2*uint64(m.queue.present) + 1
	m.scatter(g.of)
}

// lull is for how long a gathering waits for the next machine.
func (m *Master) lull() time.Duration {
	if m.cfg.Timeout == Never() {
		return DefaultTimeout
	}
	return m.cfg.Timeout.or(DefaultTimeout)
}

// barred tells whether what is free on a machine is for a revocation alone.
func (n *node) barred() bool { return n.kept != nil && n.kept.plan != nil }

// gathered tells whether a part of a machine is kept for a gathering.
func (n *node) gathered() bool { return n.kept != nil && n.kept.plan == nil }

// nextAsking returns the request whose turn it is to have room on a machine, or nil if
// it is the turn of f, or there is none that may.
func (m *Master) nextAsking(n *node, room *resources.Vector, f *member) (next *request) {
	ahead := (*member).ahead
	if n.refused {
		ahead = (*member).aheadByClass
	}
	for _, r := range m.registry.requests {
		if r.plan != nil || n.kept == r || !m.mayGather(r) || !r.Each.Fits(*room) || !m.wanted(r, n) {
			continue
		}
		if len(r.of.account.sharers) > 1 && !r.of.queued {
			r.of.Rank = m.queue.rankOf(r.of, false) // which is done for those in line only
		}
		if next == nil || r.of != next.of && ahead(r.of, next.of) {
			next = r
		}
	}
	if next == nil || f == nil || f == next.of {
		return next
	}
	if ahead(f, next.of) || n.refused && m.queue.overdue(f) {
		return nil
	}
	return next
}

// mayGather tells whether a request may have room kept until there is enough, or
// one machine is.
func (m *Master) mayGather(r *request) bool {
	if r.of.silent {
		return false
	}
	if r.Machines == 1 || m.gathering.of == r {
		return true
	}
	return m.gathering.of == nil && m.backoff(r.of) == 0 && m.queue.turn >= r.of.rests
}

// wanted tells whether a machine is of use to a request whose framework need not stand
// back from it.
func (m *Master) wanted(r *request, n *node) bool {
	return r.of.suits(n) && !r.of.standsBack(n, &r.Each, m.now)
}

// has tells whether a machine has room for a request, beside what is kept for others.
func (m *Master) has(n *node, r *request) bool {
	if n.kept != r && n.barred() {
		return false
	}
	room, ok := m.floor.space(n)
	if ok && n.kept != r && n.gathered() {
		room, ok = room.Sub(n.kept.Each)
	}
	return ok && r.Each.Fits(room) && m.wanted(r, n)
}

// add gives a request room on a machine, now that it is its turn: it is answered, or
// that much is kept for it. It reports whether the machine is to be looked at again
// at once, for what is left.
func (m *Master) add(r *request, n *node) bool {
	if r.Machines == 1 {
		if m.grant(r, []*node{n}, nil) {
			return true
		}
		m.floor.markDirty(n)
		return false
	}
	g := &m.gathering
	g.of, n.kept, g.nodes = r, r, append(g.nodes, n)
	m.timers.Start(&g.timer, m.now.Add(m.lull()), g)
	if len(g.nodes) < r.Machines {
		return true
	}
	for _, one := range slices.Clone(g.nodes) {
		m.recheck(one)
	}
	if len(g.nodes) < r.Machines || m.grant(r, slices.Clone(g.nodes), nil) {
		return true
	}
	for _, one := range g.nodes {
		m.floor.markDirty(one)
	}
	return false
}

// recheck lets go of a machine that is of no more use to the request that gathers.
func (m *Master) recheck(n *node) {
	if n.gathered() && !m.has(n, n.kept) {
		m.letGo(n)
	}
}

// letGo takes a machine from the request that gathers.
func (m *Master) letGo(n *node) {
	if n.gathered() {
		n.kept = nil
		m.gathering.nodes = slices.DeleteFunc(m.gathering.nodes, func(one *node) bool { return one == n })
		m.floor.markDirty(n)
	}
}

// scatter ends what is gathered for a request, if anything is: it is for others.
func (m *Master) scatter(r *request) {
	g := &m.gathering
	if g.of != r {
		return
	}
	m.timers.Stop(&g.timer)
	for _, n := range g.nodes {
		n.kept = nil
		m.floor.markDirty(n)
	}
	clear(g.nodes)
	g.of, g.nodes = nil, g.nodes[:0]
}

// serve answers requests before others are offered anything: those that revoke within
// their guarantee, from all that there is, and of what nobody has wanted all others.
// Those go first whose frameworks decline less, then by the order. Optimistic offers
// keep nothing, so beside them requests have all that there is.
func (m *Master) serve() {
	if len(m.registry.requests) == 0 || m.halted() {
		return
	}
	if m.cfg.Terms.Optimistic && m.gathering.of != nil {
		m.scatter(m.gathering.of)
	}
	for _, sure := range []bool{true, false} {
		for _, r := range m.inLine() {
			if m.halted() {
				return
			}
			if r.dropped {
				continue // while another one was on the way
			}
			if r.overdue(m.now) {
				m.expireRequest(r) // no Step has come to it yet
				continue
			}
			if r.of.silent {
				continue
			}
			if sure && !m.cfg.Terms.Optimistic {
				if _, covered := m.covers(r.of, &r.Request); !r.Revoke || !covered {
					continue
				}
			}
			if nodes := m.gather(r, sure); nodes != nil {
				m.grant(r, nodes, nil)
			}
		}
	}
}

// inLine returns the requests in the order in which they are served.
func (m *Master) inLine() []*request {
	line := slices.Clone(m.registry.requests)
	slices.SortStableFunc(line, func(a, b *request) int {
		switch {
		case a.of == b.of:
			return 0
		case a.of.aheadByClass(b.of):
			return -1
		}
		return 1
	})
	return line
}

// gather returns as many machines as a request needs that have room for it, or
// nil: first those that are kept for it. Only if it goes first it is given those that
// are to be looked at, of which it may be another one's turn. All other room that may
// be offered is on machines that are idle, or kept; less than that may be anywhere.
func (m *Master) gather(r *request, first bool) (nodes []*node) {
	try := func(n *node) bool {
		if (first || !n.dirty) && m.has(n, r) && !slices.Contains(nodes, n) {
			nodes = append(nodes, n)
		}
		return len(nodes) < r.Machines
	}
	var kept []*node
	switch {
	case r.plan != nil:
		kept = r.plan.nodes
	case m.gathering.of == r:
		kept = m.gathering.nodes
	}
	for _, n := range kept {
		if !try(n) {
			return nodes
		}
	}
	if !resources.Fits(&m.cfg.Smallest, &r.Each) {
		for _, n := range m.floor.nodes {
			if !try(n) {
				return nodes
			}
		}
		return nil
	}
	for _, number := range m.floor.dirty {
		if !try(m.floor.nodes[number]) {
			return nodes
		}
	}
	for _, e := range m.floor.idle.entries {
		if e.node.idle == e.seq && !e.node.dirty && !try(e.node) {
			return nodes
		}
	}
	return nil
}

// granting is a request for which room is claimed.
type granting struct {
	of      *request
	nodes   []*node
	revokes bool
	done    bool // it was answered
}

// grant claims room for a request on all of the nodes or none, from victims
// where there are any, and answers it. It reports whether that worked, and not while the
// outcome is in doubt.
func (m *Master) grant(r *request, nodes []*node, victims [][]omega.AllocationID) bool {
	if m.halted() {
		return false
	}
	f := r.of
	tx := &m.planner.attempt.Txn
	tx.Reset()
	tx.Gang, tx.Grace = true, omega.AtOnce // the grace of a revocation is over
	for i, n := range nodes {
		c := omega.Claim{
			Machine: n.id, Account: f.account.id, Need: r.Each, Precedence: f.reg.Precedence, Grantee: f.sched,
		}
		if victims != nil && len(victims[i]) > 0 {
			// A guarantee holds against whatever precedence.
			c.Victims, c.Precedence = victims[i], highest
		}
		tx.Claim(c)
	}
	m.grants = granting{of: r, nodes: nodes, revokes: victims != nil}
	m.send(m.onGrant)
	return m.grants.done
}

// granted answers a request for which room was claimed. Of a request that was taken back
// by then the room is released.
func (m *Master) granted(err error) {
	g := &m.grants
	r, f, tx := g.of, g.of.of, &m.planner.attempt.Txn
	tx.Gang = false
	if _, all := tx.Allocation(0); err != nil || !all {
		if g.revokes {
			m.abandon(r) // and its machines are looked at next, before which it may begin anew
		}
		return
	}
	m.preempted = m.preempted || g.revokes
	if r.dropped {
		for i, n := range g.nodes {
			id, _ := tx.Allocation(i)
			m.note(m.sched.Release(id))
			m.floor.markDirty(n)
		}
		return
	}
	a := Answer{Request: r.id}
	for i, n := range g.nodes {
		id, _ := tx.Allocation(i)
		f.offered = f.offered.Add(r.Each)
		o := m.ledger.open(&pick{to: f, node: n, room: r.Each}, id)
		o.owed = r.Revoke
		m.caps.promise(o)
		a.Offers = append(a.Offers, o.Offer)
		m.floor.idle.remove(n)
		m.floor.markDirty(n)
	}
	all := r.Each.Scale(int64(len(g.nodes)))
	m.queue.charge(f, &all, 1)
	if m.reads != m.planner.readsSent {
		m.queue.recharge(f)
	}
	m.drop(r)
	m.inbox.answer(r, a)
	g.done = true
}
