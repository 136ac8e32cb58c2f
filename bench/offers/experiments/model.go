package experiments

import (
	"context"
	"fmt"
	"time"

	"github.com/cellsched/cellsched/offers"
	"github.com/cellsched/cellsched/resources"
)

// The model of NSDI 2011, section 5. A framework comes into a cell full of tasks of
// mean length T. Its share is k slots, and its job takes beta*T on k slots.
const (
	modelSlots  = 100 // k
	modelOthers = 3   // frameworks that fill the cell, with k slots each in the end
	modelTask   = 100 * time.Second
	// modelWarm is the time for which the others have the cell to themselves.
	modelWarm = modelTask
	// modelPieces is the number of the job's own tasks that make up a T: the model
	// counts work and not tasks, so they are to be small.
	modelPieces = 10
)

// modelCase is one line of the paper's table.
type modelCase struct {
	exponential, rigid bool
	beta               int
	// anywhere lets it use any slot of the cell and not k of them.
	anywhere bool
	// whole has its own tasks be as long as all others.
	whole bool
}

func modelPoints() []point {
	var points []point
	add := func(c modelCase) {
		points = append(points, point{name: c.name(), run: c.run})
	}
	for _, exponential := range []bool{false, true} {
		for _, rigid := range []bool{false, true} {
			for _, beta := range []int{1, 2, 5} {
				add(modelCase{exponential: exponential, rigid: rigid, beta: beta})
			}
		}
	}
	for _, exponential := range []bool{false, true} {
		add(modelCase{exponential: exponential, beta: 2, whole: true})
		add(modelCase{exponential: exponential, rigid: true, beta: 2, anywhere: true})
	}
	return points
}

func (c modelCase) name() string {
	name := "constant"
	if c.exponential {
		name = "exponential"
	}
	if c.rigid {
		name += ", rigid"
	} else {
		name += ", elastic"
	}
	name += fmt.Sprint(", beta ", c.beta)
	if c.whole {
		name += ", own tasks of T"
	}
	if c.anywhere {
		name += ", any slot"
	}
	return name
}

// expected returns the formulas' ramp-up and completion in T, and utilisation.
func (c modelCase) expected() (ramp, completion, used float64) {
	beta := float64(c.beta)
	ramp, mean := 1.0, 0.5 // when the last of k slots comes, and when one does in the mean
	if c.exponential {
		ramp, mean = 0, 1
		for i := 1; i <= modelSlots; i++ {
			ramp += 1 / float64(i)
		}
	}
	if c.rigid {
		return ramp, ramp + beta, beta / (ramp - mean + beta)
	}
	return ramp, mean + beta, 1
}

// run measures one arrival. Slots are machines of one unit each.
func (c modelCase) run(ctx context.Context, seed uint64) ([]value, error) {
	w, err := newWorld(seed, alike((modelOthers+1)*modelSlots, resources.Vector{1}), offers.Config{})
	if err != nil {
		return nil, err
	}
	random := w.stream(0)
	length := func() time.Duration {
		switch {
		case c.exponential:
			return random.exponential(modelTask)
		case w.now == 0: // as if they had begun before
			return random.within(modelTask)
		}
		return modelTask
	}
	for i := range modelOthers {
		_, err := w.add(offers.Registration{Name: fmt.Sprint("other-", i)}, func(*framework, offers.Offer) []task {
			return []task{{need: resources.Vector{1}, length: length()}}
		})
		if err != nil {
			return nil, err
		}
	}
	a := arrival{modelCase: c, length: length}
	w.after(modelWarm, func() error {
		// The model gives it every slot of its k that comes free. With such a weight
		// it stays below its share, and so before others, until it has them all.
		r := offers.Registration{Name: "new", Weight: 4}
		if !c.anywhere {
			r.Machines = w.mask(0, modelSlots)
		}
		a.framework, err = w.add(r, a.pick)
		return err
	})
	if err := w.run(ctx); err != nil {
		return nil, err
	}
	ramp, completion, used := c.expected()
	held := a.framework.held.Seconds()
	values := []value{
		{name: "completion / T", value: (w.now - modelWarm).Seconds() / modelTask.Seconds(), expected: completion},
		{name: "utilisation", value: a.used.Seconds() / held, expected: used, weight: held},
	}
	if c.rigid { // an elastic job may be done before it has them all
		values = append(values, value{
			name: "ramp-up / T", value: (a.ramped - modelWarm).Seconds() / modelTask.Seconds(), expected: ramp,
		})
	}
	return values, nil
}

// arrival is the framework that comes.
type arrival struct {
	modelCase
	framework   *framework
	length      func() time.Duration
	begun, done int           // tasks
	ramped      time.Duration // when it had k slots
	used        time.Duration // time in which its slots computed
}

// pick starts the next piece of the job, or holds the slot until there are k.
func (a *arrival) pick(f *framework, _ offers.Offer) []task {
	t := task{need: resources.Vector{1}, length: -1}
	if a.rigid {
		if a.begun == modelSlots {
			return nil
		}
		if a.begun++; a.begun == modelSlots {
			a.ramped = f.w.now
			took := time.Duration(a.beta) * modelTask
			f.w.after(took, func() error {
				a.used = took * modelSlots
				if err := f.finishAll(); err != nil {
					return err
				}
				return f.w.end()
			})
		}
		return []task{t}
	}
	all := a.beta * modelSlots
	t.length = modelTask / modelPieces
	if a.whole {
		t.length = a.length()
	} else {
		all *= modelPieces
	}
	if a.begun == all {
		return nil
	}
	a.begun++
	t.ended = func() error {
		a.used += t.length
		if a.done++; a.done == all {
			return f.w.end()
		}
		return nil
	}
	return []task{t}
}
