package offers

import (
	"slices"

	"github.com/cellsched/cellsched/omega"
	"github.com/cellsched/cellsched/resources"
)

// account is what is charged together: to one framework, or to several. Who shares
// one is as far from its fair share as the others: together they are offered what
// one alone would be.
type account struct {
	id      omega.Account
	held    resources.Vector
	sharers []*member
	stakes  []stake // by role, each of which counts the account once
	moved   bool    // it was charged, and not all who share it stand where they belong
}

// stake is those of a role who share an account.
type stake struct {
	role    *role
	sharers int
}

func (a *account) stake(r *role) int {
	return slices.IndexFunc(a.stakes, func(s stake) bool { return s.role == r })
}

// share has a framework charged to an account.
func (m *Master) share(f *member, id omega.Account) {
	a := m.accounts[id]
	if a == nil {
		a = &account{id: id}
		m.accounts[id] = a
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

// unshare ends that: nothing is charged to the framework any more, and to others
// what there is.
func (m *Master) unshare(f *member) {
	m.realign()
	a := f.account
	f.account = new(account)
	if len(a.sharers) == 0 {
		return // it was new
	}
	a.sharers = slices.DeleteFunc(a.sharers, func(one *member) bool { return one == f })
	i := a.stake(f.role)
	if a.stakes[i].sharers--; a.stakes[i].sharers == 0 {
		a.stakes = slices.Delete(a.stakes, i, i+1)
		m.count(f.role, a.held, resources.Vector{})
	}
	if len(a.sharers) == 0 {
		delete(m.accounts, a.id)
		return
	}
	if held, err := m.usage(a.id); err == nil {
		m.bill(a, held)
		m.unsettle(a)
	}
}

// hold notes what is charged to the account of a framework. Where that one stands
// is the caller's affair; others who share the account are put where they belong when
// that matters next. Cost: O(roles of the account).
func (m *Master) hold(f *member, held resources.Vector) {
	m.bill(f.account, held)
	if len(f.account.sharers) > 1 {
		m.unsettle(f.account)
	}
}

func (m *Master) bill(a *account, held resources.Vector) {
	was := a.held
	a.held = held
	for _, s := range a.stakes {
		m.count(s.role, was, held)
	}
}

// count has a role hold so much more of an account, or less.
func (m *Master) count(r *role, was, is resources.Vector) {
	if rest, ok := r.held.Sub(was); ok {
		r.held = rest.Add(is)
		return
	}
	// Sums had no room for it.
	r.held = resources.Vector{}
	var counted []*account
	for _, f := range m.registry.order {
		if f.role == r && f.account.stake(r) >= 0 && !slices.Contains(counted, f.account) {
			counted = append(counted, f.account)
			r.held = r.held.Add(f.account.held)
		}
	}
}

func (m *Master) unsettle(a *account) {
	if !a.moved {
		a.moved = true
		m.moved = append(m.moved, a)
	}
}

// realign puts those who share accounts that were charged, and their roles, where
// they belong. All of them move alike, as a rule, so that they are in order still.
// Cost: O(roles + frameworks of their roles), and what it takes to sort those if not.
func (m *Master) realign() {
	if len(m.moved) == 0 {
		return
	}
	for _, a := range m.moved {
		a.moved = false
		for _, f := range a.sharers {
			if f.queued {
				f.Rank = m.rankOf(f, false)
			}
		}
		for _, s := range a.stakes {
			s.role.moved = true
		}
	}
	clear(m.moved)
	m.moved = m.moved[:0]
	for r := range m.roles.All {
		if !r.moved {
			continue
		}
		r.moved = false
		r.Rank = m.rankOfRole(r, false)
		for c := range r.lines {
			r.lines[c].Sort()
		}
	}
	m.roles.Sort()
}
