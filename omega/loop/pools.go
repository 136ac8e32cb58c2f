package loop

import (
	"time"

	"github.com/cellsched/cellsched/drf/pools"
	"github.com/cellsched/cellsched/internal/fault"
	"github.com/cellsched/cellsched/omega"
	"github.com/cellsched/cellsched/resources"
)

// ByPools is an [Order] by a tree of pools: the next job is one of the account that
// [pools.Tree.Pick] returns the leaf of. Pools have weights, minimum shares, maximum
// shares and orders of their own, on all levels.
//
//   - A leaf is a job of the tree, and stands for an account: see [ByPools.SetLeaf]. Jobs
//     of accounts without one come last, and so do jobs larger than the tree's total.
//   - Usage is the usage of an account in the cell, by any scheduler. A step reads the
//     usage of 64 leaves, and of the leaf served last. Releases need no call.
//   - A job is held back while its next task does not fit below the maximum shares, or in
//     the rest of the tree's total. A turn places no more tasks than the maximum shares
//     leave. A gang counts as a whole.
//   - The jobs of one account go by precedence and then by arrival.
//
// The maximum shares hold for the placements of this loop. Other schedulers may place for
// the same accounts. The maximum shares may then be exceeded by the placements since the
// last read.
//
// The tree belongs to the order: weights and limits may be changed in the callbacks of
// the loop, usage and demands may not. Orders are made by [NewByPools]; [New] refuses a
// nil or zero ByPools. Cost: one pick and one demand, the reads once a step, and a read
// of all leaves when none may go.
type ByPools[K any] struct {
	tree   tree
	usage  func(omega.Account) (resources.Vector, error)
	known  map[omega.Account]*tenant[K]
	byLeaf map[pools.Node]*tenant[K]
	leaves ring[K]
	others byPrecedence[K] // of accounts without a leaf, or too large
	aside  []*Pending[K]   // beyond a maximum share even with no usage
}

// tree is [pools.Tree] without its keys.
type tree interface {
	Demand(job pools.Node, next resources.Vector) error
	Park(job pools.Node) error
	Charge(job pools.Node, v resources.Vector) error
	Credit(job pools.Node, v resources.Vector) error
	Pick(free resources.Vector) (job pools.Node, ok bool)
	Usage(h pools.Node) (usage resources.Vector, ok bool)
	Config(h pools.Node) (config pools.Config, ok bool)
	Parent(h pools.Node) (parent pools.Node, ok bool)
	Root() pools.Node
	Total() resources.Vector
}

// NewByPools returns an order by a tree of pools without leaves. Usage returns the
// holdings of an account: it is [omega.Cell.Usage] of the cell. If usage returns an
// error, the account counts as empty.
//
//	order, err := loop.NewByPools[string](tree, cell.Usage)
//
// Errors: [resources.ErrNil] for no tree, a zero one, or no usage.
func NewByPools[K any, P comparable](
	t *pools.Tree[P], usage func(omega.Account) (resources.Vector, error),
) (*ByPools[K], error) {
	switch {
	case t == nil || t.Total() == resources.Vector{}:
		return nil, absent("tree")
	case usage == nil:
		return nil, absent("usage")
	}
	return &ByPools[K]{
		tree: t, usage: usage, known: map[omega.Account]*tenant[K]{}, byLeaf: map[pools.Node]*tenant[K]{},
	}, nil
}

// SetLeaf has a job of the tree stand for an account, which has none yet. Errors:
// [pools.ErrNode] for a node that is no job of the tree; [ErrConfig] for an account that
// has a leaf, and a leaf that has an account; [resources.ErrNil].
func (b *ByPools[K]) SetLeaf(a omega.Account, leaf pools.Node) error {
	if !b.made() {
		return absent("receiver")
	}
	if err := b.tree.Park(leaf); err != nil {
		return fault.Newf("loop", err, "leaf of account %d", a)
	}
	if b.known[a] != nil || b.byLeaf[leaf] != nil {
		return fault.Newf("loop", ErrConfig, "leaf of account %d: it, or the leaf, has another", a)
	}
	t := &tenant[K]{account: a, leaf: leaf}
	b.known[a], b.byLeaf[leaf] = t, t
	b.leaves.add(t)
	b.readUsage(t)
	return nil
}

