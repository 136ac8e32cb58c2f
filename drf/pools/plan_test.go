package pools_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cellsched/cellsched/drf"
	"github.com/cellsched/cellsched/drf/allot"
	"github.com/cellsched/cellsched/drf/pools"
	"github.com/cellsched/cellsched/resources"
)

// run is a task of a tree with numbered nodes.
type run struct {
	job, machine int
	need         vec
	started      int64
}

func TestPreempt_NamesTheTasksToStop(t *testing.T) {
	yields := func(tasks ...int) plan { return plan{Verdict: allot.Yields, Tasks: tasks} }
	says := func(v allot.Verdict) plan { return plan{Verdict: v} }
	flat := []int{-1, 0, 0, 0}
	twoPools := []int{-1, 0, 0, 1, 1, 2, 2} // 3 and 4 are in 1, 5 and 6 in 2
	tests := map[string]struct {
		parents []int // flat if nil
		rooms   []vec // one machine of 12 CPUs if nil
		low     map[int]vec
		weight  map[int]int64
		running []run
		waiting map[int][]vec // the first of 1's, or of 3's where there are pools, is the demand
		want    plan
	}{
		"the youngest": {
			running: []run{{2, 0, vec{4}, 1}, {2, 0, vec{4}, 3}, {3, 0, vec{4}, 2}},
			waiting: map[int][]vec{1: {{4}}},
			want:    yields(1),
		},
		"of equally young ones the later": {
			running: []run{{2, 0, vec{6}, 1}, {2, 0, vec{3}, 1}, {2, 0, vec{3}, 1}},
			waiting: map[int][]vec{1: {{3}}},
			want:    yields(2),
		},
		"of several, from any user": {
			running: []run{{2, 0, vec{4}, 1}, {3, 0, vec{4}, 2}, {2, 0, vec{2}, 3}, {3, 0, vec{2}, 4}},
			waiting: map[int][]vec{1: {{4}}},
			want:    yields(3, 2),
		},
		"sparing the oldest that is unnecessary": {
			weight:  map[int]int64{1: 2},
			running: []run{{2, 0, vec{5}, 0}, {2, 0, vec{3}, 1}, {2, 0, vec{2}, 2}, {2, 0, vec{2}, 3}},
			waiting: map[int][]vec{1: {{5}, {2}}},
			want:    yields(3, 1),
		},
		"not below its share": {
			running: []run{{2, 0, vec{6}, 1}, {2, 0, vec{6}, 2}},
			waiting: map[int][]vec{1: {{5}, {5}}, 3: {{5}}}, // 4 each
			want:    says(allot.HasShare),
		},
		"not a task that would leave its user too little": {
			running: []run{{2, 0, vec{5}, 1}, {2, 0, vec{7}, 2}},
			waiting: map[int][]vec{1: {{4}}, 3: {{4}}},
			want:    yields(1),
		},
		"not from a user below its share": {
			running: []run{{2, 0, vec{12}, 1}},
			waiting: map[int][]vec{1: {{4}}},
			want:    says(noMachine),
		},
		"one that will do, where the young are too many": {
			running: []run{{2, 0, vec{4}, 1}, {2, 0, vec{3}, 2}, {3, 0, vec{5}, 3}},
			waiting: map[int][]vec{1: {{2}, {2}}},
			want:    yields(1),
		},
		"for its weight": {
			weight:  map[int]int64{2: 4},
			running: []run{{2, 0, vec{8}, 2}, {3, 0, vec{4}, 1}},
			waiting: map[int][]vec{1: {{2}}, 2: {{8}}, 3: {{8}}},
			want:    says(noMachine),
		},
		"down to the victim's min share": {
			low:     map[int]vec{2: {10}},
			running: []run{{2, 0, vec{10}, 1}, {2, 0, vec{2}, 2}},
			waiting: map[int][]vec{1: {{2}}},
			want:    yields(1),
		},
		"not below its min share, where there is too little for all of them": {
			low:     map[int]vec{1: {8}, 2: {8}},
			running: []run{{2, 0, vec{6}, 2}, {2, 0, vec{6}, 1}},
			waiting: map[int][]vec{1: {{6}}},
			want:    says(noMachine),
		},
		"all that was lent of a min share": {
			low:     map[int]vec{1: {12}},
			running: []run{{2, 0, vec{6}, 2}, {3, 0, vec{6}, 1}},
			waiting: map[int][]vec{1: {{12}}},
			want:    yields(0, 1),
		},
		"a demand that fits already": {
			running: []run{{2, 0, vec{8}, 1}},
			waiting: map[int][]vec{1: {{4}}},
			want:    says(fitsAlready),
		},
		"not for a user with its share": {
			running: []run{{1, 0, vec{4}, 1}, {2, 0, vec{8}, 1}},
			waiting: map[int][]vec{1: {{1}}, 3: {{4}}},
			want:    says(allot.HasShare),
		},
		"not for more than its share": {
			running: []run{{1, 0, vec{3}, 1}, {2, 0, vec{9}, 1}},
			waiting: map[int][]vec{1: {{2}}, 3: {{4}}},
			want:    says(allot.HasShare),
		},
		"not its own": {
			running: []run{{1, 0, vec{3}, 1}, {2, 0, vec{1}, 1}},
			rooms:   []vec{{4}, {8}},
			waiting: map[int][]vec{1: {{9}, {1}}},
			want:    says(allot.HasShare),
		},
		"not from a user at its share": {
			running: []run{{2, 0, vec{4}, 1}, {3, 0, vec{4}, 1}},
			rooms:   []vec{{8}, {2}, {2}},
			waiting: map[int][]vec{1: {{4}}},
			want:    says(allot.NoneOver),
		},
		"too little on each machine, or no user above its share there": {
			running: []run{{2, 0, vec{2}, 1}, {2, 1, vec{2}, 1}, {2, 2, vec{2}, 1}, {3, 3, vec{1}, 1}},
			rooms:   []vec{{2}, {2}, {2}, {1}},
			waiting: map[int][]vec{1: {{3}}},
			want:    says(noMachine),
		},
		"where the fewest go": {
			running: []run{{2, 0, vec{1}, 9}, {2, 0, vec{1}, 9}, {2, 1, vec{2}, 1}, {2, 2, vec{2}, 2}},
			rooms:   []vec{{2}, {2}, {2}},
			waiting: map[int][]vec{1: {{2}}},
			want:    plan{Verdict: allot.Yields, Machine: 2, Tasks: []int{3}},
		},
		"the machine listed first": {
			running: []run{{2, 1, vec{2}, 1}, {2, 0, vec{2}, 1}, {2, 2, vec{2}, 1}},
			rooms:   []vec{{2}, {2}, {2}},
			waiting: map[int][]vec{1: {{2}}},
			want:    yields(1),
		},
		"no task without a missing kind": {
			rooms:   []vec{{8, 8}},
			running: []run{{2, 0, vec{4}, 0}, {2, 0, vec{2}, 1}, {2, 0, vec{2}, 2}, {2, 0, vec{0, 6}, 3}},
			waiting: map[int][]vec{1: {{2, 1}}},
			want:    yields(2),
		},
		// The 1 CPU, when 2 are there by then, would be one too many to lose.
		"no task without a kind that is still missing": {
			rooms:   []vec{{8, 8}},
			running: []run{{2, 0, vec{4, 6}, 1}, {2, 0, vec{1, 2}, 2}, {2, 0, vec{1}, 3}, {2, 0, vec{2}, 4}},
			waiting: map[int][]vec{1: {{2, 2}, {1, 2}}},
			want:    yields(3, 1),
		},
		"for more than its share of a kind that is not missing": {
			rooms:   []vec{{10, 100}},
			running: []run{{2, 0, vec{5, 5}, 1}, {2, 0, vec{5, 5}, 2}},
			waiting: map[int][]vec{1: {{5, 90}}, 2: {{5, 90}}},
			want:    yields(1),
		},
		// All CPUs with little memory, of which it could have half.
		"below its share of a kind that is not missing": {
			rooms:   []vec{{10, 100}},
			running: []run{{2, 0, vec{5, 5}, 1}, {2, 0, vec{5, 5}, 2}},
			waiting: map[int][]vec{1: {{5, 50}}, 2: {{5, 90}}},
			want:    yields(1),
		},
		"in its own pool, first": {
			parents: twoPools,
			running: []run{{4, 0, vec{6}, 2}, {5, 0, vec{6}, 1}},
			waiting: map[int][]vec{3: {{3}}, 5: {{6}}},
			want:    says(noMachine),
		},
		"in its own pool, though that has more than its share": {
			parents: twoPools,
			running: []run{{4, 0, vec{4}, 1}, {4, 0, vec{4}, 2}, {5, 0, vec{4}, 3}},
			waiting: map[int][]vec{3: {{3}}, 5: {{6}}},
			want:    yields(1),
		},
		"in another, for a pool below its share": {
			parents: twoPools,
			running: []run{{4, 0, vec{2}, 9}, {5, 0, vec{3}, 1}, {6, 0, vec{3}, 2}, {5, 0, vec{2}, 3}, {6, 0, vec{2}, 4}},
			waiting: map[int][]vec{3: {{3}}, 4: {{4}}},
			want:    yields(4, 3),
		},
		// 5 has more than its share of its pool, which has none to give.
		"not from a pool at its share": {
			parents: twoPools,
			rooms:   []vec{{12}, {2}},
			running: []run{{4, 0, vec{3}, 2}, {5, 0, vec{7}, 1}},
			waiting: map[int][]vec{3: {{4}}, 4: {{7}}, 6: {{7}}},
			want:    says(allot.NoneOver),
		},
		"one with a GPU for its CPU, which is free again": {
			rooms:   []vec{{8, 0, 1}},
			weight:  map[int]int64{3: 9},
			running: []run{{3, 0, vec{6}, 1}, {3, 0, vec{1, 0, 1}, 2}, {2, 0, vec{1}, 1}},
			waiting: map[int][]vec{1: {{1}}},
			want:    yields(1),
		},
		// 2 wants the GPU, too, and has no fair share of it.
		"not one with a GPU for its CPU, where GPUs are scarce": {
			rooms:   []vec{{8, 0, 1}},
			weight:  map[int]int64{3: 9},
			running: []run{{3, 0, vec{6}, 1}, {3, 0, vec{1, 0, 1}, 2}, {2, 0, vec{1}, 1}},
			waiting: map[int][]vec{1: {{1}}, 2: {{0, 0, 1}}},
			want:    says(noMachine),
		},
		// There are none: no node has a fair share of them, or is kept from CPUs.
		"a demand that includes an absent kind": {
			running: []run{{2, 0, vec{8}, 1}, {2, 0, vec{4}, 2}},
			waiting: map[int][]vec{1: {{4}, {0, 0, 1}}},
			want:    yields(1),
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			job := 3
			if tt.parents == nil {
				tt.parents, job = flat, 1
			}
			if tt.rooms == nil {
				tt.rooms = []vec{{12}}
			}
			w := plant(t, tt.parents...)
			w.machines(tt.rooms...)
			for i, low := range tt.low {
				w.trees[i].low = low
			}
			for i, weight := range tt.weight {
				w.trees[i].weight = weight
			}
			for i, r := range tt.running {
				w.start(r.job, r.machine, r.need)
				w.running[i].Started = r.started
			}
			for i, needs := range tt.waiting {
				w.waiting[i] = needs
			}
			s := w.standings()
			for i := range s {
				t.Log(i, "holds", s[i].Usage, "of", s[i].Fair, "wants", s[i].Wants)
			}
			got := w.ask(t, job, tt.waiting[job][0])
			require.Equal(t, tt.want, got, "%v", got.Verdict)
		})
	}
}

