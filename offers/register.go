package offers

import (
	"context"
	"fmt"
	"time"

	"github.com/cellsched/cellsched/internal/fault"
	"github.com/cellsched/cellsched/omega"
	"github.com/cellsched/cellsched/resources"
)

// Register adds a framework, and offers it room at once, unless it is Suppressed.
//
// A caller takes over a framework by registering its name. There are three cases: the
// framework is away, an earlier master left it behind, or the Epoch is higher. Then:
//
//   - The tasks and offers of the framework are the caller's.
//   - News repeat its offers, its revoked tasks and the machines that it is asked to
//     leave.
//   - The handle that was registered before is fenced.
//   - The new Registration replaces the old one.
//   - Requests that are not answered are forgotten: ask again. The offers of an answered
//     one appear in News.Offers, not as an answer.
//
// Cost: O(frameworks), and O(machines) for a framework that is not new or has filters. Of
// the offers of others each that is rescinded costs O(log n) (see
// Registration.Outstanding). Each unread one of a framework that has more than its share
// costs O(1).
//
// Errors:
//
//   - [ErrConfig], [ErrGuarantee],
//   - [omega.ErrUnknown] for an account that the cell does not have,
//   - [resources.ErrQuantity], [omega.ErrTooMany],
//   - [ErrFenced], also for an Epoch that is lower than the last.
func (m *Master) Register(now time.Time, r Registration) (*Framework, error) {
	if err := m.check(); err != nil {
		return nil, err
	}
	r.complete()
	if err := r.check(m.cfg.Name); err != nil {
		return nil, err
	}
	long := r.Long
	r = r.copied()
	m.mu.Lock()
	defer m.unlock()
	if err := m.at(now); err != nil {
		return nil, err
	}
	done, _ := m.alone(context.Background())
	defer done()
	if err := m.awaitDeparture(r.Name); err != nil {
		return nil, err
	}
	f := m.registry.members[r.Name]
	if err := m.sessions.acceptable(f, &r, &resources.Vector{}); err != nil {
		return nil, err
	}
	if r.Account == 0 {
		var account omega.Account
		var err error
		m.free(func() { account, err = m.cell.Account(context.Background(), r.Name) })
		if err != nil {
			return nil, fault.New("offers", "framework", err, errName)
		}
		r.Account = account
	}
	held, err := m.usage(r.Account)
	if err != nil {
		return nil, fault.Newf("offers", err, "framework %q", r.Name)
	}
	sched, err := m.deputy(r.Name)
	if err != nil {
		return nil, fault.Newf("offers", fenced(err), "framework %q", r.Name)
	}
	if m.journaled {
		// The mutex was free, and the framework may have ended. It is not refused for anything
		// else, since the deputy has superseded the scheduler that it had.
		m.sessions.inherit(r.Name, sched)
		if err := m.awaitDeparture(r.Name); err != nil {
			return nil, err
		}
		held, _ = m.usage(r.Account) // as it is now
	}
	if f == nil {
		f = m.sessions.join(r.Name, r.Role)
	}
	m.sessions.enlist(f, r, sched, long, held)
	if m.replan(planRooms); m.fenced != nil {
		return nil, m.fenced
	}
	return &Framework{m: m, f: f, sched: sched, epoch: r.Epoch}, nil
}

// awaitDeparture returns an error while the tasks of a framework of that name that has ended
// are to be released. Where commits do not wait, it waits for that.
func (m *Master) awaitDeparture(name string) error {
	for m.sessions.departs(name) && m.fenced == nil {
		if m.remote() {
			return fmt.Errorf("%w: framework %s: the tasks of the one before it are not released yet", errName, fault.Quote(name))
		}
		if !m.planner.on && !m.accepts.flies(name) {
			if m.replan(planRooms); m.planner.failure != nil {
				return fault.Newf("offers", m.planner.failure, "framework %s: release of its tasks", fault.Quote(name))
			}
			continue
		}
		if err := m.planner.wait(context.Background()); err != nil {
			return err
		}
	}
	return m.fenced
}

// comeBack registers a framework anew, as it was, that calls after it was taken for gone.
func (m *Master) comeBack(h *Framework) error {
	done, _ := m.alone(context.Background())
	defer done()
	f := h.f
	if m.fenced != nil || !h.vanished() || f.evicted {
		return h.noteCall(m.now) // the mutex was free meanwhile
	}
	if f.gone && m.registry.members[f.name] != nil {
		return fmt.Errorf("%w: framework %q, which made no call for long: another one has its name", ErrFenced, f.name)
	}
	r := f.reg
	r.Suppressed = f.suppressed
	known := f
	if f.gone {
		if err := m.awaitDeparture(f.name); err != nil {
			return err
		}
		known = nil
	}
	if err := m.sessions.acceptable(known, &r, &resources.Vector{}); err != nil {
		return err
	}
	held, _ := m.usage(r.Account) // acceptable has found the account
	if f.gone {
		sched, err := m.deputy(f.name)
		if err != nil {
			return fault.Newf("offers", fenced(err), "framework %q", f.name)
		}
		if m.fenced != nil {
			return m.fenced
		}
		f.gone, h.sched = false, sched
		m.sessions.insert(f, r.Role)
	}
	m.sessions.forgetUnread(f)
	m.sessions.enlist(f, r, h.sched, nil, held)
	m.replan(planRooms)
	return m.fenced
}

// Evict ends a framework, away or not, that does not call any more. It ends as by
// [Framework.Unregister]: its offers are rescinded and its tasks released. Its filters,
// requests and inverse offers are forgotten. The room of its tasks is offered to others
// at once, so make sure first that they have stopped.
//
// It is notified, and all calls of its handle fail with [ErrEvicted]. It does not come
// back by Registration.Failover. A later registration under that name, with any Epoch, is
// a new framework.
//
// Cost: O(machines + allocations). Errors: [ErrUnregistered] for a name that no framework
// has, [ErrFenced].
func (m *Master) Evict(now time.Time, framework string) error {
	if err := m.check(); err != nil {
		return err
	}
	m.mu.Lock()
	defer m.unlock()
	if err := m.at(now); err != nil {
		return err
	}
	if m.superseded() {
		return m.fenced
	}
	f := m.registry.members[framework]
	if f == nil {
		return fmt.Errorf("%w: framework %s, which is to be evicted", ErrUnregistered, fault.Quote(framework))
	}
	f.evicted = true
	m.sessions.leave(f)
	m.replan(planRooms)
	return m.fenced
}
