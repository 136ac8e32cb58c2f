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

// architectures is figures 5 and 6: waits and busyness by t_job of services.
func architectures(ctx context.Context, s settings) (*section, error) {
	rows, err := experiments.Architectures(ctx, s.sim(s.seeds))
	if err != nil {
		return nil, err
	}
	wait, err := byTJob(rows, "fig5", "Wait of batch and service jobs by t_job of services, for five architectures",
		axis{label: "mean job wait [s]", low: 1e-4, high: 1e5, log: true}, true,
		func(o *experiments.Outcome) float64 { return o.Wait })
	if err != nil {
		return nil, err
	}
	busy, err := byTJob(rows, "fig6", "Busyness with decisions on batch jobs, with those on services, and with both, by t_job of services, for four architectures",
		axis{label: "scheduler busyness", high: 1.05}, false,
		func(o *experiments.Outcome) float64 { return o.BusynessOn })
	if err != nil {
		return nil, err
	}
	err = busyTogether(busy, rows)
	if err != nil {
		return nil, err
	}
	return &section{
		paper: "A monolithic scheduler with one path is busy in proportion to t_job until it is saturated, and batch jobs wait " +
			"as long as service jobs. A second, fast path for batch jobs lowers both, but batch jobs still queue behind slow " +
			"decisions. With shared state the two are independent, waits are like those of multi-path, and all jobs are scheduled.",
		setup: fmt.Sprintf("10,000 machines, 63 %% full; batch jobs think 0.1 s + 5 ms a task, service jobs t_job + 5 ms a task; %s. "+
			"A monolithic or partitioned scheduler reads the cell and places when its decision ends, one of the shared state when it begins; both commit when it ends. "+
			"Busy is the share of its time that a scheduler decides in; with batch jobs and with services are the parts of that by the class of the job. "+
			"Partitioned gives a third of the machines to batch jobs; in the figures it is under Omega, but for what conflicts add. Two-level is offers that do not expire, on 625 machines "+
			"of 64 CPUs: figure 7 shows it, and these two do not; locked is what is offered to either framework, and not answered, of all CPU. Sparrow is batch sampling with late binding, which decides "+
			"nothing and so is not busy. The last column is what the simulator that Google published gave on such a workload "+
			"over 24 hours, where nothing is saturated: then waits grow with the length of a run. Its two-level scheduler is not, since it decides about several jobs at a time.", runs(s.seeds, s.horizon)),
		figures: []*figure{wait, busy},
		table:   architectureTable(rows),
		claims:  architectureClaims(rows),
	}, nil
}

// sim is the settings as the simulator takes them.
func (s settings) sim(seeds int) experiments.Options {
	return experiments.Options{Seeds: seeds, Horizon: s.horizon, Parallel: s.parallel, Done: s.progress}
}

// byTJob draws a panel for each class and a line for each architecture.
func byTJob(rows []experiments.Row, name, alt string, y axis, sparrow bool, of func(*experiments.Outcome) float64) (*figure, error) {
	f := newFigure(name, alt)
	for c := range simulate.Classes {
		p := f.panel(c.String()+" jobs", tJobAxis(), y)
		if sparrow {
			if err := p.limit("30 s, the paper's limit", 30); err != nil {
				return nil, err
			}
		}
		if err := p.architectures(rows, sparrow, func(r *experiments.Row) float64 { return of(&r.Class[c]) }); err != nil {
			return nil, err
		}
	}
	return f, nil
}

// architectures draws a line for each architecture but the two-level one.
func (p *panel) architectures(rows []experiments.Row, sparrow bool, of func(*experiments.Row) float64) error {
	for style, a := range slices.DeleteFunc(names(rows), func(a string) bool { return a == "two-level" }) {
		if a == "sparrow" && !sparrow {
			continue
		}
		var line plotter.XYs
		for i := range rows {
			if r := &rows[i]; r.Architecture == a {
				line = append(line, plotter.XY{X: r.TJob.Seconds(), Y: of(r)})
			}
		}
		if err := p.line(a, style, line); err != nil {
			return err
		}
	}
	return nil
}

