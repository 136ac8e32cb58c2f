package experiments

import (
	"cmp"
	"context"
	"fmt"
	"runtime"
	"runtime/metrics"
	"slices"
	"time"

	"github.com/cellsched/cellsched/drf"
	"github.com/cellsched/cellsched/internal/cputime"
	"github.com/cellsched/cellsched/offers"
	"github.com/cellsched/cellsched/resources"
)

// ScaleOptions is the size of the cell. The zero ScaleOptions is the paper's:
// 50,000 machines and 200 frameworks, and 1,000 tasks that are measured.
type ScaleOptions struct {
	Machines, Frameworks, Tasks int
	Seed                        uint64
}

// ScaleResult is the time that new tasks in a full cell waited for computation.
type ScaleResult struct {
	Machines, Frameworks, Tasks int
	// Running is the number of tasks that ran at the end, and Ended of those that had ended.
	Running, Ended int
	// CPU is the time on a CPU from when the framework asked until its task had
	// begun, 0 where the system does not report it. Real is the same by the wall clock,
	// with other work that wants the CPU included.
	CPU, Real Times
	Virtual   time.Duration // its wait for room, in the mean
	// Bytes is the most memory that the program had.
	Bytes uint64
}

// Times are quantiles: half are below P50.
type Times struct{ P50, P99, Most time.Duration }

func newTimes(took []time.Duration) Times {
	slices.Sort(took)
	return Times{took[len(took)/2], took[len(took)*99/100], took[len(took)-1]}
}

const (
	scaleSlots = 2 // of a machine
	scaleTask  = 30 * time.Second
	scaleNew   = 10 * time.Second // the task that is measured
	scaleEvery = 50 * time.Millisecond
)

// Scale measures the master as NSDI 2011, section 6.6, does. All machines are
// full of tasks of 30 s, and 200 frameworks start the next ones as room comes free.
// Now and then another framework starts a task of 10 s. Unlike there, machines,
// messages and time are virtual. The measured time is the computation, of master and
// frameworks both: all that there is from when the new task is wanted until it has
// begun.
//
// Errors: options below zero, fewer machines than frameworks, and the cause of the end of ctx.
func Scale(ctx context.Context, o ScaleOptions) (ScaleResult, error) {
	if o.Machines < 0 || o.Frameworks < 0 || o.Tasks < 0 {
		return ScaleResult{}, fmt.Errorf("%d machines, %d frameworks, %d tasks: want 0 or more", o.Machines, o.Frameworks, o.Tasks)
	}
	o.Machines, o.Frameworks, o.Tasks = cmp.Or(o.Machines, 50_000), cmp.Or(o.Frameworks, 200), cmp.Or(o.Tasks, 1000)
	if o.Machines < o.Frameworks {
		return ScaleResult{}, fmt.Errorf("%d machines for %d frameworks: want one for each, or some never have any", o.Machines, o.Frameworks)
	}
	w, err := newWorld(o.Seed, alike(o.Machines, resources.Vector{scaleSlots}), offers.Config{})
	if err != nil {
		return ScaleResult{}, err
	}
	result := ScaleResult{Machines: o.Machines, Frameworks: o.Frameworks, Tasks: o.Tasks}
	random := w.stream(0)
	others := make([]*framework, o.Frameworks)
	for i := range others {
		others[i], err = w.add(offers.Registration{Name: fmt.Sprint("framework-", i)}, func(_ *framework, o offers.Offer) []task {
			return fill(o.Room, slot, func() (task, bool) {
				length := scaleTask + time.Duration(random.NormFloat64()*float64(scaleTask/3))
				if w.now == 0 { // as if they had begun before
					length = random.within(scaleTask)
				}
				return task{length: max(length, 0), ended: func() error {
					result.Ended++
					return nil
				}}, true
			})
		})
		if err != nil {
			return ScaleResult{}, err
		}
	}
	var tick func() error
	tick = func() error {
		w.after(offers.DefaultInterval, tick)
		result.Bytes = max(result.Bytes, memory())
		return w.master.Step(w.time())
	}
	w.after(0, tick)
	p := &probe{w: w}
	if err := p.join(o.Machines); err != nil {
		return ScaleResult{}, err
	}
	if err := w.runUntil(ctx, scaleTask); err != nil {
		return ScaleResult{}, err
	}
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	var onCPU, byClock []time.Duration
	for range o.Tasks {
		if err := w.runUntil(ctx, w.now+scaleEvery); err != nil {
			return ScaleResult{}, err
		}
		used, began := cputime.OfThread(), time.Now()
		if err := p.start(); err != nil {
			return ScaleResult{}, err
		}
		onCPU, byClock = append(onCPU, cputime.OfThread()-used), append(byClock, time.Since(began))
		if err := p.framework.Suppress(w.time()); err != nil {
			return ScaleResult{}, err
		}
		result.Virtual += (p.placed - p.asked) / time.Duration(o.Tasks)
	}
	result.CPU, result.Real = newTimes(onCPU), newTimes(byClock)
	result.Bytes = max(result.Bytes, memory())
	for _, f := range others {
		result.Running += len(f.running)
	}
	result.Running += len(p.framework.running)
	return result, w.cell.Check()
}

// runUntil runs the events before that time.
func (w *world) runUntil(ctx context.Context, until time.Duration) error {
	passed := false
	w.events.Push(until, func() error {
		passed = true
		return nil
	})
	if err := w.settle(); err != nil {
		return err
	}
	for !passed {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if _, err := w.step(); err != nil {
			return err
		}
	}
	return nil
}

// probe is the framework that starts a task now and then.
type probe struct {
	w             *world
	framework     *framework
	wants         bool
	asked, placed time.Duration
}

// join registers it. It is offered one machine at a time, and comes before all
// others, as a new framework that holds nothing would with each of its tasks.
func (p *probe) join(machines int) (err error) {
	r := offers.Registration{Name: "new", Outstanding: 1 / float64(machines), Weight: drf.MaxWeight}
	p.framework, err = p.w.add(r, func(*framework, offers.Offer) []task {
		if !p.wants {
			return nil
		}
		p.wants, p.placed = false, p.w.now
		return []task{{need: slot, length: scaleNew}}
	})
	if err != nil {
		return err
	}
	return p.framework.Suppress(p.w.time())
}

// start has a task begin, and returns when it has.
func (p *probe) start() error {
	p.wants, p.asked = true, p.w.now
	if err := p.framework.Revive(p.w.time()); err != nil {
		return err
	}
	if err := p.w.settle(); err != nil {
		return err
	}
	for p.wants {
		if more, err := p.w.step(); err != nil || !more {
			return cmp.Or(err, fmt.Errorf("after %v: there is no room, and will be none", p.w.now))
		}
	}
	return nil
}

// memory returns how much of it the Go runtime has from the system.
func memory() uint64 {
	samples := []metrics.Sample{{Name: "/memory/classes/total:bytes"}, {Name: "/memory/classes/heap/released:bytes"}}
	metrics.Read(samples)
	return samples[0].Value.Uint64() - samples[1].Value.Uint64()
}
