package drf_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/cellsched/cellsched/drf"
	"github.com/cellsched/cellsched/resources"
)

// Two groups of weight 10 and one of weight 1, of ten tenants each, on 8 slots.
func TestFairQueue_GroupsFollowTheirWeightsAndTheirMembersEachOther(t *testing.T) {
	sim := newFairSim(t, slots(8))
	sim.learned = true
	var groups [3]time.Duration
	for g, weight := range []float64{10, 10, 1} {
		group, err := sim.q.Add(drf.User{}, weight)
		require.NoError(t, err)
		for i := range 10 {
			sim.wait(sim.add(fmt.Sprint(g, i), group, 1, slots(1), time.Second))
		}
	}
	sim.until(500 * time.Second)
	least, most := time.Duration(math.MaxInt64), time.Duration(0)
	for i, n := range sim.tenants {
		if groups[i/10] += n.served; i < 10 {
			least, most = min(least, n.served), max(most, n.served)
		}
	}
	require.InDelta(t, 10, float64(groups[0])/float64(groups[2]), 1)
	require.InDelta(t, 10, float64(groups[1])/float64(groups[2]), 1)
	require.Less(t, float64(most), 1.3*float64(least))
}

// A higher class goes first from the moment that it is set, and the classes below
// share what is left evenly.
func TestFairQueue_AHigherClassGoesFirstFromNowOn(t *testing.T) {
	sim := newFairSim(t, slots(2))
	low := []*simTenant{
		sim.add("a", drf.User{}, 1, slots(1), time.Second), sim.add("b", drf.User{}, 1, slots(1), time.Second),
		sim.add("c", drf.User{}, 1, slots(1), time.Second),
	}
	high := sim.add("H", drf.User{}, 1, slots(1), time.Second)
	high.most = 1 // it leaves one of the slots to the others
	for _, n := range append(low, high) {
		sim.wait(n)
	}
	sim.until(8 * time.Second)
	require.Equal(t, 4*time.Second, high.served)
	require.NoError(t, sim.q.SetClass(high.user, 3))
	first, _ := sim.q.Pick(sim.now, nil, func(drf.User) bool { return true })
	require.Equal(t, high.user, first, "at once, although it has received as much")
	sim.until(38 * time.Second)
	require.InDelta(t, float64(34*time.Second), float64(high.served), float64(time.Second))
	for _, n := range low {
		require.InDelta(t, float64(14*time.Second), float64(n.served), float64(time.Second), n.name)
	}
	require.NoError(t, sim.q.SetClass(high.user, -1))
	sim.until(68 * time.Second)
	require.InDelta(t, float64(34*time.Second), float64(high.served), float64(time.Second), "below the others")
}

func TestFairQueue_AnIdleHourEarnsNoBurst(t *testing.T) {
	sim := newFairSim(t, slots(8))
	for i := range 4 {
		sim.wait(sim.add(fmt.Sprint(i), drf.User{}, 1, slots(1), time.Second))
	}
	idle := sim.add("idle", drf.User{}, 1, slots(1), time.Second)
	sim.until(time.Hour)
	sim.wait(idle)
	before := sim.tenants[0].served
	sim.until(time.Hour + 100*time.Second)
	require.InDelta(t, float64(sim.tenants[0].served-before), float64(idle.served), float64(3*time.Second))
}

// Tenants that have received one kind for long and then need another are not served
// before all others for as long: unused amounts of a kind are no credit.
func TestFairQueue_AKindThatWasNotUsedIsNoCredit(t *testing.T) {
	s := newFairSim(t, resources.Vector{1, 1})
	first, second := resources.Vector{1}, resources.Vector{0, 1}
	needs := []resources.Vector{first, first, second, second}
	for i, need := range needs {
		s.wait(s.add(fmt.Sprint(i), drf.User{}, 1, need, time.Second))
	}
	s.until(1000 * time.Second)
	before := make([]time.Duration, len(needs))
	for i, n := range s.tenants {
		before[i] = n.served
	}
	s.tenants[0].need, s.tenants[2].need = second, first
	s.wait(s.tenants[0])
	s.wait(s.tenants[2])
	s.until(1200 * time.Second)
	for i, n := range s.tenants {
		require.InDelta(t, 500, before[i].Seconds(), 10, "tenant %d", i)
		require.InDelta(t, 100, (n.served - before[i]).Seconds(), 30, "tenant %d", i)
	}
}

