package experiments

import (
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cellsched/cellsched/bench/internal/interval"
)

// result are rows of two loads with three seeds, in which all is as it should be. Seeds
// differ by much more than policies do.
func result() (rows []Row) {
	for _, load := range []string{"one", "two"} {
		for _, p := range policies() {
			r := Row{Load: load, Policy: p.name, Seeds: 3}
			set := func(name string, v float64) {
				r.Figures = append(r.Figures, Figure{Name: name, Each: []float64{v, 1.01 * v, 0.99 * v}})
			}
			flows := strings.HasPrefix(p.name, Quincy)
			pick := func(flow, queue float64) float64 {
				if flows {
					return flow
				}
				return queue
			}
			set(CoreGB, pick(10, 42))
			set(Makespan, pick(100, 150))
			set(Mean, pick(10, 12))
			set(Unfair, pick(0.2, 0.3))
			set(Speed, pick(0.5, 0.4))
			set(Jain, 0.8)
			set(Lost, pick(1, 2))
			if p.name == QuincyFairPreempts {
				r.Figures[4].Each = []float64{0.6, 0.61, 0.59}
				r.Figures[5].Each = []float64{1, 1, 1}
			}
			rows = append(rows, r)
		}
	}
	return rows
}

// changed are the rows of result with another figure of a policy, on one load or all.
func changed(policy, figure string, each ...float64) []Row {
	rows := result()
	for i := range rows {
		if r := &rows[i]; policy == "" || r.Policy == policy && r.Load == "two" {
			for k := range r.Figures {
				if f := &r.Figures[k]; f.Name == figure {
					f.Each = each
				}
			}
		}
	}
	return rows
}

func TestClaims_DifferWhereTheRowsDo(t *testing.T) {
	for i, c := range Claims(result()) {
		require.Equal(t, interval.Holds, c.Verdict, "%d: %s %s", i, c.Stated, c.Here)
	}
	for name, tt := range map[string]struct {
		policy, figure string
		value          float64
		differs        int
		here           string
	}{
		"more moved":           {QuincyFairPreempts, CoreGB, 60, 0, "Fair, with preemption: one 4.2 (4.2 to 4.2), two 0.7 ("},
		"no faster":            {"", Makespan, 100, 1, "times up to 1 (1 to 1; one, quincy)"},
		"less fair":            {QuincyFair, Unfair, 0.33, 2, ""},
		"another is best":      {QuincyPreempts, Speed, 0.7, 3, "two -0.1 ±"},
		"not its share":        {QuincyFairPreempts, Jain, 0.98, 4, "two 0.9800 and 0.800."},
		"delay moves less":     {Delay, CoreGB, 9, 5, "two 1 ± "},
		"delay is faster":      {Delay, Mean, 9, 6, "two 1 ± "},
		"more work lost":       {QuincyFairPreempts, Lost, 3, 7, "two 1 ± "},
		"preemptive less fair": {QuincyFairPreempts, Unfair, 0.33, 2, "two 0.03 ± "},
	} {
		t.Run(name, func(t *testing.T) {
			for i, c := range Claims(changed(tt.policy, tt.figure, tt.value, tt.value, tt.value)) {
				if i != tt.differs {
					require.Equal(t, interval.Holds, c.Verdict, c.Stated)
					continue
				}
				require.Equal(t, interval.Differs, c.Verdict, c.Here)
				require.Contains(t, c.Here, tt.here)
				if tt.policy != "" && i > 1 {
					require.Contains(t, c.Why, "not so: two")
				}
			}
		})
	}
	require.Nil(t, Claims(nil))
}

// On the log of Hadoop two statements with both in their intervals were taken for refuted.
func TestClaims_AreOpenWhereTheIntervalHasBoth(t *testing.T) {
	for name, tt := range map[string]struct {
		policy, figure string
		each           []float64
		open           int
	}{
		"moved":      {QuincyFairPreempts, CoreGB, []float64{30, 42, 60}, 0},
		"fairness":   {QuincyFairPreempts, Unfair, []float64{0.2, 0.4, 0.4}, 2},
		"best":       {QuincyFair, Speed, []float64{0.5, 0.7, 0.7}, 3},
		"shares":     {QuincyFairPreempts, Jain, []float64{0.98, 1, 0.98}, 4},
		"delay":      {Delay, CoreGB, []float64{8, 12, 9}, 5},
		"delay time": {Delay, Mean, []float64{8, 12, 9}, 6},
		"lost":       {QuincyFairPreempts, Lost, []float64{1, 3, 3}, 7},
	} {
		t.Run(name, func(t *testing.T) {
			c := Claims(changed(tt.policy, tt.figure, tt.each...))[tt.open]
			require.Equal(t, interval.Open, c.Verdict, c.Here)
			if tt.open > 0 {
				require.Contains(t, c.Why, "the interval has both: two")
			}
		})
	}
}

// Seeds differ by more than the policies: compared as they are, nothing is known.
func TestClaims_CompareSeedBySeed(t *testing.T) {
	rows := result()
	for i := range rows {
		for k := range rows[i].Figures {
			if f := &rows[i].Figures[k]; f.Name == Lost {
				v := f.Each[0]
				f.Each = []float64{v, v + 50, v + 100}
			}
		}
	}
	require.Equal(t, interval.Holds, Claims(rows)[7].Verdict)
}

// One seed decides nothing.
func TestClaims_AreOpenWithOneSeed(t *testing.T) {
	rows := result()
	for i := range rows {
		for k := range rows[i].Figures {
			rows[i].Figures[k].Each = rows[i].Figures[k].Each[:1]
		}
	}
	for _, c := range Claims(rows) {
		require.Equal(t, interval.Open, c.Verdict, c.Stated)
		require.NotContains(t, c.Here, "Inf")
	}
}

// A verdict that is the same for all results means nothing.
func TestClaims_MayAllDiffer(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	differs := make(map[string]bool)
	for range 20 {
		rows := result()
		for i := range rows {
			for k := range rows[i].Figures {
				v := random.Float64()
				rows[i].Figures[k].Each = []float64{v, v, v}
			}
		}
		for _, c := range Claims(rows) {
			differs[c.Stated] = differs[c.Stated] || c.Verdict == interval.Differs
		}
	}
	for stated, can := range differs {
		require.True(t, can, stated)
	}
}
