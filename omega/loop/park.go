package loop

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/cellsched/cellsched/omega"
	"github.com/cellsched/cellsched/resources"
)

// machines is what the machines that take claims could hold if they were
// empty: all that decides whether a job can ever fit, so that parked jobs are
// looked at only where it has changed.
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

// hold tells whether that many tasks would fit at once on machines that will
// do. Cost: O(machines).
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

// possible tells whether the job could be placed if all machines were empty; a
// job that is no gang whether a task of it could. Why is what the snapshot has
// to say about it.
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

// what to look at anew.
type recheck uint8

const (
	recheckRoom   recheck = 1 << iota // for those that wait for room
	recheckParked                     // for parked jobs, even if the machines are the same
	recheckMarks                      // for allocations that were preempted or lost
)

// look refreshes and gives their turn to jobs that could be placed now. To be
// called while no attempt is in progress: that needs its snapshot as it was.
func (l *Loop[K]) look(ctx context.Context, now time.Time, what recheck) error {
	snap, err := l.cfg.Store.Refresh(ctx, now)
	if err != nil {
		return err
	}
	l.recheckAt = now.Add(l.cfg.Recheck)
	if len(l.parked) > 0 && (l.machines.update(snap) || what&recheckParked != 0) {
		l.unpark(snap, now)
	}
	if what&recheckRoom != 0 {
		if err = l.unwait(ctx, now, snap); err != nil {
			return err
		}
		// A Wait takes what was set aside for changes.
		_, err = l.cfg.Store.Refresh(ctx, now)
	}
	return err
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

// unwait ends the back-off of jobs that wait for room and would find it by
// next fit, in the order of their arrival, as long as there is room for them
// all. A gang that finds room for some of its tasks leaves that to the others. A
// search that fails spares those for jobs that need no less. Cost: O(jobs waiting log
// jobs waiting), a search for each that finds room and for each smaller need that does
// not, and a refresh for each gang that finds some.
func (l *Loop[K]) unwait(ctx context.Context, now time.Time, snap *omega.Snapshot) error {
	var waiters []*Pending[K]
	for _, t := range l.backoffs.list {
		if t.p.searching {
			waiters = append(waiters, t.p)
		}
	}
	slices.SortFunc(waiters, func(a, b *Pending[K]) int { return cmp.Compare(a.seq, b.seq) })
	type room struct {
		on     omega.MachineID
		amount resources.Vector
	}
	var taken []room // for those that have their turn
	var failed []resources.Vector
	for _, p := range waiters {
		if slices.ContainsFunc(failed, func(v resources.Vector) bool { return resources.Fits(&v, &p.job.Need) }) {
			continue
		}
		want := p.atOnce()
		before := len(taken)
		found := snap.Place(p.job.Query(), omega.NextFit(), want, func(m omega.MachineID, tasks int) {
			taken = append(taken, room{m, p.job.Need.Scale(int64(tasks))})
		})
		switch {
		case found == want:
			l.backoffs.unset(p)
			l.enqueue(p)
		case found > 0:
			// A refresh gives back all that was taken.
			taken = taken[:before]
			var err error
			if snap, err = l.cfg.Store.Refresh(ctx, now); err != nil {
				return err
			}
			for _, r := range taken {
				snap.Take(r.on, r.amount)
			}
		case p.job.Allow == nil:
			failed = append(failed, p.job.Need)
		}
	}
	return nil
}
