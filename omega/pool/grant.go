package pool

import (
	"errors"
	"fmt"

	"github.com/cellsched/cellsched/locality"
	"github.com/cellsched/cellsched/omega"
	"github.com/cellsched/cellsched/resources"
)

// maxLeases is how many leases a machine can hold at a time.
const maxLeases = omega.MaxAllocations

// grant commits a need on a node where there is room for it. Called with the
// pool's mutex held, as is all of this file.
func (p *Pool) grant(t *tenant, need resources.Vector, node locality.Node, level locality.Level) *Lease {
	p.tx.Reset()
	p.tx.Gang = false
	p.tx.Claim(omega.Claim{Machine: p.machines[node], Need: need})
	p.commit()
	return p.lease(t, 0, need, level)
}

// grantAll commits the needs of w in one step, or returns nil if they are too
// many for a machine to hold.
func (p *Pool) grantAll(w *waiter, nodes []locality.Node) []*Lease {
	p.tx.Reset()
	p.tx.Gang = true
	more := make([]int, len(p.machines))
	for i, node := range nodes {
		if more[node]++; p.count[node]+more[node] > maxLeases {
			return nil
		}
		p.tx.Claim(omega.Claim{Machine: p.machines[node], Need: w.needs[i]})
	}
	p.commit()
	leases := make([]*Lease, len(nodes))
	for i, node := range nodes {
		leases[i] = p.lease(w.tenant, i, w.needs[i], p.topology.Level(node, w.prefer...))
	}
	return leases
}

// commit commits what fits. The snapshot is of the pool's own scheduler, and
// that alone commits to the cell, so nothing is ever refused.
func (p *Pool) commit() {
	if granted, err := p.sched.Commit(&p.tx); err != nil || granted < p.tx.Len() {
		panic(fmt.Sprintf("pool: the cell granted %d of %d claims that fit: %v", granted, p.tx.Len(), errors.Join(err, p.tx.Err(0))))
	}
}
