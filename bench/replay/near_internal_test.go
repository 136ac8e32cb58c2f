package main

import (
	"cmp"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/cellsched/cellsched/bench/trace"
	"github.com/cellsched/cellsched/locality"
	"github.com/cellsched/cellsched/resources"
)

// located returns a replay that knows where the machines are.
func located(t require.TestingT, cfg config) *replay {
	cfg.order = "fifo"
	for i := range cfg.machines {
		m := &cfg.machines[i]
		m.Name, m.Capacity = cmp.Or(m.Name, strconv.Itoa(i)), resources.Vector{1}
	}
	r, err := newReplay(cfg)
	require.NoError(t, err)
	return r
}

// However tasks are taken, the next one found for a node is the nearest of those
// that are left, or one as near.
func TestNear_FindsTheNearestTaskThatIsLeft(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		cfg := config{replicas: rapid.IntRange(0, 3).Draw(t, "replicas"), seed: 7}
		machines := rapid.IntRange(1, 8).Draw(t, "machines")
		for i := range machines {
			m := trace.Machine{Name: strconv.Itoa(i)}
			if rack := rapid.IntRange(0, 3).Draw(t, "rack"); rack > 0 {
				m.Rack = "r" + strconv.Itoa(rack)
			}
			cfg.machines = append(cfg.machines, m)
		}
		r := located(t, cfg)
		var work []trace.Tasks
		for range rapid.IntRange(1, 4).Draw(t, "groups") {
			w := trace.Tasks{Count: rapid.IntRange(1, 5).Draw(t, "count")}
			if rapid.Bool().Draw(t, "file") {
				w.Input = rapid.SampledFrom([]string{"a", "b"}).Draw(t, "input")
			} else {
				for range rapid.IntRange(0, 3).Draw(t, "places") { // one of which may be on no machine
					w.Places = append(w.Places, trace.Place{Node: strconv.Itoa(rapid.IntRange(0, machines).Draw(t, "node"))})
				}
			}
			work = append(work, w)
		}
		all, rest := bundles(&r.sites, work)
		require.Empty(t, rest)
		b := rapid.SampledFrom(all).Draw(t, "bundle")
		if before := newNear(&r.sites, b); before != nil {
			before.take(0)
			before.free() // memory that is used again tells nothing of before
		}
		n := newNear(&r.sites, b)
		if n != nil {
			require.Len(t, n.nodes.tasks, len(n.prefer))
		}
		var prefer [][]locality.Node
		for i := range b.groups {
			w := &b.groups[i]
			for block := range w.Count {
				p := r.sites.preferred(w, r.sites.file(w.Input), block, nil)
				prefer = append(prefer, p)
				require.Equal(t, n != nil, len(p) > 0)
			}
		}
		left := map[int]bool{}
		for i := range prefer {
			left[i] = true
		}
		for n != nil && len(left) > 0 {
			node := locality.Node(rapid.IntRange(0, machines-1).Draw(t, "free"))
			best := locality.Level(255)
			for i := range left {
				best = min(best, r.sites.topology.Level(node, prefer[i]...))
			}
			task, level := n.find(node)
			require.True(t, left[task])
			require.Equal(t, r.sites.topology.Level(node, prefer[task]...), level)
			require.LessOrEqual(t, level, best)
			n.take(task)
			delete(left, task)
		}
	})
}

// Blocks of one file are where they are for every job, and on different nodes.
func TestSites_PutReplicasOnDifferentNodes(t *testing.T) {
	r := located(t, config{replicas: 3, machines: make([]trace.Machine, 5)})
	w := &trace.Tasks{Input: "logs"}
	for block := range 100 {
		got := r.sites.preferred(w, r.sites.file("logs"), block, nil)
		require.Len(t, got, 3)
		require.Len(t, map[locality.Node]bool{got[0]: true, got[1]: true, got[2]: true}, 3)
		require.Equal(t, got, r.sites.preferred(w, r.sites.file("logs"), block, nil))
	}
	require.NotEqual(t, r.sites.preferred(w, r.sites.file("logs"), 1, nil), r.sites.preferred(w, r.sites.file("logs"), 2, nil))
}