func TestFairQueue_ServiceWithoutContentionIsFree(t *testing.T) {
	sim := newFairSim(t, slots(2))
	a := sim.add("A", drf.User{}, 1, slots(1), time.Second)
	b := sim.add("B", drf.User{}, 1, slots(1), time.Second)
	first, err := startRun(sim.q, a.user, a.need, 0)
	require.NoError(t, err)
	require.False(t, sim.q.Contended())
	require.NoError(t, sim.q.End(first, time.Hour))
	// Both hold one slot when contention begins, so both receive the same from
	// then on, although A's task began an hour earlier.
	run, err := startRun(sim.q, a.user, a.need, time.Hour)
	require.NoError(t, err)
	sim.now = 2 * time.Hour
	sim.wait(b)
	require.True(t, sim.q.Contended())
	_, err = startRun(sim.q, b.user, b.need, sim.now)
	require.NoError(t, err)
	sim.now += time.Second
	for _, n := range []*simTenant{a, b} {
		got, err := sim.q.Received(n.user, sim.now)
		require.NoError(t, err)
		require.Equal(t, 500*time.Millisecond, got, n.name)
	}
	require.NoError(t, sim.q.End(run, sim.now))
	// The last wait ends: all is forgotten.
	require.NoError(t, sim.q.Park(b.user, sim.now))
	require.False(t, sim.q.Contended())
	got, err := sim.q.Received(a.user, sim.now)
	require.NoError(t, err)
	require.Zero(t, got)
}

func TestFairQueue_AMemberAtItsLimitDoesNotWait(t *testing.T) {
	sim := newFairSim(t, slots(4))
	a := sim.add("A", drf.User{}, 1, slots(1), time.Second)
	require.NoError(t, sim.q.SetLimit(a.user, slots(1), true, 0))
	sim.wait(a)
	require.True(t, sim.q.Contended())
	sim.start()
	require.Equal(t, 1, a.held)
	require.False(t, sim.q.Contended(), "at its limit")
	b := sim.add("B", drf.User{}, 1, slots(1), time.Second)
	sim.wait(b)
	sim.until(9500 * time.Millisecond)
	require.Equal(t, 1, a.held)
	require.Equal(t, 3, b.held)
	require.NoError(t, sim.q.SetLimit(a.user, resources.Vector{}, false, sim.now))
	sim.until(20500 * time.Millisecond)
	require.Equal(t, 2, a.held, "without a limit")
}

func TestFairQueue_AGroupAtItsLimitLeavesRoomToOthers(t *testing.T) {
	sim := newFairSim(t, slots(4))
	group, err := sim.q.Add(drf.User{}, 100)
	require.NoError(t, err)
	a := sim.add("A", group, 1, slots(1), time.Second)
	b := sim.add("B", group, 1, slots(2), time.Second)
	c := sim.add("C", drf.User{}, 1, slots(1), time.Second)
	require.NoError(t, sim.q.SetLimit(group, slots(2), true, 0))
	for _, n := range []*simTenant{a, b, c} {
		sim.wait(n)
	}
	for range 20 {
		sim.until(sim.now + 500*time.Millisecond)
		require.LessOrEqual(t, a.held+2*b.held, 2)
		require.Equal(t, 4, a.held+2*b.held+c.held, "all slots are in use")
	}
	require.NotZero(t, a.served)
	require.NotZero(t, b.served)
}

func TestFairQueue_AGuaranteeGoesFirstAndDoesNotPushOthersBack(t *testing.T) {
	sim := newFairSim(t, slots(4))
	a := sim.add("A", drf.User{}, 1, slots(1), time.Second)
	require.NoError(t, sim.q.SetGuarantee(a.user, slots(2)))
	for i := range 30 {
		sim.wait(sim.add(fmt.Sprint(i), drf.User{}, 1, slots(1), time.Second))
	}
	sim.until(10500 * time.Millisecond)
	sim.wait(a)
	for at := 12; at < 100; at++ {
		sim.until(time.Duration(at)*time.Second + 500*time.Millisecond)
		require.GreaterOrEqual(t, a.held, 2, "at %d s", at)
	}
	require.InDelta(t, 1, sim.advantage(5), 0.6, "the others share the rest")
}

func TestFairQueue_AChangedTotalKeepsReceivedService(t *testing.T) {
	sim := newFairSim(t, slots(4))
	a := sim.add("A", drf.User{}, 1, slots(1), time.Hour)
	b := sim.add("B", drf.User{}, 1, slots(4), time.Hour)
	sim.wait(b)
	run, err := startRun(sim.q, a.user, a.need, 0)
	require.NoError(t, err)
	require.NoError(t, sim.q.SetTotal(slots(8), 4*time.Second))
	got, err := sim.q.Received(a.user, 4*time.Second)
	require.NoError(t, err)
	require.Equal(t, time.Second, got, "a quarter for four seconds")
	got, err = sim.q.Received(a.user, 12*time.Second)
	require.NoError(t, err)
	require.Equal(t, 2*time.Second, got, "and an eighth for eight")
	require.NoError(t, sim.q.End(run, 12*time.Second))
	got, err = sim.q.Received(a.user, 20*time.Second)
	require.NoError(t, err)
	require.Equal(t, 2*time.Second, got)
}

