package offers_test

import (
	"cmp"
	"slices"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/cellsched/cellsched/offers"
	"github.com/cellsched/cellsched/omega"
	"github.com/cellsched/cellsched/resources"
)

// Each framework of the model that is awake reads its news after each event, and judges
// them.

func (m *model) read(t *rapid.T) {
	m.observe(t)
	m.notices, m.granted = nil, nil
	all := make(map[*fw]offers.News)
	for _, f := range m.all {
		require.LessOrEqual(t, f.bells, 1, "it is notified once")
		if f.here && !f.asleep {
			all[f] = m.fetch(t, f)
		}
	}
	for _, f := range m.all {
		if news, heard := all[f]; heard {
			m.hear(t, f, news)
		}
	}
	m.judgeNotices(t)
	for _, f := range m.all {
		if f.here && !f.asleep {
			f.drowsy, f.fresh = false, false
		}
	}
}

// observe finds tasks that have gone without the model's doing: the master has
// preempted them.
func (m *model) observe(t *rapid.T) {
	live := make(map[omega.AllocationID]bool)
	for a := range m.cell.Allocations() {
		live[a.ID] = true
	}
	for _, f := range m.all {
		var lost []task
		for id, one := range f.tasks {
			if live[id] {
				continue
			}
			lost = append(lost, one)
			m.lose(f, id, offers.DefaultName)
			if until, told := f.notices[id]; m.grace > 0 && f.here && !f.drowsy && !f.fresh {
				require.True(t, told && !m.now.Before(until), "it has not been told in time")
			}
		}
		m.revoked(t, f, lost)
	}
}

// fetch reads the news of a framework, and notes what others do not have any more,
// or have, by the time at which they read theirs.
func (m *model) fetch(t *rapid.T, f *fw) offers.News {
	news, err := f.h.News(m.now)
	require.NoError(t, err)
	m.called(f)
	if len(news.Offers)+len(news.Ended)+len(news.Tasks)+len(news.Revoked)+len(news.Spared)+
		len(news.Leave)+len(news.Answers) > 0 || news.Short != nil {
		require.Equal(t, 1, f.bells, "it is notified of its news")
	}
	f.bells = 0
	for _, e := range news.Ended {
		for _, o := range f.offers {
			o.gone = o.gone || o.ID == e.Offer
		}
	}
	for _, a := range news.Answers {
		m.granted = append(m.granted, a.Offers...)
	}
	return news
}

func (m *model) hear(t *rapid.T, f *fw, news offers.News) {
	m.hearTasks(t, f, news.Tasks)
	m.hearSpared(t, f, news)
	m.hearNotices(t, f, news.Revoked)
	m.hearShort(f, news.Short)
	m.hearOffers(t, f, news)
	m.hearAnswers(t, f, news.Answers)
	m.hearEnded(t, f, news.Ended)
	m.hearLeave(t, f, news.Leave)
}

func (m *model) hearTasks(t *rapid.T, f *fw, marks []omega.Mark) {
	for _, mark := range marks {
		l := f.lost[mark.Allocation.ID]
		require.NotNil(t, l, "it has lost no such task")
		require.False(t, l.told, "it is told once")
		l.told = true
		require.Equal(t, l.by, mark.By)
		require.Equal(t, l.by == "", mark.Fate == omega.Lost)
		require.Equal(t, l.need, mark.Allocation.Need)
	}
	for id, l := range f.lost {
		require.True(t, l.told || !l.due, "it is not told that it has lost %v", id)
	}
}

func (m *model) hearOffers(t *rapid.T, f *fw, news offers.News) {
	before := f.offered()
	for _, e := range news.Ended {
		for _, o := range f.offers {
			if o.ID == e.Offer && o.kept {
				before, _ = before.Sub(o.Room)
			}
		}
	}
	for _, o := range news.Offers {
		if i := slices.IndexFunc(f.retell, func(r *room) bool { return r.ID == o.ID }); i >= 0 {
			was := f.retell[i]
			require.Equal(t, was.Room, o.Room)
			require.Equal(t, was.Machine, o.Machine)
			require.Equal(t, was.Deadline, o.Deadline)
			f.retell = slices.Delete(f.retell, i, i+1)
			was.Long = o.Long // others may have some of it since
			m.judgeLong(t, f, was)
			continue
		}
		if i := slices.IndexFunc(f.perhaps, func(r *room) bool { return r.ID == o.ID }); i >= 0 {
			delete(m.ended, o.ID)
			f.past = slices.DeleteFunc(f.past, func(id offers.OfferID) bool { return id == o.ID })
			f.perhaps[i].Long = o.Long
			f.offers = append(f.offers, f.perhaps[i])
			continue
		}
		if !f.drowsy {
			m.wanted(t, f, o)
			if most := m.most(f); !m.cfg.Terms.Optimistic && before != (resources.Vector{}) {
				require.LessOrEqual(t, m.share(before), most+1e-9, "%s has enough", f.name)
			}
		}
		m.offered(t, f, o, !m.cfg.Terms.Optimistic)
		if !m.cfg.Terms.Optimistic {
			before = before.Add(o.Room)
		}
	}
	require.Empty(t, f.retell, "its offers are told again")
	f.perhaps = nil
}

