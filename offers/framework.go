package offers

import (
	"errors"
	"fmt"
	"iter"
	"time"

	"github.com/cellsched/cellsched/internal/fault"
	"github.com/cellsched/cellsched/omega"
	"github.com/cellsched/cellsched/resources"
)

// Framework is what somebody speaks with for a framework: it reads what it is
// offered, and answers. It is safe for concurrent use.
type Framework struct {
	m     *Master
	f     *member
	sched *omega.Scheduler // in whose name it starts tasks
	epoch uint64
}

// enter begins a call, with the mutex held.
func (h *Framework) enter(now time.Time) error {
	if err := h.m.at(now); err != nil {
		return err
	}
	switch {
	case h.f.sched == h.sched && h.f.evicted:
		return h.f.over()
	case h.f.sched == h.sched && h.f.vanished:
		return h.m.comeBack(h)
	case h.f.sched == h.sched && h.f.gone: // who was replaced learns that, also once all has ended
		return h.f.over()
	case h.f.sched != h.sched || !h.f.connected:
		return fmt.Errorf("%w: framework %q, epoch %d, of which epoch %d is the last", ErrFenced, h.f.name, h.epoch, h.f.reg.Epoch)
	}
	if h.m.sessions.hear(h.f) {
		h.m.replan(requests)
	}
	return nil
}

// over returns the error of a framework that has ended.
func (f *member) over() error {
	if f.evicted {
		return fmt.Errorf("%w: framework %q", ErrEvicted, f.name)
	}
	return fmt.Errorf("%w: framework %q", ErrUnregistered, f.name)
}

// Name returns the name that it was registered with.
func (h *Framework) Name() string {
	if h.none() {
		return ""
	}
	return h.f.name
}

// Epoch returns the epoch that it was registered with.
func (h *Framework) Epoch() uint64 {
	if h.none() {
		return 0
	}
	return h.epoch
}

// Tasks walks its tasks that run, in no more time than [omega.Cell.Allocations].
func (h *Framework) Tasks() iter.Seq[omega.Allocation] {
	if h.none() {
		return func(func(omega.Allocation) bool) {}
	}
	name := h.m.cfg.Name + "/" + h.f.name
	return func(yield func(omega.Allocation) bool) {
		for a := range h.m.cell.Allocations() {
			if a.Scheduler == name && !yield(a) {
				return
			}
		}
	}
}

// Suppress says that the framework wants no offers until it revives. What it has
// been offered it may still answer. Who wants none from the beginning registers so: see
// [Registration]. Cost: O(frameworks). Errors: [ErrFenced],
// [ErrUnregistered].
func (h *Framework) Suppress(now time.Time) error {
	if err := h.check(); err != nil {
		return err
	}
	m, f := h.m, h.f
	m.mu.Lock()
	defer m.unlock()
	if err := h.enter(now); err != nil {
		return err
	}
	if !f.suppressed {
		f.suppressed = true
		m.queue.reshare()
		m.replan(rooms) // others may be offered more at once
	}
	return m.fenced
}

// Revive ends a suppression and all filters, and has the framework offered what
// there is, also of what others were offered beyond their share and have not read of: see
// Registration.Outstanding. A back-off goes on: see [Framework.Decline]. Cost:
// O(frameworks + filters + machines with room that nobody wanted + offers that others
// have not read of), O(log n) for each offer. Errors: [ErrFenced], [ErrUnregistered].
func (h *Framework) Revive(now time.Time) error {
	if err := h.check(); err != nil {
		return err
	}
	m, f := h.m, h.f
	m.mu.Lock()
	defer m.unlock()
	if err := h.enter(now); err != nil {
		return err
	}
	for _, first := range f.filters {
		for one := first; one != nil; {
			next := one.next
			if one.backed.After(m.now) {
				m.timers.Start(&one.timer, one.backed, one)
			} else {
				m.floor.unhide(one)
			}
			one = next
		}
	}
	f.suppressed = false
	m.queue.reshare()
	m.ledger.recall(f)
	m.queue.revisit(f)
	m.replan(rooms)
	return m.fenced
}

// Release says that tasks have ended, or have stopped that were preempted or
// lost, and offers their room at once. Those that can be released are, whatever
// becomes of others. Errors, joined: those of [omega.Scheduler.Release];
// [ErrFenced], [ErrUnregistered].
func (h *Framework) Release(now time.Time, tasks ...omega.AllocationID) error {
	if err := h.check(); err != nil {
		return err
	}
	m, f := h.m, h.f
	m.mu.Lock()
	defer m.unlock()
	if err := h.enter(now); err != nil {
		return err
	}
	var errs []error
	for _, id := range tasks {
		if err := f.sched.Release(id); err != nil {
			m.heed(err)
			errs = append(errs, fault.Newf("offers", fenced(err), "framework %q: release", f.name))
			continue
		}
		delete(f.toldMarks, id)
		f.untell(id)
		m.caps.ended(id)
		if n := int(id.Node()); n < len(m.floor.nodes) {
			m.floor.freed(m.floor.nodes[n])
		}
	}
	m.queue.recharge(f)
	m.replan(rooms)
	return errors.Join(errs...)
}

// Unregister ends the framework: its offers are rescinded, its tasks released.
// Cost: O(machines + allocations). Errors: [ErrFenced], [ErrUnregistered].
func (h *Framework) Unregister(now time.Time) error {
	if err := h.check(); err != nil {
		return err
	}
	m, f := h.m, h.f
	m.mu.Lock()
	defer m.unlock()
	if err := h.enter(now); err != nil {
		return err
	}
	m.sessions.leave(f)
	m.replan(rooms)
	return m.fenced
}

// Held returns what is charged to its account, its offers included, and how much
// of that is offers. The cell may know more: see [omega.Cell.Usage].
func (h *Framework) Held() (held, offered resources.Vector) {
	if h.none() {
		return held, offered
	}
	h.m.mu.Lock()
	defer h.m.mu.Unlock()
	return h.f.account.held, h.f.offered
}
