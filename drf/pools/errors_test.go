package pools_test

import (
	"math"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/cellsched/cellsched/drf"
	"github.com/cellsched/cellsched/drf/pools"
	"github.com/cellsched/cellsched/resources"
)

// Each sentinel says the package and a noun when it is read alone.
func TestErrors_SentinelsNameThePackage(t *testing.T) {
	for text, err := range map[string]error{
		"pools: no such pool or job":       pools.ErrNode,
		"pools: invalid tree":              pools.ErrTree,
		"pools: min share above max share": pools.ErrLimits,
		"pools: time goes back":            pools.ErrTime,
		"pools: invalid factor":            pools.ErrFactor,
	} {
		require.EqualError(t, err, text)
	}
}

// An error names the package once, the node by its key, the refused amount by its
// kinds, and the expectation.
func TestErrors_NameTheValue(t *testing.T) {
	tree, err := pools.New[string](vec{10, 10}, nil)
	require.NoError(t, err)
	pool := func(parent pools.Node, key string, config pools.Config) error {
		_, err := tree.AddPool(parent, key, config)
		return err
	}
	p, err := tree.AddPool(tree.Root(), "p", pools.Config{})
	require.NoError(t, err)
	j, err := tree.AddJob(p, "j", pools.Config{Min: vec{1 << 62}})
	require.NoError(t, err)
	require.NoError(t, tree.Charge(j, vec{0, 3}))
	newTree := func(total vec) error { _, err := pools.New[string](total, nil); return err }
	long := strings.Repeat("x", 300)

	tests := []struct {
		err   error
		cause error
		text  string
	}{
		{newTree(vec{}), drf.ErrEmpty, "pools: total: amount 0, want some of at least one kind: empty amount"},
		{pool(j, "q", pools.Config{}), pools.ErrTree, `pools: add pool "q": parent is job "j", want a pool: invalid tree`},
		{pool(p, "p", pools.Config{}), drf.ErrKey, `pools: add pool "p": another node has this key, want a new one: unusable key`},
		{pool(p, "q", pools.Config{Weight: -1}), drf.ErrWeight, `pools: add pool "q": weight -1, want 1e-06 to 1e+06: invalid weight`},
		{pool(p, "q", pools.Config{Min: vec{2}, Max: &vec{1}}), pools.ErrLimits, `pools: add pool "q": min share kind0=2, max share kind0=1: min share above max share`},
		{pool(p, "q", pools.Config{Min: vec{5}}), resources.ErrQuantity, `pools: add pool "q": min shares in pool "p", kind0=4611686018427387904 plus kind0=5, want at most 2^62 in all: invalid quantity`},
		{tree.Demand(j, vec{}), drf.ErrEmpty, `pools: demand of job "j": amount 0, want some of at least one kind: empty amount`},
		{tree.Demand(j, vec{-1}), resources.ErrQuantity, `pools: demand of job "j": invalid quantity: kind0=-1, want 0 to 2^62`},
		{tree.Backlog(j, vec{-1}), resources.ErrQuantity, `pools: backlog of job "j": invalid quantity: kind0=-1, want 0 to 2^62`},
		{tree.Charge(j, vec{0, 1 << 62}), resources.ErrQuantity, `pools: charge job "j" kind1=4611686018427387904 where all hold kind1=3, want at most 2^62 in all: invalid quantity`},
		{tree.Credit(j, vec{1}), drf.ErrHeld, `pools: credit job "j" kind0=1, but it holds kind1=3: usage mismatch`},
		{tree.SetWeight(p, math.Inf(1)), drf.ErrWeight, `pools: set weight of pool "p": weight +Inf, want 1e-06 to 1e+06: invalid weight`},
		{tree.SetWeight(tree.Root(), 0), drf.ErrWeight, `pools: set weight of the root: weight 0, want 1e-06 to 1e+06: invalid weight`},
		{tree.SetLimits(j, vec{3}, &vec{2}), pools.ErrLimits, `pools: set limits of job "j": min share kind0=3, max share kind0=2: min share above max share`},
		{tree.Remove(j), drf.ErrHeld, `pools: remove job "j", which holds kind1=3, want nothing: usage mismatch`},
		{tree.Remove(p), pools.ErrTree, `pools: remove pool "p", which has children, want none: invalid tree`},
		{tree.Remove(tree.Root()), pools.ErrTree, "pools: remove the root, want another node: invalid tree"},
		{tree.Move(p, p), pools.ErrTree, `pools: move pool "p" into pool "p", which is it or below it: invalid tree`},
		{tree.Park(pools.Node{}), pools.ErrNode, "pools: park node: want the handle of a job: no such pool or job"},
		{pool(p, "a\nb", pools.Config{}), resources.ErrName, `pools: add pool: invalid name: "a\nb" has U+000A at byte 1, want printable characters`},
		{pool(p, "", pools.Config{}), drf.ErrKey, "pools: add pool: invalid name: it is empty, want 1 to 256 bytes"},
		{pool(p, long, pools.Config{}), drf.ErrKey, `pools: add pool: invalid name: "` + long[:64] + `"... has 300 bytes, want at most 256`},
		{new(pools.Hunger).Observe(time.Time{}, nil), pools.ErrTime, "pools: observe at 0001-01-01 00:00:00 +0000 UTC after 0001-01-01 00:00:00 +0000 UTC, want no earlier, nor the zero time: time goes back"},
		{(&pools.Hunger{Factor: 2}).Observe(time.Unix(1, 0), nil), pools.ErrFactor, "pools: observe: factor 2, want more than 0, and 1 at most: invalid factor"},
	}
	for _, test := range tests {
		require.EqualError(t, test.err, test.text)
		require.ErrorIs(t, test.err, test.cause)
		require.Equal(t, 1, strings.Count(test.text, "pools: "))
	}
}

// A pick without a function to ask is one where every machine has room.
func TestTree_PickWhereWithoutAFunctionIsPick(t *testing.T) {
	tree, err := pools.New[string](vec{10}, nil)
	require.NoError(t, err)
	j, err := tree.AddJob(tree.Root(), "j", pools.Config{})
	require.NoError(t, err)
	require.NoError(t, tree.Demand(j, vec{2}))
	got, ok := tree.PickWhere(vec{2}, nil)
	require.True(t, ok)
	require.Equal(t, j, got)
	_, ok = tree.PickWhere(vec{1}, nil)
	require.False(t, ok)
}
