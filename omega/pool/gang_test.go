package pool_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/cellsched/cellsched/locality"
	"github.com/cellsched/cellsched/omega/pool"
	"github.com/cellsched/cellsched/resources"
)

func TestAcquireAll_HoldsNothingWhileItWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPool(t, pool.Config{Machines: machines(2, 2)})
		one := acquire(t, p, "a", 2)
		got := make(chan []pool.Lease, 2)
		for _, name := range []string{"b", "c"} { // each wants both machines
			go func() {
				leases, _ := all(t.Context(), p, name, []resources.Vector{v(1), v(2)})
				got <- leases
			}()
		}
		synctest.Wait()
		require.Len(t, p.Waiters(), 2)
		require.Equal(t, v(2, 4), p.Stats().Free, "nothing is taken before all is there")
		release(t, one)
		for range 2 {
			leases := <-got
			require.Len(t, leases, 2)
			require.Equal(t, v(1), leases[0].Need())
			require.Equal(t, v(2), leases[1].Need())
			require.NotEqual(t, leases[0].Node(), leases[1].Node())
			release(t, leases...)
		}
	})
}

// What first fit finds depends on the order of the machines, and is no better
// for more room; a gang that was accepted is placed all the same.
func TestAcquireAll_IsPlacedAtTheLatestWhenItsMachinesAreEmpty(t *testing.T) {
	tests := map[string]struct {
		machines []int64
		needs    []resources.Vector
		prefer   []locality.Node
		stays    int64 // taken on the last machine by another tenant
	}{
		"packs by number, not by level": {[]int64{4, 6}, []resources.Vector{v(4), v(3), v(3)}, []locality.Node{1}, 0},
		"packs on two, not on three":    {[]int64{6, 4, 3}, []resources.Vector{v(4), v(3), v(3)}, nil, 1},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p := newPool(t, pool.Config{Machines: machines(test.machines...)})
				// In an empty pool that is at once.
				ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
				defer cancel()
				leases, err := all(ctx, p, "gang", test.needs, test.prefer...)
				require.NoError(t, err)
				release(t, leases...)

				var others []pool.Lease
				for i, c := range test.machines {
					if i == len(test.machines)-1 {
						c -= test.stays
					}
					others = append(others, acquire(t, p, "others", c))
				}
				var stays []pool.Lease
				if test.stays > 0 {
					stays = append(stays, acquire(t, p, "others", test.stays))
				}
				got := make(chan []pool.Lease, 1)
				go func() {
					leases, _ := all(context.Background(), p, "gang", test.needs, test.prefer...)
					got <- leases
				}()
				synctest.Wait()
				release(t, others...)
				release(t, stays...)
				leases = <-got
				require.Len(t, leases, len(test.needs))
				release(t, leases...)
			})
		})
	}
}
