package main

import (
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
)

// need is an amount of cpu in millicores, memory in MiB, and gpu in
// thousandths of a device.
type need struct{ cpu, memory, gpu int64 }

func (n need) fits(free *need) bool {
	return n.cpu <= free.cpu && n.memory <= free.memory && n.gpu <= free.gpu
}

const (
	// full is the share of the machines' cpu and memory that the tasks take.
	full = 0.85
	// gpuFull is the share of their gpus, as a share of full. At the same share
	// in all three kinds, next fit leaves the last tasks no room on small
	// machines.
	gpuFull = 0.7
)

// mixed returns the needs of n tasks, always the same. Each is 0.1 to 4 cores, 128 MiB
// to 8 GiB, and for every fourth task one to four tenths of a gpu.
func mixed(n int) []need {
	rng := rand.New(rand.NewPCG(3, 85))
	needs := make([]need, n)
	for i := range needs {
		needs[i] = need{cpu: 100 * (1 + rng.Int64N(40)), memory: 128 * (1 + rng.Int64N(64))}
		if rng.IntN(4) == 0 {
			needs[i].gpu = 100 * (1 + rng.Int64N(4))
		}
	}
	return needs
}

// tailed is mixed with every tenth need eight times as large.
func tailed(n int) []need {
	needs, rng := mixed(n), rand.New(rand.NewPCG(3, 97))
	for i := range needs {
		if n := &needs[i]; rng.IntN(10) == 0 {
			*n = need{8 * n.cpu, 8 * n.memory, 8 * n.gpu}
		}
	}
	return needs
}

// capacityFor returns the capacity of each of so many machines.
func capacityFor(needs []need, machines int) need { return capacityAt(needs, machines, full) }

// capacityAt is capacityFor where the tasks take that share of the machines.
func capacityAt(needs []need, machines int, full float64) need {
	var sum need
	for _, n := range needs {
		sum.cpu += n.cpu
		sum.memory += n.memory
		sum.gpu += n.gpu
	}
	each := func(sum int64, share float64) int64 { return int64(float64(sum)/share)/int64(machines) + 1 }
	return need{each(sum.cpu, full), each(sum.memory, full), each(sum.gpu, full*gpuFull)}
}

// share calls place with the number of every task, by so many workers at once,
// each with a run of them, and says so if some found no room.
func share(tasks, workers int, place func(worker, task int) bool) error {
	var refused atomic.Int64
	work := func(w int) {
		for task := w * tasks / workers; task < (w+1)*tasks/workers; task++ {
			if !place(w, task) {
				refused.Add(1)
			}
		}
	}
	var wg sync.WaitGroup
	for w := 1; w < workers; w++ {
		wg.Go(func() { work(w) })
	}
	work(0)
	wg.Wait()
	if n := refused.Load(); n > 0 {
		return fmt.Errorf("%d tasks found no room", n)
	}
	return nil
}
