package composition_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/cellsched/cellsched/omega"
	"github.com/cellsched/cellsched/omega/loop"
	"github.com/cellsched/cellsched/resources"
)

// loopPart is a scheduler loop with single tasks, jobs of several tasks, and gangs.
type loopPart struct {
	*book
	w    *world
	name string
	loop *loop.Loop[string]
	jobs func(n int) loop.Job[string]
	rate time.Duration // mean time between jobs
	rand *rand.Rand    // of the jobs
	ran  *rand.Rand    // of how long tasks run

	again func(omega.Account) // submits a job of an account of which one is complete; may be nil
	n     int                 // so many it has
}

// thinks is how long a loop takes from a search to its commit.
const thinks = 10 * time.Millisecond

// addLoop adds a loop with an order and a place of its own. Its jobs are of all accounts.
func (w *world) addLoop(name string, limits omega.Limits, order loop.Order[string], place loop.Place[string], rate time.Duration) {
	p := &loopPart{book: w.book(w.scheduler(name, limits)), w: w, name: name, rate: rate, rand: w.source(), ran: w.source()}
	p.jobs = func(n int) loop.Job[string] {
		j := loop.Job[string]{
			Key: fmt.Sprint("job ", n), Account: w.accounts[p.rand.IntN(len(w.accounts))],
			Precedence: limits.Highest, Need: someNeed(p.rand), Tasks: 1,
		}
		switch p.rand.IntN(5) {
		case 0:
			j.Tasks, j.Gang = 2+p.rand.IntN(8), true
		case 1:
			j.Tasks = 1 + p.rand.IntN(20)
		}
		return j
	}
	var err error
	p.loop, err = loop.New(loop.Config[string]{
		Store: omega.Local{Scheduler: p.scheduler}, Order: order, Place: place, Observe: p.observe,
		Rand: w.source(), Attempts: -1, Fruitless: -1, Patience: patience,
		// Other parts commit meanwhile, and take room that the loop has found.
		Think: func(*loop.Job[string], int) time.Duration { return thinks },
	})
	if err != nil {
		w.t.Fatal(err)
	}
	w.parts = append(w.parts, p)
}

// someNeed draws the need of a task. One in ten is a whole machine of the largest.
func someNeed(r *rand.Rand) resources.Vector {
	if r.IntN(10) == 0 {
		return resources.Vector{largest, largest}
	}
	return smallNeed(r)
}

// smallNeed draws the need of a task that fits on each machine.
func smallNeed(r *rand.Rand) resources.Vector {
	return resources.Vector{1 + r.Int64N(4), 1 + r.Int64N(8)}
}

// someTime draws how long a task runs.
func someTime(r *rand.Rand) time.Duration {
	return time.Duration(1 + r.Int64N(int64(longest)))
}

func (p *loopPart) run(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	ended := make(chan error, 1)
	go func() { ended <- p.loop.Run(ctx) }()
	for n := 0; p.w.arriving(); n++ {
		if !pause(ctx, time.Duration(p.rand.ExpFloat64()*float64(p.rate))) {
			break
		}
		job := p.jobs(n)
		p.asks(job.Key, job.Gang || job.Tasks == 1)
		if _, err := p.loop.Submit(time.Now(), job); err != nil {
			return err
		}
	}
	<-ctx.Done()
	return stopped(<-ended)
}

func (p *loopPart) observe(e loop.Event[string]) {
	switch e.Kind {
	case loop.Placed:
		if job := e.Pending.Job(); job.Gang && len(e.Allocations) != job.Tasks {
			p.w.t.Errorf("%s: %s: %d tasks of a gang of %d were placed", p.name, job.Key, len(e.Allocations), job.Tasks)
		}
		for _, id := range e.Allocations {
			job := e.Pending.Job()
			p.starts(id, task{job.Need, job.Account, job.Precedence})
			time.AfterFunc(someTime(p.ran), func() { p.end(id) })
		}
	case loop.Complete:
		if p.placed(e.Pending.Job().Key); p.again != nil {
			p.again(e.Pending.Job().Account)
		}
	case loop.Preempted:
		time.AfterFunc(time.Until(e.Until)/2, func() { p.end(e.Mark.Allocation.ID) })
	case loop.Abandoned, loop.Expired:
		p.w.t.Errorf("%s: %s: %v", p.name, e.Pending.Job().Key, e.Err)
	}
}

func (p *loopPart) end(id omega.AllocationID) {
	if p.ends(id) {
		if err := p.scheduler.Release(id); err != nil {
			p.w.t.Errorf("%s: %v", p.name, err)
		}
	}
}
