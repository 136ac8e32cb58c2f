package locality

import (
	"cmp"
	"fmt"
	"iter"
	"slices"
)

// Preference is the worth to a task of a machine that satisfies a constraint. With
// a negative worth the task avoids the machine.
type Preference struct {
	Constraint Constraint
	Worth      int64
}

// Limits of the preferences of a task.
const (
	maxPreferences = 6
	maxWorth       = 1 << 40
)

// Ranking is an order of the machines that meet some constraints: by the sum of the
// worths of the preferences that they satisfy. [Constraints.Prefer] makes one; the
// zero Ranking has no machine in it. All methods are safe for concurrent use and
// never wait for a writer.
type Ranking struct {
	need  *Constraints // nil in the zero Ranking only, which has no tiers
	likes []*registered
	worth []int64
	tiers []tier
}

// tier is the machines of the same worth, in descending order of tiers: all that
// satisfy exactly one of these sets of likes. Bit i of a set stands for likes[i].
type tier struct {
	worth int64
	sets  []uint8
}

// Prefer returns the order of the machines that meet c by these preferences. Worths
// of the same constraint are added up.
//
// Errors: [ErrConstraint]; more than 6 preferences, a worth outside ±2^40. Cost:
// O(2^preferences).
func (c *Constraints) Prefer(preferences ...Preference) (*Ranking, error) {
	if c == nil {
		return nil, absent("constraints")
	}
	if len(preferences) > maxPreferences {
		return nil, fmt.Errorf("locality: %d preferences, want at most %d", len(preferences), maxPreferences)
	}
	var predicates []*registered
	if c.of != nil {
		c.of.mu.Lock()
		predicates = c.of.predicates
		c.of.mu.Unlock()
	}
	r := &Ranking{need: c}
	for _, p := range preferences {
		if uint(p.Constraint) >= uint(len(predicates)) {
			return nil, refuse(ErrConstraint, "prefer constraint %d, want less than %d", p.Constraint, len(predicates))
		}
		if p.Worth < -maxWorth || p.Worth > maxWorth {
			return nil, fmt.Errorf("locality: preference of constraint %d is worth %d, want %d to %d",
				p.Constraint, p.Worth, int64(-maxWorth), int64(maxWorth))
		}
		like := predicates[p.Constraint]
		i := slices.Index(r.likes, like)
		if i < 0 {
			i = len(r.likes)
			r.likes, r.worth = append(r.likes, like), append(r.worth, 0)
		}
		r.worth[i] += p.Worth
	}
	for set := range uint8(1) << len(r.likes) {
		worth := r.of(set)
		at, ok := slices.BinarySearchFunc(r.tiers, worth, func(t tier, w int64) int { return cmp.Compare(w, t.worth) })
		if !ok {
			r.tiers = slices.Insert(r.tiers, at, tier{worth: worth})
		}
		r.tiers[at].sets = append(r.tiers[at].sets, set)
	}
	return r, nil
}

// From walks the machines that meet the constraints in descending order of worth.
// Machines of equal worth come from start on, once around. It suits omega.Query as
// Among, with a policy that picks the first machine that has room.
//
// The body may change attributes. A machine that changes its worth during the walk
// may come twice, or not at all. If several of its attributes change at once, it
// may come with a worth that it has neither before nor after. Cost: O(machines /
// 64) for each worth up to the one where the body stops.
func (r *Ranking) From(start Node) iter.Seq[Node] {
	return func(yield func(Node) bool) {
		if r == nil {
			return
		}
		var x line
		for i := range r.tiers {
			around := newRound(r.need.lines(), start)
			for l, ok := around.next(); ok; l, ok = around.next() {
				r.read(&r.tiers[i], l, &x)
				around.cut(&x)
				if !x.each(l, yield) {
					return
				}
			}
		}
	}
}

// Worth returns the worth of machine n, and false if it does not meet the
// constraints. For a machine that is changing it is no more exact than
// [Ranking.From].
func (r *Ranking) Worth(n Node) (int64, bool) {
	if r == nil {
		return 0, false
	}
	if r.need == nil || !r.need.Has(n) {
		return 0, false
	}
	var set uint8
	for i, like := range r.likes {
		if like.sat.has(n) {
			set |= 1 << i
		}
	}
	return r.of(set), true
}

// of returns the worth of satisfying exactly these likes.
func (r *Ranking) of(set uint8) (worth int64) {
	for i, w := range r.worth {
		if set>>i&1 == 1 {
			worth += w
		}
	}
	return worth
}

// read writes to x the machines of the tier in line l.
func (r *Ranking) read(t *tier, l uint32, x *line) {
	var need line
	r.need.read(l*lineWords, need[:])
	*x = line{}
	if need == (line{}) {
		return
	}
	var likes [maxPreferences]line
	for k, like := range r.likes {
		likes[k] = need
		like.sat.and(l/pageLines, l%pageLines*lineWords, likes[k][:])
	}
	for _, set := range t.sets {
		for w, some := range need {
			for k := range r.likes {
				if set>>k&1 == 1 {
					some &= likes[k][w]
				} else {
					some &^= likes[k][w]
				}
			}
			x[w] |= some
		}
	}
}
