package loop_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cellsched/cellsched/omega"
	"github.com/cellsched/cellsched/omega/loop"
	"github.com/cellsched/cellsched/resources"
)

// A job from its submission to the last of its tasks, on a cell that is kept
// half full: the oldest job is released for each one that is placed.
func BenchmarkStep(b *testing.B) {
	for _, machines := range []int{500, 5000} {
		for _, tasks := range []int{1, 100} {
			b.Run(fmt.Sprintf("machines=%d/tasks=%d", machines, tasks), func(b *testing.B) {
				cell, err := omega.NewCell(omega.Config{})
				require.NoError(b, err)
				for i := range machines {
					_, err := cell.Add(omega.Machine{Name: fmt.Sprint(i), Capacity: resources.Vector{16_000, 64 << 30}})
					require.NoError(b, err)
				}
				s, err := cell.Register("bench", omega.Limits{})
				require.NoError(b, err)
				live := machines * 8 / tasks
				held := make([][]omega.AllocationID, 0, live)
				oldest := 0
				l, err := loop.New(loop.Config[int]{
					Store: omega.Local{Scheduler: s},
					Observe: func(e loop.Event[int]) {
						if e.Kind != loop.Placed {
							return
						}
						if len(held) < live {
							held = append(held, e.Allocations)
							return
						}
						for _, a := range held[oldest] {
							if err := s.Release(a); err != nil {
								b.Fatal(err)
							}
						}
						held[oldest] = e.Allocations
						oldest = (oldest + 1) % live
					},
				})
				require.NoError(b, err)
				one := func() {
					if _, err := l.Submit(epoch, loop.Job[int]{Need: resources.Vector{1000, 4 << 30}, Tasks: tasks}); err != nil {
						b.Fatal(err)
					}
					if _, _, err := l.Step(b.Context(), epoch); err != nil {
						b.Fatal(err)
					}
				}
				for range live {
					one()
				}
				b.ReportAllocs()
				for b.Loop() {
					one()
				}
				b.StopTimer()
				require.Equal(b, l.Stats().Submitted, l.Stats().Complete)
				b.ReportMetric(float64(b.N*tasks)/b.Elapsed().Seconds(), "tasks/s")
			})
		}
	}
}
