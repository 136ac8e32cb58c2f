package network_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cellsched/cellsched/internal/mcf"
	"github.com/cellsched/cellsched/internal/network"
)

func TestRead_NamesTheLine(t *testing.T) {
	tests := map[string]struct {
		from, to, want string
		err            error
	}{
		"malformed":         {"a 1 3 0 1 9", "a 1 3 0 1", `line 6: 5 words, want "a FROM TO LOW CAPACITY COST": malformed network`, mcf.ErrFormat},
		"no number":         {"n 2 1", "n 2 I", `line 3: "I", want a number as in "n NODE SUPPLY": malformed network`, mcf.ErrFormat},
		"negative capacity": {"a 4 5 0 1 0", "a 4 5 0 -1 0", "line 10: lower bound 0, want 0 to the capacity of -1: out of range", mcf.ErrRange},
		"cost beyond 2^40":  {"a 1 3 0 1 9", "a 1 3 0 1 1099511627777", "line 6: cost 1099511627777, at most ±1099511627776: out of range", mcf.ErrRange},
		"unbalanced":        {"n 7 -1", "n 7 -2", "all supplies add up to -1, want 0: supplies and demands differ", mcf.ErrUnbalanced},
		"arcs missing":      {"p min 7 9", "p min 7 10", "line 14: ends after 9 of 10 arcs: malformed network", mcf.ErrFormat},
		"unknown node":      {"a 1 3 0 1 9", "a 1 8 0 1 9", "line 6: node 8, want 1 to 7: out of range", mcf.ErrRange},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			require.Contains(t, small, test.from)
			_, err := network.Read(strings.NewReader(strings.Replace(small, test.from, test.to, 1)))
			require.ErrorIs(t, err, test.err)
			require.EqualError(t, err, "network: read: "+test.want)
		})
	}
}

// What can be read is written and read back as it is, and what the special solver
// takes costs what the generic one finds.
func FuzzRead(f *testing.F) {
	f.Add(small)
	f.Add("p min 2 1\nn 1 1\nn 2 -1\na 1 2 0 1 5\n")
	f.Add("p min 4 4\nn 1 1\nn 4 -1\na 1 2 0 1 7\na 1 3 0 1 4\na 2 4 0 1 0\na 3 4 0 1 0\n")
	f.Fuzz(func(t *testing.T, text string) {
		n, err := network.Read(strings.NewReader(text))
		if err != nil {
			return
		}
		var first, second strings.Builder
		if n.Nodes() > 1000 || n.Arcs() > 1000 {
			return // too long for a fuzz test
		}
		require.NoError(t, n.Write(&first))
		back, err := network.Read(strings.NewReader(first.String()))
		require.NoError(t, err)
		require.NoError(t, back.Write(&second))
		require.Equal(t, first.String(), second.String())
		special, err := n.Prepare(network.Special)
		if err != nil {
			require.ErrorIs(t, err, network.ErrShape)
			return
		}
		generic, err := n.Prepare(network.Generic)
		require.NoError(t, err)
		want, failed := generic.Solve(t.Context())
		got, err := special.Solve(t.Context())
		if failed != nil {
			require.Error(t, err)
			return
		}
		require.NoError(t, err)
		require.Equal(t, want, got)
		require.NoError(t, special.Verify())
	})
}
