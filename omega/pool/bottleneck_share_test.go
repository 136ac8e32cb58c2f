package pool_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/cellsched/cellsched/omega"
	"github.com/cellsched/cellsched/omega/pool"
	"github.com/cellsched/cellsched/resources"
)

// Tenants of GPU tasks share two GPUs by weight beside a tenant that takes the CPU that
// they leave.
func TestPool_SlotTimeFollowsWeightsAtABottleneckBesideLeftovers(t *testing.T) {
	for _, weights := range [][]float64{{2, 1}, {3, 1}, {4, 3, 2, 1}} {
		for _, lengths := range [][2]time.Duration{{10, 10}, {20, 10}, {10, 30}} { // of the first, of the leftovers
			for _, patience := range []time.Duration{0, -1} {
				t.Run(fmt.Sprint(weights, lengths, patience), func(t *testing.T) {
					synctest.Test(t, func(t *testing.T) {
						space, err := resources.NewSpace(resources.CPU(), resources.Dimension{Name: "gpu"})
						require.NoError(t, err)
						p := newPool(t, pool.Config{
							Space: space, Patience: patience,
							Machines: []omega.Machine{
								{Name: "host", Capacity: resources.Vector{4000}},
								{Name: "gpu0", Capacity: resources.Vector{0, 1000}},
								{Name: "gpu1", Capacity: resources.Vector{0, 1000}},
							},
						})
						ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
						defer cancel()
						var wg sync.WaitGroup
						var mu sync.Mutex
						work := func(name string, weight float64, length time.Duration, needs ...resources.Vector) *time.Duration {
							tenant(t, p, name, pool.Settings{Weight: weight})
							ran := new(time.Duration)
							for range 40 {
								wg.Go(func() {
									for p.Do(ctx, name, pool.Request{Needs: needs}, func(context.Context, []pool.Lease) error {
										time.Sleep(length)
										mu.Lock()
										*ran += length
										mu.Unlock()
										return nil
									}) == nil {
									}
								})
							}
							return ran
						}
						ran := make([]*time.Duration, len(weights))
						for i, w := range weights {
							length := 10 * time.Millisecond
							if i == 0 {
								length = lengths[0] * time.Millisecond
							}
							ran[i] = work(fmt.Sprint("gpu", i), w, length, resources.Vector{1000}, resources.Vector{0, 1000})
						}
						work("cpu", 1, lengths[1]*time.Millisecond, resources.Vector{1000})
						wg.Wait()
						sum, all := 0.0, 0.0
						for i, w := range weights {
							sum, all = sum+w, all+ran[i].Seconds()
						}
						for i, w := range weights {
							require.InEpsilon(t, w/sum, ran[i].Seconds()/all, 0.1, "tenant %d", i)
						}
					})
				})
			}
		}
	}
}
