package locality_test

import (
	"maps"
	"math"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/cellsched/cellsched/locality"
)

// The attributes of machines as a plain map, and what a predicate means, said
// a second time.
type machines map[locality.Node]map[string]locality.Value

type predicate struct {
	locality.Predicate
	holds func(v locality.Value, has bool) bool
}

func numberIn(from, to int64) func(locality.Value, bool) bool {
	return func(v locality.Value, has bool) bool {
		for n := from; n <= to; n++ {
			if has && v == locality.Number(n) {
				return true
			}
		}
		return false
	}
}

// predicates are over the number "cores", from 0 to 4, and the text "arch".
func predicates() map[string][]predicate {
	is := func(texts ...string) func(locality.Value, bool) bool {
		return func(v locality.Value, has bool) bool {
			return has && slices.ContainsFunc(texts, func(s string) bool { return v == locality.Text(s) })
		}
	}
	some := func(_ locality.Value, has bool) bool { return has }
	ps := map[string][]predicate{
		"cores": {
			{locality.Exists("cores"), some},
			{locality.Equal("cores", locality.Number(2)), numberIn(2, 2)},
			{locality.Greater("cores", 1), numberIn(2, 4)},
			{locality.Greater("cores", -1), numberIn(0, 4)},
			{locality.OneOf("cores", locality.Number(0), locality.Number(4)), func(v locality.Value, has bool) bool {
				return numberIn(0, 0)(v, has) || numberIn(4, 4)(v, has)
			}},
		},
		"arch": {
			{locality.Exists("arch"), some},
			{locality.Equal("arch", locality.Text("arm")), is("arm")},
			{locality.OneOf("arch", locality.Text("x86"), locality.Text("arm")), is("arm", "x86")},
		},
	}
	for attribute, positive := range ps {
		for _, p := range positive {
			ps[attribute] = append(ps[attribute], predicate{p.Not(), func(v locality.Value, has bool) bool { return !p.holds(v, has) }})
		}
	}
	return ps
}

// Registered early or late, cached or not: after any history, what meets a set
// of constraints is what meets each of them by definition.
func TestConstraints_AreMetByMachinesThatSatisfyThemAll(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var (
			attributes locality.Attributes
			model      = machines{}
			registered []struct {
				attribute string
				predicate
			}
			held []*locality.Constraints // with, at the same index,
			sets [][]locality.Constraint
		)
		all, names := predicates(), []string{"arch", "cores"}
		// Numbers at the edges of words and pages.
		node := rapid.SampledFrom([]locality.Node{0, 1, 62, 63, 64, 127, 4095, 4096, 12_345})
		value := func(t *rapid.T, attribute string) locality.Value {
			if attribute == "cores" {
				return locality.Number(rapid.Int64Range(0, 4).Draw(t, "cores"))
			}
			return locality.Text(rapid.SampledFrom([]string{"x86", "arm", "riscv", ""}).Draw(t, "arch"))
		}
		meets := func(n locality.Node, set []locality.Constraint) bool {
			for _, c := range set {
				r := registered[c]
				v, has := model[n][r.attribute]
				if !r.holds(v, has) {
					return false
				}
			}
			return model[n] != nil
		}
		t.Repeat(map[string]func(*rapid.T){
			"register": func(t *rapid.T) {
				attribute := rapid.SampledFrom(names).Draw(t, "attribute")
				p := rapid.SampledFrom(all[attribute]).Draw(t, "predicate")
				c, err := attributes.Register(p.Predicate)
				require.NoError(t, err)
				for i, r := range registered {
					if r.String() == p.String() {
						require.EqualValues(t, i, c, "registered before")
						return
					}
				}
				require.Len(t, registered, int(c))
				registered = append(registered, struct {
					attribute string
					predicate
				}{attribute, p})
			},
			"require": func(t *rapid.T) {
				var set []locality.Constraint
				for range rapid.IntRange(0, 4).Draw(t, "members") {
					if len(registered) > 0 {
						set = append(set, locality.Constraint(rapid.IntRange(0, len(registered)-1).Draw(t, "constraint")))
					}
				}
				c, err := attributes.Require(set...)
				require.NoError(t, err)
				held, sets = append(held, c), append(sets, set)
				if len(held) > 3 {
					held, sets = held[1:], sets[1:]
				}
			},
			"cache": func(t *rapid.T) {
				k := rapid.IntRange(0, 3).Draw(t, "k")
				require.LessOrEqual(t, attributes.Cache(k), k)
			},
			"describe": func(t *rapid.T) {
				n, values := node.Draw(t, "node"), map[string]locality.Value{}
				for _, name := range names {
					if rapid.Bool().Draw(t, "has") {
						values[name] = value(t, name)
					}
				}
				require.NoError(t, attributes.Describe(n, values))
				model[n] = maps.Clone(values)
			},
			"set": func(t *rapid.T) {
				n, name := node.Draw(t, "node"), rapid.SampledFrom(names).Draw(t, "attribute")
				v := value(t, name)
				err := attributes.Set(n, name, v)
				if model[n] == nil {
					require.ErrorIs(t, err, locality.ErrNode)
					return
				}
				require.NoError(t, err)
				model[n][name] = v
			},
			"unset": func(t *rapid.T) {
				n, name := node.Draw(t, "node"), rapid.SampledFrom(names).Draw(t, "attribute")
				if err := attributes.Unset(n, name); model[n] == nil {
					require.ErrorIs(t, err, locality.ErrNode)
				} else {
					require.NoError(t, err)
				}
				delete(model[n], name)
			},
			"forget": func(t *rapid.T) {
				n := node.Draw(t, "node")
				if err := attributes.Forget(n); model[n] == nil {
					require.ErrorIs(t, err, locality.ErrNode)
				} else {
					require.NoError(t, err)
				}
				delete(model, n)
			},
			"": func(t *rapid.T) {
				for n, values := range model {
					for _, name := range names {
						want, has := values[name]
						got, ok := attributes.Value(n, name)
						require.Equal(t, has, ok)
						require.Equal(t, want, got)
					}
				}
				known := slices.Sorted(maps.Keys(model))
				for i, c := range held {
					var want []locality.Node
					for _, n := range known {
						if meets(n, sets[i]) {
							want = append(want, n)
						}
					}
					checkConstraints(t, c, want)
				}
			},
		})
	})
}

