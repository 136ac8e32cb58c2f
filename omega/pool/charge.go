package pool

import (
	"context"
	"slices"

	"github.com/cellsched/cellsched/locality"
	"github.com/cellsched/cellsched/omega"
	"github.com/cellsched/cellsched/omega/pool/internal/blocks"
)

// chargeOf returns what leases of a tenant are charged to: the class of its outermost
// group as the precedence, and the tenant as the account where each lease counts.
func (l *lender) chargeOf(t *Tenant) uint32 {
	if t.charge > 0 {
		return t.charge - 1
	}
	root := t
	for root.parent != nil {
		root = root.parent
	}
	c := blocks.Charge{Account: l.account, Precedence: max(l.lowest, min(l.highest, omega.Precedence(root.set.Priority)))}
	switch {
	case l.chunk > 1:
	case t.named:
		c.Account = t.account
	default: // that of the pool until the cell has made one
		if !slices.Contains(l.unnamed, t) {
			l.unnamed = append(l.unnamed, t)
			l.kick()
		}
		return l.number(c)
	}
	t.charge = l.number(c) + 1
	return t.charge - 1
}

// number returns the number of a charge.
func (l *lender) number(c blocks.Charge) uint32 {
	n, known := l.byCharge[c]
	if !known {
		n = uint32(len(l.charges))
		l.charges = append(l.charges, c)
		l.byCharge[c] = n
	}
	return n
}

// nameAccounts has the cell make an account for each tenant that has none. What a tenant
// has got since is charged there, too.
func (p *Pool) nameAccounts() {
	l := p.lend
	list := l.unnamed
	if len(list) == 0 {
		return
	}
	l.unnamed = nil
	accounts := make([]omega.Account, len(list))
	l.outside(func() {
		for i, t := range list {
			var err error
			if accounts[i], err = l.scheduler.Cell().Account(context.Background(), t.name); err != nil {
				accounts[i] = l.account // the name is too long
			}
		}
	})
	for i, t := range list {
		t.named, t.account = true, accounts[i]
	}
	for _, r := range p.granted() {
		if r.detached || !slices.Contains(list, r.tenant) {
			continue
		}
		l.gave(r, &r.run.Need)
		l.took(r.tenant, r)
		l.mark(locality.Node(r.node))
	}
}
