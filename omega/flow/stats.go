package flow

import (
	"time"

	"github.com/cellsched/cellsched/internal/keys"
	"github.com/cellsched/cellsched/omega"
	"github.com/cellsched/cellsched/omega/observe"
)

// Stats returns how many rounds there were, how many claims they were granted, and how long
// they took by the clock of the process. Preempted are tasks that other schedulers have
// preempted, or the plan. Waited is from a task's arrival, or its stop, to its start. It waits
// for a round that plans.
func (s *Scheduler[J, T]) Stats() observe.Counts {
	if s.none() {
		return observe.Counts{}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	all := s.counts
	all.Refused = append([]observe.Refusal(nil), all.Refused...)
	all.Counted.Commits = true
	for _, j := range s.book.jobList {
		all.Waiting -= j.planned
	}
	all.Waiting += len(s.book.list)
	return all
}

// count counts a round, and tells of it.
func (s *Scheduler[J, T]) count(r *Report[T], now time.Time, took time.Duration) {
	c := &s.counts
	c.Commits++
	c.Granted += uint64(len(r.Start))
	c.Claims += uint64(len(r.Start) + r.Conflicts)
	c.Add(&s.round.refused)
	c.Placed.Add(took)
	for i := range r.Start {
		if tk := s.book.tasks[r.Start[i].Task]; tk != nil {
			c.Waited.Add(time.Duration(s.clock.now-tk.since) * s.clock.unit)
		}
	}
	for i := range r.Stop {
		if why := r.Stop[i].Reason; why == Preempted || why == Taken {
			c.Preempted++
		}
	}
	if s.cfg.Events.Active() {
		s.tell(r, now)
	}
}

// tell tells the events of a round.
func (s *Scheduler[J, T]) tell(r *Report[T], now time.Time) {
	about := func(kind observe.Kind, t T, on omega.MachineID, why error) {
		e := observe.Event{Kind: kind, At: now, Source: "flow", Label: keys.Text(t), Err: why}
		if state, ok := s.cfg.Cell.State(on); ok {
			e.Machine = state.Name
		}
		if tk := s.book.tasks[t]; tk != nil {
			e.Need = tk.want.Need
			e.Tenant, _ = s.cfg.Cell.AccountName(tk.want.Account)
		}
		s.cfg.Events.Tell(e)
	}
	for i := range r.Start {
		about(observe.Granted, r.Start[i].Task, r.Start[i].Machine, nil)
	}
	for _, c := range s.round.conflicts {
		about(observe.Refused, c.task, c.machine, c.why)
	}
	for i := range r.Stop {
		if why := r.Stop[i].Reason; why == Preempted || why == Taken {
			about(observe.Preempted, r.Stop[i].Task, r.Stop[i].Machine, nil)
		}
	}
	s.cfg.Events.Tell(observe.Event{Kind: observe.Round, At: now, Source: "flow", Label: s.cfg.Scheduler.Name(), Count: len(r.Start)})
}
