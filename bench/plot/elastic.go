package main

import (
	"context"
	"fmt"
	"math"
	"slices"
	"time"

	"gonum.org/v1/plot/plotter"

	"github.com/cellsched/cellsched/bench/elastic/experiments"
	"github.com/cellsched/cellsched/bench/internal/interval"
)

// opportunistic is figures 15 and 16: the gain of MapReduce jobs from idle
// resources, and its effect on utilisation.
func opportunistic(ctx context.Context, s settings) (*section, error) {
	s.seeds = s.paired()
	cells, err := elasticCells(ctx, s)
	if err != nil {
		return nil, err
	}
	speedups, err := speedupFigure(cells)
	if err != nil {
		return nil, err
	}
	used, err := utilisationFigure(cells, s.horizon)
	if err != nil {
		return nil, err
	}
	t := table{head: []string{
		"cell", "policy", "jobs", "gain", "speed-up p50", "p80", "p95", "preempted", "utilisation", "deviation", "p5", "p95", "change in a minute",
	}}
	for _, c := range cells {
		for _, p := range c.policies {
			u := p.utilisation()
			t.row(c.name, p.Policy, len(p.Speedups), percent(p.Gained()), p.Speedup(50), p.Speedup(80), p.Speedup(95), p.Preempted,
				percent(u.Mean), percent(u.Deviation), percent(u.Low), percent(u.High), percent(u.Step))
		}
	}
	return &section{
		paper: "With max-parallelism, 50 to 70 % of the MapReduce jobs gain, and at the 80th percentile they are done 3 to 4 times as fast. " +
			"Relative job size, at most four times what was asked for, does quite well; a global cap at 60 % utilisation comes close to " +
			"max-parallelism only in a small, idle cell. Utilisation varies more.",
		setup: fmt.Sprintf("A busy cell of 500 machines and a quiet one of 125, %s each, %g hours in which jobs come; speed-ups of all "+
			"seeds together, utilisation as means of them, and over time for the first. Statements are judged by the intervals of 95 %% of what the seeds give. A job counts as one that gains from 1 %% on. "+
			"How far jobs could use more workers is an assumption of the workload, see bench/elastic/experiments; what is to be compared is policies and cells.",
			count(s.seeds, "seed"), s.horizon.Hours()),
		figures: []*figure{speedups, used},
		table:   t,
		claims:  elasticClaims(cells),
	}, nil
}

