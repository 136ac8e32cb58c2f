package main

import (
	"context"
	"fmt"
	"time"

	"gonum.org/v1/plot/plotter"

	"github.com/cellsched/cellsched/bench/internal/interval"
	"github.com/cellsched/cellsched/bench/sim/experiments"
	"github.com/cellsched/cellsched/bench/sim/simulate"
)

// modes is figure 14: how conflicts are detected, and gangs.
func modes(ctx context.Context, s settings) (*section, error) {
	rows, err := experiments.Modes(ctx, s.sim(s.seeds))
	if err != nil {
		return nil, err
	}
	f, err := modesFigure(rows)
	if err != nil {
		return nil, err
	}
	t := table{head: []string{
		"conflict is, transaction is", "t_job s", "conflicts", "least…most", "service: busy", "wait s", "wait to full s", "batch: conflicts",
		"Google's: conflicts",
	}}
	for i := range rows {
		r := &rows[i]
		o := &r.Class[simulate.Service]
		google := ""
		if x, ok := publishedConflicts(r.Mode, r.TJob); ok {
			google = digits(x)
		}
		t.row(r.Mode, seconds(r.TJob), o.Conflicts, digits(o.LeastConflicts)+"…"+digits(o.MostConflicts), o.Busyness, o.Wait, o.Full,
			r.Class[simulate.Batch].Conflicts, google)
	}
	return &section{
		paper: "On the trace of a cell of Google, gangs for all jobs about double the conflict fraction and make schedulers a little " +
			"busier; to take every change of a machine for a conflict gives two to three times the conflicts and the busyness.",
		setup: "2,000 machines, 76 % full; service jobs of 10 tasks in the mean; " + runs(s.seeds, s.horizon) + ". A conflict is a claim that " +
			"does not fit (fit), a machine that has been claimed on (claims, what Google's simulator counts), or one that has changed " +
			"in any way, released room included (changes). The last column, the diamonds of the figure, is what that simulator gave " +
			"on such a workload: means of 5 seeds, 24 hours.",
		figures: []*figure{f},
		table:   t,
		claims:  modesClaims(rows),
	}, nil
}

// modesFigure draws bars: by t_job, one for each mode.
func modesFigure(rows []experiments.Row) (*figure, error) {
	var order []string
	var times []string
	for _, r := range rows {
		if len(order) == 0 || order[len(order)-1] != r.Mode {
			order = append(order, r.Mode)
		}
		if len(order) == 1 {
			times = append(times, seconds(r.TJob))
		}
	}
	f := newFigure("fig14", "Conflict fraction and busyness of the service scheduler by t_job, for six ways to detect conflicts and commit")
	x := axis{label: "t_job of services [s]", low: -0.5, high: float64(len(times)) - 0.5, named: times}
	width := 0.8 / float64(len(order))
	place := func(i int) float64 { // the modes' bars side by side around each t_job
		return float64(i%len(times)) + (float64(i/len(times))-float64(len(order)-1)/2)*width
	}
	conflicts := f.panel("service scheduler", x, axis{label: "conflict fraction", high: 1.4})
	busy := f.panel("service scheduler", x, axis{label: "scheduler busyness", high: 1.05})
	var published plotter.XYs
	for i := range rows {
		r := &rows[i]
		o := &r.Class[simulate.Service]
		if err := conflicts.bar(r.Mode, i/len(times), place(i), 0.9*width, o.Conflicts, o.LeastConflicts, o.MostConflicts); err != nil {
			return nil, err
		}
		if err := busy.bar(r.Mode, i/len(times), place(i), 0.9*width, o.Busyness, o.Busyness, o.Busyness); err != nil {
			return nil, err
		}
		if at, ok := publishedConflicts(r.Mode, r.TJob); ok {
			published = append(published, plotter.XY{X: place(i), Y: at})
		}
	}
	return f, conflicts.mark("Google's simulator", published)
}

