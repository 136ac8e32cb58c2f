package main

import (
	"context"
	"fmt"
	"math"
	"slices"
	"time"

	"gonum.org/v1/plot/plotter"

	"github.com/cellsched/cellsched/bench/sim/experiments"
	"github.com/cellsched/cellsched/bench/sim/simulate"
)

// twoLevel is figure 7: frameworks that keep their offers while they
// decide, and the remedies for that.
func twoLevel(ctx context.Context, s settings) (*section, error) {
	rows, err := experiments.TwoLevel(ctx, s.sim(1))
	if err != nil {
		return nil, err
	}
	waits, err := byRemedy(rows, "fig7", "Wait of batch and service jobs by t_job of services, under offers with six sets of rules and under shared state",
		quantity{"batch jobs", axis{label: "mean wait until placed whole [s]", low: 1e-2, high: 1e4, log: true}, simulate.Batch, full},
		quantity{"service jobs", axis{label: "mean wait until placed whole [s]", low: 1e-2, high: 1e4, log: true}, simulate.Service, full})
	if err != nil {
		return nil, err
	}
	losses, err := byRemedy(rows, "fig7-locked", "Locked share of the cell, busyness of batch schedulers and service jobs not placed by t_job of services, under offers with six sets of rules and under shared state",
		quantity{"batch scheduler", axis{label: "busyness", high: 0.5}, simulate.Batch, func(o *experiments.Outcome) float64 { return o.Busyness }},
		quantity{"offered to services", axis{label: "share of all CPU", high: 0.4}, simulate.Service, func(o *experiments.Outcome) float64 { return o.Locked }},
		quantity{"service jobs", axis{label: "share not placed at the end", high: 1}, simulate.Service, unplaced})
	if err != nil {
		return nil, err
	}
	return &section{
		paper: "Mesos offers nearly all that is free to one framework after the other. While that for services takes long to decide, this is " +
			"locked, and batch jobs have what becomes free meanwhile, which is too little for most of them. Their scheduler tries again " +
			"and again, is much busier than with a multi-path scheduler, and gives up jobs after 1,000 attempts.",
		setup: fmt.Sprintf("The cell, the jobs and the decisions of figures 5 and 6, with 625 machines of 64 CPUs, since an offer is one machine; %s. Two frameworks of package "+
			"offers. With no timeout each is offered all that is free, and keeps it while it decides. The other rows change one thing: offers expire after "+
			"30 s; a framework is offered its fair share at most while the other one wants any; services are offered an eighth of the "+
			"machines; services decide first, and ask for a gang offer then; offers are optimistic, to everybody at once, and the first that "+
			"accepts has them. What somebody gives back is offered to the other one first, whatever their shares are. Multi-path and omega are on the same machines. Google's simulator, in the last columns, "+
			"makes offers once a second, of 100 CPUs or more, and lets a framework decide about several jobs at a time, over 24 hours. "+
			"Locked is what is offered and not answered, of all CPU.", runs(1, s.horizon)),
		figures: []*figure{waits, losses},
		table:   twoLevelTable(rows),
		claims:  twoLevelClaims(rows),
	}, nil
}

// quantity is the figure that a panel shows of one class. NaN is left out.
type quantity struct {
	title string
	y     axis
	class simulate.Class
	of    func(*experiments.Outcome) float64
}

// full is the wait of jobs that were placed whole.
func full(o *experiments.Outcome) float64 {
	if o.Placed == 0 {
		return math.NaN()
	}
	return o.Full
}

// unplaced is the share of jobs that were not placed by the end, given up or not.
func unplaced(o *experiments.Outcome) float64 { return 1 - o.Placed/max(o.Submitted, 1) }

// byRemedy draws a panel for each quantity and a line for each set of rules, and
// for shared state.
func byRemedy(rows []experiments.Row, name, alt string, panels ...quantity) (*figure, error) {
	f := newFigure(name, alt)
	for _, q := range panels {
		p := f.panel(q.title, axis{label: "t_job of services [s]", low: 0.1, high: 100, log: true}, q.y)
		for style, rule := range rules(rows) {
			var line plotter.XYs
			for _, r := range under(rows, rule) {
				if y := q.of(&r.Class[q.class]); !math.IsNaN(y) {
					line = append(line, plotter.XY{X: r.TJob.Seconds(), Y: y})
				}
			}
			if len(line) == 0 {
				continue
			}
			if err := p.line(rule, style, line); err != nil {
				return nil, err
			}
		}
	}
	return f, nil
}

// rules returns the sets of rules of the offers, in their order, then shared
// state.
func rules(rows []experiments.Row) (all []string) {
	for _, r := range rows {
		if r.Mode != "" && (len(all) == 0 || all[len(all)-1] != r.Mode) {
			all = append(all, r.Mode)
		}
	}
	return append(all, "omega")
}

