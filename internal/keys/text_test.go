package keys_test

import (
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/cellsched/cellsched/internal/keys"
)

type named string

type job struct{ n *int }

func (j *job) String() string { return "job" }

func TestText_ReadsNoMemoryThatAKeyPointsTo(t *testing.T) {
	n := 7
	for want, key := range map[string]any{
		"a": "a", "b": named("b"), "-3": -3, "4": uint8(4), "true": true, "{1 x}": struct {
			n int
			s string
		}{1, "x"}, "[1 2]": [2]int{1, 2}, "<nil>": nil, "10.0.0.1": netip.MustParseAddr("10.0.0.1"), "job": &job{},
		"*int": &n, "struct { n *int }": struct{ n *int }{&n}, "[1]*int": [1]*int{&n}, "struct { a interface {} }": struct{ a any }{&n},
		"keys_test.job": job{&n},
	} {
		require.Equal(t, want, keys.Text(key))
	}
	require.Equal(t, "1s", keys.Text(time.Second))
}

func TestText_IsShort(t *testing.T) {
	require.Equal(t, strings.Repeat("x", 256), keys.Text(strings.Repeat("x", 1000)))
	require.Equal(t, strings.Repeat("é", 127), keys.Text("a" + strings.Repeat("é", 1000))[1:])
}
