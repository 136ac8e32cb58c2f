package pools

import "github.com/cellsched/cellsched/resources"

// kinds is a set of resource kinds, by bits. The constant below does not compile
// with more kinds than bits.
type kinds uint64

const _ = uint(64 - resources.MaxKinds)

// holds returns the kinds that v has some of.
func holds(v *resources.Vector) (set kinds) {
	for k, q := range v {
		if q > 0 {
			set |= 1 << k
		}
	}
	return set
}

// branch is the state of a pool or a job in a [Preemption]. The path consists of
// the claimant and the pools that it is in.
type branch struct {
	parent int32 // nowhere, of the root
	// opponent is compared with the nodes that are not on the path: it is the
	// child, on the path, of the lowest pool that both are in. For a node on the
	// path it is the next one down; for the claimant, nowhere.
	opponent int32
	pool     bool
	onPath   bool
	// may, on the path, is the set of kinds for which it may have other tasks
	// stopped.
	may kinds
	// surplus, off the path, is the set of kinds of which it holds more than it
	// keeps. All nodes above it up to the path do, too.
	surplus kinds
	left    resources.Vector // its usage without the tasks stopped so far, with the demand
}

// survey finds the path, the nodes on it that may have tasks stopped, and the nodes
// that may lose tasks.
//
// Claim: no sequence of plans comes back to its first state, while fair shares and
// wants stay the same. Proof. Let R be the deepest opponent of the tasks that a
// plan stops.
//
//  1. No task below R is stopped: it would have a deeper opponent. So the usage of
//     R rises.
//  2. Of the other nodes at R's depth or deeper, only those on a victim's side lose
//     usage. A node on the path with a stopped task below it is above an opponent,
//     so above R.
//  3. Let A be the sum, over all nodes, of the usage of scarce kinds within fair
//     shares. No node loses any of that by a plan: see protected. If a missing kind
//     is scarce, R gets it within its share, and A rises. Otherwise A does not
//     fall.
//  4. Suppose that no missing kind is scarce. The height of a node without its fair
//     share is its usage, all kinds together. The height of a node with its fair
//     share is a number above all others. Let B be the sums of heights by depth,
//     compared from the deepest up.
//  5. B rises. The height of R does. Victims have their share and keep it: of some
//     missing kind they held more than their share, want more than that, and keep
//     that share, which is not nothing.
//  6. Neither A nor B falls when a job takes free room. That comes to an end unless
//     a task is stopped. So (A, B), the first deciding, rises with each plan, and
//     it is bounded.
//
// The bound of the path by its fair share is needed here for scarce kinds only. For
// other kinds it keeps the path from losing the room in turn.
func (p *Preemption) survey() {
	next := int32(nowhere)
	for i := p.claimant; i != nowhere; i = p.branches[i].parent {
		b := &p.branches[i]
		b.onPath, b.opponent = true, next
		b.may = mayTake(&p.standings[i], &p.demand)
		next = i
	}
	for i := range p.branches {
		s, b := &p.standings[i], &p.branches[i]
		b.left = s.Usage
		p.scarce |= holds(&s.Wants) &^ holds(&s.Fair)
		if b.onPath {
			b.left = s.Usage.Add(p.demand)
			continue
		}
		for k := range s.Usage {
			if s.Usage[k] > max(s.Fair[k], s.Min[k]) {
				b.surplus |= 1 << k
			}
		}
		above := &p.branches[b.parent]
		b.opponent = above.opponent
		if !above.onPath {
			b.surplus &= above.surplus
		}
	}
}

// mayTake returns the kinds of which s can have the demand, on top of its usage,
// within its fair share. It returns none if s has its fair share already.
func mayTake(s *Standing, demand *resources.Vector) (set kinds) {
	if s.hasShare() {
		return 0
	}
	for k, q := range demand {
		if q <= s.Fair[k]-s.Usage[k] {
			set |= 1 << k
		}
	}
	return set
}

// hasShare reports whether s has its fair share: of one kind, as in DRF, not of
// each. A share of nothing does not count: otherwise a node that wants an absent
// kind could not preempt for any other.
func (s *Standing) hasShare() bool {
	for k, fair := range s.Fair {
		if s.Usage[k] > fair || 0 < fair && s.Usage[k] == fair && fair < s.Wants[k] {
			return true
		}
	}
	return false
}

// protected returns the amount of a kind that a node keeps in any plan. On the path
// it is for scarce kinds only, and the demand counts as well.
func (p *Preemption) protected(i int32, k int) int64 {
	s := &p.standings[i]
	if p.branches[i].onPath {
		return min(s.Usage[k], s.Fair[k])
	}
	return max(s.Fair[k], s.Min[k])
}
