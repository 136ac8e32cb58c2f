package main

import (
	"context"
	"fmt"
	"strings"
	"time"

	"gonum.org/v1/plot/plotter"

	"github.com/cellsched/cellsched/bench/internal/sweep"
	"github.com/cellsched/cellsched/bench/sim/federate"
)

// federated is an experiment of another paper: Megha, arXiv 2103.08413.
func federated(ctx context.Context, s settings) (*section, error) {
	rows, err := federate.Sweep(ctx, federate.Options{
		Options: sweep.Options{Seeds: s.paired(), Parallel: s.parallel, Done: s.progress}, Span: s.span(),
	}, s.quick)
	if err != nil {
		return nil, err
	}
	f := newFigure("federation", "Wait of a task, at the median and at 99 %, by the load, under four schedulers")
	for _, panel := range []struct {
		title string
		of    func(*federate.Row) time.Duration
	}{
		{"median", func(r *federate.Row) time.Duration { return r.WaitP50 }},
		{"99 %", func(r *federate.Row) time.Duration { return r.WaitP99 }},
	} {
		p := f.panel(panel.title, axis{label: "load", low: 0.5, high: 1, labelled: []float64{0.5, 0.8, 0.9}}, axis{label: "wait of a task [s]", low: 1e-4, high: 10, log: true})
		for i, name := range []string{"ideal", "sparrow", "omega", "megha"} {
			var line plotter.XYs
			for k := range rows {
				if r := &rows[k]; r.Experiment == federate.Load && r.Scheduler == name {
					line = append(line, plotter.XY{X: r.Load, Y: panel.of(r).Seconds()})
				}
			}
			if err := p.line(name, i, line); err != nil {
				return nil, err
			}
		}
	}
	t := table{head: []string{
		"experiment", "scheduler", "load", "global × local", "workers", "heartbeat s", "task waits p50 ms", "p95", "p99", "job delay p50 ms", "p95",
		"refused", "borrowed",
	}}
	for i := range rows {
		r := &rows[i]
		refused, borrowed := "", ""
		switch r.Scheduler {
		case "megha":
			refused, borrowed = percent(r.Refused), percent(r.Borrowed)
		case "omega":
			refused = percent(r.Refused)
		}
		t.row(r.Experiment, r.Scheduler, r.Load, fmt.Sprintf("%d × %d", r.Cluster.Globals, r.Cluster.Locals), r.Cluster.Workers, seconds(r.Cluster.Heartbeat),
			millis(r.WaitP50), millis(r.WaitP95), millis(r.WaitP99), millis(r.DelayP50), millis(r.DelayP95), refused, borrowed)
	}
	return &section{
		paper: "Another one: \"Megha: Decentralized Global Fair Scheduling for Federated Clusters\", arXiv 2103.08413. " +
			"Its median allocation time is comparable to Sparrow's, its 99th percentile two orders of magnitude better. " +
			"It grows with the workers, and slightly where global masters outnumber local ones. The figures have no numbers that can be read.",
		setup: fmt.Sprintf("Package omega/federation in virtual time, beside Sparrow with two probes a task, Omega on one cell with a scheduler for each global master, and an ideal queue, on the same jobs. "+
			"Workers have one slot, a message takes 0.5 ms, and jobs are submitted for %v. Jobs have 10 tasks, of exponential lengths of 1 s in the mean, and come at random. "+
			"The synthetic workload has jobs of 1,000 tasks of 1 s at even intervals. "+
			"A wait ends when the local master has granted the room. A job's delay is its time less its longest task. Figures are medians of %s, "+
			"without the first quarter of the jobs; of the masters and of the heartbeat there are 5 at most, of the synthetic workload there is one run. "+
			"Eagle and Pigeon are not run: the paper's text does not say how they choose workers. Its traces are not public.", s.span(), count(s.paired(), "seed")),
		figures: []*figure{f},
		table:   t,
		claims:  federatedClaims(rows),
	}, nil
}

