package offers_test

import (
	"math"
	"slices"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/cellsched/cellsched/offers"
	"github.com/cellsched/cellsched/omega"
	"github.com/cellsched/cellsched/resources"
)

// Frameworks of the model ask for gangs, for which others may have to leave.

func (m *model) doRequest(t *rapid.T) {
	f := m.pick(t)
	r := offers.Request{
		Machines: rapid.IntRange(1, 3).Draw(t, "machines"),
		Each:     resources.Vector{rapid.Int64Range(1, 8).Draw(t, "each"), rapid.Int64Range(0, 2).Draw(t, "memory")},
		Revoke:   rapid.Bool().Draw(t, "revoke"),
	}
	if ms := rapid.IntRange(0, 5000).Draw(t, "ms"); ms > 0 {
		r.Deadline = m.now.Add(time.Duration(ms) * time.Millisecond)
	}
	m.ask(t, f, r)
}

// ask sends a request. It may find that the request is more than the cell could hold, or
// beyond the guarantee, together with earlier requests.
func (m *model) ask(t *rapid.T, f *fw, r offers.Request) {
	_, offered := f.h.Held()
	most, beyond := f.needs().Add(offered).Add(r.Each.Scale(int64(r.Machines))), false
	for _, before := range f.requests {
		if before.Revoke && (before.Deadline.IsZero() || m.now.Before(before.Deadline)) {
			most = most.Add(before.Each.Scale(int64(before.Machines)))
		}
	}
	sure, can := m.mayHold(f, r)
	for k, q := range r.Each {
		beyond = beyond || r.Revoke && q > 0 && most[k] > f.promised[k]
	}
	id, err := f.h.Request(m.now, r)
	if beyond || err != nil {
		require.ErrorIs(t, err, offers.ErrExceeds)
		require.False(t, !beyond && sure, "it could have that: %v", err)
		return
	}
	require.True(t, can, "there are no such machines")
	require.NotContains(t, f.requests, id)
	f.requests[id] = r
}

// mayHold reports whether the cell is sure to be large enough for a request, whatever
// runs there, and whether it can be.
func (m *model) mayHold(f *fw, r offers.Request) (sure, can bool) {
	machines := slices.Clone(m.machines)
	for id := range m.seen {
		if !slices.Contains(machines, id) {
			machines = append(machines, id)
		}
	}
	least, most := 0, 0
	for _, id := range machines {
		st, _ := m.cell.State(id)
		small, large := m.size(id)
		if f.uses(m.seen[id]) && f.uses(st) && r.Each.Fits(small) {
			least++
		}
		if (f.uses(m.seen[id]) || f.uses(st)) && r.Each.Fits(large) {
			most++
		}
	}
	return least >= r.Machines, most >= r.Machines
}

func (m *model) doWithdraw(t *rapid.T) {
	f := m.pick(t)
	var all []offers.RequestID
	for id := range f.requests {
		all = append(all, id)
	}
	slices.Sort(all)
	id := one(t, "request", all)
	require.NoError(t, f.h.Withdraw(m.now, id))
	require.ErrorIs(t, f.h.Withdraw(m.now, id), offers.ErrUnknown)
	delete(f.requests, id)
}

// note remembers which requests may have something revoked for them from here on.
func (m *model) note() {
	m.revokers = nil
	for _, f := range m.all {
		for _, r := range f.requests {
			if r.Revoke {
				m.revokers = append(m.revokers, revoker{f, r})
			}
		}
	}
}

// threatened reports whether others may have had something revoked from f.
func (m *model) threatened(f *fw) bool {
	return slices.ContainsFunc(m.revokers, func(r revoker) bool { return r.of != f }) ||
		len(m.those(func(g *fw) bool { return g != f && g.revokes() })) > 0
}

// revokes reports whether a framework has a request that others may have to leave
// for.
func (f *fw) revokes() bool {
	for _, r := range f.requests {
		if r.Revoke {
			return true
		}
	}
	return false
}

// hearAnswers takes over what became of requests.
func (m *model) hearAnswers(t *rapid.T, f *fw, answers []offers.Answer) {
	for _, a := range answers {
		r, asked := f.requests[a.Request]
		require.True(t, asked, "each request is answered once")
		delete(f.requests, a.Request)
		if r.Revoke {
			m.revokers = append(m.revokers, revoker{f, r})
		}
		if a.Reason != nil {
			require.ErrorIs(t, a.Reason, offers.ErrExpired)
			require.False(t, m.now.Before(r.Deadline))
			require.Empty(t, a.Offers)
			continue
		}
		require.Len(t, a.Offers, r.Machines)
		for i, o := range a.Offers {
			for k, q := range r.Each {
				require.True(t, f.drowsy || q == 0 || m.held(o.Machine)[k] <= m.part(o.Machine)[k], "it is more than the terms allow")
			}
			require.Equal(t, r.Each, o.Room)
			for _, other := range a.Offers[:i] {
				require.NotEqual(t, other.Machine, o.Machine)
			}
			if !f.drowsy {
				require.True(t, r.Deadline.IsZero() || m.now.Before(r.Deadline), "it has given up")
				m.suits(t, f, o)
				require.False(t, f.standsBack(o.Machine, o.Room, m.now), "it has to stand back: %v", o)
			}
			m.offered(t, f, o, true)
		}
	}
}

