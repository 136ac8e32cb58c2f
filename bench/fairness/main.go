package main

import (
	"fmt"
	"io"
	"os"
	"text/tabwriter"

	"github.com/cellsched/cellsched/bench/internal/program"
	"github.com/cellsched/cellsched/resources"
)

func main() {
	program.ExitOn("fairness", run(os.Stdout))
}

func run(w io.Writer) error {
	for _, e := range []struct {
		name    string
		total   resources.Vector
		demands []resources.Vector
	}{
		{"Section 4.1: 9 CPUs, 18 GB; tasks of A take 1 and 4, of B 3 and 1", nsdi(), nsdiDemands()},
		{"Section 6: 30 CPUs, 30 GB; tasks of A take 1 and 3, of B 1 and 1", half(), halfDemands()},
	} {
		if err := compare(w, e.name, e.total, e.demands); err != nil {
			return err
		}
	}
	return showLosses(w)
}

// compare prints the tasks that each policy gives to each of two users, with the
// largest and the sum of their fractions of the kinds.
func compare(w io.Writer, name string, total resources.Vector, demands []resources.Vector) error {
	fmt.Fprintf(w, "%s\n\n", name)
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(table, "\ttasks A\tB\tCPU A\tB\tGB A\tB\tdominant A\tB\tassets A\tB\t")
	for _, p := range policies() {
		tasks, err := p.divide(total, demands)
		if err != nil {
			return fmt.Errorf("%s: %w", p.name, err)
		}
		fmt.Fprintf(table, "%s\t", p.name)
		for _, column := range []func(i int) float64{
			func(i int) float64 { return tasks[i] },
			func(i int) float64 { return tasks[i] * float64(demands[i][0]) },
			func(i int) float64 { return tasks[i] * float64(demands[i][1]) },
			func(i int) float64 { a, b := fractions(total, demands[i]); return tasks[i] * max(a, b) },
			func(i int) float64 { a, b := fractions(total, demands[i]); return tasks[i] * (a + b) },
		} {
			fmt.Fprintf(table, "%.3f\t%.3f\t", column(0), column(1))
		}
		fmt.Fprintln(table)
	}
	if err := table.Flush(); err != nil {
		return err
	}
	_, err := fmt.Fprintln(w)
	return err
}

// fractions returns how much of the first two kinds one task takes.
func fractions(total, demand resources.Vector) (a, b float64) {
	return float64(demand[0]) / float64(total[0]), float64(demand[1]) / float64(total[1])
}

// showLosses prints, for each property that one of the policies loses, the numbers
// by which it does, and those of the others in the same case.
func showLosses(w io.Writer) error {
	for _, x := range trials() {
		fmt.Fprintf(w, "%s: %s\n\n", x.property, x.what)
		table := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
		fmt.Fprintln(table, "\tgets\tbeside\t\t")
		for _, p := range policies() {
			got, limit, err := x.of(p)
			if err != nil {
				return fmt.Errorf("%s: %s: %w", x.property, p.name, err)
			}
			verdict := "kept"
			if x.lost(got, limit) {
				verdict = "LOST"
			}
			fmt.Fprintf(table, "%s\t%.3f\t%.3f\t%s\t\n", p.name, got, limit, verdict)
		}
		if err := table.Flush(); err != nil {
			return err
		}
		if _, err := fmt.Fprintln(w); err != nil {
			return err
		}
	}
	return nil
}
