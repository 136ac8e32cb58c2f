package offers_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/cellsched/cellsched/internal/journals"
	"github.com/cellsched/cellsched/offers"
	"github.com/cellsched/cellsched/omega"
	"github.com/cellsched/cellsched/resources"
)

// drain applies the operations of a stalled journal one by one. After each, all calls go on for
// as long as they can.
func drain(j *journals.Stalling) {
	for synctest.Wait(); j.One(); {
		synctest.Wait()
	}
}

// vanish has all frameworks of a master be taken for gone in the Step of the time returned, which
// step makes. The Steps before are made at once.
func vanish(t *testing.T, cfg offers.Config, build func(offers.Config) *offers.Master) (m *offers.Master, now float64) {
	t.Helper()
	probe := build(cfg)
	for all := probe.Members(); probe.Members() == all; now += 5 {
		require.NoError(t, probe.Step(at(now)))
	}
	m = build(cfg)
	for early := 0.; early < now-5; early += 5 {
		require.NoError(t, m.Step(at(early)))
	}
	return m, now - 5
}

// works requires that a framework is offered room and starts a task there.
func works(t *testing.T, m *offers.Master, f *offers.Framework, now float64) {
	t.Helper()
	require.NoError(t, f.Revive(at(now)))
	require.NoError(t, m.Step(at(now)))
	open := read(t, f, at(now)).Offers
	require.NotEmpty(t, open)
	tasks, err := f.Accept(at(now), launch(open[0].ID, 1))
	require.NoError(t, err)
	require.NoError(t, f.Release(at(now), tasks...))
}

// A framework that is taken for gone calls while the Step has others leave the cell. It is back
// then, or the call fails: the Step does not have its new scheduler leave.
func TestFramework_ComesBackWhileOthersLeave(t *testing.T) {
	for back := range 3 {
		synctest.Test(t, func(t *testing.T) {
			var j *journals.Stalling
			var all []*offers.Framework
			m, now := vanish(t, offers.Config{}, func(cfg offers.Config) *offers.Master {
				var cell *omega.Cell
				cell, j = newStalling(t, 3)
				m := newMaster(t, cell, cfg)
				all = all[:0]
				for _, name := range []string{"a", "b", "c"} {
					all = append(all, register(t, m, offers.Registration{Name: name}))
				}
				return m
			})
			j.Stall(true)
			stepped, came := make(chan error, 1), make(chan error, 1)
			go func() { stepped <- m.Step(at(now)) }()
			synctest.Wait()
			require.Empty(t, stepped)
			go func() {
				_, err := all[back].News(at(now))
				came <- err
			}()
			drain(j)
			j.Stall(false)
			require.NoError(t, <-stepped)
			require.NoError(t, <-came)
			works(t, m, all[back], now+1)
		})
	}
}

// A program registers the name of a framework that is taken for gone, while the old program
// calls. The one of them that succeeds last is the framework, and can start tasks.
func TestRegister_WhileTheOldHandleCalls(t *testing.T) {
	for name, one := range map[string]struct {
		registersFirst bool
		epoch          uint64
	}{
		"registers first":               {true, 0},
		"registers first, higher epoch": {true, 1},
		"calls first":                   {false, 0},
		"calls first, higher epoch":     {false, 1},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var j *journals.Stalling
				var cell *omega.Cell
				var old *offers.Framework
				m, now := vanish(t, offers.Config{}, func(cfg offers.Config) *offers.Master {
					cell, j = newStalling(t, 2)
					m := newMaster(t, cell, cfg)
					old = register(t, m, offers.Registration{Name: "b"})
					return m
				})
				require.NoError(t, m.Step(at(now)))
				require.NoError(t, m.Step(at(now+1)))
				account := accountOf(cell, "b")
				j.Stall(true)
				var f *offers.Framework
				var registered, called error
				calls := []func(){
					func() {
						f, registered = m.Register(at(now+2), offers.Registration{Name: "b", Account: account, Epoch: one.epoch})
					},
					func() { _, called = old.News(at(now + 2)) },
				}
				if !one.registersFirst {
					calls[0], calls[1] = calls[1], calls[0]
				}
				for _, call := range calls {
					go call()
					synctest.Wait()
				}
				drain(j)
				j.Stall(false)
				if registered == nil {
					_, called = old.News(at(now + 3))
					require.ErrorIs(t, called, offers.ErrFenced)
					works(t, m, f, now+3)
				} else {
					require.ErrorIs(t, registered, offers.ErrName)
					require.NoError(t, called)
					works(t, m, old, now+3)
				}
			})
		})
	}
}

