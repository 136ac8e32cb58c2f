package pools_test

import (
	"math/big"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cellsched/cellsched/drf"
	"github.com/cellsched/cellsched/drf/pools"
	"github.com/cellsched/cellsched/resources"
)

// town is a cell that a hierarchy shares, in the tree and in a model of it that
// may follow another rule.
type town struct {
	t     *testing.T
	tree  *pools.Tree[string]
	root  *model
	total vec
	all   map[string]*model
	tasks map[string]int
}

func newTown(t *testing.T, total vec) *town {
	t.Helper()
	tree, err := pools.New[string](total, nil)
	require.NoError(t, err)
	root := &model{node: tree.Root(), weight: big.NewRat(1, 1)}
	return &town{t, tree, root, total, map[string]*model{"": root}, map[string]int{}}
}

// pool adds a pool, below the root for a parent of "".
func (w *town) pool(parent, name string) {
	h, err := w.tree.AddPool(w.all[parent].node, name, pools.Config{})
	require.NoError(w.t, err)
	w.add(parent, &model{name: name, node: h, weight: big.NewRat(1, 1)})
}

// job adds a job with as many tasks to run as left says.
func (w *town) job(parent, name string, demand vec, left int) {
	h, err := w.tree.AddJob(w.all[parent].node, name, pools.Config{})
	require.NoError(w.t, err)
	require.NoError(w.t, w.tree.Demand(h, demand))
	w.add(parent, &model{name: name, node: h, job: true, demand: demand, left: left, weight: big.NewRat(1, 1)})
}

func (w *town) add(parent string, m *model) {
	m.parent = w.all[parent]
	m.parent.kids = append(m.parent.kids, m)
	w.all[m.name] = m
}

// fill starts tasks while any fits: by the tree if how is nil, otherwise by the
// rule.
func (w *town) fill(how *rule) (free vec) {
	for {
		free, _ = w.total.Sub(w.root.held())
		var m *model
		if how == nil {
			h, ok := w.tree.Pick(free)
			if !ok {
				return free
			}
			name, _ := w.tree.Key(h)
			m = w.all[name]
		} else {
			w.root.define(*how, w.total, free, free)
			if w.root.blocked {
				return free
			}
			m = w.root.pick()
		}
		m.usage = m.usage.Add(m.demand)
		w.tasks[m.name]++
		require.NoError(w.t, w.tree.Charge(m.node, m.demand))
		if m.left--; m.left == 0 {
			m.demand = vec{}
			require.NoError(w.t, w.tree.Park(m.node))
		}
	}
}

// churn ends one task of each job in turn, and fills the cell after each.
func (w *town) churn(how *rule, rounds int) {
	for range rounds {
		for _, m := range w.root.jobs() {
			if w.tasks[m.name] > 0 && m.demand != (vec{}) {
				w.tasks[m.name]--
				m.usage, _ = m.usage.Sub(m.demand)
				require.NoError(w.t, w.tree.Credit(m.node, m.demand))
				w.fill(how)
			}
		}
	}
}

// TestTree_SiblingsOnOtherKinds is P11 of the H-DRF paper's hierarchy, as its open
// implementation states it. A developer's pool takes CPUs, production's takes GPUs,
// and a scientist takes both.
func TestTree_SiblingsOnOtherKinds(t *testing.T) {
	plain := naive
	for _, how := range []*rule{nil, &plain} {
		w := newTown(t, vec{10, 10})
		w.job("", "sci", vec{1, 1}, 10)
		w.pool("", "eng")
		w.job("eng", "dev", vec{1, 0}, 10)
		w.job("eng", "prod", vec{0, 1}, 10)
		require.Equal(t, vec{}, w.fill(how))
		require.Equal(t, map[string]int{"sci": 5, "dev": 5, "prod": 5}, w.tasks)
	}
}