func count(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

// cell is the results of one cell's workloads.
type cell struct {
	name     string
	policies []pooled // the first is none
}

// pooled is the results of one cell's workloads under one policy: the first
// seed's, with the speed-ups of all, and the utilisation of each.
type pooled struct {
	experiments.Row
	each        []experiments.Utilisation
	gained, p80 []float64 // by seed: the part of the jobs that gain, and the 80th percentile of speed-ups
}

// deviations are those of the utilisation, by seed.
func (p *pooled) deviations() (all []float64) {
	for _, u := range p.each {
		all = append(all, u.Deviation)
	}
	return all
}

// utilisation is the mean over the seeds.
func (p *pooled) utilisation() (mean experiments.Utilisation) {
	n := float64(len(p.each))
	for _, u := range p.each {
		mean.Mean += u.Mean / n
		mean.Deviation += u.Deviation / n
		mean.Low += u.Low / n
		mean.High += u.High / n
		mean.Step += u.Step / n
	}
	return mean
}

// elasticCells runs both cells with all seeds.
func elasticCells(ctx context.Context, s settings) ([]cell, error) {
	draws := []func(uint64, time.Duration) experiments.Workload{experiments.Busy, experiments.Quiet}
	cells := make([]cell, len(draws))
	for i, draw := range draws {
		c := &cells[i]
		for seed := range s.seeds {
			if ctx.Err() != nil {
				return nil, context.Cause(ctx)
			}
			w := draw(uint64(seed+1), s.horizon)
			rows, err := experiments.Compare(ctx, w)
			if err != nil {
				return nil, fmt.Errorf("seed %d: %w", seed+1, err)
			}
			c.name = w.Name
			for n, r := range rows {
				if seed == 0 {
					c.policies = append(c.policies, pooled{Row: r})
				} else {
					c.policies[n].Speedups = append(c.policies[n].Speedups, r.Speedups...)
					c.policies[n].Preempted += r.Preempted
				}
				p := &c.policies[n]
				p.each = append(p.each, r.Utilisation())
				p.gained, p.p80 = append(p.gained, r.Gained()), append(p.p80, r.Speedup(80))
			}
			s.progress(i*s.seeds+seed+1, len(draws)*s.seeds)
		}
		for n := range c.policies {
			slices.Sort(c.policies[n].Speedups)
		}
	}
	return cells, nil
}

// speedupFigure draws the distributions of speed-ups.
func speedupFigure(cells []cell) (*figure, error) {
	const least, most, points = 0.5, 50.0, 150
	f := newFigure("fig15", "Cumulative distribution of speed-ups of MapReduce jobs in a busy and in a quiet cell, for three policies")
	for _, c := range cells {
		p := f.panel(c.name+" cell", axis{label: "speed-up of a job", low: least, high: most, log: true, labelled: []float64{0.5, 1, 2, 5, 10, 20, 50}},
			axis{label: "fraction of jobs", high: 1.02})
		for style, policy := range c.policies[1:] {
			line := make(plotter.XYs, points)
			for i := range line {
				x := least * math.Pow(most/least, float64(i)/(points-1))
				line[i] = plotter.XY{X: x, Y: policy.Below(x)}
			}
			if err := p.line(policy.Policy, style, line); err != nil {
				return nil, err
			}
		}
	}
	return f, nil
}

// utilisationFigure draws utilisation over time, without extra workers and with
// as many as are of use.
func utilisationFigure(cells []cell, horizon time.Duration) (*figure, error) {
	f := newFigure("fig16", "Share of CPUs in use over time in a busy and in a quiet cell, with and without extra workers")
	for _, c := range cells {
		p := f.panel(c.name+" cell", axis{label: "time [h]", high: horizon.Hours()}, axis{label: "CPU utilisation", high: 1.05})
		for style, n := range []int{0, len(c.policies) - 1} {
			name := c.policies[n].Policy
			if n == 0 {
				name = "no extra workers"
			}
			if err := p.line(name, style, overTime(c.policies[n].Used)); err != nil {
				return nil, err
			}
		}
	}
	return f, nil
}

// overTime is at most some hundred points, in hours, each the mean of as many
// minutes.
func overTime(used []float64) plotter.XYs {
	const most = 360
	step := (len(used) + most - 1) / most
	var line plotter.XYs
	for minutes := range slices.Chunk(used, max(step, 1)) {
		sum := 0.0
		for _, u := range minutes {
			sum += u
		}
		line = append(line, plotter.XY{X: float64(len(line)*step) / 60, Y: sum / float64(len(minutes))})
	}
	return line
}

func elasticClaims(cells []cell) []claim {
	busy, quiet := cells[0].policies, cells[1].policies
	const none, relative, capped, parallel = 0, 1, 2, 3
	noQuiet := quiet[none].utilisation()
	above := ""
	if noQuiet.High > 0.6 {
		above = "it comes closer there, but the quiet cell is above the cap at times, too: see p95 of its utilisation without extra workers"
	}
	within := func(values []float64, low, high float64) interval.Verdict {
		e := interval.Of(values)
		return interval.All(interval.AtLeast(e.Low(), e.High(), low), interval.AtMost(e.Low(), e.High(), high))
	}
	// atLeast judges that a percentile is so many times another one, seed by seed.
	atLeast := func(a, b []float64, times float64) interval.Verdict {
		low, _, high := interval.Ratio(a, b)
		return interval.AtLeast(low, high, times)
	}
	atMost := func(a, b []float64, times float64) interval.Verdict {
		low, _, high := interval.Ratio(a, b)
		return interval.AtMost(low, high, times)
	}
	more := func(cell []pooled) interval.Estimate {
		return interval.Paired(cell[parallel].deviations(), cell[none].deviations())
	}
	positive := func(e interval.Estimate) interval.Verdict { return interval.AtLeast(e.Low(), e.High(), 0) }
	both := func(values func(p *pooled) []float64, policy int) string {
		return fmt.Sprintf("%s in the busy cell, %s in the quiet one",
			estimated(interval.Of(values(&busy[policy]))), estimated(interval.Of(values(&quiet[policy]))))
	}
	gained := func(p *pooled) []float64 { return p.gained }
	p80 := func(p *pooled) []float64 { return p.p80 }
	return []claim{
		judged(interval.All(within(busy[parallel].gained, 0.5, 0.7), within(quiet[parallel].gained, 0.5, 0.7)), claim{
			paper: "50 to 70 % of the MapReduce jobs gain with max-parallelism.",
			here:  "Fractions of the jobs: " + both(gained, parallel) + ".",
			why:   "which jobs could use more workers at all is drawn, not measured",
		}),
		judged(interval.All(within(busy[parallel].p80, 3, 4), within(quiet[parallel].p80, 3, 4)), claim{
			paper: "At the 80th percentile MapReduce jobs are 3 to 4 times as fast with max-parallelism.",
			here:  both(p80, parallel) + ".",
			why:   "how many workers jobs could use is drawn from a range that was chosen, 1/4 to 32 activities for each worker asked for",
		}),
		judged(interval.All(atLeast(busy[relative].p80, busy[parallel].p80, 0.5), atLeast(quiet[relative].p80, quiet[parallel].p80, 0.5)), claim{
			paper: "Relative job size does quite well.",
			here:  "Times as fast at the 80th percentile: " + both(p80, relative) + ". Fractions of the jobs that gain: " + both(gained, relative) + ".",
		}),
		judged(interval.All(atMost(busy[capped].p80, busy[parallel].p80, 0.5), atLeast(quiet[capped].p80, quiet[parallel].p80, 0.75)), claim{
			paper: "A global cap comes close to max-parallelism in the quiet cell only.",
			here:  "Times as fast at the 80th percentile: " + both(p80, capped) + ".",
			why:   above,
		}),
		judged(interval.All(positive(more(busy)), positive(more(quiet))), claim{
			paper: "Utilisation varies more with max-parallelism.",
			here:  fmt.Sprintf("Its standard deviation is more by %s in the busy cell, and by %s in the quiet one.", signed(more(busy)), signed(more(quiet))),
		}),
	}
}
