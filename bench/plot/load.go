package main

import (
	"context"
	"fmt"

	"gonum.org/v1/plot/plotter"

	"github.com/cellsched/cellsched/bench/sim/experiments"
	"github.com/cellsched/cellsched/bench/sim/simulate"
)

// load is figure 8: one batch scheduler, and more and more batch jobs.
func load(ctx context.Context, s settings) (*section, error) {
	rows, err := experiments.Load(ctx, s.sim(1))
	if err != nil {
		return nil, err
	}
	f := newFigure("fig8", "Wait and busyness of one batch and one service scheduler by the arrival rate of batch jobs")
	rate := axis{label: "relative rate of batch jobs", low: 0, high: 16, labelled: []float64{0, 4, 8, 12, 16}}
	for _, panel := range []struct {
		title string
		y     axis
		of    func(*experiments.Outcome) float64
	}{
		{"wait", axis{label: "mean job wait [s]", low: 1e-4, high: 100, log: true}, func(o *experiments.Outcome) float64 { return o.Wait }},
		{"busyness", axis{label: "scheduler busyness", high: 1.05}, func(o *experiments.Outcome) float64 { return o.Busyness }},
	} {
		p := f.panel(panel.title, rate, panel.y)
		for c := range simulate.Classes {
			var line plotter.XYs
			for i := range rows {
				line = append(line, plotter.XY{X: rows[i].Rate, Y: panel.of(&rows[i].Class[c])})
			}
			if err := p.line(c.String(), int(c), line); err != nil {
				return nil, err
			}
		}
	}

	t := table{head: []string{
		"rate", "batch jobs", "batch: busy", "wait s", "p90", "conflicts", "service: busy", "wait s", "conflicts", "CPU used",
	}}
	for i := range rows {
		r := &rows[i]
		b, sv := &r.Class[simulate.Batch], &r.Class[simulate.Service]
		t.row(fmt.Sprintf("×%g", r.Rate), fmt.Sprintf("%.0f", b.Submitted), b.Busyness, b.Wait, b.WaitP90, b.Conflicts,
			sv.Busyness, sv.Wait, sv.Conflicts, percent(r.CPU))
	}
	return &section{
		paper: "Batch jobs can come at 2.5, 6 and 9.5 times the rate of clusters A, B and C before one batch scheduler is saturated.",
		setup: "10,000 machines, 43 % full at the first rate, of which batch jobs are a few per cent; " +
			"t_job 0.1 s and t_task 5 ms for both classes; " + runs(1, s.horizon) + ": the runs have many jobs.",
		figures: []*figure{f},
		table:   t,
		claims:  loadClaims(rows),
	}, nil
}

func loadClaims(rows []experiments.Row) []claim {
	const saturation = 0.95
	last, end := 0.0, "and more was not tried"
	for i := range rows {
		if rows[i].Class[simulate.Batch].Busyness > saturation {
			end = fmt.Sprintf("and at ×%g it is more than 95 %% busy", rows[i].Rate)
			break
		}
		last = rows[i].Rate
	}
	first, final := &rows[0].Class[simulate.Service], &rows[len(rows)-1].Class[simulate.Service]
	grown := final.Busyness / max(first.Busyness, 1e-9)
	return []claim{
		{
			paper: "One batch scheduler takes 2.5 to 9.5 times the jobs.",
			here:  fmt.Sprintf("It takes %g times, %s.", last, end),
			same:  last >= 2.5 && last <= 9.5,
			why: "where a rate of 1 begins is the workload's: here a job comes every 10 s and takes 0.6 s to decide on, " +
				"which saturates at 16.7 times by arithmetic; Google's cells begin with more",
		},
		{
			paper: "Batch and service schedulers are independent, as in figures 5 and 6.",
			here:  fmt.Sprintf("That of services is %.2f times as busy at the highest rate of batch jobs as at the lowest.", grown),
			same:  grown > 0.9 && grown < 1.1,
		},
	}
}
