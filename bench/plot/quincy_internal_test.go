package main

import (
	"io"
	"maps"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cellsched/cellsched/bench/internal/interval"
	"github.com/cellsched/cellsched/bench/quincy/experiments"
)

func TestPlacement_ShowsEachPolicyAndGaps(t *testing.T) {
	t.Setenv("CELLSCHED_DATA", t.TempDir())
	dir := t.TempDir()
	args := []string{"-quick", "-only", "quincy", "-o", dir, "-parallel"}
	require.NoError(t, command(t.Context(), append(args, "2"), date(), io.Discard))
	files := tree(t, dir)
	require.Len(t, files, 3)
	for _, name := range []string{"quincy-fairness", "quincy-time"} {
		svg := files[figureDir+"/"+name+".svg"]
		wellFormed(t, svg)
		for _, text := range []string{"narrow", "batch", "greedy fair preempts", "delay scheduling", "quincy", "quincy preempts", "quincy fair", "quincy fair preempts"} {
			require.Contains(t, svg, ">"+text+"<")
		}
		require.NotContains(t, svg, "facebook")
	}
	text := files[textFile]
	require.Contains(t, text, "Not run, as there was no recording: facebook, hadoop.")
	require.Equal(t, 3*8, strings.Count(text, "\n| synthetic | ")+strings.Count(text, "\n| narrow | ")+strings.Count(text, "\n| batch | "))
	require.Contains(t, text, "| Throughput is up to 40 % higher (abstract). |")
	require.Contains(t, text, "| migration of running tasks | ")
	require.Regexp(t, `\n\| narrow \| quincy \| [0-9.]+ ± [0-9.]+ \|`, text)

	// How long decisions took is in none of it.
	again := t.TempDir()
	require.NoError(t, command(t.Context(), []string{"-quick", "-only", "quincy", "-o", again, "-parallel", "1"}, date(), io.Discard))
	require.True(t, maps.Equal(files, tree(t, again)))
}

func TestAbsent_NamesLoadsInOrder(t *testing.T) {
	require.Empty(t, absent(nil))
	require.Equal(t, " Not run, as there was no recording: a, b.", absent([]string{"a", "b"}))
	t.Setenv("CELLSCHED_DATA", t.TempDir())
	require.Equal(t, []string{"facebook", "hadoop"}, unrecorded())
}

func TestCausesText_SortsCausesByTheSignOfTheirChange(t *testing.T) {
	text := causesText([]experiments.Cause{
		{Without: "nothing", More: interval.Estimate{Mean: 1.5, Half: 0.25}},
		{Without: "moves", Change: interval.Estimate{Mean: -0.1, Half: 0.2}},
		{Without: "waits", Change: interval.Estimate{Mean: -0.5, Half: 0.2}},
		{Without: "queues", Change: interval.Estimate{Mean: -0.4, Half: 0.2}},
		{Without: "racks", Change: interval.Estimate{Mean: 0.5, Half: 0.2}},
	})
	require.Contains(t, text, "in percentage points of slot time: 1.5 ± 0.250.")
	require.Contains(t, text, "smaller: waits (−0.500 ± 0.200); queues (−0.400 ± 0.200).")
	require.Contains(t, text, "larger: racks (0.500 ± 0.200).")
	require.Contains(t, text, "contains 0: moves (−0.100 ± 0.200).")

	for _, group := range []string{"smaller", "larger", "contains 0"} {
		require.NotContains(t, causesText([]experiments.Cause{{}}), group, "a group without causes has no sentence")
	}
}
