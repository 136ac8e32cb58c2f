package main

import (
	"iter"
	"slices"

	"github.com/cellsched/cellsched/locality"
	"github.com/cellsched/cellsched/omega"
	"github.com/cellsched/cellsched/resources"
)

// fits reports whether a task of j can start now, and notes in j which and where.
func (r *replay) fits(j *job) bool {
	for _, b := range j.bundles {
		if r.full {
			return false
		}
		if m, ok := r.search(b); ok {
			j.found, j.machine = b, m
			return true
		}
	}
	return false
}

// search looks for a machine for a task of b, not farther from data than the job
// takes it by now.
//
// Room only shrinks within a round. So where the same search has failed before,
// it is repeated on the machines that have been freed since. A need fits nowhere if a
// need that is no larger fitted nowhere in this round.
func (r *replay) search(b *bundle) (omega.MachineID, bool) {
	if r.hopeless(b.need) {
		r.full = r.hopeless(r.least)
		return 0, false
	}
	allowed := locality.Level(255)
	if b.near != nil {
		allowed = b.delay.Allowed(r.now)
	}
	near := allowed < r.sites.topology.Any()
	q := omega.Query{Need: b.need, Allow: r.allow(b, near, allowed)}
	if b.tried && b.at == allowed && b.freedBy >= r.dropped {
		q.Among = r.freedSince(b.freedBy)
	}
	m, ok := r.snap.Find(q, r.cfg.policy)
	if ok {
		b.tried = false // or machines that have been freed and filled would be looked at again and again
		return m, true
	}
	b.tried, b.at, b.freedBy = true, allowed, r.dropped+len(r.freed)
	if !near {
		r.fail(b)
		return 0, false
	}
	r.passUp(b)
	return 0, false
}

// hopeless reports whether a need that is no larger has been looked for everywhere, in
// vain, since a machine was last freed.
func (r *replay) hopeless(need resources.Vector) bool {
	return slices.ContainsFunc(r.failed, func(v resources.Vector) bool { return v.Fits(need) })
}

// fail notes that a task of b fits on none of its machines. Of the needs that
// failed only the least are kept, those in which no other one fits.
func (r *replay) fail(b *bundle) {
	if b.models != nil {
		return
	}
	r.failed = append(slices.DeleteFunc(r.failed, b.need.Fits), b.need)
	r.full = r.hopeless(r.least)
}

// passUp notes with the job's wait whether there is a machine that it does not take
// because it is too far from the data. From then on the job ages, until the next
// time, as in Algorithm 3 of delay scheduling.
func (r *replay) passUp(b *bundle) {
	m, ok := r.snap.Find(omega.Query{Need: b.need, Allow: r.allow(b, false, 0)}, r.offered)
	if !ok {
		r.fail(b)
		return
	}
	_, level := b.near.find(m.Node())
	_, _ = b.delay.Offer(r.now, level) // fails only where time goes backwards
	if at, ok := b.delay.NextRelax(r.now); ok && (r.wake.IsZero() || at.Before(r.wake)) {
		r.wake = at
	}
}

// allow returns the filter of machines that will do for b: those of its models and, if
// it is to be near, with a task at the level or below. Nil is all.
func (r *replay) allow(b *bundle, near bool, level locality.Level) func(locality.Node) bool {
	if b.models == nil && !near {
		return nil
	}
	return func(n locality.Node) bool {
		if b.models != nil && !b.models[n] {
			return false
		}
		if !near {
			return true
		}
		_, l := b.near.find(n)
		return l <= level
	}
}

// freedSince walks the machines that have been freed since a position in the
// log.
func (r *replay) freedSince(position int) iter.Seq[locality.Node] {
	return slices.Values(r.freed[position-r.dropped:])
}