// The bound of the type's documentation, on pools of one kind with random needs,
// lengths and weights, for each pair of tenants that wait throughout.
func TestFairQueue_KeepsItsBound(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	worst := 0.0
	for range 60 {
		n := 1 + rng.Int64N(8)
		sim := newFairSim(t, slots(n))
		tenants := 2 + rng.IntN(12)
		weights := make([]float64, tenants)
		for i := range tenants {
			weights[i] = float64(1 + rng.IntN(4))
			length := time.Duration(1+rng.IntN(20)) * time.Second / 2
			sim.wait(sim.add(fmt.Sprint(i), drf.User{}, weights[i], slots(1), length))
		}
		for range 40 {
			sim.until(sim.now + time.Duration(rng.IntN(5000))*time.Millisecond)
			for i, f := range sim.tenants {
				for j, m := range sim.tenants {
					sf, err := sim.q.Received(f.user, sim.now)
					require.NoError(t, err)
					sm, err := sim.q.Received(m.user, sim.now)
					require.NoError(t, err)
					share := 1 / float64(n)
					// Lengths are as expected, so the second part is zero.
					bound := share*f.length.Seconds()/weights[i] + share*float64(m.held)*m.length.Seconds()/weights[j]
					lead := sf.Seconds()/weights[i] - sm.Seconds()/weights[j]
					require.LessOrEqual(t, lead, bound+1e-6, "%d before %d", i, j)
					worst = max(worst, lead/bound)
				}
			}
		}
	}
	require.Greater(t, worst, 0.5, "the draws come near the bound")
}

func TestFairQueue_BadInputNamesTheValueAndChangesNothing(t *testing.T) {
	q, err := drf.NewFairQueue(slots(4))
	require.NoError(t, err)
	u, err := q.Add(drf.User{}, 1)
	require.NoError(t, err)
	group, err := q.Add(drf.User{}, 1)
	require.NoError(t, err)
	_, err = q.Add(group, 1)
	require.NoError(t, err)
	gone, err := q.Add(drf.User{}, 1)
	require.NoError(t, err)
	require.NoError(t, q.Remove(gone))
	run, err := startRun(q, u, slots(1), 0)
	require.NoError(t, err)
	negative := resources.Vector{-1}
	more := *run
	more.Need = slots(2)
	other, err := drf.NewFairQueue(slots(8))
	require.NoError(t, err)

	add := func(parent drf.User, weight float64) error { _, err := q.Add(parent, weight); return err }
	start := func(u drf.User, need resources.Vector) error { _, err := startRun(q, u, need, 0); return err }
	create := func(total resources.Vector) error { _, err := drf.NewFairQueue(total); return err }
	for name, tc := range map[string]struct {
		err  error
		is   error
		says string
	}{
		"total of nothing":             {create(resources.Vector{}), drf.ErrEmpty, "total"},
		"negative total":               {create(negative), resources.ErrQuantity, "-1"},
		"weight zero":                  {add(drf.User{}, 0), drf.ErrWeight, "0"},
		"weight NaN":                   {add(drf.User{}, math.NaN()), drf.ErrWeight, "NaN"},
		"removed parent":               {add(gone, 1), drf.ErrUser, ""},
		"child of a holder":            {add(u, 1), drf.ErrHeld, "kind0=1"},
		"removed tenant":               {q.Wait(gone, slots(1), 0), drf.ErrUser, ""},
		"zero handle":                  {q.Wait(drf.User{}, slots(1), 0), drf.ErrUser, ""},
		"group waits":                  {q.Wait(group, slots(1), 0), drf.ErrUser, "group"},
		"need of nothing":              {start(u, resources.Vector{}), drf.ErrEmpty, "need"},
		"wait for less":                {q.Wait(u, negative, 0), resources.ErrQuantity, "-1"},
		"negative need":                {start(u, negative), resources.ErrQuantity, "-1"},
		"start of a group":             {start(group, slots(1)), drf.ErrUser, "group"},
		"more than 2^62":               {start(u, slots(resources.MaxQuantity)), resources.ErrQuantity, "2^62"},
		"end of more than held":        {q.End(&more, 0), drf.ErrHeld, "kind0=2"},
		"end of a run without a start": {q.End(&drf.Run{Need: slots(1)}, 0), drf.ErrHeld, "does not run"},
		"end of nil":                   {q.End(nil, 0), resources.ErrNil, "run"},
		"end in another queue":         {other.End(run, 0), drf.ErrUser, "end user"},
		"start of a running task":      {q.Start(u, run, 0), drf.ErrHeld, "runs already"},
		"start of nil":                 {q.Start(u, nil, 0), resources.ErrNil, "run"},
		"resize to nothing":            {q.Resize(run, resources.Vector{}, 0), drf.ErrEmpty, "need"},
		"resize beyond 2^62":           {q.Resize(run, slots(-1), 0), resources.ErrQuantity, "-1"},
		"resize of nil":                {q.Resize(nil, slots(1), 0), resources.ErrNil, "run"},
		"remove a holder":              {q.Remove(u), drf.ErrHeld, "kind0=1"},
		"remove a parent":              {q.Remove(group), drf.ErrHeld, "children"},
		"negative length":              {q.Expect(u, -1), drf.ErrPatience, "-1"},
		"negative guarantee":           {q.SetGuarantee(u, negative), resources.ErrQuantity, "-1"},
		"negative limit":               {q.SetLimit(u, negative, true, 0), resources.ErrQuantity, "-1"},
		"set weight":                   {q.SetWeight(u, -2, 0), drf.ErrWeight, "-2"},
	} {
		require.ErrorIs(t, tc.err, tc.is, name)
		require.Contains(t, tc.err.Error(), tc.says, name)
		require.Equal(t, 1, strings.Count(tc.err.Error(), "drf: "), tc.err.Error())
	}
	require.NoError(t, q.End(run, 0))
	require.ErrorIs(t, q.End(run, 0), drf.ErrHeld, "a second time")
	require.NoError(t, q.Remove(u))
}

