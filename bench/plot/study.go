package main

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/cellsched/cellsched/bench/internal/interval"
)

// study is one experiment, shown. Its name is for the flag that selects it.
type study struct {
	name  string
	title string // of its section
	run   func(context.Context, settings) (*section, error)
	// lacks, if not nil, names the recordings that are not there.
	lacks func() []string
}

// studies returns all of them in the order of the paper's figures, then those without a
// figure in the paper.
func studies() []study {
	return []study{
		{name: "architectures", title: "Figures 5 and 6: who waits, as decisions on service jobs take longer", run: architectures},
		{name: "twolevel", title: "Figure 7: two-level scheduling, and what slow decisions lock", run: twoLevel},
		{name: "load", title: "Figure 8: one batch scheduler, and more batch jobs", run: load},
		{name: "schedulers", title: "Figure 9: batch jobs spread over 1 to 32 schedulers", run: schedulers},
		{name: "modes", title: "Figure 14: what counts as a conflict, and gangs", run: modes},
		{name: "elastic", title: "Figures 15 and 16: MapReduce jobs that use what is idle", run: opportunistic},
		{name: "rogue", title: "A rogue among five schedulers", run: rogue},
		{name: "quincy", title: "Quincy's policies, queues, and delay scheduling", run: placement, lacks: unrecorded},
		{name: "federation", title: "Megha: global masters on stale states of many cells, and Sparrow", run: federated},
	}
}

// settings is the extent of the runs.
type settings struct {
	horizon  time.Duration // virtual time of a run
	seeds    int           // runs for each row
	quick    bool          // only to see that all works
	parallel int           // runs at a time
	progress func(runs, all int)
}

// section is the text, tables, claims and figures of a study.
type section struct {
	paper   string // the findings of the paper
	setup   string // the runs here
	figures []*figure
	table   table
	claims  []claim
	more    []remark
}

// remark is a text with a table of its own, at the end of a section.
type remark struct {
	text  string
	table table
}

// table is for people. Cells hold no vertical bars.
type table struct {
	head []string
	rows [][]string
}

// row adds a row: strings as they are, and numbers with the digits that matter.
func (t *table) row(cells ...any) {
	var row []string
	for _, c := range cells {
		if x, ok := c.(float64); ok {
			c = digits(x)
		}
		row = append(row, fmt.Sprint(c))
	}
	t.rows = append(t.rows, row)
}

// claim is a statement of the paper, of Google's simulator, or of this library's
// purpose, held against the results here.
type claim struct {
	paper string // or another source that states it
	here  string
	same  bool
	open  bool   // the interval has values for which it is the same, and others
	why   string // it is not the same, where a reason is known
}

// judged is a claim with a verdict that takes an interval into account.
func judged(v interval.Verdict, c claim) claim {
	c.same, c.open = v == interval.Holds, v == interval.Open
	return c
}

// digits prints a number with three digits, or all of those before the point.
func digits(x float64) string {
	switch {
	case x == 0:
		return "0"
	case x >= 100:
		return fmt.Sprintf("%.0f", x)
	case x < 0.00005:
		return "< 0.0001"
	case x < 0.01:
		return strings.TrimRight(fmt.Sprintf("%.4f", x), "0")
	case x < 1:
		return fmt.Sprintf("%.3f", x)
	}
	return fmt.Sprintf("%.3g", x)
}

// percent prints a fraction.
func percent(x float64) string { return fmt.Sprintf("%.1f %%", 100*x) }

// seconds prints a duration as a number of seconds.
func seconds(d time.Duration) string { return fmt.Sprintf("%g", d.Seconds()) }

// runs describes how many seeds and how much time were run.
func runs(seeds int, horizon time.Duration) string {
	if seeds == 1 {
		return fmt.Sprintf("one seed, %g hours", horizon.Hours())
	}
	return fmt.Sprintf("means of %d seeds, %g hours each", seeds, horizon.Hours())
}
