package drf_test

import (
	"math"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cellsched/cellsched/drf"
	"github.com/cellsched/cellsched/resources"
)

// newHeap returns a heap with users 0, 1, ... of the given weights, all with a
// demand of one unit of kind 0.
func newHeap(t testing.TB, total resources.Vector, weights ...float64) (*drf.Heap[int], []drf.User) {
	t.Helper()
	h, err := drf.New[int](total)
	require.NoError(t, err)
	var users []drf.User
	for i, w := range weights {
		u, err := h.Add(i, w)
		require.NoError(t, err)
		require.NoError(t, h.Demand(u, resources.Vector{1}))
		users = append(users, u)
	}
	return h, users
}

// Shares that are equal as fractions, whatever they are as floats: the user
// added earlier is first, in whichever order they are charged.
func TestPick_BreaksExactTiesByRegistration(t *testing.T) {
	type side struct {
		usage  resources.Vector
		weight float64
	}
	const most = resources.MaxQuantity
	tests := map[string]struct {
		total resources.Vector
		a, b  side
	}{
		"1/5 and (3/5)/3":        {resources.Vector{5}, side{resources.Vector{1}, 1}, side{resources.Vector{3}, 3}},
		"1/3 of one, 2/6 of two": {resources.Vector{3, 6}, side{resources.Vector{1}, 1}, side{resources.Vector{0, 2}, 1}},
		"nothing, any weight":    {resources.Vector{5}, side{weight: drf.MinWeight}, side{weight: drf.MaxWeight}},
		"only of a kind that the cell has none of": {
			resources.Vector{5},
			side{resources.Vector{0, 7}, 1},
			side{resources.Vector{0, 0, 0, 9}, 2},
		},
		"all of it": {resources.Vector{most, 3}, side{resources.Vector{most}, 1}, side{resources.Vector{0, 3}, 1}},
		"totals near the limit": {
			resources.Vector{most - 1, (most - 1) / 3},
			side{resources.Vector{3 * 1_234_567_890_123}, 1},
			side{resources.Vector{0, 1_234_567_890_123}, 1},
		},
		"a share of 16": {resources.Vector{7}, side{resources.Vector{112}, 1}, side{resources.Vector{7 * 48}, 3}},
		"the largest there are": {
			resources.Vector{1, 1},
			side{resources.Vector{most}, drf.MinWeight},
			side{resources.Vector{0, most}, drf.MinWeight},
		},
		"weights a power of two apart": {
			resources.Vector{11},
			side{resources.Vector{5}, 0.1},
			side{resources.Vector{5 << 20}, 0.1 * (1 << 20)},
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			for _, sides := range [][]side{{test.a, test.b}, {test.b, test.a}} {
				for _, order := range [][]int{{0, 1}, {1, 0}} {
					h, users := newHeap(t, test.total, sides[0].weight, sides[1].weight)
					for _, i := range order {
						require.NoError(t, h.Charge(users[i], sides[i].usage))
					}
					u, ok := h.Pick(test.total)
					require.True(t, ok)
					require.Equal(t, users[0], u)
					require.Equal(t, users, slices.Collect(h.All()))
				}
			}
		})
	}
}

// As a float64 weight, 0.1 is a little more than a tenth, so ten times the
// usage at weight 1 is a little more.
func TestPick_TakesWeightsAsTheFloatsTheyAre(t *testing.T) {
	h, users := newHeap(t, resources.Vector{100}, 1, 0.1)
	require.NoError(t, h.Charge(users[0], resources.Vector{10}))
	require.NoError(t, h.Charge(users[1], resources.Vector{1}))
	a, _, _ := h.Share(users[0])
	b, _, _ := h.Share(users[1])
	require.Equal(t, a, b)
	u, _ := h.Pick(resources.Vector{100})
	require.Equal(t, users[1], u)
}

// Shares less than a unit of usage apart. Their cross products carry from one
// 64-bit limb into the next. One in some thousand pairs does, found by search.
func TestPick_CarriesBetweenLimbs(t *testing.T) {
	h, users := newHeap(t, resources.Vector{3_768_034_577_877_849_643, 2_568_368_654_093_607_180}, 1.1, 0.7)
	require.NoError(t, h.Charge(users[0], resources.Vector{0, 1_601_922_240_510_406_228}))
	require.NoError(t, h.Charge(users[1], resources.Vector{1_495_561_595_838_761_803}))
	require.Equal(t, []drf.User{users[1], users[0]}, slices.Collect(h.All()))
}

