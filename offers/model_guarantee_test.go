package offers_test

import (
	"slices"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/cellsched/cellsched/offers"
	"github.com/cellsched/cellsched/omega"
	"github.com/cellsched/cellsched/resources"
)

// Frameworks of the model are guaranteed something, and told if the cell has not got
// that any more, or if what was revoked may stay.

// mayPromise reports whether the cell is sure to have what a framework wants to be
// guaranteed beside others, and whether it can have it, kind by kind. What it was
// guaranteed before it keeps. A framework is believed if a new master has found tasks of
// it.
func (m *model) mayPromise(f *fw) (sure, can bool) {
	least, most := m.totals()
	sure, can = true, true
	if f.found {
		return sure, can
	}
	for k, q := range f.reg.Guaranteed {
		if q == 0 || slices.Contains(m.all, f) && q <= f.promised[k] {
			continue
		}
		for _, g := range m.all {
			if g != f {
				q += g.promised[k]
			}
		}
		sure, can = sure && q <= least[k], can && q <= most[k]
	}
	return sure, can
}

// hearSpared takes over which tasks may stay after all.
func (m *model) hearSpared(t *rapid.T, f *fw, news offers.News) {
	for _, a := range news.Spared {
		_, runs := f.tasks[a.ID]
		_, ran := f.lost[a.ID]
		require.True(t, runs || ran, "%v is none of its tasks", a)
		require.False(t, slices.ContainsFunc(news.Revoked, func(n offers.Notice) bool { return n.Task.ID == a.ID }),
			"it is told one of both")
		delete(f.notices, a.ID)
	}
}

// checkNotices verifies that no victim is still to leave for a request that has ended,
// after its grace, or from a machine on which nothing may be had.
func (m *model) checkNotices(t *rapid.T) {
	for _, f := range m.those(func(f *fw) bool { return f.here && !f.drowsy }) {
		for id, until := range f.notices {
			one, runs := f.tasks[id]
			if !runs {
				continue
			}
			require.True(t, m.grace == 0 || m.now.Before(until), "%s was to leave by %v, and neither did nor may stay", f.name, until)
			require.Equal(t, omega.Ready, m.seen[one.machine].Condition, "%s has to leave for nothing", f.name)
			require.True(t, m.cfg.Terms.Machines.Has(one.machine.Node()))
			require.NotEmpty(t, m.those(func(g *fw) bool { return g != f && g.revokes() }), "%s has to leave for nobody", f.name)
		}
	}
}

func (m *model) hearShort(f *fw, short *resources.Vector) {
	if short != nil {
		f.short = *short
	}
}

// checkShort verifies that each framework knows what the cell has too little of to keep
// all guarantees, of the kinds that it is guaranteed itself.
func (m *model) checkShort(t *rapid.T) {
	total, _ := m.totals()
	var promised resources.Vector
	for _, f := range m.all {
		promised = promised.Add(f.promised)
	}
	for _, f := range m.those(func(f *fw) bool { return f.here && !f.drowsy }) {
		var short resources.Vector
		for k, q := range f.promised {
			if q > 0 {
				short[k] = max(0, promised[k]-total[k])
			}
		}
		require.Equal(t, short, f.short, "what %s cannot rely on", f.name)
	}
}
