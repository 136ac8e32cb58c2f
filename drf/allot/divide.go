package allot

import (
	"cmp"
	"math"
	"math/bits"
	"slices"

	"github.com/cellsched/cellsched/drf/internal/fraction"
	"github.com/cellsched/cellsched/resources"
)

// Divide returns the number of tasks that each taker gets when tasks can be divided
// without end. All weighted dominant shares grow together from nothing. A taker
// stops when it has all of its tasks or when a kind that it demands is used up. The
// others go on.
//
// The outcome is the fluid limit of [Fill]. If each taker demands some of each
// kind, it is the allocation of Ghodsi et al., NSDI 2011. Two extensions are from
// D. Parkes, A. Procaccia and N. Shah, "Beyond dominant resource fairness", EC
// 2012: takers that do not use an exhausted kind go on, and weights by kind. A kind
// that the total has none of plays no part in any share, but a taker that demands
// it gets nothing.
//
// Numbers are within 1e-12 of the exact ones, relatively, if the takers that a kind
// stops hold a trillionth of it or more. Sums are kept to 104 bits, so a small rest
// is not lost to rounding. Results are rounded at the end, and together may exceed
// the total by that.
//
// Cost: O(n (m + log n)) time and O(n) memory, for n takers and m kinds. There are
// at most m rounds, one for each kind that is used up. Takers with a number of
// tasks are sorted once. Errors: as [Fill].
func Divide(total resources.Vector, takers []Taker) (tasks []float64, err error) {
	if err := checkFilling(total, takers); err != nil {
		return nil, err
	}
	d := newDivision(total, takers)
	for len(d.active) > 0 {
		d.round()
	}
	return d.tasks, nil
}

// division is the state between two rounds of filling.
type division struct {
	takers []Taker
	tasks  []float64     // the result
	active []activeTaker // takers that go on, by ascending top
	left   [resources.MaxKinds]double
	level  double // the weighted dominant share of each active taker
}

// activeTaker is a taker with a share that still grows.
type activeTaker struct {
	taker int
	pace  double // tasks for each unit of share
	top   double // the share at which it has all of its tasks, or infinite
}

func newDivision(total resources.Vector, takers []Taker) *division {
	d := &division{
		takers: takers,
		tasks:  make([]float64, len(takers)),
		active: make([]activeTaker, 0, len(takers)),
	}
	for k, q := range total {
		d.left[k] = whole(q)
	}
	for i := range takers {
		t := &takers[i]
		kind, ok := t.dominant(&total)
		if !ok {
			continue
		}
		weight := double{hi: t.weight(kind)}
		c := activeTaker{taker: i, pace: whole(total[kind]).times(weight).over(whole(t.Demand[kind])), top: double{hi: math.Inf(1)}}
		if t.Tasks > 0 && t.fit(&total) {
			c.top = whole(t.Tasks).over(c.pace)
		}
		d.active = append(d.active, c)
	}
	slices.SortFunc(d.active, func(a, b activeTaker) int {
		return cmp.Or(cmp.Compare(a.top.hi, b.top.hi), cmp.Compare(a.top.lo, b.top.lo), a.taker-b.taker)
	})
	return d
}

// dominant returns the kind of a task's largest weighted share, exactly. It returns
// false if the task demands a kind that the total has none of.
func (t *Taker) dominant(total *resources.Vector) (kind int, ok bool) {
	kind = -1
	for k, q := range &t.Demand {
		switch {
		case q == 0:
		case total[k] == 0:
			return 0, false
		case kind < 0 || fraction.Compare(q, total[k], t.weight(k), t.Demand[kind], total[kind], t.weight(kind)) > 0:
			kind = k
		}
	}
	return kind, true
}

// fit reports whether all tasks of a taker together fit in the total.
func (t *Taker) fit(total *resources.Vector) bool {
	for k, q := range &t.Demand {
		if hi, lo := bits.Mul64(uint64(q), uint64(t.Tasks)); hi > 0 || lo > uint64(total[k]) {
			return false
		}
	}
	return true
}

