package locality_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cellsched/cellsched/locality"
	"github.com/cellsched/cellsched/resources"
)

func TestNames_ThatAreNotTextAreRefused(t *testing.T) {
	for name, text := range map[string]string{
		"a\x00": `"a\x00" has U+0000 at byte 1`, "a\nb": `"a\nb" has U+000A`, "\xffa": `"\xffa" has byte 0xff at 0`,
		strings.Repeat("x", 257): "has 257 bytes, want at most 256", strings.Repeat("x", 1<<20): "has 1048576 bytes",
	} {
		var a locality.Attributes
		require.NoError(t, a.Describe(1, nil))
		topology, err := locality.New(locality.Config{})
		require.NoError(t, err)
		register := func(p locality.Predicate) error {
			_, err := a.Register(p)
			return err
		}
		create := func(cfg locality.Config) error {
			_, err := locality.New(cfg)
			return err
		}
		one := locality.Number(1)
		for what, err := range map[string]error{
			"describe":        a.Describe(1, map[string]locality.Value{name: one}),
			"describe: text":  a.Describe(1, map[string]locality.Value{"k": locality.Text(name)}),
			"set":             a.Set(1, name, one),
			"set: text":       a.Set(1, "k", locality.Text(name)),
			"exists":          register(locality.Exists(name)),
			"equal":           register(locality.Equal(name, one)),
			"equal: text":     register(locality.Equal("k", locality.Text(name))),
			"greater":         register(locality.Greater(name, 1).Not()),
			"one of":          register(locality.OneOf(name)),
			"one of: text":    register(locality.OneOf("k", one, locality.Text("b"), locality.Text(name))),
			"level":           create(locality.Config{Levels: []string{"node", name, "any"}}),
			"level: node":     create(locality.Config{Levels: []string{name, "any"}}),
			"group":           create(locality.Config{Nodes: []string{"", "r1", name}}),
			"group: alone":    create(locality.Config{Parents: map[string]string{name: ""}}),
			"group: inside":   create(locality.Config{Parents: map[string]string{name: "z"}}),
			"group: around":   create(locality.Config{Parents: map[string]string{"r": name}}),
			"group: a circle": create(locality.Config{Parents: map[string]string{"r": name, name: "r"}}),
			"add":             topology.Add(1, name),
			"add: zone":       topology.Add(1, "r1", name),
			"add: twice":      topology.Add(1, name, name),
		} {
			require.ErrorIs(t, err, locality.ErrName, what)
			require.ErrorIs(t, err, resources.ErrName, what)
			require.ErrorContains(t, err, "invalid name: ", what)
			require.ErrorContains(t, err, text, what)
			require.Less(t, len(err.Error()), 300, what)
			require.Equal(t, 1, strings.Count(err.Error(), "locality: "), err)
		}
		_, there := a.Value(1, "k")
		require.False(t, there)
		require.Less(t, len(topology.Add(1, "a", "b", name).Error()), 300)
		require.Less(t, len(a.Set(2, name, one).Error()), 300)
		require.Less(t, len(a.Unset(2, name).Error()), 400)
		require.NoError(t, a.Unset(1, name), "it does not have that")
	}
}

func TestText_MayBeEmpty(t *testing.T) {
	var a locality.Attributes
	require.NoError(t, a.Describe(1, map[string]locality.Value{"gpu": locality.Text("")}))
	c, err := a.Register(locality.Equal("gpu", locality.Text("")))
	require.NoError(t, err)
	set, err := a.Require(c)
	require.NoError(t, err)
	require.True(t, set.Has(1))
}
