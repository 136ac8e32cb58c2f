package main

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cellsched/cellsched/resources"
)

// The figures of NSDI 2011, sections 4.1, 5 and 6.
func TestPolicies_GiveThePapersTasks(t *testing.T) {
	tests := map[string]struct {
		total   resources.Vector
		demands []resources.Vector
		tasks   [][]float64 // by DRF, Asset Fairness, CEEI
	}{
		"section 4.1":                 {nsdi(), nsdiDemands(), [][]float64{{3, 2}, {63.0 / 25, 54.0 / 25}, {45.0 / 11, 18.0 / 11}}},
		"section 6":                   {half(), halfDemands(), [][]float64{{5, 15}, {6, 12}, {5, 15}}},
		"section 4.1, B not truthful": {nsdi(), []resources.Vector{{1, 4}, {3, 2}}, [][]float64{{3, 2}, {36.0 / 13, 27.0 / 13}, {3.6, 1.8}}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			for i, p := range policies() {
				tasks, err := p.divide(test.total, test.demands)
				require.NoError(t, err)
				require.InDeltaSlice(t, test.tasks[i], tasks, 1e-9, p.name)
			}
		})
	}
}

// The paper's table of properties for these four.
func TestTrials_ShowTheLossesByUser(t *testing.T) {
	lost := map[string][]string{}
	for _, x := range trials() {
		lost[x.property] = nil
		for _, p := range policies() {
			got, limit, err := x.of(p)
			require.NoError(t, err)
			if x.lost(got, limit) {
				lost[x.property] = append(lost[x.property], p.name)
			}
		}
	}
	require.Equal(t, map[string][]string{
		"sharing incentive":     {"Asset"},
		"strategy-proofness":    {"CEEI"},
		"bottleneck fairness":   {"Asset"},
		"resource monotonicity": {"DRF", "Asset", "CEEI"},
	}, lost)
}

// No other point of the frontier has a larger product.
func TestCEEI_HasTheLargestProduct(t *testing.T) {
	total := resources.Vector{97, 1_000, 31}
	demands := []resources.Vector{{3, 11, 1}, {1, 40, 2}}
	best, err := ceei(total, demands)
	require.NoError(t, err)
	for i := range 10_000 {
		x := float64(i) / 10_000 * 31
		y := 1e9
		for k, q := range total[:3] {
			y = min(y, (float64(q)-x*float64(demands[0][k]))/float64(demands[1][k]))
		}
		require.LessOrEqual(t, x*max(y, 0), best[0]*best[1]*(1+1e-12))
	}
}

func TestRun_PrintsTheTables(t *testing.T) {
	var out strings.Builder
	require.NoError(t, run(&out))
	for _, row := range []string{
		"DRF    3.000  2.000  3.000  6.000  12.000  2.000       0.667  0.667     1.000  0.778",
		"Asset    2.520  2.160",
		"CEEI    4.091  1.636",
		"Asset    6.000  12.000",
		"Asset  12.000  15.000  LOST",
		"CEEI  1.800   1.636  LOST",
	} {
		require.Contains(t, out.String(), row)
	}
}

func TestPolicies_RefuseInvalidDemands(t *testing.T) {
	total := resources.Vector{9, 18}
	for name, demands := range map[string][]resources.Vector{
		"a kind left out":       {{1, 4}, {3, 0}},
		"a kind that is not":    {{1, 4}, {3, 1, 1}},
		"less than nothing":     {{1, 4}, {3, -1}},
		"nothing of everything": {{}, {3, 1}},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := asset(total, demands)
			require.ErrorIs(t, err, errDemand)
			_, err = ceei(total, demands)
			require.ErrorIs(t, err, errDemand)
		})
	}
	_, err := ceei(total, []resources.Vector{{1, 4}, {3, 1}, {1, 1}})
	require.ErrorIs(t, err, errUsers)
}
