package experiments

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/cellsched/cellsched/bench/internal/interval"
	"github.com/cellsched/cellsched/bench/internal/sweep"
)

// Options is the extent of the runs. The zero Options is one seed of each load that has
// no recording, one run at a time.
type Options struct {
	Seeds    int // runs of each load by each policy, with seeds from 1; 0 is 1
	Parallel int // runs at a time; 0 is 1
	// Data is the folder of recorded workloads.
	Data string
	// Span is for how long jobs come, at most; 0 is an hour.
	Span time.Duration
	// Done, if not nil, is told how many runs have ended, of how many.
	Done func(runs, all int)
}

func (o *Options) check() error {
	if o.Seeds < 0 || o.Parallel < 0 || o.Span < 0 {
		return fmt.Errorf("%d seeds, %d in parallel, for %v: want 0 or more", o.Seeds, o.Parallel, o.Span)
	}
	return nil
}

func (o *Options) span(most time.Duration) time.Duration {
	return min(most, cmp.Or(o.Span, most))
}

// Row is the result of a load under a policy.
type Row struct {
	Load, Policy string
	Seeds        int
	Figures      []Figure
}

// Figure is one measured number: its mean over the seeds, the least and the most with
// any of them, and its value with each.
type Figure struct {
	Name              string
	Mean, Least, Most float64
	Each              []float64
}

// Estimate returns the mean with its interval.
func (f *Figure) Estimate() interval.Estimate { return interval.Of(f.Each) }

// Figure returns the row's figure of that name, the zero one if there is none.
func (r *Row) Figure(name string) Figure {
	for _, f := range r.Figures {
		if f.Name == name {
			return f
		}
	}
	return Figure{}
}

// point is a load and a policy.
type point struct {
	load load
	plan plan
}

// Loads returns the names of the loads that Sweep can run, and those that have no
// recording in the folder data.
func Loads(data string) (names []string, missing map[string]error) {
	missing = make(map[string]error)
	for _, l := range loads() {
		names = append(names, l.name)
		if l.data != "" {
			if _, err := os.Stat(filepath.Join(data, l.data)); err != nil {
				missing[l.name] = err
			}
		}
	}
	return names, missing
}

// Shows returns the description of a load, "" if there is none of that name.
func Shows(name string) string {
	for _, l := range loads() {
		if l.name == name {
			return l.shows
		}
	}
	return ""
}

// Sweep runs the named loads by each policy and returns a row for each. But for
// the time that decisions took, they are the same however many runs there are at
// a time. Errors: options below zero, a name that is none of [Loads], a recording
// that is not there or makes no sense, and the cause of the end of ctx.
func Sweep(ctx context.Context, o Options, names ...string) ([]Row, error) {
	if err := o.check(); err != nil {
		return nil, err
	}
	known, _ := Loads("")
	for _, name := range names {
		if !slices.Contains(known, name) {
			return nil, fmt.Errorf("load %q: want one of %q", name, known)
		}
	}
	var points []point
	for _, l := range loads() {
		if slices.Contains(names, l.name) {
			for _, p := range policies() {
				points = append(points, point{l, p})
			}
		}
	}
	return o.rows(ctx, points)
}

// rows runs points and returns a row for each.
func (o Options) rows(ctx context.Context, points []point) ([]Row, error) {
	results, err := sweep.Each(ctx, sweep.Options{Seeds: o.Seeds, Parallel: o.Parallel, Done: o.Done}, points,
		func(ctx context.Context, p *point, seed uint64) ([]value, error) {
			t, err := p.run(ctx, o, seed)
			if err != nil {
				return nil, fmt.Errorf("%s, %s, seed %d: %w", p.load.name, p.plan.name, seed, err)
			}
			return t.values(), nil
		})
	if err != nil {
		return nil, err
	}
	rows := make([]Row, len(points))
	for i, p := range points {
		rows[i] = Row{Load: p.load.name, Policy: p.plan.name, Seeds: len(results[i]), Figures: summarise(results[i])}
	}
	return rows, nil
}

func (p *point) run(ctx context.Context, o Options, seed uint64) (*tally, error) {
	s, err := p.load.make(o, seed)
	if err != nil {
		return nil, err
	}
	policy, err := p.plan.make(s)
	if err != nil {
		return nil, err
	}
	w := newWorld(s.cell, policy, every)
	if s.others != nil {
		w.others = s.others()
	}
	if err := w.simulate(ctx, s.jobs); err != nil {
		return nil, err
	}
	return &w.tally, nil
}

// summarise returns the figures of runs, one for each seed.
func summarise(runs [][]value) []Figure {
	figures := make([]Figure, len(runs[0]))
	for i, v := range runs[0] {
		f := Figure{Name: v.name, Least: v.value, Most: v.value}
		for _, run := range runs {
			f.Mean += run[i].value / float64(len(runs))
			f.Least, f.Most = min(f.Least, run[i].value), max(f.Most, run[i].value)
			f.Each = append(f.Each, run[i].value)
		}
		figures[i] = f
	}
	return figures
}
