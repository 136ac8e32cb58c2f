package simulate

import (
	"fmt"
	"math"
	"time"

	"github.com/cellsched/cellsched/locality"
	"github.com/cellsched/cellsched/offers"
	"github.com/cellsched/cellsched/omega"
	"github.com/cellsched/cellsched/resources"
)

// Architecture is a number of schedulers that share the cell, and their rules: Omega
// paper, table 1. All of them run the library's own loop on one cell or, where
// there are offers, are frameworks of its own master.
type Architecture struct {
	Name       string
	Schedulers []Scheduler
	// Detect selects the changes that count as a conflict, and Gang asks for all tasks of
	// an attempt or none: Omega paper, section 5.2.
	Detect omega.Detection
	Gang   bool
	// Offers is the master of a two-level architecture, with the schedulers as its
	// frameworks; nil where they commit by themselves. Under it Detect, Gang and
	// the placement of the run play no part: a framework fills one offer after the
	// other, and its jobs are granted offer by offer. Frameworks do not vanish, so
	// Liveness is never unless it is set.
	Offers *offers.Config
}

// Scheduler is one scheduler of an architecture. Jobs of a class go to those
// that serve it by a hash of their number.
type Scheduler struct {
	Name   string
	Serves [Classes]bool
	// Think is the length of a decision, by class: from the time at which a job
	// leaves the queue to the commit.
	Think [Classes]Think
	// Reads is when in that time the scheduler reads the state of its machines and
	// places the tasks. Under a master of offers it is AtBegin.
	Reads Reading
	// Part is the machines that it may claim, nil for all.
	Part *Part
	// Held is the most that its allocations may add up to, nil for no limit.
	Held *resources.Vector
	// Wants is the registration of a framework, but for Name, Machines and Notify.
	// Asks means that it is offered nothing before it has decided. Then it requests a
	// gang offer of one machine for each task, for as long as a job waits after an
	// attempt.
	Wants offers.Registration
	Asks  bool
	// Ungated means that it takes without asking, where there is a gate.
	Ungated bool
}

// Reading is when a scheduler reads the state of the machines that it places on. The
// commit is at the end of a decision with either.
type Reading uint8

const (
	// AtBegin reads when the decision begins: the scheduler thinks on a snapshot, and
	// does not see the room that is taken or given back until it ends.
	AtBegin Reading = iota
	// AtEnd is when the decision ends: the placement is on the state of that time,
	// and meets no conflict.
	AtEnd
)

// Part is the machines from one share of all to another, by number.
type Part struct{ From, To float64 }

// Think is the length of a decision: once for a job, and for each task. Omega
// paper, section 4: t_job and t_task.
type Think struct{ Job, Task time.Duration }

// DefaultThink is the paper's: 0.1 s and 5 ms, a conservative estimate for Google's
// clusters.
func DefaultThink() Think { return Think{100 * time.Millisecond, 5 * time.Millisecond} }

// of returns how long the decision on so many tasks takes, at most maxTime.
func (t Think) of(tasks int) time.Duration {
	if t.Task > (maxTime-t.Job)/time.Duration(tasks) {
		return maxTime
	}
	return t.Job + t.Task*time.Duration(tasks)
}

// SinglePath is a monolithic scheduler on which every decision takes as long as
// one for a service.
//
// State is read, tasks are placed and claims are committed when the decision ends, as
// in the simulator that Google published. (Its MonolithicScheduler schedules on the
// cell's state after the think time.) A job leaves the queue when the decision begins,
// and its wait ends then. A fruitless decision counts as busy time here, and does not in
// that simulator.
func SinglePath(service Think) Architecture {
	return monolithic("single-path", [Classes]Think{service, service})
}

// MultiPath is a monolithic scheduler with a fast path for batch jobs: they
// still wait in one queue. It reads, places and commits as [SinglePath] does.
func MultiPath(batch, service Think) Architecture {
	return monolithic("multi-path", [Classes]Think{batch, service})
}

func monolithic(name string, think [Classes]Think) Architecture {
	return Architecture{Name: name, Schedulers: []Scheduler{
		{Name: "all", Serves: [Classes]bool{true, true}, Think: think, Reads: AtEnd},
	}}
}

// Partitioned is one scheduler for each class, each with machines of its own:
// batch jobs have the given share of them. The paper does not simulate this one
// (table 1); each scheduler reads, places and commits as [SinglePath] does, since it
// has its machines to itself.
func Partitioned(batch, service Think, share float64) Architecture {
	return Architecture{Name: "partitioned", Schedulers: []Scheduler{
		{Name: "batch", Serves: only(Batch), Think: always(batch), Part: &Part{0, share}, Reads: AtEnd},
		{Name: "service", Serves: only(Service), Think: always(service), Part: &Part{share, 1}, Reads: AtEnd},
	}}
}

