package main

import (
	"fmt"
	"io"
	"math"
	"text/tabwriter"

	"github.com/cellsched/cellsched/bench/internal/interval"
	"github.com/cellsched/cellsched/bench/quincy/experiments"
)

// tables prints a table for each load, then the statements.
func tables(out io.Writer, rows []experiments.Row, claims []experiments.Claim) error {
	var w *tabwriter.Writer
	for i, r := range rows {
		if i == 0 || r.Load != rows[i-1].Load {
			if w != nil {
				if err := w.Flush(); err != nil {
					return err
				}
				fmt.Fprintln(out)
			}
			fmt.Fprintf(out, "%s, %d seeds: %s\n\n", r.Load, r.Seeds, experiments.Shows(r.Load))
			w = tabwriter.NewWriter(out, 0, 0, 2, ' ', tabwriter.AlignRight)
			fmt.Fprint(w, "\t")
			for _, f := range r.Figures {
				fmt.Fprintf(w, "%s\t", f.Name)
			}
			fmt.Fprintln(w)
		}
		fmt.Fprintf(w, "%s\t", r.Policy)
		for _, f := range r.Figures {
			fmt.Fprintf(w, "%s\t", estimate(f.Estimate()))
		}
		fmt.Fprintln(w)
	}
	if w != nil {
		if err := w.Flush(); err != nil {
			return err
		}
		fmt.Fprintln(out)
	}
	for _, c := range claims {
		if _, err := fmt.Fprintf(out, "%-7s  %s %s\n", c.Verdict, c.Stated, c.Here); err != nil {
			return err
		}
		if c.Verdict != interval.Holds && c.Why != "" {
			fmt.Fprintf(out, "         %s\n", c.Why)
		}
	}
	return nil
}

// causes prints a line for each removed cause.
func causes(out io.Writer, all []experiments.Cause) error {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(w, "removed\tlost %: queues\tquincy\tmore\tchange\tstops: queues\tquincy\tforced, more\telective, more\ts lost each, more\t")
	for i := range all {
		c := &all[i]
		mean := func(r *experiments.Row, name string) string { f := r.Figure(name); return number(f.Mean) }
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t\n", c.Without,
			mean(&c.Queues, experiments.Lost), mean(&c.Flow, experiments.Lost), estimate(c.More), estimate(c.Change),
			mean(&c.Queues, experiments.Stopped), mean(&c.Flow, experiments.Stopped),
			estimate(c.MoreForced), estimate(c.MoreElective), estimate(c.LostWithStops))
	}
	return w.Flush()
}

// estimate prints a mean with the half-width of its interval, where that is known.
func estimate(e interval.Estimate) string {
	if math.IsInf(e.Half, 0) {
		return number(e.Mean)
	}
	return number(e.Mean) + " ± " + number(e.Half)
}

// number prints three digits, or all that are before the point.
func number(x float64) string {
	digits := 0
	for limit := 99.95; digits < 3 && math.Abs(x) < limit; limit /= 10 {
		digits++
	}
	return fmt.Sprintf("%.*f", digits, x)
}
