package journaltest_test

import (
	"math/rand/v2"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cellsched/cellsched/omega/journal"
	"github.com/cellsched/cellsched/omega/journal/journaltest"
)

// Cells share a store that loses, doubles and delays appends.
func TestSim_IsShared(t *testing.T) {
	for seed := range uint64(5) {
		synctest.Test(t, func(t *testing.T) {
			faults := journaltest.Faults{Lost: 0.1, Unknown: 0.1, Duplicate: 0.1, Delay: 20 * time.Millisecond}
			sim := journaltest.NewSim(faults, rand.New(rand.NewPCG(seed, 1)))
			journaltest.Share(t, 1<<30, func() journal.Store { return sim.Client() })
		})
	}
}

func TestSim_IsAStore(t *testing.T) {
	journaltest.Run(t, func(*testing.T) func() journal.Store {
		sim := journaltest.NewSim(journaltest.Faults{}, rand.New(rand.NewPCG(1, 1)))
		return func() journal.Store { return sim.Client() }
	})
}
