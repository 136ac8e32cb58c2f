package pools

import (
	"time"

	"github.com/cellsched/cellsched/resources"
)

// Tally is a reading of a node's usage meter: its usage added up over time. Two
// readings give the average usage in between. The zero Tally is the reading at the
// meter's start.
type Tally struct {
	from, at time.Time
	held     [resources.MaxKinds]float64 // fractions of the total, times seconds
}

// Since returns the average usage between an earlier reading of the same node and
// this one, and the length of that time. Usage is by kind, as a fraction of the
// total. Both are 0 if no time has passed.
func (t Tally) Since(earlier Tally) (held [resources.MaxKinds]float64, span time.Duration) {
	start := earlier.at
	if start.IsZero() {
		start = t.from
	}
	if span = t.at.Sub(start); span <= 0 {
		return held, 0
	}
	for k := range held {
		held[k] = (t.held[k] - earlier.held[k]) / span.Seconds()
	}
	return held, span
}

// Advance sets the time of all calls until the next Advance. The first call starts
// a meter for each node; a node added later has one from then on. Without any call
// there are no meters, and they cost nothing.
//
// Cost: O(1), and O(n) for n nodes at the first call; from then on each charge and
// credit adds O(d). Errors: [ErrValue] for a time before that of the last call.
func (t *Tree[K]) Advance(now time.Time) error {
	if t.none() {
		return self.Absent("tree")
	}
	r := &t.core.record
	if r.on && now.Before(r.now) {
		return self.Refuse(errTime, "advance to %v after %v, want no earlier", now, r.now)
	}
	r.now = now
	if !r.on {
		r.on = true
		for s := range t.core.nodes {
			r.begin(uint32(s))
		}
	}
	return nil
}

// Tally returns the reading of a node's meter at the last [Tree.Advance]. It counts
// fractions of the total at each time, without weight. Ok is false before the first
// Advance too. Cost: O(1).
func (t *Tree[K]) Tally(h Node) (tally Tally, ok bool) {
	if t.none() {
		return tally, false
	}
	r := &t.core.record
	if !r.on || t.node(h) == nil {
		return Tally{}, false
	}
	m := &r.meters[h.slot]
	t.core.read(h.slot)
	return Tally{from: m.from, at: m.at, held: m.held}, true
}

// record is the meters of a tree, by slot.
type record struct {
	on     bool
	now    time.Time
	meters []meter
}

type meter struct {
	from, at time.Time // held is of the time in between
	held     [resources.MaxKinds]float64
}

// begin starts the meter of a slot.
func (r *record) begin(slot uint32) {
	if !r.on {
		return
	}
	for len(r.meters) <= int(slot) {
		r.meters = append(r.meters, meter{})
	}
	r.meters[slot] = meter{from: r.now, at: r.now}
}

// accrue reads the meters of a node and all above, before their usage changes.
func (c *core) accrue(slot uint32) {
	if !c.record.on {
		return
	}
	for s := slot; s != none; s = c.nodes[s].parent {
		c.read(s)
	}
}

// read brings the meter of a slot up to the present.
func (c *core) read(slot uint32) {
	m := &c.record.meters[slot]
	seconds := c.record.now.Sub(m.at).Seconds()
	if seconds <= 0 {
		return
	}
	m.at = c.record.now
	for k := range c.kinds {
		m.held[k] += float64(c.nodes[slot].usage[k]) * c.inverse[k] * seconds
	}
}
