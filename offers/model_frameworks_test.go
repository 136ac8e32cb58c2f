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

// Frameworks of the model come and go, and say whether they want anything.

func (m *model) doRegister(t *rapid.T) {
	if len(m.all) >= 4 {
		t.Skip("enough")
	}
	f := &fw{
		name: m.nextName(), tasks: make(map[omega.AllocationID]task), lost: make(map[omega.AllocationID]*loss),
	}
	f.reg = offers.Registration{
		Name: f.name, Role: rapid.SampledFrom([]string{"", "x"}).Draw(t, "role"),
		Weight:     float64(rapid.IntRange(1, 3).Draw(t, "weight")),
		Precedence: rapid.SampledFrom([]omega.Precedence{0, 3, 9, math.MaxInt32}).Draw(t, "precedence"),
		Minimum:    resources.Vector{rapid.Int64Range(0, 2).Draw(t, "minimum")},
		Failover:   offers.For(time.Duration(rapid.IntRange(0, 8).Draw(t, "failover")) * time.Second),
		Suppressed: rapid.IntRange(0, 7).Draw(t, "suppressed") == 0,
		Notify:     func() { f.bells++ },
	}
	switch rapid.IntRange(0, 5).Draw(t, "filter") {
	case 0:
		f.reg.Machines = omega.Mask{rapid.Uint64Range(0, 63).Draw(t, "mask")}
	case 1:
		f.reg.Labels = map[string][]string{"zone": {"a", "b"}}
	case 2:
		f.reg.Labels = map[string][]string{"zone": nil, "disk": {"ssd"}}
	case 3:
		f.reg.Constraints = m.specials
	}
	if rapid.IntRange(0, 2).Draw(t, "outstanding") == 0 {
		f.reg.Outstanding = rapid.SampledFrom([]float64{0.2, 0.5, 1}).Draw(t, "part")
	}
	f.reg.Guaranteed = m.guarantee(t)
	if m.register(t, f) && !m.busy && rapid.IntRange(0, 2).Draw(t, "asleep") == 0 {
		f.sleep() // before it has read of its first offers
	}
}

// guarantee draws what a framework wants to be guaranteed.
func (m *model) guarantee(t *rapid.T) (v resources.Vector) {
	if m.busy {
		// A little to the first frameworks, and to others all that is left.
		least, _ := m.totals()
		if len(m.all) < 2 {
			return percent(least, rapid.SampledFrom([]int{0, 0, 25}).Draw(t, "guaranteed"))
		}
		for _, f := range m.all {
			least, _ = least.Sub(f.promised.Min(least))
		}
		return least
	}
	if total, _ := m.totals(); rapid.Bool().Draw(t, "guaranteed") {
		v[0] = rapid.Int64Range(0, total[0]).Draw(t, "cpu")
		v[1] = rapid.Int64Range(0, total[1]).Draw(t, "memory")
	}
	return v
}

// register registers a framework, or finds that the cell cannot guarantee it what
// it wants: then nothing changes.
func (m *model) register(t *rapid.T, f *fw) bool {
	sure, can := m.mayPromise(f)
	outstanding := m.outstanding()
	bells := f.bells
	f.bells = 0
	h, err := m.master.Register(m.now, f.reg)
	if err != nil {
		require.ErrorIs(t, err, offers.ErrGuarantee)
		require.False(t, sure)
		f.bells += bells
		return false
	}
	require.True(t, can, "it is more than there is")
	if f.of == m.master {
		_, err = f.h.News(m.now)
		require.ErrorIs(t, err, offers.ErrFenced, "who spoke for it before is fenced")
	}
	if f.of == m.master && f.here && bells == 0 {
		f.bells-- // of the handle that was replaced, which hears of that
	}
	require.Equal(t, f.reg.Epoch, h.Epoch())
	f.h, f.of, f.promised, f.fresh = h, m.master, f.reg.Guaranteed, true
	f.drowsy = f.asleep // it may have unread offers
	f.here, f.found, f.asleep, f.suppressed = true, false, false, f.reg.Suppressed
	f.watch = silence{heard: m.now}
	f.retell, f.perhaps, f.unclear = nil, f.unclear, nil
	for _, o := range slices.Clone(f.offers) {
		switch {
		case o.late(m.now):
			// The framework does not hear of it any more: it has expired, or is taken back before
			// the master comes to that.
			m.end(f, o, nil)
			f.refused = f.refused || o.kept
		case o.doomed || !o.kept || f.drowsy || o.unclear:
			m.end(f, o, nil)
			f.perhaps = append(f.perhaps, o)
		default:
			f.retell = append(f.retell, o)
		}
	}
	for _, l := range f.lost {
		l.told, l.due = false, false
	}
	for _, id := range f.reg.Long {
		if one, running := f.tasks[id]; running {
			one.long = true
			f.tasks[id] = one
		}
	}
	for machine, i := range f.asked {
		i.told = i.answered || !m.now.Before(m.leave[machine]) || len(f.on(machine)) == 0
	}
	f.short = resources.Vector{}
	m.meet(f)
	f.requests, f.notices = make(map[offers.RequestID]offers.Request), make(map[omega.AllocationID]time.Time)
	running := 0
	for a := range h.Tasks() {
		require.Contains(t, f.tasks, a.ID, "its tasks go on")
		running++
	}
	require.Len(t, f.tasks, running)
	if !slices.Contains(m.all, f) {
		m.all = append(m.all, f)
	}
	m.checkJoin(t, f, outstanding)
	return true
}

