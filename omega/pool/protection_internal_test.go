package pool

import (
	"cmp"
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/cellsched/cellsched/omega"
	"github.com/cellsched/cellsched/resources"
)

// protectedAt returns by which depth each lease is protected, by slot: the reference for
// the guards of the index. It looks at all leases anew.
func (p *Pool) protectedAt() map[uint32]int {
	var slots []uint32
	for i := range p.leases.records {
		if r := &p.leases.records[i]; r.gen&1 == 1 && !r.preempted {
			slots = append(slots, uint32(i))
		}
	}
	slices.SortFunc(slots, func(a, b uint32) int { return cmp.Compare(p.leases.records[a].grant, p.leases.records[b].grant) })
	safe, used := make(map[uint32]int), make(map[*Tenant]resources.Vector)
	for depth := 4; depth > 0; depth-- {
		for _, slot := range slots {
			r := &p.leases.records[slot]
			g := r.tenant
			for g.depth() > depth {
				g = g.parent
			}
			held := used[g]
			if g.depth() < depth || safe[slot] > 0 || !covers(&g.guarantee, &held, &r.run.Need) {
				continue
			}
			for safe[slot] = depth; g != nil; g = g.parent {
				used[g] = plus(used[g], r.run.Need, 1)
			}
		}
	}
	return safe
}

// The index protects the same leases as a look at all of them, after each change, with
// more leases than a part has.
func TestPreemptible_ProtectsAsALookAtAllLeases(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		p, err := New(Config{Machines: []omega.Machine{{Name: "m", Capacity: resources.Vector{1e6, 1e6}}}, Patience: -1})
		require.NoError(rt, err)
		tree := map[string]*Tenant{}
		var leaves []*Tenant
		for _, name := range []string{"a", "g", "g/b", "g/c", "g/h", "g/h/d", "g/h/e"} {
			var n *Tenant
			if i := len(name) - 2; i > 0 {
				n, err = tree[name[:i]].Tenant(name[i+1:])
			} else {
				n, err = p.Tenant(name)
			}
			require.NoError(rt, err)
			if tree[name] = n; name != "g" && name != "g/h" {
				leaves = append(leaves, n)
			}
		}
		amount := rapid.Int64Range(0, 600)
		for _, name := range []string{"g", "a", "g/h", "g/b", "g/h/d", "g/h/e"} { // some are too large
			_ = tree[name].Set(Settings{Guarantee: resources.Vector{amount.Draw(rt, name), amount.Draw(rt, name) * int64(len(name)%2)}})
		}
		alike := rapid.Bool().Draw(rt, "alike")
		pick, seed := rapid.IntRange(0, 1<<20), rapid.Uint64().Draw(rt, "seed")
		random := func() int { // a lot of numbers, of which single ones say nothing
			seed = seed*6364136223846793005 + 1442695040888963407
			return int(seed >> 40)
		}
		var held []Lease
		acquire := func() {
			need := resources.Vector{2, 1}
			if !alike {
				need = resources.Vector{int64(random() % 5), int64(1 + random()%3)}
			}
			l, ok := leaves[random()%len(leaves)].TryAcquire(need)
			require.True(rt, ok)
			held = append(held, l)
		}
		for range pick.Draw(rt, "before") % 900 {
			acquire()
		}
		p.mu.Lock()
		p.search.use(p.promises.list)
		p.mu.Unlock()
		for range 60 {
			for range 1 + random()%40 {
				switch kind := random() % 8; {
				case kind < 4 || len(held) == 0:
					acquire()
				case kind == 7:
					l := held[random()%len(held)]
					need := l.Need()
					need[1]--
					_ = l.Resize(need)
				default:
					i := random() % len(held)
					require.NoError(rt, held[i].Release())
					held[i] = held[len(held)-1]
					held = held[:len(held)-1]
				}
			}
			require.NoError(rt, p.compareProtection())
		}
	})
}

func (p *Pool) compareProtection() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	want := p.protectedAt()
	for slot, it := range p.search.use(p.promises.list).items {
		if it != nil && it.safe != want[uint32(slot)] {
			return fmt.Errorf("%v of %s is protected at depth %d, want %d", it.need, it.tenant.name, it.safe, want[uint32(slot)])
		}
	}
	sums, fresh := p.search.index.machines[0].sums, newPreemptible(&p.search, p.promises.list).machines[0].sums
	if len(sums) != len(fresh) {
		return fmt.Errorf("%d sums, want %d", len(sums), len(fresh))
	}
	for _, s := range fresh {
		if !slices.Contains(sums, s) {
			return fmt.Errorf("no sum %+v in %+v", s, sums)
		}
	}
	return nil
}
