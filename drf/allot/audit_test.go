package allot_test

import (
	"math"
	"math/big"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/cellsched/cellsched/drf"
	"github.com/cellsched/cellsched/drf/allot"
	"github.com/cellsched/cellsched/resources"
)

// holdings draws a user with amounts and weights of any size.
func holdings() *rapid.Generator[allot.Holding] {
	return rapid.Custom(func(t *rapid.T) allot.Holding {
		u := allot.Holding{Usage: vectors().Draw(t, "usage"), Weight: weights().Draw(t, "weight")}
		if rapid.Bool().Draw(t, "wants") {
			u.Demand = vectors().Draw(t, "demand")
		}
		if rapid.IntRange(0, 3).Draw(t, "weights") == 0 {
			u.Weights = new([resources.MaxKinds]float64)
			for k := range u.Weights {
				u.Weights[k] = weights().Draw(t, "weight of a kind")
			}
		}
		return u
	})
}

func someTotal() *rapid.Generator[resources.Vector] {
	return vectors().Filter(func(v resources.Vector) bool { return v != resources.Vector{} })
}

// fairLevel is the definition of the share that all can have at once.
func fairLevel(total resources.Vector, users []allot.Holding) *big.Rat {
	most := new(big.Rat)
	for k, q := range total {
		sum := new(big.Rat)
		for _, u := range users {
			if u.Usage != u.Demand || u.Usage != (resources.Vector{}) {
				sum.Add(sum, weightFor(u, k))
			}
		}
		if q > 0 && sum.Cmp(most) > 0 {
			most = sum
		}
	}
	if most.Sign() == 0 {
		return most
	}
	return most.Inv(most)
}

// requireNear is for a rounded number: within 8 units in the last place.
func requireNear(t require.TestingT, want *big.Rat, got float64) {
	w, _ := want.Float64()
	require.LessOrEqual(t, math.Abs(got-w), math.Abs(w)*8*0x1p-52, "want %v, got %v", w, got)
}

func TestAudit_AgreesWithTheDefinition(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		total := someTotal().Draw(t, "total")
		users := rapid.SliceOfN(holdings(), 1, 6).Draw(t, "users")
		report, err := allot.Audit(total, users)
		require.NoError(t, err)
		require.Len(t, report.Users, len(users))
		level := fairLevel(total, users)
		sum, squares, active := new(big.Rat), new(big.Rat), int64(0)
		for i, u := range users {
			got := report.Users[i]
			if u.Usage == (resources.Vector{}) && u.Demand == (resources.Vector{}) {
				require.Equal(t, allot.Standing{}, got)
				continue
			}
			share, kind := shareOfUsage(total, u, u.Usage)
			if share.Sign() == 0 {
				if _, kind = shareOfUsage(total, u, u.Demand); u.Demand[kind] == 0 || total[kind] == 0 {
					for kind = 0; total[kind] == 0; kind++ { // any is as good
					}
				}
			}
			weight := weightFor(u, int(kind))
			held, fair := new(big.Rat).Mul(share, weight), new(big.Rat).Mul(level, weight)
			violation := new(big.Rat).Sub(held, fair)
			require.Equal(t, kind, got.Kind)
			requireNear(t, share, got.Share)
			requireNear(t, held, got.Held)
			requireNear(t, fair, got.Fair)
			requireNear(t, violation, got.Violation)
			require.Equal(t, violation.Sign() < 0 && u.Demand != resources.Vector{}, got.Short)
			require.Equal(t, violation.Sign(), sign(got.Violation))
			sum.Add(sum, share)
			squares.Add(squares, share.Mul(share, share))
			active++
		}
		index := big.NewRat(1, 1)
		if squares.Sign() > 0 {
			index.Quo(sum.Mul(sum, sum), squares.Mul(squares, rat(active)))
		}
		want, _ := index.Float64()
		require.InDelta(t, want, report.Jain, 1e-14)
		require.LessOrEqual(t, report.Jain, 1.0)
	})
}

func sign(f float64) int {
	switch {
	case f < 0:
		return -1
	case f > 0:
		return 1
	}
	return 0
}

