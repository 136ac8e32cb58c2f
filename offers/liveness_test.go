package offers_test

import (
	"fmt"
	"runtime"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/cellsched/cellsched/offers"
	"github.com/cellsched/cellsched/omega"
	"github.com/cellsched/cellsched/resources"
)

// pass lets seconds pass, one by one, in which one framework calls, if there is one.
func pass(t *testing.T, m *offers.Master, alive *offers.Framework, from, to int) {
	t.Helper()
	for s := from; s <= to; s++ {
		require.NoError(t, m.Step(at(float64(s))))
		if alive != nil {
			read(t, alive, at(float64(s)))
		}
	}
}

// Nothing is kept of a framework without tasks that makes no call for as long as
// Liveness says. If it comes back it is registered again, as it was.
func TestLiveness_EndsFrameworksWithoutTasks(t *testing.T) {
	tests := map[string]struct {
		cfg  offers.Config
		gone int // after so many seconds
	}{
		"by default":           {offers.Config{}, 600},
		"with longer offers":   {offers.Config{Timeout: offers.For(time.Minute)}, 1200},
		"with shorter offers":  {offers.Config{Timeout: offers.For(time.Second)}, 600},
		"as configured":        {offers.Config{Liveness: offers.For(100 * time.Second)}, 100},
		"before it is silent":  {offers.Config{Liveness: offers.For(10 * time.Second)}, 10},
		"offers do not expire": {offers.Config{Timeout: offers.Never(), Liveness: offers.For(50 * time.Second)}, 50},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			cell, _ := newCell(t, 2, resources.Vector{10})
			m := newMaster(t, cell, test.cfg)
			f := register(t, m, offers.Registration{
				Name: "f", Role: "r", Weight: 2, Precedence: 3, Guaranteed: resources.Vector{5}, Minimum: resources.Vector{2},
			})
			alive := register(t, m, offers.Registration{Name: "alive"})
			_, err := f.Request(start, offers.Request{Machines: 2, Each: resources.Vector{8}})
			require.NoError(t, err)
			pass(t, m, alive, 1, test.gone-1)
			require.Equal(t, 2, m.Members())
			pass(t, m, alive, test.gone, test.gone)
			require.Equal(t, 1, m.Members())
			for a := range cell.Allocations() {
				require.Equal(t, accountOf(cell, "alive"), a.Account)
			}
			left, err := cell.Register("offers/f", omega.Limits{})
			require.NoError(t, err, "its scheduler has left the cell")
			require.NoError(t, left.Leave())

			now := at(float64(test.gone + 1))
			require.NoError(t, alive.Disconnect(now))
			got := read(t, f, now)
			require.Len(t, got.Offers, 2, "its call registers it again")
			require.Equal(t, 1, m.Members())
			_, err = f.Request(now, offers.Request{Machines: 1, Each: resources.Vector{6}, Revoke: true})
			require.ErrorIs(t, err, offers.ErrExceeds, "it is guaranteed what it was")
			tasks, err := f.Accept(now, launch(got.Offers[0].ID, 10))
			require.NoError(t, err)
			for a := range f.Tasks() {
				require.Equal(t, tasks[0], a.ID)
				require.Equal(t, omega.Precedence(3), a.Precedence)
			}
			require.NoError(t, f.Unregister(now))
			require.NoError(t, m.Step(now))
			require.Empty(t, m.Leftovers())
		})
	}
}

// By Never no framework is taken for gone.
func TestLiveness_Never(t *testing.T) {
	for name, cfg := range map[string]offers.Config{
		"as configured":               {Liveness: offers.Never()},
		"since offers do not expire":  {Timeout: offers.Never()},
		"since offers last for years": {Timeout: offers.For(10 * 365 * 24 * time.Hour)},
	} {
		t.Run(name, func(t *testing.T) {
			cell, _ := newCell(t, 1, resources.Vector{10})
			m := newMaster(t, cell, cfg)
			register(t, m, offers.Registration{Name: "f"})
			for h := range 10_000 {
				require.NoError(t, m.Step(at(float64(3600*h))))
			}
			require.Equal(t, 1, m.Members())
		})
	}
}

