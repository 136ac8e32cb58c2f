package experiments

import (
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// result are rows of two loads, in which everything is as it should be.
func result() (rows []Row) {
	for _, load := range []string{"one", "two"} {
		for _, p := range policies() {
			r := Row{Load: load, Policy: p.name, Seeds: 1}
			set := func(name string, v float64) { r.Figures = append(r.Figures, Figure{Name: name, Mean: v}) }
			flows := strings.HasPrefix(p.name, Quincy)
			pick := func(flow, queue float64) float64 {
				if flows {
					return flow
				}
				return queue
			}
			set(CoreGB, pick(10, 40))
			set(Makespan, pick(100, 150))
			set(Mean, pick(10, 12))
			set(Unfair, pick(0.2, 0.3))
			set(Speed, pick(0.5, 0.4))
			set(Jain, 0.8)
			set(Lost, pick(1, 2))
			if p.name == QuincyFairPreempts {
				r.Figures[4].Mean, r.Figures[5].Mean = 0.6, 1
			}
			rows = append(rows, r)
		}
	}
	return rows
}

func TestClaims_DifferWhereTheRowsDo(t *testing.T) {
	for i, c := range Claims(result()) {
		require.True(t, c.Holds, "%d: %s %s", i, c.Stated, c.Here)
	}
	for name, tt := range map[string]struct {
		policy, figure string
		value          float64
		differs        int
		here           string
	}{
		"more moved":           {QuincyFairPreempts, CoreGB, 41, 0, "Fair, with preemption: one 4.0, two 1.0."},
		"no faster":            {"", Makespan, 100, 1, "up to 0 % faster (one, quincy)"},
		"less fair":            {QuincyFair, Unfair, 0.32, 2, "one 0.30 and 0.20"},
		"another is best":      {QuincyPreempts, Speed, 0.7, 3, "two 0.60, 0.70."},
		"not its share":        {QuincyFairPreempts, Jain, 0.98, 4, "two 0.980, 0.800."},
		"delay moves less":     {Delay, CoreGB, 9, 5, "two 10, 9."},
		"delay is faster":      {Delay, Mean, 9, 6, "two 10, 9."},
		"more work lost":       {QuincyFairPreempts, Lost, 3, 7, "one 1, 2, two 3, 2."},
		"preemptive less fair": {QuincyFairPreempts, Unfair, 0.32, 2, "two 0.30 and 0.32."},
	} {
		t.Run(name, func(t *testing.T) {
			rows := result()
			for i := range rows {
				if r := &rows[i]; tt.policy == "" || r.Policy == tt.policy && r.Load == "two" {
					for k := range r.Figures {
						if f := &r.Figures[k]; f.Name == tt.figure {
							f.Mean = tt.value
						}
					}
				}
			}
			for i, c := range Claims(rows) {
				require.Equal(t, i != tt.differs, c.Holds, c.Stated)
				if i == tt.differs {
					require.Contains(t, c.Here, tt.here)
				}
			}
		})
	}
	require.Nil(t, Claims(nil))
}

// A verdict that is the same whatever is measured says nothing.
func TestClaims_MayAllDiffer(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	differs := make(map[string]bool)
	for range 20 {
		rows := result()
		for i := range rows {
			for k := range rows[i].Figures {
				rows[i].Figures[k].Mean = random.Float64()
			}
		}
		for _, c := range Claims(rows) {
			differs[c.Stated] = differs[c.Stated] || !c.Holds
		}
	}
	for stated, can := range differs {
		require.True(t, can, stated)
	}
}
