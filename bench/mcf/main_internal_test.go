package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

const network = `p min 4 3
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
	special := strings.Replace(network, "4 3", "4 4", 1) + "a 3 4 0 1 0\n"
	tests := map[string]struct{ solver, text, want string }{
		"special":     {"special", special, "cost 4\nsolver special\nnodes 4 arcs 4\ncpu "},
		"its choice":  {"auto", special, "cost 4\nsolver special\n"},
		"generic":     {"generic", special, "cost 4\nsolver generic\n"},
		"other shape": {"auto", network, "cost 7\nsolver generic (nodes 3 and 4 have no arcs out of them)\n"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			var out strings.Builder
			require.NoError(t, run(t.Context(), []string{"-solver", test.solver, file(t, test.text)}, &out, &out))
			require.True(t, strings.HasPrefix(out.String(), test.want), out.String())
		})
	}
}

func TestRun_SaysWhatIsWrong(t *testing.T) {
	tests := map[string]struct {
		args []string
		want string
	}{
		"no file":      {nil, "0 files, want one"},
		"missing file": {[]string{"nowhere.min"}, "nowhere.min"},
		"no solver":    {[]string{"-solver", "magic", "x"}, `solver "magic", want auto, special or generic`},
		"malformed":    {[]string{file(t, "p min 1\n")}, "line 1: 2 words"},
		"infeasible":   {[]string{file(t, strings.Replace(network, "a 2 4 0 1 0", "a 3 2 0 1 0", 1))}, "infeasible"},
		"not special":  {[]string{"-solver", "special", file(t, network)}, "no arcs out of them"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			var out strings.Builder
			require.ErrorContains(t, run(t.Context(), test.args, &out, &out), test.want)
			require.NotContains(t, out.String(), "cost")
		})
	}
}
