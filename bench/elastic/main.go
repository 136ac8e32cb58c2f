package main

import (
	"flag"
	"fmt"
	"io"
	"os"
	"text/tabwriter"
	"time"

	"github.com/cellsched/cellsched/bench/elastic/experiments"
)

func main() {
	hours := flag.Int("hours", 12, "simulated hours in which jobs come")
	seed := flag.Uint64("seed", 1, "of the workloads")
	flag.Parse()
	if err := run(os.Stdout, *hours, *seed); err != nil {
		fmt.Fprintln(os.Stderr, "elastic:", err)
		os.Exit(1)
	}
}

func run(w io.Writer, hours int, seed uint64) error {
	if hours < 1 || hours > 24*30 {
		return fmt.Errorf("%d hours, want 1 to %d", hours, 24*30)
	}
	span := time.Duration(hours) * time.Hour
	for _, workload := range []experiments.Workload{experiments.Busy(seed, span), experiments.Quiet(seed, span)} {
		rows, err := experiments.Compare(workload)
		if err != nil {
			return err
		}
		fmt.Fprintf(w, "%s: %d machines, %d jobs in %v, seed %d\n\n",
			workload.Name, workload.Machines, len(workload.Jobs), span, seed)
		for _, table := range []func(io.Writer, []experiments.Row) error{speedups, distribution, utilisation} {
			if err := table(w, rows); err != nil {
				return err
			}
		}
	}
	return nil
}

// speedups prints who gains, and what it costs others.
func speedups(w io.Writer, rows []experiments.Row) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(t, "\tjobs that gain\tslowed\tspeed-up p50\tp80\tp95\tpreempted\tbatch tasks that waited\t")
	for _, r := range rows {
		fmt.Fprintf(t, "%s\t%.1f %%\t%.1f %%\t%.2f\t%.2f\t%.2f\t%d\t%d\t\n", r.Policy, 100*r.Gained(), 100*r.Slowed(),
			r.Speedup(50), r.Speedup(80), r.Speedup(95), r.Preempted, r.Waited)
	}
	return end(w, t)
}

// distribution prints points of the curves of Fig 15.
func distribution(w io.Writer, rows []experiments.Row) error {
	points := []float64{1.01, 1.5, 2, 3, 4, 6, 10, 20, 40}
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprint(t, "speed-up below\t")
	for _, x := range points {
		fmt.Fprintf(t, "%v\t", x)
	}
	fmt.Fprintln(t)
	for _, r := range rows[1:] {
		fmt.Fprintf(t, "%s\t", r.Policy)
		for _, x := range points {
			fmt.Fprintf(t, "%.1f %%\t", 100*r.Below(x))
		}
		fmt.Fprintln(t)
	}
	return end(w, t)
}

// utilisation prints how that of the cell varies, in per cent.
func utilisation(w io.Writer, rows []experiments.Row) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(t, "utilisation\tmean\tdeviation\tp5\tp95\tchange in a minute\t")
	for _, r := range rows {
		u := r.Utilisation()
		fmt.Fprintf(t, "%s\t%.1f %%\t%.1f %%\t%.1f %%\t%.1f %%\t%.2f %%\t\n", r.Policy, 100*u.Mean, 100*u.Deviation, 100*u.Low, 100*u.High, 100*u.Step)
	}
	return end(w, t)
}

// end prints a table and an empty line.
func end(w io.Writer, t *tabwriter.Writer) error {
	if err := t.Flush(); err != nil {
		return err
	}
	_, err := fmt.Fprintln(w)
	return err
}
