package drf_test

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/cellsched/cellsched/drf"
	"github.com/cellsched/cellsched/resources"
)

// fairSim runs tenants that always have tasks on one machine, in virtual time.
type fairSim struct {
	t       *testing.T
	q       *drf.FairQueue
	free    resources.Vector
	now     time.Duration
	tenants []*simTenant
	byUser  map[drf.User]*simTenant
	running []simTask
	log     []string // starts, "time:names"
	learned bool     // lengths are learned, not told
}

type simTenant struct {
	name   string
	user   drf.User
	need   resources.Vector
	length time.Duration
	most   int // tasks at a time; 0 for any number
	held   int
	served time.Duration // slot time of ended tasks, and of running ones up to the end
}

type simTask struct {
	tenant *simTenant
	need   resources.Vector
	run    *drf.Run
	began  time.Duration
	ends   time.Duration
}

func newFairSim(t *testing.T, total resources.Vector) *fairSim {
	t.Helper()
	q, err := drf.NewFairQueue(total)
	require.NoError(t, err)
	return &fairSim{t: t, q: q, free: total, byUser: map[drf.User]*simTenant{}}
}

func (s *fairSim) add(name string, parent drf.User, weight float64, need resources.Vector, length time.Duration) *simTenant {
	u, err := s.q.Add(parent, weight)
	require.NoError(s.t, err)
	if !s.learned {
		require.NoError(s.t, s.q.Expect(u, length))
	}
	n := &simTenant{name: name, user: u, need: need, length: length}
	s.tenants = append(s.tenants, n)
	s.byUser[u] = n
	return n
}

func (s *fairSim) wait(n *simTenant) { require.NoError(s.t, s.q.Wait(n.user, n.need, s.now)) }

// start starts tasks in all free room.
func (s *fairSim) start() {
	var names strings.Builder
	for {
		u, ok := s.q.Pick(s.now, nil, func(u drf.User) bool { return s.of(u).need.Fits(s.free) })
		if !ok {
			break
		}
		n := s.of(u)
		run, err := startRun(s.q, u, n.need, s.now)
		require.NoError(s.t, err)
		s.free, _ = s.free.Sub(n.need)
		s.running = append(s.running, simTask{n, n.need, run, s.now, s.now + n.length})
		names.WriteString(n.name)
		if n.held++; n.held == n.most {
			require.NoError(s.t, s.q.Park(u, s.now))
		}
	}
	if names.String() != "" {
		s.log = append(s.log, fmt.Sprintf("%d:%s", s.now/time.Second, names.String()))
	}
}

func (s *fairSim) of(u drf.User) *simTenant { return s.byUser[u] }

// end ends the tasks that are over.
func (s *fairSim) end() {
	s.running = slices.DeleteFunc(s.running, func(r simTask) bool {
		if r.ends > s.now {
			return false
		}
		n := r.tenant
		require.NoError(s.t, s.q.End(r.run, s.now))
		s.free = s.free.Add(r.need)
		n.served += s.now - r.began
		if n.held--; n.held == n.most-1 && n.most > 0 {
			s.wait(n)
		}
		return true
	})
}

// until runs to a time, that included.
func (s *fairSim) until(end time.Duration) {
	s.start()
	for len(s.running) > 0 {
		next := slices.MinFunc(s.running, func(a, b simTask) int { return cmp.Compare(a.ends, b.ends) }).ends
		if next > end {
			break
		}
		s.now = next
		s.end()
		s.start()
	}
	s.now = end
}

// advantage returns the slot time of tenant i as a multiple of the mean of the
// others.
func (s *fairSim) advantage(i int) float64 {
	var rest time.Duration
	for j, n := range s.tenants {
		if j != i {
			rest += n.served
		}
	}
	return float64(s.tenants[i].served) * float64(len(s.tenants)-1) / float64(rest)
}

// startRun starts a task of its own.
func startRun(q *drf.FairQueue, u drf.User, need resources.Vector, now time.Duration) (*drf.Run, error) {
	run := &drf.Run{Need: need}
	return run, q.Start(u, run, now)
}