// Push brings in a job.
func (b *ByPools[K]) Push(p *Pending[K]) {
	if !b.made() {
		return
	}
	t := b.known[p.job.Account]
	if t == nil {
		b.others.Push(p)
		return
	}
	t.jobs.Push(p)
	b.demand(t)
}

// Next takes out the first job of the account that the tree picks.
func (b *ByPools[K]) Next() *Pending[K] {
	if !b.made() {
		return nil
	}
	b.leaves.read(b.readUsage)
	leaf, ok := b.pick()
	if !ok {
		return b.others.Next()
	}
	t := b.byLeaf[leaf]
	b.leaves.served = t
	p := t.jobs.Next()
	p.Ration(max(1, b.room(leaf, &p.job.Need, p.Left(), true))) // the tree has picked it
	b.demand(t)
	return p
}

// Advance begins a step: see [Order].
func (b *ByPools[K]) Advance(time.Time) {
	if b.made() {
		b.leaves.fresh = false
	}
}

// Held reports whether jobs wait for room below a maximum share, or in the total: see
// [Order].
func (b *ByPools[K]) Held(now time.Time, _ func()) (until time.Time, held bool) {
	if !b.made() {
		return time.Time{}, false
	}
	aside := b.aside
	b.aside = nil
	for _, p := range aside { // limits may have changed
		if !p.Done() {
			b.Push(p)
		}
	}
	waits := len(b.aside) > 0
	for _, t := range b.leaves.list {
		b.readUsage(t)
		if len(t.jobs.jobs) > 0 && t.jobs.jobs[0].Done() {
			b.demand(t)
		}
		waits = waits || len(t.jobs.jobs) > 0
	}
	if _, ok := b.pick(); ok {
		return now, true // something was released since
	}
	return time.Time{}, waits
}

// pick returns the next leaf whose demand fits in the rest of the total.
func (b *ByPools[K]) pick() (leaf pools.Node, ok bool) {
	total := b.tree.Total()
	free, _ := total.Sub(b.used(b.tree.Root()).Min(total))
	return b.tree.Pick(free)
}

// demand sets the demand of a tenant's leaf to the need of its first job. Jobs
// beyond a maximum share, or beyond the total, do not hold up the jobs behind them.
func (b *ByPools[K]) demand(t *tenant[K]) {
	for len(t.jobs.jobs) > 0 {
		p := t.jobs.jobs[0]
		next := p.job.Need
		if p.job.Gang {
			next = next.Scale(int64(p.job.Tasks))
		}
		switch {
		case p.Done():
		case !next.Fits(b.tree.Total()):
			b.others.Push(p)
		case b.room(t.leaf, &next, 1, false) < 1:
			b.aside = append(b.aside, p)
		case b.tree.Demand(t.leaf, next) == nil:
			return
		default: // the leaf is gone
			b.others.Push(p)
		}
		t.jobs.Next()
	}
	_ = b.tree.Park(t.leaf)
}

// room returns how many tasks, up to most, fit below the maximum shares of a leaf and
// of its pools, with the present usage or without it.
func (b *ByPools[K]) room(leaf pools.Node, need *resources.Vector, most int, used bool) int {
	n := int64(most)
	for h, ok := leaf, true; ok; h, ok = b.tree.Parent(h) {
		config, _ := b.tree.Config(h)
		if config.Max == nil {
			continue
		}
		left := *config.Max
		if used {
			left, _ = left.Sub(b.used(h).Min(left))
		}
		for k, q := range need {
			if q > 0 {
				n = min(n, left[k]/q)
			}
		}
	}
	return int(n)
}

func (b *ByPools[K]) used(h pools.Node) resources.Vector {
	used, _ := b.tree.Usage(h)
	return used
}

// readUsage reads the usage of one account.
func (b *ByPools[K]) readUsage(t *tenant[K]) {
	held, err := b.usage(t.account)
	if err != nil {
		held = resources.Vector{}
	}
	if held != t.held && b.tree.Credit(t.leaf, t.held) == nil {
		t.held = resources.Vector{}
		if b.tree.Charge(t.leaf, held) == nil {
			t.held = held
		}
	}
}

// made reports whether b is made by [NewByPools].
func (b *ByPools[K]) made() bool { return b != nil && b.tree != nil }
