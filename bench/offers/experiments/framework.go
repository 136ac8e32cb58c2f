package experiments

import (
	"slices"
	"time"

	"github.com/cellsched/cellsched/offers"
	"github.com/cellsched/cellsched/omega"
	"github.com/cellsched/cellsched/resources"
)

// framework is a framework of the world. Its functions are its behaviour.
type framework struct {
	*offers.Framework
	w *world

	// pick returns the tasks to start on an offer; without any it is declined.
	pick func(o offers.Offer) []task
	// offered answers offers; it is launch unless set.
	offered func(got []offers.Offer) error
	// answered takes the answer to a request.
	answered func(a offers.Answer) error

	refuse  offers.Span // of the offers that it declines
	running map[omega.AllocationID]*run
	held    time.Duration // for which tasks that have ended had their room
	lost    time.Duration // of that, in tasks that were preempted
}

// task is one task to start.
type task struct {
	need   resources.Vector
	length time.Duration // below 0 until it is ended by hand
	long   bool
	ended  func() error // if not nil, called when it has ended by itself
	killed func() error // if not nil, called when it was preempted
	began  func(id omega.AllocationID)
}

// run is a task that runs.
type run struct {
	task
	since time.Duration
}

// add registers a framework that picks tasks that way.
func (w *world) add(r offers.Registration, pick func(f *framework, o offers.Offer) []task) (*framework, error) {
	f := &framework{w: w, running: map[omega.AllocationID]*run{}}
	f.pick = func(o offers.Offer) []task { return pick(f, o) }
	f.offered = f.launch
	r.Notify = func() { w.told = append(w.told, f) }
	var err error
	f.Framework, err = w.master.Register(w.time(), r)
	return f, err
}

// read reads the news and answers.
func (f *framework) read() error {
	news, err := f.News(f.w.time())
	if err != nil {
		return err
	}
	for _, mark := range news.Tasks {
		id := mark.Allocation.ID
		r := f.running[id] // nil if it ended just then
		if err := f.finish(id); err != nil {
			return err
		}
		if r == nil {
			continue
		}
		f.lost += f.w.now - r.since
		if r.killed != nil {
			if err := r.killed(); err != nil {
				return err
			}
		}
	}
	for _, a := range news.Answers {
		if err := f.answered(a); err != nil {
			return err
		}
	}
	if len(news.Offers) == 0 {
		return nil
	}
	return f.offered(news.Offers)
}

// launch starts on each offer the tasks that are picked for it, and declines the others.
func (f *framework) launch(got []offers.Offer) error {
	var declined []offers.OfferID
	for _, o := range got {
		tasks := f.pick(o)
		if len(tasks) == 0 {
			declined = append(declined, o.ID)
			continue
		}
		if err := f.start(o.ID, tasks); err != nil {
			return err
		}
	}
	if len(declined) == 0 {
		return nil
	}
	return f.Decline(f.w.time(), f.refuse, declined...)
}

// start starts tasks on an offer.
func (f *framework) start(o offers.OfferID, tasks []task) error {
	l := offers.Launch{Offers: []offers.OfferID{o}, Tasks: make([]offers.Task, len(tasks))}
	for i, t := range tasks {
		l.Tasks[i] = offers.Task{Need: t.need, Long: t.long}
	}
	ids, err := f.Accept(f.w.time(), l)
	if err != nil {
		return err
	}
	for i, id := range ids {
		f.started(id, tasks[i])
	}
	return nil
}

// started notes a task that runs, and when it ends.
func (f *framework) started(id omega.AllocationID, t task) {
	f.running[id] = &run{t, f.w.now}
	if t.began != nil {
		t.began(id)
	}
	if t.length < 0 {
		return
	}
	f.w.after(t.length, func() error {
		if f.running[id] == nil {
			return nil // preempted
		}
		if err := f.finish(id); err != nil {
			return err
		}
		if t.ended == nil {
			return nil
		}
		return t.ended()
	})
}

// finish releases the allocation of a task.
func (f *framework) finish(id omega.AllocationID) error {
	if r := f.running[id]; r != nil {
		f.held += f.w.now - r.since
		delete(f.running, id)
	}
	return f.Release(f.w.time(), id)
}

// finishAll releases the allocations of all of them.
func (f *framework) finishAll() error {
	for _, a := range slices.Collect(f.Tasks()) {
		if err := f.finish(a.ID); err != nil {
			return err
		}
	}
	return nil
}

// fill returns as many of the tasks that next makes as fit in the room, until it
// makes none.
func fill(room resources.Vector, need resources.Vector, next func() (task, bool)) []task {
	var tasks []task
	for {
		rest, ok := room.Sub(need)
		if !ok {
			return tasks
		}
		t, ok := next()
		if !ok {
			return tasks
		}
		t.need = need
		tasks, room = append(tasks, t), rest
	}
}