// A framework does not register in time after a takeover, and its tasks are released, while it
// registers. Both wait for the journal. Either it has its tasks, or they are released.
func TestRegister_WhileItsTasksAreReleased(t *testing.T) {
	for range 20 { // the calls go on in either order
		synctest.Test(t, func(t *testing.T) {
			cell, j := newStalling(t, 2)
			account := accountOf(cell, "f")
			before := newMaster(t, cell, offers.Config{})
			f := register(t, before, offers.Registration{Name: "f", Account: account})
			require.NoError(t, before.Step(at(0)))
			_, err := f.Accept(at(0), launch(read(t, f, at(0)).Offers[0].ID, 5))
			require.NoError(t, err)
			m, err := offers.New(cell, offers.Config{}, at(1))
			require.NoError(t, err)
			require.NoError(t, m.Step(at(2)))
			j.Stall(true)
			registered, stepped := make(chan error, 1), make(chan error, 1)
			go func() {
				_, err := m.Register(at(3), offers.Registration{Name: "f", Account: account, Epoch: 3})
				registered <- err
			}()
			synctest.Wait()
			go func() { stepped <- m.Step(at(2).Add(offers.DefaultRecovery)) }()
			synctest.Wait()
			require.Equal(t, 1, j.Len(), "schedulers that are made of one framework")
			j.Stall(false)
			require.NoError(t, <-stepped)
			err = <-registered
			require.NoError(t, m.Step(at(2).Add(2*offers.DefaultRecovery)))
			if err == nil {
				return
			}
			require.ErrorIs(t, err, offers.ErrName)
			for task := range cell.Allocations() {
				require.Equal(t, offers.DefaultName, task.Scheduler, "a task that no framework has")
			}
		})
	}
}

// The cell shrinks while a framework registers with a guarantee that has fitted. Either the
// registration succeeds, or the handle before it still works.
func TestRegister_WhileTheCellShrinks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cell, j := newStalling(t, 2)
		m := newMaster(t, cell, offers.Config{})
		account := accountOf(cell, "b")
		old := register(t, m, offers.Registration{Name: "b", Account: account})
		require.NoError(t, m.Step(at(0)))
		open := read(t, old, at(0)).Offers
		require.Len(t, open, 2)
		require.NoError(t, old.Suppress(at(0)))
		require.NoError(t, old.Decline(at(0), offers.Span{}, ids(open)...))
		require.NoError(t, m.Step(at(0)))
		j.Stall(true)
		removed := make(chan error, 1)
		go func() {
			_, err := cell.Remove(open[1].Machine)
			removed <- err
		}()
		synctest.Wait()
		registered := make(chan error, 1)
		var f *offers.Framework
		go func() {
			var err error
			f, err = m.Register(at(1), offers.Registration{Name: "b", Account: account, Epoch: 1, Guaranteed: resources.Vector{15}})
			registered <- err
		}()
		synctest.Wait()
		require.True(t, j.One())
		require.NoError(t, <-removed)
		stepped := make(chan error, 1)
		go func() { stepped <- m.Step(at(1)) }()
		synctest.Wait()
		drain(j)
		j.Stall(false)
		require.NoError(t, <-stepped)
		if err := <-registered; err != nil {
			f = old
		}
		works(t, m, f, 2)
	})
}

// A framework is evicted while a registration of its name waits for the journal. The
// registration fails, and the tasks of the framework are released.
func TestRegister_WhileTheFrameworkIsEvicted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cell, j := newStalling(t, 2)
		m := newMaster(t, cell, offers.Config{})
		account := accountOf(cell, "f")
		f := register(t, m, offers.Registration{Name: "f", Account: account})
		require.NoError(t, m.Step(at(0)))
		_, err := f.Accept(at(0), launch(read(t, f, at(0)).Offers[0].ID, 5))
		require.NoError(t, err)
		j.Stall(true)
		registered, stepped := make(chan error, 1), make(chan error, 1)
		go func() {
			_, err := m.Register(at(1), offers.Registration{Name: "f", Account: account, Epoch: 3})
			registered <- err
		}()
		synctest.Wait()
		require.NoError(t, m.Evict(at(1), "f"))
		go func() { stepped <- m.Step(at(1)) }()
		drain(j)
		j.Stall(false)
		require.NoError(t, <-stepped)
		require.ErrorIs(t, <-registered, offers.ErrName)
		require.NoError(t, m.Step(at(2)))
		for task := range cell.Allocations() {
			require.Equal(t, offers.DefaultName, task.Scheduler, "a task that no framework has")
		}
		_, err = f.News(at(2))
		require.ErrorIs(t, err, offers.ErrEvicted)
		works(t, m, register(t, m, offers.Registration{Name: "f", Account: account}), 3)
	})
}

// Room that is given back while the journal is stalled is free later, which the master is not
// told. So a Step is due after each interval until the room is offered.
func TestNext_RoomOnTheWay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cell, j := newStalling(t, 1)
		m := newMaster(t, cell, offers.Config{Timeout: offers.Never(), Liveness: offers.Never()})
		a := register(t, m, offers.Registration{Name: "a"})
		require.NoError(t, m.Step(at(0)))
		b := register(t, m, offers.Registration{Name: "b"})
		require.NoError(t, m.Step(at(0)))
		open := read(t, a, at(0)).Offers
		require.Len(t, open, 1)
		j.Stall(true)
		require.NoError(t, a.Decline(at(1), offers.For(time.Hour), open[0].ID))
		for _, now := range []time.Time{at(1), at(2), at(3)} {
			require.NoError(t, m.Step(now))
			next, due := m.Next()
			require.True(t, due)
			require.Equal(t, now.Add(offers.DefaultInterval), next)
		}
		j.Stall(false)
		next, due := m.Next()
		require.True(t, due)
		require.NoError(t, m.Step(next))
		require.Len(t, read(t, b, next).Offers, 1)
		next, due = m.Next()
		require.True(t, due)
		require.Equal(t, at(1).Add(time.Hour), next, "the filter alone is due")
	})
}
