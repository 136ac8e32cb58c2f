package drf_test

import (
	"math/big"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/cellsched/cellsched/drf"
	"github.com/cellsched/cellsched/resources"
)

// Two shares that differ by one unit of one usage, or not at all, in totals
// and weights of any size: no float64 tells them apart.
func TestPick_OrdersSharesThatFloatsCannot(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		large := rapid.OneOf(rapid.Int64Range(1, resources.MaxQuantity), rapid.Int64Range(1<<55, resources.MaxQuantity))
		m := &model{total: resources.Vector{large.Draw(t, "total 0"), large.Draw(t, "total 1")}}
		a := &modelUser{weight: weights().Draw(t, "weight a"), usage: resources.Vector{large.Draw(t, "usage")}}
		b := &modelUser{weight: weights().Draw(t, "weight b")}
		// b's usage of kind 1 that makes the shares as equal as can be.
		share, _ := m.share(a)
		q := new(big.Rat).Mul(share, new(big.Rat).Mul(rat(m.total[1]), new(big.Rat).SetFloat64(b.weight)))
		n := new(big.Int).Quo(q.Num(), q.Denom())
		n.Add(n, big.NewInt(rapid.Int64Range(-1, 2).Draw(t, "off by")))
		if n.Sign() < 0 || n.Cmp(big.NewInt(resources.MaxQuantity)) > 0 {
			t.Skip("no such usage")
		}
		b.usage[1] = n.Int64()

		h, err := drf.New[int](m.total)
		require.NoError(t, err)
		m.users = []*modelUser{a, b}
		if rapid.Bool().Draw(t, "b first") {
			slices.Reverse(m.users)
		}
		for i, u := range m.users {
			u.handle, err = h.Add(i, u.weight)
			require.NoError(t, err)
			u.demand = resources.Vector{1}
			require.NoError(t, h.Charge(u.handle, u.usage))
			require.NoError(t, h.Demand(u.handle, u.demand))
		}
		want, _ := m.pick(resources.Vector{1})
		got, ok := h.Pick(resources.Vector{1})
		require.True(t, ok)
		require.Equal(t, want, got)
	})
}

// The same within one user: which of its kinds dominates.
func TestShare_NamesTheKindThatFloatsCannot(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		large := rapid.Int64Range(1<<54, resources.MaxQuantity-1)
		m := &model{total: resources.Vector{large.Draw(t, "total 0"), large.Draw(t, "total 1")}}
		u := &modelUser{weight: 1, usage: resources.Vector{rapid.Int64Range(1, m.total[0]).Draw(t, "usage")}}
		q := new(big.Int).Mul(big.NewInt(u.usage[0]), big.NewInt(m.total[1]))
		u.usage[1] = q.Quo(q, big.NewInt(m.total[0])).Int64() + rapid.Int64Range(0, 1).Draw(t, "more")
		_, want := m.share(u)

		h, err := drf.New[int](m.total)
		require.NoError(t, err)
		// A twin that holds only the dominant kind has the same share, so it is
		// first for being older. Were u ordered by its other kind, u would be.
		twin, err := h.Add(0, u.weight)
		require.NoError(t, err)
		var same resources.Vector
		same[want] = u.usage[want]
		require.NoError(t, h.Charge(twin, same))
		u.handle, err = h.Add(1, u.weight)
		require.NoError(t, err)
		require.NoError(t, h.Charge(u.handle, u.usage))
		_, kind, ok := h.Share(u.handle)
		require.True(t, ok)
		require.Equal(t, want, kind)
		require.Equal(t, []drf.User{twin, u.handle}, slices.Collect(h.All()))
	})
}

// A cell that is full for long, with more users than one step of growth.
func TestPick_InAFullCellAgreesWithAScan(t *testing.T) {
	const n = 150
	r := rand.New(rand.NewPCG(3, 4))
	m := &model{total: resources.Vector{3 * n, 0, 2 * n}}
	h, err := drf.New[int](m.total)
	require.NoError(t, err)
	h.SetMaxSkips(-1)
	for i := range n {
		u := &modelUser{weight: float64(1 + r.IntN(3)), demand: resources.Vector{1 + r.Int64N(9), 0, r.Int64N(5)}}
		u.handle, err = h.Add(i, u.weight)
		require.NoError(t, err)
		require.NoError(t, h.Demand(u.handle, u.demand))
		m.users = append(m.users, u)
	}
	free := m.total
	fill := func() {
		for {
			want, wantOK := m.pick(free)
			got, ok := h.Pick(free)
			require.Equal(t, wantOK, ok)
			require.Equal(t, want, got)
			if !ok {
				return
			}
			i, _ := h.Key(got)
			u := m.users[i]
			require.NoError(t, h.Charge(got, u.demand))
			u.usage = u.usage.Add(u.demand)
			free, ok = free.Sub(u.demand)
			require.True(t, ok)
		}
	}
	fill()
	for range 200 {
		u := m.users[r.IntN(n)]
		if left, ok := u.usage.Sub(u.demand); ok { // one of its tasks ends
			require.NoError(t, h.Credit(u.handle, u.demand))
			u.usage, free = left, free.Add(u.demand)
		}
		fill()
	}
}

// Totals that keep changing, by little and by much, among so many users that
// few of them are put right at a time.
func TestPick_WhileTotalsChangeAgreesWithAScan(t *testing.T) {
	const n = 150
	for _, after := range []bool{false, true} {
		r := rand.New(rand.NewPCG(5, 6))
		m := &model{total: resources.Vector{1000, 1000, 1000}, after: after}
		h, err := drf.New[int](m.total)
		require.NoError(t, err)
		h.SetMaxSkips(-1)
		h.OrderAfter(after)
		some := func(most int64) resources.Vector {
			return resources.Vector{r.Int64N(most), r.Int64N(most), r.Int64N(most)}
		}
		for i := range n {
			u := &modelUser{weight: float64(1 + r.IntN(3)), demand: some(9).Add(resources.Vector{1}), usage: some(50)}
			u.handle, err = h.Add(i, u.weight)
			require.NoError(t, err)
			require.NoError(t, h.Charge(u.handle, u.usage))
			require.NoError(t, h.Demand(u.handle, u.demand))
			m.users = append(m.users, u)
		}
		for step := range 300 {
			switch k := r.IntN(3); {
			case step%50 == 0:
				m.total[k] = 1 + r.Int64N(1000)
			case step%70 == 0:
				m.total[k] = 0
				m.total[(k+1)%3]++
			default:
				m.total[k]++
			}
			require.NoError(t, h.SetTotal(m.total))
			u := m.users[r.IntN(n)]
			require.NoError(t, h.Credit(u.handle, u.usage))
			u.usage = some(50)
			require.NoError(t, h.Charge(u.handle, u.usage))
			free, modulo := some(12), r.IntN(4)
			fits := func(u drf.User) bool { i, _ := h.Key(u); return i%4 >= modulo }
			want, wantOK := m.pickWhere(free, fits)
			got, ok := h.PickWhere(free, fits)
			require.Equal(t, wantOK, ok)
			require.Equal(t, want, got)
			want, wantOK = m.pick(free)
			got, ok = h.Pick(free)
			require.Equal(t, wantOK, ok)
			require.Equal(t, want, got)
		}
	}
}
