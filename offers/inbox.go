package offers

import (
	"slices"

	"github.com/cellsched/cellsched/omega"
	"github.com/cellsched/cellsched/resources"
)

// inbox puts news where frameworks read them, and notes which frameworks are to be notified.
type inbox struct {
	*client
	registry *registry
	wake     []func() // to be called once the mutex is free
}

// tell has the framework notified, unless it was already.
func (i *inbox) tell(f *member) {
	if !f.notified {
		f.notified = true
		if f.reg.Notify != nil {
			i.wake = append(i.wake, f.reg.Notify)
		}
	}
}

// part notifies a framework before its handle ends or is replaced.
func (i *inbox) part(f *member) {
	if f.connected {
		i.tell(f)
	}
}

// tellEnd adds the end of an offer to the news.
func (i *inbox) tellEnd(f *member, o *offer) {
	if f.connected {
		f.news.Ended = append(f.news.Ended, Ended{o.ID, o.state.reason()})
		i.tell(f)
	}
}

// tellRevoked adds a notice to the news.
func (i *inbox) tellRevoked(f *member, n Notice) {
	f.news.Spared = slices.DeleteFunc(f.news.Spared, func(a omega.Allocation) bool { return a.ID == n.Task.ID })
	f.news.Revoked = append(f.news.Revoked, n)
	i.tell(f)
}

// tellSpared takes a notice back.
func (i *inbox) tellSpared(f *member, task omega.Allocation) {
	f.news.Revoked = slices.DeleteFunc(f.news.Revoked, func(n Notice) bool { return n.Task.ID == task.ID })
	f.news.Spared = append(f.news.Spared, task)
	i.tell(f)
}

func (i *inbox) answer(r *request, a Answer) {
	r.of.news.Answers = append(r.of.news.Answers, a)
	i.tell(r.of)
}

// tellMarks passes on which tasks were preempted or lost, each once.
func (i *inbox) tellMarks(f *member) {
	if f.sched == nil || !f.connected {
		return
	}
	for mark := range f.sched.Marked() {
		if !f.toldMarks[mark.Allocation.ID] {
			if f.toldMarks == nil {
				f.toldMarks = make(map[omega.AllocationID]bool)
			}
			f.toldMarks[mark.Allocation.ID] = true
			f.untell(mark.Allocation.ID)
			f.news.Tasks = append(f.news.Tasks, mark)
			i.tell(f)
		}
	}
}

// tellShortfall tells frameworks with guarantees by how much all guarantees together
// exceed the cell, whenever that changes. A framework is told of the kinds that it is
// guaranteed.
func (i *inbox) tellShortfall() {
	var short resources.Vector
	for k, q := range i.registry.guaranteed(nil) {
		short[k] = max(0, q-i.total[k])
	}
	for _, f := range i.registry.order {
		var of resources.Vector
		for k, q := range f.reg.Guaranteed {
			if q > 0 {
				of[k] = short[k]
			}
		}
		if of != f.short && f.connected {
			told := of // to leave the heap alone where there is nothing to tell
			f.short, f.news.Short = of, &told
			i.tell(f)
		}
	}
}

// untell drops unread news of a task that runs no more.
func (f *member) untell(task omega.AllocationID) {
	f.news.Revoked = slices.DeleteFunc(f.news.Revoked, func(n Notice) bool { return n.Task.ID == task })
	f.news.Spared = slices.DeleteFunc(f.news.Spared, func(a omega.Allocation) bool { return a.ID == task })
}