// One unit more or less of 2^60 does not show in a float64.
func TestPick_NoticesAChargeThatFloatsCannotShow(t *testing.T) {
	const large = resources.MaxQuantity / 4
	h, users := newHeap(t, resources.Vector{large}, 1, 1, 1, 1)
	for _, u := range users {
		require.NoError(t, h.Charge(u, resources.Vector{large}))
	}
	free := resources.Vector{large}
	for _, want := range users { // each is charged one unit and goes to the end
		u, ok := h.Pick(free)
		require.True(t, ok)
		require.Equal(t, want, u)
		require.NoError(t, h.Charge(u, resources.Vector{1}))
	}
	require.NoError(t, h.Credit(users[2], resources.Vector{1}))
	u, _ := h.Pick(free)
	require.Equal(t, users[2], u)
}

func TestCredit_LeavesNoTrace(t *testing.T) {
	h, users := newHeap(t, resources.Vector{10_007, 1 << 40}, 3, 0.1, 7)
	amount := func(i int) resources.Vector { return resources.Vector{int64(i*i) % 997, int64(i) << 20} }
	const n = 20_000
	for i := range n {
		require.NoError(t, h.Charge(users[i%3], amount(i)))
	}
	for i := range n {
		i = n - 1 - i
		require.NoError(t, h.Credit(users[i%3], amount(i)))
	}
	for _, u := range users {
		share, kind, ok := h.Share(u)
		require.True(t, ok)
		require.Zero(t, share)
		require.Zero(t, kind)
	}
	require.Equal(t, users, slices.Collect(h.All()))
}

func TestPick_ChargesNothing(t *testing.T) {
	h, users := newHeap(t, resources.Vector{9}, 1, 1)
	for range 3 {
		u, ok := h.Pick(resources.Vector{9})
		require.True(t, ok)
		require.Equal(t, users[0], u)
	}
}

func TestPick_PassesOverTheParkedAndTheNew(t *testing.T) {
	h, users := newHeap(t, resources.Vector{9}, 1, 1)
	_, err := h.Add(7, 1) // has said no demand yet
	require.NoError(t, err)
	require.NoError(t, h.Park(users[0]))
	require.NoError(t, h.Charge(users[1], resources.Vector{5}))
	u, ok := h.Pick(resources.Vector{9})
	require.True(t, ok)
	require.Equal(t, users[1], u)
	require.NoError(t, h.Park(users[1]))
	_, ok = h.Pick(resources.Vector{9})
	require.False(t, ok)
}

func TestSetTotal_ReordersWaitingUsers(t *testing.T) {
	h, users := newHeap(t, resources.Vector{10, 40}, 1, 1, 1)
	require.NoError(t, h.Charge(users[0], resources.Vector{5, 8}))
	require.NoError(t, h.Charge(users[1], resources.Vector{4, 10}))
	require.NoError(t, h.Park(users[2]))
	pick := func() drf.User {
		u, ok := h.Pick(resources.Vector{1})
		require.True(t, ok)
		return u
	}
	require.Equal(t, users[1], pick()) // 4/10 before 5/10
	require.NoError(t, h.SetTotal(resources.Vector{100, 40}))
	require.Equal(t, users[0], pick()) // 8/40 before 10/40
	require.NoError(t, h.SetTotal(resources.Vector{100, 4_000}))
	require.NoError(t, h.SetTotal(resources.Vector{0, 40})) // the CPUs are gone
	require.NoError(t, h.Charge(users[0], resources.Vector{0, 3}))
	require.Equal(t, users[1], pick()) // 10/40 before 11/40
}

func TestPick_FindsNoUserForInvalidRoom(t *testing.T) {
	h, users := newHeap(t, resources.Vector{9}, 1)
	for _, free := range []resources.Vector{{}, {-1}, {9, -1}, {math.MinInt64}} {
		_, ok := h.Pick(free)
		require.False(t, ok, "%v", free)
	}
	require.NoError(t, h.Park(users[0]))
	require.NoError(t, h.SetTotal(resources.Vector{8}))
	const most = math.MaxInt64
	_, ok := h.Pick(resources.Vector{most, most, most, most, most, most, most, most})
	require.False(t, ok)
}

