package main

import "github.com/cellsched/cellsched/resources"

// The totals of the paper's examples: CPUs and GB.
func nsdi() resources.Vector { return resources.Vector{9, 18} }
func half() resources.Vector { return resources.Vector{30, 30} }

func nsdiDemands() []resources.Vector { return []resources.Vector{{1, 4}, {3, 1}} }
func halfDemands() []resources.Vector { return []resources.Vector{{1, 3}, {1, 1}} }

// trial is a case in which a property can be seen to be lost.
type trial struct {
	property, what string
	// of returns a user's figure under a policy, and the limit it is compared with.
	of func(policy) (got, limit float64, err error)
	// atMost means that the limit is not to be exceeded; else it is to be reached.
	atMost bool
}

// lost leaves out differences by rounding.
func (x trial) lost(got, limit float64) bool {
	const slack = 1e-9
	if x.atMost {
		return got > limit*(1+slack)
	}
	return got < limit*(1-slack)
}

func trials() []trial {
	return []trial{
		{
			property: "sharing incentive",
			what:     "B's tasks of section 6, beside those in half of everything",
			of: func(p policy) (got, limit float64, err error) {
				tasks, err := p.divide(half(), halfDemands())
				if err != nil {
					return 0, 0, err
				}
				a, b := fractions(half(), halfDemands()[1])
				return tasks[1], 0.5 / max(a, b), nil
			},
		},
		{
			property: "strategy-proofness",
			what:     "B's tasks of section 4.1, saying that they take 2 GB, beside those by the truth",
			of: func(p policy) (got, limit float64, err error) {
				honest, err := p.divide(nsdi(), nsdiDemands())
				if err != nil {
					return 0, 0, err
				}
				// Each task told holds a true one.
				told, err := p.divide(nsdi(), []resources.Vector{{1, 4}, {3, 2}})
				if err != nil {
					return 0, 0, err
				}
				return told[1], honest[1], nil
			},
			atMost: true,
		},
		{
			property: "bottleneck fairness",
			what:     "A's of 21 CPUs, of which its task takes 3 (and 2 of 21 GB), beside B's, 4 (and 1)",
			of: func(p policy) (got, limit float64, err error) {
				demands := []resources.Vector{{3, 2}, {4, 1}}
				tasks, err := p.divide(resources.Vector{21, 21}, demands)
				if err != nil {
					return 0, 0, err
				}
				return tasks[0] * float64(demands[0][0]), tasks[1] * float64(demands[1][0]), nil
			},
		},
		{
			property: "resource monotonicity",
			what:     "A's tasks, of 2 CPUs and 1 GB, with 12 and 24, beside those with 12 and 12; B's take 1 and 2",
			of: func(p policy) (got, limit float64, err error) {
				demands := []resources.Vector{{2, 1}, {1, 2}}
				before, err := p.divide(resources.Vector{12, 12}, demands)
				if err != nil {
					return 0, 0, err
				}
				after, err := p.divide(resources.Vector{12, 24}, demands)
				if err != nil {
					return 0, 0, err
				}
				return after[0], before[0], nil
			},
		},
	}
}
