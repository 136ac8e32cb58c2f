package offers_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/cellsched/cellsched/offers"
	"github.com/cellsched/cellsched/omega"
	"github.com/cellsched/cellsched/resources"
)

// Whatever happens, in whatever order: nothing is lost or doubled, everything is
// charged to whom it belongs, an offer is answered once, what was refused is not
// offered, and what is free is offered to somebody who wants it.
func TestMaster_BehavesLikeTheModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := newModel(t)
		t.Repeat(map[string]func(*rapid.T){
			"register":   m.doRegister,
			"come back":  m.doComeBack,
			"disconnect": m.doDisconnect,
			"unregister": m.doUnregister,
			"accept":     m.doAccept,
			"accept bad": m.doAcceptBad,
			"decline":    m.doDecline,
			"release":    m.doRelease,
			"suppress":   m.doSuppress,
			"revive":     m.doRevive,
			"request":    m.doRequest,
			"step":       func(t *rapid.T) { m.step(t, time.Duration(rapid.IntRange(0, 6000).Draw(t, "ms"))*time.Millisecond) },
			"claim":      m.doClaim,
			"preempt":    m.doPreempt,
			"give back":  m.doGiveBack,
			"add":        func(t *rapid.T) { m.add(t); m.step(t, 0) },
			"remove":     m.doRemove,
			"terms":      m.doTerms,
			"fail over":  m.doFailOver,
			"":           func(t *rapid.T) { m.read(t); m.check(t) },
		})
		m.finish(t)
	})
}

func (m *model) doRegister(t *rapid.T) {
	if len(m.all) >= 4 {
		t.Skip("enough")
	}
	m.names++
	f := &fw{name: fmt.Sprint("f", m.names), tasks: make(map[omega.AllocationID]modelTask)}
	f.reg = offers.Registration{
		Name: f.name, Role: rapid.SampledFrom([]string{"", "x"}).Draw(t, "role"),
		Weight:   float64(rapid.IntRange(1, 3).Draw(t, "weight")),
		Minimum:  resources.Vector{rapid.Int64Range(0, 2).Draw(t, "minimum")},
		Failover: offers.For(time.Duration(rapid.IntRange(1, 8).Draw(t, "failover")) * time.Second),
	}
	if rapid.IntRange(0, 4).Draw(t, "masked") == 0 {
		f.reg.Machines = omega.Mask{rapid.Uint64Range(0, 63).Draw(t, "mask")}
	}
	m.register(t, f)
	m.all = append(m.all, f)
}

func (m *model) doComeBack(t *rapid.T) {
	for _, f := range m.all {
		if !f.connected && m.now.Before(f.until) {
			before := f.offers
			m.register(t, f)
			m.read(t)
			for _, o := range before {
				if o.Deadline.After(m.now) {
					require.Contains(t, f.offers, o, "its offers are told again")
				}
			}
			return
		}
	}
	t.Skip("nobody is away")
}

func (m *model) doDisconnect(t *rapid.T) {
	f := m.pickFramework(t)
	if m.now.Before(m.revoking) {
		t.Skip("it would not hear of it")
	}
	require.NoError(t, f.h.Disconnect(m.now))
	_, err := f.h.News(m.now)
	require.ErrorIs(t, err, offers.ErrFenced)
	f.connected = false
	f.until = m.now.Add(failover(f))
}

func failover(f *fw) time.Duration {
	d, err := time.ParseDuration(f.reg.Failover.String())
	if err != nil {
		return 0
	}
	return d
}

func (m *model) doUnregister(t *rapid.T) {
	f := m.pickFramework(t)
	require.NoError(t, f.h.Unregister(m.now))
	_, err := f.h.News(m.now)
	require.ErrorIs(t, err, offers.ErrUnregistered)
	m.forget(f)
}

func (m *model) doAccept(t *rapid.T) {
	f, i := m.pickOffer(t)
	o := f.offers[i]
	var need resources.Vector
	for k := range 2 {
		need[k] = rapid.Int64Range(0, o.Room[k]).Draw(t, "need")
	}
	if need == (resources.Vector{}) {
		need = o.Room
	}
	l := offers.Launch{
		Offers: []offers.OfferID{o.ID}, Tasks: []offers.Task{{Need: need}},
		Filter: rapid.Bool().Draw(t, "filter"), Refuse: offers.For(2 * time.Second),
	}
	tasks, err := f.h.Accept(m.now, l)
	if !m.now.Before(o.Deadline) {
		require.ErrorIs(t, err, offers.ErrExpired)
		f.refuse(o.Machine, o.Room, m.now.Add(offers.DefaultRefuse))
		return // the news say that it has ended
	}
	require.NoError(t, err)
	f.tasks[tasks[0]] = modelTask{o.Machine, need}
	m.end(f, i, offers.ErrUsed)
	if f.refused {
		f.refused, f.quiet = false, m.now.Add(16*offers.DefaultInterval)
	}
	if rest, _ := o.Room.Sub(need); l.Filter && rest != (resources.Vector{}) {
		f.refuse(o.Machine, rest, m.now.Add(2*time.Second))
	}
}

