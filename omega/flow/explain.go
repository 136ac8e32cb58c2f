package flow

import (
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/cellsched/cellsched/locality/quincy"
	"github.com/cellsched/cellsched/omega"
	"github.com/cellsched/cellsched/resources"
)

// Explanation is a task's place, its alternatives, and the reasons for them.
type Explanation[J, T comparable] struct {
	// Plan is the planner's part: where the plan has the task, its other arcs, their
	// costs, and the tasks that they would displace.
	Plan quincy.Explanation[J, T]
	// Names are the names of the machines in Plan.
	Names map[quincy.Target]string
	// Started says that it runs, or did when it was told to stop.
	Started bool
	// Behind are the tasks that were told to stop and have not yet, which it
	// waits for where the plan has it; itself among them if it is to move.
	Behind []T
	// Kept is the machine that is kept for it: see [Config.Patience].
	Kept string
	// Room is the machines with and without room for the task now, with the reasons, by
	// the scheduler's snapshot. It is for the task's need or, as long as the task waits
	// for a slot, for a whole one. That each task smaller than a slot has a whole one is
	// not seen there. It is zero while a round is in progress.
	Room omega.Explanation
	// Refused is why the task did not get the place that a plan gave it, the last time
	// since it was started: a [omega.RefusalError], or the cell's refusal of the claim. For a task
	// that waits for room within limits it wraps [omega.ErrLimit], and names the room of
	// the last round.
	Refused error
	// Why says that no other task's end will start it, as the machines, the slot and
	// its costs are: see [Report.Why]. Nil for most tasks.
	Why error

	space *resources.Space
}

// Explain returns the reasons for the place of t since the last round. Cost:
// [quincy.Planner.Explain], and O(machines). Errors: [ErrUnknown], and the errors
// of quincy.Planner.Explain, with which only Plan is missing.
func (s *Scheduler[J, T]) Explain(t T) (Explanation[J, T], error) {
	if s.none() {
		return Explanation[J, T]{}, absent("scheduler")
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	tk, err := s.book.find(t)
	if err != nil {
		return Explanation[J, T]{}, err
	}
	e := Explanation[J, T]{
		Started: tk.run != nil, Refused: tk.refused, space: s.cfg.Cell.Space(), Names: map[quincy.Target]string{},
	}
	if !s.rounding { // which has the snapshot
		e.Room = s.cfg.Scheduler.Snapshot().Explain(omega.Query{Need: s.seeking(tk)})
	}
	if kind := s.futile(tk); kind != nil {
		e.Why = s.explainFutile(kind, tk, 1)
	}
	if k := s.reserver.current; k.task == tk && k.on != nil {
		e.Kept = k.on.name
	}
	if m := tk.at; m != nil && !tk.runs() {
		if tk.run != nil {
			e.Behind = append(e.Behind, tk.key)
		}
		for _, h := range m.holds {
			if tk.next == nil && h.ending && h.task != nil && h.task != tk {
				e.Behind = append(e.Behind, h.task.key)
			}
		}
	}
	e.Plan, err = s.book.planner.Explain(t)
	named := map[quincy.Target]bool{}
	for i := range e.Plan.Ways {
		w := &e.Plan.Ways[i]
		named[w.To], named[w.Leaf] = true, true
		for _, d := range w.Displaced {
			named[d.From], named[d.To] = true, true
		}
	}
	for target := range named {
		if n, ok := target.Machine(); ok && int(n) < len(s.fleet.machines) && s.fleet.machines[n] != nil {
			e.Names[target] = s.fleet.machines[n].name
		}
	}
	return e, err
}

// seeking returns the room that a machine must have free for a task.
func (s *Scheduler[J, T]) seeking(tk *task[J, T]) resources.Vector {
	if tk.small && !tk.exact {
		return tk.want.Need.Max(s.cfg.Slot)
	}
	return tk.want.Need
}

// WriteNetwork writes the problem that the next plan solves, for other solvers: see
// [quincy.Planner.WriteNetwork]. The work of a round before it plans is missing.
func (s *Scheduler[J, T]) WriteNetwork(w io.Writer, now time.Time) error {
	if s.none() {
		return absent("scheduler")
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	at, err := s.clock.units(now)
	if err != nil {
		return err
	}
	return s.book.planner.WriteNetwork(w, at)
}

// WriteDOT draws the problem that the last plan has solved: see
// [quincy.Planner.WriteDOT].
func (s *Scheduler[J, T]) WriteDOT(w io.Writer) error {
	if s.none() {
		return absent("scheduler")
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.book.planner.WriteDOT(w)
}

func (e *Explanation[J, T]) name(t quincy.Target) string {
	if name, ok := e.Names[t]; ok {
		return name
	}
	return t.String()
}

// String returns all of it in words: the place of the task, the steps until it is there,
// and a line for each way that it could go.
func (e Explanation[J, T]) String() string {
	var b strings.Builder
	p := &e.Plan
	switch {
	case !p.Running:
		fmt.Fprintf(&b, "%v of %v waits", p.Task, p.Job)
	case e.Started && len(e.Behind) == 0:
		fmt.Fprintf(&b, "%v of %v runs on %s", p.Task, p.Job, e.name(quincy.OnMachine(p.On)))
	default:
		fmt.Fprintf(&b, "%v of %v is to run on %s", p.Task, p.Job, e.name(quincy.OnMachine(p.On)))
	}
	for i, t := range e.Behind {
		fmt.Fprintf(&b, "%s%v", [...]string{" when stopped: ", ", "}[min(i, 1)], t)
	}
	fmt.Fprintf(&b, "; %d of the job run, want %d to %d", p.Runs, p.Low, p.Top)
	closed := "no way to make room"
	if !p.Running && p.Runs >= p.Top {
		b.WriteString(": its share is used up")
		closed = "no other task of the job can stop for it"
	}
	b.WriteByte('\n')
	if !e.Started && e.Room.Machines > 0 {
		fmt.Fprintf(&b, "  room: %s\n", e.Room.Format(e.space))
	}
	if e.Kept != "" {
		fmt.Fprintf(&b, "  kept for it: %s\n", e.Kept)
	}
	if e.Refused != nil {
		fmt.Fprintf(&b, "  refused: %v\n", e.Refused)
	}
	if e.Why != nil {
		fmt.Fprintf(&b, "  waits in vain: %v\n", e.Why)
	}
	for i := range p.Ways {
		w := &p.Ways[i]
		fmt.Fprintf(&b, "  %s: cost %d", e.name(w.To), w.Cost)
		if !w.Open {
			b.WriteString(", " + closed)
		} else if w.Extra != 0 {
			fmt.Fprintf(&b, ", %+d in all", w.Extra)
		}
		for k, d := range w.Displaced {
			fmt.Fprintf(&b, "%s%v from %s to %s", [...]string{": ", ", "}[min(k, 1)], d.Task, e.name(d.From), e.name(d.To))
		}
		b.WriteByte('\n')
	}
	return b.String()
}
