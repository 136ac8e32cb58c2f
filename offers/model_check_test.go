package offers_test

import (
	"slices"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/cellsched/cellsched/offers"
	"github.com/cellsched/cellsched/omega"
	"github.com/cellsched/cellsched/resources"
)

// claim is an offer as the cell has it.
type claim struct {
	of      string
	machine omega.MachineID
	need    resources.Vector
}

// check compares what there is with the model.
func (m *model) check(t *rapid.T) {
	require.NoError(t, m.cell.Check(), "nothing is lost or doubled on any machine")
	require.Empty(t, m.master.Forgotten())
	claims := make(map[claim]int)
	for a := range m.cell.Allocations() {
		if a.Scheduler == m.optimist.Name() {
			continue
		}
		i := slices.IndexFunc(m.all, func(f *fw) bool { return a.Account == accountOf(m.cell, f.name) })
		require.GreaterOrEqual(t, i, 0, "%v belongs to nobody", a)
		f := m.all[i]
		if a.Scheduler == offers.DefaultName {
			claims[claim{f.name, a.Machine, a.Need}]++
			continue
		}
		require.Equal(t, offers.DefaultName+"/"+f.name, a.Scheduler)
		require.Contains(t, f.tasks, a.ID)
		require.Equal(t, f.tasks[a.ID].need, a.Need)
		require.Equal(t, f.tasks[a.ID].machine, a.Machine)
	}
	for _, f := range m.all {
		m.checkHeld(t, f, claims)
	}
	if m.settled {
		m.checkDrained(t)
		m.checkShort(t)
		m.checkNotices(t)
		m.checkOffered(t)
		m.checkServed(t)
	}
	m.note()
}

// checkHeld verifies that each offer of a framework is a claim, that it has no
// others, and that all that it holds is charged to it.
func (m *model) checkHeld(t *rapid.T, f *fw, claims map[claim]int) {
	if f.drowsy {
		return // it may have unread offers, and have lost others
	}
	for _, o := range f.offers {
		if n := claims[claim{f.name, o.Machine, o.Room}]; o.kept && n > 0 && n >= len(f.alike(o)) {
			o.doomed = false // it was one that was like it, and has ended
		}
	}
	for _, o := range f.soundFirst() {
		c := claim{f.name, o.Machine, o.Room}
		if !o.kept {
			require.False(t, m.settled && o.late(m.now), "it has expired")
			continue
		}
		if claims[c] > 0 {
			claims[c]--
			o.doomed = o.doomed && !m.settled
			continue
		}
		if !f.here && !o.doomed && m.threatened(f) {
			m.endUnheard(f, o)
			continue
		}
		require.True(t, o.doomed && !m.settled, "offer %v of %s is no claim", o, f.name)
	}
	if !m.settled {
		return
	}
	for c, n := range claims {
		require.True(t, c.of != f.name || n == 0, "%v is nobody's offer", c)
	}
	for id, r := range f.requests {
		require.True(t, r.Deadline.IsZero() || m.now.Before(r.Deadline), "request %v is not answered", id)
		m.checkNext(t, r.Deadline)
	}
	for _, o := range f.offers {
		m.checkNext(t, o.Deadline)
	}
	if !f.here {
		m.checkNext(t, f.until)
	}
	sum, offered := f.needs().Add(f.offered()), f.offered()
	usage, err := m.cell.Usage(accountOf(m.cell, f.name))
	require.NoError(t, err)
	require.Equal(t, sum, usage, "what %s holds", f.name)
	if f.here {
		known, outstanding := f.h.Held()
		require.Equal(t, sum, known, "what the master knows of %s", f.name)
		require.Equal(t, offered, outstanding)
	}
}

// soundFirst returns the offers of a framework, those last that may have been taken away:
// what is offered since, and is like one of these, has a claim.
func (f *fw) soundFirst() []*room {
	last := func(o *room) int {
		if o.doomed {
			return 1
		}
		return 0
	}
	return slices.SortedStableFunc(slices.Values(f.offers), func(a, b *room) int { return last(a) - last(b) })
}

