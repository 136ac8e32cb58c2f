package drf_test

import (
	"math/big"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/cellsched/cellsched/drf"
	"github.com/cellsched/cellsched/resources"
)

// model is the definition: shares as rationals, a look at all users.
type model struct {
	total resources.Vector
	users []*modelUser // in the order they were added
	after bool         // users are ordered by their share with their next task
}

type modelUser struct {
	handle        drf.User
	key           string
	weight        float64
	weights       *[resources.MaxKinds]float64 // instead, by kind
	usage, demand resources.Vector             // a zero demand is none
}

func (u *modelUser) weightOf(kind int) float64 {
	if u.weights != nil {
		return u.weights[kind]
	}
	return u.weight
}

func rat(n int64) *big.Rat { return new(big.Rat).SetInt64(n) }

func (m *model) share(u *modelUser) (*big.Rat, resources.Kind) {
	return m.shareWith(u, resources.Vector{})
}

// shareWith is the share of u with more than it has.
func (m *model) shareWith(u *modelUser, more resources.Vector) (*big.Rat, resources.Kind) {
	best, kind := new(big.Rat), 0
	for k, q := range u.usage {
		if m.total[k] == 0 {
			continue
		}
		s := new(big.Rat).Add(rat(q), rat(more[k]))
		s.Quo(s, rat(m.total[k]))
		if s.Quo(s, new(big.Rat).SetFloat64(u.weightOf(k))); s.Cmp(best) > 0 {
			best, kind = s, k
		}
	}
	return best, resources.Kind(kind)
}

// order is all users by share; the sort is stable, so that ties keep the order
// of registration.
func (m *model) order() []*modelUser {
	users := slices.Clone(m.users)
	shares := make(map[*modelUser]*big.Rat)
	for _, u := range users {
		var next resources.Vector
		if m.after {
			next = u.demand
		}
		shares[u], _ = m.shareWith(u, next)
	}
	slices.SortStableFunc(users, func(a, b *modelUser) int { return shares[a].Cmp(shares[b]) })
	return users
}

func (m *model) pick(free resources.Vector) (drf.User, bool) {
	return m.pickWhere(free, func(drf.User) bool { return true })
}

func (m *model) pickWhere(free resources.Vector, fits func(drf.User) bool) (drf.User, bool) {
	for _, u := range m.order() {
		if u.demand != (resources.Vector{}) && u.demand.Fits(free) && fits(u.handle) {
			return u.handle, true
		}
	}
	return drf.User{}, false
}

// amounts are small, so that ties are common, or close to the limit.
func amounts(zero int64) *rapid.Generator[int64] {
	return rapid.OneOf(
		rapid.Int64Range(zero, 4),
		rapid.Int64Range(zero, 4),
		rapid.Int64Range(zero, 1<<20),
		rapid.Int64Range(resources.MaxQuantity/8-3, resources.MaxQuantity/8),
	)
}

// plenty is room for any task.
var plenty = resources.Vector{1 << 62, 1 << 62, 1 << 62, 1 << 62, 1 << 62, 1 << 62, 1 << 62, 1 << 62}

func vectors() *rapid.Generator[resources.Vector] {
	return rapid.Custom(func(t *rapid.T) (v resources.Vector) {
		for _, k := range []int{0, 2, 7} { // neither all kinds nor adjacent ones
			v[k] = amounts(0).Draw(t, "amount")
		}
		return v
	})
}

func weights() *rapid.Generator[float64] {
	return rapid.OneOf(
		rapid.Just(1.0),
		rapid.SampledFrom([]float64{1, 2, 3, 4, 0.1, 1.0 / 3, drf.MinWeight, drf.MaxWeight}),
		rapid.Float64Range(drf.MinWeight, drf.MaxWeight),
	)
}

