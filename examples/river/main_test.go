package main

import (
	"context"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/cellsched/cellsched/internal/servertest"
)

// TestMain is a worker process, too.
func TestMain(m *testing.M) {
	if os.Getenv(asWorker) != "" {
		main()
		return
	}
	os.Exit(m.Run())
}

func TestPlay_PrintsTheWaitsOfBothWays(t *testing.T) {
	var out strings.Builder
	require.NoError(t, play(t.Context(), servertest.Postgres(t), nil, &out))
	require.Len(t, strings.Split(strings.TrimSpace(out.String()), "\n"), 3)
	t.Log(out.String())
}

// With turns the small tenant is done before most of the other's jobs have begun. Alone it
// comes after all of them.
func TestRun_ServesTheSmallTenantBeforeMostOfTheFlood(t *testing.T) {
	waits, between, err := run(t.Context(), servertest.Postgres(t), nil, true)
	require.NoError(t, err)
	require.Len(t, waits, small)
	t.Log(between, "jobs of the other between")
	// Turn by turn these are ten, and those that began before the first of the small tenant came
	// from the queue.
	require.LessOrEqual(t, between, int64(flood/4))
}

// Several processes run no more jobs at a time than there are slots, and each runs some.
func TestShare_SharesTheSlots(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	ran, most, err := share(ctx, servertest.Postgres(t), 2, t.Output())
	require.NoError(t, err)
	require.Greater(t, most, 1)
	require.LessOrEqual(t, most, slots)
	require.Equal(t, flood+small, ran[0]+ran[1])
	require.Positive(t, min(ran[0], ran[1]))
}

// A program with River adds 15 lines at most, beside its imports.
func TestRun_AddsFewLines(t *testing.T) {
	lines := servertest.AddedLines(t, "main.go")
	t.Log(lines, "lines")
	require.LessOrEqual(t, lines, 15)
}