// round raises the level until a kind is used up, or until no taker is left.
func (d *division) round() {
	p := d.plan()
	floor := d.level
	for _, c := range d.active[:p.done] {
		d.tasks[c.taker] = float64(d.takers[c.taker].Tasks)
		floor = c.top
	}
	level, full := double{hi: math.Inf(1)}, -1
	for k, pace := range &p.pace {
		d.left[k] = d.left[k].minus(whole(int64(p.held[k].lo)))
		if pace.hi > 0 {
			if at := d.left[k].over(pace); at.less(level) {
				level, full = at, k
			}
		}
	}
	if full < 0 {
		d.active = nil
		return
	}
	if level.less(floor) { // by rounding: the last of a kind went with the round before
		level = floor
	}
	d.level = level

	var stopped [resources.MaxKinds]double // the pace at which they took
	rest := d.active[:0]
	for _, c := range d.active[p.done:] {
		if demand := &d.takers[c.taker].Demand; demand[full] > 0 {
			d.tasks[c.taker] = level.times(c.pace).hi
			c.join(&stopped, demand)
		} else {
			rest = append(rest, c)
		}
	}
	d.active = rest
	for k := range d.left {
		d.left[k] = d.left[k].minus(level.times(stopped[k]))
		if d.left[k].hi < 0 { // by rounding, where it was all
			d.left[k] = double{}
		}
	}
}

// plan describes the next round: the active takers that get all of their tasks, the
// amount that these hold then, and the pace of the others.
type plan struct {
	done int
	held [resources.MaxKinds]struct{ hi, lo uint64 }
	pace [resources.MaxKinds]double
}

// plan returns the takers that get all of their tasks before a kind is used up.
func (d *division) plan() *plan {
	// Begin with each taker of finitely many tasks as done, and take takers back
	// from the highest top down until the room is enough. So paces are only added,
	// where a sum is as precise as its parts; only integers are subtracted.
	p := &plan{done: len(d.active)}
	for p.done > 0 && math.IsInf(d.active[p.done-1].top.hi, 1) {
		p.done--
		c := &d.active[p.done]
		c.join(&p.pace, &d.takers[c.taker].Demand)
	}
	for _, c := range d.active[:p.done] {
		for k, q := range d.takers[c.taker].all() {
			held, carry := &p.held[k], uint64(0)
			held.lo, carry = bits.Add64(held.lo, q, 0)
			held.hi += carry
		}
	}
	for p.done > 0 && !d.affords(p) {
		p.done--
		c := &d.active[p.done]
		for k, q := range d.takers[c.taker].all() {
			held, borrow := &p.held[k], uint64(0)
			held.lo, borrow = bits.Sub64(held.lo, q, 0)
			held.hi -= borrow
		}
		c.join(&p.pace, &d.takers[c.taker].Demand)
	}
	return p
}

// affords reports whether the room is enough until the last of the done takers has
// all of its tasks.
func (d *division) affords(p *plan) bool {
	top := d.active[p.done-1].top
	for k := range d.left {
		held := &p.held[k]
		if held.hi > 0 || held.lo > uint64(resources.MaxQuantity) {
			return false
		}
		if d.left[k].less(whole(int64(held.lo)).plus(top.times(p.pace[k]))) {
			return false
		}
	}
	return true
}

// join adds the pace at which an active taker takes each kind.
func (c *activeTaker) join(pace *[resources.MaxKinds]double, demand *resources.Vector) {
	for k, q := range demand {
		if q > 0 {
			pace[k] = pace[k].plus(whole(q).times(c.pace))
		}
	}
}

// all returns the amount of all tasks together. Their number is finite and they fit
// in the total.
func (t *Taker) all() (v [resources.MaxKinds]uint64) {
	for k, q := range &t.Demand {
		v[k] = uint64(q) * uint64(t.Tasks)
	}
	return v
}