// busyTogether adds a panel for the busyness of the scheduler of batch jobs with all
// of its decisions.
func busyTogether(f *figure, rows []experiments.Row) error {
	p := f.panel("scheduler of batch jobs", tJobAxis(), axis{label: "busyness, all decisions", high: 1.05})
	return p.architectures(rows, false, func(r *experiments.Row) float64 { return r.Class[simulate.Batch].Busyness })
}

func tJobAxis() axis { return axis{label: "t_job of services [s]", low: 0.1, high: 100, log: true} }

// names returns the architectures in their order.
func names(rows []experiments.Row) (names []string) {
	for _, r := range rows {
		if len(names) == 0 || names[len(names)-1] != r.Architecture {
			names = append(names, r.Architecture)
		}
	}
	return names
}

func architectureTable(rows []experiments.Row) table {
	t := table{head: []string{
		"architecture", "t_job s", "batch: busy", "with batch jobs", "wait s", "p90", "service: busy", "with services", "wait s", "p90",
		"service: conflicts", "abandoned", "locked", "Google's: batch wait s",
	}}
	for i := range rows {
		r := &rows[i]
		batch, service := &r.Class[simulate.Batch], &r.Class[simulate.Service]
		var batchBusy, serviceBusy, conflicts any = batch.Busyness, service.Busyness, service.Conflicts
		var onBatch, onServices any = batch.BusynessOn, service.BusynessOn
		locked := ""
		if r.Architecture == "two-level" {
			locked = percent(batch.Locked + service.Locked)
		}
		if r.Batch == 0 {
			batchBusy, serviceBusy, conflicts, onBatch, onServices = "", "", "", "", ""
		}
		t.row(r.Architecture, seconds(r.TJob), batchBusy, onBatch, batch.Wait, batch.WaitP90, serviceBusy, onServices, service.Wait, service.WaitP90,
			conflicts, batch.Abandoned+service.Abandoned, locked, publishedWait(r.Architecture, r.TJob))
	}
	return t
}

// publishedWait returns the mean wait of batch jobs that Google's simulator
// gave, "" if it has no such architecture or was saturated.
func publishedWait(architecture string, tJob time.Duration) string {
	return map[string]map[time.Duration]string{
		"single-path": {100 * time.Millisecond: "0.034", time.Second: "0.19"},
		"two-level": {
			100 * time.Millisecond: "0.95", time.Second: "1.03", 10 * time.Second: "6.3",
			30 * time.Second: "27", 100 * time.Second: "43",
		},
		"multi-path": {100 * time.Millisecond: "0.034", time.Second: "0.066", 10 * time.Second: "5.56"},
		"omega": {
			100 * time.Millisecond: "0.0325", time.Second: "0.0325", 10 * time.Second: "0.0325",
			30 * time.Second: "0.0325", 100 * time.Second: "0.0325",
		},
	}[architecture][tJob]
}

