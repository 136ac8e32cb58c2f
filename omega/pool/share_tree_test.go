package pool_test

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/cellsched/cellsched/omega/pool"
)

// branch is a tenant or group of a random tree, and the slots that it is due: the
// weighted max-min share within the limits at and below it.
type branch struct {
	weight   float64
	limit    float64 // in slots; 0 for none
	children []*branch
	load     *load
}

// most returns the slots that a branch can use.
func (b *branch) most(slots float64) float64 {
	sum := slots
	if b.children != nil {
		sum = 0
		for _, c := range b.children {
			sum += c.most(slots)
		}
	}
	if b.limit > 0 {
		sum = min(sum, b.limit)
	}
	return min(sum, slots)
}

// due shares slots among the tenants below a branch.
func (b *branch) due(slots float64, to map[*load]float64) {
	if b.load != nil {
		to[b.load] = slots
		return
	}
	left := append([]*branch(nil), b.children...)
	for len(left) > 0 { // the branches that cannot use their share get all they can
		weights := 0.0
		for _, c := range left {
			weights += c.weight
		}
		var rest []*branch
		used := 0.0
		for _, c := range left {
			if most := c.most(1e9); most <= slots*c.weight/weights {
				c.due(most, to)
				used += most
			} else {
				rest = append(rest, c)
			}
		}
		if len(rest) == len(left) {
			for _, c := range left {
				c.due(slots*c.weight/weights, to)
			}
			return
		}
		slots, left = slots-used, rest
	}
}

// Slot time is the weighted max-min share at each level of a tree with limits at all
// levels, where each tenant always has tasks that wait.
func TestPool_SlotTimeIsTheMaxMinShareInATreeWithLimits(t *testing.T) {
	trees := uint64(40)
	if testing.Short() {
		trees = 10
	}
	for seed := range trees {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				rng := rand.New(rand.NewPCG(seed, 7))
				slots := int64(1 + rng.IntN(12))
				p := newPool(t, oneMachine(slots))
				var loads []*load
				settings := func(b *branch) pool.Settings {
					s := pool.Settings{Weight: b.weight}
					if b.limit > 0 {
						s.Limit, s.Limited = v(int64(b.limit), int64(b.limit)), true
					}
					return s
				}
				var grow func(depth int, handle func(string, pool.Settings) *pool.Tenant) *branch
				grow = func(depth int, handle func(string, pool.Settings) *pool.Tenant) *branch {
					b := &branch{weight: []float64{1, 1, 2, 5, 10}[rng.IntN(5)]}
					if rng.IntN(3) == 0 {
						b.limit = float64(1 + rng.IntN(int(slots)))
					}
					if depth == 3 || depth > 0 && rng.IntN(2) == 0 {
						b.load = &load{tenant: handle(fmt.Sprint(len(loads)), settings(b)), need: v(1), length: 50 * time.Millisecond, workers: int(3 * slots)}
						loads = append(loads, b.load)
						return b
					}
					if depth > 0 {
						g := handle(fmt.Sprint("g", rng.Uint32()), settings(b))
						handle = func(name string, s pool.Settings) *pool.Tenant {
							c, err := g.Tenant(name, s)
							require.NoError(t, err)
							return c
						}
					} else {
						b.limit = 0
					}
					for range 2 + rng.IntN(2) {
						b.children = append(b.children, grow(depth+1, handle))
					}
					return b
				}
				top := grow(0, func(name string, s pool.Settings) *pool.Tenant { return tenant(t, p, name, s) })
				want := map[*load]float64{}
				top.due(min(float64(slots), top.most(1e9)), want)
				const length = 200 * time.Second
				run(t, length, loads...)
				for i, l := range loads {
					got := l.ran.Seconds() / length.Seconds()
					require.InDelta(t, want[l], got, 0.15*want[l]+0.02, "tenant %d of %d slots", i, slots)
				}
			})
		})
	}
}
