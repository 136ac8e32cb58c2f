package drf_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/cellsched/cellsched/drf"
	"github.com/cellsched/cellsched/resources"
)

// rival is a tenant of a simulated cell, and the share of its scarcest kind that it is
// due.
type rival struct {
	weight float64
	need   resources.Vector
	length time.Duration
	due    float64 // dominant share
}

// fill finds the weighted max-min dominant shares by progressive filling. All shares
// grow by weight until a kind is used up, and the tenants that need it stop there.
func fill(total resources.Vector, rivals []*rival) {
	left := [resources.MaxKinds]float64{}
	for k, n := range total {
		left[k] = float64(n)
	}
	per := func(r *rival, k int) float64 { // amount of a kind for each unit of dominant share
		most := 0.0
		for k, n := range r.need {
			if n > 0 {
				most = max(most, float64(n)/float64(total[k]))
			}
		}
		return float64(r.need[k]) / most
	}
	growing := append([]*rival(nil), rivals...)
	for len(growing) > 0 {
		step := math.Inf(1)
		for k := range left {
			rate := 0.0
			for _, r := range growing {
				rate += r.weight * per(r, k)
			}
			if rate > 0 {
				step = min(step, left[k]/rate)
			}
		}
		for _, r := range growing {
			r.due += step * r.weight
			for k := range left {
				left[k] -= step * r.weight * per(r, k)
			}
		}
		var on []*rival
		for _, r := range growing {
			stopped := false
			for k, n := range r.need {
				stopped = stopped || n > 0 && left[k] < 1e-9
			}
			if !stopped {
				on = append(on, r)
			}
		}
		growing = on
	}
}

// compete runs tenants that always wait and returns the dominant share of each one.
func compete(t *testing.T, total resources.Vector, rivals []*rival, group func(*fairSim, int) drf.User) []float64 {
	t.Helper()
	sim := newFairSim(t, total)
	sim.learned = true
	longest := time.Duration(0)
	for i, r := range rivals {
		longest = max(longest, r.length)
		sim.wait(sim.add(fmt.Sprint(i), group(sim, i), r.weight, r.need, r.length))
	}
	sim.until(60 * longest)
	before := make([]time.Duration, len(rivals))
	for i, n := range sim.tenants {
		before[i] = n.served
	}
	const rounds = 300
	sim.until(sim.now + rounds*longest)
	got := make([]float64, len(rivals))
	for i, n := range sim.tenants {
		most := 0.0
		for k, need := range n.need {
			if need > 0 {
				most = max(most, float64(need)/float64(total[k]))
			}
		}
		got[i] = (n.served - before[i]).Seconds() / (rounds * longest.Seconds()) * most
	}
	return got
}

func ungrouped(*fairSim, int) drf.User { return drf.User{} }

// Tenants that lack the same kind share it by weight while another tenant is served
// before all of them on what they leave of the other kinds.
func TestFairQueue_TenantsAtABottleneckShareItByWeightBesideLeftovers(t *testing.T) {
	both, cpu := resources.Vector{1, 1}, resources.Vector{1}
	for _, weights := range [][]float64{{2, 1}, {1, 1}, {10, 1}, {4, 3, 2, 1}} {
		for _, gpus := range []int64{1, 2, 5} {
			for _, lengths := range [][]time.Duration{{10, 10}, {30, 10}, {10, 30}, {30, 1}, {1, 30}} {
				t.Run(fmt.Sprint(weights, gpus, lengths), func(t *testing.T) {
					var rivals []*rival
					for i, w := range weights {
						length := lengths[0] * time.Millisecond
						if i == 1 { // and unlike lengths at the bottleneck
							length = length * 3 / 2
						}
						rivals = append(rivals, &rival{weight: w, need: both, length: length})
					}
					rivals = append(rivals, &rival{weight: 1, need: cpu, length: lengths[1] * time.Millisecond})
					got := compete(t, resources.Vector{gpus + 2, gpus}, rivals, ungrouped)
					sum, all := 0.0, 0.0
					for i, w := range weights {
						sum, all = sum+w, all+got[i]
					}
					for i, w := range weights {
						require.InEpsilon(t, w/sum, got[i]/all, 0.12, "tenant %d of %v", i, got)
					}
				})
			}
		}
	}
}

