package pools_test

import (
	"math/big"

	"github.com/cellsched/cellsched/drf/pools"
	"github.com/cellsched/cellsched/resources"
)

type vec = resources.Vector

// rule is a definition of a pool's consumption.
type rule int

const (
	hdrf        rule = iota // the definition
	naive                   // plain sums, used-up kinds counted
	rescaleOnly             // all scaled, blocked or not; used-up kinds counted
	withEmpty               // the definition, except that M counts jobs without usage
)

// model is a tree by definition: it keeps the caller's settings alone, and computes
// the rest from scratch, in fractions.
type model struct {
	name     string
	node     pools.Node
	parent   *model
	kids     []*model
	job      bool
	order    pools.Order // nil is DRF
	fair     bool        // order is [pools.Fair] of the first kind
	weight   *big.Rat
	low      vec
	high     *vec
	usage    vec // of jobs
	demand   vec
	blocked  bool
	share    *big.Rat
	ratio    *big.Rat // of min share, where below it
	consumed [resources.MaxKinds]*big.Rat
	plain    vec
	left     int // tasks
}

func (m *model) held() (sum vec) {
	if m.job {
		return m.usage
	}
	for _, k := range m.kids {
		sum = sum.Add(k.held())
	}
	return sum
}

// define computes the blocked nodes, all consumptions and all shares.
func (m *model) define(how rule, total, free, room vec) {
	m.plain = m.held()
	if m.high != nil {
		for k := range room {
			room[k] = min(room[k], max(0, m.high[k]-m.plain[k]))
		}
	}
	for k := range m.consumed {
		m.consumed[k] = new(big.Rat)
	}
	ignored := func(k int) bool {
		return total[k] == 0 || how != rescaleOnly && how != naive && !m.job && free[k] == 0
	}
	if m.job {
		m.blocked = m.demand == vec{} || !m.demand.Fits(room)
		for k, q := range m.usage {
			if total[k] > 0 {
				m.consumed[k].SetFrac64(q, total[k])
			}
		}
	} else {
		m.blocked = true
		var least *big.Rat
		for _, c := range m.kids {
			c.define(how, total, free, room)
			m.blocked = m.blocked && c.blocked
			if (!c.blocked || how == rescaleOnly) && (c.share.Sign() > 0 || how == withEmpty) && (least == nil || c.share.Cmp(least) < 0) {
				least = c.share
			}
		}
		for _, c := range m.kids {
			scale := big.NewRat(1, 1)
			if m.order == nil && how != naive && (!c.blocked || how == rescaleOnly) {
				if c.share.Sign() == 0 || least == nil {
					scale.SetInt64(0)
				} else {
					scale.Quo(least, c.share)
				}
			}
			for k := range m.consumed {
				if m.order != nil { // counts as the plain sum
					if total[k] > 0 {
						m.consumed[k].SetFrac64(m.plain[k], total[k])
					}
					continue
				}
				m.consumed[k].Add(m.consumed[k], new(big.Rat).Mul(scale, c.consumed[k]))
			}
		}
	}
	m.share = new(big.Rat)
	for k, c := range m.consumed {
		if ignored(k) {
			continue
		}
		if c.Cmp(m.share) > 0 {
			m.share.Set(c)
		}
	}
	m.share.Quo(m.share, m.weight)
	m.ratio = nil
	if m.low != (vec{}) {
		m.ratio = new(big.Rat)
		for k, q := range m.low {
			if q > 0 {
				if r := big.NewRat(m.plain[k], q); r.Cmp(m.ratio) > 0 {
					m.ratio = r
				}
			}
		}
		if m.ratio.Cmp(big.NewRat(1, 1)) >= 0 {
			m.ratio = nil
		}
	}
}

// before compares two children of a DRF pool: a child below its min share first, by
// the part of it, then by share.
func before(a, b *model) int {
	switch {
	case a.ratio != nil && b.ratio != nil:
		return a.ratio.Cmp(b.ratio)
	case a.ratio != nil:
		return -1
	case b.ratio != nil:
		return 1
	}
	return a.share.Cmp(b.share)
}

// pick follows the definition; first listed wins ties.
func (m *model) pick() *model {
	for !m.job {
		var best *model
		for _, k := range m.kids {
			if !k.blocked && (best == nil || before(k, best) < 0) {
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

func (m *model) walk(visit func(*model)) {
	visit(m)
	for _, k := range m.kids {
		k.walk(visit)
	}
}

func (m *model) jobs() (jobs []*model) {
	m.walk(func(n *model) {
		if n.job {
			jobs = append(jobs, n)
		}
	})
	return jobs
}

func (m *model) below(root *model) bool {
	for ; m != nil; m = m.parent {
		if m == root {
			return true
		}
	}
	return false
}

func near(a float64, b *big.Rat) bool {
	f, _ := b.Float64()
	return a >= f*(1-1e-9)-1e-18 && a <= f*(1+1e-9)+1e-18
}

func weightOf(w float64) *big.Rat { return new(big.Rat).SetFloat64(w) }
