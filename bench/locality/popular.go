package main

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/cellsched/cellsched/delay"
	"github.com/cellsched/cellsched/locality"
)

// popular is SPARK-18886: one job of 500 tasks with all their data on one of 100
// nodes. The nodes have one slot each and are heard every 3 s. Waits are 3 s for the
// node and 3 s for its rack, which has no other node.
func popular(ctx context.Context, _ options) (rows []row, err error) {
	racks := make([]string, nodes)
	for i := range racks {
		racks[i] = fmt.Sprintf("rack %d", i)
	}
	topology, err := locality.New(locality.Config{Levels: []string{"node", "rack", "any"}, Nodes: racks})
	if err != nil {
		return nil, err
	}
	waits := delay.Waits{3 * time.Second, 3 * time.Second}
	for _, length := range []time.Duration{5 * time.Second, 7 * time.Second} {
		for _, rule := range []struct {
			name   string
			policy delay.Policy
		}{
			{"no wait", delay.Policy{}},
			{"D = 50", delay.Policy{Skips: 50}},
			{"paper's rule", delay.Policy{Waits: waits, Paper: true}},
			{"default", delay.Policy{Waits: waits}},
			{"learned", delay.Policy{Waits: waits, Learn: new(delay.Learner)}},
		} {
			s, err := newFIFO(rule.policy, topology)
			if err != nil {
				return nil, err
			}
			one := &job{tasks: slices.Repeat([]task{{holders: []locality.Node{0}, near: length, far: length}}, 500)}
			c := cell{nodes: nodes, slots: 1, beat: 3 * time.Second, late: true}
			out, err := c.simulate(ctx, s, slices.Values([]*job{one}), len(one.tasks)+1)
			if err != nil {
				return nil, err
			}
			local, _ := out.of(anyJob, 0)
			rows = append(rows, row{
				Case: fmt.Sprintf("tasks of %v", length), Rule: rule.name, Local: local, Makespan: out.end.Seconds(),
			})
		}
	}
	return rows, nil
}
