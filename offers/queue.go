package offers

import (
	"iter"

	"github.com/cellsched/cellsched/offers/internal/line"
)

// roleOf returns the role of that name, which it makes on first use.
func (q *queue) roleOf(name string) *role {
	r := q.byRole[name]
	if r == nil {
		q.registry.last++
		r = &role{name: name, weight: 1, Place: line.Place{Seq: q.registry.last}}
		r.Rank = q.rankOfRole(r, false) // or it panics, and there is no role
		r.known = true
		q.byRole[name] = r
		q.roles.Insert(&r.Place, r)
	}
	return r
}

// leaveRole takes a framework out of its role, which is forgotten with the last.
func (q *queue) leaveRole(f *member) {
	f.role.members--
	q.forgetRole(f.role)
}

// forgetRole forgets a role without frameworks, unless its weight is to be
// remembered.
func (q *queue) forgetRole(r *role) {
	if r.members == 0 && r.weight == 1 {
		delete(q.byRole, r.name)
		q.roles.Remove(r.Place)
	}
}

// rerank asks where a role stands, and puts it there.
func (q *queue) rerank(r *role, chosen bool) {
	rank := q.rankOfRole(r, chosen)
	if rank == r.Rank && !chosen {
		return
	}
	was := r.Place
	r.Rank = rank
	if chosen {
		r.Asked = q.turn
	}
	q.roles.Move(was, r.Place)
}

// rankOfRole asks the order of roles.
func (q *queue) rankOfRole(r *role, chosen bool) float64 {
	return ordered(q.cfg.Roles.Rank(Standing{
		Name: r.name, Weight: r.weight, Precedence: r.precedence, Held: r.held, Total: q.total,
		Rank: r.Rank, Chosen: chosen, New: !r.known,
	}))
}

// inTurn walks the frameworks in line in the order of the modules: roles first, then the
// frameworks in each. Lines of a role are merged.
func (q *queue) inTurn() iter.Seq[*member] {
	return func(yield func(*member) bool) {
		// Loops without a callback: rounds take a tenth less time.
		for roles := q.roles.Ahead(); len(roles) > 0; roles = q.roles.Behind(roles) {
			r := q.roles.Member(roles[0])
			if l := r.only(); l != nil { // as most roles are
				for ahead := l.Ahead(); len(ahead) > 0; ahead = l.Behind(ahead) {
					if !yield(l.Member(ahead[0])) {
						return
					}
				}
				continue
			}
			var ahead [classes][]line.Standing
			for c := range r.lines {
				ahead[c] = r.lines[c].Ahead()
			}
			for {
				best := -1
				for c := range ahead {
					if len(ahead[c]) > 0 && (best < 0 || ahead[c][0].Before(&ahead[best][0].Place)) {
						best = c
					}
				}
				if best < 0 {
					break
				}
				l := &r.lines[best]
				f := l.Member(ahead[best][0])
				ahead[best] = l.Behind(ahead[best])
				if !yield(f) {
					return
				}
			}
		}
	}
}

// only returns the line in which all of a role stand, or nil if they are in several.
func (r *role) only() *line.Line[member] {
	all := &r.lines[0]
	for c := range r.lines {
		if l := &r.lines[c]; l.Len() > 0 {
			if all != l && all.Len() > 0 {
				return nil
			}
			all = l
		}
	}
	return all
}

// ahead reports whether inTurn comes to f before g.
func (f *member) ahead(g *member) bool {
	if f.role != g.role {
		return f.role.Before(&g.role.Place)
	}
	return f.Before(&g.Place)
}

// aheadByClass reports whether byClass comes to f before g.
func (f *member) aheadByClass(g *member) bool {
	if f.refusalClass != g.refusalClass {
		return f.refusalClass < g.refusalClass
	}
	return f.ahead(g)
}

// byClass walks the frameworks in line for room that was declined: those that decline
// less go first, then as inTurn.
func (q *queue) byClass() iter.Seq[*member] {
	return func(yield func(*member) bool) {
		for c := range classes {
			for roles := q.roles.Ahead(); len(roles) > 0; roles = q.roles.Behind(roles) {
				l := &q.roles.Member(roles[0]).lines[c]
				for ahead := l.Ahead(); len(ahead) > 0; ahead = l.Behind(ahead) {
					if !yield(l.Member(ahead[0])) {
						return
					}
				}
			}
		}
	}
}

// queue holds the roles and their frameworks in the order in which they are offered room.
type queue struct {
	*client
	registry *registry
	accounts *accountBook
	inbox    *inbox

	roles            line.Line[role]
	byRole           map[string]*role
	turn             uint64 // offers made, or about to be
	declinedSearches uint64 // searches for a framework for room that was declined

	stale bool // the total has changed since shares were worked out
	// unshared notes that frameworks want offers no more since shares were worked out.
	// Present is the number of frameworks that there were then, silent ones aside.
	unshared  bool
	present   int
	leftovers []*member // frameworks that want room that others have left
}

func newQueue(c *client, r *registry, b *accountBook, i *inbox) *queue {
	return &queue{client: c, registry: r, accounts: b, inbox: i, byRole: make(map[string]*role)}
}

// rankOf asks the order.
func (q *queue) rankOf(f *member, chosen bool) float64 {
	return ordered(q.cfg.Order.Rank(Standing{
		Name: f.name, Weight: f.reg.Weight, Precedence: f.reg.Precedence, Held: f.account.held, Total: q.total,
		Rank: f.Rank, Chosen: chosen && !f.fresh, New: f.fresh,
	}))
}