// doAcceptBad names an offer that can be accepted, and one that can not: nothing
// changes.
func (m *model) doAcceptBad(t *rapid.T) {
	f, i := m.pickOffer(t)
	good := f.offers[i]
	if !m.now.Before(good.Deadline) {
		t.Skip("it is late")
	}
	var bad offers.OfferID
	want := offers.ErrUnknown
	one := resources.Vector{1}
	switch rapid.IntRange(0, 3).Draw(t, "how") {
	case 0:
		for _, g := range m.all {
			if g != f && len(g.offers) > 0 {
				bad, want = g.offers[0].ID, offers.ErrForeign
			}
		}
	case 1:
		bad, want = good.ID, offers.ErrUsed
	case 2:
		one = good.Room.Add(resources.Vector{1})
		bad, want = good.ID, offers.ErrExceeds
	}
	small := offers.Launch{Offers: []offers.OfferID{good.ID}, Tasks: []offers.Task{{Need: good.Room}}}
	_, err := f.h.Accept(m.now, small, offers.Launch{Offers: []offers.OfferID{bad}, Tasks: []offers.Task{{Need: one}}})
	if want == offers.ErrExceeds { //nolint:errorlint // it is this one and no other
		_, err = f.h.Accept(m.now, offers.Launch{Offers: []offers.OfferID{bad}, Tasks: []offers.Task{{Need: one}}})
	}
	require.ErrorIs(t, err, want)
}

func (m *model) doDecline(t *rapid.T) {
	f, i := m.pickOffer(t)
	o := f.offers[i]
	d := time.Duration(rapid.SampledFrom([]int{0, 1, 1500, 5000}).Draw(t, "ms")) * time.Millisecond
	err := f.h.Decline(m.now, offers.For(d), o.ID)
	f.refused = true
	if !m.now.Before(o.Deadline) {
		require.ErrorIs(t, err, offers.ErrExpired)
		f.refuse(o.Machine, o.Room, m.now.Add(offers.DefaultRefuse))
		return
	}
	require.NoError(t, err)
	m.end(f, i, offers.ErrDeclined)
	require.ErrorIs(t, f.h.Decline(m.now, offers.For(d), o.ID), offers.ErrDeclined)
	if d > 0 {
		f.refuse(o.Machine, o.Room, m.now.Add(max(d, offers.DefaultInterval)))
	}
}

func (m *model) doRelease(t *rapid.T) {
	f := m.pickFramework(t)
	all := slices.Clone(f.marked)
	for id := range f.tasks {
		all = append(all, id)
	}
	if len(all) == 0 {
		t.Skip("it has no task")
	}
	slices.SortFunc(all, func(a, b omega.AllocationID) int { return slices.Compare([]byte(a.String()), []byte(b.String())) })
	id := all[rapid.IntRange(0, len(all)-1).Draw(t, "task")]
	require.NoError(t, f.h.Release(m.now, id))
	require.ErrorIs(t, f.h.Release(m.now, id), omega.ErrReleased)
	delete(f.tasks, id)
	f.marked = slices.DeleteFunc(slices.Clone(f.marked), func(one omega.AllocationID) bool { return one == id })
}

func (m *model) doSuppress(t *rapid.T) {
	f := m.pickFramework(t)
	require.NoError(t, f.h.Suppress(m.now))
	f.suppress = true
}

func (m *model) doRevive(t *rapid.T) {
	f := m.pickFramework(t)
	require.NoError(t, f.h.Revive(m.now))
	f.suppress, f.filters = false, nil
}

