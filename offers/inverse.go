package offers

import (
	"fmt"
	"slices"
	"time"

	"github.com/cellsched/cellsched/internal/fault"
	"github.com/cellsched/cellsched/omega"
)

// Leave is an inverse offer: the master asks a framework to leave a machine.
// What the framework answers is for whoever asked to know; nothing follows from
// it.
type Leave struct {
	Machine omega.MachineID
	By      time.Time // when the machine is to be left, such as for maintenance
	Tasks   []omega.AllocationID
}

// Reply is what a framework has answered to an inverse offer.
type Reply struct {
	Framework string
	Answered  bool
	Agreed    bool
}

// Vacate asks the frameworks that have tasks on a machine to leave it by a time,
// and returns how many there are. Those that are away are asked when they come
// back, if that is before then. If it is later, or never, they have not answered;
// and since nothing follows from an answer, nothing follows from that: what they
// have there ends with the machine, or with the time that they had to come back.
// Whoever is offered the machine is told, too: see Offer.Leave. So that nothing new
// is started there, drain it, by which what is offered there is taken back at the
// next [Master.Step]: [omega.Cell.Drain]. A successor of the master does not know
// who was asked. Asking again forgets what was answered before; with the
// zero time nobody is asked any more. News of an earlier question that nobody has
// read yet are forgotten, too.
//
// Cost: O(frameworks + allocations of the machine + inverse offers not read yet). Errors: [omega.ErrUnknown]
// for a machine that the master does not know, [ErrFenced].
func (m *Master) Vacate(now time.Time, machine omega.MachineID, by time.Time) (asked int, err error) {
	if err := m.check(); err != nil {
		return 0, err
	}
	m.mu.Lock()
	defer m.unlock()
	if err := m.at(now); err != nil {
		return 0, err
	}
	n := m.floor.nodeOf(machine)
	if n == nil {
		return 0, fault.Newf("offers", omega.ErrUnknown, "vacate: machine %v", machine)
	}
	m.sessions.unask(n)
	n.leave = by
	if by.IsZero() {
		return 0, nil
	}
	on := make(map[string][]omega.AllocationID)
	for _, a := range m.cell.AllocationsOn(machine) {
		on[a.Scheduler] = append(on[a.Scheduler], a.ID)
	}
	for _, f := range m.registry.order {
		tasks := on[m.cfg.Name+"/"+f.name]
		if len(tasks) == 0 {
			continue
		}
		n.replies = append(n.replies, Reply{Framework: f.name})
		if f.connected {
			f.news.Leave = append(f.news.Leave, Leave{machine, by, tasks})
			m.inbox.tell(f)
		}
	}
	return len(n.replies), nil
}

// unask forgets that frameworks were asked to leave a machine, also those that have
// not read of it yet.
func (ss *sessions) unask(n *node) {
	if !n.leave.IsZero() {
		for _, f := range ss.registry.order {
			f.news.Leave = slices.DeleteFunc(f.news.Leave, func(l Leave) bool { return l.Machine == n.id })
		}
	}
	n.leave, n.replies = time.Time{}, nil
}

// askAgain tells whoever speaks for a framework now which machines it was asked to
// leave, perhaps while it was away, and has not answered. Once it is to have left
// there is nothing to be asked any more.
func (ss *sessions) askAgain(f *member) {
	for _, n := range ss.floor.nodes {
		if !ss.now.Before(n.leave) || !slices.Contains(n.replies, Reply{Framework: f.name}) {
			continue
		}
		l := Leave{Machine: n.id, By: n.leave}
		for _, a := range ss.cell.AllocationsOn(n.id) {
			if ss.registry.ownerOf(&a) == f {
				l.Tasks = append(l.Tasks, a.ID)
			}
		}
		if len(l.Tasks) > 0 {
			f.news.Leave = append(f.news.Leave, l)
			ss.inbox.tell(f)
		}
	}
}

// Reply answers an inverse offer; a second answer takes the place of the first.
// Errors: [ErrUnknown] if the framework was not asked to leave that machine,
// [ErrFenced], [ErrUnregistered].
func (h *Framework) Reply(now time.Time, machine omega.MachineID, agreed bool) error {
	if err := h.check(); err != nil {
		return err
	}
	m, f := h.m, h.f
	m.mu.Lock()
	defer m.unlock()
	if err := h.enter(now); err != nil {
		return err
	}
	if n := m.floor.nodeOf(machine); n != nil {
		for i := range n.replies {
			if r := &n.replies[i]; r.Framework == f.name {
				r.Answered, r.Agreed = true, agreed
				return nil
			}
		}
	}
	return fault.New("offers", fmt.Sprintf("framework %q: inverse offer of machine %s", f.name, m.nameOf(machine)), errUnknown, ErrUnknown)
}

// Replies returns what was answered to the inverse offers of a machine, by
// framework in the order in which they registered; of those that have ended
// nothing.
func (m *Master) Replies(machine omega.MachineID) []Reply {
	if m.none() {
		return nil
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if n := m.floor.nodeOf(machine); n != nil {
		return slices.Clone(n.replies)
	}
	return nil
}
