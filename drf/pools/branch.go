package pools

import "github.com/cellsched/cellsched/resources"

// kinds is a set of resource kinds, by bits. The constant below does not compile
// with more kinds than bits.
type kinds uint64

const _ = uint(64 - resources.MaxKinds)

// holds returns the kinds of which v has some.
func holds(v *resources.Vector) (set kinds) {
	for k, q := range v {
		if q > 0 {
			set |= 1 << k
		}
	}
	return set
}

// branch is what a [question] knows of a pool or a job. Those that the claimant is
// in, and itself, are its side.
type branch struct {
	parent int32 // nowhere, of the root
	// rival stands against whoever is not on the claimant's side: it is the
	// child, on that side, of the lowest pool that both are in. On the
	// claimant's side it is the next one down; of the claimant, nowhere.
	rival int32
	pool  bool
	side  bool // the claimant's
	// may, on the claimant's side, is of which kinds it may have others stopped
	// for the demand.
	may kinds
	// spare, of others, is of which kinds it holds more than it keeps, as do all
	// above it up to where the two sides part.
	spare kinds
	left  resources.Vector // what it holds when those taken so far are stopped, with the demand
}

// survey finds the two sides of the tree, and who may have others stopped and
// who may lose something.
//
// No sequence of preemptions leads back, because of the following. Of the rivals
// of the tasks that a plan stops, look at the deepest. Nothing below it is
// stopped, or that would have a deeper rival, so what it holds rises. Of others at
// its depth or deeper, only those on the side of a victim hold less: whoever has
// something stopped below it on the claimant's side is above a rival, and so less
// deep than the deepest.
//
// Sum up what all hold of scarce kinds within their fair shares. By no plan does
// anybody lose any of that: see floor. If some of what is missing is scarce, the
// rival gets it within its share, and the sum rises.
//
// If not, it does not fall. Of a pool or a job that does not have its fair share,
// call what it holds of all kinds together its height; for those that have it, let
// this be a number above all others. The heights summed by depth, compared from
// the deepest up, rise: the rival's does, and victims have their share and keep
// it, since of some kind that is missing, and not scarce, they held more than
// their share, want more than that, and keep that share, which is not nothing.
//
// Neither falls where somebody takes what is free, which comes to an end unless
// something is stopped. So both, the first deciding, rise with each plan, and they
// are bounded. All this counts on fair shares, and on what is wanted, staying the
// same. That the claimant's side does not get more than its share is needed for
// scarce kinds only; of others, it is so that nobody has it stopped for this in
// turn.
func (q *question) survey() {
	next := int32(nowhere)
	for i := q.claimant; i != nowhere; i = q.branches[i].parent {
		b := &q.branches[i]
		b.side, b.rival = true, next
		b.may = mayTake(&q.standings[i], q.demand)
		next = i
	}
	for i := range q.branches {
		s, b := &q.standings[i], &q.branches[i]
		b.left = s.Usage
		q.scarce |= holds(&s.Wants) &^ holds(&s.Fair)
		if b.side {
			b.left = s.Usage.Add(*q.demand)
			continue
		}
		for k := range s.Usage {
			if s.Usage[k] > max(s.Fair[k], s.Min[k]) {
				b.spare |= 1 << k
			}
		}
		p := &q.branches[b.parent]
		b.rival = p.rival
		if !p.side {
			b.spare &= p.spare
		}
	}
}

// mayTake returns of which kinds s can have the demand, on top of what it holds,
// within its fair share: of none where it has its fair share already.
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

// hasShare reports whether s has its fair share: of a kind, as in DRF, not of
// each. A share of nothing does not count, or who asks for the impossible could
// not ask for anything else.
func (s *Standing) hasShare() bool {
	for k, fair := range s.Fair {
		if s.Usage[k] > fair || 0 < fair && s.Usage[k] == fair && fair < s.Wants[k] {
			return true
		}
	}
	return false
}

// floor returns below what of a kind nobody may end by a plan: where two sides part
// and further up, it is of scarce kinds only, and the demand counts as well.
func (q *question) floor(i int32, k int) int64 {
	s := &q.standings[i]
	if q.branches[i].side {
		return min(s.Usage[k], s.Fair[k])
	}
	return max(s.Fair[k], s.Min[k])
}
