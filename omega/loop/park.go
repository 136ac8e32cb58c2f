package loop

import (
	"context"
	"slices"
	"time"

	"github.com/cellsched/cellsched/omega"
	"github.com/cellsched/cellsched/resources"
)

// machines is the list of machines that take claims, with their capacities. It alone
// decides whether a job can ever fit. So parked jobs are checked only when it has
// changed.
type machines struct {
	list []machine
}

type machine struct {
	id       omega.MachineID
	capacity resources.Vector
}

// update brings m up to date and returns whether anything has changed. Cost:
// O(machines).
func (m *machines) update(snap *omega.Snapshot) (changed bool) {
	n := 0
	for state := range snap.Machines() {
		if state.Condition != omega.Ready {
			continue
		}
		one := machine{state.ID, state.Capacity}
		if n == len(m.list) {
			m.list = append(m.list, one)
			changed = true
		} else if m.list[n] != one {
			m.list[n] = one
			changed = true
		}
		n++
	}
	if n < len(m.list) {
		m.list, changed = m.list[:n], true
	}
	return changed
}

// hold reports whether that many tasks would fit at once on machines that will do. Cost:
// O(machines).
func (m *machines) hold(q omega.Query, tasks int) bool {
	left := int64(tasks)
	for i := range m.list {
		one := &m.list[i]
		if !resources.Fits(&q.Need, &one.capacity) || q.Allow != nil && !q.Allow(one.id.Node()) {
			continue
		}
		n := left
		for k, amount := range q.Need {
			if amount > 0 {
				n = min(n, one.capacity[k]/amount)
			}
		}
		if left -= n; left == 0 {
			return true
		}
	}
	return false
}

// possible reports whether the job, or one task of it if it is no gang, could be placed
// on empty machines. Why is the explanation of the snapshot.
func (l *Loop[K]) possible(p *Pending[K], why *omega.Explanation) bool {
	if why.Fit == 0 && !slices.ContainsFunc(why.Short[:], func(n int) bool { return n > 0 }) {
		return false
	}
	return !p.job.Gang || l.machines.hold(p.job.Query(), p.job.Tasks)
}

// park puts a job aside until the machines change.
func (l *Loop[K]) park(p *Pending[K], now time.Time) {
	if len(l.parked) == 0 {
		l.recheckAt = now.Add(l.cfg.Recheck)
	}
	l.move(p, parked)
	l.parked = append(l.parked, p)
	l.emit(Event[K]{Kind: Parked, At: now, Pending: p, Err: p.last})
}

// recheck is a set of jobs to check again.
type recheck uint8

const (
	recheckRoom   recheck = 1 << iota // for those that wait for room
	recheckParked                     // for parked jobs, even if the machines are the same
	recheckMarks                      // for allocations that were preempted or lost
)

// recheckJobs refreshes, and gives their turn to the jobs that could be placed now. No
// attempt may be in progress: it needs its snapshot unchanged.
func (l *Loop[K]) recheckJobs(ctx context.Context, now time.Time, what recheck) error {
	snap, err := l.engine.Begin(ctx, now)
	if err != nil {
		return err
	}
	l.recheckAt = now.Add(l.cfg.Recheck)
	if len(l.parked) > 0 && (l.machines.update(snap) || what&recheckParked != 0) {
		l.unpark(snap, now)
	}
	if what&recheckRoom != 0 {
		l.reconsiderWaiters()
	}
	return nil
}

// unpark gives their turn to parked jobs that could fit. Cost: O(parked jobs ×
// machines).
func (l *Loop[K]) unpark(snap *omega.Snapshot, now time.Time) {
	var ready []*Pending[K]
	for _, p := range l.parked {
		if why := snap.Explain(p.job.Query()); l.possible(p, &why) {
			ready = append(ready, p)
		}
	}
	// No callback was between this and the state that it changes.
	for _, p := range ready {
		l.move(p, queued)
		l.emit(Event[K]{Kind: Unparked, At: now, Pending: p})
	}
	l.parked = slices.DeleteFunc(l.parked, func(p *Pending[K]) bool { return p.state != parked })
	for _, p := range ready {
		l.cfg.Order.Push(p)
	}
}
