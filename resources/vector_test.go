package resources_test

import (
	"math"
	"math/big"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/cellsched/cellsched/resources"
)

const most = resources.MaxQuantity

// component draws a valid amount, the edges more often than chance would.
var component = rapid.OneOf(
	rapid.Int64Range(0, 8),
	rapid.SampledFrom([]int64{0, 1, most / 2, most/2 + 1, most - 1, most}),
	rapid.Int64Range(0, most),
)

// invalid draws an amount that no valid vector has.
var invalid = rapid.OneOf(
	rapid.SampledFrom([]int64{math.MinInt64, math.MinInt64 + 1, -most, -1, most + 1, math.MaxInt64}),
	rapid.Int64Range(math.MinInt64, -1),
	rapid.Int64Range(most+1, math.MaxInt64),
)

func vectors(component *rapid.Generator[int64]) *rapid.Generator[resources.Vector] {
	return rapid.Custom(func(t *rapid.T) (v resources.Vector) {
		for k := range v {
			v[k] = component.Draw(t, "component")
		}
		return v
	})
}

var valid = vectors(component)

// pair draws two vectors of which the first fits in the second.
var pair = rapid.Custom(func(t *rapid.T) [2]resources.Vector {
	v, w := valid.Draw(t, "v"), valid.Draw(t, "w")
	return [2]resources.Vector{v.Min(w), v.Max(w)}
})

func TestVector_AddIsACommutativeMonoid(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		u, v, w := valid.Draw(t, "u"), valid.Draw(t, "v"), valid.Draw(t, "w")

		require.Equal(t, u.Add(v).Add(w), u.Add(v.Add(w)), "associative, saturated or not")
		require.Equal(t, u.Add(v), v.Add(u), "commutative")
		require.Equal(t, u, u.Add(resources.Vector{}), "neutral element")
		require.NoError(t, u.Add(v).Check(), "closed")

		for k, sum := range u.Add(v) {
			exact := new(big.Int).Add(big.NewInt(u[k]), big.NewInt(v[k]))
			if exact.Cmp(big.NewInt(most)) > 0 {
				exact.SetInt64(most)
			}
			require.Equal(t, exact.Int64(), sum)
		}
		if v.Fits(w) {
			require.True(t, u.Add(v).Fits(u.Add(w)), "monotone")
		}
	})
}

func TestVector_FitsIsAPartialOrder(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		u, v, w := valid.Draw(t, "u"), valid.Draw(t, "v"), valid.Draw(t, "w")
		p := pair.Draw(t, "pair")

		require.True(t, v.Fits(v), "reflexive")
		require.True(t, resources.Vector{}.Fits(v), "nothing fits everywhere")
		require.True(t, p[0].Fits(p[1]))
		require.Equal(t, p[0] == p[1], p[1].Fits(p[0]), "antisymmetric")
		require.True(t, u.Min(p[0]).Fits(p[1]), "transitive")
		if u.Fits(v) && v.Fits(w) {
			require.True(t, u.Fits(w), "transitive")
		}

		want := true
		for k := range v {
			want = want && v[k] <= w[k]
		}
		require.Equal(t, want, v.Fits(w), "component by component")
	})
}

// A single component too many, in any place, must be noticed.
func TestVector_FitsLooksAtEveryKind(t *testing.T) {
	for k := range resources.MaxKinds {
		var v, free resources.Vector
		for i := range v {
			v[i], free[i] = 7, 7
		}
		require.True(t, v.Fits(free))
		v[k]++
		require.False(t, v.Fits(free), "kind %d", k)
		_, ok := free.Sub(v)
		require.False(t, ok, "kind %d", k)
	}
}

func TestVector_SubUndoesAdd(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		v, w := valid.Draw(t, "v"), valid.Draw(t, "w")
		p := pair.Draw(t, "pair")

		rest, ok := v.Sub(w)
		require.Equal(t, w.Fits(v), ok, "Sub succeeds where it fits and only there")
		if !ok {
			require.Zero(t, rest)
		}

		rest, ok = p[1].Sub(p[0])
		require.True(t, ok)
		require.Equal(t, p[1], rest.Add(p[0]))
		require.True(t, rest.Fits(p[1]))
	})
}

