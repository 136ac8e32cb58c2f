package drf_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cellsched/cellsched/drf"
	"github.com/cellsched/cellsched/resources"
)

// waiting is a heap in which user 0 wants three units and user 1 one, in that
// order. The first is passed over if there is room for two.
func waiting(t *testing.T) (h *drf.Heap[int], large, small drf.User) {
	t.Helper()
	h, users := newHeap(t, resources.Vector{10}, 1, 1)
	require.NoError(t, h.Demand(users[0], resources.Vector{3}))
	return h, users[0], users[1]
}

func requireSkips(t *testing.T, h *drf.Heap[int], u drf.User, want int) {
	t.Helper()
	skips, ok := h.Skips(u)
	require.True(t, ok)
	require.Equal(t, want, skips)
}

// Passed over is the first user of the very pick that returned the charged user.
func TestSkips_CountsPicksOfOthersThatWereCharged(t *testing.T) {
	unit, two := resources.Vector{1}, resources.Vector{2}
	tests := map[string]struct {
		do   func(t *testing.T, h *drf.Heap[int], large, small drf.User)
		want int
	}{
		"picked and charged": {func(t *testing.T, h *drf.Heap[int], _, small drf.User) {
			t.Helper()
			_, ok := h.Pick(two)
			require.True(t, ok)
			require.NoError(t, h.Charge(small, unit))
		}, 1},
		"charged twice for one pick": {func(t *testing.T, h *drf.Heap[int], _, small drf.User) {
			t.Helper()
			_, ok := h.Pick(two)
			require.True(t, ok)
			require.NoError(t, h.Charge(small, unit))
			require.NoError(t, h.Charge(small, unit))
		}, 1},
		"picked twice and charged once": {func(t *testing.T, h *drf.Heap[int], _, small drf.User) {
			t.Helper()
			h.Pick(two)
			h.Pick(two)
			require.NoError(t, h.Charge(small, unit))
		}, 1},
		"no user picked": {func(t *testing.T, h *drf.Heap[int], _, small drf.User) {
			t.Helper()
			require.NoError(t, h.Demand(small, two))
			_, ok := h.Pick(unit)
			require.False(t, ok)
			require.NoError(t, h.Charge(small, unit))
		}, 0},
		"no user picked, then itself, then the next": {func(t *testing.T, h *drf.Heap[int], large, small drf.User) {
			t.Helper()
			require.NoError(t, h.Demand(small, resources.Vector{3}))
			_, ok := h.Take(two)
			require.False(t, ok)
			for _, want := range []drf.User{large, small} {
				u, ok := h.Take(resources.Vector{7})
				require.True(t, ok)
				require.Equal(t, want, u)
			}
		}, 0},
		"another charged than was picked": {func(t *testing.T, h *drf.Heap[int], _, _ drf.User) {
			t.Helper()
			other, err := h.Add(2, 1)
			require.NoError(t, err)
			_, ok := h.Pick(two)
			require.True(t, ok)
			require.NoError(t, h.Charge(other, unit))
		}, 0},
		"itself charged instead": {func(t *testing.T, h *drf.Heap[int], large, small drf.User) {
			t.Helper()
			_, ok := h.Pick(two)
			require.True(t, ok)
			require.NoError(t, h.Charge(large, unit))
			require.NoError(t, h.Charge(small, unit))
		}, 0},
		"picked before a pick in which all fits": {func(t *testing.T, h *drf.Heap[int], large, small drf.User) {
			t.Helper()
			h.Pick(two)
			u, ok := h.Pick(resources.Vector{10})
			require.True(t, ok)
			require.Equal(t, large, u)
			require.NoError(t, h.Charge(small, unit))
		}, 0},
		"parked meanwhile": {func(t *testing.T, h *drf.Heap[int], large, small drf.User) {
			t.Helper()
			_, ok := h.Pick(two)
			require.True(t, ok)
			require.NoError(t, h.Park(large))
			require.NoError(t, h.Charge(small, unit))
			require.NoError(t, h.Demand(large, resources.Vector{3}))
		}, 0},
		"the picked one gone, another in its slot": {func(t *testing.T, h *drf.Heap[int], _, small drf.User) {
			t.Helper()
			_, ok := h.Pick(two)
			require.True(t, ok)
			require.NoError(t, h.Remove(small))
			again, err := h.Add(1, 1)
			require.NoError(t, err)
			require.NoError(t, h.Charge(again, unit))
		}, 0},
		"on machines": {func(t *testing.T, h *drf.Heap[int], large, small drf.User) {
			t.Helper()
			u, ok := h.PickWhere(resources.Vector{10}, func(u drf.User) bool { return u != large })
			require.True(t, ok)
			require.Equal(t, small, u)
			require.NoError(t, h.Charge(small, unit))
		}, 1},
		"no user picked on machines": {func(t *testing.T, h *drf.Heap[int], _, small drf.User) {
			t.Helper()
			_, ok := h.PickWhere(resources.Vector{10}, func(drf.User) bool { return false })
			require.False(t, ok)
			require.NoError(t, h.Charge(small, unit))
		}, 0},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			h, large, small := waiting(t)
			test.do(t, h, large, small)
			requireSkips(t, h, large, test.want)
		})
	}
}