func TestHeap_ZeroValueWorksWithoutShares(t *testing.T) {
	var h drf.Heap[string]
	_, ok := h.Pick(resources.Vector{1})
	require.False(t, ok)
	require.Zero(t, h.Len())
	a, err := h.Add("a", 1)
	require.NoError(t, err)
	b, err := h.Add("b", 1)
	require.NoError(t, err)
	require.NoError(t, h.Charge(a, resources.Vector{1}))
	require.Equal(t, []drf.User{a, b}, slices.Collect(h.All()))
	require.NoError(t, h.SetTotal(resources.Vector{4}))
	require.Equal(t, []drf.User{b, a}, slices.Collect(h.All()))
}

// A slot that is used again does not revive the handle of its earlier user, and its
// new user is the youngest in a tie.
func TestRemove_MakesTheHandleStale(t *testing.T) {
	h, users := newHeap(t, resources.Vector{9}, 1, 1)
	require.NoError(t, h.Remove(users[0]))
	_, ok := h.User(0)
	require.False(t, ok)
	again, err := h.Add(0, 1)
	require.NoError(t, err)
	require.NotEqual(t, users[0], again)
	require.NoError(t, h.Demand(again, resources.Vector{1}))

	u, ok := h.Pick(resources.Vector{9})
	require.True(t, ok)
	require.Equal(t, users[1], u)
	for _, u := range []drf.User{users[0], {}} {
		require.ErrorIs(t, h.Charge(u, resources.Vector{1}), drf.ErrUser)
		_, ok = h.Key(u)
		require.False(t, ok)
		_, ok = h.Usage(u)
		require.False(t, ok)
		_, _, ok = h.Share(u)
		require.False(t, ok)
	}
}

func TestAll_LetsTheBodyChangeTheHeap(t *testing.T) {
	h, users := newHeap(t, resources.Vector{9}, 1, 1, 1)
	for range 2 { // and can be ranged over twice
		var seen []drf.User
		for u := range h.All() {
			seen = append(seen, u)
			require.NoError(t, h.Charge(u, resources.Vector{5}))
		}
		require.Equal(t, users, seen)
	}
	for u := range h.All() { // may be left early
		require.Equal(t, users[0], u)
		break
	}
	for u := range h.All() {
		require.NoError(t, h.Credit(u, resources.Vector{10}))
		require.NoError(t, h.Remove(u))
	}
	require.Zero(t, h.Len())
}

func TestNew_RefusesTotalsThatCannotBe(t *testing.T) {
	_, err := drf.New[int](resources.Vector{})
	require.ErrorIs(t, err, drf.ErrEmpty)
	_, err = drf.New[int](resources.Vector{1, -2})
	require.ErrorIs(t, err, resources.ErrQuantity)
	require.ErrorContains(t, err, "-2")
}

