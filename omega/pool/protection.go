package pool

import "github.com/cellsched/cellsched/resources"

// All of this file is called with the pool's mutex held.

// protection is the part of the index that one tenant or group below the root has
// to itself.
type protection struct {
	leases, owed itemList
	used         map[*Tenant]*resources.Vector
	open         int    // items that are not protected
	changes      uint64 // of items, so far
	flat         bool
	dirty        bool
}

// itemList is a list of items in the order in which guarantees protect them.
type itemList struct{ first, last *item }

func (x *preemptible) unsettle(r *protection) {
	if !r.dirty {
		r.dirty = true
		x.dirty = append(x.dirty, r)
	}
}

// settle brings the protection up to date where it is not. Cost: O(leases) of the
// tenants and groups below the root whose guarantees protect other leases now.
func (x *preemptible) settle() {
	for _, r := range x.dirty {
		x.protect(r)
	}
	x.dirty = x.dirty[:0]
}

// protect finds out which items the guarantees of a root protect.
func (x *preemptible) protect(r *protection) {
	var all []*item
	deepest := 0
	for _, list := range [...]*itemList{&r.leases, &r.owed} {
		for it := list.first; it != nil; it = it.next {
			all = append(all, it)
			deepest = max(deepest, len(it.rights.levels))
		}
	}
	for _, used := range r.used {
		*used = resources.Vector{}
	}
	safe := make([]int, len(all))
	r.open = len(all)
	for depth := deepest; depth > 0; depth-- {
		for i, it := range all {
			if safe[i] > 0 || len(it.rights.levels) < depth {
				continue
			}
			up := it.rights.levels[len(it.rights.levels)-depth:]
			if covers(&up[0].top.guarantee, up[0].used, &it.need) {
				safe[i] = depth
				r.open--
				for _, l := range up {
					*l.used = l.used.Add(it.need)
				}
			}
		}
	}
	for i, it := range all {
		if it.safe != safe[i] {
			m := &x.machines[it.node]
			m.uncount(it)
			it.safe = safe[i]
			m.count(it)
			x.mark(it.node)
		}
	}
	r.dirty = false
}

func (l *itemList) add(it *item) {
	if it.prev = l.last; l.last == nil {
		l.first = it
	} else {
		l.last.next = it
	}
	l.last = it
}

func (l *itemList) remove(it *item) {
	if it.prev == nil {
		l.first = it.next
	} else {
		it.prev.next = it.next
	}
	if it.next == nil {
		l.last = it.prev
	} else {
		it.next.prev = it.prev
	}
}