// checkConstraints asks every question that is to be answered with these nodes.
func checkConstraints(t *rapid.T, c *locality.Constraints, want []locality.Node) {
	require.Equal(t, len(want), c.Count())
	words := c.Words(nil)
	for _, n := range []locality.Node{0, 1, 62, 63, 64, 127, 4095, 4096, 12_345, 20_000, locality.MaxNodes, math.MaxUint32} {
		_, in := slices.BinarySearch(want, n)
		require.Equal(t, in, c.Has(n), "node %d", n)
		require.Equal(t, in, int(n/64) < len(words) && words[n/64]>>(n%64)&1 == 1, "node %d", n)

		if n%64 == 0 && n != 4096 {
			continue // enough are left, and this is what takes time
		}
		// From n on, and then those before it.
		at, _ := slices.BinarySearch(want, n)
		around := slices.Concat(want[at:], want[:at])
		require.Equal(t, around, slices.Collect(c.From(n)), "from %d", n)
		first, ok := c.First(n)
		require.Equal(t, len(want) > 0, ok)
		if ok {
			require.Equal(t, around[0], first, "from %d", n)
		}
	}
}

func TestAttributes_BadInputIsNamedAndChangesNothing(t *testing.T) {
	cores, arch := locality.Number(8), locality.Text("arm")
	register := func(p locality.Predicate) func(*locality.Attributes) error {
		return func(a *locality.Attributes) error { _, err := a.Register(p); return err }
	}
	describe := func(n locality.Node, values map[string]locality.Value) func(*locality.Attributes) error {
		return func(a *locality.Attributes) error { return a.Describe(n, values) }
	}
	set := func(n locality.Node, attribute string, v locality.Value) func(*locality.Attributes) error {
		return func(a *locality.Attributes) error { return a.Set(n, attribute, v) }
	}
	tests := map[string]struct {
		do   func(*locality.Attributes) error
		is   error
		text string
	}{
		"equal of another type": {
			register(locality.Equal("cores", arch)), locality.ErrType,
			`locality: predicate "cores" = "arm": "cores" is a number, not text: attribute is of another type`,
		},
		"greater of a text":         {register(locality.Greater("arch", 3)), locality.ErrType, `"arch" is text, not a number`},
		"one of, of another type":   {register(locality.OneOf("arch", cores)), locality.ErrType, `"arch" in {8}: "arch" is text`},
		"one of, of mixed types":    {register(locality.OneOf("new", cores, arch)), locality.ErrType, `"arm" is text, 8 is a number`},
		"one of nothing":            {register(locality.OneOf("new")), nil, `predicate "new" in {}: want at least one value`},
		"equal to no value":         {register(locality.Equal("new", locality.Value{})), nil, `want values made by Text or Number`},
		"the zero predicate":        {register(locality.Predicate{}), nil, `predicate nothing: want one made by Equal`},
		"not even that":             {register(locality.Predicate{}.Not()), nil, `predicate not nothing: want one made by`},
		"predicate over no name":    {register(locality.Exists("")), nil, `predicate: attribute: invalid name: it is empty`},
		"node beyond the last":      {describe(locality.MaxNodes, nil), locality.ErrNode, `describe node 1048576: want less than 1048576`},
		"described with no name":    {describe(0, map[string]locality.Value{"": cores}), nil, `describe node 0: attribute: invalid name: it is empty`},
		"described with no value":   {describe(0, map[string]locality.Value{"new": {}}), nil, `attribute "new" = : want a name, and a value`},
		"described as another type": {describe(0, map[string]locality.Value{"arch": cores}), locality.ErrType, `describe node 0: attribute "arch" = 8: "arch" is text, not a number`},
		"set of unknown node":       {set(7, "cores", cores), locality.ErrNode, `set "cores" of node 7: want one that is known`},
		"set of impossible node":    {set(math.MaxUint32, "cores", cores), locality.ErrNode, `node 4294967295`},
		"set of another type":       {set(3, "cores", arch), locality.ErrType, `set node 3: attribute "cores" = "arm": "cores" is a number, not text`},
		"set without a name":        {set(3, "", arch), nil, `set node 3: attribute: invalid name`},
		"set to no value":           {set(3, "cores", locality.Value{}), nil, `attribute "cores" = : want`},
		"unset of unknown node":     {func(a *locality.Attributes) error { return a.Unset(9, "cores") }, locality.ErrNode, `unset "cores" of node 9`},
		"forget unknown node":       {func(a *locality.Attributes) error { return a.Forget(9) }, locality.ErrNode, `forget node 9`},
		"unknown constraint":        {func(a *locality.Attributes) error { _, err := a.Require(0, 5); return err }, locality.ErrConstraint, `require constraint 5, want less than 1`},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			var attributes locality.Attributes
			eight, err := attributes.Register(locality.Equal("cores", cores))
			require.NoError(t, err)
			require.NoError(t, attributes.Describe(3, map[string]locality.Value{"cores": cores, "arch": arch}))

			err = tt.do(&attributes)
			require.ErrorContains(t, err, tt.text)
			if tt.is != nil {
				require.ErrorIs(t, err, tt.is)
			}

			c, err := attributes.Require(eight)
			require.NoError(t, err)
			require.Equal(t, []locality.Node{3}, slices.Collect(c.From(0)))
			// Nor has an attribute that came with the mistake got a type.
			require.NoError(t, attributes.Set(3, "new", cores))
			next, err := attributes.Register(locality.Exists("new"))
			require.NoError(t, err)
			require.Equal(t, eight+1, next)
		})
	}
}