func TestFairQueue_TimeThatStepsBackCountsAsNone(t *testing.T) {
	sim := newFairSim(t, slots(1))
	a := sim.add("A", drf.User{}, 1, slots(1), time.Second)
	sim.wait(a)
	run, err := startRun(sim.q, a.user, a.need, 10*time.Second)
	require.NoError(t, err)
	for _, at := range []time.Duration{12 * time.Second, 5 * time.Second, 6 * time.Second} {
		_, err = sim.q.Received(a.user, at)
		require.NoError(t, err)
	}
	got, err := sim.q.Received(a.user, 6*time.Second)
	require.NoError(t, err)
	require.Equal(t, 3*time.Second, got)
	require.NoError(t, sim.q.End(run, 0))
}

func TestFairQueue_AllocatesNothingOnceItHasGrown(t *testing.T) {
	q, err := drf.NewFairQueue(slots(8))
	require.NoError(t, err)
	users := make([]drf.User, 100)
	now, run := time.Duration(0), drf.Run{Need: slots(1)}
	for i := range users {
		users[i], err = q.Add(drf.User{}, 1)
		require.NoError(t, err)
		require.NoError(t, q.Wait(users[i], slots(1), now))
	}
	require.Zero(t, testing.AllocsPerRun(100, func() {
		now += time.Millisecond
		u, _ := q.Pick(now, nil, func(drf.User) bool { return true })
		_ = q.Start(u, &run, now)
		_ = q.Park(u, now)
		_ = q.Wait(u, slots(1), now)
		_ = q.End(&run, now)
	}))
}

// A tenant that changes its class shares with those of its new class from then on,
// whatever it or they have received in another.
func TestFairQueue_AChangedClassSharesFromThenOn(t *testing.T) {
	for _, to := range []int32{0, 1} {
		t.Run(fmt.Sprint(to), func(t *testing.T) {
			b := newBelow(t)
			high, low := b.tenant(t, drf.User{}, 1), b.tenant(t, drf.User{}, 1)
			require.NoError(t, b.q.SetClass(high, 1))
			var run *drf.Run
			serve := func(from, until time.Duration) map[drf.User]int {
				ran := map[drf.User]int{}
				for now := from; now < until; now += time.Second {
					if run != nil {
						require.NoError(t, b.q.End(run, now))
					}
					for _, u := range []drf.User{high, low} {
						require.NoError(t, b.q.Wait(u, slots(1), now))
					}
					u, ok := b.q.Pick(now, nil, nil)
					require.True(t, ok)
					ran[u]++
					var err error
					run, err = startRun(b.q, u, slots(1), now)
					require.NoError(t, err)
				}
				return ran
			}
			require.Equal(t, map[drf.User]int{high: 3600}, serve(0, time.Hour))
			before, err := b.q.Received(high, time.Hour)
			require.NoError(t, err)
			require.NoError(t, b.q.SetClass([]drf.User{high, low}[to], to))
			after, err := b.q.Received(high, time.Hour)
			require.NoError(t, err)
			require.Equal(t, before, after)
			ran := serve(time.Hour, time.Hour+100*time.Second)
			require.InDelta(t, 50, ran[high], 2)
		})
	}
}
