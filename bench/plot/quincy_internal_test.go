package main

import (
	"io"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestPlacement_ShowsEachPolicyAndWhatIsMissing(t *testing.T) {
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

	// How long decisions took is in none of it.
	require.NoError(t, command(t.Context(), append(args, "1"), date(), io.Discard))
	require.Equal(t, files, tree(t, dir))
}

func TestAbsent_NamesLoadsInOrder(t *testing.T) {
	require.Empty(t, absent(nil))
	require.Equal(t, " Not run, as there was no recording: a, b.", absent(map[string]error{"b": io.EOF, "a": io.EOF}))
}
