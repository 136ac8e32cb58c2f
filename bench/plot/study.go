package main

import (
	"context"
	"fmt"
	"strings"
	"time"
)

// study is one experiment, shown. Its name is for the flag that selects it.
type study struct {
	name string
	run  func(context.Context, settings) (*section, error)
}

// studies returns all of them in the order of the paper's figures, then what it
// has no figure of.
func studies() []study {
	return []study{
		{"architectures", architectures},
		{"twolevel", twoLevel},
		{"load", load},
		{"schedulers", schedulers},
		{"modes", modes},
		{"elastic", opportunistic},
		{"rogue", rogue},
		{"quincy", placement},
	}
}

// settings is how much is run.
type settings struct {
	horizon  time.Duration // virtual time of a run
	seeds    int           // runs for each row
	parallel int           // runs at a time
	progress func(runs, all int)
}

// section is what there is to show about a study.
type section struct {
	title   string
	paper   string // what the paper found
	setup   string // what was run here
	figures []*figure
	table   table
	claims  []claim
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

// claim is something that the paper says, Google's simulator gave, or this
// library is for, held against what was measured.
type claim struct {
	paper string // or who else states it
	here  string
	same  bool
	why   string // it is not the same, where a reason is known
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

// runs says how many seeds and how much time.
func runs(seeds int, horizon time.Duration) string {
	if seeds == 1 {
		return fmt.Sprintf("one seed, %g hours", horizon.Hours())
	}
	return fmt.Sprintf("means of %d seeds, %g hours each", seeds, horizon.Hours())
}
