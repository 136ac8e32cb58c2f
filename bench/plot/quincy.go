package main

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"gonum.org/v1/plot/plotter"

	"github.com/cellsched/cellsched/bench/internal/interval"
	"github.com/cellsched/cellsched/bench/internal/recordings"
	"github.com/cellsched/cellsched/bench/quincy/experiments"
)

// placement is an experiment of another paper: M. Isard et al., "Quincy: fair
// scheduling for distributed computing clusters", SOSP 2009.
func placement(ctx context.Context, s settings) (*section, error) {
	data := recordings.Folder("../..")
	loads, missing := experiments.Loads(data)
	loads = slices.DeleteFunc(loads, func(name string) bool { return missing[name] != nil })
	s.seeds = s.paired()
	options := experiments.Options{Seeds: s.seeds, Parallel: s.parallel, Data: data, Span: s.horizon, Done: s.progress}
	rows, err := experiments.Sweep(ctx, options, loads...)
	if err != nil {
		return nil, err
	}
	causes, err := experiments.Causes(ctx, options)
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
			f := rows[i].Figure(name)
			cells = append(cells, estimated(f.Estimate()))
		}
		t.row(cells...)
	}
	var claims []claim
	for _, c := range experiments.Claims(rows) {
		claims = append(claims, judged(c.Verdict, claim{paper: c.Stated, here: c.Here, why: c.Why}))
	}
	return &section{
		paper: "Another one: M. Isard et al., \"Quincy: fair scheduling for distributed computing clusters\", SOSP 2009. " +
			"On some 250 machines, placing by a flow of least cost is fairer than queues where fairness is asked for, and the data that moves " +
			"over the core switch is up to 3.9 times less, which brings up to 40 % more throughput.",
		setup: fmt.Sprintf("240 machines of one slot in 8 racks, and the cell of the log for hadoop. Loads: %s. Jobs come for %s at most; %s. "+
			"Blocks have three copies in two racks; what is fetched over the core switch shares it. Costs are the published ones. "+
			"Figures are means ± the half-width of the confidence interval of 95 %%. Policies are compared seed by seed, and a statement is open where the interval of the difference has values for which it holds, and others. "+
			"Package bench/quincy/experiments says how it all works.", shown(loads), min(s.horizon, time.Hour), count(s.seeds, "seed")) + absent(unrecorded()),
		figures: figures,
		table:   t,
		claims:  claims,
		more:    []remark{{causesText(causes), causesTable(causes)}},
	}, nil
}

// paired returns the number of seeds of a study that compares policies seed by seed: 20
// at least, unless one is asked for to see that all works.
func (s settings) paired() int {
	if s.quick {
		return max(s.seeds, 2)
	}
	return max(s.seeds, 20)
}

// estimated prints a mean with the half-width of its interval.
func estimated(e interval.Estimate) string {
	if e.Half == 0 {
		return digits(e.Mean)
	}
	return digits(e.Mean) + " ± " + digits(e.Half)
}

// signed is estimated with the sign of a difference.
func signed(e interval.Estimate) string {
	if e.Mean < 0 {
		return "−" + estimated(interval.Estimate{Mean: -e.Mean, Half: e.Half})
	}
	return estimated(e)
}

func causesTable(causes []experiments.Cause) table {
	t := table{head: []string{
		"removed cause", "lost by queues, %", "by Quincy, %", "difference", "change by removal", "stops by queues", "by Quincy",
		"forced, more", "elective, more", "seconds lost with a stop, more",
	}}
	for i := range causes {
		c := &causes[i]
		mean := func(r *experiments.Row, name string) any { f := r.Figure(name); return f.Mean }
		t.row(c.Without, mean(&c.Queues, experiments.Lost), mean(&c.Flow, experiments.Lost), signed(c.More), signed(c.Change),
			mean(&c.Queues, experiments.Stopped), mean(&c.Flow, experiments.Stopped), signed(c.MoreForced), signed(c.MoreElective), signed(c.LostWithStops))
	}
	return t
}

// causesText summarizes the table of causes by the intervals of their changes.
func causesText(causes []experiments.Cause) string {
	var smaller, larger, undecided []string
	for i := range causes[1:] {
		c := &causes[1+i]
		text := fmt.Sprintf("%s (%s)", c.Without, signed(c.Change))
		switch {
		case c.Change.High() < 0:
			smaller = append(smaller, text)
		case c.Change.Low() > 0:
			larger = append(larger, text)
		default:
			undecided = append(undecided, text)
		}
	}
	var text strings.Builder
	fmt.Fprintf(&text, "**Causes of Quincy's loss by preemption.** Load narrow; both policies are fair and preempt. "+
		"Quincy's loss less that of the queues, in percentage points of slot time: %s. "+
		"Each row of the table removes one possible cause. "+
		"A forced stop takes a task from a job above its share. All other stops are elective.", signed(causes[0].More))
	for _, group := range []struct {
		head   string
		causes []string
	}{
		{"Removing these causes makes the difference smaller", smaller},
		{"Removing these causes makes the difference larger", larger},
		{"For these causes the interval of the change contains 0", undecided},
	} {
		if len(group.causes) > 0 {
			fmt.Fprintf(&text, " %s: %s.", group.head, strings.Join(group.causes, "; "))
		}
	}
	return text.String()
}

// shown describes the loads.
func shown(loads []string) string {
	var all []string
	for _, name := range loads {
		all = append(all, name+" ("+experiments.Shows(name)+")")
	}
	return strings.Join(all, ", ")
}

// absent names the loads without a recording.
func absent(missing []string) string {
	if len(missing) == 0 {
		return ""
	}
	return " Not run, as there was no recording: " + strings.Join(missing, ", ") + "."
}

// unrecorded returns the loads that there is no recording of, in order.
func unrecorded() []string {
	_, missing := experiments.Loads(recordings.Folder("../.."))
	return slices.Sorted(maps.Keys(missing))
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