// The Registration decides the fate of tasks; by default they go on.
func TestLiveness_LeavesTasksAsTheRegistrationSays(t *testing.T) {
	tests := map[string]struct {
		failover offers.Span
		last     int // second at which they run; 0 for ever
	}{
		"no word":      {offers.Span{}, 0},
		"a minute":     {offers.For(time.Minute), 659},
		"no time":      {offers.For(0), 599},
		"without end":  {offers.Never(), 0},
		"half an hour": {offers.For(30 * time.Minute), 2399},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			cell, _ := newCell(t, 2, resources.Vector{10})
			m := newMaster(t, cell, offers.Config{})
			f := register(t, m, offers.Registration{Name: "f", Failover: test.failover})
			for _, o := range read(t, f, start).Offers {
				_, err := f.Accept(start, launch(o.ID, 10))
				require.NoError(t, err)
			}
			alive := register(t, m, offers.Registration{Name: "alive"})
			runs := func() (n int) {
				for range f.Tasks() {
					n++
				}
				return n
			}
			last := test.last
			if last == 0 {
				last = 5000
			}
			pass(t, m, alive, 1, last)
			require.Equal(t, 2, runs())
			if test.last > 0 {
				pass(t, m, alive, last+1, last+1)
				require.Zero(t, runs())
				require.Equal(t, 1, m.Members())
			}
			now := at(float64(last + 2))
			read(t, f, now)
			require.Equal(t, 2, m.Members(), "it is there again, with what it has")
			require.NoError(t, f.Suppress(now))
		})
	}
}

// Where its tasks have gone, so does the framework.
func TestLiveness_EndsFrameworksWithLostTasks(t *testing.T) {
	cell, machines := newCell(t, 2, resources.Vector{10})
	m := newMaster(t, cell, offers.Config{})
	f := register(t, m, offers.Registration{Name: "f", Machines: omega.Mask{1}})
	_, err := f.Accept(start, launch(read(t, f, start).Offers[0].ID, 10))
	require.NoError(t, err)
	pass(t, m, nil, 1, 1000)
	require.Equal(t, 1, m.Members())
	_, err = cell.Remove(machines[0])
	require.NoError(t, err)
	pass(t, m, nil, 1001, 1000+10*60)
	require.Zero(t, m.Members())
	require.Empty(t, m.Leftovers())
}

// A framework that is suppressed and waits for nothing has no reason to call. It can be
// asked whether it is there if it has a Notify.
func TestLiveness_OfASuppressedFramework(t *testing.T) {
	cell, _ := newCell(t, 1, resources.Vector{10})
	m := newMaster(t, cell, offers.Config{})
	var told []float64
	now := 0
	alive := register(t, m, offers.Registration{Name: "alive"})
	register(t, m, offers.Registration{Name: "without", Suppressed: true})
	register(t, m, offers.Registration{Name: "with", Suppressed: true, Notify: func() { told = append(told, float64(now)) }})
	for now = 1; now < 600; now++ {
		pass(t, m, alive, now, now)
	}
	require.Equal(t, []float64{300}, told)
	require.Equal(t, 3, m.Members())
	pass(t, m, alive, 600, 5000)
	require.Equal(t, 2, m.Members())
}

// A framework that answers when it is notified is neither silent nor gone, however little
// there is for it.
func TestLiveness_OfAFrameworkThatAnswersWhenItIsAsked(t *testing.T) {
	cell, _ := newCell(t, 1, resources.Vector{10})
	m := newMaster(t, cell, offers.Config{})
	busy := register(t, m, offers.Registration{Name: "busy"})
	tasks, err := busy.Accept(start, launch(read(t, busy, start).Offers[0].ID, 10))
	require.NoError(t, err)
	rung := false
	f := register(t, m, offers.Registration{Name: "f", Notify: func() { rung = true }})
	asked := 0
	for s := 1; s <= 3600; s++ {
		pass(t, m, busy, s, s)
		if rung {
			rung = false
			asked++
			require.Empty(t, read(t, f, at(float64(s))))
		}
	}
	require.Equal(t, 3600/30, asked)
	require.NoError(t, busy.Release(at(3600), tasks...))
	require.Len(t, read(t, f, at(3600)).Offers, 1)
}

