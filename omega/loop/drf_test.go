package loop_test

import (
	"github.com/cellsched/cellsched/drf"
	"github.com/cellsched/cellsched/omega"
	"github.com/cellsched/cellsched/omega/loop"
	"github.com/cellsched/cellsched/resources"
)

// byShare is an order by dominant resource fairness: the account that holds
// the smallest dominant share is next, with the first of its jobs.
type byShare struct {
	heap  *drf.Heap[omega.Account]
	total resources.Vector
	jobs  map[omega.Account]loop.Order[string]
	heads map[omega.Account]*loop.Pending[string]
}

func newByShare(total resources.Vector) *byShare {
	h, err := drf.New[omega.Account](total)
	if err != nil {
		panic(err)
	}
	return &byShare{h, total, map[omega.Account]loop.Order[string]{}, map[omega.Account]*loop.Pending[string]{}}
}

func (b *byShare) user(a omega.Account) drf.User {
	u, ok := b.heap.User(a)
	if !ok {
		u, _ = b.heap.Add(a, 1)
		b.jobs[a] = loop.FIFO[string]()
	}
	return u
}

func (b *byShare) Push(p *loop.Pending[string]) {
	a := p.Job().Account
	u := b.user(a)
	if b.heads[a] != nil {
		b.jobs[a].Push(p)
		return
	}
	b.heads[a] = p
	_ = b.heap.Demand(u, p.Job().Need)
}

func (b *byShare) Next() *loop.Pending[string] {
	u, ok := b.heap.Pick(b.total)
	if !ok {
		return nil
	}
	a, _ := b.heap.Key(u)
	p := b.heads[a]
	if b.heads[a] = b.jobs[a].Next(); b.heads[a] != nil {
		_ = b.heap.Demand(u, b.heads[a].Job().Need)
	} else {
		_ = b.heap.Park(u)
	}
	return p
}

// observe is the hook: what was granted is charged.
func (b *byShare) observe(e loop.Event[string]) {
	j := e.Pending.Job()
	_ = b.heap.Charge(b.user(j.Account), j.Need.Scale(int64(len(e.Allocations))))
}
