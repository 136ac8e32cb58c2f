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
	going    []*task[J, T]    // to be told to stop
}

// stop reports the tasks that are to leave where they run.
func (pr *promises[J, T]) stop() {
	for _, tk := range pr.going {
		if !tk.going {
			continue // it stays
		}
		tk.going = false
		reason := Preempted
		if tk.at != nil {
			reason = Moved
		}
		pr.round.report.Stop = append(pr.round.report.Stop, Stop[T]{Task: tk.key, Machine: tk.run.on.id, Reason: reason})
	}
	clear(pr.going)
	pr.going = pr.going[:0]
}

// follow notes where the plan wants tasks, and takes back what has no room.
func (pr *promises[J, T]) follow(changes []quincy.Change[T]) {
	for _, c := range changes {
		tk := pr.book.tasks[c.Task]
		pr.book.unplan(tk)
		if tk.runs() {
			pr.book.leave(tk)
			tk.going = true
			pr.going = append(pr.going, tk)
		}
		if c.Action == quincy.Preempt {
			pr.book.seeks(tk)
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

// recheck checks the machines in the queue, and those from which tasks were to move that
// now stay. It ends: each time that it queues a machine, a task has lost a promise.
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
	room, given, refused := m.free.Add(m.leaving), 0, false
	for given < len(m.promised) {
		tk := m.promised[given]
		if rest, ok := room.Sub(tk.want.Need); ok && m.takes() {
			room = rest
			given++
			continue
		}
		if unfit {
			pr.round.report.Unfit++
			tk.exact, tk.sought, tk.stirs = true, false, pr.fleet.stirs
		}
		pr.refuse(tk, m.why(tk.want.Need, room, pr.cfg.Cell.Space()))
		refused = true
	}
	if unfit && refused {
		pr.sparing(m, room)
	}
}

// refuse gives tk back. If tk was to move, it keeps running and its old room stays taken.
func (pr *promises[J, T]) refuse(tk *task[J, T], why error) {
	stays := tk.going
	pr.book.giveBack(tk, why)
	if stays {
		pr.enqueue(tk.at)
	}
}

// sparing cancels preemptions of this round on m if the task that was to come does not,
// and the room is free.
func (pr *promises[J, T]) sparing(m *machine[J, T], room resources.Vector) {
	for _, h := range m.holds {
		tk := h.task
		if tk == nil || !tk.going || tk.at != nil || tk.job.planned >= tk.job.top {
			continue
		}
		if rest, ok := room.Sub(h.need); ok {
			room = rest
			pr.book.restore(tk)
		}
	}
}

// keep gives back what was promised on machines that have changed and is not to
// be had any more.
func (pr *promises[J, T]) keep() {
	for next := 0; next < len(pr.fleet.dirty); { // it may grow
		m := pr.fleet.dirty[next]
		next++
		pr.check(m, false)
	}
}
