package offers_test

import (
	"slices"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/cellsched/cellsched/offers"
	"github.com/cellsched/cellsched/omega"
	"github.com/cellsched/cellsched/resources"
)

// The model knows how much of the caps for long tasks is kept by offers that were read.
// An accept of no more is granted, whatever the caps are by then.

// capsLong reports whether there is a cap.
func (m *model) capsLong() bool { return m.cfg.LongOnMachine+m.cfg.LongInCell > 0 }

// longHeld returns what long tasks hold, and offers keep for such, on machines, but for
// some offers: at least and at most. Tasks that were taken away and have not stopped
// may count or not, and so may offers that are about to end.
func (m *model) longHeld(on func(omega.MachineID) bool, but []*room) (least, most resources.Vector) {
	for _, f := range m.all {
		for _, one := range f.tasks {
			if one.long && on(one.machine) {
				least, most = least.Add(one.need), most.Add(one.need)
			}
		}
		for _, l := range f.lost {
			if l.long && on(l.machine) {
				most = most.Add(l.need)
			}
		}
		for _, o := range append(slices.Clone(f.offers), f.perhaps...) {
			if !o.kept || !on(o.Machine) || slices.Contains(but, o) {
				continue
			}
			most = most.Add(o.Long)
			if f.here && !f.drowsy && !o.doomed && !o.gone && !o.late(m.now) &&
				!slices.Contains(f.retell, o) && !slices.Contains(f.perhaps, o) {
				least = least.Add(o.Long)
			}
		}
	}
	for _, o := range m.granted {
		if on(o.Machine) {
			most = most.Add(o.Long)
		}
	}
	return least, most
}

// longLeft returns what a cap for long tasks leaves, at least and at most.
func (m *model) longLeft(least, most resources.Vector, p int, on func(omega.MachineID) bool, but []*room) (low, high resources.Vector) {
	low, high = capOf(least, p), capOf(most, p)
	few, many := m.longHeld(on, but)
	for k := range low {
		low[k], high[k] = max(0, low[k]-many[k]), max(0, high[k]-few[k])
	}
	return low, high
}

// unheard reports whether unread offers may keep something for long tasks.
func (m *model) unheard() bool { return len(m.those(func(f *fw) bool { return f.drowsy })) > 0 }

func on(machine omega.MachineID) func(omega.MachineID) bool {
	return func(one omega.MachineID) bool { return one == machine }
}

func anywhere(omega.MachineID) bool { return true }

// longFits reports whether the long tasks of an accept are sure to be granted, and
// whether they can be.
func (m *model) longFits(launches []offers.Launch, used [][]*room, tasks []task) (sure, can bool) {
	all := slices.Concat(used...)
	sure, can = true, true
	judge := func(least, most resources.Vector, p int, on func(omega.MachineID) bool) {
		var need, kept resources.Vector
		for _, one := range tasks {
			if one.long && on(one.machine) {
				need = need.Add(one.need)
			}
		}
		for _, o := range all {
			if o.kept && on(o.Machine) {
				kept = kept.Add(o.Long)
			}
		}
		if p == 0 || need.Fits(kept) {
			return
		}
		low, high := m.longLeft(least, most, p, on, all)
		sure = sure && !m.unheard() && need.Fits(low.Max(kept))
		can = can && need.Fits(high.Max(kept))
	}
	for i := range launches {
		machine := used[i][0].Machine
		least, most := m.size(machine)
		judge(least, most, m.cfg.LongOnMachine, on(machine))
	}
	least, most := m.totals()
	judge(least, most, m.cfg.LongInCell, anywhere)
	return sure, can
}

// judgeLong verifies that an offer that was just told of lets long tasks have what the
// caps leave, and no more.
func (m *model) judgeLong(t *rapid.T, f *fw, o *room) {
	if !m.capsLong() {
		require.Equal(t, o.Room, o.Long)
		return
	}
	require.True(t, o.Long.Fits(o.Room))
	if f.drowsy || slices.ContainsFunc(m.granted, func(one offers.Offer) bool { return one.ID == o.ID }) {
		return // what there was when that was found is not known any more
	}
	but := []*room{o}
	least, most := m.size(o.Machine)
	low, high := m.longLeft(least, most, m.cfg.LongOnMachine, on(o.Machine), but)
	least, most = m.totals()
	lowAll, highAll := m.longLeft(least, most, m.cfg.LongInCell, anywhere, but)
	for _, other := range f.offers { // beside what it was shown already
		if other.kept || other == o {
			continue
		}
		lowAll, _ = lowAll.Sub(other.Long.Min(lowAll))
		if !other.gone && !other.doomed && !other.late(m.now) && !slices.Contains(f.retell, other) {
			highAll, _ = highAll.Sub(other.Long.Min(highAll))
		}
	}
	low, high = o.Room.Min(low).Min(lowAll), o.Room.Min(high).Min(highAll)
	require.True(t, o.Long.Fits(high), "long tasks could have no more than %v: %v", high, o)
	require.True(t, m.unheard() || low.Fits(o.Long), "long tasks could have %v: %v", low, o)
}

// capOf returns the part of a total that long tasks may hold; 0 is no cap.
func capOf(total resources.Vector, p int) resources.Vector {
	if p == 0 {
		return resources.Vector{resources.MaxQuantity, resources.MaxQuantity}
	}
	return percent(total, p)
}
