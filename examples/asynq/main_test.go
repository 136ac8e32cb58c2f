package main

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cellsched/cellsched/internal/servertest"
)

func TestPlay_PrintsTheWaitsOfBothWays(t *testing.T) {
	var out strings.Builder
	require.NoError(t, play(servertest.Redis(t), &out))
	require.Len(t, strings.Split(strings.TrimSpace(out.String()), "\n"), 3)
	t.Log(out.String())
}

// A program with Asynq adds 15 lines at most.
func TestTakeTurns_IsShort(t *testing.T) {
	lines := servertest.BodyLines(t, "main.go", "takeTurns", "ask")
	t.Log(lines, "lines")
	require.LessOrEqual(t, lines, 15)
}