// publishedConflicts returns the conflict fraction of services that Google's
// simulator gave, which has no mode that counts all changes.
func publishedConflicts(mode string, tJob time.Duration) (float64, bool) {
	byTime := map[string]map[time.Duration]float64{
		"fit + incremental":    {5 * time.Second: 0.129, 10 * time.Second: 0.239},
		"fit + gang":           {5 * time.Second: 0.153, 10 * time.Second: 0.314},
		"claims + incremental": {5 * time.Second: 0.211, 10 * time.Second: 0.400},
		"claims + gang":        {5 * time.Second: 0.252, 10 * time.Second: 0.565},
	}
	x, ok := byTime[mode][tJob]
	return x, ok
}

// factor is a ratio of two figures, with its interval.
type factor struct{ low, mean, high float64 }

func (f factor) String() string { return fmt.Sprintf("%.2f (%.2f to %.2f)", f.mean, f.low, f.high) }

// within judges that the factor is from low to high.
func (f factor) within(low, high float64) interval.Verdict {
	return interval.All(interval.AtLeast(f.low, f.high, low), interval.AtMost(f.low, f.high, high))
}

func modesClaims(rows []experiments.Row) []claim {
	at := func(mode string) *experiments.Outcome { // at the greatest t_job
		for i := len(rows) - 1; i >= 0; i-- {
			if rows[i].Mode == mode {
				return &rows[i].Class[simulate.Service]
			}
		}
		return &experiments.Outcome{}
	}
	plain := at("fit + incremental")
	// times is how many times as much a mode has as that, seed by seed.
	times := func(mode string, of func(*experiments.Outcome) []float64) (f factor) {
		f.low, f.mean, f.high = interval.Ratio(of(at(mode)), of(plain))
		return f
	}
	conflicts := func(o *experiments.Outcome) []float64 { return o.EachConflicts }
	busyness := func(o *experiments.Outcome) []float64 { return o.EachBusyness }
	const milder = "Google's published simulator gives %s on this workload: it is the workload that is milder, with small jobs and no constraints"

	apart, worst := 0.0, ""
	for i := range rows {
		r := &rows[i]
		if x, ok := publishedConflicts(r.Mode, r.TJob); ok && r.TJob == rows[len(rows)-1].TJob {
			if by := r.Class[simulate.Service].Conflicts/x - 1; worst == "" || max(by, -by) > apart {
				apart, worst = max(by, -by), fmt.Sprintf("%s by %+.0f %%", r.Mode, 100*by)
			}
		}
	}
	gangs, busier := times("fit + gang", conflicts), times("fit + gang", busyness)
	coarse, changes := times("claims + incremental", conflicts), times("changes + incremental", conflicts)
	coarser := times("claims + incremental", busyness)
	return []claim{
		judged(gangs.within(1.75, 2.5), claim{
			paper: "Gangs conflict about twice as much.",
			here:  fmt.Sprintf("%v times at t_job 10 s.", gangs),
			why:   fmt.Sprintf(milder, "1.31 times"),
		}),
		judged(busier.within(1, 1.25), claim{
			paper: "Gangs make schedulers a little busier.",
			here:  fmt.Sprintf("%v times as busy.", busier),
		}),
		judged(coarse.within(2, 3), claim{
			paper: "Coarse detection has two to three times the conflicts.",
			here:  fmt.Sprintf("%v times if claims count.", coarse),
			why:   fmt.Sprintf(milder, "1.67 times"),
		}),
		judged(changes.within(2, 3), claim{
			paper: "Coarse detection, with released room a change too, has two to three times the conflicts.",
			here:  fmt.Sprintf("%v times.", changes),
		}),
		judged(coarser.within(2, 3), claim{
			paper: "Coarse detection makes schedulers two to three times as busy.",
			here:  fmt.Sprintf("%v times if claims count.", coarser),
			why: fmt.Sprintf("a conflict costs one more decision, so busyness goes with 1 + the conflict fraction, by which it is %.2f times",
				(1+at("claims + incremental").Conflicts)/(1+plain.Conflicts)),
		}),
		{
			paper: "Google's simulator: 0.239, 0.314, 0.400 and 0.565 conflicts per success at t_job 10 s.",
			here:  fmt.Sprintf("Furthest from it is %s.", worst),
			same:  apart <= 0.1,
		},
	}
}
