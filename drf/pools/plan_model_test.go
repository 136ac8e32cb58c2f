package pools_test

import (
	"slices"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/cellsched/cellsched/drf/pools"
	"github.com/cellsched/cellsched/resources"
)

// wood is a tree of pools and its running tasks, on a few machines. Tasks that do
// not run, wait.
type wood struct {
	total   vec
	free    []vec
	trees   []bough // the root first, parents before children
	running []running
	owners  []int   // the job of each task
	waiting [][]vec // by bough
	starts  int64
}

type bough struct {
	node   pools.Node
	parent int // -1 of the root
	kids   []int
	weight int64
	low    vec
	high   int64 // of each kind
	depth  int
}

// plant makes a tree by the parents of its nodes: nodes without children are jobs.
func plant(t require.TestingT, parents ...int) *wood {
	w := &wood{waiting: make([][]vec, len(parents))}
	isPool := make([]bool, len(parents))
	for _, p := range parents {
		if p >= 0 {
			isPool[p] = true
		}
	}
	tree, err := pools.New[int](vec{1}, nil)
	require.NoError(t, err)
	for i, p := range parents {
		b := bough{node: tree.Root(), parent: p, weight: 1, high: 1 << 40}
		if p >= 0 {
			add := tree.AddJob
			if isPool[i] {
				add = tree.AddPool
			}
			b.node, err = add(w.trees[p].node, i, pools.Config{})
			require.NoError(t, err)
			b.depth = w.trees[p].depth + 1
			w.trees[p].kids = append(w.trees[p].kids, i)
		}
		w.trees = append(w.trees, b)
	}
	return w
}

// machines gives the tree a cell.
func (w *wood) machines(rooms ...vec) {
	for _, room := range rooms {
		w.free = append(w.free, room)
		w.total = w.total.Add(room)
	}
}

func (w *wood) start(job, machine int, need vec) {
	w.free[machine], _ = w.free[machine].Sub(need)
	w.running = append(w.running, running{Job: w.trees[job].node, Machine: machine, Need: need, Started: w.starts * 7 % 5})
	w.owners = append(w.owners, job)
	w.starts++
}

// standings measures all from scratch.
func (w *wood) standings() []pools.Standing {
	s := make([]pools.Standing, len(w.trees))
	for t, r := range w.running {
		for i := w.owners[t]; i >= 0; i = w.trees[i].parent {
			s[i].Usage = s[i].Usage.Add(r.Need)
			s[i].Wants = s[i].Wants.Add(r.Need)
		}
	}
	for j, needs := range w.waiting {
		for _, need := range needs {
			for i := j; i >= 0; i = w.trees[i].parent {
				s[i].Wants = s[i].Wants.Add(need)
			}
		}
	}
	s[0].Fair = w.total.Min(s[0].Wants)
	for i, b := range w.trees {
		s[i].Node, s[i].Min = b.node, b.low
		if b.parent >= 0 {
			s[i].Parent = w.trees[b.parent].node
		}
		for k := range s[i].Fair {
			w.divide(s, b.kids, k, s[i].Fair[k])
		}
	}
	return s
}

// divide hands out an amount of a kind, unit by unit: first to nodes below their
// min shares, among these to the one with least for its weight.
func (w *wood) divide(s []pools.Standing, kids []int, k int, amount int64) {
	for ; amount > 0; amount-- {
		next, before := -1, false
		for _, i := range kids {
			fair := s[i].Fair[k]
			if fair >= min(s[i].Wants[k], w.trees[i].high) {
				continue
			}
			low := fair < w.trees[i].low[k]
			if next < 0 || low && !before || low == before && fair*w.trees[next].weight < s[next].Fair[k]*w.trees[i].weight {
				next, before = i, low
			}
		}
		if next < 0 {
			return
		}
		s[next].Fair[k]++
	}
}

func (w *wood) ask(t require.TestingT, job int, demand vec) plan {
	p, err := preempt(w.standings(), w.trees[job].node, demand, w.free, w.running)
	require.NoError(t, err)
	return p
}

// carryOut carries p out for waiting task n of a job.
func (w *wood) carryOut(p plan, job, n int) {
	for _, i := range p.Tasks {
		r := w.running[i]
		w.free[r.Machine] = w.free[r.Machine].Add(r.Need)
		w.waiting[w.owners[i]] = append(w.waiting[w.owners[i]], r.Need)
	}
	for _, i := range slices.Backward(slices.Sorted(slices.Values(p.Tasks))) {
		w.running = slices.Delete(w.running, i, i+1)
		w.owners = slices.Delete(w.owners, i, i+1)
	}
	need := w.waiting[job][n]
	w.waiting[job] = slices.Delete(w.waiting[job], n, n+1)
	w.start(job, p.Machine, need)
}

// hasShare reports whether a node has its fair share of some kind, and wants more.
func hasShare(s pools.Standing) bool {
	for k := range s.Fair {
		if s.Usage[k] > 0 && s.Wants[k] > s.Fair[k] && s.Usage[k] >= s.Fair[k] {
			return true
		}
	}
	return false
}

// scarce returns the kinds that a node wants while its fair share of them is
// nothing.
func scarce(s []pools.Standing) (set [resources.MaxKinds]bool) {
	for i := range s {
		for k := range set {
			set[k] = set[k] || s[i].Wants[k] > 0 && s[i].Fair[k] == 0
		}
	}
	return set
}

// heights returns the usage of scarce kinds within fair shares. Then it returns, by
// depth, the deepest first, the usage of nodes without their share. A node with its
// share counts more than any usage.
func (w *wood) heights(s []pools.Standing) []int64 {
	sums := make([]int64, 9)
	within := scarce(s)
	for i := range s {
		at := len(sums) - 1 - w.trees[i].depth
		for k, q := range s[i].Usage {
			if within[k] {
				sums[0] += min(q, s[i].Fair[k])
			}
			if !hasShare(s[i]) {
				sums[at] += q
			}
		}
		if hasShare(s[i]) {
			sums[at] += 1 << 20
		}
	}
	return sums
}

