package experiments

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/cellsched/cellsched/resources"
)

// setMachine returns a machine with room for n workers.
func setMachine(n int64) resources.Vector { return need().Scale(n) }

// The statements of section 6 of the paper about its clusters:
//
//   - half or more of the jobs gain;
//   - four times as many workers get most of the gain of any larger number;
//   - the cap is of little use but in a cell that is empty enough;
//   - utilisation varies more.
func TestCompare_HasThePapersResults(t *testing.T) {
	const span = 90 * time.Minute
	quiet, err := Compare(t.Context(), Quiet(1, span))
	require.NoError(t, err)
	busy, err := Compare(t.Context(), Busy(1, span))
	require.NoError(t, err)
	const relative, capped, most = 1, 2, 3
	for _, rows := range [][]Row{quiet, busy} {
		require.Zero(t, rows[0].Gained())
		require.Zero(t, rows[0].Preempted)
		require.GreaterOrEqual(t, rows[most].Gained(), 0.5)
		require.GreaterOrEqual(t, rows[most].Speedup(80), rows[relative].Speedup(80))
		require.GreaterOrEqual(t, rows[relative].Gained(), rows[most].Gained()-0.05)
		require.GreaterOrEqual(t, rows[relative].Speedup(80), 2.5)
		require.Greater(t, rows[most].Utilisation().Deviation, rows[0].Utilisation().Deviation)
		require.InDelta(t, rows[0].Utilisation().Mean, rows[most].Utilisation().Mean, 0.05, "the work is the same")
	}
	require.Greater(t, quiet[capped].Gained(), 0.8*quiet[most].Gained())
	require.Less(t, busy[capped].Gained(), 0.5*busy[most].Gained())
}

func TestRow_CountsJobs(t *testing.T) {
	r := Row{Speedups: []float64{0.5, 1, 1, 1.005, 2, 2, 4, 4, 4, 8}}
	require.InDelta(t, 0.6, r.Gained(), 1e-9)
	require.InDelta(t, 0.1, r.Slowed(), 1e-9)
	require.InDelta(t, 0.6, r.Below(4), 1e-9)
	require.InDelta(t, 4.0, r.Speedup(80), 0)
	require.InDelta(t, 8.0, r.Speedup(100), 0)
	require.InDelta(t, 0.5, r.Speedup(1), 0)
	require.Zero(t, Row{}.Speedup(50))
	require.Zero(t, Row{}.Gained(), "nobody")
	require.Zero(t, Row{}.Slowed())
}

func TestRow_UtilisationOfAnAlternatingCell(t *testing.T) {
	var r Row
	for i := range 200 {
		r.Used = append(r.Used, 0.4+0.2*float64(i%2))
	}
	u := r.Utilisation()
	require.InDelta(t, 0.5, u.Mean, 1e-9)
	require.InDelta(t, 0.1, u.Deviation, 1e-9)
	require.InDelta(t, 0.2, u.Step, 1e-9)
	require.InDelta(t, 0.4, u.Low, 1e-9)
	require.InDelta(t, 0.6, u.High, 1e-9)
	require.Zero(t, Row{}.Utilisation())
}
