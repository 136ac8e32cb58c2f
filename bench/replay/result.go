package main

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"text/tabwriter"
	"time"

	"github.com/cellsched/cellsched/bench/internal/program"
	"github.com/cellsched/cellsched/omega/loop"
)

// result is the measurements of a replay. Everything but Seconds and PerSecond
// depends on the trace and the flags alone.
type result struct {
	Machines  int     `json:"machines"`
	Jobs      int     `json:"jobs"`
	LeftOut   int     `json:"jobs_left_out"` // too large for the cell
	JobsEnded int     `json:"jobs_ended"`
	Tasks     int     `json:"tasks"`
	Ended     int     `json:"tasks_ended"`
	Span      float64 `json:"span_s"` // from the first submission to the last end
	// JobWait is from submission to a job's first start, TaskWait from when a
	// task could start, its stage being reached, to its start.
	JobWait  waits `json:"job_wait"`
	TaskWait waits `json:"task_wait"`
	// Locality counts the tasks that prefer a place: on the node, in the rack,
	// elsewhere.
	Locality [3]int `json:"locality_node_rack_any"`
	// Unknown is the number of places that the trace names and that are not among the
	// machines.
	Unknown     int                `json:"unknown_places"`
	Utilisation map[string]float64 `json:"utilisation"`
	Sharers     []sharing          `json:"sharers"`
	Samples     []sample           `json:"samples"`
	Seconds     float64            `json:"wall_s"`
	PerSecond   float64            `json:"decisions_per_s"`

	taskWaits, jobWaits loop.Distribution
}

// sharing is the holdings of one sharer.
type sharing struct {
	Name  string  `json:"name"`
	Tasks int     `json:"tasks"`
	Mean  float64 `json:"mean_dominant_share"`
	Peak  float64 `json:"peak_dominant_share"`
}

// waits is a distribution in seconds. Quantiles are within 3.2 %.
type waits struct {
	Mean float64 `json:"mean_s"`
	P50  float64 `json:"p50_s"`
	P90  float64 `json:"p90_s"`
	P99  float64 `json:"p99_s"`
}

func waitsOf(d *loop.Distribution) waits {
	return waits{d.Mean().Seconds(), d.Quantile(0.5).Seconds(), d.Quantile(0.9).Seconds(), d.Quantile(0.99).Seconds()}
}

// timed notes how long it took.
func (r *result) timed(d time.Duration) {
	r.Seconds = d.Seconds()
	if d > 0 {
		r.PerSecond = float64(r.Tasks) / d.Seconds()
	}
}

func (r *result) writeJSON(w io.Writer) error { return program.PrintJSON(w, r) }

// shown is the number of sharers in the table.
const shown = 20

func (r *result) writeTable(w io.Writer) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintf(t, "machines\t%d\n", r.Machines)
	fmt.Fprintf(t, "jobs, tasks\t%d, %d\n", r.Jobs, r.Tasks)
	if r.LeftOut > 0 {
		fmt.Fprintf(t, "jobs left out, too large\t%d\n", r.LeftOut)
	}
	fmt.Fprintf(t, "span\t%.0f s\n", r.Span)
	for _, v := range []struct {
		name string
		w    waits
	}{{"job wait", r.JobWait}, {"task wait", r.TaskWait}} {
		fmt.Fprintf(t, "%s\tmean %.3f s, p50 %.3f, p90 %.3f, p99 %.3f\n", v.name, v.w.Mean, v.w.P50, v.w.P90, v.w.P99)
	}
	if all := r.Locality[0] + r.Locality[1] + r.Locality[2]; all > 0 {
		percent := func(n int) float64 { return 100 * float64(n) / float64(all) }
		fmt.Fprintf(t, "locality of %d tasks\tnode %.1f %%, rack %.1f %%, elsewhere %.1f %%\n",
			all, percent(r.Locality[0]), percent(r.Locality[1]), percent(r.Locality[2]))
	}
	if r.Unknown > 0 {
		fmt.Fprintf(t, "places on no machine\t%d\n", r.Unknown)
	}
	for _, kind := range slices.Sorted(maps.Keys(r.Utilisation)) {
		fmt.Fprintf(t, "utilisation, %s\t%.2f %%\n", kind, 100*r.Utilisation[kind])
	}
	fmt.Fprintf(t, "decisions\t%.0f a second, %.2f s in all\n", r.PerSecond, r.Seconds)
	fmt.Fprintln(t)
	fmt.Fprintln(t, "whose\ttasks\tdominant share, mean\tpeak")
	for _, s := range r.Sharers[:min(shown, len(r.Sharers))] {
		name := s.name()
		fmt.Fprintf(t, "%s\t%d\t%.3f %%\t%.3f %%\n", name, s.Tasks, 100*s.Mean, 100*s.Peak)
	}
	if more := len(r.Sharers) - shown; more > 0 {
		fmt.Fprintf(t, "and %d more\n", more)
	}
	return t.Flush()
}

func (s *sharing) name() string {
	if s.Name == "" {
		return "(the trace does not say)"
	}
	return s.Name
}
