package main

import (
	"context"
	"encoding/csv"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cellsched/cellsched/bench/internal/program/programtest"
	"github.com/cellsched/cellsched/bench/internal/recordings"
)

const example = `p min 4 3
n 1 1
n 4 -1
a 1 2 0 1 7
a 1 3 0 1 4
a 2 4 0 1 0
`

func file(t *testing.T, text string) string {
	t.Helper()
	name := filepath.Join(t.TempDir(), "x.min")
	require.NoError(t, os.WriteFile(name, []byte(text), 0o600))
	return name
}

func TestRun_PrintsCostAndSolver(t *testing.T) {
	special := strings.Replace(example, "4 3", "4 4", 1) + "a 3 4 0 1 0\n"
	tests := map[string]struct{ solver, text, want string }{
		"special":     {"special", special, "cost 4\nsolver special (asked for)\nnodes 4 arcs 4\ncpu "},
		"its choice":  {"auto", special, "cost 4\nsolver special (the network is of the Quincy shape)\n"},
		"generic":     {"generic", special, "cost 4\nsolver generic (asked for)\n"},
		"other shape": {"auto", example, "cost 7\nsolver generic (not of the Quincy shape: nodes 3 and 4 have no arcs out of them)\n"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			out, _ := programtest.Printed(t, run, "-solver", test.solver, file(t, test.text))
			require.True(t, strings.HasPrefix(out, test.want), out)
		})
	}
}

// The costs of costs.csv were agreed by seven programs.
func TestRun_FindsTheCostsOfAllInstances(t *testing.T) {
	dir := recordings.Find(t, "flow")
	list, err := os.ReadFile(filepath.Join(dir, "costs.csv"))
	require.NoError(t, err)
	rows, err := csv.NewReader(strings.NewReader(string(list))).ReadAll()
	require.NoError(t, err)
	require.Equal(t, []string{"file", "nodes", "arcs", "optimal_cost"}, rows[0])
	for _, row := range rows[1:] {
		arcs, err := strconv.Atoi(row[2])
		require.NoError(t, err)
		for solver, why := range map[string]string{"auto": "special (the network is of the Quincy shape)", "special": "special (asked for)", "generic": "generic (asked for)"} {
			t.Run(row[0]+"/"+solver, func(t *testing.T) {
				if testing.Short() && arcs > 100_000 {
					t.Skip("too long")
				}
				out, _ := programtest.Printed(t, run, "-solver", solver, filepath.Join(dir, row[0]))
				lines := strings.Split(out, "\n")
				require.Equal(t, []string{"cost " + row[3], "solver " + why, "nodes " + row[1] + " arcs " + row[2]}, lines[:3])
				require.Regexp(t, `^cpu \S+ wall \S+$`, lines[3])
			})
		}
	}
}

func TestRun_StopsWhenCancelled(t *testing.T) {
	cause := errors.New("enough")
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(cause)
	var out strings.Builder
	require.ErrorIs(t, run(ctx, []string{"-solver", "generic", file(t, example)}, &out, &out), cause)
	require.Empty(t, out.String())
}

func TestRun_NamesTheFault(t *testing.T) {
	tests := map[string]struct {
		args []string
		want string
	}{
		"no file":      {nil, "0 files, want one"},
		"missing file": {[]string{"nowhere.min"}, "nowhere.min"},
		"no solver":    {[]string{"-solver", "magic", "x"}, `solver "magic", want auto, special or generic`},
		"malformed":    {[]string{file(t, "p min 1\n")}, "line 1: 2 words"},
		"infeasible":   {[]string{file(t, strings.Replace(example, "a 2 4 0 1 0", "a 3 2 0 1 0", 1))}, "infeasible"},
		"not special":  {[]string{"-solver", "special", file(t, example)}, "no arcs out of them"},
		"two files":    {[]string{"a.min", "b.min"}, "2 files, want one"},
		"no flag":      {[]string{"-fast"}, "flag provided but not defined"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			programtest.Refuses(t, run, test.want, test.args...)
		})
	}
}

// The smallest cells of the matrix, with all that is done for each.
func TestRun_PlansTheMatrix(t *testing.T) {
	out, _ := programtest.Printed(t, run, "-matrix", "-machines", "40", "-lemon=false", "-rounds", "1", "-cells", "equal/p6/j50/.*(90|150)%/2500")
	lines := strings.Split(strings.TrimSpace(out), "\n")
	require.Len(t, lines, 1+8+2)
	require.Contains(t, lines[1], "ties/equal/p6/j50/cold/90%/40")
	require.Contains(t, lines[9], "of 8 cells")
}

func TestRun_RefusesPatternsWithoutCells(t *testing.T) {
	require.ErrorContains(t, run(t.Context(), []string{"-matrix", "-cells", "huge"}, io.Discard, io.Discard), "no cell of that name")
	require.ErrorContains(t, run(t.Context(), []string{"-matrix", "x.min"}, io.Discard, io.Discard), "want flags only")
}
