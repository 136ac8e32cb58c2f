package offers_test

import (
	"errors"
	"slices"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/cellsched/cellsched/offers"
	"github.com/cellsched/cellsched/omega"
	"github.com/cellsched/cellsched/resources"
)

// Frameworks of the model answer offers, and end tasks.

// doAccept starts tasks on one offer, on several of one machine together, or on
// several machines in one step.
func (m *model) doAccept(t *rapid.T) {
	f := m.pick(t)
	var launches []offers.Launch
	var used [][]*room
	for _, o := range f.offers {
		i := slices.IndexFunc(used, func(of []*room) bool { return of[0].Machine == o.Machine })
		switch {
		case len(used) > 0 && rapid.Bool().Draw(t, "leave"):
		case i >= 0 && rapid.Bool().Draw(t, "combine"):
			launches[i].Offers, used[i] = append(launches[i].Offers, o.ID), append(used[i], o)
		default:
			launches = append(launches, offers.Launch{
				Offers: []offers.OfferID{o.ID}, Filter: rapid.Bool().Draw(t, "filter"), Refuse: m.refusal(t),
			})
			used = append(used, []*room{o})
		}
	}
	if len(used) == 0 {
		t.Skip("it has no offer")
	}
	var tasks []task
	for i := range launches {
		var sum resources.Vector
		for _, o := range used[i] {
			sum = sum.Add(o.Room)
		}
		for _, one := range m.tasks(t, used[i][0].Machine, sum) {
			launches[i].Tasks = append(launches[i].Tasks, offers.Task{Need: one.need, Long: one.long})
			tasks = append(tasks, one)
		}
	}
	m.judge(t, f, launches, used, tasks)
}

// fill starts tasks on what is offered to any framework, a few times over.
func (m *model) fill(t *rapid.T) {
	for range 3 {
		for _, f := range m.those(func(f *fw) bool { return f.here && !f.asleep }) {
			for _, o := range slices.Clone(f.offers) {
				if o.late(m.now) || o.doomed || !slices.Contains(f.offers, o) {
					continue
				}
				need := o.Room // or half of it, and the rest is for others
				need[0] = (need[0] + rapid.Int64Range(0, 1).Draw(t, "half")*need[0]) / 2
				if need == (resources.Vector{}) {
					need = o.Room
				}
				tasks := []task{{o.Machine, need, false}}
				l := offers.Launch{Offers: []offers.OfferID{o.ID}, Tasks: []offers.Task{{Need: need}}, Filter: true}
				m.judge(t, f, []offers.Launch{l}, [][]*room{{o}}, tasks)
				m.read(t) // else what it is offered now may be what it refuses next
			}
		}
	}
}

// tasks draws one or two tasks that fit in so much room.
func (m *model) tasks(t *rapid.T, machine omega.MachineID, room resources.Vector) (tasks []task) {
	for range rapid.IntRange(1, 2).Draw(t, "tasks") {
		var need resources.Vector
		for k := range 2 {
			need[k] = rapid.Int64Range(0, room[k]).Draw(t, "need")
		}
		if need == (resources.Vector{}) {
			need = room
		}
		if need == (resources.Vector{}) {
			break
		}
		room, _ = room.Sub(need)
		tasks = append(tasks, task{machine, need, rapid.IntRange(0, 2).Draw(t, "long") > 0})
	}
	return tasks
}

// refusal draws for how long room is to be hidden.
func (m *model) refusal(t *rapid.T) offers.Span {
	return rapid.SampledFrom([]offers.Span{
		{}, offers.For(0), offers.For(time.Millisecond), offers.For(1500 * time.Millisecond), offers.For(2 * offers.MaxRefuse),
	}).Draw(t, "refuse")
}

// hides returns until when it is hidden then, and whether it is.
func (m *model) hides(s offers.Span) (until time.Time, hides bool) {
	switch d, err := time.ParseDuration(s.String()); {
	case err != nil:
		return m.now.Add(offers.DefaultRefuse), true
	case d == 0:
		return time.Time{}, false
	default:
		return m.now.Add(min(max(d, offers.DefaultInterval), offers.MaxRefuse)), true
	}
}

// judge sends an accept, predicts its outcome, and takes over the real one.
func (m *model) judge(t *rapid.T, f *fw, launches []offers.Launch, used [][]*room, tasks []task) {
	fits, may := m.fits(launches, used)
	must, can := m.longFits(launches, used, tasks)
	within, beyond := m.within(launches, used)
	fits, may = fits && !beyond, may || !within
	ids, err := f.h.Accept(m.now, launches...)
	all := slices.Concat(used...)
	late := slices.ContainsFunc(all, func(o *room) bool { return o.late(m.now) })
	doomed := slices.ContainsFunc(all, func(o *room) bool { return o.doomed })
	switch {
	case late && !must:
		require.Error(t, err)
	case late:
		require.ErrorIs(t, err, offers.ErrExpired)
	case !can:
		require.ErrorIs(t, err, offers.ErrExceeds)
	case err != nil && !must && errors.Is(err, offers.ErrExceeds):
	case doomed:
		require.Error(t, err)
	case err != nil && may: // the machine is being drained, or the master knows of another size
	case !fits:
		var item *omega.RefusalError
		require.ErrorAs(t, err, &item, "somebody else has the room")
		for _, o := range all {
			o.doomed = o.doomed || !o.kept
		}
	default:
		require.NoError(t, err)
	}
	if err != nil {
		require.Empty(t, ids)
		var of *offers.OfferError
		if errors.As(err, &of) {
			require.True(t, slices.ContainsFunc(all, func(o *room) bool { return o.ID == of.Offer }), "it is about one of them")
		}
		return
	}
	require.Len(t, ids, len(tasks))
	for i, id := range ids {
		require.NotContains(t, f.tasks, id)
		f.tasks[id] = tasks[i]
	}
	f.declines = 0
	if f.refused {
		f.refused, f.quiet = false, m.now.Add(16*offers.DefaultInterval)
	}
	for i, l := range launches {
		var rest resources.Vector
		for _, o := range used[i] {
			rest = rest.Add(o.Room)
			m.end(f, o, offers.ErrUsed)
		}
		for _, one := range l.Tasks {
			rest, _ = rest.Sub(one.Need)
		}
		if until, hides := m.hides(l.Refuse); l.Filter && hides {
			f.refuse(used[i][0].Machine, rest, until)
		}
	}
}

