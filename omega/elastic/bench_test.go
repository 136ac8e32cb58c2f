package elastic_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/cellsched/cellsched/omega"
	"github.com/cellsched/cellsched/omega/elastic"
	"github.com/cellsched/cellsched/resources"
)

func BenchmarkLook(b *testing.B) {
	for _, machines := range []int{500, 10_000} {
		cell := newCell(b, slices.Repeat([]resources.Vector{{16, 64}}, machines)...)
		s := register(b, cell, "mapreduce", omega.Limits{})
		s.Snapshot().Refresh(time.Time{})
		q := omega.Query{Need: resources.Vector{1, 2}}
		b.Run(fmt.Sprintf("machines=%d", machines), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if room, err := elastic.Look(s.Snapshot(), q); err != nil || room.Workers != 16*machines {
					b.Fatal(room, err)
				}
			}
		})
	}
}

func BenchmarkPlan(b *testing.B) {
	room := elastic.Room{Workers: 100_000, Total: resources.Vector{100_000}}
	for _, activities := range []int{100, 10_000} {
		job := jobOf(maps(activities), 5)
		b.Run(fmt.Sprintf("activities=%d", activities), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if plan, err := (elastic.Policy{}).Plan(job, room); err != nil || plan.Workers != activities {
					b.Fatal(plan, err)
				}
			}
		})
	}
}
