package slots

import (
	"errors"
	"fmt"
)

// ErrInfeasible is for problems in which not every task can have a place, or
// not every leaf what it keeps.
var ErrInfeasible = errors.New("quincy: infeasible")

// Solve gives every task a place so that the sum of costs is least, at the
// time now.
//
// What cannot be is an error; then some tasks have no place, and a Solve after
// further changes goes on from there. Cost: O(options) for a search of
// everything, of which there are some dozens from scratch in a full net, at
// most one for each unit; and near O(changes) when few tasks have come and gone
// and slots are free.
func (n *Net) Solve(now int64) error {
	n.round++
	n.limits.forget()
	n.rebase()
	anew := n.crowded()
	drifted := now != n.now && n.drifts > 0
	n.now = now
	if anew {
		n.guess()
	}
	n.adjust(anew || drifted, anew)
	if n.roomy() {
		n.fill()
	}
	n.dirty = n.dirty[:0]
	n.seatAll()
	n.ascend()
	if n.roomy() {
		n.near()
	}
	for n.open() {
		if n.shorten() == 0 || !n.pushAll() {
			return n.infeasible()
		}
	}
	return nil
}

// rebase makes the sink's price 0, so that prices stay small however many
// rounds there are.
func (n *Net) rebase() {
	sink := n.price[Sink]
	if max(sink, -sink) < ceiling/2 {
		return
	}
	for v := range n.price {
		n.price[v] -= sink
	}
}

// roomy reports whether slots are free in numbers.
func (n *Net) roomy() bool { return n.free > 2*len(n.idle) }

// open reports whether a unit is not where it belongs.
func (n *Net) open() bool { return len(n.idle) > 0 || n.off > 0 }

func (n *Net) infeasible() error {
	if len(n.idle) > 0 {
		return fmt.Errorf("%d of %d tasks have no place: %w", len(n.idle), n.live, ErrInfeasible)
	}
	return fmt.Errorf("a location has more than it can pass on: %w", ErrInfeasible)
}

// adjust takes tasks from places that are no longer their cheapest, and balances
// locations: all of them, or what has changed.
func (n *Net) adjust(tasks, locs bool) {
	if tasks {
		for t := range n.tasks {
			n.reprice(int32(t))
		}
	} else {
		for _, t := range n.changed {
			n.reprice(t)
		}
	}
	if locs {
		n.dirty = n.dirty[:0]
		for i := range n.locs {
			n.dirty = append(n.dirty, Loc(i))
		}
	}
	n.changed = n.changed[:0]
	for _, v := range n.dirty {
		if n.locs[v].leaf {
			n.settle(v)
		} else if n.locs[v].excess < 0 {
			n.refill(v)
		}
	}
}

// reprice looks up what t costs now.
func (n *Net) reprice(t int32) {
	p := &n.cur[t]
	if n.tasks[t].n == 0 || p.at == none {
		return
	}
	best, cost := n.price[p.at]+p.cost, p.cost
	first := true
	opts := n.optionsOf(t)
	for i := range opts {
		c := opts[i].cost(n.now)
		if opts[i].at == p.at {
			cost = c
		}
		if sum := c + n.price[opts[i].at]; first || sum < best {
			best, first = sum, false
		}
	}
	p.cost = cost
	if cost+n.price[p.at] > best {
		n.dirty = append(n.dirty, p.at)
		n.leave(t)
		n.rest(t)
	}
}

// refill balances a group in need by taking back units that it sent to kids
// which can do without them, as the sink is no dearer.
func (n *Net) refill(v Loc) {
	l := &n.locs[v]
	if v == Sink || n.price[v] != n.price[Sink] {
		return
	}
	for _, k := range l.kids {
		kid := &n.locs[k]
		back := min(kid.down, -l.excess)
		if back > 0 {
			kid.down -= back
			n.gain(k, -back)
			n.gain(v, back)
			if kid.leaf {
				n.settle(k)
			} else {
				n.refill(k)
			}
		}
		if l.excess == 0 {
			return
		}
	}
}

// pushAll sends units the ways that shorten found, until there are none, and
// reports whether there was one.
func (n *Net) pushAll() bool {
	moved := false
	for i := len(n.idle) - 1; i >= 0; i-- {
		t := n.idle[i]
		least := n.least(t)
		opts := n.optionsOf(t)
		for j := range opts {
			o := &opts[j]
			if cost := o.cost(n.now); cost+n.price[o.at] == least && n.push(o.at, false) {
				n.take(t, o.at, cost)
				moved = true
				break
			}
		}
	}
	for i := range n.locs {
		for n.locs[i].excess > 0 && n.push(Loc(i), true) {
			moved = true
		}
	}
	return moved
}
