package offers

import (
	"cmp"
	"errors"
	"slices"

	"github.com/cellsched/cellsched/omega"
	"github.com/cellsched/cellsched/omega/observe"
)

// Stats returns the counts of the master. Commits are rounds of offers, Claims are tasks, and
// Preempted are tasks that were asked to end for a guarantee. Waiting are requests without an
// answer, Waited has those that were met, and Offers are those that are outstanding. Placed is
// empty, as a round begins and ends at one time. Safe for concurrent use. Cost: O(frameworks).
func (m *Master) Stats() observe.Counts {
	if m.none() {
		return observe.Counts{}
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	all := m.counts
	all.Refused = slices.Clone(all.Refused)
	all.Counted.Commits, all.Counted.Offers = true, true
	all.Waiting = len(m.registry.requests)
	for _, f := range m.registry.order {
		all.Offers += len(f.offers)
	}
	return all
}

// event completes an event about a machine and tells it.
func (c *client) event(e observe.Event, on omega.MachineID) {
	e.At, e.Source = c.now, "offers"
	if state, ok := c.cell.State(on); ok {
		e.Machine = state.Name
	}
	c.cfg.Events.Tell(e)
}

// countRound counts a round, in which so many offers were made.
func (rd *rounds) countRound(open int) {
	rd.counts.Commits++
	if rd.cfg.Events.Active() {
		rd.cfg.Events.Tell(observe.Event{Kind: observe.Round, At: rd.now, Source: "offers", Label: rd.cfg.Name, Count: open})
	}
}

// countRevoked counts a task that is asked to end, and tells of it.
func (c *client) countRevoked(v *victim) {
	c.counts.Preempted++
	if c.cfg.Events.Active() {
		c.event(observe.Event{Kind: observe.Preempted, Tenant: v.of.name, Need: v.task.Need}, v.task.Machine)
	}
}

// countInvalid counts the tasks of an accept that was not sent.
func (ac *accepts) countInvalid(f *member, launches []Launch, err error) {
	tasks := 0
	for i := range launches {
		tasks += len(launches[i].Tasks)
	}
	ac.counts.Claims += uint64(tasks)
	ac.counts.Refuse(reasonOf(err), uint64(tasks))
	if ac.cfg.Events.Active() {
		ac.cfg.Events.Tell(observe.Event{Kind: observe.Refused, At: ac.now, Source: "offers", Tenant: f.name, Count: tasks, Err: err})
	}
}

// countAccept counts the tasks of an accept, which were granted, or refused for err.
func (ac *accepts) countAccept(a *accepting, launches []Launch, err error) {
	tasks := uint64(a.Txn.Len())
	ac.counts.Claims += tasks
	kind := observe.Granted
	if err == nil {
		ac.counts.Granted += tasks
	} else {
		kind = observe.Refused
		ac.counts.Refuse(reasonOf(err), tasks)
	}
	if ac.cfg.Events.Active() {
		first := 0 // of the offers of a launch
		for i, sum := range a.sums {
			ac.event(observe.Event{Kind: kind, Tenant: a.of.name, Need: sum.need, Count: len(launches[i].Tasks), Err: err}, a.offers[first].Machine)
			first += len(launches[i].Offers)
		}
	}
}

// reasonOf returns the word for the reason of a refused accept.
func reasonOf(err error) string {
	for _, known := range [...]struct {
		is   error
		word string
	}{
		{ErrExpired, "expired"},
		{ErrRescinded, "rescinded"},
		{ErrExceeds, "exceeds"},
		{ErrFenced, "superseded"},
	} {
		if errors.Is(err, known.is) {
			return known.word
		}
	}
	return cmp.Or(omega.Reason(err), "other")
}
