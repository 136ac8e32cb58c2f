package main

import (
	"fmt"
	"io"
	"math"
	"slices"
	"text/tabwriter"

	"github.com/cellsched/cellsched/bench/offers/experiments"
)

// tables prints a table for each experiment.
func tables(out io.Writer, rows []experiments.Row) error {
	for len(rows) > 0 {
		n := slices.IndexFunc(rows, func(r experiments.Row) bool { return r.Experiment != rows[0].Experiment })
		if n < 0 {
			n = len(rows)
		}
		fmt.Fprintf(out, "%s, %d seeds\n\n", rows[0].Experiment, rows[0].Seeds)
		w := tabwriter.NewWriter(out, 0, 0, 2, ' ', tabwriter.AlignRight)
		table(w, rows[:n])
		if err := w.Flush(); err != nil {
			return err
		}
		if _, err := fmt.Fprintln(out); err != nil {
			return err
		}
		rows = rows[n:]
	}
	return nil
}

// table prints the rows of an experiment.
func table(w io.Writer, rows []experiments.Row) {
	var columns []string
	for _, r := range rows {
		for _, f := range r.Figures {
			if !slices.Contains(columns, f.Name) {
				columns = append(columns, f.Name)
			}
		}
	}
	fmt.Fprint(w, "\t")
	for _, name := range columns {
		fmt.Fprintf(w, "%s\t", name)
	}
	fmt.Fprintln(w)
	for _, r := range rows {
		fmt.Fprintf(w, "%s\t", r.Case)
		for _, name := range columns {
			if f, ok := r.Figure(name); ok {
				fmt.Fprint(w, cell(f, r.Seeds))
			}
			fmt.Fprint(w, "\t")
		}
		fmt.Fprintln(w)
	}
}

// cell is a figure as text.
func cell(f experiments.Figure, seeds int) string {
	text := number(f.Mean)
	if seeds > 1 {
		text += fmt.Sprintf(", %s..%s", number(f.Least), number(f.Most))
	}
	if f.Expected != 0 {
		text += fmt.Sprintf(" (%s)", number(f.Expected))
	}
	return text
}

// number prints three digits, or all that are before the point.
func number(x float64) string {
	digits := 2
	switch x := math.Abs(x); {
	case x >= 99.95:
		digits = 0
	case x >= 9.995:
		digits = 1
	}
	return fmt.Sprintf("%.*f", digits, x)
}

// scaled prints the results of the scale test.
func scaled(out io.Writer, r experiments.ScaleResult) error {
	_, err := fmt.Fprintf(out, `%d machines, %d frameworks, %d tasks of 30 s that ran and %d that ended
decision about a new task of 10 s, %d times  p50 %v, p99 %v, most %v on the CPU
                                             p50 %v, p99 %v, most %v by the clock
waited for room                              %v of virtual time in the mean
memory                                       %d MB
`,
		r.Machines, r.Frameworks, r.Running, r.Ended, r.Tasks, r.CPU.P50, r.CPU.P99, r.CPU.Most,
		r.Real.P50, r.Real.P99, r.Real.Most, r.Virtual, r.Bytes/1e6)
	return err
}
