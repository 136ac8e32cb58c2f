package view

import (
	"fmt"
	"time"

	"github.com/cellsched/cellsched/omega"
	"github.com/cellsched/cellsched/omega/observe"
)

// baseline holds the counts of a cell's schedulers that the page has told of.
type baseline struct {
	cell   *omega.Cell // nil without viewers
	counts map[string]observe.Counts
}

// compare adds what the cell's schedulers have counted since the last time to the
// decisions: a row for each scheduler and reason. A cell tells no events, so these rows
// stand for them where Config.Events is nil. The first time adds nothing, since
// the counts are those of hours. Called with mu held.
func (s *source) compare(cell *omega.Cell, now time.Time) {
	if cell == nil || s.viewers == 0 || s.cfg.Events != nil {
		s.before = baseline{}
		return
	}
	old := s.before
	s.before = baseline{cell, make(map[string]observe.Counts)}
	var fresh []decision
	for _, c := range cell.Stats() {
		if c.Name == "" { // schedulers that have left: a sum, which is no decision
			continue
		}
		s.before.counts[c.Name] = c
		if old.cell == cell {
			fresh = append(fresh, s.since(old.counts[c.Name], &c, now)...)
		}
	}
	s.add(fresh)
}

// since returns the rows of a scheduler that has counted c, and old before. Of one that has
// left and come again the counts begin anew.
func (s *source) since(old observe.Counts, c *observe.Counts, now time.Time) (rows []decision) {
	if c.Claims < old.Claims {
		old = observe.Counts{}
	}
	row := func(kind observe.Kind, n uint64, text string) {
		if n > 0 {
			rows = append(rows, decision{
				At: now, Kind: kind.String(), Source: show(s.cfg.Filter, "scheduler", c.Name), Reason: fmt.Sprintf(text, n),
			})
		}
	}
	was := make(map[string]uint64, len(old.Refused))
	for _, r := range old.Refused {
		was[r.Reason] = r.Count
	}
	for _, r := range c.Refused {
		row(observe.Refused, r.Count-min(was[r.Reason], r.Count), "claims: %d, "+r.Reason)
	}
	row(observe.Preempted, c.Preempted-min(old.Preempted, c.Preempted), "allocations: %d")
	return rows
}
