package main

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestRun_PrintsTheTables(t *testing.T) {
	var out strings.Builder
	require.NoError(t, run(&out, 1, 1))
	for _, text := range []string{
		"busy: 500 machines", "quiet: 125 machines", "jobs that gain", "speed-up below", "utilisation",
		"none", "relative size 4", "global cap 60 %", "max-parallelism",
	} {
		require.Contains(t, out.String(), text)
	}
}

func TestRun_RefusesHoursThatMakeNoSense(t *testing.T) {
	for _, hours := range []int{-1, 0, 721} {
		require.ErrorContains(t, run(&strings.Builder{}, hours, 1), "hours, want 1 to 720")
	}
}
