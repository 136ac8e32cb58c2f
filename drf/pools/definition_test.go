package pools_test

import (
	"fmt"
	"math/big"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/cellsched/cellsched/drf/pools"
)

// TestTree_EqualsTheDefinition holds the tree to the definition, recomputed in
// fractions, after every step of random sequences.
func TestTree_EqualsTheDefinition(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		amount := rapid.Int64Range(0, 3)
		vector := rapid.Custom(func(t *rapid.T) vec {
			return vec{amount.Draw(t, "a"), amount.Draw(t, "b"), amount.Draw(t, "c")}
		})
		demand := rapid.Custom(func(t *rapid.T) vec { // few, so that many jobs have the same
			return vec{rapid.Int64Range(0, 2).Draw(t, "a"), rapid.Int64Range(0, 1).Draw(t, "b")}
		}).Filter(func(v vec) bool { return v != vec{} })
		weight := rapid.SampledFrom([]float64{1, 1, 1, 2, 0.5, 3, 1e-6, 1e6})
		totals := rapid.Custom(func(t *rapid.T) vec {
			return vec{rapid.Int64Range(1, 40).Draw(t, "t0"), rapid.Int64Range(0, 40).Draw(t, "t1"), rapid.Int64Range(0, 20).Draw(t, "t2")}
		})
		orders := []pools.Order{nil, nil, nil, pools.FIFO, pools.Fair(0)}
		total := totals.Draw(t, "total")
		tree, err := pools.New[int](total, nil)
		require.NoError(t, err)
		root := &model{node: tree.Root(), weight: big.NewRat(1, 1)}
		n := 0
		pool := func(t *rapid.T) *model {
			var all []*model
			root.walk(func(m *model) {
				if !m.job {
					all = append(all, m)
				}
			})
			return all[rapid.IntRange(0, len(all)-1).Draw(t, "pool")]
		}
		anyone := func(t *rapid.T) *model {
			var all []*model
			root.walk(func(m *model) { all = append(all, m) })
			return all[rapid.IntRange(0, len(all)-1).Draw(t, "node")]
		}
		job := func(t *rapid.T) *model {
			all := root.jobs()
			if len(all) == 0 {
				t.Skip("no jobs")
			}
			return all[rapid.IntRange(0, len(all)-1).Draw(t, "job")]
		}
		limits := func(t *rapid.T) (low vec, high *vec) {
			if rapid.IntRange(0, 3).Draw(t, "promised") == 0 {
				low = vector.Draw(t, "low")
			}
			if rapid.IntRange(0, 3).Draw(t, "limited") == 0 {
				v := low.Add(vector.Draw(t, "extra")).Add(vector.Draw(t, "more"))
				high = &v
			}
			return low, high
		}
		add := func(t *rapid.T, isJob bool) *model {
			p := pool(t)
			m := &model{name: fmt.Sprint(n), parent: p, job: isJob}
			w := weight.Draw(t, "weight")
			m.weight = weightOf(w)
			m.low, m.high = limits(t)
			config := pools.Config{Weight: w, Min: m.low, Max: m.high}
			if isJob {
				m.node, err = tree.AddJob(p.node, n, config)
			} else {
				m.order = orders[rapid.IntRange(0, len(orders)-1).Draw(t, "order")]
				config.Order = m.order
				m.node, err = tree.AddPool(p.node, n, config)
			}
			require.NoError(t, err)
			p.kids = append(p.kids, m)
			n++
			return m
		}
		orphan := func(m *model) {
			kids := m.parent.kids
			for i, k := range kids {
				if k == m {
					m.parent.kids = append(append([]*model{}, kids[:i]...), kids[i+1:]...)
				}
			}
		}
		addJob := func(t *rapid.T) {
			m := add(t, true)
			m.demand = demand.Draw(t, "demand")
			require.NoError(t, tree.Demand(m.node, m.demand))
		}
		for range 3 {
			add(t, false)
		}
		for range 9 {
			addJob(t)
		}
		free := total
		t.Repeat(map[string]func(*rapid.T){
			"add pool": func(t *rapid.T) { add(t, false) },
			"add job":  addJob,
			"demand": func(t *rapid.T) {
				m := job(t)
				m.demand = demand.Draw(t, "demand")
				require.NoError(t, tree.Demand(m.node, m.demand))
			},
			"park": func(t *rapid.T) {
				m := job(t)
				m.demand = vec{}
				require.NoError(t, tree.Park(m.node))
			},
			"charge": func(t *rapid.T) {
				m, v := job(t), vector.Draw(t, "v")
				m.usage = m.usage.Add(v)
				require.NoError(t, tree.Charge(m.node, v))
			},
			"charge the picked job": func(t *rapid.T) {
				if h, ok := tree.Pick(free); ok {
					for _, m := range root.jobs() {
						if m.node == h {
							m.usage = m.usage.Add(m.demand)
							require.NoError(t, tree.Charge(h, m.demand))
						}
					}
				}
			},
			"credit": func(t *rapid.T) {
				m := job(t)
				v := m.usage.Min(vector.Draw(t, "v"))
				m.usage, _ = m.usage.Sub(v)
				require.NoError(t, tree.Credit(m.node, v))
			},
			"weight": func(t *rapid.T) {
				m, w := anyone(t), weight.Draw(t, "weight")
				if m != root {
					m.weight = weightOf(w)
				}
				require.NoError(t, tree.SetWeight(m.node, w))
			},
			"limits": func(t *rapid.T) {
				m := anyone(t)
				m.low, m.high = limits(t)
				require.NoError(t, tree.SetLimits(m.node, m.low, m.high))
			},
			"move": func(t *rapid.T) {
				m, p := anyone(t), pool(t)
				if m == root || p.below(m) {
					require.ErrorIs(t, tree.Move(m.node, p.node), pools.ErrTree)
					return
				}
				require.NoError(t, tree.Move(m.node, p.node))
				if p != m.parent {
					orphan(m)
					m.parent, p.kids = p, append(p.kids, m)
				}
			},
			"remove": func(t *rapid.T) {
				m := anyone(t)
				err := tree.Remove(m.node)
				if m == root || len(m.kids) > 0 || m.usage != (vec{}) {
					require.Error(t, err)
					return
				}
				require.NoError(t, err)
				orphan(m)
			},
			"total": func(t *rapid.T) {
				total = totals.Draw(t, "total")
				require.NoError(t, tree.SetTotal(total))
			},
			"free": func(t *rapid.T) {
				free = vec{rapid.Int64Range(0, 4).Draw(t, "f0"), rapid.Int64Range(0, 4).Draw(t, "f1"), rapid.Int64Range(0, 4).Draw(t, "f2")}
			},
			"": func(t *rapid.T) {
				all := vec{plenty, plenty, plenty}
				root.define(hdrf, total, all, all)
				h, ok := tree.First(tree.Root())
				require.Equal(t, !root.blocked, ok)
				checkPick(t, root, h)

				root.define(hdrf, total, free, free)
				h, ok = tree.Pick(free)
				require.Equal(t, !root.blocked, ok, "picks while anything fits")
				root.walk(func(m *model) {
					usage, found := tree.Usage(m.node)
					require.True(t, found)
					require.Equal(t, m.plain, usage)
					if m == root {
						return
					}
					share, _ := tree.Share(m.node)
					require.True(t, near(share, m.share), "%s: %v, by definition %v", m.name, share, m.share.FloatString(20))
				})
				if !ok {
					return
				}
				checkPick(t, root, h)
			},
		})
	})
}