// path returns a node and all that it is in.
func (w *wood) path(i int) (nodes []int) {
	for ; i >= 0; i = w.trees[i].parent {
		nodes = append(nodes, i)
	}
	return nodes
}

// opponent returns the node that a job's claim is judged by against another's task,
// and the nodes that lose by it: all from the other job up to where the two part.
func (w *wood) opponent(job, other int) (side int, losers []int) {
	above := map[int]int{} // and the next one down from there
	next := -1
	for i := job; i >= 0; i = w.trees[i].parent {
		above[i], next = next, i
	}
	for i := other; ; i = w.trees[i].parent {
		if down, ok := above[i]; ok {
			return down, losers
		}
		losers = append(losers, i)
	}
}

// fair reports by definition whether a set of tasks on a machine may be stopped
// for a demand.
func (w *wood) fair(s []pools.Standing, job int, demand vec, machine int, set []int) bool {
	missing := func(k int) bool { return demand[k] > w.free[machine][k] }
	short := scarce(s)
	lost := make([]vec, len(s))
	for _, t := range set {
		if w.owners[t] == job {
			return false
		}
		side, losers := w.opponent(job, w.owners[t])
		if hasShare(s[side]) {
			return false
		}
		for k := range demand {
			if missing(k) && s[side].Usage[k]+demand[k] > s[side].Fair[k] {
				return false
			}
		}
		for _, i := range losers {
			lost[i] = lost[i].Add(w.running[t].Need)
		}
	}
	for i := job; i >= 0; i = w.trees[i].parent {
		for k := range demand {
			var gone int64
			for _, t := range set {
				if slices.Contains(w.path(w.owners[t]), i) {
					gone += w.running[t].Need[k]
				}
			}
			if after := s[i].Usage[k] + demand[k] - gone; short[k] && gone > 0 && after < min(s[i].Usage[k], s[i].Fair[k]) {
				return false
			}
		}
	}
	for i := range s {
		for k := range demand {
			if (missing(k) || short[k]) && lost[i][k] > 0 && s[i].Usage[k]-lost[i][k] < max(s[i].Fair[k], s[i].Min[k]) {
				return false
			}
		}
	}
	return true
}

func (w *wood) fits(demand vec, machine int, set []int) bool {
	room := w.free[machine]
	for _, t := range set {
		room = room.Add(w.running[t].Need)
	}
	return demand.Fits(room)
}

// check requires the properties of every plan.
func (w *wood) check(t require.TestingT, p plan, job int, demand vec) {
	s := w.standings()
	require.NotEmpty(t, p.Tasks)
	for n, i := range p.Tasks {
		require.Equal(t, p.Machine, w.running[i].Machine)
		if n > 0 {
			a, b := w.running[p.Tasks[n-1]].Started, w.running[i].Started
			require.True(t, a > b || a == b && p.Tasks[n-1] > i, "%d is younger than %d", i, p.Tasks[n-1])
		}
		require.False(t, w.fits(demand, p.Machine, slices.Delete(slices.Clone(p.Tasks), n, n+1)), "task %d could be spared", i)
	}
	require.True(t, w.fits(demand, p.Machine, p.Tasks), "it does not fit")
	require.True(t, w.fair(s, job, demand, p.Machine, p.Tasks), "a node ends below its share, or asks above it")
}

// woods draws a full or nearly full cell, in which some were first.
func woods() *rapid.Generator[*wood] {
	return rapid.Custom(func(t *rapid.T) *wood {
		parents := []int{-1}
		for i := range rapid.IntRange(2, 9).Draw(t, "nodes") {
			parents = append(parents, rapid.IntRange(0, i).Draw(t, "parent"))
		}
		w := plant(t, parents...)
		for range rapid.SampledFrom([]int{1, 1, 2, 3}).Draw(t, "machines") {
			w.machines(vec{rapid.Int64Range(2, 12).Draw(t, "CPU"), rapid.Int64Range(2, 12).Draw(t, "memory"), rapid.Int64Range(0, 3).Draw(t, "GPU")})
		}
		few := rapid.Int64Range(0, 4)
		task := rapid.SampledFrom([]vec{{1}, {0, 1}, {1, 1}, {2, 1}, {1, 2}, {0, 2}, {3}, {2, 3}, {1, 0, 1}, {1, 1, 1}, {0, 0, 1}})
		if rapid.Bool().Draw(t, "one kind") {
			task = rapid.SampledFrom([]vec{{1}, {1}, {2}, {3}, {5}})
		}
		for i := range w.trees {
			b := &w.trees[i]
			b.weight = rapid.SampledFrom([]int64{1, 1, 1, 2, 3}).Draw(t, "weight")
			if rapid.IntRange(0, 2).Draw(t, "has min") == 0 {
				b.low = vec{few.Draw(t, "min"), few.Draw(t, "min")}
			}
			if rapid.IntRange(0, 5).Draw(t, "has max") == 0 {
				b.high = max(b.low[0], b.low[1], few.Draw(t, "max"))
			}
			if len(b.kids) > 0 || i == 0 {
				continue
			}
			for _, need := range rapid.SliceOfN(task, 2, 12).Draw(t, "tasks") {
				m := slices.IndexFunc(w.free, need.Fits)
				if m < 0 || rapid.IntRange(0, 5).Draw(t, "late") == 0 {
					w.waiting[i] = append(w.waiting[i], need)
					continue
				}
				w.start(i, m, need)
			}
		}
		return w
	})
}
