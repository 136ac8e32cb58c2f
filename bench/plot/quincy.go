package main

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"gonum.org/v1/plot/plotter"

	"github.com/cellsched/cellsched/bench/internal/recordings"
	"github.com/cellsched/cellsched/bench/quincy/experiments"
)

// placement is an experiment of another paper: M. Isard et al., "Quincy: fair
// scheduling for distributed computing clusters", SOSP 2009.
func placement(ctx context.Context, s settings) (*section, error) {
	data := recordings.Folder("../..")
	loads, missing := experiments.Loads(data)
	loads = slices.DeleteFunc(loads, func(name string) bool { return missing[name] != nil })
	rows, err := experiments.Sweep(ctx, experiments.Options{
		Seeds: s.seeds, Parallel: s.parallel, Data: data, Span: s.horizon, Done: s.progress,
	}, loads...)
	if err != nil {
		return nil, err
	}
	var figures []*figure
	for _, v := range []struct {
		file, what string
		y          axis
	}{
		{"quincy-fairness", experiments.Unfair, axis{label: "unfairness of job times", high: 0.5}},
		{"quincy-time", experiments.Mean, axis{label: "mean time of a job [s]", high: 20}},
	} {
		f, err := againstCore(v.file, v.what, v.y, rows)
		if err != nil {
			return nil, err
		}
		figures = append(figures, f)
	}
	columns := []string{
		experiments.CoreShare, experiments.RackShare, experiments.AtData, experiments.Mean, experiments.P95, experiments.Small,
		experiments.Makespan, experiments.Speed, experiments.Unfair, experiments.Jain, experiments.Stopped, experiments.Lost,
	}
	t := table{head: append([]string{"load", "policy"}, columns...)}
	for i := range rows {
		cells := []any{rows[i].Load, rows[i].Policy}
		for _, name := range columns {
			cells = append(cells, rows[i].Figure(name).Mean)
		}
		t.row(cells...)
	}
	var claims []claim
	for _, c := range experiments.Claims(rows) {
		claims = append(claims, claim{paper: c.Stated, here: c.Here, same: c.Holds, why: c.Why})
	}
	return &section{
		title: "Quincy's policies, queues, and delay scheduling",
		paper: "Another one: M. Isard et al., \"Quincy: fair scheduling for distributed computing clusters\", SOSP 2009. " +
			"On some 250 machines, placing by a flow of least cost is fairer than queues where fairness is asked for, and the data that moves " +
			"over the core switch is up to 3.9 times less, which brings up to 40 % more throughput.",
		setup: fmt.Sprintf("240 machines of one slot in 8 racks, and the cell of the log for hadoop. Loads: %s. Jobs come for %s at most; %s. "+
			"Blocks have three copies in two racks; what is fetched over the core switch shares it. Costs are the published ones. "+
			"Package bench/quincy/experiments says how it all works.", shown(loads), min(s.horizon, time.Hour), count(s.seeds, "seed")) + absent(missing),
		figures: figures,
		table:   t,
		claims:  claims,
	}, nil
}

// shown says what the loads are.
func shown(loads []string) string {
	var all []string
	for _, name := range loads {
		all = append(all, name+" ("+experiments.Shows(name)+")")
	}
	return strings.Join(all, ", ")
}

// absent says which loads there is no recording of.
func absent(missing map[string]error) string {
	if len(missing) == 0 {
		return ""
	}
	var names []string
	for name := range missing {
		names = append(names, name)
	}
	slices.Sort(names)
	return " Not run, as there was no recording: " + strings.Join(names, ", ") + "."
}

// againstCore draws a figure of each policy by how much it moves over the core
// switch, for the loads in which many wait.
func againstCore(file, what string, y axis, rows []experiments.Row) (*figure, error) {
	f := newFigure(file, "The "+y.label+" by the share of the input that moves over the core switch, for eight policies")
	for _, load := range []string{"narrow", "batch", "facebook"} {
		var p *panel
		style := 0
		for i := range rows {
			r := &rows[i]
			if r.Load != load {
				continue
			}
			if p == nil {
				p = f.panel(load, axis{label: "over the core switch [% of input]", high: 1}, y)
			}
			at := plotter.XY{X: r.Figure(experiments.CoreShare).Mean, Y: r.Figure(what).Mean}
			name := strings.ReplaceAll(r.Policy, ",", "") // a legend has no room for more
			if err := p.line(name, style, plotter.XYs{at}); err != nil {
				return nil, err
			}
			style++
		}
	}
	return f, nil
}
