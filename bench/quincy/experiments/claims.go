package experiments

import (
	"fmt"
	"math"
	"strings"

	"github.com/cellsched/cellsched/bench/internal/interval"
)

// Claim is a statement of the paper, or one that an engineer might expect, held
// against rows. The verdict takes the interval of 95 % into account: a statement is
// open where that has values for which it holds, and others.
type Claim struct {
	Stated, Here string
	Verdict      interval.Verdict
	Why          string `json:",omitempty"` // where it does not hold, as far as measured
}

// Claims returns the statements about the rows, of one load or several with all
// policies. Policies are compared seed by seed.
func Claims(rows []Row) []Claim {
	if len(rows) == 0 {
		return nil
	}
	c := claims{by: make(map[[2]string]*Row)}
	for i := range rows {
		r := &rows[i]
		c.by[[2]string{r.Load, r.Policy}] = r
		if len(c.loads) == 0 || c.loads[len(c.loads)-1] != r.Load {
			c.loads = append(c.loads, r.Load)
		}
	}
	return []Claim{c.moves(), c.throughput(), c.fairness(), c.best(), c.shares(), c.delayMoves(), c.delayTakes(), c.loses()}
}

type claims struct {
	loads []string
	by    map[[2]string]*Row
}

// seeds are a figure of a load under a policy, by seed.
func (c *claims) seeds(load, policy, figure string) []float64 {
	if r := c.by[[2]string{load, policy}]; r != nil {
		return r.Figure(figure).Each
	}
	return nil
}

// apart is by how much a figure is more under one policy than under another.
func (c *claims) apart(load, policy, other, figure string) interval.Estimate {
	return interval.Paired(c.seeds(load, policy, figure), c.seeds(load, other, figure))
}

// pairs are the policies of the queues and of Quincy that want the same.
func pairs() [][2]string {
	return [][2]string{{Greedy, Quincy}, {GreedyFair, QuincyFair}, {GreedyFairPreempts, QuincyFairPreempts}}
}

// factor is by how much the queues have more of a figure than Quincy.
type factor struct {
	low, mean, high float64
	load, policy    string
}

func (f factor) String() string {
	return fmt.Sprintf("%s (%s; %s, %s)", digits(f.mean), between(f.low, f.high), f.load, f.policy)
}

// factors returns those of all loads and pairs of policies, and the greatest.
func (c *claims) factors(figure string) (all []factor, most factor) {
	for _, load := range c.loads {
		for _, p := range pairs() {
			f := factor{load: load, policy: p[1]}
			f.low, f.mean, f.high = interval.Ratio(c.seeds(load, p[0], figure), c.seeds(load, p[1], figure))
			if all = append(all, f); f.mean > most.mean {
				most = f
			}
		}
	}
	return all, most
}

// between prints an interval.
func between(low, high float64) string { return fmt.Sprintf("%s to %s", digits(low), digits(high)) }

// plusMinus prints an estimate.
func plusMinus(e interval.Estimate) string { return digits(e.Mean) + " ± " + digits(e.Half) }

// digits prints three digits, or "?" for an unknown figure.
func digits(x float64) string {
	if math.IsInf(x, 0) || math.IsNaN(x) {
		return "?"
	}
	return fmt.Sprintf("%.3g", x)
}

// each lists a text for each load.
func (c *claims) each(text func(load string) string) string {
	all := make([]string, 0, len(c.loads))
	for _, load := range c.loads {
		all = append(all, load+" "+text(load))
	}
	return strings.Join(all, ", ") + "."
}

// judge returns the verdict on something that is to hold for each load, and where it
// differs and is open.
func (c *claims) judge(of func(load string) interval.Verdict) (all interval.Verdict, where string) {
	var verdicts []interval.Verdict
	var differs, open []string
	for _, load := range c.loads {
		v := of(load)
		verdicts = append(verdicts, v)
		switch v {
		case interval.Differs:
			differs = append(differs, load)
		case interval.Open:
			open = append(open, load)
		}
	}
	var parts []string
	if len(differs) > 0 {
		parts = append(parts, "not so: "+strings.Join(differs, ", "))
	}
	if len(open) > 0 {
		parts = append(parts, "the interval has both: "+strings.Join(open, ", "))
	}
	return interval.All(verdicts...), strings.Join(parts, "; ")
}

func (c *claims) moves() Claim {
	all, most := c.factors(CoreGB)
	var far, less []interval.Verdict
	for _, f := range all {
		far = append(far, interval.AtLeast(f.low, f.high, 3.9))
		if f.policy == QuincyFairPreempts {
			less = append(less, interval.AtLeast(f.low, f.high, 1))
		}
	}
	return Claim{
		Stated: "Quincy moves less over the core switch than the queues, by a factor of up to 3.9 (abstract).",
		Here: fmt.Sprintf("Up to %v. Fair, with preemption: ", most) + c.each(func(load string) string {
			low, mean, high := interval.Ratio(c.seeds(load, GreedyFairPreempts, CoreGB), c.seeds(load, QuincyFairPreempts, CoreGB))
			return fmt.Sprintf("%s (%s)", digits(mean), between(low, high))
		}),
		Verdict: interval.All(interval.Any(far...), interval.All(less...)),
	}
}

