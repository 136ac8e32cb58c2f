package allot_test

import (
	"math"
	"math/big"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/cellsched/cellsched/drf"
	"github.com/cellsched/cellsched/drf/allot"
	"github.com/cellsched/cellsched/resources"
)

func TestEnvies_AgreesWithTheDefinition(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		users := rapid.SliceOfN(holdings(), 1, 5).Draw(t, "users")
		got, err := allot.Envies(users)
		require.NoError(t, err)
		var want []allot.Envy
		for i := range users {
			for j := range users {
				if own, other := wouldRun(users[i], users[i]), wouldRun(users[i], users[j]); other > own {
					want = append(want, allot.Envy{User: i, Of: j, Own: own, Other: other})
				}
			}
		}
		require.Equal(t, want, got)
	})
}

// wouldRun is the number of tasks that u could run with other's holdings, by
// definition.
func wouldRun(u, other allot.Holding) int64 {
	if u.Demand == (resources.Vector{}) {
		return 0
	}
	most := big.NewInt(math.MaxInt64)
	for k, d := range u.Demand {
		if d == 0 {
			continue
		}
		n := new(big.Rat).Quo(rat(other.Usage[k]), rat(d))
		n.Mul(n, weightFor(u, k))
		n.Quo(n, weightFor(other, k))
		if whole := new(big.Int).Quo(n.Num(), n.Denom()); whole.Cmp(most) < 0 {
			most = whole
		}
	}
	return most.Int64()
}

func TestEnvies_CountsWholeTasks(t *testing.T) {
	one := resources.Vector{1, 1}
	tests := map[string]struct {
		users  []allot.Holding
		envies []allot.Envy
	}{
		// NSDI 2011, section 4.1: the end of the filling.
		"the paper's example": {
			[]allot.Holding{
				{Usage: resources.Vector{3, 12}, Demand: resources.Vector{1, 4}},
				{Usage: resources.Vector{6, 2}, Demand: resources.Vector{3, 1}},
			}, nil,
		},
		// Section 6: no envy although the second holds less than half of both.
		"asset fairness": {
			[]allot.Holding{
				{Usage: resources.Vector{6, 18}, Demand: resources.Vector{1, 3}},
				{Usage: resources.Vector{12, 12}, Demand: one},
			}, nil,
		},
		"one took more": {
			[]allot.Holding{{Usage: resources.Vector{5, 5}, Demand: one}, {Usage: resources.Vector{3, 7}, Demand: one}, {Usage: resources.Vector{4, 4}}},
			[]allot.Envy{{User: 1, Of: 0, Own: 3, Other: 5}, {User: 1, Of: 2, Own: 3, Other: 4}},
		},
		"a weight of 2": {
			[]allot.Holding{{Usage: resources.Vector{4, 4}, Demand: one}, {Usage: resources.Vector{8, 8}, Demand: one, Weight: 2}}, nil,
		},
		"a weight of 1/2": {
			[]allot.Holding{{Usage: resources.Vector{4, 4}, Demand: one, Weight: 2}, {Usage: resources.Vector{4, 4}, Demand: one}},
			[]allot.Envy{{User: 0, Of: 1, Own: 4, Other: 8}},
		},
		"part of a task is none": {
			[]allot.Holding{{Usage: resources.Vector{4}, Demand: resources.Vector{3}}, {Usage: resources.Vector{5}, Demand: resources.Vector{3}}}, nil,
		},
		"without a demand": {
			[]allot.Holding{{}, {Usage: resources.Vector{5}, Demand: one}}, nil,
		},
		"the largest weight beside the smallest": {
			[]allot.Holding{{Demand: resources.Vector{1}, Weight: drf.MaxWeight}, {Usage: resources.Vector{1 << 40}, Weight: drf.MinWeight}},
			[]allot.Envy{{User: 0, Of: 1, Other: math.MaxInt64}},
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			envies, err := allot.Envies(tt.users)
			require.NoError(t, err)
			require.Equal(t, tt.envies, envies)
		})
	}
}

// After a filling no user would swap for another's holdings less one task.
func TestEnvies_OfAFillingEndWithOneTask(t *testing.T) {
	found := 0
	for range 10 { // few draws may have none
		rapid.Check(t, func(t *rapid.T) {
			free := resources.Vector{200, 200}
			h, err := drf.New[int](free)
			require.NoError(t, err)
			var all []allot.Holding
			for i := range rapid.IntRange(2, 4).Draw(t, "users") {
				weight := rapid.SampledFrom([]float64{1, 2, 0.7}).Draw(t, "weight")
				u, err := h.Add(i, weight)
				require.NoError(t, err)
				need := resources.Vector{rapid.Int64Range(1, 9).Draw(t, "CPU"), rapid.Int64Range(1, 9).Draw(t, "memory")}
				require.NoError(t, h.Demand(u, need))
				all = append(all, allot.Holding{Demand: need, Weight: weight})
			}
			for { // the paper's rule: until the task of the poorest does not fit
				u, _ := h.Pick(plenty)
				one := &all[u.Index()]
				rest, ok := free.Sub(one.Demand)
				if !ok {
					break
				}
				require.NoError(t, h.Charge(u, one.Demand))
				one.Usage = one.Usage.Add(one.Demand)
				free = rest
			}
			envies, err := allot.Envies(all)
			require.NoError(t, err)
			for _, e := range envies {
				found++
				less, other := []allot.Holding{all[e.User], all[e.Of]}, &all[e.Of]
				less[1].Usage, _ = other.Usage.Sub(other.Demand)
				less[1].Demand = resources.Vector{}
				none, err := allot.Envies(less)
				require.NoError(t, err)
				require.Empty(t, none)
			}
		})
		if found > 0 {
			break
		}
	}
	require.NotZero(t, found, "no user ever envied: nothing was tested")
}
