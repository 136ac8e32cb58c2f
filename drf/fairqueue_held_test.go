package drf_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/cellsched/cellsched/drf"
	"github.com/cellsched/cellsched/resources"
)

// below is a FairQueue over 100 slots with one group. The group is limited to a few
// slots or throttled now and then. Its tenants always wait.
type below struct {
	q       *drf.FairQueue
	group   drf.User
	tenants []drf.User
	running map[*drf.Run]time.Duration // to its end
	ran     map[drf.User]time.Duration
}

func newBelow(t *testing.T, weights ...float64) *below {
	t.Helper()
	q, err := drf.NewFairQueue(slots(100))
	require.NoError(t, err)
	b := &below{q: q, running: map[*drf.Run]time.Duration{}, ran: map[drf.User]time.Duration{}}
	b.group, err = q.Add(drf.User{}, 1)
	require.NoError(t, err)
	for _, w := range weights {
		b.tenants = append(b.tenants, b.tenant(t, b.group, w))
	}
	return b
}

func (b *below) tenant(t *testing.T, group drf.User, weight float64) drf.User {
	t.Helper()
	u, err := b.q.Add(group, weight)
	require.NoError(t, err)
	return u
}

// serve ends tasks that are over and starts tasks of a second, all that the order
// permits.
func (b *below) serve(t *testing.T, now time.Duration) {
	t.Helper()
	for run, end := range b.running {
		if end <= now {
			require.NoError(t, b.q.End(run, now))
			delete(b.running, run)
		}
	}
	for {
		u, ok := b.q.Pick(now, nil, nil)
		if !ok {
			return
		}
		run, err := startRun(b.q, u, slots(1), now)
		require.NoError(t, err)
		b.running[run] = now + time.Second
		b.ran[u] += time.Second
	}
}

// The limit of a group, here far below the cell, is shared by the weights of its
// tenants and of the groups in it.
func TestFairQueue_AGroupAtItsLimitSharesItByWeights(t *testing.T) {
	for _, limit := range []int64{1, 2, 5} {
		t.Run(fmt.Sprint(limit), func(t *testing.T) {
			b := newBelow(t, 10, 1)
			inner, err := b.q.Add(b.group, 5)
			require.NoError(t, err)
			b.tenants = append(b.tenants, b.tenant(t, inner, 3), b.tenant(t, inner, 1))
			require.NoError(t, b.q.SetLimit(b.group, slots(limit), true, 0))
			for _, u := range b.tenants {
				require.NoError(t, b.q.Wait(u, slots(1), 0))
			}
			for now := time.Duration(0); now < 3200*time.Second; now += time.Second {
				b.serve(t, now)
				require.True(t, b.q.Contended())
				require.LessOrEqual(t, len(b.running), int(limit))
			}
			unit := b.ran[b.tenants[1]].Seconds()
			for i, want := range []float64{10, 1, 3.75, 1.25} {
				require.InDelta(t, want, b.ran[b.tenants[i]].Seconds()/unit, want/20, "tenant %d", i)
			}
		})
	}
}

// A throttled group is served again once it is not, and its tenants share the starts
// by their weights.
func TestFairQueue_AThrottledGroupSharesItsStartsByWeights(t *testing.T) {
	b := newBelow(t, 10, 1)
	for _, u := range b.tenants {
		require.NoError(t, b.q.Wait(u, slots(1), 0))
	}
	for now := time.Duration(0); now < 1100*time.Second; now += time.Second {
		for _, throttled := range []bool{false, true} {
			require.NoError(t, b.q.Throttle(b.group, throttled, now))
			require.True(t, b.q.Contended())
			u, ok := b.q.Pick(now, nil, nil)
			require.Equal(t, !throttled, ok)
			if ok {
				_, err := startRun(b.q, u, slots(1), now)
				require.NoError(t, err)
				b.ran[u] += time.Second
			}
		}
	}
	require.InDelta(t, 10, b.ran[b.tenants[0]].Seconds()/b.ran[b.tenants[1]].Seconds(), 0.5)
}

// Tenants of a held group compete among each other. Service of their group's siblings
// is free as long as none of those waits.
func TestFairQueue_ServiceInFreeRoomIsFreeBesideAHeldGroup(t *testing.T) {
	b := newBelow(t, 1, 1)
	require.NoError(t, b.q.SetLimit(b.group, slots(1), true, 0))
	for _, u := range b.tenants {
		require.NoError(t, b.q.Wait(u, slots(1), 0))
	}
	busy, idle := b.tenant(t, drf.User{}, 1), b.tenant(t, drf.User{}, 1)
	b.serve(t, 0)
	run, err := startRun(b.q, busy, slots(50), 0)
	require.NoError(t, err)
	b.serve(t, time.Hour)
	require.True(t, b.q.Contended())
	require.NoError(t, b.q.End(run, time.Hour))
	received, err := b.q.Received(busy, time.Hour)
	require.NoError(t, err)
	require.Zero(t, received)
	received, err = b.q.Received(b.tenants[0], time.Hour)
	require.NoError(t, err)
	require.NotZero(t, received)
	for _, u := range []drf.User{busy, idle} {
		require.NoError(t, b.q.Wait(u, slots(1), time.Hour))
	}
	for i := range 20 { // no head start for the tenant that was idle
		u, ok := b.q.Pick(time.Hour, nil, nil)
		require.True(t, ok)
		require.Equal(t, []drf.User{idle, busy}[i%2], u)
		_, err := startRun(b.q, u, slots(1), time.Hour)
		require.NoError(t, err)
	}
}

// A throttled tenant does not count as waiting, and comes back at its own place.
func TestFairQueue_AThrottledTenantKeepsItsPlace(t *testing.T) {
	b := newBelow(t)
	heavy, light := b.tenant(t, drf.User{}, 10), b.tenant(t, drf.User{}, 1)
	require.NoError(t, b.q.Wait(heavy, slots(1), 0))
	require.NoError(t, b.q.Throttle(heavy, true, 0))
	require.False(t, b.q.Contended())
	_, ok := b.q.Pick(0, nil, nil)
	require.False(t, ok)
	require.NoError(t, b.q.Wait(light, slots(1), 0))
	ran := map[drf.User]int{}
	var run *drf.Run
	for now := time.Duration(0); now < 1100*time.Second; now += time.Second {
		if run != nil {
			require.NoError(t, b.q.End(run, now))
		}
		require.NoError(t, b.q.Throttle(heavy, false, now))
		u, ok := b.q.Pick(now, nil, nil)
		require.True(t, ok)
		ran[u]++
		var err error
		run, err = startRun(b.q, u, slots(1), now)
		require.NoError(t, err)
		require.NoError(t, b.q.Throttle(heavy, true, now))
	}
	require.InDelta(t, 10, float64(ran[heavy])/float64(ran[light]), 0.5)
}

func TestFairQueue_ThrottleRefusesAStrangersHandle(t *testing.T) {
	b := newBelow(t)
	require.ErrorIs(t, b.q.Throttle(drf.User{}, true, 0), drf.ErrUser)
	require.ErrorIs(t, (*drf.FairQueue)(nil).Throttle(b.group, true, 0), resources.ErrNil)
}
