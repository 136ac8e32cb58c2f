package quincy

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/cellsched/cellsched/internal/fault"
	net "github.com/cellsched/cellsched/internal/slots"
	"github.com/cellsched/cellsched/locality"
)

// Explanation is the reason for a task's place: all places it could go to, their
// costs, and the tasks in the way.
type Explanation[J, T comparable] struct {
	Task T
	Job  J
	// Running reports that it runs on On by the last plan; otherwise it waits.
	Running bool
	On      locality.Node
	// Runs is the number of running tasks of the job. Low to Top (E and F) are its
	// shares.
	Runs, Low, Top int
	// Ways are the arcs of the task, least Extra first, those without a way
	// last, each in the order in which [Config.Arcs] returned them.
	Ways []Way[J, T]

	// placeless reports that no plan has given it a place yet, or that it has lost its
	// place since: it uses none of the ways.
	placeless bool
}

// Way is an arc of a task, and the changes needed to use it.
type Way[J, T comparable] struct {
	// To is the end of the arc, and Cost its cost.
	To   Target
	Cost int64
	// Open reports that there is a way. If not, the tasks that hold the slots can
	// go nowhere else, or the shares of jobs forbid it. For example, Top tasks of
	// the job run: another one has to stop for this one, and none can.
	Open bool
	// Leaf is the machine where the task would run, below the rack or the cluster;
	// or the target to wait.
	Leaf Target
	// Extra is the growth of the whole plan's cost, Cost included: 0 for the arc in use,
	// and for others that are as good. It is the additional cost that the present place
	// avoids.
	Extra int64
	// Displaced are the tasks that would have to give way. Each moves to the next one's
	// place. The last displaced task moves to a free slot, or waits in place of the
	// explained one.
	Displaced []Displaced[J, T]

	// slots is the number of slots of the machine, or of all machines in the rack
	// or the cluster, and used the number that tasks hold. For the target to wait
	// they are the number of tasks of the job that may wait, and that do.
	slots, used int
	// holders are the tasks that run on the machine, if To is one, in an order
	// that is the same for the same calls.
	holders []T
}

// here reports whether w leads to the task's place.
func (e *Explanation[J, T]) here(w *Way[J, T]) bool {
	switch {
	case e.placeless:
		return false
	case e.Running:
		return w.To == OnMachine(e.On)
	}
	return w.To == Unscheduled()
}

// full reports whether the task can only run if another of its job does not.
func (e *Explanation[J, T]) full() bool { return !e.Running && e.Runs >= e.Top }

// String returns the explanation in words, a line for each way: with the slots of its end,
// the tasks that hold them, and the cost to each task that would give way.
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
		fmt.Fprintf(&b, "  %v: cost %d, %d of %d", w.To, w.Cost, w.used, w.slots)
		if w.To == Unscheduled() {
			b.WriteString(" wait")
		} else {
			b.WriteString(" slots in use")
		}
		for k, t := range w.holders {
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
			fmt.Fprintf(&b, "%s%v of %v from %v to %v %+d", [...]string{": ", ", "}[min(k, 1)], d.Task, d.job, d.From, d.To, d.extra)
		}
		b.WriteByte('\n')
	}
	return b.String()
}

// Displaced is a task that would give way to another one.
type Displaced[J, T comparable] struct {
	Task     T
	From, To Target // machines, or to wait

	job   J
	extra int64 // the growth of its own cost
}

// Explain returns the reason for t's place by the last plan, at the latest time
// that the planner knows.
//
// Suppose that neither the last plan nor a call since has changed anything. Then
// the ways are the cheapest, and no Extra is below 0. A plan that places a task
// changes its arcs, as it asks for them again. Otherwise the ways are still
// possible, and an Extra below 0 is a gain for the next plan. If the last plan
// failed, so does Explain, with the same error.
//
// Cost: for each arc of the task a search from its end, and one from the task's
// place, until they meet. With free slots that looks at some hundreds or thousands
// of arcs. With far more tasks than slots it looks at one in ten of all, and at
// worst at all twice. Counting slots takes O(machines).
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
	e.placeless = !placed
	for _, w := range p.net.Paths(number, p.now) {
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

func (p *Planner[J, T]) wayOf(of *job[J], w net.Path) Way[J, T] {
	way := Way[J, T]{
		To: p.targetOf(w.Option.At), Cost: w.Option.Base + int64(w.Option.Slope)*p.now,
		Open: w.Open, Extra: w.Extra,
	}
	way.slots, way.used = p.net.Room(w.Option.At)
	if way.To.kind == toMachine {
		holders := slices.Sorted(slices.Values(p.net.Sitting(w.Option.At)))
		for _, number := range holders {
			way.holders = append(way.holders, p.tasks[number].key)
		}
	}
	if !w.Open {
		return way
	}
	way.Leaf = p.targetOf(w.Leaf)
	for _, s := range w.Steps {
		it := &p.tasks[s.Task]
		way.Displaced = append(way.Displaced, Displaced[J, T]{Task: it.key, job: it.job.key, From: p.targetOf(s.From), To: p.targetOf(s.To), extra: s.Extra})
	}
	return way
}
