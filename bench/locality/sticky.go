package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/cellsched/cellsched/delay"
)

// sticky has jobs share the slots of a busy cell evenly: the job that gives a slot
// back runs the fewest tasks then, and is offered the same slot.
func sticky(ctx context.Context, o options) (rows []row, err error) {
	for _, jobs := range []int{5, 10, 20, 50} {
		for _, d := range []int{0, 5, 10} {
			warm, launches := 2_500, o.of(20_000)
			c := cell{nodes: nodes, slots: slots, backlog: jobs, beat: time.Second}
			s := newFair(delay.Policy{Skips: d})
			out, err := c.simulate(ctx, s, alike(rand.New(rand.NewPCG(o.seed, 2)), 400), warm+launches)
			if err != nil {
				return nil, err
			}
			local, _ := out.of(anyJob, warm)
			rows = append(rows, row{Case: fmt.Sprintf("%d jobs", jobs), Rule: fmt.Sprintf("D = %d", d), Local: local})
		}
	}
	return rows, nil
}