// span returns the time during which jobs of the federation are submitted.
func (s settings) span() time.Duration {
	if s.quick {
		return time.Second
	}
	return 20 * time.Second
}

func millis(d time.Duration) float64 { return d.Seconds() * 1000 }

// federatedClaims are the statements of the paper, and the bars of this library. A
// statement does not hold without its rows.
func federatedClaims(rows []federate.Row) (claims []claim) {
	lacks := false
	find := func(experiment, scheduler string, load float64, workers int) *federate.Row {
		for i := range rows {
			if r := &rows[i]; r.Experiment == experiment && r.Scheduler == scheduler && r.Load == load && r.Cluster.Workers == workers {
				return r
			}
		}
		lacks = true
		return &federate.Row{}
	}
	add := func(c claim) {
		if lacks {
			c.here, c.same, c.why = "It was not measured.", false, ""
		}
		lacks = false
		claims = append(claims, c)
	}
	const workers = 1000
	for _, bar := range []struct {
		load, refused float64
		wait          time.Duration
	}{{0.8, 0.03, 2 * time.Millisecond}, {0.9, 0.18, 180 * time.Millisecond}, {0.95, 0.33, 470 * time.Millisecond}} {
		r := find(federate.Load, "megha", bar.load, workers)
		add(claim{
			paper: fmt.Sprintf("At load %g at most %.0f %% of the launches are refused, and the 99th percentile of waits is at most %v.", bar.load, 100*bar.refused, bar.wait),
			here:  fmt.Sprintf("%s are refused, and it is %.1f ms.", percent(r.Refused), millis(r.WaitP99)),
			same:  r.Refused <= bar.refused && r.WaitP99 <= bar.wait,
		})
	}
	var shorter []string
	same := true
	for _, load := range []float64{0.5, 0.8, 0.9, 0.95} {
		m, s := find(federate.Load, "megha", load, workers), find(federate.Load, "sparrow", load, workers)
		shorter = append(shorter, fmt.Sprintf("%.1f against %.0f ms at %g", millis(m.WaitP99), millis(s.WaitP99), load))
		same = same && m.WaitP99 < s.WaitP99
	}
	add(claim{
		paper: "The 99th percentile of waits is below Sparrow's at each load.",
		here:  "It is " + strings.Join(shorter, ", ") + ".",
		same:  same,
	})
	m, s := find(federate.Load, "megha", 0.8, workers), find(federate.Load, "sparrow", 0.8, workers)
	add(claim{
		paper: "The median wait is comparable to Sparrow's, which is the smaller one.",
		here:  fmt.Sprintf("At load 0.8 it is %.1f ms against %.1f ms.", millis(m.WaitP50), millis(s.WaitP50)),
		same:  m.WaitP50 >= s.WaitP50,
		why:   "a task of Sparrow waits behind others on the workers that it has sampled, and for a message more",
	})
	over := find(federate.Synthetic, "megha", 0.8, 10_000).DelayP50 - find(federate.Synthetic, "ideal", 0.8, 10_000).DelayP50
	add(claim{
		paper: "The median delay of a job of the synthetic workload, on 10,000 workers at load 0.8, is at most 1.5 round trips above the ideal.",
		here:  fmt.Sprintf("It is %.1f ms above, and a round trip is 1 ms.", millis(over)),
		same:  over <= 1500*time.Microsecond,
	})
	small, large := find(federate.Synthetic, "megha", 0.8, 1000), find(federate.Synthetic, "megha", 0.8, 50_000)
	add(claim{
		paper: "Waits grow with the workers, the masters being as many.",
		here:  fmt.Sprintf("The 95th percentile is %.1f ms with 1,000 workers and %.1f ms with 50,000.", millis(small.WaitP95), millis(large.WaitP95)),
		same:  large.WaitP95 > small.WaitP95,
		why:   "only the network takes time here; the paper's growth is that of processing updates",
	})
	return claims
}
