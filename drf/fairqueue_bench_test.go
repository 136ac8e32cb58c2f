package drf_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/cellsched/cellsched/drf"
	"github.com/cellsched/cellsched/resources"
)

// A task ends and the next one starts, with all tenants waiting.
func BenchmarkFairQueueTurn(b *testing.B) {
	for _, tenants := range []int{20, 1000, 100_000} {
		for _, groups := range []int{0, 10} {
			b.Run(fmt.Sprintf("tenants=%d/groups=%d", tenants, groups), func(b *testing.B) {
				const slots = 8
				need := resources.Vector{1, 2}
				q, err := drf.NewFairQueue(resources.Vector{slots, 4 * slots})
				require.NoError(b, err)
				parents := make([]drf.User, max(groups, 1))
				for g := range groups {
					parents[g], err = q.Add(drf.User{}, 1)
					require.NoError(b, err)
				}
				for i := range tenants {
					u, err := q.Add(parents[i%len(parents)], 1)
					require.NoError(b, err)
					require.NoError(b, q.Wait(u, need, 0))
				}
				now := time.Duration(0)
				runs := make([]drf.Run, slots)
				fits := func(drf.User) bool { return true }
				start := func(i int) {
					u, ok := q.Pick(now, nil, fits)
					runs[i].Need = need
					if err := q.Start(u, &runs[i], now); !ok || err != nil {
						b.Fatal(ok, err)
					}
				}
				for i := range slots {
					start(i)
				}
				b.ReportAllocs()
				for i := 0; b.Loop(); i = (i + 1) % slots {
					now += time.Millisecond
					if err := q.End(&runs[i], now); err != nil {
						b.Fatal(err)
					}
					start(i)
				}
			})
		}
	}
}
