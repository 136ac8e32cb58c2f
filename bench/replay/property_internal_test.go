package main

import (
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/cellsched/cellsched/bench/trace"
	"github.com/cellsched/cellsched/delay"
	"github.com/cellsched/cellsched/omega"
	"github.com/cellsched/cellsched/resources"
)

// Any jobs that fit on some machine end. Each task has held its need for as
// long as it runs. Nothing is left in the cell, and the same replay gives the same.
func TestReplay_ConservesAnyWorkload(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		models := []string{"", "a", "b"}
		var machines []trace.Machine
		for i := range rapid.IntRange(1, 6).Draw(t, "machines") {
			machines = append(machines, trace.Machine{
				Name: "m" + strconv.Itoa(i), Rack: "r" + strconv.Itoa(i%2), Model: models[i%3], Capacity: resources.Vector{4, 4},
			})
		}
		var jobs []trace.Job
		var work [2]float64 // of all tasks, by seconds
		at := time.Duration(0)
		for i := range rapid.IntRange(1, 12).Draw(t, "jobs") {
			at += time.Duration(rapid.IntRange(0, 3).Draw(t, "gap")) * time.Second
			j := trace.Job{ID: strconv.Itoa(i), User: strconv.Itoa(i % 3), Class: strconv.Itoa(i % 2), Submit: at, Priority: int64(rapid.IntRange(0, 2).Draw(t, "priority"))}
			for stage := range rapid.IntRange(1, 3).Draw(t, "groups") {
				w := trace.Tasks{
					Count: rapid.IntRange(1, 9).Draw(t, "count"), Stage: stage / 2,
					Need:     resources.Vector{int64(rapid.IntRange(0, 4).Draw(t, "cpu")), int64(rapid.IntRange(1, 4).Draw(t, "memory"))},
					Duration: time.Duration(rapid.IntRange(0, 5).Draw(t, "duration")) * time.Second,
				}
				switch rapid.IntRange(0, 2).Draw(t, "data") {
				case 0:
					w.Input = "f"
				case 1:
					w.Places = []trace.Place{{Node: "m" + strconv.Itoa(rapid.IntRange(0, 6).Draw(t, "place"))}}
				}
				if rapid.IntRange(0, 4).Draw(t, "bound") == 0 {
					w.Models = []string{"b", ""}
				}
				j.Work = append(j.Work, w)
				for k := range work {
					work[k] += float64(w.Need[k]) * float64(w.Count) * w.Duration.Seconds()
				}
			}
			jobs = append(jobs, j)
		}
		order := rapid.SampledFrom([]string{"drf", "fifo", "priority", "pools"}).Draw(t, "order")
		place := rapid.SampledFrom([]func() omega.Policy{
			omega.NextFit, omega.BestFit, omega.WorstFit, func() omega.Policy { return omega.FirstFit(nil) },
		}).Draw(t, "place")
		wait := delay.Waits{
			time.Duration(rapid.IntRange(0, 3).Draw(t, "node wait")) * time.Second,
			time.Duration(rapid.IntRange(0, 3).Draw(t, "rack wait")) * time.Second,
		}
		once := func() result {
			r, err := newReplay(config{
				file: "f", machines: machines, order: order, by: "user", policy: place(), waits: wait, replicas: 2, sample: time.Second,
				jobs: func(yield func(trace.Job, error) bool) {
					for _, j := range jobs {
						if !yield(j, nil) {
							return
						}
					}
				},
			})
			require.NoError(t, err)
			res, err := r.run() // fails unless everything has ended and the cell is empty
			require.NoError(t, err)
			require.Equal(t, len(jobs), res.JobsEnded)
			return *res
		}
		first := once()
		for k, kind := range []string{"cpu", "memory"} {
			require.InDelta(t, work[k], first.Utilisation[kind]*first.Span*float64(4*len(machines)), 1e-6)
		}
		require.Equal(t, first, once())
	})
}
