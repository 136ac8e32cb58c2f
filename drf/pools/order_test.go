package pools_test

import (
	"cmp"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cellsched/cellsched/drf/pools"
)

// TestTree_FollowsTheOrderOfAPool starts nine tasks in a pool of each order.
func TestTree_FollowsTheOrderOfAPool(t *testing.T) {
	lastAdded := func(a, b pools.Child) int { return cmp.Compare(b.Seq(), a.Seq()) }
	for _, c := range []struct {
		name  string
		order pools.Order
		want  string
	}{
		{"DRF", nil, "abcaabaca"}, // a task of a is 1/90, of b 2/90, of c 3/90; ties go to the older job
		{"FIFO", pools.FIFO, "aaaaaaaaa"},
		{"priority", pools.Priority, "bbbbbbbbb"},
		{"fair in memory", pools.Fair(1), "abcabcabc"},
		{"fair in CPU, c has a min share", pools.Fair(0), "cccccabaa"},
		{"fair in CPU, a and c have min shares", pools.Fair(0), "acacaacac"},
		{"of the caller's", lastAdded, "ccccccccc"},
	} {
		t.Run(c.name, func(t *testing.T) {
			tree, err := pools.New[string](vec{90, 900}, nil)
			require.NoError(t, err)
			pool, err := tree.AddPool(tree.Root(), "pool", pools.Config{Order: c.order})
			require.NoError(t, err)
			for i, name := range []string{"a", "b", "c"} {
				config := pools.Config{}
				switch {
				case c.name == "fair in CPU, c has a min share" && name == "c":
					config.Min = vec{15}
				case c.name == "fair in CPU, a and c have min shares" && name == "a":
					config.Min = vec{10}
				case c.name == "fair in CPU, a and c have min shares" && name == "c":
					config.Min = vec{20}
				}
				j, err := tree.AddJob(pool, name, config)
				require.NoError(t, err)
				require.NoError(t, tree.Demand(j, vec{int64(i + 1), 1}))
				if name == "b" {
					require.NoError(t, tree.SetPriority(j, 1))
				}
			}
			var got strings.Builder
			for range 9 {
				h, ok := tree.Take(vec{10, 10})
				require.True(t, ok)
				name, _ := tree.Key(h)
				got.WriteString(name)
			}
			require.Equal(t, c.want, got.String())
		})
	}
}

// TestTree_PicksWhereItFits asks for each demand at most once a pick, in the
// order of shares, and forgets the answers.
func TestTree_PicksWhereItFits(t *testing.T) {
	tree, err := pools.New[string](vec{100}, nil)
	require.NoError(t, err)
	a, err := tree.AddPool(tree.Root(), "a", pools.Config{})
	require.NoError(t, err)
	b, err := tree.AddPool(tree.Root(), "b", pools.Config{})
	require.NoError(t, err)
	for _, j := range []struct {
		pool   pools.Node
		name   string
		demand int64
	}{{a, "a1", 4}, {a, "a2", 4}, {a, "a3", 2}, {b, "b1", 3}, {b, "b2", 1}} {
		h, err := tree.AddJob(j.pool, j.name, pools.Config{})
		require.NoError(t, err)
		require.NoError(t, tree.Demand(h, vec{j.demand}))
	}
	var asked []int64
	pick := func(largest int64) string {
		asked = nil
		h, ok := tree.PickWhere(vec{10}, func(demand vec) bool {
			asked = append(asked, demand[0])
			return demand[0] <= largest
		})
		if !ok {
			return ""
		}
		name, _ := tree.Key(h)
		return name
	}
	require.Equal(t, "a1", pick(4))
	require.Equal(t, []int64{4}, asked)
	require.Equal(t, "a3", pick(2))
	require.Equal(t, []int64{4, 2}, asked)
	require.Equal(t, "b2", pick(1))
	require.Equal(t, []int64{4, 2, 3, 1}, asked)
	require.Empty(t, pick(0))
	require.Equal(t, []int64{4, 2, 3, 1}, asked)
	h, ok := tree.Pick(vec{10})
	require.True(t, ok)
	name, _ := tree.Key(h)
	require.Equal(t, "a1", name, "a refused demand is asked about again")
}

