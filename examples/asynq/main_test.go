package main

import (
	"strings"
	"testing"

	"github.com/hibiken/asynq"
	"github.com/stretchr/testify/require"

	"github.com/cellsched/cellsched/internal/servertest"
)

func TestPlay_PrintsTheWaitsOfBothWays(t *testing.T) {
	var out strings.Builder
	require.NoError(t, play(servertest.Redis(t), nil, &out))
	require.Len(t, strings.Split(strings.TrimSpace(out.String()), "\n"), 3)
	t.Log(out.String())
}

// With turns the small tenant is done before most of the other's tasks have begun. Alone it
// comes after all of them.
func TestRun_ServesTheSmallTenantBeforeMostOfTheFlood(t *testing.T) {
	waits, between, err := run(asynq.RedisClientOpt{Network: "unix", Addr: servertest.Redis(t)}, nil, true)
	require.NoError(t, err)
	require.Len(t, waits, small)
	t.Log(between, "tasks of the other between")
	// Turn by turn these are ten, and those that began before the first of the small tenant came
	// from the queue.
	require.LessOrEqual(t, between, int64(flood/4))
}

// A program with Asynq adds 15 lines at most, beside its imports.
func TestRun_AddsFewLines(t *testing.T) {
	lines := servertest.AddedLines(t, "main.go")
	t.Log(lines, "lines")
	require.LessOrEqual(t, lines, 15)
}
