package experiments

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/cellsched/cellsched/bench/internal/sweep"
)

// Options is the extent of the runs. The zero Options is one seed of each case, in one
// goroutine.
type Options struct {
	Seeds    int // runs of each case, with seeds from 1; 0 is 1
	Parallel int // runs at a time; 0 is 1
	// Done, if not nil, is told how many runs have ended, of how many.
	Done func(runs, all int)
}

// Row is the result of one case of an experiment.
type Row struct {
	Experiment, Case string
	Seeds            int
	Figures          []Figure
}

// Figure is one measured number: its mean over the seeds, the least and the most
// with any of them, and the value of the paper's formula, if it has one.
type Figure struct {
	Name              string
	Mean, Least, Most float64
	Expected          float64 `json:",omitempty"`
}

// Figure returns the row's figure of that name.
func (r *Row) Figure(name string) (Figure, bool) {
	i := slices.IndexFunc(r.Figures, func(f Figure) bool { return f.Name == name })
	if i < 0 {
		return Figure{}, false
	}
	return r.Figures[i], true
}

// point is one case of an experiment, to be run with a seed.
type point struct {
	experiment, name string
	run              func(ctx context.Context, seed uint64) ([]value, error)
}

// value is one number of one run, and the expected one, or 0. With a weight it
// counts that much in the mean: that of a ratio is to be the ratio of the means.
type value struct {
	name            string
	value, expected float64
	weight          float64 // 0 is 1
}

// catalog returns the experiments by name, in order.
func catalog() []struct {
	name   string
	points func() []point
} {
	return []struct {
		name   string
		points func() []point
	}{
		{"model", modelPoints},
		{"incentives", incentivePoints},
		{"sharing", sharingPoints},
		{"locality", localityPoints},
		{"pathologies", pathologyPoints},
	}
}

// Names returns the names of the experiments that Sweep can run.
func Names() []string {
	var names []string
	for _, e := range catalog() {
		names = append(names, e.name)
	}
	return names
}

// Sweep runs the named experiments, or all if none is named, and returns a row
// for each case. It is the same however many runs there are at a time. Errors:
// options below zero, a name that is none of [Names], and the cause of the end of
// ctx.
func Sweep(ctx context.Context, o Options, names ...string) ([]Row, error) {
	if o.Seeds < 0 || o.Parallel < 0 {
		return nil, fmt.Errorf("%d seeds, %d in parallel: want 0 or more", o.Seeds, o.Parallel)
	}
	for _, name := range names {
		if !slices.Contains(Names(), name) {
			return nil, fmt.Errorf("experiment %q: want one of %q", name, Names())
		}
	}
	var points []point
	for _, e := range catalog() {
		if len(names) == 0 || slices.Contains(names, e.name) {
			for _, p := range e.points() {
				p.experiment = e.name
				points = append(points, p)
			}
		}
	}
	results, err := sweep.Each(ctx, sweep.Options{Seeds: o.Seeds, Parallel: o.Parallel, Done: o.Done}, points,
		func(ctx context.Context, p *point, seed uint64) ([]value, error) {
			values, err := p.run(ctx, seed)
			if err != nil {
				return nil, fmt.Errorf("%s, %s, seed %d: %w", p.experiment, p.name, seed, err)
			}
			return values, nil
		})
	if err != nil {
		return nil, err
	}
	rows := make([]Row, len(points))
	for i, p := range points {
		rows[i] = summarise(p, results[i])
	}
	return rows, nil
}

// summarise returns the row of a point's runs, one for each seed.
func summarise(p point, runs [][]value) Row {
	row := Row{Experiment: p.experiment, Case: p.name, Seeds: len(runs)}
	for i, v := range runs[0] {
		f := Figure{Name: v.name, Least: v.value, Most: v.value, Expected: v.expected}
		weights := 0.0
		for _, run := range runs {
			x, weight := run[i].value, cmp.Or(run[i].weight, 1)
			f.Mean += x * weight
			weights += weight
			f.Least, f.Most = min(f.Least, x), max(f.Most, x)
		}
		f.Mean /= weights
		row.Figures = append(row.Figures, f)
	}
	return row
}
