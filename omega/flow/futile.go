package flow

import (
	"errors"
	"fmt"

	"github.com/cellsched/cellsched/internal/fault"
	"github.com/cellsched/cellsched/omega"
)

// Why tasks wait that no end of another task will start: see [Report.Why].
var (
	// ErrSlot: no machine could hold a slot if it were empty.
	ErrSlot = errors.New("flow: slot exceeds every machine")
	// ErrCosts: to wait costs no more than any arc of the task, and will not.
	ErrCosts = errors.New("flow: waiting costs a task no more than any machine")
)

// futile returns the kind of error if only machines, the slot or costs can let a waiting
// task start: [omega.ErrNeverFits], [ErrSlot] or [ErrCosts]. Otherwise it returns nil.
func (s *Scheduler[J, T]) futile(tk *task[J, T]) error {
	switch {
	case tk.at != nil || tk.run != nil:
		return nil
	case !s.fleet.couldFit(&tk.want.Need):
		return omega.ErrNeverFits
	case tk.small && !tk.exact && !s.fleet.couldFit(&s.cfg.Slot):
		return ErrSlot
	case tk.unwilling:
		return ErrCosts
	}
	return nil
}

// explainFutile returns the error of a kind that futile has found for tk, which is one
// of n tasks.
func (s *Scheduler[J, T]) explainFutile(kind error, tk *task[J, T], n int) error {
	space := s.cfg.Cell.Space()
	what := ""
	switch {
	case errors.Is(kind, ErrCosts):
		what = fmt.Sprintf("task %s: its cheapest arc costs %s waiting", fault.Key(tk.key), than(-s.admission.gains(tk)))
		if tk.gain.none() {
			what = fmt.Sprintf("task %s has no arc to a machine", fault.Key(tk.key))
		}
	case errors.Is(kind, ErrSlot):
		what = fmt.Sprintf("task %s waits for slot %s, %s", fault.Key(tk.key), space.Format(s.cfg.Slot), s.fleet.lacking(&s.cfg.Slot))
	default:
		what = fmt.Sprintf("task %s needs %s, %s", fault.Key(tk.key), space.Format(tk.want.Need), s.fleet.lacking(&tk.want.Need))
	}
	if n > 1 {
		what += fmt.Sprintf(" (first of %d tasks)", n)
	}
	return fault.New("flow", what, kind)
}

// than compares a cost with one that it exceeds by more, which is 0 or above.
func than(more int64) string {
	if more == 0 {
		return "as much as"
	}
	return fmt.Sprintf("%d more than", more)
}

// review counts the tasks that cannot run in the cell as it is, with the reason.
func (s *Scheduler[J, T]) review() {
	var first [3]*task[J, T]
	kinds := [...]error{ErrSlot, omega.ErrNeverFits, ErrCosts}
	counts := [...]*int{&s.round.report.Unslotted, &s.round.report.Oversized, &s.round.report.Unwilling}
	look := func(tk *task[J, T]) {
		err := s.futile(tk)
		for i, kind := range kinds {
			if errors.Is(err, kind) {
				if *counts[i]++; first[i] == nil {
					first[i] = tk
				}
			}
		}
	}
	if s.round.report.Waiting > 0 && (s.book.unwilling > 0 || !s.fleet.couldFit(&s.cfg.Slot)) {
		for _, tk := range s.book.list {
			look(tk)
		}
	} else {
		for _, tk := range s.book.exactTasks { // only these may need more than a slot
			look(tk)
		}
	}
	var why []error
	for i, tk := range first {
		if tk != nil {
			why = append(why, s.explainFutile(kinds[i], tk, *counts[i]))
		}
	}
	s.round.report.Why = errors.Join(why...)
}
