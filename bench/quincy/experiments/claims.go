package experiments

import (
	"fmt"
	"strings"
)

// Claim is something that the paper says, or that one might expect, held against
// rows.
type Claim struct {
	Stated, Here string
	Holds        bool
	Why          string `json:",omitempty"` // it does not, where a reason is known
}

// Claims returns what the rows say, of one load or several with all policies.
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

// mean is a figure of a load under a policy.
func (c *claims) mean(load, policy, figure string) float64 {
	if r := c.by[[2]string{load, policy}]; r != nil {
		return r.Figure(figure).Mean
	}
	return 0
}

// pairs are the policies of the queues and of Quincy that want the same.
func pairs() [][2]string {
	return [][2]string{{Greedy, Quincy}, {GreedyFair, QuincyFair}, {GreedyFairPreempts, QuincyFairPreempts}}
}

// most returns by how much the queues have more of a figure than Quincy, at
// most, and says where.
func (c *claims) most(figure string) (factor float64, where string) {
	for _, load := range c.loads {
		for _, p := range pairs() {
			queue, flow := c.mean(load, p[0], figure), c.mean(load, p[1], figure)
			if flow > 0 && queue/flow > factor {
				factor, where = queue/flow, load+", "+p[1]
			}
		}
	}
	return factor, where
}

// each lists a text for each load.
func (c *claims) each(text func(load string) string) string {
	all := make([]string, 0, len(c.loads))
	for _, load := range c.loads {
		all = append(all, load+" "+text(load))
	}
	return strings.Join(all, ", ") + "."
}

// failing returns the loads that are not as they should be.
func (c *claims) failing(ok func(load string) bool) (loads []string) {
	for _, load := range c.loads {
		if !ok(load) {
			loads = append(loads, load)
		}
	}
	return loads
}

func (c *claims) moves() Claim {
	factor, where := c.most(CoreGB)
	return Claim{
		Stated: "Quincy moves less over the core switch than the queues, by a factor of up to 3.9 (abstract).",
		Here: fmt.Sprintf("Up to %.1f (%s). Fair, with preemption: ", factor, where) + c.each(func(load string) string {
			return fmt.Sprintf("%.1f", c.mean(load, GreedyFairPreempts, CoreGB)/max(c.mean(load, QuincyFairPreempts, CoreGB), 1e-9))
		}),
		Holds: factor >= 3.9 && len(c.failing(func(load string) bool {
			return c.mean(load, QuincyFairPreempts, CoreGB) <= c.mean(load, GreedyFairPreempts, CoreGB)
		})) == 0,
	}
}

func (c *claims) throughput() Claim {
	factor, where := c.most(Makespan)
	sooner, there := c.most(Mean)
	return Claim{
		Stated: "Throughput is up to 40 % higher (abstract).",
		Here: fmt.Sprintf("All jobs together are done up to %.0f %% faster (%s). One by one they take up to %.1f times as long by the queues (%s).",
			100*(factor-1), where, sooner, there),
		Holds: factor >= 1.4,
		Why:   "tasks compute for longer than they fetch here, and but for batch the time until all are done is the time in which they come",
	}
}

func (c *claims) fairness() Claim {
	worse := c.failing(func(load string) bool {
		for _, p := range pairs()[1:] {
			if c.mean(load, p[1], Unfair) > 1.05*c.mean(load, p[0], Unfair) {
				return false
			}
		}
		return true
	})
	return Claim{
		Stated: "Quincy is fairer where fairness is asked for (abstract), or as fair within 5 %.",
		Here: "Unfairness by the queues and by Quincy, fair, with preemption: " + c.each(func(load string) string {
			return fmt.Sprintf("%.2f and %.2f", c.mean(load, GreedyFairPreempts, Unfair), c.mean(load, QuincyFairPreempts, Unfair))
		}),
		Holds: len(worse) == 0,
		Why:   "less fair: " + strings.Join(worse, ", "),
	}
}

func (c *claims) best() Claim {
	others := []string{Quincy, QuincyPreempts, QuincyFair}
	worse := c.failing(func(load string) bool {
		for _, p := range others {
			if c.mean(load, p, Speed) > c.mean(load, QuincyFairPreempts, Speed) {
				return false
			}
		}
		return true
	})
	return Claim{
		Stated: "Of Quincy's four policies, fair sharing with preemption does best.",
		Here: "System normalised performance, and the best of the three others: " + c.each(func(load string) string {
			best := 0.0
			for _, p := range others {
				best = max(best, c.mean(load, p, Speed))
			}
			return fmt.Sprintf("%.2f, %.2f", c.mean(load, QuincyFairPreempts, Speed), best)
		}),
		Holds: len(worse) == 0,
		Why:   "another one does better: " + strings.Join(worse, ", "),
	}
}

func (c *claims) shares() Claim {
	worse := c.failing(func(load string) bool { return c.mean(load, QuincyFairPreempts, Jain) >= 0.99 })
	return Claim{
		Stated: "With E = F = the fair share, everybody gets it: Jain's index is 0.99 or more.",
		Here: "With preemption, and without: " + c.each(func(load string) string {
			return fmt.Sprintf("%.3f, %.3f", c.mean(load, QuincyFairPreempts, Jain), c.mean(load, QuincyFair, Jain))
		}),
		Holds: len(worse) == 0,
		Why:   "less: " + strings.Join(worse, ", "),
	}
}

func (c *claims) delayMoves() Claim {
	worse := c.failing(func(load string) bool { return c.mean(load, QuincyFair, CoreGB) <= c.mean(load, Delay, CoreGB) })
	return Claim{
		Stated: "Quincy, fair, without preemption, moves less over the core switch than delay scheduling.",
		Here: "GB by Quincy, and by delay scheduling: " + c.each(func(load string) string {
			return fmt.Sprintf("%.3g, %.3g", c.mean(load, QuincyFair, CoreGB), c.mean(load, Delay, CoreGB))
		}),
		Holds: len(worse) == 0,
		Why: "it does not wait where waiting costs more than the data, and delay scheduling does, for its time: " +
			strings.Join(worse, ", "),
	}
}

func (c *claims) delayTakes() Claim {
	worse := c.failing(func(load string) bool { return c.mean(load, QuincyFair, Mean) <= c.mean(load, Delay, Mean) })
	return Claim{
		Stated: "Jobs take less time by Quincy, fair, without preemption, than by delay scheduling.",
		Here: "Seconds in the mean, by Quincy, and by delay scheduling: " + c.each(func(load string) string {
			return fmt.Sprintf("%.3g, %.3g", c.mean(load, QuincyFair, Mean), c.mean(load, Delay, Mean))
		}),
		Holds: len(worse) == 0,
		Why:   "more: " + strings.Join(worse, ", "),
	}
}

func (c *claims) loses() Claim {
	worse := c.failing(func(load string) bool {
		return c.mean(load, QuincyFairPreempts, Lost) <= c.mean(load, GreedyFairPreempts, Lost)
	})
	return Claim{
		Stated: "As it knows what work is lost, Quincy loses less by preemption than the queues, which stop the youngest tasks.",
		Here: "Percent of slot time lost by Quincy, and by the queues: " + c.each(func(load string) string {
			return fmt.Sprintf("%.2g, %.2g", c.mean(load, QuincyFairPreempts, Lost), c.mean(load, GreedyFairPreempts, Lost))
		}),
		Holds: len(worse) == 0,
		Why:   "it also moves tasks to where their data is, and stops whom that serves: " + strings.Join(worse, ", "),
	}
}