// SharedState is Omega's: one scheduler for services and so many for batch
// jobs, each with all machines. Detect and Gang are to be set on it.
//
// State is read when the decision begins: the paper's schedulers decide on a private
// copy of the cell (section 3.4), which Google's simulator makes then (OmegaScheduler).
// Tasks are placed on that copy, and claims are committed when the decision ends.
// Room that is given back meanwhile is for the next attempt, room that is taken
// meanwhile is a conflict.
func SharedState(batch, service Think, schedulers int) Architecture {
	a := Architecture{Name: "omega"}
	for i := range schedulers {
		a.Schedulers = append(a.Schedulers, Scheduler{
			Name: fmt.Sprint("batch-", i), Serves: only(Batch), Think: always(batch),
		})
	}
	a.Schedulers = append(a.Schedulers, Scheduler{Name: "service", Serves: only(Service), Think: always(service)})
	return a
}

// TwoLevel is that of Mesos: one framework for batch jobs and one for services.
// Each is offered all free room, and keeps it for as long as it likes.
// Offers and the registrations of frameworks can be changed on it.
//
// State is read by the master when it makes an offer, and frameworks hear of it a
// millisecond later. The room is locked for that time as well, as in Google's
// simulator (MesosAllocator). Tasks are placed on the room that a framework has been
// offered when its decision begins, which nothing can take meanwhile. They start when it
// ends. A framework that asks thinks first: the master reads the state when it is asked,
// at the end of the decision.
func TwoLevel(batch, service Think) Architecture {
	all := offers.Registration{Outstanding: 1}
	return Architecture{
		Name: "two-level", Offers: &offers.Config{Timeout: offers.Never()},
		Schedulers: []Scheduler{
			{Name: "batch", Serves: only(Batch), Think: always(batch), Wants: all},
			{Name: "service", Serves: only(Service), Think: always(service), Wants: all},
		},
	}
}

func only(c Class) (serves [Classes]bool) {
	serves[c] = true
	return serves
}

func always(t Think) (think [Classes]Think) {
	for c := range think {
		think[c] = t
	}
	return think
}

func (a *Architecture) check() error {
	if a.Detect > omega.Coarse {
		return fmt.Errorf("detection %d: want at most %d", a.Detect, omega.Coarse)
	}
	for i := range a.Schedulers {
		s := &a.Schedulers[i]
		for c, t := range s.Think {
			if t.Job < 0 || t.Task < 0 || t.Job > maxTime {
				return fmt.Errorf("scheduler %q thinks %v and %v a task about %v: want 0 or more, up to %v", s.Name, t.Job, t.Task, Class(c), maxTime)
			}
		}
		if s.Reads > AtEnd {
			return fmt.Errorf("scheduler %q reads at %d: want at most %d", s.Name, s.Reads, AtEnd)
		}
		if a.Offers != nil && s.Reads != AtBegin {
			return fmt.Errorf("scheduler %q reads at the end of a decision: want the beginning under a master of offers", s.Name)
		}
		if a.Offers != nil && s.Held != nil {
			return fmt.Errorf("scheduler %q holds %v at most: want no limit under a master of offers", s.Name, *s.Held)
		}
		if p := s.Part; p != nil && !(p.From >= 0 && p.From <= p.To && p.To <= 1) {
			return fmt.Errorf("scheduler %q has machines from %v to %v: want 0 <= from <= to <= 1", s.Name, p.From, p.To)
		}
	}
	return nil
}

// mask returns the numbers of the machines.
func (p *Part) mask(machines int) omega.Mask {
	if p == nil {
		return nil
	}
	from, to := int(math.Round(p.From*float64(machines))), int(math.Round(p.To*float64(machines)))
	return omega.NewMask(func(yield func(locality.Node) bool) {
		for n := from; n < to; n++ {
			if !yield(locality.Node(n)) {
				return
			}
		}
	})
}

// serving returns the numbers of the schedulers that serve a class.
func (a *Architecture) serving(c Class) (numbers []int) {
	for i := range a.Schedulers {
		if a.Schedulers[i].Serves[c] {
			numbers = append(numbers, i)
		}
	}
	return numbers
}

// spread returns a number below n by which jobs are spread. It is the finaliser of
// splitmix64: each bit of its output depends on all of the input.
func spread(job, n int) int {
	x := uint64(job) + 0x9E3779B97F4A7C15
	x = (x ^ x>>30) * 0xBF58476D1CE4E5B9
	x = (x ^ x>>27) * 0x94D049BB133111EB
	return int((x ^ x>>31) % uint64(n))
}
