package experiments

import (
	"time"

	"github.com/cellsched/cellsched/bench/sim/simulate"
	"github.com/cellsched/cellsched/resources"
)

const (
	honest = 4      // schedulers, of batch jobs
	rogue  = honest // the one that may be: it has the services, so that metrics tell them apart
)

// teams is a cell of which all schedulers want the same share: half of it on
// average, and seldom all of it.
func teams() Workload {
	need := resources.Vector{simulate.CPU: 1000, simulate.Memory: 2 << 30}
	source := func(c simulate.Class, schedulers float64) simulate.Source {
		return simulate.Source{
			Class: c, Need: need,
			Between: simulate.Exponential(60 / schedulers), Tasks: simulate.Exponential(16), Length: simulate.Exponential(300),
		}
	}
	return Workload{
		Name: "teams",
		Cell: simulate.Cell{
			Machines: 50, Capacity: resources.Vector{simulate.CPU: 16_000, simulate.Memory: 64 << 30},
		},
		Sources: [simulate.Classes]simulate.Source{source(simulate.Batch, honest), source(simulate.Service, 1)},
	}
}

// behaviour is the change that a scheduler makes to its jobs before it submits them. A
// cell sees of a rogue no more than claims that are too large, too long or too many.
type behaviour struct {
	name  string
	apply func(w *Workload, jobs []simulate.Job, horizon time.Duration) []simulate.Job
}

func behaviours() []behaviour {
	return []behaviour{
		{name: "none"},
		{"8 times as many tasks", change(func(w *Workload, j *simulate.Job) { j.Tasks = min(8*j.Tasks, w.holds(&j.Need)) })},
		{"tasks 8 times as large", change(func(w *Workload, j *simulate.Job) {
			for k := range j.Need {
				j.Need[k] *= 8
			}
			j.Tasks = min(j.Tasks, w.holds(&j.Need))
		})},
		{"keeps all for an hour", change(func(_ *Workload, j *simulate.Job) { j.Duration += time.Hour })},
		{"takes what is idle", grab},
	}
}

// change changes each of the rogue's jobs.
func change(one func(w *Workload, j *simulate.Job)) func(*Workload, []simulate.Job, time.Duration) []simulate.Job {
	return func(w *Workload, jobs []simulate.Job, _ time.Duration) []simulate.Job {
		for i := range jobs {
			if jobs[i].Class == simulate.Service {
				one(w, &jobs[i])
			}
		}
		return jobs
	}
}

// holds returns how many tasks of a need the empty cell holds.
func (w *Workload) holds(need *resources.Vector) int {
	cpus, memory := w.Cell.Capacity[simulate.CPU]/need[simulate.CPU], w.Cell.Capacity[simulate.Memory]/need[simulate.Memory]
	return w.Cell.Machines * int(min(cpus, memory))
}

// grab submits a job as large as the cell every ten minutes, for half an hour.
func grab(w *Workload, jobs []simulate.Job, horizon time.Duration) []simulate.Job {
	const often, long = 10 * time.Minute, 30 * time.Minute
	var all []simulate.Job
	need := w.Sources[simulate.Service].Need
	next := time.Duration(0)
	hog := func(until time.Duration) {
		for ; next <= until && next < horizon; next += often {
			all = append(all, simulate.Job{
				Class: simulate.Service, Submit: next, Duration: long, Need: need, Tasks: w.holds(&need),
			})
		}
	}
	for _, j := range jobs {
		if j.Class == simulate.Service {
			continue
		}
		hog(j.Submit)
		all = append(all, j)
	}
	hog(horizon)
	return all
}

// measure is a measure against rogues.
type measure struct {
	name  string
	apply func(c *simulate.Config)
}

func measures() []measure {
	gate := func(c *simulate.Config) { c.Patience = 5 * time.Second }
	return []measure{
		{"none", func(*simulate.Config) {}},
		{"limits", func(c *simulate.Config) {
			fair := c.Cell.Capacity
			for k := range fair {
				fair[k] *= int64(c.Cell.Machines)
				fair[k] /= honest + 1
			}
			for i := range c.Architecture.Schedulers {
				c.Architecture.Schedulers[i].Held = &fair
			}
		}},
		{"gate", gate},
		{"gate, not asked", func(c *simulate.Config) {
			gate(c)
			c.Architecture.Schedulers[rogue].Ungated = true
		}},
		{"preemption", func(c *simulate.Config) { c.Audit.Preempt = true }},
	}
}