func TestDescribe_TellsTheSameOfSeveralMistakes(t *testing.T) {
	for range 20 {
		var attributes locality.Attributes
		err := attributes.Describe(0, map[string]locality.Value{"d": {}, "b": {}, "a": locality.Number(1), "c": {}, "e": {}})
		require.ErrorContains(t, err, `attribute "b" = :`)
	}
}

func TestRegister_TellsPredicatesApart(t *testing.T) {
	one, two, quoted := locality.Text("1"), locality.Number(1), locality.Text(`a", "b`)
	distinct := []locality.Predicate{
		locality.Exists("a"), locality.Exists("a").Not(), locality.Equal("a", two), locality.Equal("b", one),
		locality.OneOf("a", two), locality.Greater("a", 1), locality.Greater("a", 1).Not(),
		locality.Equal("b", quoted), locality.OneOf("b", locality.Text("a"), locality.Text("b")), locality.OneOf("b", quoted),
	}
	var attributes locality.Attributes
	for i, p := range distinct {
		c, err := attributes.Register(p)
		require.NoError(t, err, "%v", p)
		require.EqualValues(t, i, c, "%v", p)
	}
	for i, p := range []locality.Predicate{
		locality.Exists("a").Not().Not(), locality.Exists("a").Not(), locality.Equal("a", locality.Number(1)),
	} {
		c, err := attributes.Register(p)
		require.NoError(t, err)
		require.EqualValues(t, i, c, "%v", p)
	}
	c, err := attributes.Register(locality.OneOf("b", locality.Text("b"), locality.Text("a"), locality.Text("b")))
	require.NoError(t, err)
	require.EqualValues(t, 8, c, "order and repetition of values do not matter")
}
