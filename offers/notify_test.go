package offers_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/cellsched/cellsched/offers"
	"github.com/cellsched/cellsched/resources"
)

// A Notify that panics keeps no other framework from being notified, wherever in line it
// is, and if it is not the only one.
func TestNotify_PanicsOfOneAreNotOthersAffair(t *testing.T) {
	for bad := range 1 << 3 {
		cell, _ := newCell(t, 1, resources.Vector{10})
		m := newMaster(t, cell, offers.Config{})
		var told [3]int
		var frameworks [3]*offers.Framework
		begun := false
		for i, name := range []string{"a", "b", "c"} {
			frameworks[i] = register(t, m, offers.Registration{Name: name, Notify: func() {
				if !begun {
					return
				}
				told[i]++
				if bad>>i&1 == 1 {
					panic(name)
				}
			}})
		}
		for _, f := range frameworks {
			_, err := f.Request(start, offers.Request{Machines: 1, Each: resources.Vector{1}, Deadline: at(5)})
			require.NoError(t, err)
			read(t, f, start)
		}
		begun = true
		expire := func() { _ = m.Step(at(5)) } // what all have asked for
		if bad > 0 {
			require.Panics(t, expire)
		} else {
			expire()
		}
		require.Equal(t, [3]int{1, 1, 1}, told)
		for _, f := range frameworks {
			require.NotEmpty(t, read(t, f, at(5)).Answers)
		}
	}
}

// A handle that was replaced is notified, and finds that out by asking for news.
func TestNotify_TellsTheReplacedHandle(t *testing.T) {
	for name, c := range map[string]struct {
		part func(m *offers.Master, f *offers.Framework) error
		want error
	}{
		"taken over": {func(m *offers.Master, _ *offers.Framework) error {
			_, err := m.Register(at(1), offers.Registration{Name: "f", Epoch: 1})
			return err
		}, offers.ErrFenced},
		"disconnected": {func(_ *offers.Master, f *offers.Framework) error { return f.Disconnect(at(1)) }, offers.ErrFenced},
		"ended":        {func(_ *offers.Master, f *offers.Framework) error { return f.Unregister(at(1)) }, offers.ErrUnregistered},
	} {
		t.Run(name, func(t *testing.T) {
			for _, unread := range []bool{false, true} {
				cell, _ := newCell(t, 1, resources.Vector{10})
				m := newMaster(t, cell, offers.Config{})
				told := 0
				f := register(t, m, offers.Registration{
					Name: "f", Failover: offers.For(time.Minute), Notify: func() { told++ },
				})
				require.Equal(t, 1, told)
				if !unread {
					read(t, f, at(1))
					told = 0
				}
				require.NoError(t, c.part(m, f))
				require.Equal(t, 1, told, "once, and once only if it was to read news anyway")
				_, err := f.News(at(1))
				require.ErrorIs(t, err, c.want)
			}
		})
	}
}

// A caller that sleeps until something is due learns that something is due before.
func TestSooner_WakesACallerThatSleepsUntilNext(t *testing.T) {
	cell, _ := newCell(t, 1, resources.Vector{10})
	m := newMaster(t, cell, offers.Config{})
	f := register(t, m, offers.Registration{Name: "f"})
	ask := func(deadline float64) offers.RequestID {
		id, err := f.Request(start, offers.Request{Machines: 1, Each: resources.Vector{1}, Deadline: at(deadline)})
		require.NoError(t, err)
		return id
	}
	closed := func(c <-chan struct{}) bool {
		select {
		case <-c:
			return true
		default:
			return false
		}
	}
	next := func() time.Time {
		at, ok := m.Next()
		require.True(t, ok)
		return at
	}
	_, err := f.Request(start, offers.Request{Machines: 1, Each: resources.Vector{1}})
	require.NoError(t, err)
	require.Equal(t, at(30), next(), "its offer expires")
	one, other := m.Sooner(), m.Sooner()
	ask(40)
	require.False(t, closed(one), "that is later")
	five := ask(5)
	require.True(t, closed(one) && closed(other), "everybody who sleeps is told")
	require.Equal(t, at(5), next())

	one = m.Sooner()
	ask(6)
	require.NoError(t, f.Withdraw(start, five))
	require.False(t, closed(one), "next is later now")
	require.Equal(t, at(6), next())
	ask(5)
	require.True(t, closed(one), "and sooner again")
}
