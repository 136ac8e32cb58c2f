package main

import (
	"fmt"
	"io"
	"text/tabwriter"

	"github.com/cellsched/cellsched/delay/late"
	"github.com/cellsched/cellsched/delay/late/trial"
)

// scenario is a cell and its jobs, as a seed has them.
type scenario struct {
	name  string
	trial func(seed uint64) trial.Setup
}

// policies returns the policies that are compared: first none, then Hadoop's.
func policies() []policy {
	return []policy{
		{"none", late.Policy{Rule: late.Never}},
		{"Hadoop", late.Policy{Rule: late.Hadoop}},
		{"MapReduce2", late.Policy{Rule: late.MapReduce2}},
		{"Spark", late.Policy{Rule: late.Spark}},
		{"LATE", late.Policy{}},
		{"LATE, gain", late.Policy{Gain: true}},
		{"LATE, cap 20 %", late.Policy{Cap: 0.20}},
	}
}

type policy struct {
	name string
	late.Policy
}

// tally is a sum over seeds.
type tally struct {
	mean, worst, lost float64
	copies, won       int
}

// compare prints a line for each scenario and policy. Its columns are
//
//   - the mean time of a job;
//   - that beside Hadoop's rule and beside no copies, the latter for the worst seed
//     too;
//   - the copies, and how many of them won;
//   - the time in slots of the attempts that lost.
func compare(w io.Writer, scenarios []scenario, seeds int) error {
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "jobs\tpolicy\tmean s\tof Hadoop's\tof none's\tworst\tcopies\twon\tlost slot hours")
	for _, s := range scenarios {
		tallies := make([]tally, len(policies()))
		for seed := range seeds {
			setup := s.trial(uint64(seed))
			none := 0.0
			for i, p := range policies() {
				o, err := setup.Run(p.Policy)
				if err != nil {
					return fmt.Errorf("%s, %s: %w", s.name, p.name, err)
				}
				mean := o.Mean().Seconds()
				if i == 0 {
					none = mean
				}
				t := &tallies[i]
				t.mean += mean / float64(seeds)
				t.worst = max(t.worst, mean/none)
				t.lost += o.Wasted.Hours() / float64(seeds)
				t.copies += o.Copies
				t.won += o.Won
			}
		}
		for i, p := range policies() {
			t := &tallies[i]
			fmt.Fprintf(table, "%s\t%s\t%.0f\t%.2f\t%.2f\t%.2f\t%d\t%d\t%.1f\n", s.name, p.name,
				t.mean, t.mean/tallies[1].mean, t.mean/tallies[0].mean, t.worst, t.copies/seeds, t.won/seeds, t.lost)
		}
	}
	return table.Flush()
}
