package quincy

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/cellsched/cellsched/internal/fault"
	"github.com/cellsched/cellsched/locality"
	net "github.com/cellsched/cellsched/locality/quincy/internal/slots"
)

// Explanation says why a task is where it is: all places it could go to, what
// each would cost, and who is in the way.
type Explanation[J, T comparable] struct {
	Task T
	Job  J
	// Running says that it runs on On by the last plan; it waits if not.
	Running bool
	On      locality.Node
	// New says that no plan has given it a place yet, or that it has lost it
	// since: it uses none of the ways.
	New bool
	// Runs is how many tasks of the job run, of the Low to Top (E and F) that
	// are to.
	Runs, Low, Top int
	// Ways are the arcs of the task, least Extra first, those without a way
	// last, each in the order in which [Config.Arcs] returned them.
	Ways []Way[J, T]
}

// Way is an arc of a task, and what it would take to use it.
type Way[J, T comparable] struct {
	// To is where the arc leads, and Cost what it costs.
	To   Target
	Cost int64
	// Slots are those of the machine, or of all machines in the rack or the
	// cluster, and Used how many of them tasks hold. Of the target to wait they
	// are how many tasks of the job may wait, and do.
	Slots, Used int
	// Holders are the tasks that run on the machine, if To is one, in an order
	// that is the same for the same calls.
	Holders []T
	// Open says that there is a way. If not, whoever holds the slots can go
	// nowhere else, or the shares of jobs forbid it: where a task waits and Top of
	// its job run, another of the job has to stop for it, and none can.
	Open bool
	// Leaf is the machine where the task would run, below the rack or the
	// cluster; or that it would wait.
	Leaf Target
	// Extra is by how much the cost of the whole plan would grow, Cost and all:
	// 0 for the arc in use, and for others that are as good. It is the price
	// that the task does not pay.
	Extra int64
	// Displaced are the tasks that would have to give way, each to the next,
	// until one comes to a free slot, or to wait in the task's stead.
	Displaced []Displaced[J, T]
}

// here reports whether w is where the task is.
func (e *Explanation[J, T]) here(w *Way[J, T]) bool {
	switch {
	case e.New:
		return false
	case e.Running:
		return w.To == OnMachine(e.On)
	}
	return w.To == Unscheduled()
}

// full reports whether the task can only run if another of its job does not.
func (e *Explanation[J, T]) full() bool { return !e.Running && e.Runs >= e.Top }

// String returns all of it in words, a line for each way.
func (e Explanation[J, T]) String() string {
	var b strings.Builder
	state := "waits"
	if e.Running {
		state = fmt.Sprint("runs on ", OnMachine(e.On))
	}
	fmt.Fprintf(&b, "task %v of job %v %s; %d of the job run, want %d to %d", e.Task, e.Job, state, e.Runs, e.Low, e.Top)
	if e.full() {
		b.WriteString(": its share is used up")
	}
	b.WriteByte('\n')
	for i := range e.Ways {
		w := &e.Ways[i]
		fmt.Fprintf(&b, "  %v: cost %d, %d of %d", w.To, w.Cost, w.Used, w.Slots)
		if w.To == Unscheduled() {
			b.WriteString(" wait")
		} else {
			b.WriteString(" slots in use")
		}
		for k, t := range w.Holders {
			fmt.Fprintf(&b, "%s%v", [...]string{" by ", ", "}[min(k, 1)], t)
		}
		switch {
		case e.here(w):
			b.WriteString("; it is here")
		case !w.Open && e.full():
			b.WriteString("; no other task of the job can stop for it")
		case !w.Open:
			b.WriteString("; no way to make room")
		default:
			fmt.Fprintf(&b, "; %+d in all", w.Extra)
			if w.Leaf != w.To {
				fmt.Fprintf(&b, ", on %v", w.Leaf)
			}
		}
		for k, d := range w.Displaced {
			fmt.Fprintf(&b, "%s%v of %v from %v to %v %+d", [...]string{": ", ", "}[min(k, 1)], d.Task, d.Job, d.From, d.To, d.Extra)
		}
		b.WriteByte('\n')
	}
	return b.String()
}

// Displaced is a task that would give way to another one.
type Displaced[J, T comparable] struct {
	Task     T
	Job      J
	From, To Target // machines, or to wait
	// Extra is by how much its own cost would grow.
	Extra int64
}

// Explain says why t is where it is by the last plan, at the latest time that
// the planner knows.
//
// The ways are the cheapest, and no Extra is below 0, if nothing has changed
// since that plan, nor with it: a task that it placed was asked for its arcs
// again. Otherwise they are possible all the same, and one below 0 is what the
// next plan can gain. If the last plan failed, so does Explain,
// with the same error.
//
// Cost: for each arc of the task a search from its end, and one from where the task
// is, until they meet. That looks at some hundreds or thousands of arcs where slots
// are free, at one in ten of all where far more tasks are there than slots, and at
// all twice at worst. And O(machines), to count slots.
func (p *Planner[J, T]) Explain(t T) (Explanation[J, T], error) {
	if p.none() {
		return Explanation[J, T]{}, absent("planner")
	}
	number, ok := p.numbers[t]
	if !ok {
		return Explanation[J, T]{}, refuse(ErrUnknown, "task %s", fault.Key(t))
	}
	if p.failed != nil {
		return Explanation[J, T]{}, p.failed
	}
	it := &p.tasks[number]
	e := Explanation[J, T]{
		Task: t, Job: it.job.key, Running: it.state.Running, On: it.state.On,
		Runs: it.job.running, Low: it.job.low, Top: it.job.top,
	}
	_, _, placed := p.net.At(number)
	e.New = !placed
	for _, w := range p.net.Ways(number, p.now) {
		e.Ways = append(e.Ways, p.wayOf(it.job, w))
	}
	slices.SortStableFunc(e.Ways, func(a, b Way[J, T]) int {
		switch {
		case a.Open != b.Open && a.Open:
			return -1
		case a.Open != b.Open:
			return 1
		}
		return cmp.Compare(a.Extra, b.Extra)
	})
	return e, nil
}

func (p *Planner[J, T]) wayOf(of *job[J], w net.Way) Way[J, T] {
	way := Way[J, T]{
		To: p.targetOf(w.Option.At), Cost: w.Option.Base + int64(w.Option.Slope)*p.now,
		Open: w.Open, Extra: w.Extra,
	}
	way.Slots, way.Used = p.net.Room(w.Option.At)
	if way.To.kind == toMachine {
		holders := slices.Sorted(slices.Values(p.net.Sitting(w.Option.At)))
		for _, number := range holders {
			way.Holders = append(way.Holders, p.tasks[number].key)
		}
	}
	if !w.Open {
		return way
	}
	way.Leaf = p.targetOf(w.Leaf)
	for _, s := range w.Steps {
		it := &p.tasks[s.Task]
		way.Displaced = append(way.Displaced, Displaced[J, T]{Task: it.key, Job: it.job.key, From: p.targetOf(s.From), To: p.targetOf(s.To), Extra: s.Extra})
	}
	return way
}
