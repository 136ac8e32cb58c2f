package flow

import (
	"github.com/cellsched/cellsched/locality/quincy"
	"github.com/cellsched/cellsched/resources"
)

// promises is the room that the plan gives to tasks, until each has its allocation.
type promises[J, T comparable] struct {
	cfg   *Config[T]
	book  *book[J, T]
	fleet *fleet[J, T]
	round *outcome[T]

	awaiting []*machine[J, T] // with tasks that wait for room there
	queue    []*machine[J, T] // to be checked
	stopping []*task[J, T]    // to be told to stop
}

// stop reports the tasks that are to stop where they run.
func (pr *promises[J, T]) stop() {
	for _, tk := range pr.stopping {
		if !tk.stopping {
			continue // it stays
		}
		tk.stopping = false
		reason := Preempted
		if tk.at != nil {
			reason = Moved
		}
		pr.round.report.Stop = append(pr.round.report.Stop, Stop[T]{Task: tk.key, Machine: tk.run.on.id, Reason: reason})
	}
	clear(pr.stopping)
	pr.stopping = pr.stopping[:0]
}

// follow notes the places of the plan, and takes back tasks without room.
func (pr *promises[J, T]) follow(changes []quincy.Change[T]) {
	for _, c := range changes {
		tk := pr.book.tasks[c.Task]
		pr.book.unplan(tk)
		if tk.runs() {
			pr.book.endRun(tk)
			tk.stopping = true
			pr.stopping = append(pr.stopping, tk)
		}
		if c.Action == quincy.Preempt {
			// It waits again, if need be for a machine where it fits.
			pr.book.listExact(tk)
			continue
		}
		m := pr.fleet.machines[c.To]
		pr.book.plan(tk, m)
		pr.promise(m, tk)
		pr.enqueue(m)
	}
	pr.recheck(true)
}

// promise has tk wait for room on m, where the plan has it.
func (pr *promises[J, T]) promise(m *machine[J, T], tk *task[J, T]) {
	m.promised = append(m.promised, tk)
	if !m.awaits {
		m.awaits = true
		pr.awaiting = append(pr.awaiting, m)
	}
}

func (pr *promises[J, T]) enqueue(m *machine[J, T]) {
	if !m.queued {
		m.queued = true
		pr.queue = append(pr.queue, m)
	}
}

// recheck checks the machines in the queue, and the machines that a task was to leave
// and now stays on. It ends: each time that it queues a machine, a task has lost a
// promise.
func (pr *promises[J, T]) recheck(unfit bool) {
	for next := 0; next < len(pr.queue); {
		m := pr.queue[next]
		next++
		m.queued = false
		pr.check(m, unfit)
	}
	pr.queue = pr.queue[:0]
}

// check takes back the promises that m cannot give: first come, first served. Unfit is
// true of promises by the plan. The planner is then told not to send the task where it
// does not fit.
func (pr *promises[J, T]) check(m *machine[J, T], unfit bool) {
	room, given, refused := m.free.Add(m.ending), 0, false
	// First come, first served: the older promises are checked first.
	for given < len(m.promised) {
		tk := m.promised[given]
		if rest, ok := room.Sub(tk.want.Need); ok && m.takes() {
			room = rest
			given++
			continue
		}
		if unfit {
			pr.round.report.Unfit++
			tk.exact, tk.retargeted, tk.sentEpoch = true, false, pr.fleet.epoch
		}
		pr.refuse(tk, m.why(tk.want.Need, room, pr.cfg.Cell.Space()))
		refused = true
	}
	if unfit && refused {
		pr.cancelPreemptions(m, room)
	}
}

// refuse gives tk back. If tk was to move, it keeps running and its old room stays taken.
func (pr *promises[J, T]) refuse(tk *task[J, T], why error) {
	stays := tk.stopping
	pr.book.giveBack(tk, why)
	if stays {
		// The room that it was to leave may be promised to another task already.
		pr.enqueue(tk.at)
	}
}

// cancelPreemptions cancels preemptions of this round on m if the task that was to come does not,
// and the room is free.
func (pr *promises[J, T]) cancelPreemptions(m *machine[J, T], room resources.Vector) {
	for _, h := range m.holds {
		tk := h.task
		if tk == nil || !tk.stopping || tk.at != nil || tk.job.planned >= tk.job.maxShare {
			continue
		}
		if rest, ok := room.Sub(h.need); ok {
			room = rest
			pr.book.restore(tk)
		}
	}
}

// recheckDirty takes back promises on changed machines that no longer have the room.
func (pr *promises[J, T]) recheckDirty() {
	for next := 0; next < len(pr.fleet.dirty); { // it may grow
		m := pr.fleet.dirty[next]
		next++
		pr.check(m, false)
	}
}