// hearNotices takes over which tasks are to be left.
func (m *model) hearNotices(t *rapid.T, f *fw, notices []offers.Notice) {
	for _, n := range notices {
		if !f.drowsy {
			require.Contains(t, f.tasks, n.Task.ID)
			require.False(t, n.Until.After(m.now.Add(m.grace)))
			require.True(t, f.fresh || n.Until.Equal(m.now.Add(m.grace)), "it was not told before")
		}
		f.notices[n.Task.ID] = n.Until
		require.True(t, f.drowsy || m.threatened(f), "nobody else needs the room")
		m.notices = append(m.notices, notice{f, n.Task.ID, f.tasks[n.Task.ID]})
	}
}

// doRevoke asks for a part of what is guaranteed, at the cost of others.
func (m *model) doRevoke(t *rapid.T) {
	left := func(f *fw) int64 {
		held, _ := f.h.Held()
		return f.promised[0] - held[0]
	}
	f := one(t, "framework", m.those(func(f *fw) bool { return f.here && !f.asleep && left(f) > 0 }))
	r := offers.Request{Machines: rapid.IntRange(1, int(min(2, left(f)))).Draw(t, "machines"), Revoke: true}
	r.Each[0] = rapid.Int64Range(1, left(f)/int64(r.Machines)).Draw(t, "each")
	m.ask(t, f, r)
}

// notice is one that a framework has just heard of.
type notice struct {
	of *fw
	id omega.AllocationID
	task
}

// judgeNotices verifies that the victims on a machine are of the lowest precedence, where
// it can be told for which request they are.
func (m *model) judgeNotices(t *rapid.T) {
	pending := m.those((*fw).revokes)
	if len(m.notices) == 0 || len(pending) != 1 || len(pending[0].requests) != 1 || m.cfg.Terms.Percent%100 != 0 ||
		len(m.those(func(f *fw) bool { return !f.here || f.drowsy || f.fresh })) > 0 {
		return
	}
	var r offers.Request
	for _, r = range pending[0].requests {
	}
	worst, going := omega.Precedence(math.MinInt32), make(map[omega.MachineID]bool)
	left := make(map[*fw]resources.Vector)
	for _, v := range m.notices {
		if _, known := left[v.of]; !known {
			left[v.of] = v.of.needs()
		}
		left[v.of], _ = left[v.of].Sub(v.need)
	}
	for _, v := range m.notices {
		for k, q := range v.need {
			require.True(t, q == 0 || left[v.of][k] >= v.of.promised[k], "%s is told to end what it is guaranteed", v.of.name)
		}
		require.Less(t, v.of.reg.Precedence, omega.Precedence(math.MaxInt32), "nothing can be higher")
		require.NotSame(t, pending[0], v.of, "it has to leave for itself")
		worst, going[v.machine] = max(worst, v.of.reg.Precedence), true
		without, _ := m.after(v.machine).Sub(v.need)
		require.False(t, r.Each.Fits(without), "%s has to leave for nothing", v.of.name)
		for _, f := range m.all {
			for id, one := range f.tasks {
				if one.machine == v.machine && f != pending[0] && f.reg.Precedence < v.of.reg.Precedence && m.spares(f, id) {
					require.False(t, r.Each.Fits(without.Add(one.need)), "%s has to leave before %s", v.of.name, f.name)
				}
			}
		}
	}
	if r.Machines > 1 {
		return
	}
	for st := range m.cell.Machines() {
		room := st.Free
		for _, f := range m.all {
			for _, one := range f.tasks {
				if one.machine == st.ID && f != pending[0] && f.reg.Precedence < worst && f.promised == (resources.Vector{}) {
					room = room.Add(one.need)
				}
			}
		}
		require.False(t, m.settled && !going[st.ID] && pending[0].uses(st) && st.Condition == omega.Ready &&
			m.cfg.Terms.Machines.Has(st.ID.Node()) && r.Each.Fits(room), "on machine %v nobody of that precedence has to leave", st.ID)
	}
}

// after returns what is free on a machine once the victims that were just told have left.
func (m *model) after(machine omega.MachineID) resources.Vector {
	st, _ := m.cell.State(machine)
	for _, v := range m.notices {
		if v.machine == machine {
			st.Free = st.Free.Add(v.need)
		}
	}
	return st.Free
}

// spares reports whether a framework would have what it is guaranteed without a task,
// and without all others that it was told to end.
func (m *model) spares(f *fw, id omega.AllocationID) bool {
	left := f.needs()
	if _, told := f.notices[id]; told {
		return false
	}
	for other, one := range f.tasks {
		if _, told := f.notices[other]; told || other == id {
			left, _ = left.Sub(one.need)
		}
	}
	for k, q := range f.tasks[id].need {
		if q > 0 && left[k] < f.promised[k] {
			return false
		}
	}
	return f.reg.Precedence < math.MaxInt32
}

// revoked verifies that a framework may have lost these tasks to the master: it
// was told in time, and has what it is guaranteed.
func (m *model) revoked(t *rapid.T, f *fw, lost []task) {
	left := f.needs()
	for _, one := range lost {
		for k, q := range one.need {
			require.True(t, q == 0 || left[k] >= f.promised[k], "%s is left with less than it is guaranteed: %v", f.name, left)
		}
		require.Less(t, f.reg.Precedence, omega.Precedence(math.MaxInt32), "nothing can be higher")
	}
}
