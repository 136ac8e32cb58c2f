package pools_test

import (
	"fmt"
	"math/big"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cellsched/cellsched/drf/pools"
	"github.com/cellsched/cellsched/resources"
)

// exactly is a random tree beside its definition in fractions.
type exactly struct {
	t     *testing.T
	r     *rand.Rand
	tree  *pools.Tree[int]
	root  *model
	total vec
	nodes []*model // by the order of addition
}

// regime is the sizes of a random tree.
type regime struct {
	kinds, depth, pools, jobs int
	total                     func(r *rand.Rand) int64
	amount                    func(r *rand.Rand, total int64) int64
	weights                   []float64
	promises                  bool
}

func upTo(n int64) func(*rand.Rand) int64 {
	return func(r *rand.Rand) int64 { return 1 + r.Int64N(n) }
}

// few draws small numbers, so that many shares are equal.
func few(r *rand.Rand, _ int64) int64 { return r.Int64N(4) }

// lastPlaces draws amounts that differ in the last place of 62 bits.
func lastPlaces(r *rand.Rand, total int64) int64 {
	return total/64 + r.Int64N(3) - r.Int64N(2)*(total/64)
}

var regimes = map[string]regime{
	"small numbers": {2, 3, 4, 6, upTo(12), few, []float64{1}, false},
	"small numbers and weights": {
		3, 4, 6, 12, upTo(12), few,
		[]float64{1, 1, 2, 3, 0.5},
		false,
	},
	"min shares":   {2, 3, 4, 9, upTo(30), few, []float64{1, 2}, true},
	"deep":         {2, 4, 9, 14, upTo(6), few, []float64{1, 1, 0.1, 3}, true},
	"wide weights": {2, 3, 5, 9, upTo(9), few, []float64{1e-6, 1e6, 1e-6, 1, 0.3}, false},
	"all kinds":    {resources.MaxKinds, 3, 5, 10, upTo(7), few, []float64{1, 3}, true},
	"last places": {
		3, 3, 5, 9, func(r *rand.Rand) int64 { return 1<<61 + r.Int64N(1<<61) }, lastPlaces,
		[]float64{1, 1, 2, 0.1},
		true,
	},
	"a crowd": {3, 3, 3, 120, upTo(400), few, []float64{1, 1, 2}, true},
	"all of it": {
		2, 2, 3, 6, func(*rand.Rand) int64 { return 1 << 57 },
		func(r *rand.Rand, total int64) int64 { return total - r.Int64N(3) },
		[]float64{1, 1, 2},
		false,
	},
	"mixed sizes": {
		4, 4, 7, 14, func(r *rand.Rand) int64 { return 1 + r.Int64N(1<<(1+r.IntN(62))) },
		func(r *rand.Rand, total int64) int64 { return r.Int64N(min(total, 1<<56)) >> r.IntN(60) },
		[]float64{1, 2, 0.7, 1e-6, 1e6},
		true,
	},
}

func newExactly(t *testing.T, seed uint64, g regime) *exactly {
	t.Helper()
	e := &exactly{t: t, r: rand.New(rand.NewPCG(seed, 11))}
	for k := range g.kinds {
		e.total[k] = g.total(e.r)
	}
	var err error
	e.tree, err = pools.New[int](e.total, nil)
	require.NoError(t, err)
	e.root = &model{node: e.tree.Root(), weight: big.NewRat(1, 1)}
	inner := []*model{e.root}
	depth := map[*model]int{}
	for i := range g.pools {
		p := inner[e.r.IntN(len(inner))]
		if depth[p] == g.depth-1 || i < 2 {
			p = e.root
		}
		m := e.add(p, g, false)
		depth[m] = depth[p] + 1
		inner = append(inner, m)
	}
	for range 1 + e.r.IntN(g.jobs) {
		e.add(inner[e.r.IntN(len(inner))], g, true)
	}
	return e
}

func (e *exactly) add(parent *model, g regime, job bool) *model {
	e.t.Helper()
	weight := g.weights[e.r.IntN(len(g.weights))]
	m := &model{name: fmt.Sprint(len(e.nodes)), parent: parent, job: job, weight: weightOf(weight), left: len(e.nodes)}
	config := pools.Config{Weight: weight}
	if g.promises && e.r.IntN(2) == 0 {
		for k := range 1 + e.r.IntN(2) {
			config.Min[k] = g.amount(e.r, e.total[k]) % (1 << 55)
		}
		m.low = config.Min
	}
	if g.promises && e.r.IntN(4) == 0 {
		m.high = &vec{}
		for k := range m.high {
			m.high[k] = config.Min[k] + max(2, e.total[k]/2)
		}
		config.Max = m.high
	}
	var err error
	if job {
		m.node, err = e.tree.AddJob(parent.node, len(e.nodes), config)
		require.NoError(e.t, err)
		held := vec{}
		for k := range g.kinds {
			held[k] = g.amount(e.r, e.total[k])
		}
		e.charge(m, held)
	} else {
		switch e.r.IntN(12) {
		case 0:
			m.order = pools.FIFO
		case 1:
			m.order, m.fair = pools.Fair(0), true
		}
		config.Order = m.order
		m.node, err = e.tree.AddPool(parent.node, len(e.nodes), config)
		require.NoError(e.t, err)
	}
	if job {
		m.demand[e.r.IntN(g.kinds)] = 1
		require.NoError(e.t, e.tree.Demand(m.node, m.demand))
	}
	parent.kids = append(parent.kids, m)
	e.nodes = append(e.nodes, m)
	return m
}

