package offers

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// Disconnect says that nobody speaks for the framework until it registers again:
// its tasks and offers wait for that as long as Registration.Failover says, and
// then end as by Unregister. It is not offered anything meanwhile, and its requests are
// forgotten. A program that finds that a framework has died calls it, too, or
// [Master.Evict]; the master itself does after Config.Liveness. Cost: O(frameworks). Errors:
// [ErrFenced], [ErrUnregistered].
func (h *Framework) Disconnect(now time.Time) error {
	if err := h.check(); err != nil {
		return err
	}
	m, f := h.m, h.f
	m.mu.Lock()
	defer m.unlock()
	if err := h.enter(now); err != nil {
		return err
	}
	m.disconnect(f)
	m.replan(rooms)
	return m.fenced
}

// disconnect has a framework be away.
func (m *Master) disconnect(f *member) {
	m.inbox.part(f)
	f.connected, f.silent = false, false
	m.timers.Stop(&f.watch.timer)
	m.dropAll(f)
	m.queue.unshared = true
	m.await(f, f.reg.Failover.or(0))
}

// admits tells whether somebody of that epoch may speak for f, or why not.
func (f *member) admits(epoch uint64) error {
	switch last := f.reg.Epoch; {
	case epoch < last:
		return fmt.Errorf("%w: framework %q, epoch %d: epoch %d has spoken for it", ErrFenced, f.name, epoch, last)
	case epoch == last && f.connected:
		return fmt.Errorf("%w: framework %q is registered already with epoch %d: want a higher one than that to take over, not %d",
			ErrName, f.name, last, epoch)
	}
	return nil
}

// await gives a framework that long to come back.
func (m *Master) await(f *member, d time.Duration) {
	if d == 0 {
		m.leave(f)
	} else if until := after(m.now, d); !until.IsZero() {
		m.timers.Start(&f.timer, until, f)
	}
}

// expire is called when a framework has not come back in time.
func (m *Master) expireMember(f *member) {
	m.leave(f)
}

// recover takes over from an earlier master: what that has offered is free, and
// frameworks that it had are expected to register.
//
// From [omega.Cell.Replace] on, which is how the master got its scheduler, none of
// the schedulers of frameworks is granted anything: they were deputies of the one
// that it replaced. So all frameworks that have tasks are found.
func (m *Master) recover() {
	for mark := range m.sched.Marked() {
		m.note(m.sched.Release(mark.Allocation.ID))
	}
	for a := range m.sched.Allocations() {
		m.note(m.sched.Release(a.ID))
	}
	prefix := m.cfg.Name + "/"
	for a := range m.cell.Allocations() {
		if name, of := strings.CutPrefix(a.Scheduler, prefix); of && m.registry.members[name] == nil {
			m.accounts.share(m.join(name, ""), a.Account)
		}
	}
	for _, f := range slices.Clone(m.registry.order) {
		held, err := m.cell.Usage(f.account.id)
		m.note(err)
		m.accounts.hold(f, held)
		m.await(f, m.cfg.Recovery.or(DefaultRecovery))
	}
}
