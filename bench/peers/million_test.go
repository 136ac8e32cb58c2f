package peers_test

import (
	"fmt"
	"math/rand/v2"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/cellsched/cellsched/bench/peers/internal/load"
)

const million = 1_000_000

func seeded() *rand.Rand { return rngOf(0) }

// rngOf is the randomness of the i-th scheduler.
func rngOf(i int) *rand.Rand { return rand.New(rand.NewPCG(3, uint64(i))) }

// BenchmarkMillion fills a cell to 85 % with a million tasks of mixed needs,
// each in a commit of its own, and keeps a handle for each. An operation is the
// whole million.
//
// Each begins with a heap that has been given back to the system, as a program
// does that has just started: getting pages is much of the cost. The
// mutex has a slab of chunks; mutex-append has a slice that grows, as most programs
// have. First fit is left out on 50,000 machines, where it
// takes minutes. go-memdb places only the first of the tasks, on machines that
// are still empty, which are its fastest: compare cpu-ns/task.
func BenchmarkMillion(b *testing.B) {
	needs := load.Mixed(seeded(), million)
	for _, machines := range []int{500, 5_000, 50_000} {
		s := setting{load.Capacity(needs, machines, 0.85), machines, million, 1}
		for _, r := range append(rivals(), rival{"mutex-append", openAppend}) {
			if r.name == "mutex-firstfit" && machines == 50_000 {
				continue
			}
			benchFill(b, r, needs, s)
		}
		benchFill(b, rival{"memdb", openMemDB}, needs[:10_000], s)
	}
}

// BenchmarkMillionByTwo is the million on 5,000 machines by two schedulers on
// two cores, half of the tasks each.
func BenchmarkMillionByTwo(b *testing.B) {
	needs := load.Mixed(seeded(), million)
	for _, r := range rivals()[:2] {
		for schedulers := range 2 {
			benchFill(b, r, needs, setting{load.Capacity(needs, 5_000, 0.85), 5_000, million, schedulers + 1})
		}
	}
}

// BenchmarkMillionShapes is the million where needs repeat: there are so many
// different ones.
func BenchmarkMillionShapes(b *testing.B) {
	const shapes = 100
	needs := load.Mixed(seeded(), million)
	for i := range needs {
		needs[i] = needs[i%shapes]
	}
	for _, r := range rivals()[:2] {
		benchFill(b, r, needs, setting{load.Capacity(needs, 5_000, 0.85), 5_000, million, 1})
	}
}

func benchFill(b *testing.B, r rival, needs []load.Need, s setting) {
	b.Helper()
	name := fmt.Sprintf("machines=%d/schedulers=%d/tasks=%d/impl=%s", s.machines, s.schedulers, len(needs), r.name)
	b.Run(name, func(b *testing.B) {
		var m meter
		conflicts := 0
		for b.Loop() {
			b.StopTimer()
			placers := r.open(b, s)
			debug.FreeOSMemory()
			m.start()
			b.StartTimer()
			refused := fill(placers, needs)
			b.StopTimer()
			m.stop()
			if refused > 0 {
				b.Fatal(refused, "tasks found no room")
			}
			for _, p := range placers {
				conflicts += p.conflicts()
			}
			b.StartTimer()
		}
		m.report(b, len(needs))
		b.ReportMetric(float64(conflicts)/float64(b.N), "conflicts/op")
	})
}

// fill shares the tasks out in as many runs as there are placers, and returns
// how many found no room.
func fill(placers []placer, needs []load.Need) int {
	var refused atomic.Int64
	run := func(p placer, from, to int) {
		for i := from; i < to; i++ {
			if !p.place(i, &needs[i]) {
				refused.Add(1)
			}
		}
	}
	if len(placers) == 1 {
		run(placers[0], 0, len(needs))
		return int(refused.Load())
	}
	var wg sync.WaitGroup
	for i, p := range placers {
		from, to := i*len(needs)/len(placers), (i+1)*len(needs)/len(placers)
		wg.Go(func() { run(p, from, to) })
	}
	wg.Wait()
	return int(refused.Load())
}

// BenchmarkMillionInJobs is the million on 5,000 machines in jobs of 100 alike
// tasks. It ends 70 % full. A machine holds about two jobs, and the other often cannot
// use the memory that the one leaves. So at 85 % next fit finds no room for the last of
// them.
func BenchmarkMillionInJobs(b *testing.B) {
	const width = 100
	shapes := load.Mixed(seeded(), million/width)
	s := setting{load.Capacity(shapes, 5_000, 0.70), 5_000, million, 1}
	for k := range s.capacity {
		s.capacity[k] *= width
	}
	for _, r := range rivals()[:2] {
		b.Run("impl="+r.name, func(b *testing.B) {
			var m meter
			for b.Loop() {
				b.StopTimer()
				p := r.one(b, s).(jobPlacer)
				debug.FreeOSMemory()
				m.start()
				b.StartTimer()
				for i := range shapes {
					if n := p.placeJob(i*width, &shapes[i], width); n != width {
						b.Fatal("job", i, "got", n)
					}
				}
				b.StopTimer()
				m.stop()
				b.StartTimer()
			}
			m.report(b, million)
		})
	}
}