// under returns the rows of a set of rules or of another architecture, in the order
// of t_job.
func under(rows []experiments.Row, rule string) (of []*experiments.Row) {
	for i := range rows {
		if r := &rows[i]; r.Mode == rule || r.Mode == "" && r.Architecture == rule {
			of = append(of, r)
		}
	}
	return of
}

func twoLevelTable(rows []experiments.Row) table {
	t := table{head: []string{
		"architecture", "offers", "t_job s", "batch: busy", "with batch jobs", "wait s", "wait to full s", "not placed", "given up", "locked",
		"service: busy", "with services", "conflicts", "wait s", "wait to full s", "not placed", "given up", "locked", "Google's: batch wait s", "locked",
	}}
	for i := range rows {
		r := &rows[i]
		cells := []any{r.Architecture, r.Mode, seconds(r.TJob)}
		for c := range simulate.Classes {
			o := &r.Class[c]
			var whole any = o.Full
			if o.Placed == 0 {
				whole = "never"
			}
			cells = append(cells, o.Busyness, o.BusynessOn)
			if c == simulate.Service {
				cells = append(cells, o.Conflicts)
			}
			cells = append(cells, o.Wait, whole, percent(unplaced(o)), o.Abandoned, percent(o.Locked))
		}
		wait, locked := publishedOffers(r)
		t.row(append(cells, wait, locked)...)
	}
	return t
}

// publishedOffers returns the results of Google's simulator, "" where it has no such
// rules. They are the mean wait of batch jobs, and the share of all CPU that was on
// offer to any framework.
func publishedOffers(r *experiments.Row) (wait, locked string) {
	switch r.Mode {
	case "":
		return publishedWait(r.Architecture, r.TJob), ""
	case experiments.Without:
		return publishedWait(r.Architecture, r.TJob), map[time.Duration]string{
			100 * time.Millisecond: "2.5 %", time.Second: "4.1 %", 10 * time.Second: "18 %", 30 * time.Second: "28 %", 100 * time.Second: "34 %",
		}[r.TJob]
	}
	return "", ""
}

