package trial

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cellsched/cellsched/delay/late"
)

func TestStage_PhasesCountTheSameForAnyLength(t *testing.T) {
	even := Stage{}
	sort := Stage{Parts: late.Phases{6, 0, 2, 2}}
	for done, want := range map[float64]float64{0: 0, 0.3: 0.125, 0.6: 0.5, 0.7: 0.625, 0.8: 0.75, 0.9: 0.875, 1: 1} {
		require.InDelta(t, done, even.progress(done), 1e-12)
		require.InDelta(t, want, sort.progress(done), 1e-12, "%v done", done)
	}
}