// The count has an end, and patience has the same.
func TestSetMaxSkips_CountsNoFurtherThanSaid(t *testing.T) {
	h, large, small := waiting(t)
	take := func() {
		if u, ok := h.Take(resources.Vector{2}); !ok || u != small || h.Credit(small, resources.Vector{1}) != nil {
			t.Fatal("want the small one each time")
		}
	}
	require.NoError(t, h.Charge(small, resources.Vector{1}))
	h.SetMaxSkips(100_000)
	for range 65_534 {
		take()
	}
	_, ok := h.Overdue()
	require.False(t, ok)
	take()
	held, ok := h.Overdue()
	require.True(t, ok)
	require.Equal(t, large, held)

	h.SetMaxSkips(-1)
	_, ok = h.Overdue()
	require.False(t, ok)
	for range 5 {
		take()
	}
	requireSkips(t, h, large, 65_535)
}

// An overdue user does not make invalid room valid.
func TestPick_FindsNoUserForInvalidRoomBesideAnOverdueUser(t *testing.T) {
	h, users := newHeap(t, resources.Vector{10, 10}, 1, 1)
	h.SetMaxSkips(0)
	require.NoError(t, h.Demand(users[0], resources.Vector{8, 1}))
	for range 2 { // the pick that names the user, and the one after it
		_, ok := h.Pick(resources.Vector{9, -1})
		require.False(t, ok)
	}
	held, ok := h.Overdue()
	require.True(t, ok)
	require.Equal(t, users[0], held)
}

// A first user that can never be served does not stand for the others. They are
// counted as passed over, and become overdue, as if it were not there.
func TestHeap_AnImpossibleDemandDoesNotBlock(t *testing.T) {
	const most = resources.MaxQuantity
	tests := map[string]func(t *testing.T, h *drf.Heap[int], never drf.User){
		"more than the total": func(t *testing.T, h *drf.Heap[int], never drf.User) {
			t.Helper()
			require.NoError(t, h.Demand(never, resources.Vector{9}))
		},
		"more than any machine": func(t *testing.T, h *drf.Heap[int], never drf.User) {
			t.Helper()
			require.NoError(t, h.SetMachines(resources.Vector{4}, resources.Vector{4, 1}))
			require.NoError(t, h.Demand(never, resources.Vector{5}))
		},
		"fits each machine in one kind only": func(t *testing.T, h *drf.Heap[int], never drf.User) {
			t.Helper()
			require.NoError(t, h.SetMachines(resources.Vector{4, 1}, resources.Vector{1, 4}))
			require.NoError(t, h.Demand(never, resources.Vector{3, 3}))
		},
		"more than a user may hold": func(t *testing.T, h *drf.Heap[int], never drf.User) {
			t.Helper()
			require.NoError(t, h.Charge(never, resources.Vector{0, 0, most}))
			require.NoError(t, h.Demand(never, resources.Vector{3, 0, 1}))
			require.NoError(t, h.SetTotal(resources.Vector{8, 8, most}))
			require.NoError(t, h.SetWeights(never, [...]float64{1, 1, 1e6, 1, 1, 1, 1, 1}))
		},
	}
	for name, impossible := range tests {
		for _, where := range []bool{false, true} {
			t.Run(name, func(t *testing.T) {
				h, users := newHeap(t, resources.Vector{8, 8}, 1, 1, 1)
				never, large, small := users[0], users[1], users[2]
				const patience = 3
				h.SetMaxSkips(patience)
				require.NoError(t, h.Charge(small, resources.Vector{8}))
				impossible(t, h, never)
				require.NoError(t, h.Charge(large, resources.Vector{0, 1})) // behind never
				require.NoError(t, h.Demand(large, resources.Vector{3}))
				pick := func(free int64) (drf.User, bool) {
					room := resources.Vector{free, 8, 0}
					if where {
						return h.PickWhere(room, func(u drf.User) bool { return u != never && (u != large || free >= 3) })
					}
					return h.Pick(room)
				}
				for i := range patience {
					requireSkips(t, h, large, i)
					u, ok := pick(1)
					require.True(t, ok)
					require.Equal(t, small, u)
					require.NoError(t, h.Charge(small, resources.Vector{}))
				}
				pick(1)
				held, ok := h.Overdue()
				require.True(t, ok)
				require.Equal(t, large, held)
				requireSkips(t, h, never, 0)
				require.NoError(t, h.Charge(large, resources.Vector{3}))
				_, ok = h.Overdue()
				require.False(t, ok)
			})
		}
	}
}

