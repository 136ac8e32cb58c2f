package pools

import (
	"math"
	"math/big"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/cellsched/cellsched/drf"
	"github.com/cellsched/cellsched/resources"
)

func (m mass) big() *big.Int { return wide(m.hi, m.lo) }

func (p product) big() *big.Int { return wide(p.hi, p.mid, p.lo) }

// wide is the number of some digits of 64 bits.
func wide(digits ...uint64) *big.Int {
	n := new(big.Int)
	for _, d := range digits {
		n.Lsh(n, 64).Or(n, new(big.Int).SetUint64(d))
	}
	return n
}

func TestMassOf_LosesNothing(t *testing.T) {
	check := func(t require.TestingT, weight float64) {
		want, exact := new(big.Float).SetMantExp(big.NewFloat(weight), 72).Int(nil)
		require.Equal(t, big.Exact, exact)
		require.Equal(t, want, massOf(weight).big(), "%v", weight)
	}
	for _, weight := range []float64{drf.MinWeight, math.Nextafter(drf.MinWeight, 1), 1.0 / 3, 1, drf.MaxWeight} {
		check(t, weight)
	}
	rapid.Check(t, func(t *rapid.T) { check(t, rapid.Float64Range(drf.MinWeight, drf.MaxWeight).Draw(t, "weight")) })
}

// masses draws masses of any length up to that of the sum of the largest weights.
func masses() *rapid.Generator[mass] {
	return rapid.Custom(func(t *rapid.T) mass {
		digits := rapid.Uint64().Filter(func(d uint64) bool { return d > 0 })
		switch up := rapid.IntRange(11, 63).Draw(t, "up"); rapid.IntRange(0, 3).Draw(t, "form") {
		case 0:
			return mass{lo: math.MaxUint64 >> up}
		case 1:
			return mass{lo: digits.Draw(t, "lo")}
		case 2: // the largest lowest digit makes the guess of a quotient worst
			return mass{hi: math.MaxUint64>>up/2 + 1, lo: math.MaxUint64}
		default:
			return mass{hi: digits.Draw(t, "hi") >> up, lo: digits.Draw(t, "lo")}
		}
	})
}

func TestProduct_AgreesWithBigIntegers(t *testing.T) {
	// One where every digit is carried to the next.
	carries, by := mass{hi: 4, lo: math.MaxUint64}, resources.MaxQuantity-1
	require.Zero(t, new(big.Int).Mul(carries.big(), big.NewInt(by)).Cmp(carries.times(by).big()))
	rapid.Check(t, func(t *rapid.T) {
		a, b := masses().Draw(t, "a"), masses().Draw(t, "b")
		q := rapid.Int64Range(0, resources.MaxQuantity).Draw(t, "q")
		r := rapid.OneOf(rapid.Just(q), rapid.Int64Range(0, resources.MaxQuantity)).Draw(t, "r")
		require.Zero(t, new(big.Int).Add(a.big(), b.big()).Cmp(a.plus(b).big()))
		require.Equal(t, a, a.plus(b).minus(b))
		x, y := a.times(q), b.times(r)
		require.Zero(t, new(big.Int).Mul(a.big(), big.NewInt(q)).Cmp(x.big()))
		require.Equal(t, x.big().Cmp(y.big()) > 0, x.exceeds(y))
	})
}

func TestProduct_IsDividedExactly(t *testing.T) {
	check := func(t require.TestingT, p *big.Int, m mass) {
		want, rest := new(big.Int).QuoRem(p, m.big(), new(big.Int))
		digit := new(big.Int).SetUint64(math.MaxUint64)
		lo := new(big.Int).And(p, digit)
		mid := new(big.Int).And(new(big.Int).Rsh(p, 64), digit)
		hi := new(big.Int).Rsh(p, 128)
		q, exact := product{hi.Uint64(), mid.Uint64(), lo.Uint64()}.over(m)
		require.Equal(t, want.Int64(), q, "%v over %v", p, m.big())
		require.Equal(t, rest.Sign() == 0, exact, "%v over %v", p, m.big())
	}
	rapid.Check(t, func(t *rapid.T) {
		m := masses().Draw(t, "m")
		q := rapid.OneOf(rapid.Int64Range(1, resources.MaxQuantity-1), rapid.Just(resources.MaxQuantity-1)).Draw(t, "q")
		// Near a multiple, on both sides, and anywhere in between.
		p := m.times(q).big()
		check(t, p, m)
		check(t, new(big.Int).Sub(p, big.NewInt(1)), m)
		p.Add(p, m.big())
		check(t, p.Sub(p, big.NewInt(1)), m)
		between := rapid.Uint64().Draw(t, "between")
		p.Sub(p, new(big.Int).Rem(new(big.Int).SetUint64(between), m.big()))
		check(t, p, m)
	})
}