func slots(n int64) resources.Vector { return resources.Vector{n} }

// Figures 1 to 9 are order vectors worked out by hand for the rule.
func TestFairQueue_StartsInTheOrderOfReceivedService(t *testing.T) {
	const s = time.Second
	type tenant struct {
		name   string
		weight float64
		length time.Duration
		after  time.Duration
		most   int
		min    int64
	}
	tests := map[string]struct {
		slots   int64
		tenants []tenant
		end     time.Duration
		want    string
	}{
		"1: weights": {1, []tenant{{"A", 1, s, 0, 0, 0}, {"B", 2, s, 0, 0, 0}}, 8 * s, "0:A 1:B 2:B 3:A 4:B 5:B 6:A 7:B 8:B"},
		"2: lengths": {1, []tenant{{"A", 1, 3 * s, 0, 0, 0}, {"B", 1, s, 0, 0, 0}}, 14 * s, "0:A 3:B 4:B 5:B 6:A 9:B 10:B 11:B 12:A"},
		"3: slots and weights": {
			3, []tenant{{"A", 3, s, 0, 0, 0}, {"B", 1, s, 0, 0, 0}}, 3 * s, "0:ABA 1:ABA 2:AAB 3:AAA",
		},
		"4: long beside short": {
			2, []tenant{{"A", 1, 4 * s, 0, 0, 0}, {"B", 1, s, 0, 0, 0}}, 5 * s, "0:AB 1:B 2:B 3:B 4:AB 5:B",
		},
		"5: a late comer": {
			1,
			[]tenant{{"A", 1, s, 0, 0, 0}, {"B", 1, s, 3500 * time.Millisecond, 0, 0}},
			8 * s,
			"0:A 1:A 2:A 3:A 4:B 5:A 6:B 7:A 8:B",
		},
		"6: a late comer beside long tasks": {
			2,
			[]tenant{{"A", 1, 10 * s, 0, 0, 0}, {"B", 1, s, 4 * s, 0, 0}},
			17 * s,
			"0:AA 10:BB 11:BB 12:BB 13:BB 14:BB 15:BB 16:AB 17:B",
		},
		"9: a guarantee": {
			2,
			[]tenant{{"A", 1, s, 0, 0, 1}, {"B", 3, s, 0, 0, 0}, {"C", 1, s, 0, 0, 0}},
			5 * s,
			"0:AB 1:AC 2:AB 3:AB 4:AC 5:AB",
		},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			sim := newFairSim(t, slots(tc.slots))
			var late []tenant
			for _, n := range tc.tenants {
				got := sim.add(n.name, drf.User{}, n.weight, slots(1), n.length)
				got.most = n.most
				if n.min > 0 {
					require.NoError(t, sim.q.SetGuarantee(got.user, slots(n.min)))
				}
				if n.after > 0 {
					late = append(late, n)
					continue
				}
				sim.wait(got)
			}
			for _, n := range late {
				sim.until(n.after)
				sim.wait(sim.tenants[slices.IndexFunc(sim.tenants, func(m *simTenant) bool { return m.name == n.name })])
			}
			sim.until(tc.end)
			require.Equal(t, tc.want, strings.Join(sim.log, " "))
		})
	}
}

func TestFairQueue_GroupsShareBeforeTheirMembers(t *testing.T) {
	sim := newFairSim(t, slots(1))
	first, err := sim.q.Add(drf.User{}, 1)
	require.NoError(t, err)
	second, err := sim.q.Add(drf.User{}, 1)
	require.NoError(t, err)
	for _, n := range []*simTenant{
		sim.add("A", first, 1, slots(1), time.Second),
		sim.add("B", second, 1, slots(1), time.Second),
		sim.add("C", second, 1, slots(1), time.Second),
	} {
		sim.wait(n)
	}
	sim.until(7 * time.Second)
	require.Equal(t, "0:A 1:B 2:A 3:C 4:A 5:B 6:A 7:C", strings.Join(sim.log, " "))
}

