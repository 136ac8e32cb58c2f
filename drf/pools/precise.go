package pools

import (
	"math/big"

	"github.com/cellsched/cellsched/resources"
)

// precise is the definition of hierarchical DRF, computed from scratch with a given
// number of binary digits.
type precise struct {
	core   *core
	digits uint
	// supposed says that every job within its max shares is open and no kind is used
	// up, as for [Tree.First]. Otherwise the state is that of the last Pick.
	supposed bool
}

// share is the consumption of a node by kind, and its weighted share.
type share struct {
	consumed [resources.MaxKinds]*big.Float
	of       *big.Float
	open     bool
}

const (
	// fewDigits is enough for most shares that float64 cannot order.
	fewDigits = 256
	// mostDigits is the limit beyond which shares count as equal.
	mostDigits = 1 << 14
	// lost bounds the digits that a walk loses by rounding. Sums are of up to 2^24
	// numbers, none of them negative.
	lost = 128
)

// tellApart compares the shares of two members that differ by little. Room is nil
// for the state of the last Pick, else it is that of [core.suppose].
func (c *core) tellApart(x, y uint32, room *resources.Vector) int {
	for digits := uint(fewDigits); digits <= mostDigits; digits *= 2 {
		p := precise{c, digits, room != nil}
		a, b := p.walk(x, room).of, p.walk(y, room).of
		d := p.number().Sub(a, b)
		if d.Sign() != 0 && d.MantExp(nil) > max(a.MantExp(nil), b.MantExp(nil))-int(digits-lost) {
			return d.Sign()
		}
	}
	return 0
}

// precisely returns the kind with the largest part consumed by a pool.
func (c *core) precisely(slot uint32, room *resources.Vector) (kind int) {
	p := precise{c, 4 * fewDigits, room != nil}
	s := p.walk(slot, room)
	for k := range c.kinds {
		if s.consumed[k].Cmp(s.consumed[kind]) > 0 {
			kind = k
		}
	}
	return kind
}

func (p *precise) number() *big.Float { return new(big.Float).SetPrec(p.digits) }

// part returns an amount as a part of its total.
func (p *precise) part(amount int64, kind int) *big.Float {
	total := p.core.total[kind]
	if total == 0 {
		return p.number()
	}
	return p.number().Quo(p.number().SetInt64(amount), p.number().SetInt64(total))
}

// walk computes the share of a node from those below it.
func (p *precise) walk(slot uint32, room *resources.Vector) (s share) {
	c := p.core
	n := &c.nodes[slot]
	if p.supposed {
		here := c.headroom(slot, *room)
		room = &here
	}
	for k := range c.kinds {
		s.consumed[k] = p.part(n.usage[k], k)
	}
	counted := ^kinds(0)
	if n.sort == isJob {
		s.open = n.in != none && (p.supposed && resources.Fits(c.demand(slot), room) || !p.supposed && c.opened(n))
	} else {
		p.combine(slot, room, &s)
		if !p.supposed {
			counted = ^c.usedUp
		}
	}
	s.of = p.number()
	for k := range c.kinds {
		if counted>>k&1 == 1 && s.consumed[k].Cmp(s.of) > 0 {
			s.of.Set(s.consumed[k])
		}
	}
	s.of.Quo(s.of, p.number().SetFloat64(n.weight))
	return s
}

// combine computes the consumption of a pool.
func (p *precise) combine(slot uint32, room *resources.Vector, s *share) {
	c := p.core
	var sum, blocked [resources.MaxKinds]*big.Float
	for k := range c.kinds {
		sum[k], blocked[k] = p.number(), p.number()
	}
	var least *big.Float
	for child := c.settings[slot].first; child != none; child = c.settings[child].next {
		below := p.walk(child, room)
		s.open = s.open || below.open
		for k := range c.kinds {
			switch {
			case !below.open:
				blocked[k].Add(blocked[k], below.consumed[k])
			case below.of.Sign() > 0:
				sum[k].Add(sum[k], below.consumed[k].Quo(below.consumed[k], below.of))
			}
		}
		if below.open && below.of.Sign() > 0 && (least == nil || below.of.Cmp(least) < 0) {
			least = below.of
		}
	}
	if c.nodes[slot].group.order != nil {
		return // it counts as the plain sum
	}
	for k := range c.kinds {
		s.consumed[k] = blocked[k]
		if least != nil {
			s.consumed[k].Add(s.consumed[k], sum[k].Mul(sum[k], least))
		}
	}
}
