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
	m.sessions.disconnect(f)
	m.replan(rooms)
	return m.fenced
}

// disconnect has a framework be away.
func (ss *sessions) disconnect(f *member) {
	ss.inbox.part(f)
	f.connected, f.silent = false, false
	ss.timers.Stop(&f.watch.timer)
	ss.gangs.dropAll(f)
	ss.queue.unshared = true
	ss.await(f, f.reg.Failover.or(0))
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
func (ss *sessions) await(f *member, d time.Duration) {
	if d == 0 {
		ss.leave(f)
	} else if until := after(ss.now, d); !until.IsZero() {
		ss.timers.Start(&f.timer, until, f)
	}
}

// expire is called when a framework has not come back in time.
func (ss *sessions) expireMember(f *member) {
	ss.leave(f)
}

// recover takes over from an earlier master: what that has offered is free, and
// frameworks that it had are expected to register.
//
// From [omega.Cell.Replace] on, which is how the master got its scheduler, none of
// the schedulers of frameworks is granted anything: they were deputies of the one
// that it replaced. So all frameworks that have tasks are found.
func (ss *sessions) recover() {
	for mark := range ss.sched.Marked() {
		ss.note(ss.sched.Release(mark.Allocation.ID))
	}
	for a := range ss.sched.Allocations() {
		ss.note(ss.sched.Release(a.ID))
	}
	prefix := ss.cfg.Name + "/"
	for a := range ss.cell.Allocations() {
		if name, of := strings.CutPrefix(a.Scheduler, prefix); of && ss.registry.members[name] == nil {
			ss.accounts.share(ss.join(name, ""), a.Account)
		}
	}
	for _, f := range slices.Clone(ss.registry.order) {
		held, err := ss.cell.Usage(f.account.id)
		ss.note(err)
		ss.accounts.hold(f, held)
		ss.await(f, ss.cfg.Recovery.or(DefaultRecovery))
	}
}