func (e *exactly) charge(m *model, v vec) {
	e.t.Helper()
	if held := e.root.held(); !v.Fits(resources.Uniform(resources.MaxQuantity/2)) || !held.Fits(resources.Uniform(resources.MaxQuantity/2)) {
		return // more than may be held in all
	}
	m.usage = m.usage.Add(v)
	require.NoError(e.t, e.tree.Charge(m.node, v))
}

// next is the job that comes first by definition: of equals, the one that was
// added first.
func (e *exactly) next(free vec) *model {
	e.root.define(hdrf, e.total, free, free)
	m := e.root
	for !m.job {
		var best *model
		for _, k := range m.kids {
			if k.blocked {
				continue
			}
			if best == nil || e.before(m, k, best) {
				best = k
			}
		}
		if best == nil {
			return nil
		}
		m = best
	}
	return m
}

// before compares two children of a pool, each with room for some task.
func (e *exactly) before(pool, a, b *model) bool {
	d := 0
	if pool.order == nil || a.ratio != nil || b.ratio != nil {
		d = before(a, b)
	}
	if d == 0 && pool.fair { // an order is asked in a tie, too
		x, y := big.NewRat(a.plain[0], 1), big.NewRat(b.plain[0], 1)
		d = x.Quo(x, a.weight).Cmp(y.Quo(y, b.weight))
	}
	if d == 0 {
		d = a.left - b.left
	}
	return d < 0
}

// same compares a job that was picked with that by definition.
func (e *exactly) same(want *model, h pools.Node, ok bool, format string, at string) {
	e.t.Helper()
	require.Equal(e.t, want != nil, ok, format, at)
	if !ok || want.node == h {
		return
	}
	text := ""
	e.root.walk(func(m *model) {
		if m.parent != nil {
			got, _ := e.tree.Share(m.node)
			text += fmt.Sprintf("\n%s in %s: weight %v, holds %v, share %v = %v, have %v, below %v, blocked %v",
				m.name, m.parent.name, m.weight, m.plain[:4], m.share, m.share.FloatString(20), got, m.ratio, m.blocked)
		}
	})
	key, _ := e.tree.Key(h)
	require.Fail(e.t, "another job", format+": want %s, have %d, of %v%s", at, want.name, key, e.total, text)
}

// requireOrder takes the jobs one by one, each of them parked once it was
// picked, and holds the order to the definition.
func (e *exactly) requireOrder(free vec, at string) (parked []*model) {
	e.t.Helper()
	all := resources.Uniform(resources.MaxQuantity)
	for {
		want := e.next(all)
		h, ok := e.tree.First(e.tree.Root())
		e.same(want, h, ok, "%s: First", at)
		want = e.next(free)
		h, ok = e.tree.Pick(free)
		e.same(want, h, ok, "%s: Pick", at)
		if want == nil {
			return parked
		}
		want.demand = vec{}
		require.NoError(e.t, e.tree.Park(want.node))
		parked = append(parked, want)
	}
}

// The order is exact for numbers of any size: shares are compared as fractions. Of
// equal ones that of the child added first comes first.
func TestTree_OrderIsThatOfFractions(t *testing.T) {
	seeds := 100
	if testing.Short() {
		seeds = 30
	}
	for name, g := range regimes {
		t.Run(name, func(t *testing.T) {
			seeds := seeds
			if g.jobs > 100 {
				seeds /= 20
			}
			for seed := range seeds {
				e := newExactly(t, uint64(seed), g)
				free := resources.Uniform(resources.MaxQuantity)
				for step := range 6 {
					if step%2 == 1 {
						free[e.r.IntN(g.kinds)] = 0 // used up: it does not count
					}
					parked := e.requireOrder(free, fmt.Sprintf("seed %d, step %d", seed, step))
					for _, m := range parked {
						m.demand[e.r.IntN(g.kinds)] = 1
						require.NoError(t, e.tree.Demand(m.node, m.demand))
					}
					e.change(g)
					free = e.total
				}
			}
		})
	}
}

// change charges, credits, and gives a job another weight.
func (e *exactly) change(g regime) {
	e.t.Helper()
	jobs := e.root.jobs()
	for range 3 {
		m := jobs[e.r.IntN(len(jobs))]
		v := vec{}
		for k := range g.kinds {
			v[k] = g.amount(e.r, e.total[k])
		}
		switch e.r.IntN(4) {
		case 0:
			v = v.Min(m.usage)
			m.usage, _ = m.usage.Sub(v)
			require.NoError(e.t, e.tree.Credit(m.node, v))
		case 1:
			e.charge(m, m.usage) // in the same direction
		case 2:
			weight := g.weights[e.r.IntN(len(g.weights))]
			m.weight = weightOf(weight)
			require.NoError(e.t, e.tree.SetWeight(m.node, weight))
		default:
			e.charge(m, v)
		}
	}
}
