package flow

import (
	"github.com/cellsched/cellsched/locality/quincy"
	"github.com/cellsched/cellsched/resources"
)

// follow notes where the plan wants tasks, and takes back what has no room.
func (s *Scheduler[J, T]) follow(changes []quincy.Change[T]) {
	for _, c := range changes {
		tk := s.tasks[c.Task]
		s.unplan(tk)
		if tk.runs() {
			s.leave(tk)
			tk.going = true
			s.going = append(s.going, tk)
		}
		if c.Action == quincy.Preempt {
			s.seeks(tk)
			continue
		}
		m := s.machines[c.To]
		s.plan(tk, m)
		s.promise(m, tk)
		s.enqueue(m)
	}
	s.recheck(true)
}

// promise has tk wait for room on m, where the plan has it.
func (s *Scheduler[J, T]) promise(m *machine[J, T], tk *task[J, T]) {
	m.promised = append(m.promised, tk)
	if !m.awaits {
		m.awaits = true
		s.awaiting = append(s.awaiting, m)
	}
}

func (s *Scheduler[J, T]) enqueue(m *machine[J, T]) {
	if !m.queued {
		m.queued = true
		s.queue = append(s.queue, m)
	}
}

// recheck checks the machines in the queue, and those from which tasks were to
// move that now stay. It ends: each time that a machine is queued by it, somebody
// has lost a promise.
func (s *Scheduler[J, T]) recheck(unfit bool) {
	for next := 0; next < len(s.queue); {
		m := s.queue[next]
		next++
		m.queued = false
		s.check(m, unfit)
	}
	s.queue = s.queue[:0]
}

// check takes back what m has promised and cannot give: first come, first
// served. Unfit says that it is the plan who promised it, which is told not to
// send the task where it does not fit.
func (s *Scheduler[J, T]) check(m *machine[J, T], unfit bool) {
	room, given, refused := m.free.Add(m.leaving), 0, false
	for given < len(m.promised) {
		tk := m.promised[given]
		if rest, ok := room.Sub(tk.want.Need); ok && m.takes() {
			room = rest
			given++
			continue
		}
		if unfit {
			s.report.Unfit++
			tk.exact, tk.sought, tk.stirs = true, false, s.stirs
		}
		s.refuse(tk, m.why(tk.want.Need, room, s.cfg.Cell.Space()))
		refused = true
	}
	if unfit && refused {
		s.sparing(m, room)
	}
}

// refuse gives tk back. Where it was to come from runs it still, and nobody can
// have that room.
func (s *Scheduler[J, T]) refuse(tk *task[J, T], why error) {
	stays := tk.going
	s.giveBack(tk, why)
	if stays {
		s.enqueue(tk.at)
	}
}

// sparing lets tasks stay on m that were to be preempted in this round, if the
// room they leave is nobody's: who was to come does not.
func (s *Scheduler[J, T]) sparing(m *machine[J, T], room resources.Vector) {
	for _, h := range m.holds {
		tk := h.task
		if tk == nil || !tk.going || tk.at != nil || tk.job.planned >= tk.job.top {
			continue
		}
		if rest, ok := room.Sub(h.need); ok {
			room = rest
			s.restore(tk)
		}
	}
}