// A user that comes after an impossible one and fits was not passed over.
func TestPick_ImpossibleDemandIsNotCountedAsSkipped(t *testing.T) {
	h, users := newHeap(t, resources.Vector{8}, 1, 1)
	h.SetMaxSkips(0)
	require.NoError(t, h.Demand(users[0], resources.Vector{9}))
	for range 2 {
		u, ok := h.Take(resources.Vector{8})
		require.True(t, ok)
		require.Equal(t, users[1], u)
		_, ok = h.Overdue()
		require.False(t, ok)
	}
}

// A user is overdue no more once the machines have gone that could hold its demand. Bad
// sizes change nothing.
func TestSetMachines_BoundsTheDemandsOfOverdueUsers(t *testing.T) {
	h, large, _ := waiting(t)
	h.SetMaxSkips(0)
	sizes := []resources.Vector{{2}, {3}}
	require.NoError(t, h.SetMachines(sizes...))
	sizes[1] = resources.Vector{1} // the caller's own again
	require.ErrorIs(t, h.SetMachines(resources.Vector{2}, resources.Vector{-5}), resources.ErrQuantity)
	require.ErrorIs(t, h.SetMachines(resources.Vector{}), drf.ErrEmpty)
	_, ok := h.Pick(resources.Vector{2})
	require.True(t, ok, "room is the caller's to keep")
	held, ok := h.Overdue()
	require.True(t, ok)
	require.Equal(t, large, held)

	require.NoError(t, h.SetMachines(resources.Vector{2}))
	_, ok = h.Overdue()
	require.False(t, ok)
	_, ok = h.Pick(resources.Vector{2})
	require.True(t, ok)

	require.NoError(t, h.SetMachines())
	_, ok = h.Pick(resources.Vector{2})
	require.True(t, ok)
	_, ok = h.Overdue()
	require.True(t, ok)
}

// Fits is not called for a user that exceeds most, overdue or not.
func TestPickWhere_CallsFitsOnlyWithinMost(t *testing.T) {
	h, large, small := waiting(t)
	h.SetMaxSkips(0)
	for range 2 {
		u, ok := h.PickWhere(resources.Vector{2}, func(u drf.User) bool {
			require.NotEqual(t, large, u)
			return true
		})
		require.True(t, ok)
		require.Equal(t, small, u)
		held, ok := h.Overdue()
		require.True(t, ok)
		require.Equal(t, large, held)
	}
}

// A user at the limit of usage is left out, and no other.
func TestTake_GoesOnToAChargeableUser(t *testing.T) {
	const most = resources.MaxQuantity
	h, users := newHeap(t, resources.Vector{most, most}, 1e6, 1e-6)
	full := resources.Vector{most}
	require.NoError(t, h.Charge(users[0], full))
	require.NoError(t, h.Charge(users[1], resources.Vector{most - 1}))
	u, ok := h.Take(full)
	require.True(t, ok)
	require.Equal(t, users[1], u)
	_, ok = h.Take(full)
	require.False(t, ok, "now neither can")
	for _, u := range users {
		usage, _ := h.Usage(u)
		require.Equal(t, full, usage)
	}
}

// A user holds all that it can, and wants as much again: its share with the next
// task is 2^63 of 2^62.
func TestOrderAfter_CountsPastTheLargestUsage(t *testing.T) {
	const most = resources.MaxQuantity
	h, users := newHeap(t, resources.Vector{most}, 1, 1)
	require.NoError(t, h.Charge(users[0], resources.Vector{most}))
	require.NoError(t, h.Demand(users[0], resources.Vector{most}))
	h.OrderAfter(true)
	u, ok := h.Pick(resources.Vector{most})
	require.True(t, ok)
	require.Equal(t, users[1], u)
}