// checkNext verifies that the master says that something is due by a time.
func (m *model) checkNext(t *rapid.T, by time.Time) {
	if next, ok := m.master.Next(); !by.IsZero() {
		require.True(t, ok && !next.After(by), "it is not due at %v", by)
	}
}

// idle is room that a framework wants and is not offered.
type idle struct {
	of   *fw
	on   omega.MachineID
	room resources.Vector
}

// checkOffered verifies that no room is idle that a framework wants and may have. The
// exception is room that is kept for one request that has less than it needs. Where
// offers are optimistic it verifies that every framework that wants room is offered it.
func (m *model) checkOffered(t *rapid.T) {
	if m.revoking() {
		return // it may be kept for a request
	}
	var left []idle
	for st := range m.cell.Machines() {
		free, ok := m.room(st)
		if !ok {
			continue
		}
		for _, f := range m.all {
			if !m.wants(f, st.ID, free) {
				continue
			}
			if !m.cfg.Terms.Optimistic {
				if len(f.offers) == 0 || m.share(f.offered()) < m.most(f)-1e-9 {
					left = append(left, idle{f, st.ID, free})
				}
				continue
			}
			require.True(t, slices.ContainsFunc(f.offers, func(o *room) bool {
				return o.Machine == st.ID && free.Fits(o.Room)
			}), "%s is not offered all of %v on machine %v", f.name, free, st.ID)
		}
	}
	require.True(t, len(left) == 0 || m.gathers(left), "%v is free and wanted", left)
}

// gathers reports whether there is a request for which room may be kept that others want:
// a part of what it needs, on no more machines, and no more of each machine. Room of a
// machine that is less than its need is kept while the terms leave the master no more of it.
func (m *model) gathers(left []idle) bool {
	machines := make(map[omega.MachineID]bool)
	for _, f := range m.all {
		for _, r := range f.requests {
			clear(machines)
			whole, more := 0, false // machines with the need, and a use for the rest
			for _, one := range left {
				rest, fits := one.room.Sub(r.Each)
				if fits && !machines[one.on] {
					whole++
				}
				machines[one.on] = true
				more = more || fits && rest != (resources.Vector{}) && m.cfg.Smallest.Fits(rest) && m.wants(one.of, one.on, rest)
			}
			if !more && whole < r.Machines && len(machines) <= r.Machines {
				return true
			}
		}
	}
	return false
}

// wants reports whether a framework is sure to want room: nothing hides it, nor may.
func (m *model) wants(f *fw, machine omega.MachineID, room resources.Vector) bool {
	return f.here && !f.asleep && !f.suppressed && !f.refused && !m.now.Before(f.quiet) &&
		f.reg.Minimum.Fits(room) && f.uses(m.seen[machine]) && !f.hidden(machine, room, m.now)
}

// checkDrained verifies that nothing is offered on a machine that drains.
func (m *model) checkDrained(t *rapid.T) {
	for _, f := range m.those(func(f *fw) bool { return !f.drowsy }) {
		for _, o := range f.offers {
			require.Equal(t, omega.Ready, m.seen[o.Machine].Condition, "%s still has offer %v", f.name, o.ID)
		}
	}
	for st := range m.cell.Machines() {
		for _, a := range m.cell.AllocationsOn(st.ID) {
			require.False(t, st.Condition == omega.Draining && a.Scheduler == offers.DefaultName, "%v is kept for an offer", a)
		}
	}
}

