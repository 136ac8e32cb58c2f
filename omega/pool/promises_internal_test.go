package pool

import (
	"fmt"
	"slices"

	"github.com/cellsched/cellsched/resources"
)

// checkPromises looks for a promise that breaks an invariant, and for sums that are not
// those of the promises and leases.
func (p *Pool) checkPromises() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	owed, assigned := make([]resources.Vector, len(p.books.machines)), make([]resources.Vector, len(p.books.machines))
	promised, returning := make(map[*Tenant]resources.Vector), make(map[*Tenant]resources.Vector)
	count := make(map[*Tenant]int)
	for _, w := range p.promises.list {
		missing := 0
		for i := range w.kept.promises {
			pr := &w.kept.promises[i]
			owed[pr.node], assigned[pr.node] = plus(owed[pr.node], pr.need, 1), plus(assigned[pr.node], pr.got, 1)
			if !pr.got.Fits(pr.need) || pr.need != *w.needAt(i) {
				return fmt.Errorf("a promise of %v has got %v", pr.need, pr.got)
			}
			if pr.got != pr.need {
				missing++
			}
		}
		if w.kept.missing != missing || slices.Contains(p.promises.due, w) != (missing == 0) {
			return fmt.Errorf("a request of %s lacks %d of its promises, want %d", w.tenant.name, w.kept.missing, missing)
		}
		for g := w.tenant; g != nil; g = g.parent {
			promised[g] = plus(promised[g], w.need, 1)
			count[g]++
		}
		if missing == 0 && w.expired() == nil && !w.heldBack() && (w == w.tenant.first || !w.tenant.set.Strict) &&
			!slices.ContainsFunc(w.kept.nodes, p.books.grantsNone) {
			return fmt.Errorf("a request of %s for %v could start", w.tenant.name, w.need)
		}
		if w.tenant.set.Strict && w.isBehind() {
			return fmt.Errorf("a request of strict %s is promised room behind another", w.tenant.name)
		}
	}
	for i := range p.leases.records {
		if r := &p.leases.records[i]; r.gen&1 == 1 && r.preempted && !r.late {
			for g := r.tenant; g != nil; g = g.parent {
				returning[g] = plus(returning[g], r.run.Need, 1)
			}
		}
	}
	for t := range p.tenants.all() {
		if t.promised != promised[t] || t.returning != returning[t] || t.promises != count[t] {
			return fmt.Errorf("%s: %d promises of %v and returning %v, want %d of %v and %v",
				t.name, t.promises, t.promised, t.returning, count[t], promised[t], returning[t])
		}
		if t.overPromised() {
			return fmt.Errorf("%s: more is promised than its limit or its rate allow", t.name)
		}
	}
	for i := range p.books.machines {
		m := &p.books.machines[i]
		free := m.free()
		if m.owed != owed[i] || m.assigned != assigned[i] || !resources.Fits(&m.assigned, &free) {
			return fmt.Errorf("%s: owed %v, of that assigned %v of %v free, want %v and %v", m.name, m.owed, m.assigned, free, owed[i], assigned[i])
		}
		want := p.promisesInOrder(i, free)
		if want != nil {
			return want
		}
	}
	return nil
}

// promisesInOrder looks for room that is free on a machine and that no promise has got
// although one lacks it.
func (p *Pool) promisesInOrder(node int, free resources.Vector) error {
	m := &p.books.machines[node]
	for k := range free {
		if lacks := m.owed[k] - m.assigned[k]; lacks > 0 && free[k] > m.assigned[k] {
			return fmt.Errorf("%s: %d of kind %d are free and assigned to none, and promises lack %d", m.name, free[k]-m.assigned[k], k, lacks)
		}
	}
	return nil
}