func TestVector_InvalidNeverFits(t *testing.T) {
	for _, x := range []int64{math.MinInt64, -1, most + 1, math.MaxInt64} {
		for _, y := range []int64{math.MinInt64, -1, 0, 1, most, most + 1, math.MaxInt64} {
			for k := range resources.MaxKinds {
				var v, w resources.Vector
				v[k], w[k] = x, y
				require.False(t, v.Fits(w), "%d in %d", x, y)
				require.False(t, w.Fits(v), "%d in %d", y, x)
			}
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		v := valid.Draw(t, "valid")
		w := vectors(rapid.OneOf(component, invalid)).Draw(t, "invalid")
		w[rapid.IntRange(0, resources.MaxKinds-1).Draw(t, "kind")] = invalid.Draw(t, "amount")

		require.ErrorIs(t, w.Check(), resources.ErrQuantity)
		require.False(t, v.Fits(w))
		require.False(t, w.Fits(v))
		require.False(t, w.Fits(w))
		for _, p := range [][2]resources.Vector{{v, w}, {w, v}, {w, w}} {
			rest, ok := p[0].Sub(p[1])
			require.False(t, ok)
			require.Zero(t, rest)
		}
		// The rest is unspecified, but must not panic.
		w.Add(w).Scale(math.MaxInt64).Max(w).Min(w).Add(v)
		share, _, _ := w.DominantShare(w)
		require.False(t, math.IsNaN(share) || math.IsInf(share, 0))
	})
}

func TestVector_MaxAndMinAreALattice(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		u, v, w := valid.Draw(t, "u"), valid.Draw(t, "v"), valid.Draw(t, "w")

		require.Equal(t, v.Max(w), w.Max(v), "commutative")
		require.Equal(t, v.Min(w), w.Min(v), "commutative")
		require.Equal(t, u.Max(v).Max(w), u.Max(v.Max(w)), "associative")
		require.Equal(t, u.Min(v).Min(w), u.Min(v.Min(w)), "associative")
		require.Equal(t, v, v.Max(v.Min(w)), "absorbing")
		require.Equal(t, v, v.Min(v.Max(w)), "absorbing")
		require.Equal(t, u.Min(v.Max(w)), u.Min(v).Max(u.Min(w)), "distributive")

		require.True(t, v.Fits(v.Max(w)) && w.Fits(v.Max(w)), "upper bound")
		require.True(t, v.Min(w).Fits(v) && v.Min(w).Fits(w), "lower bound")
		if v.Fits(u) && w.Fits(u) {
			require.True(t, v.Max(w).Fits(u), "least upper bound")
		}
		if u.Fits(v) && u.Fits(w) {
			require.True(t, u.Fits(v.Min(w)), "greatest lower bound")
		}
		require.Equal(t, v.Fits(w), v.Max(w) == w)
	})
}

func TestVector_ScaleIsRepeatedAdd(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		v := valid.Draw(t, "v")
		n := rapid.Int64Range(-3, 40).Draw(t, "n")

		var sum resources.Vector
		for range n {
			sum = sum.Add(v)
		}
		require.Equal(t, sum, v.Scale(n))

		a, b := rapid.Int64Range(0, most).Draw(t, "a"), rapid.Int64Range(0, most-1).Draw(t, "b")
		require.Equal(t, v.Scale(a).Add(v.Scale(b)), v.Scale(a+b), "distributive")
		require.Zero(t, v.Scale(-a))
	})
}

func TestVector_DominantShareIsExact(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		v, total := valid.Draw(t, "v"), valid.Draw(t, "total")
		if rapid.Bool().Draw(t, "no kind of which there is nothing") {
			total = total.Max(resources.Vector{1, 1, 1, 1, 1, 1, 1, 1})
		}

		share, kind, ok := v.DominantShare(total)

		want, wantKind := new(big.Rat), resources.Kind(0)
		for k := range v {
			if v[k] == 0 {
				continue
			}
			if total[k] == 0 {
				require.False(t, ok)
				require.Zero(t, share)
				require.Equal(t, resources.Kind(k), kind, "the first kind that is missing")
				return
			}
			if f := big.NewRat(v[k], total[k]); f.Cmp(want) > 0 {
				want, wantKind = f, resources.Kind(k)
			}
		}
		require.True(t, ok)
		require.Equal(t, wantKind, kind)
		exact, _ := want.Float64()
		// Both numbers and their quotient are rounded, once each.
		require.InDelta(t, exact, share, exact*0x2p-52)
	})
}