// TestTree_DoesNotStarveALeafWithAGreedySibling is the starvation of the naive
// hierarchy, where a pool counts as holding all that its leaves do. A leaf is last
// for ever if its sibling holds all of another kind, which no other job wants.
func TestTree_DoesNotStarveALeafWithAGreedySibling(t *testing.T) {
	run := func(how *rule) map[string]int {
		w := newTown(t, vec{10, 10})
		w.job("", "other", vec{1, 0}, 1e6)
		w.pool("", "pool")
		w.job("pool", "cpu", vec{1, 0}, 1e6)
		w.job("pool", "gpu", vec{0, 1}, 1e6)
		w.fill(how)
		w.churn(how, 30)
		return w.tasks
	}
	plain := naive
	require.Equal(t, map[string]int{"other": 10, "cpu": 0, "gpu": 10}, run(&plain), "the problem is there to be solved")
	require.Equal(t, map[string]int{"other": 5, "cpu": 5, "gpu": 10}, run(nil))
}

// TestTree_DoesNotStarveBesideAStoppedLeaf shows the effect of scaling all leaves
// to the poorest. As long as one leaf is poor and wants no more, its pool counts as
// nearly nothing, and takes the cell. Hence blocked leaves are not scaled.
func TestTree_DoesNotStarveBesideAStoppedLeaf(t *testing.T) {
	run := func(how *rule) map[string]int {
		w := newTown(t, vec{100, 100})
		w.job("", "other", vec{0, 1}, 1e6)
		w.pool("", "pool")
		w.job("pool", "short", vec{0, 1}, 1)
		w.job("pool", "long", vec{0, 1}, 1e6)
		w.fill(how)
		w.churn(how, 100)
		return w.tasks
	}
	all := rescaleOnly
	require.LessOrEqual(t, run(&all)["other"], 3, "the problem is there to be solved")
	require.Equal(t, map[string]int{"other": 50, "short": 1, "long": 49}, run(nil))
}

// TestTree_DoesNotStarveThePoolOfMany shows the effect of collapsing a hierarchy to
// a flat one, each leaf with its part of the weight of its pool. Leaves that want
// different kinds do not compete, but they still share their pool's weight. All get
// less, the more they are.
func TestTree_DoesNotStarveThePoolOfMany(t *testing.T) {
	const leaves = 7
	names := [leaves]string{"a", "b", "c", "d", "e", "f", "g"}
	total := vec{80, 80, 80, 80, 80, 80, 80}

	flat, err := drf.New[string](total)
	require.NoError(t, err)
	w := newTown(t, total)
	w.job("", "all", vec{1, 1, 1, 1, 1, 1, 1}, 1e6)
	w.pool("", "pool")
	u, err := flat.Add("all", 1)
	require.NoError(t, err)
	require.NoError(t, flat.Demand(u, vec{1, 1, 1, 1, 1, 1, 1}))
	for k, name := range names {
		var one vec
		one[k] = 1
		w.job("pool", name, one, 1e6)
		u, err := flat.Add(name, 1.0/leaves)
		require.NoError(t, err)
		require.NoError(t, flat.Demand(u, one))
	}

	collapsed := map[string]int{}
	for free := total; ; {
		u, ok := flat.Take(free)
		if !ok {
			break
		}
		name, _ := flat.Key(u)
		collapsed[name]++
		if name == "all" {
			free, _ = free.Sub(vec{1, 1, 1, 1, 1, 1, 1})
		} else {
			var one vec
			one[name[0]-'a'] = 1
			free, _ = free.Sub(one)
		}
	}
	require.Equal(t, 70, collapsed["all"], "the problem is there to be solved")
	require.Equal(t, 10, collapsed["a"])

	require.Equal(t, vec{}, w.fill(nil))
	require.Equal(t, 40, w.tasks["all"], "half of each kind")
	for _, name := range names {
		require.Equal(t, 40, w.tasks[name])
	}
}

