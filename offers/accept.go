package offers

import (
	"context"
	"slices"
	"time"

	"github.com/cellsched/cellsched/internal/fault"
	"github.com/cellsched/cellsched/omega"
)

// Accept starts tasks on offers, all in one step. The tasks are the framework's from then
// on, and room that they do not need is free for other frameworks. No other claim can
// have taken the room of an offer, since it was kept for the framework. An offer can be
// accepted once, before its deadline.
//
// Accept starts all tasks of all launches or, with an error, none. After an error the
// valid offers stay outstanding, so the call can be repeated without the invalid one.
//
// An optimistic offer (see [Terms]) may conflict with claims that others made meanwhile
// on the machine, or on the part of it that is offered. Then the error is an [OfferError]
// that names the first optimistic offer on that machine. It wraps an [omega.RefusalError]
// with the room that there is. The optimistic offers of the call have ended, and the room
// is offered anew.
//
// The IDs of the tasks are returned in the order of the tasks, launch by launch.
//
// Cost: that of [omega.Scheduler.Commit], and of offering the rest. The latter is more
// for a framework that shares an account: see Registration.Account.
//
// Errors:
//
//   - an [OfferError],
//   - [ErrEmpty] for a launch without offers or tasks, or for a task of nothing,
//   - [ErrExceeds], also for more long tasks than the caps allow,
//   - [ErrConfig], [resources.ErrQuantity], [omega.ErrFull],
//   - [ErrFenced], [ErrUnregistered].
func (h *Framework) Accept(now time.Time, launches ...Launch) ([]omega.AllocationID, error) {
	return h.AcceptContext(context.Background(), now, launches...)
}

// AcceptContext is [Framework.Accept] that waits for Config.Store no longer than ctx
// lasts. It also waits while another accept of the framework is on the way. The master is
// not locked meanwhile. The offers can be neither accepted nor declined then:
// [ErrPending]. Their room stays the framework's until there is an outcome, even if the
// machine or the framework ends.
//
// An error that wraps [omega.ErrOutcome] reports that the outcome is in doubt. The same
// call again returns it. Any other accept of the framework asks for it first, and then
// the tasks are among [Framework.Tasks].
func (h *Framework) AcceptContext(ctx context.Context, now time.Time, launches ...Launch) ([]omega.AllocationID, error) {
	m, f, err := h.enter(now)
	if err != nil {
		return nil, err
	}
	defer m.unlock()
	for f.accept != nil {
		if a := f.accept; !a.flying {
			same := slices.EqualFunc(a.launches, launches, Launch.equal)
			if ids, err := m.land(ctx, a, a.launches); same || f.accept == a {
				return ids, err
			}
		} else if err := m.planner.wait(ctx); err != nil {
			return nil, fault.Newf("offers", err, "framework %q: accept", f.name)
		}
		if err := h.noteCall(now); err != nil {
			return nil, err
		}
	}
	a, err := m.accepts.prepare(f, launches)
	if err != nil {
		m.accepts.countInvalid(f, launches, err)
		m.accepts.recycle(a)
		m.replan(planRooms) // an offer may have turned out to be late
		return nil, err
	}
	m.accepts.launch(a)
	return m.land(ctx, a, launches)
}

// land sends an accept, applies the outcome, and plans with the room that is free then.
func (m *Master) land(ctx context.Context, a *accepting, launches []Launch) ([]omega.AllocationID, error) {
	ids, err := m.accepts.fly(ctx, a, launches)
	if a.Doubt() == 0 {
		m.replan(planRooms)
	}
	return ids, err
}
