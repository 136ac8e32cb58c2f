package offers

import (
	"slices"

	"github.com/cellsched/cellsched/resources"
)

// share has a framework count as charged what everybody is who has the same
// account. Who shares one is as far from its fair share as the others: together
// they are offered what one alone would be.
func (m *Master) share(f *member) {
	var peers []*member
	for _, one := range m.order {
		if one.account == f.account {
			peers = append(peers, one)
		}
	}
	if len(peers) > 1 {
		for _, one := range peers {
			one.peers = peers
		}
	}
}

// unshare ends that: nothing is charged to the framework any more, and to others
// what there is.
func (m *Master) unshare(f *member) {
	peers := slices.DeleteFunc(slices.Clone(f.peers), func(one *member) bool { return one == f })
	if len(peers) == 0 {
		m.hold(f, resources.Vector{})
		return
	}
	f.peers, f.held = nil, resources.Vector{}
	m.resum(f.role)
	for _, one := range peers {
		if one.peers = peers; len(peers) == 1 {
			one.peers = nil
		}
	}
	if held, err := m.cell.Usage(f.account); err == nil {
		m.hold(peers[0], held)
		m.restand(peers[0], false)
	}
}

// holdAll is hold for those who share an account. Cost: O(frameworks), for each of
// their roles.
func (m *Master) holdAll(f *member, held resources.Vector) {
	for _, one := range f.peers {
		one.held = held
	}
	for i, one := range f.peers {
		if !slices.ContainsFunc(f.peers[:i], func(before *member) bool { return before.role == one.role }) {
			m.resum(one.role)
			m.rerank(one.role, false)
		}
		if one != f { // where that one stands is the caller's affair
			m.requeue(one, false)
		}
	}
}

// resum adds up what a role holds: of those who share an account once.
func (m *Master) resum(r *role) {
	r.held = resources.Vector{}
	for _, f := range m.order {
		if f.role != r {
			continue
		}
		i := slices.IndexFunc(f.peers, func(one *member) bool { return one.role == r })
		if i < 0 || f.peers[i] == f {
			r.held = r.held.Add(f.held)
		}
	}
}
