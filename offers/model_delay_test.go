package offers_test

import (
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/cellsched/cellsched/offers"
)

// checkDelay verifies that a framework that needs room is offered some within one round
// more than there are frameworks. In each round all others decline all their offers.
func (m *model) checkDelay(t *rapid.T) {
	for _, f := range m.all {
		f.asleep = false
	}
	m.read(t)
	m.step(t, 0)
	m.read(t)
	m.check(t)
	needy := m.those(func(f *fw) bool {
		return f.here && !f.suppressed && !f.refused && !m.now.Before(f.quiet) && len(f.offers) == 0
	})
	if m.cfg.Terms.Optimistic || m.revoking() || len(needy) == 0 {
		return
	}
	f := needy[0]
	for range len(m.all) + 2 {
		for _, g := range m.those(func(g *fw) bool { return g != f && g.here }) {
			for len(g.offers) > 0 && len(f.offers) == 0 {
				o := g.offers[0]
				require.NoError(t, g.h.Decline(m.now, offers.For(0), o.ID))
				m.end(g, o, offers.ErrDeclined)
				g.refused = true
				m.read(t)
				m.check(t)
			}
		}
	}
	for _, g := range m.those(func(g *fw) bool { return g != f && g.here && len(f.offers) == 0 }) {
		for _, o := range g.offers {
			require.False(t, m.wants(f, o.Machine, o.Room), "%s is not offered %v, which others decline", f.name, o.Room)
		}
	}
}
