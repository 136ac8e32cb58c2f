// Package load makes the work that all rivals of a benchmark are given.
package load

import "math/rand/v2"

// Need is the need of one task, or the capacity of one machine: cpu in millicores,
// memory in MiB, gpu in thousandths of a device.
type Need [3]int64

// Mixed returns the needs of n tasks, drawn independently. Each is 0.1 to 4 cores in
// steps of 0.1 and 128 MiB to 8 GiB in steps of 128 MiB. For every fourth task it has
// one to four tenths of a gpu as well.
func Mixed(rng *rand.Rand, n int) []Need {
	needs := make([]Need, n)
	for i := range needs {
		needs[i] = Need{100 * (1 + rng.Int64N(40)), 128 * (1 + rng.Int64N(64))}
		if rng.IntN(4) == 0 {
			needs[i][2] = 100 * (1 + rng.Int64N(4))
		}
	}
	return needs
}

// Tailed is Mixed with every tenth need eight times as large.
func Tailed(rng *rand.Rand, n int) []Need {
	needs := Mixed(rng, n)
	for i := range needs {
		if rng.IntN(10) == 0 {
			for k := range needs[i] {
				needs[i][k] *= 8
			}
		}
	}
	return needs
}

// gpuFull is the share of its gpus that a full cell uses: cells run out of cpu or
// memory first. At the same share in all three kinds, next fit leaves the last
// tasks no room on small machines.
const gpuFull = 0.7

// Capacity returns the capacity of each of so many equal machines if needs take the
// given share of their cpu and memory, and 0.7 times that of their gpus.
func Capacity(needs []Need, machines int, full float64) Need {
	var sum Need
	for _, need := range needs {
		for k, q := range need {
			sum[k] += q
		}
	}
	var capacity Need
	for k, share := range [...]float64{full, full, full * gpuFull} {
		capacity[k] = int64(float64(sum[k])/share)/int64(machines) + 1
	}
	return capacity
}