// checkPick compares a picked job with the definition.
func checkPick(t require.TestingT, root *model, h pools.Node) {
	if h == (pools.Node{}) {
		return
	}
	var picked *model
	for _, m := range root.jobs() {
		if m.node == h {
			picked = m
		}
	}
	require.NotNil(t, picked)
	for m := picked; m != root; m = m.parent {
		require.False(t, m.blocked)
		for _, o := range m.parent.kids {
			if m.parent.order != nil && o.ratio == nil {
				continue // see TestTree_FollowsTheOrderOfAPool
			}
			require.False(t, !o.blocked && before(o, m) < 0, "picked %v before %v", m.name, o.name)
		}
	}
}

// TestTree_EqualsTheDefinitionWhenLarge is the same with hundreds of jobs, each
// with its own demand. Most open and close at once, or one at a time.
func TestTree_EqualsTheDefinitionWhenLarge(t *testing.T) {
	const jobs = 300
	total := vec{1 << 20, 1 << 20}
	tree, err := pools.New[int](total, nil)
	require.NoError(t, err)
	root := &model{node: tree.Root(), weight: big.NewRat(1, 1)}
	r := rand.New(rand.NewPCG(7, 8))
	for p := range 3 {
		h, err := tree.AddPool(tree.Root(), -1-p, pools.Config{})
		require.NoError(t, err)
		root.kids = append(root.kids, &model{name: fmt.Sprint(-1 - p), node: h, parent: root, weight: big.NewRat(1, 1)})
	}
	byNode := map[pools.Node]*model{}
	for j := range jobs {
		p := root.kids[j%3]
		h, err := tree.AddJob(p.node, j, pools.Config{})
		require.NoError(t, err)
		m := &model{name: fmt.Sprint(j), node: h, parent: p, job: true, weight: big.NewRat(1, 1), demand: vec{r.Int64N(1000) + 1, r.Int64N(1000) + 1}}
		require.NoError(t, tree.Demand(h, m.demand))
		p.kids = append(p.kids, m)
		byNode[h] = m
	}
	free := total
	for range 400 {
		switch r.IntN(4) {
		case 0: // a little less or more
			free = vec{max(0, free[0]+r.Int64N(21)-10), max(0, free[1]+r.Int64N(21)-10)}
		case 1:
			free = vec{r.Int64N(1100), r.Int64N(1100)}
		}
		root.define(hdrf, total, free, free)
		h, ok := tree.Take(free)
		require.Equal(t, !root.blocked, ok)
		for _, p := range root.kids {
			share, _ := tree.Share(p.node)
			if !ok { // otherwise the job taken from has gone on
				require.True(t, near(share, p.share), "%v, by definition %v", share, p.share.FloatString(20))
			}
		}
		if ok {
			m := byNode[h]
			require.Equal(t, root.pick().name, m.name)
			m.usage = m.usage.Add(m.demand)
		}
	}
}

// TestTree_TellsNearTiesApart orders two jobs with shares that differ in the last
// digit that counts. The pool has so many jobs that this digit has no room in the
// contest.
func TestTree_TellsNearTiesApart(t *testing.T) {
	tree, err := pools.New[int](vec{1 << 30}, nil)
	require.NoError(t, err)
	const jobs = 20_000
	var last [2]pools.Node
	for j := range jobs {
		weight := 1 + 0x1p-39
		if j == jobs-1 {
			weight += 0x1p-40
		}
		h, err := tree.AddJob(tree.Root(), j, pools.Config{Weight: weight})
		require.NoError(t, err)
		require.NoError(t, tree.Demand(h, vec{int64(j + 1)}))
		last[0], last[1] = last[1], h
		require.NoError(t, tree.Charge(h, vec{1 << 29}))
	}
	h, ok := tree.Pick(vec{1 << 29})
	require.True(t, ok)
	require.Equal(t, last[1], h, "the one with the larger weight, not the one that came first")
	require.NoError(t, tree.Park(last[1]))
	h, ok = tree.Pick(vec{1 << 29})
	require.True(t, ok)
	first, _ := tree.Node(0)
	require.Equal(t, first, h, "of equals the one that came first")
}