// The users of the paper's example, section 4.1: 9 CPUs and 18 GB, tasks of
// ⟨1 CPU, 4 GB⟩ and ⟨3 CPUs, 1 GB⟩.
func TestVector_DominantShare(t *testing.T) {
	tests := map[string]struct {
		used, total resources.Vector
		share       float64
		kind        resources.Kind
		missing     bool
	}{
		"nothing":                       {total: resources.Vector{9, 18}},
		"nothing of nothing":            {},
		"memory bound, 3 tasks of A":    {used: resources.Vector{3, 12}, total: resources.Vector{9, 18}, share: 12.0 / 18, kind: 1},
		"CPU bound, 2 tasks of B":       {used: resources.Vector{6, 2}, total: resources.Vector{9, 18}, share: 6.0 / 9},
		"tie goes to the lower kind":    {used: resources.Vector{3, 6}, total: resources.Vector{9, 18}, share: 1.0 / 3},
		"tie in the last two":           {used: resources.Vector{6: 2, 7: 4}, total: resources.Vector{6: 3, 7: 6}, share: 2.0 / 3, kind: 6},
		"closer than a float64 can see": {used: resources.Vector{most - 2, most - 1}, total: resources.Vector{most, most}, share: 1, kind: 1},
		"more than there is":            {used: resources.Vector{18}, total: resources.Vector{9}, share: 2},
		"all that can be":               {used: resources.Vector{most}, total: resources.Vector{1}, share: float64(most)},
		"a kind that is missing":        {used: resources.Vector{9, 0, 1}, total: resources.Vector{9, 18}, kind: 2, missing: true},
		"two that are missing":          {used: resources.Vector{0, 0, 1, 1}, total: resources.Vector{9, 18}, kind: 2, missing: true},
		"missing but not asked for":     {used: resources.Vector{3}, total: resources.Vector{9}, share: 1.0 / 3},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			share, kind, ok := tt.used.DominantShare(tt.total)
			require.Equal(t, tt.share, share)
			require.Equal(t, tt.kind, kind)
			require.Equal(t, !tt.missing, ok)
		})
	}
}

func TestVector_CheckNamesTheInvalidKind(t *testing.T) {
	require.NoError(t, resources.Vector{0, most}.Check())
	require.EqualError(t, resources.Vector{1, -5}.Check(), "resources: invalid quantity: kind1=-5, want 0 to 2^62")
	require.ErrorIs(t, resources.Vector{7: most + 1}.Check(), resources.ErrQuantity)
}

func TestVector_AllocatesNothing(t *testing.T) {
	demand, room := operands()
	i := 0
	require.Zero(t, testing.AllocsPerRun(1000, func() {
		v, w := demand[i%pairs], room[i%pairs]
		i++
		rest, fits := w.Sub(v)
		share, kind, ok := v.DominantShare(w)
		sum := v.Add(w).Scale(int64(i)).Max(rest).Min(w)
		if fits != v.Fits(w) || sum.Check() != nil || share < 0 || kind > 7 || !ok && share != 0 {
			panic("laws broken")
		}
	}))
}

// Fits, its method and Sub are one rule, for all amounts: what is in range on both
// sides and no more than there is.
func TestVector_FitsIsOneRule(t *testing.T) {
	edges := []int64{math.MinInt64, -1, 0, 1, most - 1, most, most + 1, math.MaxInt64}
	inRange := func(q int64) bool { return q >= 0 && q <= most }
	for k := range resources.MaxKinds {
		for other := range resources.MaxKinds {
			for _, x := range edges {
				for _, y := range edges {
					v, free := resources.Uniform(1), resources.Uniform(2)
					v[k], free[other] = x, y
					want := true
					for i := range v {
						want = want && inRange(v[i]) && inRange(free[i]) && v[i] <= free[i]
					}
					require.Equal(t, want, resources.Fits(&v, &free), "%v in %v", v, free)
					require.Equal(t, want, v.Fits(free), "%v in %v", v, free)
					rest, ok := free.Sub(v)
					require.Equal(t, want, ok, "%v in %v", v, free)
					if ok {
						require.Equal(t, free, rest.Add(v))
					}
				}
			}
		}
	}
}

// What the documentation of Uniform says of three of its vectors.
func TestUniform_HasRoomForAllOrNone(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		v := valid.Draw(t, "v")
		require.True(t, v.Fits(resources.Uniform(resources.MaxQuantity)))
		require.False(t, v.Fits(resources.Uniform(-1)))
		require.False(t, resources.Uniform(math.MaxInt64).Fits(v))
	})
	require.False(t, resources.Vector{}.Fits(resources.Uniform(-1)))
	for k, q := range resources.Uniform(7) {
		require.EqualValues(t, 7, q, "kind %d", k)
	}
}

func TestCheckNeed(t *testing.T) {
	for _, v := range []resources.Vector{{1}, {0, 0, 0, 0, 0, 0, 0, 1}, {0, resources.MaxQuantity}} {
		require.NoError(t, v.CheckNeed())
	}
	for text, v := range map[string]resources.Vector{
		"0 of every kind": {}, "kind0=-1": {-1}, "kind7=": {1, 0, 0, 0, 0, 0, 0, resources.MaxQuantity + 1},
	} {
		err := v.CheckNeed()
		require.ErrorIs(t, err, resources.ErrQuantity)
		require.ErrorContains(t, err, text)
	}
}