// doTakeOver registers one that is there, as a standby does, or one that is away.
func (m *model) doTakeOver(t *rapid.T) { m.takeOver(t, m.all) }

func (m *model) doComeBack(t *rapid.T) {
	m.takeOver(t, m.those(func(f *fw) bool { return !f.here }))
}

func (m *model) takeOver(t *rapid.T, who []*fw) {
	f := one(t, "framework", who)
	was := f.reg
	if f.here {
		_, err := m.master.Register(m.now, f.reg)
		require.ErrorIs(t, err, offers.ErrName)
		f.reg.Epoch += 2
	}
	if rapid.IntRange(0, 2).Draw(t, "otherwise") == 0 {
		f.reg.Guaranteed, f.reg.Weight = m.guarantee(t), float64(rapid.IntRange(1, 3).Draw(t, "weight"))
		f.reg.Suppressed = rapid.Bool().Draw(t, "suppressed")
		if !m.register(t, f) {
			f.reg = was
		}
		return
	}
	if m.register(t, f) && f.reg.Epoch > 0 {
		stale := f.reg
		stale.Epoch--
		_, err := m.master.Register(m.now, stale)
		require.ErrorIs(t, err, offers.ErrFenced, "whoever was replaced stays so")
	}
}

func (m *model) doDisconnect(t *rapid.T) {
	f := one(t, "framework", m.those(func(f *fw) bool { return f.here }))
	require.NoError(t, f.h.Disconnect(m.now))
	_, err := f.h.News(m.now)
	require.Error(t, err)
	m.away(f)
}

// away marks a framework as away.
func (m *model) away(f *fw) {
	f.here, f.requests = false, nil
	if d := f.reg.Failover; d == offers.For(0) {
		m.forget(f)
	} else {
		f.until = m.now.Add(length(d, 0))
	}
}

func (m *model) doUnregister(t *rapid.T) {
	f := one(t, "framework", m.those(func(f *fw) bool { return f.here }))
	require.NoError(t, f.h.Unregister(m.now))
	_, err := f.h.News(m.now)
	require.ErrorIs(t, err, offers.ErrUnregistered)
	m.forget(f)
}

func (m *model) doSuppress(t *rapid.T) {
	f := m.pick(t)
	require.NoError(t, f.h.Suppress(m.now))
	f.suppressed = true
}

func (m *model) doRevive(t *rapid.T) {
	f := m.pick(t)
	outstanding := m.outstanding()
	require.NoError(t, f.h.Revive(m.now))
	f.suppressed, f.filters = false, nil
	m.checkJoin(t, f, outstanding)
}

// doSleep lets a framework not read its news for a while, nor answer.
func (m *model) doSleep(t *rapid.T) {
	f := m.pick(t)
	if m.cfg.Terms.Optimistic && len(f.requests) > 0 {
		t.Skip("it could not tell which of its offers are kept")
	}
	if f.suppressed && len(f.requests) > 0 {
		t.Skip("it could not tell whether it is expected to call")
	}
	f.sleep()
	for _, a := range m.claimed(f) {
		f.heard = append(f.heard, a.ID)
	}
}

func (f *fw) sleep() {
	f.asleep, f.drowsy, f.heard = true, true, nil
	f.refused = true // it may let offers expire that it never knew
}

func (m *model) doWake(t *rapid.T) {
	f := one(t, "sleeper", m.those(func(f *fw) bool { return f.asleep && f.here }))
	f.asleep = false
	m.read(t) // it may be offered something by that, and so may others
}

// doWeight changes what a role counts.
func (m *model) doWeight(t *rapid.T) {
	role, w := rapid.SampledFrom([]string{"", "x"}).Draw(t, "role"), float64(rapid.IntRange(1, 4).Draw(t, "weight"))
	require.NoError(t, m.master.SetRoleWeight(role, w))
	m.weights[role] = w
	m.settled = false // nothing is offered for that alone
}
