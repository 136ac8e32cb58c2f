package omega

import (
	"context"

	"github.com/cellsched/cellsched/omega/internal/atomics"
	"github.com/cellsched/cellsched/resources"
)

// Account is the number of a tenant to which allocations are charged. [Cell.Account]
// gives out the numbers. The zero Account stands for no tenant in particular.
type Account uint32

// amount is a vector that is added to and subtracted from without a lock, each
// component by itself.
type amount [resources.MaxKinds]atomics.Int64

// add adds v. Kinds are written out, here and below, which takes half the instructions of a
// loop.
func (a *amount) add(v *resources.Vector) {
	if q := v[0]; q != 0 {
		a[0].Add(q)
	}
	if q := v[1]; q != 0 {
		a[1].Add(q)
	}
	if q := v[2]; q != 0 {
		a[2].Add(q)
	}
	if q := v[3]; q != 0 {
		a[3].Add(q)
	}
	if q := v[4]; q != 0 {
		a[4].Add(q)
	}
	if q := v[5]; q != 0 {
		a[5].Add(q)
	}
	if q := v[6]; q != 0 {
		a[6].Add(q)
	}
	if q := v[7]; q != 0 {
		a[7].Add(q)
	}
}

func (a *amount) sub(v *resources.Vector) {
	if q := v[0]; q != 0 {
		a[0].Add(-q)
	}
	if q := v[1]; q != 0 {
		a[1].Add(-q)
	}
	if q := v[2]; q != 0 {
		a[2].Add(-q)
	}
	if q := v[3]; q != 0 {
		a[3].Add(-q)
	}
	if q := v[4]; q != 0 {
		a[4].Add(-q)
	}
	if q := v[5]; q != 0 {
		a[5].Add(-q)
	}
	if q := v[6]; q != 0 {
		a[6].Add(-q)
	}
	if q := v[7]; q != 0 {
		a[7].Add(-q)
	}
}

// load returns the sum, at most [resources.MaxQuantity] of each kind. The amounts
// allocated and the amounts asked for in addition are at most 2^62 each. So the sum fits
// in 64 bits, though perhaps not in 63.
func (a *amount) load() (v resources.Vector) {
	for k := range a {
		v[k] = int64(min(uint64(a[k].Load()), uint64(resources.MaxQuantity)))
	}
	return v
}

// tally is the sum of the allocations of one scheduler for one account at one precedence.
//
// Invariant: used is at least the sum of the needs of those allocations. A claim is added
// before the swap that may grant it, and taken off again if it was refused. An allocation
// is taken off after the swap that ended it. So a component read from used is never below
// the truth, and equals it when no commit is in progress. Only the scheduler's own
// commits add.
type tally struct {
	owner      *owner
	account    Account
	precedence Precedence
	number     uint32 // see numbers; 0 for none
	used       amount
	taken      atomics.Uint64 // counts subtractions, each before it happens
	_          [32]byte       // two tallies do not share a cache line
}

func (t *tally) add(need *resources.Vector) {
	t.used.add(need)
	if t.owner.held != nil {
		t.owner.held.add(need)
	}
}

func (t *tally) sub(need *resources.Vector) {
	t.taken.Add(1)
	t.used.sub(need)
	if t.owner.held != nil {
		t.owner.held.sub(need)
	}
}

// run collects amounts that come one after the other for the same tally, so that the
// tally is changed once for all of them.
type run struct {
	ended bool // the amounts are subtracted
	tally *tally
	sum   resources.Vector
}

// put adds an amount to r. It changes the tally of the amounts before, if that is another.
func (r *run) put(t *tally, v *resources.Vector) {
	if r.tally != t {
		r.flush()
		r.tally = t
	}
	add(&r.sum, v) // modulo 2^64, as in the tally
}

// flush changes the tally by the amounts so far.
func (r *run) flush() {
	switch {
	case r.tally == nil:
		return
	case r.ended:
		r.tally.sub(&r.sum)
	default:
		r.tally.add(&r.sum)
	}
	r.tally, r.sum = nil, resources.Vector{}
}

// tallies is a list that is read without a lock. It grows, or is replaced, under a lock.
type tallies struct {
	list atomics.Pointer[[]*tally]
}

func (t *tallies) all() []*tally {
	if l := t.list.Load(); l != nil {
		return *l
	}
	return nil
}