func (c *claims) throughput() Claim {
	all, most := c.factors(Makespan)
	_, sooner := c.factors(Mean)
	var far []interval.Verdict
	for _, f := range all {
		far = append(far, interval.AtLeast(f.low, f.high, 1.4))
	}
	return Claim{
		Stated: "Throughput is up to 40 % higher (abstract).",
		Here: fmt.Sprintf("The time until all jobs are done is by the queues that of Quincy times up to %v, the mean time of a job times up to %v.",
			most, sooner),
		Verdict: interval.Any(far...),
		Why:     "but for batch, the time until all are done is mostly the time in which they come",
	}
}

func (c *claims) fairness() Claim {
	verdict, where := c.judge(func(load string) interval.Verdict {
		var all []interval.Verdict
		for _, p := range pairs()[1:] {
			low, _, high := interval.Ratio(c.seeds(load, p[1], Unfair), c.seeds(load, p[0], Unfair))
			all = append(all, interval.AtMost(low, high, 1.05))
		}
		return interval.All(all...)
	})
	return Claim{
		Stated: "Quincy is fairer where fairness is asked for (abstract), or as fair within 5 %.",
		Here: "Unfairness by Quincy, fair, with preemption, less that by the queues: " + c.each(func(load string) string {
			return plusMinus(c.apart(load, QuincyFairPreempts, GreedyFairPreempts, Unfair))
		}),
		Verdict: verdict, Why: where,
	}
}

func (c *claims) best() Claim {
	others := []string{Quincy, QuincyPreempts, QuincyFair}
	verdict, where := c.judge(func(load string) interval.Verdict {
		var all []interval.Verdict
		for _, p := range others {
			e := c.apart(load, QuincyFairPreempts, p, Speed)
			all = append(all, interval.AtLeast(e.Low(), e.High(), 0))
		}
		return interval.All(all...)
	})
	return Claim{
		Stated: "Of Quincy's four policies, fair sharing with preemption does best.",
		Here: "System normalised performance, less that of the best of the three others: " + c.each(func(load string) string {
			closest := interval.Estimate{Mean: math.Inf(1)}
			for _, p := range others {
				if e := c.apart(load, QuincyFairPreempts, p, Speed); e.Mean < closest.Mean {
					closest = e
				}
			}
			return plusMinus(closest)
		}),
		Verdict: verdict, Why: where,
	}
}

func (c *claims) shares() Claim {
	of := func(load, policy string) interval.Estimate { return interval.Of(c.seeds(load, policy, Jain)) }
	verdict, where := c.judge(func(load string) interval.Verdict {
		e := of(load, QuincyFairPreempts)
		return interval.AtLeast(e.Low(), e.High(), 0.99)
	})
	return Claim{
		Stated: "With E = F = the fair share, each job gets it: Jain's index is 0.99 or more.",
		Here: "With preemption, and without: " + c.each(func(load string) string {
			return fmt.Sprintf("%.4f and %.3f", of(load, QuincyFairPreempts).Mean, of(load, QuincyFair).Mean)
		}),
		Verdict: verdict, Why: where,
	}
}

// less is a claim that a figure is no more under one policy than under another.
func (c *claims) less(stated, here, policy, other, figure string) Claim {
	verdict, where := c.judge(func(load string) interval.Verdict {
		e := c.apart(load, policy, other, figure)
		return interval.AtMost(e.Low(), e.High(), 0)
	})
	return Claim{
		Stated: stated,
		Here: here + c.each(func(load string) string {
			return fmt.Sprintf("%s (%s)", plusMinus(c.apart(load, policy, other, figure)), digits(interval.Of(c.seeds(load, other, figure)).Mean))
		}),
		Verdict: verdict, Why: where,
	}
}

func (c *claims) delayMoves() Claim {
	return c.less("Quincy, fair, without preemption, moves less over the core switch than delay scheduling.",
		"GB by Quincy, less those by delay scheduling, which are in brackets: ", QuincyFair, Delay, CoreGB)
}

func (c *claims) delayTakes() Claim {
	return c.less("Jobs take less time by Quincy, fair, without preemption, than by delay scheduling.",
		"Seconds in the mean by Quincy, less those by delay scheduling, which are in brackets: ", QuincyFair, Delay, Mean)
}

func (c *claims) loses() Claim {
	return c.less("As it knows what work is lost, Quincy loses less by preemption than the queues, which stop the youngest tasks.",
		"Percent of slot time lost by Quincy, less those by the queues, which are in brackets: ", QuincyFairPreempts, GreedyFairPreempts, Lost)
}
