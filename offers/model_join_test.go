package offers_test

import (
	"slices"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/cellsched/cellsched/offers"
	"github.com/cellsched/cellsched/omega"
	"github.com/cellsched/cellsched/resources"
)

// A framework of the model that comes to want offers is not kept from them by unread
// offers of others.

// outstanding returns the outstanding offers of each framework, as the master reports
// them.
func (m *model) outstanding() map[*fw]resources.Vector {
	all := make(map[*fw]resources.Vector)
	for _, f := range m.those(func(f *fw) bool { return f.here && f.of == m.master }) {
		_, all[f] = f.h.Held()
	}
	return all
}

// checkJoin verifies that frameworks have no unread offers to spare now that f wants
// some, too. It looks at each framework that had enough offers for the share that is left
// to it, and at unread offers that f may be offered.
func (m *model) checkJoin(t *rapid.T, f *fw, before map[*fw]resources.Vector) {
	if m.cfg.Terms.Optimistic || !m.settled || m.revoking() || f.suppressed || !m.hasUse(f) {
		return
	}
	for _, g := range m.those(func(g *fw) bool { return g != f && g.asleep && m.counts(g) }) {
		if len(g.requests) > 0 || m.share(before[g]) < m.most(g)+1e-9 {
			continue // it may have been answered, or be offered more
		}
		_, offered := g.h.Held()
		spare := m.unread(g)
		spare = slices.DeleteFunc(spare, func(a omega.Allocation) bool {
			return !m.cfg.Terms.Machines.Has(a.Machine.Node()) || !m.wants(f, a.Machine, a.Need)
		})
		needed := slices.ContainsFunc(spare, func(a omega.Allocation) bool {
			rest, _ := offered.Sub(a.Need)
			return m.share(rest) < m.most(g)+1e-9
		})
		require.True(t, needed || len(spare) == 0, "%s has not read of %v, which %s may have", g.name, spare, f.name)
	}
}

// unread returns the claims of offers that a framework that is asleep has not read of.
// One may be like another one that it has read of, and that has ended since.
func (m *model) unread(f *fw) []omega.Allocation {
	return slices.DeleteFunc(m.claimed(f), func(a omega.Allocation) bool { return slices.Contains(f.heard, a.ID) })
}

// claimed returns the claims of all offers of a framework.
func (m *model) claimed(f *fw) (claims []omega.Allocation) {
	for a := range m.cell.Allocations() {
		if a.Scheduler == offers.DefaultName && a.Account == accountOf(m.cell, f.name) {
			claims = append(claims, a)
		}
	}
	return claims
}