func TestHeap_AgreesWithTheDefinition(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		some := vectors().Filter(func(v resources.Vector) bool { return v != resources.Vector{} })
		m := &model{total: some.Draw(t, "total")}
		h, err := drf.New[string](m.total)
		require.NoError(t, err)
		h.SetMaxSkips(-1)
		var gone []drf.User
		one := func(t *rapid.T) *modelUser {
			if len(m.users) == 0 {
				t.Skip("no user there")
			}
			return m.users[rapid.IntRange(0, len(m.users)-1).Draw(t, "user")]
		}
		add := func(t *rapid.T) {
			key, w := rapid.StringN(0, 4, -1).Draw(t, "key"), weights().Draw(t, "weight")
			u, err := h.Add(key, w)
			if slices.ContainsFunc(m.users, func(u *modelUser) bool { return u.key == key }) {
				require.ErrorIs(t, err, drf.ErrKey)
				return
			}
			require.NoError(t, err)
			m.users = append(m.users, &modelUser{handle: u, key: key, weight: w})
		}
		demand := func(t *rapid.T) {
			u, v := one(t), some.Draw(t, "demand")
			require.NoError(t, h.Demand(u.handle, v))
			u.demand = v
		}
		charge := func(t *rapid.T) {
			u, v := one(t), vectors().Draw(t, "charge")
			sum := u.usage
			for k := range sum {
				if sum[k] += v[k]; sum[k] > resources.MaxQuantity {
					require.ErrorIs(t, h.Charge(u.handle, v), resources.ErrQuantity)
					return
				}
			}
			require.NoError(t, h.Charge(u.handle, v))
			u.usage = sum
		}
		t.Repeat(map[string]func(*rapid.T){
			// Actions that make the state interesting come up more often.
			"add": add, "add another": add,
			"demand": demand, "demand something else": demand,
			"charge": charge, "charge more": charge,
			"remove": func(t *rapid.T) {
				u := one(t)
				if u.usage != (resources.Vector{}) {
					require.ErrorIs(t, h.Remove(u.handle), drf.ErrHeld)
					return
				}
				require.NoError(t, h.Remove(u.handle))
				m.users = slices.DeleteFunc(m.users, func(v *modelUser) bool { return u == v })
				gone = append(gone, u.handle)
			},
			"yield": func(t *rapid.T) {
				u := one(t)
				require.NoError(t, h.Yield(u.handle))
				m.users = append(slices.DeleteFunc(m.users, func(v *modelUser) bool { return u == v }), u)
			},
			"park": func(t *rapid.T) {
				u := one(t)
				require.NoError(t, h.Park(u.handle))
				u.demand = resources.Vector{}
			},
			"credit all": func(t *rapid.T) {
				u := one(t)
				require.NoError(t, h.Credit(u.handle, u.usage))
				u.usage = resources.Vector{}
			},
			"credit": func(t *rapid.T) {
				u, v := one(t), vectors().Draw(t, "credit")
				left, ok := u.usage.Sub(v)
				if !ok {
					require.ErrorIs(t, h.Credit(u.handle, v), drf.ErrHeld)
					return
				}
				require.NoError(t, h.Credit(u.handle, v))
				u.usage = left
			},
			"weight": func(t *rapid.T) {
				u, w := one(t), weights().Draw(t, "weight")
				require.NoError(t, h.SetWeight(u.handle, w))
				u.weight, u.weights = w, nil
			},
			"weights": func(t *rapid.T) {
				u := one(t)
				var w [resources.MaxKinds]float64
				for k := range w {
					w[k] = weights().Draw(t, "weight of a kind")
				}
				require.NoError(t, h.SetWeights(u.handle, w))
				u.weights = &w
			},
			"take": func(t *rapid.T) {
				free := rapid.OneOf(rapid.Just(plenty), vectors()).Draw(t, "free")
				want, wantOK := m.pick(free)
				i := slices.IndexFunc(m.users, func(u *modelUser) bool { return u.handle == want })
				if wantOK {
					sum := m.users[i].usage.Add(m.users[i].demand)
					if slices.Max(sum[:]) == resources.MaxQuantity {
						t.Skip("as much as a user may hold, or more")
					}
				}
				got, ok := h.Take(free)
				require.Equal(t, wantOK, ok)
				require.Equal(t, want, got)
				if ok {
					m.users[i].usage = m.users[i].usage.Add(m.users[i].demand)
				}
			},
			"order after": func(t *rapid.T) {
				m.after = rapid.Bool().Draw(t, "after")
				h.OrderAfter(m.after)
			},
			"total": func(t *rapid.T) {
				m.total = some.Draw(t, "total")
				require.NoError(t, h.SetTotal(m.total))
			},
			"ask for the gone": func(t *rapid.T) {
				for _, u := range gone {
					require.ErrorIs(t, h.Remove(u), drf.ErrUser)
					require.ErrorIs(t, h.SetWeight(u, 1), drf.ErrUser)
					require.ErrorIs(t, h.SetWeights(u, [resources.MaxKinds]float64{}), drf.ErrUser)
					require.ErrorIs(t, h.Demand(u, resources.Vector{1}), drf.ErrUser)
					require.ErrorIs(t, h.Park(u), drf.ErrUser)
					require.ErrorIs(t, h.Yield(u), drf.ErrUser)
					require.ErrorIs(t, h.Charge(u, resources.Vector{}), drf.ErrUser)
					require.ErrorIs(t, h.Credit(u, resources.Vector{}), drf.ErrUser)
				}
			},
			"": func(t *rapid.T) {
				// Not after every step, so that totals and users change more than
				// once before a look. The walk puts all in order, and picks are not
				// to depend on that.
				if rapid.Bool().Draw(t, "pick") {
					free := rapid.OneOf(rapid.Just(plenty), vectors()).Draw(t, "free")
					want, wantOK := m.pick(free)
					got, ok := h.Pick(free)
					require.Equal(t, wantOK, ok)
					require.Equal(t, want, got)
				}
				if rapid.Bool().Draw(t, "pick where") {
					some, free := rapid.Uint64().Draw(t, "on machines"), rapid.OneOf(rapid.Just(plenty), vectors()).Draw(t, "most")
					fits := make(map[drf.User]bool)
					for i, u := range m.users {
						fits[u.handle] = some>>(i%64)&1 == 1
					}
					want, wantOK := m.pickWhere(free, func(u drf.User) bool { return fits[u] })
					got, ok := h.PickWhere(free, func(u drf.User) bool { return fits[u] })
					require.Equal(t, wantOK, ok)
					require.Equal(t, want, got)
				}
				if rapid.Bool().Draw(t, "do not walk") {
					return
				}
				var want []drf.User
				for _, u := range m.order() {
					want = append(want, u.handle)
				}
				require.Equal(t, want, slices.Collect(h.All()))
				require.Equal(t, len(m.users), h.Len())
				for _, u := range m.users {
					handle, ok := h.User(u.key)
					require.True(t, ok)
					require.Equal(t, u.handle, handle)
					key, ok := h.Key(u.handle)
					require.True(t, ok)
					require.Equal(t, u.key, key)
					usage, ok := h.Usage(u.handle)
					require.True(t, ok)
					require.Equal(t, u.usage, usage)
					share, kind, ok := h.Share(u.handle)
					require.True(t, ok)
					exact, wantKind := m.share(u)
					require.Equal(t, wantKind, kind)
					near, _ := exact.Float64()
					require.InDelta(t, near, share, near*0x1p-50)
				}
			},
		})
	})
}
