package experiments

import (
	"time"

	"github.com/cellsched/cellsched/bench/sim/simulate"
	"github.com/cellsched/cellsched/resources"
)

// Workload is a cell and the jobs that come to it. The workloads of this package
// are synthetic: Google has not published those of the paper. Tasks take one
// CPU and 2 GiB of a machine's 4 CPUs and 16 GiB. Times and numbers of
// tasks are drawn from exponential distributions, with the means of the generator that
// Google published.
type Workload struct {
	Name    string
	Cell    simulate.Cell
	Sources [simulate.Classes]simulate.Source
}

// Loaded is 10,000 machines, on average 63 % full.
func Loaded() Workload { return exponential("loaded", 10_000, 0.6) }

// Tight is 2,000 machines, on average 76 % full: where schedulers conflict.
func Tight() Workload { return exponential("tight", 2_000, 0.6) }

// Scalable is 10,000 machines with room for batch jobs to come at so many times
// the rate: 43 % full at 1, 81 % at 16.
func Scalable(rate float64) Workload {
	w := exponential("scalable", 10_000, 0.4)
	w.Sources[simulate.Batch].Between = simulate.Exponential(10 / rate)
	return w
}

func exponential(name string, machines int, prefill float64) Workload {
	need := resources.Vector{simulate.CPU: 1000, simulate.Memory: 2 << 30}
	return Workload{
		Name: name,
		Cell: simulate.Cell{
			Machines: machines, Capacity: resources.Vector{simulate.CPU: 4000, simulate.Memory: 16 << 30},
			Prefill: prefill, PrefillNeed: need,
		},
		Sources: [simulate.Classes]simulate.Source{
			{
				Class: simulate.Batch, Need: need,
				Between: simulate.Exponential(10), Tasks: simulate.Exponential(100), Length: simulate.Exponential(100),
			},
			{
				Class: simulate.Service, Need: need,
				Between: simulate.Exponential(20), Tasks: simulate.Exponential(10), Length: simulate.Exponential(500),
			},
		},
	}
}

// think returns the default of the paper with another t_job.
func think(job time.Duration) simulate.Think {
	t := simulate.DefaultThink()
	t.Job = job
	return t
}
