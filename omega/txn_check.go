package omega

import (
	"fmt"
	"slices"
	"time"

	"github.com/cellsched/cellsched/resources"
)

// check validates t against the cell. It changes nothing but t.
func (t *Txn) check(s *Scheduler) error {
	switch {
	case t.bad != nil:
		return t.bad
	case len(t.items) == 0 && len(t.reserves) == 0:
		return errEmpty
	case t.Detect > Coarse: // no copy could decode it
		return unknown("detection %d, want Fine, CoarseClaims or Coarse", t.Detect)
	}
	if t.ends = false; len(t.reserves) > 0 {
		if err := t.checkReserves(s); err != nil {
			return err
		}
	}
	if t.Grace < 0 && t.Grace != AtOnce {
		return fmt.Errorf("%w: %v: want 0 or more, or AtOnce", errGrace, t.Grace)
	}
	t.preempts = false
	if len(t.items) == 1 {
		if t.items[0].kind != releaseItem {
			return t.checkClaim(s, 0) // a gang of one is within every limit
		}
		return nil
	}
	return t.checkClaims(s)
}

// checkClaims validates the claims of a transaction of several items.
func (t *Txn) checkClaims(s *Scheduler) error {
	claims := 0
	var sum resources.Vector
	for i := range t.items {
		it := &t.items[i]
		if it.kind == releaseItem {
			continue
		}
		claims++
		if err := t.checkClaim(s, i); err != nil {
			return err
		}
		// Neither the sum before nor the need is more than 2^62, so that an overflow is negative.
		// Check refuses that.
		add(&sum, &it.claim.Need)
		all := sum[0] | sum[1] | sum[2] | sum[3] | sum[4] | sum[5] | sum[6] | sum[7]
		if uint64(all) > uint64(resources.MaxQuantity) && sum.Check() != nil {
			return refuse(resources.ErrQuantity, "item %d: needs add up to more than 2^62 of a kind", i)
		}
	}
	if most := s.owner.limits.Gang; t.Gang && most > 0 && claims > most {
		return limit("scheduler %q: gang of %d claims, limit of %d", s.owner.name, claims, most)
	}
	return nil
}

func (t *Txn) checkClaim(s *Scheduler, i int) error {
	c, it := s.cell, &t.items[i]
	switch {
	case it.kind == resizeItem:
		// Of a dead allocation it is the machine that has its number now, if any.
		it.claim.Machine = c.machine(it.from[0].node(), 0)
		if node := it.from[0].node(); node < c.nodes.Load() {
			it.claim.Machine = load(c.words.at(node)).spec.id
		}
	case it.claim.Machine == 0:
		return unknown("machine in item %d: the claim names none", i)
	case !c.gave(it.claim.Machine, s.maker.Number()):
		return unknown("%s in item %d", c.called(it.claim.Machine), i)
	}
	if c.ledger(it.claim.Account) == nil {
		return unknown("account %d in item %d", it.claim.Account, i)
	}
	if g := it.claim.Grantee; g != nil && g.cell != c {
		return unknown("grantee in item %d: not a scheduler of the cell", i)
	}
	if err := it.claim.Need.CheckNeed(); err != nil {
		if it.kind == resizeItem && it.claim.Need == (resources.Vector{}) {
			return refuse(resources.ErrQuantity, "item %d: resize of allocation %v to nothing, want a release of it", i, it.from[0])
		}
		return refuse(c.inUnits(err, &it.claim.Need), "item %d: claim on %s", i, c.called(it.claim.Machine))
	}
	if it.plain() {
		return nil
	}
	if it.kind == followerItem && it.claim.Machine != t.items[i-1].claim.Machine {
		return fmt.Errorf("%w: item %d: claim on %s follows one on %s", errExchange, i, c.called(it.claim.Machine), c.called(t.items[i-1].claim.Machine))
	}
	for _, a := range it.from {
		if it.kind == claimItem && !c.foreign(a) && a.node() != it.node() {
			return fmt.Errorf("%w: item %d: allocation %v for a claim on %s", errExchange, i, a, c.called(it.claim.Machine))
		}
	}
	t.preempts = t.preempts || len(it.claim.Victims) > 0
	if len(it.claim.Victims) > 0 {
		if err := t.checkGrace(i); err != nil {
			return err
		}
	}
	for n, v := range it.claim.Victims {
		switch {
		case c.foreign(v):
			return fmt.Errorf("%w: item %d: victim %v of another cell, for a claim on %s", errVictim, i, v, c.called(it.claim.Machine))
		case v.node() != it.node():
			return fmt.Errorf("%w: item %d: victim %v of a claim on %s: not on that machine", errVictim, i, v, c.called(it.claim.Machine))
		case slices.Contains(it.claim.Victims[:n], v):
			return fmt.Errorf("%w: item %d: victim %v is named twice", errVictim, i, v)
		}
	}
	return nil
}

// checkGrace returns an error unless it is known when the victims of item i are to
// have stopped.
func (t *Txn) checkGrace(i int) error {
	victims := len(t.items[i].claim.Victims)
	switch {
	case t.Now.IsZero():
		return fmt.Errorf("%w: item %d has %d victims, but the transaction's Now is not set", errGrace, i, victims)
	case t.Grace == 0:
		return fmt.Errorf("%w: item %d has %d victims, but the transaction's Grace is 0, want more, or AtOnce", errGrace, i, victims)
	}
	return nil
}

// longestGrace is the longest grace, a hundred years: a time that far ahead is one
// that others can represent.
const longestGrace = 100 * 365 * 24 * time.Hour

// time returns the time of the commit, the zero time if it is not known.
func (t *Txn) time() time.Time {
	if t.at.After(t.Now) {
		return t.at
	}
	return t.Now
}

// until returns when the victims are to have stopped.
func (t *Txn) until() time.Time { return t.Now.Add(min(max(t.Grace, 0), longestGrace)) }
