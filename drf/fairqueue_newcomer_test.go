package drf_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/cellsched/cellsched/drf"
	"github.com/cellsched/cellsched/resources"
)

// arrivals runs tenants for a while, each in a group of its own if asked for. Then one more
// with the needs of the first begins to wait, new or served once and idle since. Arrivals
// returns the slot time of both from then on.
func arrivals(t *testing.T, total resources.Vector, group, idle bool, at, during time.Duration, rivals ...rival) (first, newcomer time.Duration) {
	t.Helper()
	sim := newFairSim(t, total)
	sim.learned = true
	add := func(name string, r rival) *simTenant {
		parent := drf.User{}
		if group {
			var err error
			parent, err = sim.q.Add(drf.User{}, r.weight)
			require.NoError(t, err)
		}
		return sim.add(name, parent, r.weight, r.need, r.length)
	}
	var late *simTenant
	if idle { // it is known, and was served once
		late = add("late", rivals[0])
		late.most = 1
		sim.wait(late)
		sim.start()
		require.NoError(t, sim.q.Park(late.user, 0))
		late.most = 0
	}
	for i, r := range rivals {
		sim.wait(add(fmt.Sprint(i), r))
	}
	sim.until(at)
	if late == nil {
		late = add("late", rivals[0])
	}
	sim.wait(late)
	other := sim.tenants[0]
	if idle {
		other = sim.tenants[1]
	}
	was, had := other.served, late.served
	sim.until(at + during)
	return other.served - was, late.served - had
}

// A tenant that was served at a bottleneck and waits no more is remembered until those that
// wait there have received as much. Forgotten before, it would be ahead of them later.
func TestFairQueue_ATenantOfABottleneckIsNotForgottenAhead(t *testing.T) {
	const length = 10 * time.Millisecond
	sim := newFairSim(t, resources.Vector{18, 2})
	sim.learned = true
	for i := range 4 {
		sim.wait(sim.add(fmt.Sprint(i), drf.User{}, 1, resources.Vector{1, 1}, length))
	}
	sim.wait(sim.add("leftovers", drf.User{}, 1, resources.Vector{1}, 4*length))
	sim.until(100 * length)
	once := sim.add("once", drf.User{}, 1, resources.Vector{1, 1}, length)
	sim.wait(once)
	for once.held == 0 {
		sim.until(sim.now + length)
	}
	require.NoError(t, sim.q.Park(once.user, sim.now))
	sim.until(sim.now + length + 1)
	require.Zero(t, once.held)
	require.False(t, sim.q.Settled(once.user, sim.now))
	sim.until(sim.now + 20*length)
	require.True(t, sim.q.Settled(once.user, sim.now))
}

// A tenant that begins to wait at a bottleneck shares it at once with those that wait
// there. Tenants that are served on what they leave have received much more by then.
func TestFairQueue_ANewcomerAtABottleneckSharesItAtOnce(t *testing.T) {
	const length = 10 * time.Millisecond
	cpu := func(length time.Duration) rival { return rival{weight: 1, need: resources.Vector{1}, length: length} }
	for _, c := range []struct {
		name  string
		total resources.Vector
		at    rival // of the bottleneck, where two run at a time
	}{
		{"GPU", resources.Vector{18, 2}, rival{weight: 1, need: resources.Vector{1, 1}, length: length}},
		{"unequal GPU tasks", resources.Vector{18, 2}, rival{weight: 1, need: resources.Vector{1, 1}, length: length * 3 / 2}},
	} {
		for _, long := range []time.Duration{length, 4 * length, 13 * length, 1000 * length} {
			for _, rounds := range []time.Duration{3, 10, 30} {
				for _, group := range []bool{false, true} {
					for _, idle := range []bool{false, true} {
						t.Run(fmt.Sprint(c.name, long, rounds, group, idle), func(t *testing.T) {
							first, late := arrivals(t, c.total, group, idle, rounds*max(long, 10*length)+long/2, 50*c.at.length,
								c.at, c.at, c.at, c.at, cpu(long*17/16), cpu(long*13/16))
							require.InDelta(t, 20, float64(first/c.at.length), 4, "tenants of the bottleneck")
							require.InDelta(t, 20, float64(late/c.at.length), 4, "the newcomer")
						})
					}
				}
			}
		}
	}
}
