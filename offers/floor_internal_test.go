package offers

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// Nodes stand in the list of the idle from when they were added last, in that order,
// until they are removed. The list has no more than twice as many entries and a few.
func TestIdle_HasEachNodeOnceAndForgetsTheOthers(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var l idle
		nodes := make([]node, 40)
		var model []*node
		drop := func(n *node) { model = slices.DeleteFunc(model, func(o *node) bool { return o == n }) }
		t.Repeat(map[string]func(*rapid.T){
			"add": func(t *rapid.T) {
				for _, i := range rapid.SliceOfN(rapid.IntRange(0, len(nodes)-1), 1, 50).Draw(t, "nodes") {
					l.add(&nodes[i])
					drop(&nodes[i])
					model = append(model, &nodes[i])
				}
			},
			"remove": func(t *rapid.T) {
				for _, i := range rapid.SliceOfN(rapid.IntRange(0, len(nodes)-1), 1, 50).Draw(t, "nodes") {
					l.remove(&nodes[i])
					drop(&nodes[i])
				}
			},
			"": func(t *rapid.T) {
				var standing []*node
				for _, e := range l.entries {
					if e.node.idle == e.seq {
						standing = append(standing, e.node)
					}
				}
				require.Len(t, standing, len(model))
				for i := range model {
					require.Same(t, model[i], standing[i])
				}
				require.Equal(t, len(model), l.live)
				require.LessOrEqual(t, len(l.entries), 2*len(nodes)+64)
			},
		})
	})
}