// fits reports whether the cell is sure to have room for tasks on offers, of which some
// may be optimistic, one launch after the other. MayRefuse reports whether it may refuse
// them although it has.
func (m *model) fits(launches []offers.Launch, used [][]*room) (fits, mayRefuse bool) {
	free := make(map[omega.MachineID]resources.Vector)
	fits = true
	kept := make(map[omega.MachineID]bool) // some of what is claimed there becomes free
	for i, l := range launches {
		id := used[i][0].Machine
		st, _ := m.cell.State(id)
		if _, known := free[id]; !known {
			free[id] = st.Free
		}
		mayRefuse = mayRefuse || st.Condition == omega.Draining || kept[id]
		for _, o := range used[i] {
			if kept[id] = kept[id] || o.kept; o.kept {
				free[id] = free[id].Add(o.Room)
			}
		}
		for _, one := range l.Tasks {
			left, ok := free[id].Sub(one.Need)
			if fits = fits && ok; ok {
				free[id] = left
			}
		}
	}
	return fits, mayRefuse
}

// within reports whether an accept is sure to leave frameworks with no more of machines
// than the terms allow. Beyond reports whether it is sure not to. That matters if some of
// the offers are optimistic. What is kept for a framework it may have.
func (m *model) within(launches []offers.Launch, used [][]*room) (within, beyond bool) {
	p := m.cfg.Terms.Percent
	if p == 0 || p == 100 || !slices.ContainsFunc(slices.Concat(used...), func(o *room) bool { return !o.kept }) {
		return true, false
	}
	within = true
	for _, first := range used {
		id := first[0].Machine
		var kept, need resources.Vector
		optimistic := false
		for i, l := range launches {
			if used[i][0].Machine != id {
				continue
			}
			for _, o := range used[i] {
				if optimistic = optimistic || !o.kept; o.kept {
					kept = kept.Add(o.Room)
				}
			}
			for _, one := range l.Tasks {
				need = need.Add(one.Need)
			}
		}
		least, most := m.size(id)
		held := m.held(id)
		for k, q := range need {
			if q > kept[k] {
				q += held[k] - kept[k]
				within, beyond = within && q <= percent(least, p)[k], beyond || optimistic && q > percent(most, p)[k]
			}
		}
	}
	return within, beyond
}

// doDecline declines some offers, with one that it does not have among them.
func (m *model) doDecline(t *rapid.T) {
	f := m.pick(t)
	var ids []offers.OfferID
	var those []*room
	for _, o := range f.offers {
		if rapid.Bool().Draw(t, "this one") {
			ids, those = append(ids, o.ID), append(those, o)
		}
	}
	if len(ids) == 0 {
		t.Skip("none")
	}
	bad := rapid.Bool().Draw(t, "bad")
	if bad {
		ids = slices.Insert(ids, rapid.IntRange(0, len(ids)).Draw(t, "place"), offers.OfferID{})
	}
	span := m.refusal(t)
	err := f.h.Decline(m.now, span, ids...)
	require.Equal(t, bad, errors.Is(err, offers.ErrUnknown))
	f.refused = true
	m.standBack(f, slices.DeleteFunc(slices.Clone(those), func(o *room) bool { return o.late(m.now) }))
	until, hides := m.hides(span)
	for _, o := range those {
		if o.late(m.now) {
			require.ErrorIs(t, err, offers.ErrExpired)
			continue // the news say that it has ended
		}
		m.end(f, o, offers.ErrDeclined)
		if hides {
			f.refuse(o.Machine, o.Room, until)
		}
		require.ErrorIs(t, f.h.Decline(m.now, span, o.ID), offers.ErrDeclined)
	}
}

// doRelease ends tasks, or says that some have stopped that were taken away.
func (m *model) doRelease(t *rapid.T) {
	f := m.pick(t)
	var all []omega.AllocationID
	for id := range f.tasks {
		all = append(all, id)
	}
	for id := range f.lost {
		all = append(all, id)
	}
	slices.SortFunc(all, func(a, b omega.AllocationID) int { return slices.Compare([]byte(a.String()), []byte(b.String())) })
	id := one(t, "task", all)
	require.NoError(t, f.h.Release(m.now, id))
	require.ErrorIs(t, f.h.Release(m.now, id), omega.ErrReleased)
	delete(f.tasks, id)
	delete(f.lost, id)
	for _, g := range m.all {
		if g != f && g.here && !g.asleep {
			require.Error(t, g.h.Release(m.now, id), "it is not its own")
		}
	}
}