// TestTree_IdleShareIsBorrowedAndComesBack fills the cell with one pool while the
// other is idle. When that one wakes, freed room goes to it until both have their
// share.
func TestTree_IdleShareIsBorrowedAndComesBack(t *testing.T) {
	w := newTown(t, vec{100})
	w.pool("", "busy")
	w.pool("", "idle")
	w.job("busy", "b1", vec{1}, 1e6)
	w.job("busy", "b2", vec{1}, 1e6)
	require.Equal(t, vec{}, w.fill(nil))
	require.Equal(t, map[string]int{"b1": 50, "b2": 50}, w.tasks, "all of it while no other job wants any")

	w.job("idle", "i1", vec{1}, 1e6)
	for i := range 50 {
		name := []string{"b1", "b2"}[i%2]
		w.tasks[name]--
		m := w.all[name]
		m.usage, _ = m.usage.Sub(vec{1})
		require.NoError(t, w.tree.Credit(m.node, vec{1}))
		w.fill(nil)
	}
	require.Equal(t, 50, w.tasks["i1"], "each task that ended was one for the pool that had lent")
	w.churn(nil, 20)
	require.Equal(t, 50, w.tasks["i1"])
	require.InDelta(t, 25, w.tasks["b1"], 1)

	require.NoError(t, w.tree.Park(w.all["i1"].node))
	w.all["i1"].demand = vec{}
	require.NoError(t, w.tree.Credit(w.all["i1"].node, w.all["i1"].usage))
	w.all["i1"].usage = vec{}
	require.Equal(t, vec{}, w.fill(nil), "and is borrowed again")
}

// TestTree_MinSharesGoFirst gives a pool of little weight its min share before
// others get theirs.
func TestTree_MinSharesGoFirst(t *testing.T) {
	tree, err := pools.New[string](vec{100}, nil)
	require.NoError(t, err)
	big, err := tree.AddPool(tree.Root(), "big", pools.Config{Weight: 99})
	require.NoError(t, err)
	small, err := tree.AddPool(tree.Root(), "small", pools.Config{Min: vec{30}})
	require.NoError(t, err)
	for name, pool := range map[string]pools.Node{"b": big, "s": small} {
		j, err := tree.AddJob(pool, name, pools.Config{})
		require.NoError(t, err)
		require.NoError(t, tree.Demand(j, vec{1}))
	}
	var order strings.Builder
	for free := (vec{100}); ; free[0]-- {
		h, ok := tree.Take(free)
		if !ok {
			break
		}
		name, _ := tree.Key(h)
		order.WriteString(name)
	}
	usage, _ := tree.Usage(small)
	require.Equal(t, vec{30}, usage)
	require.Equal(t, "ssssssssssssssssssssssssssssss", order.String()[:30])
}

// TestTree_MaxSharesAreKept fills cells in which a pool and a job have limits,
// which are reached and not passed.
func TestTree_MaxSharesAreKept(t *testing.T) {
	tree, err := pools.New[string](vec{100, 100}, nil)
	require.NoError(t, err)
	capped, err := tree.AddPool(tree.Root(), "capped", pools.Config{Max: &vec{20, 100}})
	require.NoError(t, err)
	j1, err := tree.AddJob(capped, "j1", pools.Config{})
	require.NoError(t, err)
	j2, err := tree.AddJob(capped, "j2", pools.Config{Max: &vec{6, resources.MaxQuantity}})
	require.NoError(t, err)
	j3, err := tree.AddJob(tree.Root(), "j3", pools.Config{})
	require.NoError(t, err)
	for _, j := range []pools.Node{j1, j2, j3} {
		require.NoError(t, tree.Demand(j, vec{2, 1}))
	}
	free := vec{100, 100}
	for {
		if _, ok := tree.Take(free); !ok {
			break
		}
		free, _ = free.Sub(vec{2, 1})
	}
	require.Equal(t, int64(0), free[0], "the rest beyond the limits goes to the others")
	for h, want := range map[pools.Node]vec{capped: {20, 10}, j1: {14, 7}, j2: {6, 3}, j3: {80, 40}} {
		usage, _ := tree.Usage(h)
		require.Equal(t, want, usage)
	}

	require.NoError(t, tree.Credit(j3, vec{80, 40}))
	_, ok := tree.Pick(vec{80, 40})
	require.True(t, ok, "j3 may")
	require.NoError(t, tree.Park(j3))
	_, ok = tree.Pick(vec{80, 40})
	require.False(t, ok, "the others may not")
	require.NoError(t, tree.SetLimits(capped, vec{}, &vec{22, 100}))
	h, ok := tree.Pick(vec{80, 40})
	require.True(t, ok)
	require.Equal(t, j1, h)
}