// checkServed verifies that no request waits for which there is room, unless its
// framework may have to stand back.
func (m *model) checkServed(t *rapid.T) {
	if m.revoking() {
		return
	}
	for _, f := range m.those(func(f *fw) bool { return !f.drowsy && !f.refused && !m.now.Before(f.quiet) }) {
		for id, r := range f.requests {
			machines := 0
			for st := range m.cell.Machines() {
				if room, ok := m.space(st); ok && r.Each.Fits(room) && f.uses(m.seen[st.ID]) {
					machines++
				}
			}
			kept := 0 // for another one
			for _, g := range m.all {
				for other, one := range g.requests {
					if g != f || other != id {
						kept = max(kept, one.Machines-1)
					}
				}
			}
			require.Less(t, machines, r.Machines+kept, "request %v of %s waits for nothing", id, f.name)
		}
	}
}

func (m *model) revoking() bool { return len(m.those((*fw).revokes)) > 0 }

// room returns what the master may offer of a machine, if it is worth it.
func (m *model) room(st omega.MachineState) (room resources.Vector, ok bool) {
	room, ok = m.space(st)
	return room, ok && room != resources.Vector{} && m.cfg.Smallest.Fits(room)
}

// space returns what the master may take of a machine.
func (m *model) space(st omega.MachineState) (room resources.Vector, ok bool) {
	most := m.part(st.ID)
	room, _ = most.Sub(most.Min(m.held(st.ID)))
	room = room.Min(st.Free)
	return room, st.Condition == omega.Ready && m.cfg.Terms.Machines.Has(st.ID.Node())
}

// part returns what the terms allow the master and its frameworks to hold of a
// machine.
func (m *model) part(machine omega.MachineID) resources.Vector {
	if p := m.cfg.Terms.Percent; p > 0 && p < 100 {
		_, most := m.size(machine)
		return percent(most, p)
	}
	st, _ := m.cell.State(machine)
	return st.Capacity
}

// size returns the capacity of a machine, or what it was when the master stepped
// last, if that is more or less: it may know already, or not.
func (m *model) size(machine omega.MachineID) (least, most resources.Vector) {
	st, in := m.cell.State(machine)
	if !in {
		st.Capacity = resources.Vector{}
	}
	was := m.seen[machine].Capacity
	return was.Min(st.Capacity), was.Max(st.Capacity)
}

// totals returns what all machines add up to in the same way.
func (m *model) totals() (least, most resources.Vector) {
	machines := slices.Clone(m.machines)
	for id := range m.seen {
		if !slices.Contains(machines, id) {
			machines = append(machines, id)
		}
	}
	for _, id := range machines {
		low, high := m.size(id)
		least, most = least.Add(low), most.Add(high)
	}
	return least, most
}

// percent returns a part of a total, rounded down.
func percent(total resources.Vector, p int) resources.Vector {
	for k := range total {
		total[k] = total[k] * int64(p) / 100
	}
	return total
}

// held returns what offers and tasks hold of a machine.
func (m *model) held(machine omega.MachineID) (sum resources.Vector) {
	for _, a := range m.cell.AllocationsOn(machine) {
		if a.Scheduler != m.optimist.Name() {
			sum = sum.Add(a.Need)
		}
	}
	return sum
}

// share returns the largest part of any kind.
func (m *model) share(v resources.Vector) (most float64) {
	_, totals := m.totals()
	for k, total := range totals {
		if total > 0 {
			most = max(most, float64(v[k])/float64(total))
		}
	}
	return most
}

// finish ends everything: then all is free, and the master knows of nothing.
func (m *model) finish(t *rapid.T) {
	m.checkDelay(t)
	for _, f := range m.those(func(f *fw) bool { return f.here }) {
		require.NoError(t, f.h.Unregister(m.now))
		m.forget(f)
	}
	m.step(t, time.Hour)
	require.Empty(t, m.all)
	for a := range m.optimist.Allocations() {
		require.NoError(t, m.optimist.Release(a.ID))
	}
	for st := range m.cell.Machines() {
		require.Equal(t, st.Capacity, st.Free)
		require.Zero(t, st.Live)
	}
	require.NoError(t, m.cell.Check())
	require.Empty(t, m.master.Leftovers())
	_, due := m.master.Next()
	require.False(t, due)
}
