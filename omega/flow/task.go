package flow

import (
	"slices"

	"github.com/cellsched/cellsched/internal/fault"
	"github.com/cellsched/cellsched/locality/quincy"
	"github.com/cellsched/cellsched/omega"
	"github.com/cellsched/cellsched/resources"
)

// task is a task: where the plan has it, and where it is.
//
//	waits      at nil
//	promised   at set, next nil, and not running there: in at.promised
//	reserved   at set, next its allocation there
//	runs       at set, run its allocation there
//
// In the first three, run may be what it was told to leave and has not yet.
type task[J, T comparable] struct {
	key    T
	want   Task[J]
	job    *job[J]
	small  bool // needs no more than a slot
	exact  bool // it was sent where it had no room: see seek
	sought bool // a round has looked where it fits since
	stirs  int  // Scheduler.stirs when it was sent

	at        *machine[J, T]
	run, next *hold[J, T]
	planned   int64 // when at was set
	started   int64 // what runs
	since     int64 // it has not run
	waited    int64 // in total before that

	stuck, pinned bool
	unwilling     bool  // to wait costs it no more than any arc, now and later
	refused       error // why it was, lately
	over          bool  // it waits for what limits leave: it has arcs to wait only
	tried         bool  // a plan could place it since it waits, and has not
	opened        int64 // when it last was not over any more
	sure          bool  // its room was kept for it, and it is not preempted before it has started
	yields        bool  // it is to stop for one of those, if that is placed
	due           bool  // its job is below its low without it, by the last look
	gain          gain
	going         bool           // it is to be told to stop, at the end of the round
	reserved      bool           // it is in Scheduler.reserved
	item          int            // of the transaction, its claim
	asked         *machine[J, T] // where that is, while it is on the way: see phase

	pos, here, fitter int // places in Scheduler.list, machine.here, Scheduler.fitters
}

// runs reports whether it runs and was not told to stop.
func (tk *task[J, T]) runs() bool { return tk.run != nil && !tk.run.leaving }

// hold is an allocation.
type hold[J, T comparable] struct {
	id      omega.AllocationID
	task    *task[J, T] // nil once it is to be released
	on      *machine[J, T]
	need    resources.Vector
	booked  bool // the cell counts it; it was not preempted or lost
	leaving bool // it is to become free
	pos     int  // place in machine.holds
}

// plan notes that the plan has tk on m.
func (s *Scheduler[J, T]) plan(tk *task[J, T], m *machine[J, T]) {
	tk.at, tk.planned, tk.here = m, s.now, len(m.here)
	m.here = append(m.here, tk)
	if tk.small {
		m.small = m.small.Add(tk.want.Need)
		m.smalls++
	}
	tk.job.planned++
	s.unlist(tk)
	s.touch(m)
}

// unplan notes that tk is nowhere by the plan. What was promised or reserved for
// it is free.
func (s *Scheduler[J, T]) unplan(tk *task[J, T]) {
	m := tk.at
	if m == nil {
		return
	}
	m.here = drop(m.here, tk.here, func(last *task[J, T]) { last.here = tk.here })
	if tk.small {
		m.small, _ = m.small.Sub(tk.want.Need)
		m.smalls--
	}
	tk.job.planned--
	if tk.next != nil {
		s.free(tk.next)
		tk.next = nil
	} else {
		m.settle(tk)
	}
	tk.at, tk.tried, tk.sure = nil, false, false
	s.touch(m)
}

// settle takes tk out of those to whom room is promised.
func (m *machine[J, T]) settle(tk *task[J, T]) {
	if i := slices.Index(m.promised, tk); i >= 0 {
		m.promised = slices.Delete(m.promised, i, i+1)
	}
}

// seeks puts tk among those whose arcs depend on where there is room, if it is
// one of them.
func (s *Scheduler[J, T]) seeks(tk *task[J, T]) {
	if tk.fitter < 0 && (tk.exact || !tk.small && tk.at == nil) {
		tk.fitter = len(s.fitters)
		s.fitters = append(s.fitters, tk)
	}
}

func (s *Scheduler[J, T]) unlist(tk *task[J, T]) {
	if tk.fitter >= 0 {
		s.fitters = drop(s.fitters, tk.fitter, func(last *task[J, T]) { last.fitter = tk.fitter })
		tk.fitter = -1
	}
}

// leave notes that tk is to leave where it runs.
func (s *Scheduler[J, T]) leave(tk *task[J, T]) {
	tk.run.leave()
	tk.since = s.now
	s.touch(tk.run.on)
}

// giveBack takes tk from where the plan has put it, as there was no room: it
// waits, or goes on where it runs if it has not been told to stop yet.
func (s *Scheduler[J, T]) giveBack(tk *task[J, T], why error) {
	s.unplan(tk)
	tk.refused = why
	if tk.going {
		s.restore(tk)
		return
	}
	s.replan(tk)
	s.seeks(tk)
}

// restore takes back that tk is to leave where it runs.
func (s *Scheduler[J, T]) restore(tk *task[J, T]) {
	tk.going = false
	tk.run.stay()
	s.plan(tk, tk.run.on)
	s.seeks(tk)
	s.replan(tk)
}

// replan puts tk in the planner as it is. Where the caller's arcs are refused, it
// gets some that cannot be, and the round's error says so.
func (s *Scheduler[J, T]) replan(tk *task[J, T]) {
	err := s.planner.RemoveTask(tk.key)
	add := func() error {
		if tk.at != nil {
			return s.planner.AddRunning(tk.key, tk.want.Job, tk.at.node, tk.started, tk.waited, s.now)
		}
		return s.planner.AddTask(tk.key, tk.want.Job, s.now)
	}
	if err == nil {
		if err = add(); err != nil {
			s.bare = true
			err = fault.New("flow", "", err)
			_ = add() // what it can fail with is only the caller's arcs
			s.bare = false
		}
	}
	if err != nil {
		s.errs = append(s.errs, err)
	}
}

// correct puts into state what the planner, for which a plan is done at once and
// who waits anew has never waited, does not know.
func (tk *task[J, T]) correct(state *quincy.State, now int64) {
	switch {
	case state.Running && tk.runs() && tk.run.on.node == state.On:
		state.Since, state.Waited = tk.started, tk.waited
	case tk.runs(): // the plan has just moved or preempted it
		state.Waited = tk.waited
	case state.Running:
		state.Waited = tk.waited + now - tk.since
	default:
		state.Since, state.Waited = tk.since, tk.waited
	}
}

// drop takes out of list what is at i, and puts the last one there, which is told.
func drop[E any](list []E, i int, moved func(last E)) []E {
	end := len(list) - 1
	list[i] = list[end]
	moved(list[i])
	clear(list[end:])
	return list[:end]
}