// The NSDI paper's examples. In section 4.1 both users end with 2/3 of their
// dominant kind. In section 6 Asset Fairness breaks the sharing incentive: the
// second user holds less than half of both kinds.
func TestAudit_OfThePapersExamples(t *testing.T) {
	report, err := allot.Audit(resources.Vector{9, 18}, []allot.Holding{
		{Usage: resources.Vector{3, 12}, Demand: resources.Vector{1, 4}},
		{Usage: resources.Vector{6, 2}, Demand: resources.Vector{3, 1}},
	})
	require.NoError(t, err)
	require.Equal(t, allot.Report{Jain: 1, Users: []allot.Standing{
		{Share: 2.0 / 3, Kind: 1, Held: 2.0 / 3, Fair: 0.5, Violation: 1.0 / 6},
		{Share: 2.0 / 3, Kind: 0, Held: 2.0 / 3, Fair: 0.5, Violation: 1.0 / 6},
	}}, report)

	assets := []allot.Holding{
		{Usage: resources.Vector{6, 18}, Demand: resources.Vector{1, 3}},
		{Usage: resources.Vector{12, 12}, Demand: resources.Vector{1, 1}},
	}
	report, err = allot.Audit(resources.Vector{30, 30}, assets)
	require.NoError(t, err)
	require.Equal(t, []allot.Standing{
		{Share: 0.6, Kind: 1, Held: 0.6, Fair: 0.5, Violation: 0.1},
		{Share: 0.4, Kind: 0, Held: 0.4, Fair: 0.5, Violation: -0.1, Short: true},
	}, report.Users)
	require.InDelta(t, 1/(2*0.52), report.Jain, 1e-15)
}

func TestAudit_ViolationIsZeroAtTheExactShare(t *testing.T) {
	tests := map[string]struct {
		total  resources.Vector
		users  []allot.Holding
		excess int // the sign of the first user's violation
	}{
		"a third": {
			resources.Vector{3 << 60}, repeat(allot.Holding{Usage: resources.Vector{1 << 60}}, 3), 0,
		},
		"one unit less than a third": {
			resources.Vector{3 << 60},
			append([]allot.Holding{{Usage: resources.Vector{1<<60 - 1}}}, repeat(allot.Holding{Usage: resources.Vector{1 << 60}}, 2)...), -1,
		},
		"one unit more than a third": {
			resources.Vector{3 << 60},
			append([]allot.Holding{{Usage: resources.Vector{1<<60 + 1}}}, repeat(allot.Holding{Usage: resources.Vector{1 << 60}}, 2)...), 1,
		},
		"ten of weight 0.1, with a float64 sum unequal to 1": {
			resources.Vector{10}, repeat(allot.Holding{Usage: resources.Vector{1}, Weight: 0.1}, 10), 0,
		},
		"an idle user does not count": {
			resources.Vector{2}, append(repeat(allot.Holding{Usage: resources.Vector{1}}, 2), allot.Holding{Weight: 7}), 0,
		},
		"a user with a demand alone counts": {
			resources.Vector{2}, append(repeat(allot.Holding{Usage: resources.Vector{1}}, 1), allot.Holding{Demand: resources.Vector{1}}, allot.Holding{Demand: resources.Vector{1}}), 1,
		},
		"a weight next to another": {
			resources.Vector{2},
			[]allot.Holding{{Usage: resources.Vector{1}, Weight: 1}, {Usage: resources.Vector{1}, Weight: math.Nextafter(1, 2)}},
			1,
		},
		"the largest weight beside the smallest": {
			resources.Vector{1_000_000_000_001},
			[]allot.Holding{{Usage: resources.Vector{1_000_000_000_000}, Weight: drf.MaxWeight}, {Usage: resources.Vector{1}, Weight: drf.MinWeight}},
			-1,
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			report, err := allot.Audit(tt.total, tt.users)
			require.NoError(t, err)
			require.Equal(t, tt.excess, sign(report.Users[0].Violation), "violation %v", report.Users[0].Violation)
		})
	}
}

func repeat(u allot.Holding, n int) (users []allot.Holding) {
	for range n {
		users = append(users, u)
	}
	return users
}

// One user has weight 2 for memory, and no other user has. All can have a third of
// the share that is a whole kind, not half of it.
func TestAudit_WeightsByKindUseTheLargestSum(t *testing.T) {
	memory := [resources.MaxKinds]float64{1, 2, 1, 1, 1, 1, 1, 1}
	users := []allot.Holding{
		{Usage: resources.Vector{0, 6}, Weights: &memory},
		{Usage: resources.Vector{3, 3}, Demand: resources.Vector{1, 1}},
	}
	report, err := allot.Audit(resources.Vector{9, 9}, users)
	require.NoError(t, err)
	require.Equal(t, []allot.Standing{
		{Share: 1.0 / 3, Kind: 1, Held: 2.0 / 3, Fair: 2.0 / 3},
		{Share: 1.0 / 3, Kind: 0, Held: 1.0 / 3, Fair: 1.0 / 3},
	}, report.Users)
	require.Equal(t, 1.0, report.Jain)

	report, err = allot.Audit(resources.Vector{9}, users) // no memory, no weight of it
	require.NoError(t, err)
	require.Equal(t, 0.5, report.Users[1].Fair)
}

