package view

import (
	"cmp"
	"slices"

	"github.com/cellsched/cellsched/omega"
	"github.com/cellsched/cellsched/omega/observe"
)

// engineRow is a scheduler or a source as it is shown, with its counts.
type engineRow struct {
	Name      string            `json:"name"`
	Waiting   int               `json:"waiting"`
	Commits   uint64            `json:"commits"`
	Granted   uint64            `json:"granted"`
	Refused   map[string]uint64 `json:"refused"` // by reason
	Retries   uint64            `json:"retries"`
	Preempted uint64            `json:"preempted"`
	Victims   uint64            `json:"victims"`
	Offers    int               `json:"offers"`
}

// answered is a source with its last counts.
type answered struct {
	name   string
	known  bool
	counts observe.Counts
}

// count collects the counts of the sources and of the cell's schedulers. Called with mu
// held.
func (s *source) count(cell *omega.Cell) {
	s.counts = []observe.Counts{}
	for i := range s.sources {
		if a := &s.sources[i]; a.known {
			s.counts = append(s.counts, a.counts)
		}
	}
	for _, c := range cell.Stats() {
		if c.Commits > 0 || c.Waiting > 0 {
			s.counts = append(s.counts, c)
		}
	}
}

// engineRows returns the rows of the counts, by number of claims, the highest
// first.
func (s *source) engineRows() []engineRow {
	all := slices.Clone(s.counts)
	slices.SortStableFunc(all, func(a, b observe.Counts) int { return cmp.Compare(b.Claims, a.Claims) })
	if len(all) > maxRows {
		rest := &all[maxRows]
		rest.Refused = slices.Clone(rest.Refused) // Add writes there
		for i := maxRows + 1; i < len(all); i++ {
			rest.Add(&all[i])
		}
		rest.Name, all = "", all[:maxRows+1]
	}
	rows := make([]engineRow, len(all))
	for i := range all {
		c := &all[i]
		name := show(s.cfg.Filter, "scheduler", c.Name)
		if c.Name == "" {
			name = "others" // schedulers that have left, and those beyond the limit
		}
		rows[i] = engineRow{
			Name: name, Waiting: c.Waiting, Commits: c.Commits, Granted: c.Granted, Refused: map[string]uint64{},
			Retries: c.Retries, Preempted: c.Preempted, Victims: c.Victims, Offers: c.Offers,
		}
		for _, r := range c.Refused {
			rows[i].Refused[r.Reason] = r.Count
		}
	}
	return rows
}