// add appends. Readers of an earlier list do not see the element behind it.
func (t *tallies) add(one *tally) {
	l := append(t.all(), one)
	t.list.Store(&l)
}

// used returns the sum of the tallies, which is at least the true sum at the moment when
// the summing began. It repeats only if an amount was taken off a tally meanwhile, or if
// the list was replaced. An amount taken off one tally may have been added to a new one.
func (t *tallies) used() (sum resources.Vector) {
	for {
		list := t.list.Load()
		if list == nil {
			return resources.Vector{}
		}
		before := taken(*list)
		sum = resources.Vector{}
		for _, one := range *list {
			sum = sum.Add(one.used.load())
		}
		// Nothing was taken off any tally since before, and the list is still complete:
		// the sum is not below the truth.
		if taken(*list) == before && t.list.Load() == list {
			return sum
		}
	}
}

// taken returns how many amounts were ever taken off the tallies.
func taken(all []*tally) (sum uint64) {
	for _, one := range all {
		sum += one.taken.Load()
	}
	return sum
}

// ledger is one account.
type ledger struct {
	name string
	mu   atomics.Mutex // held to add a tally
	tallies
}

// Account returns the number of the account of that name, a new one on first use, from 1.
// The empty name is the zero Account. Looking up a known name is lock-free. Errors:
// [ErrName]; with a journal, [ErrOutcome] if ctx ends before it answers for a new name.
func (c *Cell) Account(ctx context.Context, name string) (Account, error) {
	switch {
	case c.none():
		return 0, absent("cell")
	case ctx == nil:
		return 0, absent("context")
	}
	if a, ok := c.accounts.Load(name); ok || name == "" {
		return a, nil
	}
	if c.journal != nil {
		return c.accountThrough(ctx, name)
	}
	return c.addAccount(name)
}

// accountThrough is Account for a cell with a journal. It waits for the operation of an earlier
// call that is not applied yet: calls that end with their contexts send no more than one.
func (c *Cell) accountThrough(ctx context.Context, name string) (Account, error) {
	j := c.journal
	j.mu.Lock()
	op := j.accounts[name]
	sends := op == nil
	if sends {
		op = &Operation{kind: accountOp, cell: c, name: name, done: make(chan struct{}, 1)}
		op.encode()
		j.accounts[name] = op
	}
	j.mu.Unlock()
	if sends {
		j.Append(op)
	}
	if err := op.wait(ctx); err != nil {
		return 0, err
	}
	op.done <- struct{}{} // for others that wait
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.accounts[name] == op {
		delete(j.accounts, name)
	}
	return op.account, op.err
}

// addAccount is Account for a name that may be new.
func (c *Cell) addAccount(name string) (Account, error) {
	if err := checkName("account", name); err != nil {
		return 0, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.account(name), nil
}

// account is Account with the mutex held.
func (c *Cell) account(name string) Account {
	if a, ok := c.accounts.Load(name); ok {
		return a
	}
	ledgers := append(*c.ledgers.Load(), &ledger{name: name})
	c.ledgers.Store(&ledgers)
	a := Account(len(ledgers) - 1)
	c.accounts.Store(name, a)
	return a
}

// ledger returns the ledger of an account, or nil for a number that was not
// given out.
func (c *Cell) ledger(a Account) *ledger {
	ledgers := *c.ledgers.Load()
	if uint64(a) >= uint64(len(ledgers)) {
		return nil
	}
	return ledgers[a]
}

// AccountName returns the name of an account, and false for a number that was
// not given out. It is lock-free.
func (c *Cell) AccountName(a Account) (string, bool) {
	if c.none() {
		return "", false
	}
	l := c.ledger(a)
	if l == nil {
		return "", false
	}
	return l.name, true
}

// Usage returns the sum of the allocations charged to an account. It is exact while no
// commit is in progress, and otherwise may count claims of commits, but is never too low.
// It is lock-free. Cost: O(schedulers that serve the account, by precedence). Errors:
// [ErrUnknown].
func (c *Cell) Usage(a Account) (resources.Vector, error) {
	if c.none() {
		return resources.Vector{}, absent("cell")
	}
	l := c.ledger(a)
	if l == nil {
		return resources.Vector{}, unknown("account %d", a)
	}
	return l.used(), nil
}
