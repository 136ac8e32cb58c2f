package main

import (
	"fmt"
	"io"
	"math"
	"text/tabwriter"

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
			fmt.Fprintf(w, "%s\t", number(f.Mean))
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
		verdict := "holds  "
		if !c.Holds {
			verdict = "differs"
		}
		if _, err := fmt.Fprintf(out, "%s  %s %s\n", verdict, c.Stated, c.Here); err != nil {
			return err
		}
		if !c.Holds && c.Why != "" {
			fmt.Fprintf(out, "         %s\n", c.Why)
		}
	}
	return nil
}

// number prints three digits, or all that are before the point.
func number(x float64) string {
	digits := 0
	for limit := 99.95; digits < 3 && math.Abs(x) < limit; limit /= 10 {
		digits++
	}
	return fmt.Sprintf("%.*f", digits, x)
}
