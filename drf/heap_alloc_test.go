package drf_test

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cellsched/cellsched/drf"
	"github.com/cellsched/cellsched/resources"
)

func TestHeap_DoesNotAllocateOnceItsUsersAreThere(t *testing.T) {
	c := newBenchCell(t, 1_000, true)
	c.running = slices.Grow(c.running, len(c.running))
	u, demand := c.users[7], c.demands[7]
	held, _ := c.heap.Usage(u)
	tests := map[string]func(){
		"pick, charge, credit": c.step,
		"park and demand":      func() { _ = c.heap.Park(u); _ = c.heap.Demand(u, demand) },
		"weight":               func() { _ = c.heap.SetWeight(u, 2); _ = c.heap.SetWeight(u, 3) },
		"totals": func() {
			_ = c.heap.SetTotal(c.total.Add(held))
			c.heap.Pick(c.free)
			_ = c.heap.SetTotal(c.total)
			c.heap.Pick(c.free)
		},
		"queries": func() { c.heap.Share(u); c.heap.Usage(u); c.heap.Key(u); c.heap.User(7) },
	}
	for name, f := range tests {
		t.Run(name, func(t *testing.T) { require.Zero(t, testing.AllocsPerRun(200, f)) })
	}
}

// A heap that is told of users beforehand adds them without an allocation, and orders
// those that it has as before.
func TestHeap_GrowsAtOnce(t *testing.T) {
	const users = 1000
	for _, had := range []int{0, 1, 8, 9, 100} {
		h, err := drf.New[int](resources.Vector{1 << 20, 1 << 20})
		require.NoError(t, err)
		other, err := drf.New[int](resources.Vector{1 << 20, 1 << 20})
		require.NoError(t, err)
		add := func(h *drf.Heap[int], i int) {
			u, err := h.Add(i, float64(1+i%3))
			require.NoError(t, err)
			require.NoError(t, h.Demand(u, resources.Vector{int64(1 + i%7), int64(1 + i%5)}))
			require.NoError(t, h.Charge(u, resources.Vector{int64(i * 31 % 97), int64(i * 17 % 89)}))
		}
		for i := range had {
			add(h, i)
			add(other, i)
		}
		h.Grow(-1)
		h.Grow(users)
		next := had
		if had == 0 { // the map of a heap with users grows by itself
			allocs := testing.AllocsPerRun(1, func() {
				for range users / 2 {
					_, err := h.Add(next, 1)
					require.NoError(t, err)
					next++
				}
			})
			require.Less(t, allocs, 5.0)
			continue
		}
		for ; next < had+users; next++ {
			add(h, next)
			add(other, next)
		}
		for range 5 * users {
			want, ok := other.Take(resources.Uniform(resources.MaxQuantity))
			require.True(t, ok)
			got, ok := h.Take(resources.Uniform(resources.MaxQuantity))
			require.True(t, ok)
			require.Equal(t, want.Index(), got.Index(), "%d users before", had)
		}
	}
	var none *drf.Heap[int]
	none.Grow(10)
}