func TestPreempt_RefusesInvalidInput(t *testing.T) {
	w := plant(t, -1, 0, 0, 1, 2) // 3 is in 1, 4 in 2
	node := func(i int) pools.Node { return w.trees[i].node }
	elsewhere := plant(t, -1, 0, 0, 0, 0, 0).trees[5].node
	w.machines(vec{8})
	for range 4 {
		w.start(4, 0, vec{2})
	}
	w.waiting[3] = []vec{{2}}
	require.Equal(t, allot.Yields, w.ask(t, 3, vec{2}).Verdict)

	type question struct {
		standings []pools.Standing
		job       pools.Node
		demand    vec
	}
	tests := map[string]struct {
		spoil func(q *question)
		cause error
		text  string
	}{
		"no tree":             {func(q *question) { q.standings = nil }, pools.ErrNode, "for node"},
		"the zero node":       {func(q *question) { q.standings[2].Node = pools.Node{} }, pools.ErrTree, "standing 2 is of the zero node"},
		"the same twice":      {func(q *question) { q.standings[2].Node = node(1) }, pools.ErrTree, "standing 2 repeats an earlier node"},
		"a root in something": {func(q *question) { q.standings[0].Parent = node(1) }, pools.ErrTree, "standing 0 has a parent"},
		"a second root":       {func(q *question) { q.standings[1].Parent = pools.Node{} }, pools.ErrTree, "standing 1 is below a node that is not listed before"},
		"an orphan":           {func(q *question) { q.standings[3].Parent = elsewhere }, pools.ErrTree, "standing 3 is below"},
		"in itself":           {func(q *question) { q.standings[3].Parent = node(3) }, pools.ErrTree, "standing 3 is below"},
		"in each other":       {func(q *question) { q.standings[1].Parent, q.standings[3].Parent = node(3), node(1) }, pools.ErrTree, "standing 1 is below"},
		"a child first": {func(q *question) {
			q.standings[1], q.standings[3] = q.standings[3], q.standings[1]
		}, pools.ErrTree, "standing 1 is below"},
		"holds less than nothing":       {func(q *question) { q.standings[3].Usage[1] = -1 }, resources.ErrQuantity, "standing 3"},
		"wants less than nothing":       {func(q *question) { q.standings[3].Wants[1] = -1 }, resources.ErrQuantity, "standing 3"},
		"min share below nothing":       {func(q *question) { q.standings[3].Min[1] = -1 }, resources.ErrQuantity, "standing 3"},
		"fair share beyond all":         {func(q *question) { q.standings[3].Fair[1] = 1<<62 + 1 }, resources.ErrQuantity, "standing 3"},
		"a pool that holds too little":  {func(q *question) { q.standings[2].Usage = vec{7} }, drf.ErrHeld, "up to standing 4 of standing 2, which holds kind0=7,"},
		"an unknown node":               {func(q *question) { q.job = elsewhere }, pools.ErrNode, "for node"},
		"for the zero node":             {func(q *question) { q.job = pools.Node{} }, pools.ErrNode, "for node"},
		"a pool":                        {func(q *question) { q.job = node(1) }, pools.ErrNode, "for node"},
		"the root":                      {func(q *question) { q.standings, q.job = q.standings[:1], node(0) }, pools.ErrNode, "for node"},
		"for nothing":                   {func(q *question) { q.demand = vec{} }, drf.ErrEmpty, "demand: amount 0,"},
		"for less than nothing":         {func(q *question) { q.demand[1] = -1 }, resources.ErrQuantity, "demand"},
		"for more than a user can hold": {func(q *question) { q.demand[0] = 1<<62 - 7 }, resources.ErrQuantity, "where all hold kind0=8,"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			q := question{w.standings(), node(3), vec{2}}
			tt.spoil(&q)
			got, err := pools.Preempt(q.standings, q.job, q.demand)
			require.ErrorIs(t, err, tt.cause)
			require.ErrorContains(t, err, "pools: preempt")
			require.ErrorContains(t, err, tt.text)
			require.Zero(t, got)
		})
	}
}