// A framework is fenced when it comes back if another one has its name by then.
func TestLiveness_AnotherOneMayHaveItsName(t *testing.T) {
	cell, _ := newCell(t, 1, resources.Vector{10})
	m := newMaster(t, cell, offers.Config{})
	f := register(t, m, offers.Registration{Name: "f"})
	pass(t, m, nil, 1, 600)
	require.Zero(t, m.Members())
	g, err := m.Register(at(600), offers.Registration{Name: "f"})
	require.NoError(t, err)
	_, err = f.News(at(601))
	require.ErrorIs(t, err, offers.ErrFenced)
	require.ErrorIs(t, f.Unregister(at(601)), offers.ErrFenced)
	require.NotEmpty(t, read(t, g, at(601)).Offers)
}

// What it was guaranteed may be another one's by then.
func TestLiveness_ReturnedFrameworkGetsFreeRoomOnly(t *testing.T) {
	cell, _ := newCell(t, 1, resources.Vector{10})
	m := newMaster(t, cell, offers.Config{})
	f := register(t, m, offers.Registration{Name: "f", Guaranteed: resources.Vector{6}})
	pass(t, m, nil, 1, 600)
	g, err := m.Register(at(600), offers.Registration{Name: "g", Guaranteed: resources.Vector{6}})
	require.NoError(t, err)
	_, err = f.News(at(601))
	require.ErrorIs(t, err, offers.ErrGuarantee)
	require.Equal(t, 1, m.Members())
	require.NoError(t, g.Unregister(at(602)))
	require.Len(t, read(t, f, at(602)).Offers, 1)
}

// Frameworks that register and vanish leave nothing behind: neither in the master nor,
// accounts aside, in the cell.
func TestLiveness_KeepsNothingOfFrameworksThatVanish(t *testing.T) {
	const each = 4000
	cell, _ := newCell(t, 10, resources.Vector{10})
	m := newMaster(t, cell, offers.Config{Timeout: offers.For(time.Second), Liveness: offers.For(4 * time.Second)})
	account := accountOf(cell, "all")
	now := start
	heap := func() uint64 {
		for i := range each {
			now = now.Add(100 * time.Millisecond)
			_, err := m.Register(now, offers.Registration{Name: fmt.Sprint(now.UnixNano()), Account: account})
			require.NoError(t, err)
			require.NoError(t, m.Step(now))
			if i%100 == 0 {
				require.LessOrEqual(t, m.Members(), 42)
			}
		}
		var mem runtime.MemStats
		runtime.GC()
		runtime.GC()
		runtime.ReadMemStats(&mem)
		return mem.HeapAlloc
	}
	heap() // what is kept for its memory grows to its size
	heap()
	first := heap()
	require.LessOrEqual(t, heap(), first+each*100, "a framework leaves 100 bytes or more")
	for range 20 {
		now = now.Add(time.Second)
		require.NoError(t, m.Step(now))
	}
	require.Empty(t, m.Leftovers())
}

// A request of a silent framework takes nothing from others, and goes on when it calls.
func TestLiveness_RequestsWaitWhileTheirFrameworkIsSilent(t *testing.T) {
	cell, _ := newCell(t, 2, resources.Vector{10})
	m := newMaster(t, cell, offers.Config{Grace: offers.For(100 * time.Second)})
	worker := register(t, m, offers.Registration{Name: "worker"})
	for _, o := range read(t, worker, start).Offers {
		_, err := worker.Accept(start, launch(o.ID, 10))
		require.NoError(t, err)
	}
	owner := register(t, m, offers.Registration{Name: "owner", Guaranteed: resources.Vector{10}})
	_, err := owner.Request(start, offers.Request{Machines: 1, Each: resources.Vector{10}, Revoke: true})
	require.NoError(t, err)
	require.Len(t, read(t, worker, start).Revoked, 1)
	for s := 1; s <= 100; s++ {
		require.NoError(t, m.Step(at(float64(s))))
		news := read(t, worker, at(float64(s)))
		require.Empty(t, news.Tasks)
		require.Len(t, news.Spared, s/100, "nothing is taken for a framework that is silent")
	}
	pass(t, m, worker, 101, 200)
	require.Empty(t, read(t, owner, at(200)).Answers)
	require.Len(t, read(t, worker, at(200)).Revoked, 1, "it begins anew")
	for s := 201; s <= 300; s++ {
		require.NoError(t, m.Step(at(float64(s))))
		news := read(t, worker, at(float64(s)))
		require.Len(t, news.Tasks, s/300)
		if s < 300 {
			require.Empty(t, read(t, owner, at(float64(s))).Answers)
		}
	}
	require.Len(t, read(t, owner, at(300)).Answers, 1)
}