func TestFairQueue_KindsThatOthersDoNotNeedAreNotHeldBack(t *testing.T) {
	cpu, memory := resources.Vector{1}, resources.Vector{0, 1}
	sim := newFairSim(t, resources.Vector{1, 1})
	a := sim.add("A", drf.User{}, 1, cpu, time.Second)
	b := sim.add("B", drf.User{}, 1, cpu, time.Second)
	c := sim.add("C", drf.User{}, 1, memory, time.Second)
	for _, n := range []*simTenant{a, b, c} {
		sim.wait(n)
	}
	want := []string{"AC", "BA", "CB", "AC", "BA", "AC", "BA"}
	for at, names := range want {
		sim.now = time.Duration(at) * time.Second
		sim.end()
		for { // A's tasks alternate between the kinds
			u, ok := sim.q.Pick(sim.now, nil, func(u drf.User) bool { return sim.of(u).need.Fits(sim.free) })
			if !ok {
				break
			}
			n := sim.of(u)
			run, err := startRun(sim.q, u, n.need, sim.now)
			require.NoError(t, err)
			task := simTask{n, n.need, run, sim.now, sim.now + time.Second}
			sim.free, _ = sim.free.Sub(n.need)
			sim.running = append(sim.running, task)
			sim.log = append(sim.log, n.name)
			if n == a {
				n.need = resources.Vector{n.need[1], n.need[0]}
				sim.wait(n)
			}
		}
		require.Equal(t, names, strings.Join(sim.log, ""), "at %d s", at)
		sim.log = nil
	}
}

// On 8 slots with 20 tenants that always wait, slot time follows the weights,
// whether or not lengths are known in advance.
func TestFairQueue_SlotTimeFollowsWeightsWhereTenantsOutnumberSlots(t *testing.T) {
	for _, shape := range []struct{ slots, tenants int }{{1, 2}, {2, 2}, {8, 8}, {8, 20}, {8, 4}, {64, 300}} {
		for _, learned := range []bool{false, true} {
			t.Run(fmt.Sprintf("slots=%d/tenants=%d/learned=%v", shape.slots, shape.tenants, learned), func(t *testing.T) {
				sim := newFairSim(t, slots(int64(shape.slots)))
				sim.learned = learned
				for i := range shape.tenants {
					weight := 1.0
					if i == 0 {
						weight = 10
					}
					sim.wait(sim.add(fmt.Sprint(i), drf.User{}, weight, slots(1), time.Second))
				}
				sim.until(time.Duration(60*(shape.tenants+9)/shape.slots) * time.Second)
				require.InDelta(t, 10, sim.advantage(0), 1)
			})
		}
	}
}

func TestFairQueue_LongTasksEarnNoMoreSlotTime(t *testing.T) {
	for _, shape := range []struct{ slots, tenants int }{{8, 20}, {8, 100}, {8, 8}, {2, 2}} {
		t.Run(fmt.Sprintf("slots=%d/tenants=%d", shape.slots, shape.tenants), func(t *testing.T) {
			sim := newFairSim(t, slots(int64(shape.slots)))
			sim.learned = true
			for i := range shape.tenants {
				length := time.Second
				if i == 0 {
					length = 10 * time.Second
				}
				sim.wait(sim.add(fmt.Sprint(i), drf.User{}, 1, slots(1), length))
			}
			sim.until(time.Duration(1000*shape.tenants/shape.slots) * time.Second)
			require.InDelta(t, 1, sim.advantage(0), 0.15)
		})
	}
}

// Among equal keys the tenant that was served longest ago is next. This also holds
// while the lengths of tasks are unknown and a start adds nothing to its key.
func TestFairQueue_TenantsOfEqualKeysTakeTurns(t *testing.T) {
	sim := newFairSim(t, slots(9))
	sim.learned = true
	for _, name := range []string{"A", "B", "C", "D", "E"} {
		sim.wait(sim.add(name, drf.User{}, 1, slots(1), time.Second))
	}
	sim.start()
	require.Equal(t, []string{"0:ABCDEABCD"}, sim.log)
}

