package experiments

import (
	"cmp"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/cellsched/cellsched/omega/elastic"
	"github.com/cellsched/cellsched/resources"
)

// Workload is a cell and all that comes to it. Times are from its start.
type Workload struct {
	Name     string
	Machines int
	Machine  resources.Vector // of each of them: CPUs and GB
	Services int              // workers' worth of room that services hold for good
	Span     time.Duration    // in which jobs come and utilisation is watched
	Jobs     []Job            // by time
	Batches  []Batch          // by time
}

// Job is a MapReduce job.
type Job struct {
	At    time.Duration
	Asked int // workers
	Work  elastic.MapReduce
}

// Batch is tasks that want to run at once, each for as long.
type Batch struct {
	At    time.Duration
	Tasks int
	Runs  time.Duration
}

func (w *Workload) check() error {
	if w.Machines < 1 {
		return fmt.Errorf("%d machines, want 1 or more", w.Machines)
	}
	if !need().Fits(w.Machine) {
		return fmt.Errorf("machines of %v, want room for a worker, %v", w.Machine, need())
	}
	if w.Services < 0 {
		return fmt.Errorf("%d services, want 0 or more", w.Services)
	}
	if w.Span <= 0 {
		return fmt.Errorf("span of %v, want more than 0", w.Span)
	}
	for i, j := range w.Jobs {
		if j.At < 0 || j.Work.MapWork+j.Work.ReduceWork <= 0 {
			return fmt.Errorf("job %d comes at %v with %v of map and %v of reduce work, want some, at 0 or later", i, j.At, j.Work.MapWork, j.Work.ReduceWork)
		}
		if j.Asked < 1 || j.Asked > math.MaxInt32 {
			return fmt.Errorf("job %d asks for %d workers, want 1 to %d", i, j.Asked, math.MaxInt32)
		}
		if err := j.Work.Check(); err != nil {
			return fmt.Errorf("job %d: %w", i, err)
		}
	}
	for i, b := range w.Batches {
		if b.At < 0 || b.Tasks < 1 || b.Runs <= 0 {
			return fmt.Errorf("batch %d comes at %v with %d tasks of %v, want some, at 0 or later", i, b.At, b.Tasks, b.Runs)
		}
	}
	return nil
}

// need returns the resources of a worker, a batch task and a unit of a service.
func need() resources.Vector { return resources.Vector{1, 2} }

// setting is the distribution that a workload is drawn from. Fractions are of the
// cell's CPUs.
type setting struct {
	name     string
	machines int     // of 16 CPUs and 64 GB
	services float64 // held for good
	batch    float64 // in the mean
	jobs     float64 // in the mean, with the workers asked for
}

// Busy returns a large cell that is two thirds full without extra workers.
func Busy(seed uint64, span time.Duration) Workload { return busy().draw(seed, span) }

func busy() setting {
	return setting{name: "busy", machines: 500, services: 0.46, batch: 0.12, jobs: 0.10}
}

// Quiet returns a small cell that is one third full without extra workers, as
// the paper's cluster D.
func Quiet(seed uint64, span time.Duration) Workload { return quiet().draw(seed, span) }

func quiet() setting {
	return setting{name: "quiet", machines: 125, services: 0.20, batch: 0.06, jobs: 0.08}
}

// popular are numbers of workers that jobs ask for, of which the paper names
// these, and how many of 100 jobs do.
var popular = [...]struct{ workers, percent int }{{5, 40}, {11, 35}, {200, 20}, {1000, 5}}

func (s setting) draw(seed uint64, span time.Duration) Workload {
	r := rand.New(rand.NewPCG(seed, 0))
	cpus := float64(s.machines * 16)
	w := Workload{
		Name: s.name, Machines: s.machines, Machine: resources.Vector{16, 64},
		Services: int(s.services * cpus), Span: span,
	}
	// As many jobs as make up the work, at times that have nothing to do with
	// each other.
	for left := s.jobs * cpus * float64(span); left > 0; {
		job := drawJob(r)
		job.At = time.Duration(r.Float64() * float64(span))
		left -= float64(job.Work.MapWork + job.Work.ReduceWork)
		w.Jobs = append(w.Jobs, job)
	}
	slices.SortStableFunc(w.Jobs, func(a, b Job) int { return cmp.Compare(a.At, b.At) })

	const tasks, runs = 50, float64(2 * time.Minute) // in the mean
	for at := 0.0; at < float64(span); at += r.ExpFloat64() * tasks * runs / (s.batch * cpus) {
		w.Batches = append(w.Batches, Batch{
			At:    time.Duration(at),
			Tasks: 1 + int(r.ExpFloat64()*(tasks-1)),
			Runs:  time.Second + time.Duration(r.ExpFloat64()*(runs-float64(time.Second))),
		})
	}
	return w
}

// drawJob draws a job: between 1/4 and 32 maps for each worker it asks for, of
// 10 s to 2 min each. It has a fifth as many reduces, which take twice as long.
func drawJob(r *rand.Rand) Job {
	j := Job{Asked: popular[len(popular)-1].workers}
	for percent, i := r.IntN(100), 0; i < len(popular); i++ {
		if percent -= popular[i].percent; percent < 0 {
			j.Asked = popular[i].workers
			break
		}
	}
	maps := max(int(float64(j.Asked)*logUniform(r, 0.25, 32)), 1)
	each := time.Duration(logUniform(r, 10, 120) * float64(time.Second))
	reduces := (maps + 4) / 5
	j.Work = elastic.MapReduce{
		Maps: maps, MapWork: time.Duration(maps) * each,
		Reduces: reduces, ReduceWork: time.Duration(reduces) * 2 * each,
	}
	return j
}

// logUniform draws between low and high, evenly on a logarithmic scale.
func logUniform(r *rand.Rand, low, high float64) float64 {
	return low * math.Pow(high/low, r.Float64())
}