// twoLevelClaims returns the claims about rows in the order of t_job: 0.1, 1, 10, 30 and
// 100 s.
func twoLevelClaims(rows []experiments.Row) []claim {
	const short, ten, thirty, long = 0, 2, 3, 4
	batch := func(rule string, i int) *experiments.Outcome { return &under(rows, rule)[i].Class[simulate.Batch] }
	service := func(rule string, i int) *experiments.Outcome { return &under(rows, rule)[i].Class[simulate.Service] }
	// longest is the longest wait of batch jobs from some t_job on, in those of shared state.
	longest := func(rule string, from int) (times float64) {
		for i := from; i <= long; i++ {
			times = max(times, batch(rule, i).Full/max(batch("omega", i).Full, 1e-9))
		}
		return times
	}
	const without = experiments.Without
	first, last := batch(without, short), batch(without, long)
	free := 1 - under(rows, without)[long].CPU + 1e-9
	var times, whole []float64 // busyness by that of multi-path: with batch jobs, and with all jobs
	abandoned := 0.0
	for i := range long + 1 {
		times = append(times, batch(without, i).BusynessOn/max(batch("multi-path", i).BusynessOn, 1e-9))
		whole = append(whole, batch(without, i).Busyness/max(batch("multi-path", i).Busyness, 1e-9))
		abandoned += batch(without, i).Abandoned
	}
	lock := func(i int) float64 { return batch(without, i).Locked + service(without, i).Locked }
	kept := lock(long) / free
	apart := 0.0 // from Google's simulator
	for i, published := range []float64{0.025, 0.041, 0.18} {
		apart = max(apart, math.Abs(lock(i)/published-1))
	}
	served := service("timeout 30 s", thirty).Placed + service("timeout 30 s", long).Placed
	fair := last.Full / max(batch("fair share", long).Full, 1e-9)
	filtered, slower := 0.0, 0.0
	for i := range long + 1 {
		filtered = max(filtered, service("filter", i).Locked)
	}
	slower = service("filter", ten).Full / max(service("omega", ten).Full, 1e-9)
	asked := 0.0
	for i := range long + 1 {
		asked = max(asked, service("gang offer", i).Locked)
	}
	unlike := func(rule string) float64 { // at 10 s, where shared state is not saturated
		return math.Abs(service(rule, ten).Full/max(service("omega", ten).Full, 1e-9) - 1)
	}
	return []claim{
		{
			paper: "While services decide, nearly all that is free is locked.",
			here:  fmt.Sprintf("At t_job 100 s frameworks have %s of all CPU in offers, %s of what is free.", percent(lock(long)), percent(kept)),
			same:  kept > 0.9,
		},
		{
			paper: "So batch jobs wait for decisions on services, though they have a scheduler of their own.",
			here: fmt.Sprintf("Until they are placed whole they wait %s s at t_job 0.1 s, %s s at 10 s and %s s at 100 s, where %s of them are not placed at the end.",
				digits(first.Full), digits(batch(without, ten).Full), digits(last.Full), percent(unplaced(last))),
			same: last.Full > 100*first.Full,
		},
		{
			paper: "The batch scheduler tries again and again, which makes it much busier.",
			here:  fmt.Sprintf("%s busy at t_job 0.1 s, %s at 100 s, with the same jobs.", digits(first.Busyness), digits(last.Busyness)),
			same:  last.Busyness > 3*first.Busyness,
		},
		{
			paper: "The batch scheduler is much busier than a multi-path scheduler, with the decisions on batch jobs.",
			here: fmt.Sprintf("%.1f, %.1f, %.1f, %.1f and %.1f times as busy with them at t_job 0.1, 1, 10, 30 and 100 s. With the services that it has as well, the multi-path scheduler is busier: %.2f to %.2f times.",
				times[0], times[1], times[2], times[3], times[4], 1/slices.Max(whole), 1/slices.Min(whole)),
			same: times[ten] > 1.25 && times[thirty] > 3 && times[long] > 3,
		},
		{
			paper: "Batch jobs are given up after 1,000 attempts.",
			here:  fmt.Sprintf("%s of them.", digits(abandoned)),
			same:  abandoned > 0,
			why: "tasks of one CPU fit into whatever is free, so that each attempt places some of a job, and 1,000 of them take longer than most jobs have until the end of a run; " +
				"Google's published simulator gave up none on this workload either",
		},
		{
			paper: "Google's simulator: 2.5, 4.1 and 18 % of all CPU locked at t_job 0.1, 1 and 10 s.",
			here:  fmt.Sprintf("%s, %s and %s.", percent(lock(short)), percent(lock(1)), percent(lock(ten))),
			same:  apart <= 0.15,
		},
		{
			paper: "Google's simulator: batch jobs wait 0.95, 1.03 and 6.3 s for their first attempt at t_job 0.1, 1 and 10 s.",
			here: fmt.Sprintf("%s, %s and %s s.", digits(first.Wait), digits(batch(without, 1).Wait),
				digits(batch(without, ten).Wait)),
			same: math.Abs(first.Wait/0.95-1) < 0.25 && math.Abs(batch(without, ten).Wait/6.3-1) < 0.25,
			why: "that simulator makes offers once a second and of 100 CPUs or more; here they are made when something becomes free, of any size, so that " +
				"attempts begin sooner, on less",
		},
		{
			paper: "A timeout protects batch jobs, and starves services that decide for longer.",
			here: fmt.Sprintf("From t_job 30 s on, batch jobs wait %.2f times as long as with shared state, and %s service jobs are placed.",
				longest("timeout 30 s", thirty), digits(served)),
			same: longest("timeout 30 s", thirty) < 2 && served == 0,
		},
		{
			paper: "A fair share of what is free at most, the default of this library, mends much of it.",
			here:  fmt.Sprintf("At t_job 100 s batch jobs wait %s s, %.0f times less.", digits(batch("fair share", long).Full), fair),
			same:  fair > 10,
		},
		{
			paper: "A filter in advance bounds what services can lock, and batch jobs do not notice them.",
			here: fmt.Sprintf("Services have up to %s of all CPU in offers, batch jobs wait up to %.2f times as long as with shared state. Services themselves wait %.2f times as long at t_job 10 s, on the few machines that batch jobs fill as well.",
				percent(filtered), longest("filter", short), slower),
			same: filtered < 1.0/8 && longest("filter", short) < 2,
		},
		{
			paper: "Who decides first and asks for a gang offer then locks nothing, and is as well off as with shared state.",
			here: fmt.Sprintf("Services have %s of all CPU in offers, batch jobs wait up to %.2f times as long as with shared state, services differ by %s at t_job 10 s.",
				percent(asked), longest("gang offer", short), percent(unlike("gang offer"))),
			same: asked < 1e-4 && longest("gang offer", short) < 2 && unlike("gang offer") < 0.1,
		},
		{
			paper: "Optimistic offers are shared state: nothing is locked, and who decides for long conflicts.",
			here: fmt.Sprintf("Batch jobs wait up to %.2f times as long as with shared state; at t_job 100 s services have %s conflicts per success, with shared state %s.",
				longest("optimistic", short), digits(service("optimistic", long).Conflicts), digits(service("omega", long).Conflicts)),
			same: longest("optimistic", short) < 3 && service("optimistic", long).Conflicts > service("optimistic", short).Conflicts,
		},
	}
}
