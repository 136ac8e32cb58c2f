package offers

import (
	"iter"

	"github.com/cellsched/cellsched/omega"
	"github.com/cellsched/cellsched/resources"
)

// role is the frameworks that work for the same, of which those that may be
// offered something stand in line, each class by rank.
type role struct {
	name       string
	weight     float64
	precedence omega.Precedence // the highest of those who want anything
	members    int
	held       resources.Vector
	place
	known bool // the order has been asked
	moved bool // see realign
	lines [classes]line[member]
}

// role returns the role of that name, which it makes on first use.
func (m *Master) role(name string) *role {
	r := m.byRole[name]
	if r == nil {
		m.last++
		r = &role{name: name, weight: 1, place: place{seq: m.last}}
		r.rank = m.rankOfRole(r, false) // or it panics, and there is no role
		r.known = true
		m.byRole[name] = r
		m.roles.insert(&r.place, r)
	}
	return r
}

// leaveRole takes a framework out of its role, which is forgotten with the last.
func (m *Master) leaveRole(f *member) {
	f.role.members--
	m.forgetRole(f.role)
}

// forgetRole forgets a role without frameworks, unless its weight is to be
// remembered.
func (m *Master) forgetRole(r *role) {
	if r.members == 0 && r.weight == 1 {
		delete(m.byRole, r.name)
		m.roles.remove(r.place)
	}
}

// rerank asks where a role stands, and puts it there.
func (m *Master) rerank(r *role, chosen bool) {
	rank := m.rankOfRole(r, chosen)
	if rank == r.rank && !chosen {
		return
	}
	was := r.place
	r.rank = rank
	if chosen {
		r.asked = m.turn
	}
	m.roles.move(was, r.place)
}

// rankOfRole asks the order of roles.
func (m *Master) rankOfRole(r *role, chosen bool) float64 {
	return ordered(m.cfg.Roles.Rank(Standing{
		Name: r.name, Weight: r.weight, Precedence: r.precedence, Held: r.held, Total: m.total,
		Rank: r.rank, Chosen: chosen, New: !r.known,
	}))
}

// inTurn walks who may be offered room in the order of the modules: of roles,
// and in each of frameworks. Lines of a role are merged.
func (m *Master) inTurn() iter.Seq[*member] {
	return func(yield func(*member) bool) {
		// Loops without a callback: rounds take a tenth less time.
		for roles := m.roles.ahead(); len(roles) > 0; roles = m.roles.behind(roles) {
			r := m.roles.members[roles[0].slot]
			if line := r.only(); line != nil { // as most roles are
				for ahead := line.ahead(); len(ahead) > 0; ahead = line.behind(ahead) {
					if !yield(line.members[ahead[0].slot]) {
						return
					}
				}
				continue
			}
			var ahead [classes][]standing
			for c := range r.lines {
				ahead[c] = r.lines[c].ahead()
			}
			for {
				best := -1
				for c := range ahead {
					if len(ahead[c]) > 0 && (best < 0 || ahead[c][0].before(&ahead[best][0].place)) {
						best = c
					}
				}
				if best < 0 {
					break
				}
				line := &r.lines[best]
				f := line.members[ahead[best][0].slot]
				ahead[best] = line.behind(ahead[best])
				if !yield(f) {
					return
				}
			}
		}
	}
}

// only returns the line in which all of a role stand, or nil if they are in several.
func (r *role) only() *line[member] {
	all := &r.lines[0]
	for c := range r.lines {
		if line := &r.lines[c]; line.len() > 0 {
			if all != line && all.len() > 0 {
				return nil
			}
			all = line
		}
	}
	return all
}

// ahead tells whether inTurn comes to f before g.
func (f *member) ahead(g *member) bool {
	if f.role != g.role {
		return f.role.before(&g.role.place)
	}
	return f.before(&g.place)
}

// aheadByClass tells whether byClass comes to f before g.
func (f *member) aheadByClass(g *member) bool {
	if f.class != g.class {
		return f.class < g.class
	}
	return f.ahead(g)
}

// byClass walks who may be offered room that somebody has declined: who declines
// less goes first, then as inTurn.
func (m *Master) byClass() iter.Seq[*member] {
	return func(yield func(*member) bool) {
		for c := range classes {
			for roles := m.roles.ahead(); len(roles) > 0; roles = m.roles.behind(roles) {
				line := &m.roles.members[roles[0].slot].lines[c]
				for ahead := line.ahead(); len(ahead) > 0; ahead = line.behind(ahead) {
					if !yield(line.members[ahead[0].slot]) {
						return
					}
				}
			}
		}
	}
}
