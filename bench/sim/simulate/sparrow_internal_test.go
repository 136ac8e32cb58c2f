package simulate

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/cellsched/cellsched/resources"
)

// Under a queue that never empties, served reservations are not kept.
func TestSparrow_ForgetsReservationsThatWereServed(t *testing.T) {
	cfg := Config{
		Cell:         Cell{Machines: 1, Capacity: resources.Vector{1000}},
		Architecture: monolithic("sparrow", [Classes]Think{}), Horizon: 2000 * time.Second,
	}
	for i := range 2000 {
		cfg.Jobs = append(cfg.Jobs, Job{Submit: time.Duration(i) * 900 * time.Millisecond, Tasks: 1, Duration: time.Second, Need: resources.Vector{1000}})
	}
	s := newSparrow(&cfg, SparrowConfig{Probes: 1, RoundTrip: time.Millisecond})
	require.NoError(t, s.run(t.Context()))
	w := &s.workers[0]
	require.Positive(t, len(w.waiting)-w.head)
	require.LessOrEqual(t, w.head, max(64, len(w.waiting)/2))
}
