package experiments

import (
	"context"
	"fmt"
	"time"

	"github.com/cellsched/cellsched/offers"
	"github.com/cellsched/cellsched/resources"
)

// A batch framework that decides at once shares a cell with a service framework
// that thinks about each job. Meanwhile the service framework keeps its offers: section
// 4.2 of the Omega paper. The loads and times are made up.
const (
	pathologyMachines = 50
	pathologyMachine  = 8                // slots
	pathologySpan     = 90 * time.Minute // in which jobs come, and that is measured
	batchTasks        = 10               // of a job, in the mean
	batchEvery        = 3 * time.Second
	batchTask         = time.Minute
	serviceTasks      = 10 // of each job
	serviceEvery      = 2 * time.Minute
	serviceTask       = 20 * time.Minute
	quickTimeout      = 5 * time.Second
	patientTimeout    = 2 * time.Minute
	serviceMachines   = 15 // from which it wants offers, where it says so
)

// manner is the way in which the service framework gets its room.
type manner int

const (
	hoards    manner = iota // all that it is offered, all of the cell, for as long as it likes
	timed                   // the same, with a timeout of 5 s
	fair                    // the library's default: its fair share at most, for 30 s
	patient                 // its fair share at most, for 2 minutes
	filtered                // the same, of some machines only
	asks                    // nothing until it has decided, then a gang offer
	shown                   // room that all are offered at once, and that no offer reserves
	optimist                // it commits to the same cell, and is offered nothing
	boxed                   // like the batch, the room that it claims in its turn
	allOfThem               // how many there are
)

func (m manner) String() string {
	return [...]string{
		"offers without end", "timeout 5 s", "fair share, 30 s", "fair share, 2 min", "filter", "gang offer",
		"optimistic offers", "optimistic", "time box, 2 min",
	}[m]
}

func pathologyPoints() []point {
	var points []point
	for m := range allOfThem {
		for _, think := range []time.Duration{time.Second, 10 * time.Second, time.Minute} {
			points = append(points, point{
				name: fmt.Sprint(m, ", decides in ", think),
				run: func(ctx context.Context, seed uint64) ([]value, error) {
					return pathology(ctx, seed, m, think)
				},
			})
		}
	}
	return points
}

// waits adds up how long jobs waited until all of their tasks had begun.
type waits struct {
	came, placed int
	sum, most    time.Duration
}

// add notes a job that came and returns the function to call when it is placed.
func (ws *waits) add(w *world) (placed func()) {
	ws.came++
	since := w.now
	return func() {
		ws.placed++
		ws.sum += w.now - since
		ws.most = max(ws.most, w.now-since)
	}
}

func (ws *waits) mean() float64 { return ws.sum.Seconds() / float64(max(ws.placed, 1)) }

// batch registers the batch framework, and returns the function that submits a job to it.
func (w *world) batch(r offers.Registration, lengths func() time.Duration) (func(tasks int, placed func()) error, error) {
	b, err := w.tenant(r)
	return func(tasks int, placed func()) error {
		return b.submit(&job{need: slot, left: tasks, length: lengths, placed: placed})
	}, err
}

// pathology runs both frameworks.
func pathology(ctx context.Context, seed uint64, m manner, think time.Duration) ([]value, error) {
	var cfg offers.Config
	batch, service := offers.Registration{Name: "batch"}, offers.Registration{Name: "service"}
	switch m {
	case hoards, timed:
		batch.Outstanding, service.Outstanding = 1, 1
		if cfg.Timeout = offers.Never(); m == timed {
			cfg.Timeout = offers.For(quickTimeout)
		}
	case patient, filtered:
		cfg.Timeout = offers.For(patientTimeout)
	case shown:
		cfg.Timeout, cfg.Terms.Optimistic = offers.Never(), true
	default:
	}
	w, err := newWorld(seed, alike(pathologyMachines, resources.Vector{pathologyMachine}), cfg)
	if err != nil {
		return nil, err
	}
	if m == filtered {
		service.Machines = w.mask(0, serviceMachines)
	}
	var batchWaits waits
	jobs, lengths := w.stream(theirs), w.lengths(ours, batchTask)
	s := &thinker{w: w, manner: m, think: think, jobs: w.stream(2), lengths: w.lengths(3, serviceTask)}
	var submit func(tasks int, placed func()) error
	if m == boxed {
		submit, err = s.box(lengths)
	} else {
		submit, err = w.batch(batch, lengths)
	}
	if err != nil {
		return nil, err
	}
	var come func() error
	come = func() error {
		w.after(jobs.exponential(batchEvery), come)
		return submit(1+int(jobs.ExpFloat64()*batchTasks), batchWaits.add(w))
	}
	w.after(0, come)
	if err := s.join(service); err != nil {
		return nil, err
	}
	locked, samples := 0.0, 0
	var sample func() error
	sample = func() error {
		if w.now >= pathologySpan {
			return w.end()
		}
		w.after(time.Second, sample)
		samples++
		locked += s.locks()
		return w.master.Step(w.time()) // it sees the room that others have released
	}
	w.after(0, sample)
	if err := w.run(ctx); err != nil {
		return nil, err
	}
	return []value{
		{name: "batch wait / s", value: batchWaits.mean()},
		{name: "most", value: batchWaits.most.Seconds()},
		{name: "batch unplaced", value: float64(batchWaits.came - batchWaits.placed)},
		{name: "service wait / s", value: s.waits.mean()},
		{name: "service unplaced", value: float64(s.waits.came - s.waits.placed)},
		{name: "locked", value: locked / float64(samples)},
	}, nil
}