func TestAudit_WithoutUsersIsFair(t *testing.T) {
	for _, users := range [][]allot.Holding{nil, {{}, {}}, {{Demand: resources.Vector{1}}}} {
		report, err := allot.Audit(resources.Vector{1}, users)
		require.NoError(t, err)
		require.Equal(t, 1.0, report.Jain)
		require.Len(t, report.Users, len(users))
	}
}

func TestAudit_OneOfManyHoldsAll(t *testing.T) {
	users := repeat(allot.Holding{Demand: resources.Vector{1}}, 8)
	users[3].Usage = resources.Vector{5}
	report, err := allot.Audit(resources.Vector{5}, users)
	require.NoError(t, err)
	require.Equal(t, 1.0/8, report.Jain)
}

func TestAudit_AllocatesOnce(t *testing.T) {
	users := repeat(allot.Holding{Usage: resources.Vector{1}, Weight: 0.3}, 100)
	require.Equal(t, 1.0, testing.AllocsPerRun(10, func() { _, _ = allot.Audit(resources.Vector{100}, users) }))
}

// badHoldings are invalid users, with a part of the error's text.
var badHoldings = map[string]struct {
	user  allot.Holding
	cause error
	text  string
}{
	"negative weight":        {allot.Holding{Weight: -1}, drf.ErrWeight, "user 1: weight -1, want 1e-06 to 1e+06: invalid weight"},
	"not a number":           {allot.Holding{Weight: math.NaN()}, drf.ErrWeight, "user 1: weight NaN"},
	"infinite weight":        {allot.Holding{Weight: math.Inf(1)}, drf.ErrWeight, "user 1: weight +Inf"},
	"too small a weight":     {allot.Holding{Weight: 0.9e-6}, drf.ErrWeight, "user 1: weight 9e-07"},
	"too large a weight":     {allot.Holding{Weight: 1.1e6}, drf.ErrWeight, "user 1: weight 1.1e+06"},
	"no weight for a kind":   {allot.Holding{Weights: &[resources.MaxKinds]float64{1, 1, 1}}, drf.ErrWeight, "user 1: weight 0,"},
	"holds less than none":   {allot.Holding{Usage: resources.Vector{0, -1}}, resources.ErrQuantity, "user 1 holds kind1=-1"},
	"holds more than can be": {allot.Holding{Usage: resources.Vector{1<<62 + 1}}, resources.ErrQuantity, "user 1 holds"},
	"demands less than none": {allot.Holding{Demand: resources.Vector{-5}}, resources.ErrQuantity, "user 1 demands kind0=-5"},
}

// badTotals are invalid totals.
var badTotals = map[string]struct {
	total resources.Vector
	cause error
}{
	"nothing":  {resources.Vector{}, drf.ErrEmpty},
	"negative": {resources.Vector{4, -1}, resources.ErrQuantity},
	"too much": {resources.Vector{1<<62 + 1}, resources.ErrQuantity},
}

func TestAudit_RefusesInvalidInput(t *testing.T) {
	for name, tt := range badHoldings {
		t.Run(name, func(t *testing.T) {
			report, err := allot.Audit(resources.Vector{4}, []allot.Holding{{}, tt.user})
			require.ErrorIs(t, err, tt.cause)
			require.ErrorContains(t, err, "allot: audit: "+tt.text)
			require.Zero(t, report)
			_, err = allot.Envies([]allot.Holding{{}, tt.user})
			require.ErrorIs(t, err, tt.cause)
			require.ErrorContains(t, err, "allot: envies: "+tt.text)
		})
	}
	for name, tt := range badTotals {
		t.Run("total "+name, func(t *testing.T) {
			_, err := allot.Audit(tt.total, nil)
			require.ErrorIs(t, err, tt.cause)
			require.ErrorContains(t, err, "allot: audit: total")
		})
	}
}

func TestAudit_ReportsTheSharesOfAHeap(t *testing.T) {
	h, err := drf.New[int](resources.Vector{10, 10})
	require.NoError(t, err)
	all := []allot.Holding{
		{Usage: resources.Vector{1, 1}, Demand: resources.Vector{1, 2}, Weight: 1},
		{Usage: resources.Vector{1, 2}, Weight: 2},
		{Usage: resources.Vector{1, 3}, Weights: &[resources.MaxKinds]float64{1, 4, 1, 1, 1, 1, 1, 1}},
	}
	report, err := allot.Audit(resources.Vector{10, 10}, all)
	require.NoError(t, err)
	for i, holding := range all {
		u, err := h.Add(i, max(holding.Weight, 1))
		require.NoError(t, err)
		if holding.Weights != nil {
			require.NoError(t, h.SetWeights(u, *holding.Weights))
		}
		require.NoError(t, h.Charge(u, holding.Usage))
		share, kind, _ := h.Share(u)
		require.Equal(t, share, report.Users[i].Share)
		require.Equal(t, kind, report.Users[i].Kind)
	}
}
