package main

import (
	"fmt"
	"io"
	"slices"
	"text/tabwriter"
	"time"

	"github.com/cellsched/cellsched/bench/elastic/experiments"
)

// tables prints three tables for each cell.
func tables(out io.Writer, rows []experiments.Summary, span time.Duration) error {
	for len(rows) > 0 {
		n := slices.IndexFunc(rows, func(s experiments.Summary) bool { return s.Cell != rows[0].Cell })
		if n < 0 {
			n = len(rows)
		}
		cell := rows[:n]
		rows = rows[n:]
		fmt.Fprintf(out, "%s: %d machines, %.0f jobs in %v, %d seeds\n\n",
			cell[0].Cell, cell[0].Machines, cell[0].Jobs.Mean, span, cell[0].Seeds)
		for _, table := range []func(io.Writer, []experiments.Summary){speedups, distribution, utilisation} {
			w := tabwriter.NewWriter(out, 0, 0, 2, ' ', tabwriter.AlignRight)
			table(w, cell)
			if err := w.Flush(); err != nil {
				return err
			}
			if _, err := fmt.Fprintln(out); err != nil {
				return err
			}
		}
	}
	return nil
}

// speedups prints which jobs gain, and the cost to others.
func speedups(w io.Writer, cell []experiments.Summary) {
	fmt.Fprintln(w, "\tjobs that gain\tleast..most\tslowed\tspeed-up p50\tp80\tleast..most\tp95\tpreempted\tbatch tasks that waited\t")
	for i := range cell {
		s := &cell[i]
		fmt.Fprintf(w, "%s\t%.1f %%\t%.1f..%.1f\t%.1f %%\t%.2f\t%.2f\t%.2f..%.2f\t%.2f\t%.0f\t%.0f\t\n", s.Policy,
			100*s.Gained.Mean, 100*s.Gained.Least, 100*s.Gained.Most, 100*s.Slowed.Mean, s.SpeedupP50.Mean,
			s.SpeedupP80.Mean, s.SpeedupP80.Least, s.SpeedupP80.Most, s.SpeedupP95.Mean, s.Preempted.Mean, s.Waited.Mean)
	}
}

// distribution prints points of the curves of Fig 15. It leaves out the first policy,
// with which the others are compared.
func distribution(w io.Writer, cell []experiments.Summary) {
	fmt.Fprint(w, "speed-up below\t")
	for _, p := range cell[0].Distribution {
		fmt.Fprintf(w, "%v\t", p.Below)
	}
	fmt.Fprintln(w)
	for i := range cell[1:] {
		s := &cell[1+i]
		fmt.Fprintf(w, "%s\t", s.Policy)
		for _, p := range s.Distribution {
			fmt.Fprintf(w, "%.1f %%\t", 100*p.Jobs.Mean)
		}
		fmt.Fprintln(w)
	}
}

// utilisation prints how that of the cell varies, in per cent: Fig 16.
func utilisation(w io.Writer, cell []experiments.Summary) {
	fmt.Fprintln(w, "utilisation\tmean\tdeviation\tleast..most\tp5\tp95\tchange in a minute\t")
	for i := range cell {
		u := &cell[i].Utilisation
		fmt.Fprintf(w, "%s\t%.1f %%\t%.1f %%\t%.1f..%.1f\t%.1f %%\t%.1f %%\t%.2f %%\t\n", cell[i].Policy, 100*u.Mean.Mean,
			100*u.Deviation.Mean, 100*u.Deviation.Least, 100*u.Deviation.Most, 100*u.Low.Mean, 100*u.High.Mean, 100*u.Step.Mean)
	}
}
