package main

import (
	"context"
	"fmt"
	"iter"
	"math"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/cellsched/cellsched/delay"
)

// The cell of the experiments that are about nothing but locality, and its
// tasks.
const (
	nodes    = 100
	slots    = 4
	replicas = 3
	shortest = 10 * time.Second
	longest  = 30 * time.Second
)

// alike are jobs without end of so many tasks, with data at random.
func alike(random *rand.Rand, tasks int) iter.Seq[*job] {
	return func(yield func(*job) bool) {
		for {
			j := &job{tasks: make([]task, tasks)}
			for i := range j.tasks {
				run := between(random, shortest, longest)
				j.tasks[i] = task{holders: spread(random, nodes, replicas), near: run, far: run}
			}
			if !yield(j) {
				return
			}
		}
	}
}

// promised is the share of local tasks that the paper's formula has for D.
func promised(d, tasks int) float64 {
	return max(0, 1-1/(float64(tasks)*math.Expm1(float64(d)*replicas/nodes)))
}

// share keeps some 300 tasks pending in a cell that is always busy.
func share(ctx context.Context, o options) (rows []row, err error) {
	for _, tasks := range []int{3, 10, 20, 100} {
		load := delay.Load{Tasks: tasks, Nodes: nodes, Replicas: replicas, Slots: slots, Task: (shortest + longest) / 2}
		suggested, wait, err := load.Suggest(0.95)
		if err != nil {
			return nil, err
		}
		measure := func(rule string, p delay.Policy, formula float64) error {
			s, err := newFIFO(p, nil)
			if err != nil {
				return err
			}
			warm, launches := 2_500, o.of(20_000)
			c := cell{nodes: nodes, slots: slots, backlog: max(3, 300/tasks), beat: time.Second}
			out, err := c.simulate(ctx, s, alike(rand.New(rand.NewPCG(o.seed, 1)), tasks), warm+launches)
			if err != nil {
				return err
			}
			local, _ := out.of(anyJob, warm)
			rows = append(rows, row{Case: fmt.Sprintf("%d tasks", tasks), Rule: rule, Local: local, Formula: formula})
			return nil
		}
		counts := []int{0, 5, 10, 23, 50, 100, suggested}
		slices.Sort(counts)
		for _, d := range slices.Compact(counts) {
			rule := fmt.Sprintf("D = %d", d)
			if d == suggested {
				rule += ", as suggested for 95 %"
			}
			if err := measure(rule, delay.Policy{Skips: d}, promised(d, tasks)); err != nil {
				return nil, err
			}
		}
		for _, paper := range []bool{false, true} {
			rule := fmt.Sprintf("wait of %v, as suggested", wait.Round(time.Millisecond))
			if paper {
				rule += ", paper's rule"
			}
			if err := measure(rule, delay.Policy{Waits: delay.Waits{wait}, Paper: paper}, 0); err != nil {
				return nil, err
			}
		}
	}
	return rows, nil
}
