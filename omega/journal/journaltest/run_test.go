package journaltest_test

import (
	"math/rand/v2"
	"testing"

	"github.com/cellsched/cellsched/omega/journal"
	"github.com/cellsched/cellsched/omega/journal/journaltest"
)

func TestSim_IsAStore(t *testing.T) {
	journaltest.Run(t, func(*testing.T) func() journal.Store {
		sim := journaltest.NewSim(journaltest.Faults{}, rand.New(rand.NewPCG(1, 1)))
		return func() journal.Store { return sim.Client() }
	})
}
