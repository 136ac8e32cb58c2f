package omega

import (
	"slices"
	"time"

	"github.com/cellsched/cellsched/resources"
)

// leaving are preempted allocations of one machine that may still be running.
// It is immutable.
type leaving []leaver

// leaver is a preempted allocation that may still run. It ends when its owner
// releases it, at until at the latest.
type leaver struct {
	id    AllocationID
	need  resources.Vector
	until time.Time
	by    *owner // the preemptor
}

// remaining returns those of l that may still be running at now, as far as the
// cell knows; a zero now is before any time. It returns l itself where none
// has gone, nil where all have.
func (c *Cell) remaining(l *leaving, now time.Time) *leaving {
	if l == nil {
		return nil
	}
	return l.without(func(one *leaver) bool {
		return !c.holds(one.id) || !now.IsZero() && !now.Before(one.until)
	})
}

// without returns those of l that are not gone: l itself where none is gone, nil
// where all are. It asks for each leaver once.
func (l *leaving) without(gone func(*leaver) bool) *leaving {
	for i := range *l {
		if !gone(&(*l)[i]) {
			continue
		}
		rest := slices.Clone((*l)[:i])
		for n := range (*l)[i+1:] {
			if one := &(*l)[i+1+n]; !gone(one) {
				rest = append(rest, *one)
			}
		}
		if len(rest) == 0 {
			return nil
		}
		return &rest
	}
	return l
}

// with returns l and more, as a new list.
func (l *leaving) with(more leaving) *leaving {
	if len(more) == 0 {
		return l
	}
	var all leaving
	if l != nil {
		all = append(all, *l...)
	}
	all = append(all, more...)
	return &all
}

// startsNow reports whether an allocation of need, which fits in b.free, finds room on
// the machine while preempted allocations are still leaving it, in whatever order they
// leave. The records read are right if b gets in place.
//
// For each i, need and the allocations l[i:] have to fit in b.free and the room of the
// allocations that wait for one of l[i:]. These do not need their room before l[i:]
// have gone.
func startsNow(need *resources.Vector, b *building, at table) bool {
	if b.leaving == nil {
		return true
	}
	l := *b.leaving
	waiting := make([]resources.Vector, len(l)) // by the last that they wait for
	for n := range b.live.all() {
		var rec record
		if _, ok := at.look(n, &rec); !ok || rec.ext == nil || rec.ext.after == nil {
			continue
		}
		if last := l.last(*rec.ext.after); last >= 0 {
			// It waits for all that were leaving when it was granted: the last of them
			// is enough.
			for k, q := range rec.need {
				// A resized allocation runs on with what it had, and waits for the rest
				// only.
				waiting[last][k] += max(0, q-rec.ext.had[k])
			}
		}
	}
	room, held := b.free, *need
	for i := range slices.Backward(l) {
		room, held = room.Add(waiting[i]), held.Add(l[i].need)
		if !held.Fits(room) {
			return false
		}
	}
	return true
}

// last returns the place in l of the last one that is in some too, or -1.
func (l leaving) last(some leaving) int {
	for i := range slices.Backward(l) {
		if slices.ContainsFunc(some, func(one leaver) bool { return one.id == l[i].id }) {
			return i
		}
	}
	return -1
}

// running returns the amount that an allocation may run with at now. A zero now may be after
// any deadline.
func (c *Cell) running(rec *record, now time.Time) resources.Vector {
	if rec.ext == nil || now.IsZero() || c.remaining(rec.ext.after, now) == nil {
		return rec.need
	}
	return rec.ext.had
}

// ReadyAt returns when allocation a may start: the zero time if at once, else the time by
// which the victims whose room it may need are to have stopped. It moves earlier as their
// owners release them. A task that starts then never shares resources with a victim whose
// owner keeps to [Mark.Until]. It is lock-free. Errors: [ErrReleased].
func (c *Cell) ReadyAt(a AllocationID) (time.Time, error) {
	if c.none() {
		return time.Time{}, absent("cell")
	}
	rec, ok := c.record(a)
	if !ok {
		e := RefusalError{Allocation: a, abroad: c.foreign(a)}
		return time.Time{}, refuse(ErrReleased, "%s", e.allocation())
	}
	var at time.Time
	if rec.ext != nil {
		if l := c.remaining(rec.ext.after, time.Time{}); l != nil {
			for i := range *l {
				if until := (*l)[i].until; until.After(at) {
					at = until
				}
			}
		}
	}
	return at, nil
}
