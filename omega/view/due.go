package view

import (
	"math"
	"strings"

	"github.com/cellsched/cellsched/omega/pool"
	"github.com/cellsched/cellsched/resources"
)

// due returns the present fair share of each tenant of a pool, by position. It divides
// the sum of the siblings' dominant shares by weight:
//
//   - the fair share of a tenant without a waiting request is at most its own share;
//   - the fair share of a tenant with a guarantee is at least the guarantee, or the
//     demand if that is smaller;
//   - the tenants of a group divide the fair share of the group.
//
// It is weighted max-min fairness, for the amounts that the pool has granted.
func due(tenants []pool.TenantStats, total resources.Vector) []float64 {
	result := make([]float64, len(tenants))
	parents := groups(tenants)
	children := make(map[int][]int) // by position of the group, -1 for the root
	for i, p := range parents {
		children[p] = append(children[p], i)
	}
	var divide func(group int, amount float64)
	divide = func(group int, amount float64) {
		all := children[group]
		claims := make([]claim, len(all))
		for i, at := range all {
			t := &tenants[at]
			held := t.Share * t.Weight
			least, _, _ := t.Guaranteed.DominantShare(total)
			most := held
			if t.Waiting > 0 { // its demand is not known in all: no bound
				most = math.Inf(1)
			}
			claims[i] = claim{weight: t.Weight, least: least, most: most}
		}
		fill := level(claims, amount)
		for i, at := range all {
			result[at] = claims[i].at(fill)
			if len(children[at]) > 0 {
				divide(at, result[at])
			}
		}
	}
	sum := 0.0
	for _, at := range children[-1] {
		sum += tenants[at].Share * tenants[at].Weight
	}
	divide(-1, sum)
	return result
}

// claim bounds the share of a tenant.
type claim struct{ weight, least, most float64 }

// at returns the tenant's share at a level: the level times its weight, within its
// bounds.
func (c claim) at(level float64) float64 { return min(max(level*c.weight, c.least), c.most) }

// level returns how much for its weight each has where all together have an amount: a
// share for a weight of one. It is 0 where the least is more already.
func level(claims []claim, amount float64) float64 {
	sum := func(level float64) (s float64) {
		for _, c := range claims {
			s += c.at(level)
		}
		return s
	}
	low, high := 0.0, 1.0
	for range 64 { // weights are 1e-6 and more, amounts some units at most
		if sum(high) >= amount {
			break
		}
		high *= 2
	}
	if sum(high) < amount {
		return high // none asks for more
	}
	for range 60 {
		if mid := (low + high) / 2; sum(mid) < amount {
			low = mid
		} else {
			high = mid
		}
	}
	return high
}

// groups returns the position of the group that each tenant is in, -1 for none. The
// counts of a group are the sums over its tenants. A tenant whose name is a prefix of
// another, with a slash, is no group if its counts are no such sums.
func groups(tenants []pool.TenantStats) []int {
	at := make(map[string]int, len(tenants))
	for i := range tenants {
		at[tenants[i].Name] = i
	}
	parents := make([]int, len(tenants))
	type counts struct {
		leases, waiting int
		granted         uint64
	}
	sums := make(map[int]counts)
	for i := range tenants {
		parents[i] = -1
		for name := tenants[i].Name; ; {
			slash := strings.LastIndexByte(name, '/')
			if slash < 0 {
				break
			}
			name = name[:slash]
			if p, ok := at[name]; ok {
				parents[i] = p
				break
			}
		}
	}
	leaf := make([]bool, len(tenants))
	for i := range leaf {
		leaf[i] = true
	}
	for _, p := range parents {
		if p >= 0 {
			leaf[p] = false
		}
	}
	for i := range tenants {
		if leaf[i] {
			for p := parents[i]; p >= 0; p = parents[p] {
				c := sums[p]
				sums[p] = counts{c.leases + tenants[i].Leases, c.waiting + tenants[i].Waiting, c.granted + tenants[i].Granted}
			}
		}
	}
	for i, p := range parents {
		for p >= 0 && sums[p] != (counts{tenants[p].Leases, tenants[p].Waiting, tenants[p].Granted}) {
			p = parents[p]
		}
		parents[i] = p
	}
	return parents
}