// wanted verifies that a new offer is one that a framework wants, and that the
// master may make.
func (m *model) wanted(t *rapid.T, f *fw, o offers.Offer) {
	require.False(t, f.suppressed, "it wants none")
	require.False(t, f.hidden(o.Machine, o.Room, m.now), "it has refused that: %v", o)
	require.False(t, f.standsBack(o.Machine, o.Room, m.now), "it has to stand back: %v", o)
	require.True(t, f.reg.Minimum.Fits(o.Room))
	require.True(t, m.cfg.Smallest.Fits(o.Room))
	require.NotZero(t, o.Room)
	m.suits(t, f, o)
	st, _ := m.cell.State(o.Machine)
	require.Equal(t, omega.Ready, st.Condition)
	most := m.part(o.Machine)
	if m.cfg.Terms.Optimistic {
		room, _ := most.Sub(most.Min(m.held(o.Machine)))
		room = room.Min(st.Free)
		require.True(t, o.Room.Fits(room), "it is more than the terms allow")
		require.True(t, o.Room == room || !m.settled, "all that is free is offered")
	} else {
		require.True(t, m.held(o.Machine).Fits(most.Max(m.held(o.Machine))))
		for k, q := range o.Room {
			require.True(t, q == 0 || m.held(o.Machine)[k] <= most[k], "it is more than the terms allow")
		}
	}
}

// suits verifies that a framework can use the machine of an offer, and that it is
// the master's to offer.
func (m *model) suits(t *rapid.T, f *fw, o offers.Offer) {
	st, _ := m.cell.State(o.Machine)
	require.True(t, f.uses(m.seen[o.Machine]) || f.uses(st), "it has no use for machine %v", o.Machine)
	require.True(t, m.cfg.Terms.Machines.Has(o.Machine.Node()), "it is not the master's to offer")
}

// uses reports whether a framework has any use for a machine.
func (f *fw) uses(st omega.MachineState) bool {
	for key, values := range f.reg.Labels {
		if has, ok := st.Attributes[key]; !ok || len(values) > 0 && !slices.Contains(values, has) {
			return false
		}
	}
	return f.reg.Machines.Has(st.ID.Node()) && (f.reg.Constraints == nil || f.meets[st.ID.Node()])
}

// offered adds an offer to those of a framework.
func (m *model) offered(t *rapid.T, f *fw, o offers.Offer, kept bool) {
	require.False(t, m.told[o.ID], "an ID is given out once, and told once")
	m.told[o.ID] = true
	if span := m.cfg.Timeout; span == offers.Never() {
		require.Zero(t, o.Deadline)
	} else {
		d, err := time.ParseDuration(span.String())
		require.NoError(t, err)
		late := slices.ContainsFunc(m.granted, func(one offers.Offer) bool { return one.ID == o.ID }) && f.drowsy
		require.True(t, late || o.Deadline.After(m.now))
		require.False(t, o.Deadline.After(m.now.Add(d)))
		require.True(t, f.drowsy || f.fresh || o.Deadline.Equal(m.now.Add(d)))
	}
	if !f.drowsy && !f.fresh {
		require.Equal(t, m.leave[o.Machine], o.Leave)
	}
	r := &room{Offer: o, kept: kept, doomed: !slices.Contains(m.machines, o.Machine)}
	if f.drowsy && kept && !m.settled { // it may have gone already
		r.doomed = !slices.ContainsFunc(m.cell.AllocationsOn(o.Machine), func(a omega.Allocation) bool {
			return a.Scheduler == offers.DefaultName && a.Account == accountOf(m.cell, f.name) && a.Need == o.Room
		})
	}
	m.judgeLong(t, f, r)
	f.offers = append(f.offers, r)
}

func (m *model) hearEnded(t *rapid.T, f *fw, ended []offers.Ended) {
	for _, e := range ended {
		i := slices.IndexFunc(f.offers, func(o *room) bool { return o.ID == e.Offer })
		require.GreaterOrEqual(t, i, 0, "an offer that it does not have has ended")
		o := f.offers[i]
		if e.Reason == offers.ErrExpired { //nolint:errorlint // it is this one and no other
			require.True(t, o.late(m.now))
			m.lapse(f, o)
			continue
		}
		require.Equal(t, offers.ErrRescinded, e.Reason)
		st, _ := m.cell.State(o.Machine)
		require.True(t, o.doomed || !o.kept || f.drowsy || st.Condition == omega.Draining && m.settled || m.threatened(f),
			"it is taken back for no reason")
		m.end(f, o, e.Reason)
	}
}

func (m *model) hearLeave(t *rapid.T, f *fw, leave []offers.Leave) {
	for _, l := range leave {
		i := f.asked[l.Machine]
		if i == nil && (f.drowsy || !slices.Contains(m.machines, l.Machine)) {
			continue // it is not asked any more, or there is nothing to leave
		}
		require.NotNil(t, i, "it is not asked to leave")
		require.False(t, i.told && !f.drowsy, "it is told once")
		i.told = true
		if !f.drowsy {
			require.Equal(t, m.leave[l.Machine], l.By)
			require.ElementsMatch(t, f.on(l.Machine), l.Tasks)
		}
	}
	for machine, i := range f.asked {
		require.True(t, i.told, "it does not hear that it is to leave %v", machine)
	}
}

// most returns the part of the cell that a framework is offered at once: what it asks
// for, or its fair share. The share is among the frameworks that want anything and can
// use a machine.
func (m *model) most(f *fw) float64 {
	if f.reg.Outstanding > 0 {
		return f.reg.Outstanding
	}
	roles := make(map[string]float64)
	for _, g := range m.all {
		if m.counts(g) {
			roles[g.reg.Role] += g.reg.Weight
		}
	}
	all := 0.0
	for _, role := range []string{"", "x"} {
		if roles[role] > 0 {
			all += cmp.Or(m.weights[role], 1)
		}
	}
	return cmp.Or(m.weights[f.reg.Role], 1) / all * f.reg.Weight / roles[f.reg.Role]
}

// hasUse reports whether there is a machine that could be offered to a framework.
func (m *model) hasUse(f *fw) bool {
	for _, st := range m.seen {
		if f.uses(st) && f.reg.Minimum.Fits(st.Capacity) {
			return true
		}
	}
	return false
}
