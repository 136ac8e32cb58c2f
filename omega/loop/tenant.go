package loop

import (
	"github.com/cellsched/cellsched/drf"
	"github.com/cellsched/cellsched/drf/pools"
	"github.com/cellsched/cellsched/omega"
	"github.com/cellsched/cellsched/resources"
)

// tenant is an account with its jobs in an order.
type tenant[K any] struct {
	account omega.Account
	user    drf.User
	leaf    pools.Node       // of a tree
	held    resources.Vector // as it was read last
	jobs    byPrecedence[K]
	place   int // in the ring
}

// reads is how many accounts a step reads: some 40 ns each, in a step of 3.5 µs.
const reads = 64

// ring is tenants of which each step reads some in turn. The first seen of them were
// read in this round, so that none is passed over as others come and go.
type ring[K any] struct {
	list   []*tenant[K]
	seen   int
	served *tenant[K] // last
	fresh  bool       // this step has read
}

func (r *ring[K]) add(t *tenant[K]) {
	t.place = len(r.list)
	r.list = append(r.list, t)
}

// leave takes a tenant out. Those read in this round stay in front.
func (r *ring[K]) leave(t *tenant[K]) {
	gap := t.place
	if gap < r.seen {
		r.seen--
		r.move(r.seen, gap)
		gap = r.seen
	}
	last := len(r.list) - 1
	if gap < last {
		r.move(last, gap)
	}
	r.list[last] = nil
	r.list = r.list[:last]
}

func (r *ring[K]) move(from, to int) {
	r.list[to] = r.list[from]
	r.list[to].place = to
}

// read looks at the tenant that was served last and at the next ones of the ring, unless
// this step has done so.
func (r *ring[K]) read(look func(*tenant[K])) {
	if r.fresh {
		return
	}
	r.fresh = true
	if r.served != nil {
		look(r.served)
	}
	for range min(reads, len(r.list)) {
		if r.seen >= len(r.list) {
			r.seen = 0
		}
		look(r.list[r.seen])
		r.seen++
	}
}

// must panics if an order is not as it was left: its own calls cannot fail.
func must(err error) {
	if err != nil {
		panic(err)
	}
}
