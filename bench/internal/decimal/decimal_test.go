package decimal_test

import (
	"math/big"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/cellsched/cellsched/bench/internal/decimal"
)

func TestScaled_IsExact(t *testing.T) {
	for s, want := range map[string]int64{
		"0": 0, "-0": 0, "0e999999999999999999999": 0, "7": 7, "007": 7, "-7": -7, "2.67754e+06": 2_677_540, "2.67754E6": 2_677_540, "1e3": 1000,
		"1500e-2": 15, "1.50e1": 15, "2.0": 2, "9223372036854775807": 1<<63 - 1, "9.223372036854775807e18": 1<<63 - 1,
		"-9223372036854775808": -1 << 63, "1e18": 1e18, "100e-2": 1, "0.001e3": 1,
	} {
		got, ok := decimal.Scaled(s, 0)
		require.True(t, ok, s)
		require.Equal(t, want, got, s)
	}
	for s, want := range map[string]int64{"1.5": 1_500_000_000, "2.5e-9": 2, "1e-9": 1, "31.25": 31_250_000_000, "1.0000000000": 1e9} {
		got, ok := decimal.Scaled(s, 9)
		require.Equal(t, want == 2, !ok, s) // 2.5 ns is no whole number of them
		if ok {
			require.Equal(t, want, got, s)
		}
	}
}

func TestScaled_RefusesFractions(t *testing.T) {
	for _, s := range []string{
		"", "-", "+1", " 1", "1 ", "1_000", "0x10", "0x1p4", "NaN", "nan", "Inf", "-Inf", "infinity", "e5", "1e", "1e+", "1e-", "1e1.5", "1ee5", "1e--5", "1e+-5",
		".5", "5.", "1.", "1.e5", ".e5", "--1", "1-", "1e5-", "٣", "1.2.3", "1,5",
		"0.5", "1e-1", "2.67754e+04", "9223372036854775808", "-9223372036854775809", "1e19", "1e999999999999999999999", "1e-999999999999999999999",
	} {
		_, ok := decimal.Scaled(s, 0)
		require.False(t, ok, s)
	}
	_, ok := decimal.Scaled("1"+strings.Repeat("0", 1<<20)+"e-1048576", 0)
	require.True(t, ok, "long, and 1")
}

func TestPlain_HasNoExponent(t *testing.T) {
	for s, want := range map[string]string{
		"2.67754e+06": "2677540", "1e0": "1", "5e-1": "0.5", "-12.5e-3": "-0.0125", "0e5": "0", "0.0e-5": "0", "1.25e1": "12.5", "100e-2": "1", "1E3": "1000",
	} {
		got, ok := decimal.Plain(s, 128)
		require.True(t, ok, s)
		require.Equal(t, want, got, s)
	}
	for _, s := range []string{"5", "1.5", "1E", "2Ei", "1e200", "1e-200", "1e99999999999999999999", "NaN", "1e-130"} {
		_, ok := decimal.Plain(s, 128)
		require.False(t, ok, s)
	}
	require.True(t, decimal.Valid("1e200"))
	require.False(t, decimal.Valid("1e"))
}

// Against fractions of any size.
func TestScaled_AgreesWithFractions(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		s := rapid.StringMatching(`-?[0-9]{1,22}(\.[0-9]{1,12})?([eE][+-]?[0-9]{1,2})?`).Draw(r, "number")
		scale := rapid.IntRange(0, 9).Draw(r, "scale")
		want, ok := new(big.Rat).SetString(s)
		require.True(r, ok)
		want.Mul(want, new(big.Rat).SetInt(new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(scale)), nil)))
		got, ok := decimal.Scaled(s, scale)
		require.Equal(r, want.IsInt() && want.Num().IsInt64(), ok, s)
		if ok {
			require.Equal(r, want.Num().Int64(), got)
		}
		if plain, ok := decimal.Plain(s, 256); ok {
			require.NotContains(r, strings.ToLower(plain), "e")
			a, _ := new(big.Rat).SetString(s)
			b, _ := new(big.Rat).SetString(plain)
			require.Zero(r, a.Cmp(b), plain)
			require.LessOrEqual(r, len(plain), 256)
		}
	})
}