// A tenant with a need within the limit of its group brings the group back. The
// need of another tenant had kept the group out of the order.
func TestFairQueue_ASmallNeedBringsItsGroupBack(t *testing.T) {
	q, err := drf.NewFairQueue(slots(8))
	require.NoError(t, err)
	group, err := q.Add(drf.User{}, 1)
	require.NoError(t, err)
	large, err := q.Add(group, 1)
	require.NoError(t, err)
	small, err := q.Add(group, 1)
	require.NoError(t, err)
	require.NoError(t, q.SetLimit(group, slots(2), true, 0))
	_, err = startRun(q, small, slots(1), 0)
	require.NoError(t, err)
	require.NoError(t, q.Wait(large, slots(2), 0))
	_, ok := q.Pick(0, nil, nil)
	require.False(t, ok)
	require.NoError(t, q.Wait(small, slots(1), 0))
	u, ok := q.Pick(0, nil, nil)
	require.True(t, ok)
	require.Equal(t, small, u)
}

// A tenant with a task that grows to its limit does not wait again until the task
// has shrunk.
func TestFairQueue_ATaskThatGrowsCountsForTheLimit(t *testing.T) {
	q, err := drf.NewFairQueue(slots(10))
	require.NoError(t, err)
	group, err := q.Add(drf.User{}, 1)
	require.NoError(t, err)
	for _, limited := range []drf.User{group, {}} {
		u, err := q.Add(limited, 1)
		require.NoError(t, err)
		if limited == (drf.User{}) {
			limited = u
		}
		require.NoError(t, q.SetLimit(limited, slots(3), true, 0))
		require.NoError(t, q.Wait(u, slots(1), 0))
		run, err := startRun(q, u, slots(1), 0)
		require.NoError(t, err)
		for i, need := range []int64{3, 1, 2, 3, 1} {
			require.NoError(t, q.Resize(run, slots(need), time.Duration(i)*time.Second))
			got, ok := q.Pick(time.Duration(i)*time.Second, nil, func(drf.User) bool { return true })
			require.Equal(t, need < 3, ok, "it runs %d of 3", need)
			if ok {
				require.Equal(t, u, got)
			}
		}
		require.NoError(t, q.End(run, time.Minute))
		require.NoError(t, q.Park(u, time.Minute))
	}
}

// Contention without end: weights hold after years, and a heavy tenant that comes
// late, or is heavy for a while, starves no other one.
func TestFairQueue_HoldsForYearsOfContention(t *testing.T) {
	const day = 24 * time.Hour
	sim := newFairSim(t, slots(1))
	heavy := sim.add("H", drf.User{}, 3, slots(1), time.Hour)
	light := sim.add("L", drf.User{}, 1, slots(1), time.Hour)
	sim.wait(heavy)
	sim.wait(light)
	sim.until(3 * 365 * day)
	before, was := heavy.served, light.served
	received, err := sim.q.Received(light.user, sim.now)
	require.NoError(t, err)
	require.InDelta(t, float64(was), float64(received), float64(2*time.Hour))
	sim.until(sim.now + 20*day)
	require.InDelta(t, float64(15*day), float64(heavy.served-before), float64(3*time.Hour))
	require.InDelta(t, float64(5*day), float64(light.served-was), float64(3*time.Hour))
	for _, weight := range []float64{10, 100, 1000} {
		late := sim.add(fmt.Sprint(weight), drf.User{}, weight, slots(1), time.Minute)
		sim.wait(late)
		was := light.served
		sim.until(sim.now + 60*day)
		require.Greater(t, light.served, was+time.Duration(float64(40*day)/(4+weight)), "beside a weight of %v", weight)
		require.NoError(t, sim.q.Park(late.user, sim.now))
		sim.until(sim.now + day)
	}
}