// doRequest asks for a gang; it may be given room by preempting others, since it
// is guaranteed all that nobody else is.
func (m *model) doRequest(t *rapid.T) {
	f := m.pickFramework(t)
	r := offers.Request{
		Machines: rapid.IntRange(1, 3).Draw(t, "machines"),
		Each:     resources.Vector{rapid.Int64Range(1, 8).Draw(t, "each")},
		Deadline: m.now.Add(time.Duration(rapid.IntRange(1, 5000).Draw(t, "ms")) * time.Millisecond),
	}
	if !m.away() && rapid.Bool().Draw(t, "revoke") {
		if f.reg.Guaranteed == (resources.Vector{}) {
			left, ok := m.unpromised()
			if !ok {
				t.Skip("nothing can be guaranteed")
			}
			f.reg.Guaranteed = resources.Vector{
				rapid.Int64Range(0, left[0]).Draw(t, "guaranteed"), rapid.Int64Range(0, left[1]).Draw(t, "memory"),
			}
		}
		f.reg.Takeover, r.Revoke = true, true
		m.register(t, f)
		if r.Deadline.After(m.revoking) {
			m.revoking = r.Deadline
		}
	}
	if _, err := f.h.Request(m.now, r); err != nil {
		require.ErrorIs(t, err, offers.ErrExceeds)
	}
}

func (m *model) doClaim(t *rapid.T) {
	var tx omega.Txn
	tx.Claim(omega.Claim{
		Machine: m.machine(t), Precedence: 5, Need: resources.Vector{rapid.Int64Range(1, 5).Draw(t, "need")},
	})
	_, err := m.optimist.Commit(&tx)
	require.NoError(t, err)
}

func (m *model) doPreempt(t *rapid.T) {
	machine, need := m.machine(t), resources.Vector{rapid.Int64Range(1, 5).Draw(t, "need")}
	victims, ok := m.cell.Victims(machine, need, 5)
	if !ok || m.away() {
		t.Skip("no room at any cost")
	}
	tx := omega.Txn{Now: m.now}
	tx.Claim(omega.Claim{Machine: machine, Precedence: 5, Need: need, Victims: victims})
	granted, err := m.optimist.Commit(&tx)
	require.NoError(t, err)
	require.Equal(t, 1, granted)
	m.step(t, 0)
}

func (m *model) machine(t *rapid.T) omega.MachineID {
	if len(m.machines) == 0 {
		t.Skip("there is no machine")
	}
	return m.machines[rapid.IntRange(0, len(m.machines)-1).Draw(t, "machine")]
}

func (m *model) doGiveBack(t *rapid.T) {
	for mark := range m.optimist.Marked() {
		require.NoError(t, m.optimist.Release(mark.Allocation.ID))
	}
	for a := range m.optimist.Allocations() {
		if rapid.Bool().Draw(t, "this one") {
			require.NoError(t, m.optimist.Release(a.ID))
		}
	}
	m.step(t, 0)
}

func (m *model) doRemove(t *rapid.T) {
	machine := m.machine(t)
	_, err := m.cell.Remove(machine)
	require.NoError(t, err)
	m.machines = slices.DeleteFunc(m.machines, func(one omega.MachineID) bool { return one == machine })
	for _, f := range m.all {
		f.filters = slices.DeleteFunc(f.filters, func(one modelFilter) bool { return one.machine == machine })
		if f.connected {
			continue
		}
		for i := 0; i < len(f.offers); {
			if f.offers[i].Machine != machine {
				i++
				continue
			}
			m.end(f, i, offers.ErrRescinded)
		}
		for id, task := range f.tasks {
			if task.machine == machine {
				delete(f.tasks, id)
				f.marked = append(f.marked, id)
			}
		}
	}
	m.step(t, 0)
}

// doTerms moves the border of what is offered.
func (m *model) doTerms(t *rapid.T) {
	m.cfg.Terms.Machines = nil
	if rapid.IntRange(0, 2).Draw(t, "part") > 0 {
		m.cfg.Terms.Machines = omega.Mask{rapid.Uint64Range(0, 255).Draw(t, "machines")}
	}
	require.NoError(t, m.master.SetTerms(m.now, m.cfg.Terms))
}

// doFailOver kills the master: a new one starts from the cell and from who comes
// back to it.
func (m *model) doFailOver(t *rapid.T) {
	old := m.master
	var err error
	m.master, err = offers.New(m.cell, m.cfg, m.now)
	require.NoError(t, err)
	require.ErrorIs(t, old.Step(m.now), offers.ErrFenced)
	m.revoking = time.Time{}
	for _, f := range slices.Clone(m.all) {
		for len(f.offers) > 0 {
			m.end(f, 0, offers.ErrUnknown)
		}
		f.filters, f.refused, f.reg.Guaranteed = nil, false, resources.Vector{}
		f.until = m.now.Add(4 * time.Second)
		if !f.connected {
			if len(f.tasks) == 0 {
				m.forget(f) // of which the new master knows nothing
			}
			continue
		}
		m.register(t, f)
	}
}
