package main

import (
	"context"
	"fmt"
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/cellsched/cellsched/internal/servertest"
)

// TestMain is the program, too, for the processes that a test starts.
func TestMain(m *testing.M) {
	if os.Getenv("REPLICA") != "" {
		main()
		return
	}
	os.Exit(m.Run())
}

// The limit holds over all processes, each has a part of it, and the part of a process that was
// killed comes back to the others.
func TestPlay_SharesTheLimit(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	before, after, err := play(ctx, servertest.Postgres(t), t.Output())
	require.NoError(t, err)
	for name, means := range map[string][]float64{"before": before, "after": after} {
		sum := 0.0
		for _, mean := range means {
			sum += mean
		}
		require.Less(t, sum, 1.5*limit, fmt.Sprint(name, ": a limit of each process would be ", limit*len(means)))
	}
}
