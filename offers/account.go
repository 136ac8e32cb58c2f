package offers

import (
	"slices"

	"github.com/cellsched/cellsched/omega"
	"github.com/cellsched/cellsched/resources"
)

// accountBook holds the accounts that frameworks are charged to, and the charges of each.
type accountBook struct {
	*client
	byID  map[omega.Account]*account
	moved []*account // see queue.realign
}

func newAccountBook(c *client) *accountBook {
	return &accountBook{client: c, byID: make(map[omega.Account]*account)}
}

// share has a framework charged to an account.
func (b *accountBook) share(f *member, id omega.Account) {
	a := b.byID[id]
	if a == nil {
		a = &account{id: id}
		b.byID[id] = a
	}
	f.account = a
	a.sharers = append(a.sharers, f)
	if i := a.stake(f.role); i >= 0 {
		a.stakes[i].sharers++
	} else {
		a.stakes = append(a.stakes, stake{f.role, 1})
		f.role.held = f.role.held.Add(a.held)
	}
}

// unshare takes a framework off its account. Nothing is charged to the framework any
// more, and the charges stay with the others that share the account.
func (b *accountBook) unshare(f *member) {
	a := f.account
	f.account = new(account)
	if len(a.sharers) == 0 {
		return // it was new
	}
	a.sharers = slices.DeleteFunc(a.sharers, func(one *member) bool { return one == f })
	i := a.stake(f.role)
	if a.stakes[i].sharers--; a.stakes[i].sharers == 0 {
		a.stakes = slices.Delete(a.stakes, i, i+1)
		b.count(f.role, a.held, resources.Vector{})
	}
	if len(a.sharers) == 0 {
		delete(b.byID, a.id)
		return
	}
	if held, err := b.usage(a.id); err == nil {
		b.bill(a, held)
		b.unsettle(a)
	}
}

// setHeld notes what is charged to the account of a framework. The caller places that
// framework in line. Others that share the account are placed when that matters next: see
// queue.realign. Cost: O(roles of the account).
func (b *accountBook) setHeld(f *member, held resources.Vector) {
	b.bill(f.account, held)
	if len(f.account.sharers) > 1 {
		b.unsettle(f.account)
	}
}

func (b *accountBook) bill(a *account, held resources.Vector) {
	was := a.held
	a.held = held
	for _, s := range a.stakes {
		b.count(s.role, was, held)
	}
}

// count has a role hold so much more of an account, or less.
func (b *accountBook) count(r *role, was, is resources.Vector) {
	if rest, ok := r.held.Sub(was); ok {
		r.held = rest.Add(is)
		return
	}
	// Sums had no room for it.
	r.held = resources.Vector{}
	for _, a := range b.byID {
		if a.stake(r) >= 0 {
			r.held = r.held.Add(a.held)
		}
	}
}

func (b *accountBook) unsettle(a *account) {
	if !a.moved {
		a.moved = true
		b.moved = append(b.moved, a)
	}
}
