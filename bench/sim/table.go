package main

import (
	"fmt"
	"io"
	"text/tabwriter"

	"github.com/cellsched/cellsched/bench/sim/experiments"
	"github.com/cellsched/cellsched/bench/sim/federate"
	"github.com/cellsched/cellsched/bench/sim/simulate"
)

// table prints one line for each row: the settings, then the results by
// class, with columns that do not apply empty.
func table(out io.Writer, rows []experiments.Row) error {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprint(w, "\tmode\tschedulers\trate\tt_job s\t")
	for c := range simulate.Classes {
		fmt.Fprintf(w, "%v: busy\ton these\tby day\tconflicts\tby day\tleast..most\twait s\tp90\tp99\tto full\tqueued\tleft\tgiven up\tlocked\t", c)
	}
	fmt.Fprintln(w, "CPU used\t")
	for i := range rows {
		r := &rows[i]
		fmt.Fprintf(w, "%s\t%s\t", r.Architecture, r.Mode)
		decides := r.Batch > 0
		if decides {
			fmt.Fprintf(w, "%d\t", r.Batch)
		} else {
			fmt.Fprint(w, "\t")
		}
		fmt.Fprintf(w, "%g\t%g\t", r.Rate, r.TJob.Seconds())
		for c := range r.Class {
			o := &r.Class[c]
			if decides {
				fmt.Fprintf(w, "%.4f\t%.4f\t%s\t%.3f\t%s\t%.3f..%.3f\t", o.Busyness, o.BusynessOn, median(o.DailyBusyness),
					o.Conflicts, median(o.DailyConflicts), o.LeastConflicts, o.MostConflicts)
			} else {
				fmt.Fprint(w, "\t\t\t\t\t\t")
			}
			fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\t%.0f\t%.0f\t%.1f %%\t", wait(o.Wait), wait(o.WaitP90), wait(o.WaitP99), wait(o.Full),
				wait(o.Queued), o.Submitted-o.Placed-o.Abandoned, o.Abandoned, 100*o.Locked)
		}
		fmt.Fprintf(w, "%.1f %%\t\n", 100*r.CPU)
	}
	return w.Flush()
}

// rogues prints one line for each row: the losses of the others, then the outcome
// for the rogue.
func rogues(out io.Writer, rows []experiments.RogueRow) error {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(w, "rogue\tmeasure\tothers: to full s\tp90\tleft\tof jobs\tshare\tpreempted\trogue: share\tpreempted\tfound after s\tin seeds\tothers accused\tCPU used\t")
	for i := range rows {
		r := &rows[i]
		found := "-"
		if r.FoundIn > 0 {
			found = fmt.Sprintf("%.0f", r.Found)
		}
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%.1f\t%.0f\t%.1f %%\t%.0f\t%.1f %%\t%.0f\t%s\t%d\t%d\t%.1f %%\t\n",
			r.Rogue, r.Measure, wait(r.Full), wait(r.FullP90), r.Left, r.Submitted, 100*r.Share, r.Preempted,
			100*r.RogueShare, r.RoguePreempted, found, r.FoundIn, r.Accused, 100*r.CPU)
	}
	return w.Flush()
}

// federations prints one line for each row.
func federations(out io.Writer, rows []federate.Row) error {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(w, "experiment\tscheduler\tload\tglobal\tlocal\tworkers\theartbeat s\ttask waits p50 s\tp95\tp99\tjob delay p50\tp95\trefused\tborrowed\t")
	for i := range rows {
		r := &rows[i]
		fmt.Fprintf(w, "%s\t%s\t%g\t%d\t%d\t%d\t%g\t%s\t%s\t%s\t%s\t%s\t%.1f %%\t%.1f %%\t\n",
			r.Experiment, r.Scheduler, r.Load, r.Cluster.Globals, r.Cluster.Locals, r.Cluster.Workers, r.Cluster.Heartbeat.Seconds(),
			wait(r.WaitP50.Seconds()), wait(r.WaitP95.Seconds()), wait(r.WaitP99.Seconds()), wait(r.DelayP50.Seconds()), wait(r.DelayP95.Seconds()),
			100*r.Refused, 100*r.Borrowed)
	}
	return w.Flush()
}

// median prints a median over the days and the deviation from it.
func median(m simulate.Median) string { return fmt.Sprintf("%.3f ± %.3f", m.Value, m.MAD) }

// wait prints seconds with as many digits as matter.
func wait(s float64) string {
	switch {
	case s >= 100:
		return fmt.Sprintf("%.0f", s)
	case s >= 1:
		return fmt.Sprintf("%.2f", s)
	}
	return fmt.Sprintf("%.4f", s)
}