// TestTree_FirstNeedsNoRoom names the job that would be next, in a cell where
// nothing fits. It leaves out jobs that may not start.
func TestTree_FirstNeedsNoRoom(t *testing.T) {
	tree, err := pools.New[string](vec{100}, nil)
	require.NoError(t, err)
	nodes := map[string]pools.Node{"": tree.Root()}
	for _, c := range []struct {
		parent, name string
		holds, wants int64
		config       pools.Config
	}{
		{"", "a", 0, 0, pools.Config{}},
		{"", "b", 0, 0, pools.Config{Max: &vec{12}}},
		{"", "c", 0, 0, pools.Config{Order: pools.Priority}},
		{"a", "a1", 9, 5, pools.Config{}},
		{"a", "a2", 8, 5, pools.Config{}},
		{"a", "a3", 1, 0, pools.Config{}}, // parked
		{"b", "b1", 6, 5, pools.Config{}},
		{"b", "b2", 4, 1, pools.Config{}},
		{"c", "c1", 30, 5, pools.Config{}},
		{"c", "c2", 30, 5, pools.Config{Priority: 1}},
	} {
		var h pools.Node
		if c.holds == 0 {
			h, err = tree.AddPool(nodes[c.parent], c.name, c.config)
		} else {
			h, err = tree.AddJob(nodes[c.parent], c.name, c.config)
		}
		require.NoError(t, err)
		nodes[c.name] = h
		if c.holds > 0 {
			require.NoError(t, tree.Charge(h, vec{c.holds}))
		}
		if c.wants > 0 {
			require.NoError(t, tree.Demand(h, vec{c.wants}))
		}
	}
	_, ok := tree.Pick(vec{})
	require.False(t, ok)
	first := func(below string) string {
		h, ok := tree.First(nodes[below])
		name, _ := tree.Key(h)
		require.Equal(t, ok, name != "")
		return name
	}
	require.Equal(t, "a2", first("a"))
	require.Equal(t, "b2", first("b"), "b1 would be past the max share of b")
	require.Equal(t, "c2", first("c"))
	require.Equal(t, "b2", first(""), "b holds least")
	require.Equal(t, "a1", first("a1"))
	require.NoError(t, tree.Park(nodes["b2"]))
	require.Equal(t, "a2", first(""), "b has no job")
	require.Empty(t, first("b"))
	require.Empty(t, first("a3"))
	need, ok := tree.Next(nodes["a2"])
	require.True(t, ok)
	require.Equal(t, vec{5}, need)
	_, ok = tree.Next(nodes["a3"])
	require.False(t, ok)
}

// TestTree_DoesNotDrift charges and credits a tree a million times and takes
// all back: every share is 0 again, and the order that of a new tree.
func TestTree_DoesNotDrift(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	tree, demands := grow(t, 200, []int{3, 3}, 50)
	fresh, _ := grow(t, 200, []int{3, 3}, 50)
	jobs := make([]pools.Node, len(demands))
	held := make([][]vec, len(demands))
	for i := range jobs {
		jobs[i], _ = tree.Node(i)
	}
	for range 1_000_000 {
		i := r.IntN(len(jobs))
		if h := held[i]; len(h) > 0 && r.IntN(2) == 0 {
			require.NoError(t, tree.Credit(jobs[i], h[len(h)-1]))
			held[i] = h[:len(h)-1]
			continue
		}
		v := vec{r.Int64N(1 << 20), r.Int64N(1 << 40), r.Int64N(3)}
		require.NoError(t, tree.Charge(jobs[i], v))
		held[i] = append(held[i], v)
	}
	for i, h := range held {
		for _, v := range slices.Backward(h) {
			require.NoError(t, tree.Credit(jobs[i], v))
		}
	}
	free := vec{1 << 60, 1 << 60, 1 << 60}
	for range 2000 {
		a, ok := tree.Take(free)
		require.True(t, ok)
		b, _ := fresh.Take(free)
		was, _ := tree.Key(a)
		is, _ := fresh.Key(b)
		require.Equal(t, is, was)
		p, _ := tree.Parent(a)
		q, _ := fresh.Parent(b)
		x, _ := tree.Share(p)
		y, _ := fresh.Share(q)
		require.Equal(t, y, x)
	}
}

// TestTree_TiesGoToTheOlderJob is about members at other places than in the order
// of addition: in the place of a removed one, or behind another with their demand.
func TestTree_TiesGoToTheOlderJob(t *testing.T) {
	for name, demands := range map[string][]int64{
		"in the place of a removed one": {9, 2, 3, 4}, // the first leaves after the second has come
		"behind another, with a demand": {2, 3, 2, 4},
	} {
		t.Run(name, func(t *testing.T) {
			tree, err := pools.New[int](vec{100}, nil)
			require.NoError(t, err)
			var jobs []pools.Node
			for i, demand := range demands {
				h, err := tree.AddJob(tree.Root(), i, pools.Config{})
				require.NoError(t, err)
				require.NoError(t, tree.Demand(h, vec{demand}))
				jobs = append(jobs, h)
				if i == 1 && demands[0] == 9 {
					require.NoError(t, tree.Remove(jobs[0]))
					jobs = jobs[1:]
				}
			}
			for _, want := range jobs {
				h, ok := tree.Take(vec{10})
				require.True(t, ok)
				require.Equal(t, want, h)
			}
		})
	}
}

// TestTree_HandlesOfTheRemovedAreRefused adds a node in the place of a removed one.
func TestTree_HandlesOfTheRemovedAreRefused(t *testing.T) {
	tree, err := pools.New[string](vec{100}, nil)
	require.NoError(t, err)
	old, err := tree.AddJob(tree.Root(), "j", pools.Config{})
	require.NoError(t, err)
	require.NoError(t, tree.Demand(old, vec{1}))
	require.NoError(t, tree.Remove(old))
	_, ok := tree.Pick(vec{100})
	require.False(t, ok)
	young, err := tree.AddJob(tree.Root(), "j", pools.Config{})
	require.NoError(t, err)
	require.NotEqual(t, old, young)
	require.ErrorIs(t, tree.Charge(old, vec{1}), pools.ErrNode)
	require.NoError(t, tree.Charge(young, vec{1}))
	var children []pools.Node
	for c := range tree.Children(tree.Root()) {
		children = append(children, c)
	}
	require.Equal(t, []pools.Node{young}, children)
}