// Tenants in random clusters, each with a bottleneck of its own, receive what
// progressive filling says.
func TestFairQueue_ClustersOfBottlenecksReceiveTheMaxMinShare(t *testing.T) {
	for seed := range uint64(40) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			rng := rand.New(rand.NewPCG(seed, 3))
			clusters := 2 + rng.IntN(3)
			total := resources.Vector{int64(1 + rng.IntN(4))}
			var rivals []*rival
			for c := range clusters {
				need := resources.Vector{1}
				if c > 0 {
					need[c], total[c] = 1, int64(1+rng.IntN(4))
					total[0] += total[c]
				}
				for range 1 + rng.IntN(3) {
					rivals = append(rivals, &rival{
						weight: []float64{1, 1, 2, 3, 5}[rng.IntN(5)], need: need,
						length: []time.Duration{20, 20, 10, 50}[rng.IntN(4)] * time.Millisecond,
					})
				}
			}
			fill(total, rivals)
			grouped := rng.IntN(2) == 1
			group := ungrouped
			if grouped { // all of them below a group, beside one without tasks
				var g drf.User
				group = func(s *fairSim, i int) drf.User {
					if i == 0 {
						var err error
						g, err = s.q.Add(drf.User{}, 7)
						require.NoError(t, err)
					}
					return g
				}
			}
			got := compete(t, total, rivals, group)
			for i, r := range rivals {
				require.InEpsilon(t, r.due, got[i], 0.15, "tenant %d: weight %v needs %v of %v", i, r.weight, r.need[:4], total[:4])
			}
		})
	}
}

// Three clusters: two tenants on leftover CPU, two that lack the GPU, and two with needs
// of half the CPU, which have room only where as many tasks end at once. The heavier
// tenant of each cluster receives twice as much as the other one.
func TestFairQueue_WeightsHoldInEachOfThreeClusters(t *testing.T) {
	cpu, both, large := resources.Vector{1}, resources.Vector{1, 1}, resources.Vector{4}
	var rivals []*rival
	for _, need := range []resources.Vector{cpu, both, large} {
		length := 20 * time.Millisecond
		if need == cpu {
			length = 50 * time.Millisecond // all end at once every 100 ms
		}
		for _, w := range []float64{2, 1} {
			rivals = append(rivals, &rival{weight: w, need: need, length: length})
		}
	}
	got := compete(t, resources.Vector{8, 2}, rivals, ungrouped)
	for i := 0; i < len(got); i += 2 {
		require.NotZero(t, got[i+1], "%v", got)
		require.InEpsilon(t, 2, got[i]/got[i+1], 0.1, "cluster %d of %v", i/2, got)
	}
}

// Tenants that had little or no room of one kind for an hour, and then need another,
// are ahead of the others by a bound alone. The others are no further ahead either.
func TestFairQueue_AnHourWithoutRoomEarnsNoBurst(t *testing.T) {
	for _, gpus := range []int64{0, 1} { // 0: no service at all, 1: a little
		for _, weight := range []float64{1, 4} {
			t.Run(fmt.Sprint(gpus, weight), func(t *testing.T) {
				sim := newFairSim(t, resources.Vector{8, 2})
				var all []*simTenant
				for i, need := range []resources.Vector{{1, 1}, {1, 1}, {1}, {1}} {
					w := 1.0
					if i%2 == 0 {
						w = weight
					}
					n := sim.add(fmt.Sprint(i), drf.User{}, w, need, time.Second)
					sim.wait(n)
					all = append(all, n)
				}
				sim.free[1] = gpus
				sim.until(time.Hour)
				before := make([]time.Duration, len(all))
				for i, n := range all {
					before[i] = n.served
					n.need = slots(1)
					sim.wait(n)
				}
				share := func(i int) float64 { return (all[i].served - before[i]).Seconds() / 8 }
				for range 200 {
					sim.until(sim.now + time.Second)
					for i := range all {
						for j := range all {
							wi, wj := 1+float64((i+1)%2)*(weight-1), 1+float64((j+1)%2)*(weight-1)
							// Each of the four clusters' tenants has at most the whole
							// cell in progress for a second.
							require.LessOrEqual(t, share(i)/wi-share(j)/wj, 9.0, "%d before %d at %v", i, j, sim.now)
						}
					}
				}
				for i := range all { // far more than the bound after 200 s
					w := 1 + float64((i+1)%2)*(weight-1)
					require.InDelta(t, 200*w/(2+2*weight), share(i), 10*w, "tenant %d", i)
				}
			})
		}
	}
}

// A tenant that leaves a bottleneck is served although the tenant that stays there keeps
// falling behind, and takes the other along.
func TestFairQueue_ATenantThatLeavesABottleneckIsServed(t *testing.T) {
	cpu, both := resources.Vector{1}, resources.Vector{1, 1}
	sim := newFairSim(t, resources.Vector{8, 2})
	stays := sim.add("stays", drf.User{}, 1, both, 10*time.Millisecond)
	leaves := sim.add("leaves", drf.User{}, 1, both, 10*time.Millisecond)
	other := sim.add("other", drf.User{}, 0.25, cpu, 10*time.Millisecond)
	for _, n := range sim.tenants {
		sim.wait(n)
	}
	sim.until(10 * time.Second)
	sim.free[1]-- // one GPU fails
	leaves.length = 2 * time.Second
	sim.until(sim.now + 100*time.Millisecond) // it has a long task now
	leaves.length = 10 * time.Millisecond
	sim.until(sim.now + 5*time.Second)
	leaves.need = cpu
	sim.wait(leaves)
	before, was := leaves.served, other.served
	sim.until(sim.now + 20*time.Second)
	require.Greater(t, leaves.served-before, 2*(other.served-was), "it has four times the weight")
	require.NotZero(t, stays.served)
}