func architectureClaims(rows []experiments.Row) []claim {
	by := make(map[string][]*experiments.Row) // in the order of t_job
	for i := range rows {
		by[rows[i].Architecture] = append(by[rows[i].Architecture], &rows[i])
	}
	single, multi, omega := by["single-path"], by["multi-path"], by["omega"]
	batch := func(r *experiments.Row) *experiments.Outcome { return &r.Class[simulate.Batch] }
	service := func(r *experiments.Row) *experiments.Outcome { return &r.Class[simulate.Service] }
	const ten = 2 // in the sweep

	least, most, abandoned := batch(omega[0]).Wait, batch(omega[0]).Wait, 0.0
	for _, r := range omega {
		least, most = min(least, batch(r).Wait), max(most, batch(r).Wait)
		abandoned += batch(r).Abandoned + service(r).Abandoned
	}
	spread := most/least - 1
	closest, furthest := math.Inf(1), 0.0 // batch and service jobs behind one scheduler
	for _, r := range single {
		of := batch(r).Wait / service(r).Wait
		closest, furthest = min(closest, of), max(furthest, of)
	}
	shortest, longest := math.Inf(1), 0.0 // service jobs, until multi-path is saturated
	for i, r := range multi[:saturated(multi)] {
		of := service(omega[i]).Wait / service(r).Wait
		shortest, longest = min(shortest, of), max(longest, of)
	}
	shorter := ""
	if longest < 1.5 {
		shorter = "with short decisions services wait less, since they are not behind batch jobs in the same queue"
	}
	slope := (service(multi[1]).Busyness - service(multi[0]).Busyness) / (multi[1].TJob - multi[0].TJob).Seconds()
	expected := service(multi[0]).Busyness + slope*(multi[ten].TJob-multi[0].TJob).Seconds()
	return []claim{
		{
			paper: "Busyness grows in proportion to t_job until a scheduler is saturated.",
			here: fmt.Sprintf("Multi-path, of which three points are below that: %s at t_job 10 s, where the first two points lead to %s.",
				digits(service(multi[ten]).Busyness), digits(expected)),
			same: math.Abs(service(multi[ten]).Busyness/expected-1) < 0.05,
		},
		{
			paper: "Behind one path, batch jobs wait as long as service jobs.",
			here:  fmt.Sprintf("%.2f to %.2f times as long.", closest, furthest),
			same:  closest > 0.75 && furthest < 1.25,
		},
		{
			paper: "A fast path for batch jobs lowers busyness and waits.",
			here: fmt.Sprintf("At t_job 1 s, busyness %s instead of %s, wait of batch jobs %s s instead of %s s.",
				digits(batch(multi[1]).Busyness), digits(batch(single[1]).Busyness), digits(batch(multi[1]).Wait), digits(batch(single[1]).Wait)),
			same: batch(multi[1]).Busyness < batch(single[1]).Busyness && batch(multi[1]).Wait < batch(single[1]).Wait,
		},
		{
			paper: "Single-path is saturated first, then multi-path.",
			here:  fmt.Sprintf("More than 95 %% busy: %s, %s.", saturation(single), saturation(multi)),
			same:  saturated(single) < saturated(multi),
		},
		{
			paper: "Behind services in one queue, batch jobs wait for decisions on them, with two paths as well.",
			here: fmt.Sprintf("Multi-path: %s s at t_job 0.1 s, %s s at 10 s.",
				digits(batch(multi[0]).Wait), digits(batch(multi[ten]).Wait)),
			same: batch(multi[ten]).Wait > 10*batch(multi[0]).Wait,
		},
		{
			paper: "With shared state, batch jobs do not notice the services' t_job.",
			here:  fmt.Sprintf("Their wait is %.5f s to %.5f s, a spread of %s.", least, most, percent(spread)),
			same:  spread < 0.05,
		},
		{
			paper: "Service jobs wait about as long as with multi-path.",
			here:  fmt.Sprintf("%.2f to %.2f times as long, until that is saturated.", shortest, longest),
			same:  shortest > 0.5 && longest < 1.5,
			why:   shorter,
		},
		{
			paper: "With shared state all jobs are scheduled: none is abandoned.",
			here:  fmt.Sprintf("%s abandoned.", digits(abandoned)),
			same:  abandoned == 0,
		},
	}
}

// saturated returns the index of the first row that is more than 95 % busy, or
// how many there are.
func saturated(rows []*experiments.Row) int {
	for i, r := range rows {
		if r.Class[simulate.Service].Busyness > 0.95 {
			return i
		}
	}
	return len(rows)
}

func saturation(rows []*experiments.Row) string {
	i := saturated(rows)
	if i == len(rows) {
		return rows[0].Architecture + " never"
	}
	return fmt.Sprintf("%s from t_job %s s on", rows[0].Architecture, seconds(rows[i].TJob))
}
