package loop

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/cellsched/cellsched/omega"
	"github.com/cellsched/cellsched/resources"
)

// reconsiderWaiters puts the jobs that wait for room back in the order. So the order, and not the
// time of arrival, decides which of them gets the room. A job without room when its turn
// comes goes on waiting: see [Loop.next]. Cost: O(jobs waiting log jobs waiting), and a
// Push for each.
func (l *Loop[K]) reconsiderWaiters() {
	var waiters []*Pending[K]
	for _, t := range l.backoffs.list {
		if t.p.searching && !t.p.early {
			waiters = append(waiters, t.p)
		}
	}
	slices.SortFunc(waiters, func(a, b *Pending[K]) int { return cmp.Compare(a.seq, b.seq) })
	for _, p := range waiters {
		// Its alarm stays set, for a turn that comes after the end of the back-off.
		p.early = true
		l.enqueue(p)
	}
}

// next takes the next job out of the order and refreshes the snapshot; it returns no
// job if there is none. Recalled jobs for which the snapshot has no room, found by next
// fit, wait again until their back-off ends: that is no attempt. A search that fails
// spares those for jobs that need no less.
func (l *Loop[K]) next(ctx context.Context, now time.Time) (p *Pending[K], snap *omega.Snapshot, err error) {
	var failed []resources.Vector
	for p = l.pop(); p != nil; p = l.pop() {
		if snap == nil {
			if snap, err = l.engine.Begin(ctx, now); err != nil {
				l.enqueue(p)
				return nil, nil, err
			}
		}
		if !p.early {
			return p, snap, nil
		}
		// Job.Allow may panic, and then the job waits on.
		p.early = false
		l.move(p, waiting)
		if p.room == 0 && slices.ContainsFunc(failed, func(v resources.Vector) bool { return resources.Fits(&v, &p.job.Need) }) {
			continue
		}
		found := 0
		if found, snap, err = l.room(ctx, now, p, snap); err != nil {
			p.early = true
			l.enqueue(p)
			return nil, nil, err
		}
		if found == p.atOnce() {
			l.backoffs.unset(p)
			return p, snap, nil
		}
		if found == 0 && p.job.Allow == nil {
			failed = append(failed, p.job.Need)
		}
	}
	return nil, nil, nil
}

// pop takes the next job that has not ended out of the order.
func (l *Loop[K]) pop() *Pending[K] {
	p := l.cfg.Order.Next()
	for p != nil && p.state != queued {
		p = l.cfg.Order.Next()
	}
	return p
}

// room returns for how many of the tasks that the job needs room for at once the
// snapshot has it. Cost: a search, and for a gang that finds some room a refresh.
func (l *Loop[K]) room(
	ctx context.Context, now time.Time, p *Pending[K], snap *omega.Snapshot,
) (found int, _ *omega.Snapshot, err error) {
	want := p.atOnce()
	if l.reservation(p, snap, now).Ready {
		return want, snap, nil
	}
	if want == 1 {
		if _, ok := snap.Find(p.job.Query(), omega.NextFit()); ok {
			found = 1
		}
		return found, snap, nil
	}
	if found = snap.Place(p.job.Query(), omega.NextFit(), want, nil); found > 0 {
		// A refresh gives back all that the search took.
		snap, err = l.engine.Begin(ctx, now)
	}
	return found, snap, err
}