// Whatever is refused leaves order, shares and candidates as they were.
func TestHeap_BadInputChangesNothing(t *testing.T) {
	const most = resources.MaxQuantity
	tests := map[string]struct {
		call func(h *drf.Heap[int], u drf.User) error
		want error
		text string
	}{
		"weight of zero":        {func(h *drf.Heap[int], u drf.User) error { return h.SetWeight(u, 0) }, drf.ErrWeight, "weight 0"},
		"negative weight":       {func(h *drf.Heap[int], u drf.User) error { return h.SetWeight(u, -1) }, drf.ErrWeight, "-1"},
		"weight not a number":   {func(h *drf.Heap[int], u drf.User) error { return h.SetWeight(u, math.NaN()) }, drf.ErrWeight, "NaN"},
		"infinite weight":       {func(h *drf.Heap[int], u drf.User) error { return h.SetWeight(u, math.Inf(1)) }, drf.ErrWeight, "+Inf"},
		"weight just too small": {func(h *drf.Heap[int], u drf.User) error { return h.SetWeight(u, math.Nextafter(1e-6, 0)) }, drf.ErrWeight, "1e-06 to 1e+06"},
		"weight just too large": {func(h *drf.Heap[int], u drf.User) error { return h.SetWeight(u, math.Nextafter(1e6, 2e6)) }, drf.ErrWeight, "1e-06 to 1e+06"},
		"user of no weight":     {func(h *drf.Heap[int], _ drf.User) error { _, err := h.Add(9, 0); return err }, drf.ErrWeight, "weight 0"},
		"key twice":             {func(h *drf.Heap[int], _ drf.User) error { _, err := h.Add(1, 1); return err }, drf.ErrKey, "key 1"},
		"total of nothing":      {func(h *drf.Heap[int], _ drf.User) error { return h.SetTotal(resources.Vector{}) }, drf.ErrEmpty, "amount 0,"},
		"negative total":        {func(h *drf.Heap[int], _ drf.User) error { return h.SetTotal(resources.Vector{5, -7}) }, resources.ErrQuantity, "-7"},
		"total past the limit":  {func(h *drf.Heap[int], _ drf.User) error { return h.SetTotal(resources.Vector{most + 1}) }, resources.ErrQuantity, "kind0="},
		"demand of nothing":     {func(h *drf.Heap[int], u drf.User) error { return h.Demand(u, resources.Vector{}) }, drf.ErrEmpty, "at least one"},
		"negative demand":       {func(h *drf.Heap[int], u drf.User) error { return h.Demand(u, resources.Vector{1, 0, -3}) }, resources.ErrQuantity, "-3"},
		"demand past the limit": {func(h *drf.Heap[int], u drf.User) error { return h.Demand(u, resources.Vector{math.MaxInt64}) }, resources.ErrQuantity, "kind0="},
		"negative charge":       {func(h *drf.Heap[int], u drf.User) error { return h.Charge(u, resources.Vector{1, -4}) }, resources.ErrQuantity, "-4"},
		"charge past the limit": {func(h *drf.Heap[int], u drf.User) error { return h.Charge(u, resources.Vector{0, most}) }, resources.ErrQuantity, "2^62"},
		"charge past int64":     {func(h *drf.Heap[int], u drf.User) error { return h.Charge(u, resources.Vector{1, math.MaxInt64}) }, resources.ErrQuantity, "kind1="},
		"negative credit":       {func(h *drf.Heap[int], u drf.User) error { return h.Credit(u, resources.Vector{-4}) }, resources.ErrQuantity, "-4"},
		"credit of too much":    {func(h *drf.Heap[int], u drf.User) error { return h.Credit(u, resources.Vector{1, 3}) }, drf.ErrHeld, "holds kind0=1,kind1=2"},
		"removal of a holder":   {func(h *drf.Heap[int], u drf.User) error { return h.Remove(u) }, drf.ErrHeld, "holds kind0=1,kind1=2"},
		"no user":               {func(h *drf.Heap[int], _ drf.User) error { return h.Charge(drf.User{}, resources.Vector{1}) }, drf.ErrUser, "charge user"},
	}
	// story picks and charges for a while and prints each user and its share.
	story := func(h *drf.Heap[int], users []drf.User) (told []any) {
		for range 12 {
			u, ok := h.Pick(resources.Vector{3, 3})
			told = append(told, u, ok, h.Charge(u, resources.Vector{1, 2}))
			for _, u := range users {
				share, kind, ok := h.Share(u)
				told = append(told, math.Float64bits(share), kind, ok)
			}
		}
		return told
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			var stories [2][]any
			for i := range stories {
				h, users := newHeap(t, resources.Vector{50, 70}, 1, 0.7, 3, 1)
				require.NoError(t, h.Charge(users[1], resources.Vector{1, 2}))
				if i == 1 {
					err := test.call(h, users[1])
					require.ErrorIs(t, err, test.want)
					require.ErrorContains(t, err, test.text)
				}
				require.Equal(t, 4, h.Len())
				stories[i] = story(h, users)
			}
			require.Equal(t, stories[0], stories[1])
		})
	}
}

// Keys that a map would lose or choke on are refused instead.
func TestAdd_RefusesKeysThatCannotBeFound(t *testing.T) {
	floats, err := drf.New[float64](resources.Vector{1})
	require.NoError(t, err)
	_, err = floats.Add(math.NaN(), 1)
	require.ErrorIs(t, err, drf.ErrKey)
	require.Zero(t, floats.Len())

	type pair struct{ a, b any }
	pairs, err := drf.New[pair](resources.Vector{1})
	require.NoError(t, err)
	_, err = pairs.Add(pair{1, []int{2}}, 1)
	require.ErrorIs(t, err, drf.ErrKey)
	_, ok := pairs.User(pair{1, []int{2}})
	require.False(t, ok)
	u, err := pairs.Add(pair{1, "x"}, 1)
	require.NoError(t, err)
	found, ok := pairs.User(pair{1, "x"})
	require.True(t, ok)
	require.Equal(t, u, found)
}
