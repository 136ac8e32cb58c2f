package omega

import (
	"cmp"
	"iter"
	"math/rand/v2"
	"slices"

	"github.com/cellsched/cellsched/locality"
	"github.com/cellsched/cellsched/resources"
)

// Query says what a machine is searched for.
type Query struct {
	// Need is what has to fit. The zero need fits on every machine that takes
	// claims, any number of times, though no claim of it is granted; a negative
	// one fits nowhere.
	Need resources.Vector
	// Allow says which machines will do besides having room; nil for all.
	Allow func(locality.Node) bool
	// Among are the only machines to look at, in this order; nil for all.
	Among iter.Seq[locality.Node]
}

// Score says how good a place a machine is for a need that fits in what it has
// free of its capacity: the higher the better. It only reads what it is given.
type Score func(need, free, capacity *resources.Vector) float64

// Policy says which of the machines that will do is picked. Those with a
// source of randomness use it only while they search. The zero Policy is
// next fit.
type Policy struct {
	kind  policyKind
	of    int
	score Score
	rand  *rand.Rand
}

type policyKind uint8

const (
	nextFit policyKind = iota
	firstFit
	byScore
	bestOf
)

// NextFit picks the first machine from the one on that the last search by next
// fit picked, at first from a place of the scheduler's own. It fills a machine
// before it goes on, and is the cheapest.
func NextFit() Policy { return Policy{} }

// FirstFit picks the first machine from a random one on; without a source of
// randomness, from one further each time.
func FirstFit(r *rand.Rand) Policy { return Policy{kind: firstFit, rand: r} }

// BestFit picks the machine that is left with the least, as the sum over all
// kinds of the share of its capacity.
func BestFit() Policy { return ByScore(tightest) }

// WorstFit picks the machine that is left with the most. It spreads.
func WorstFit() Policy {
	return ByScore(func(need, free, capacity *resources.Vector) float64 { return -tightest(need, free, capacity) })
}

// ByScore picks the machine with the highest score, the lowest number among
// equals. It looks at all that will do. A nil score is best fit's.
func ByScore(score Score) Policy {
	if score == nil {
		score = tightest
	}
	return Policy{kind: byScore, score: score}
}

// BestOf picks the machine with the highest score among k that will do, each
// the first from a random one on. A nil score is best fit's. It comes close to
// looking at all for a fraction of the cost, and schedulers that use it seldom
// pick the same machine.
func BestOf(k int, score Score, r *rand.Rand) Policy {
	if score == nil {
		score = tightest
	}
	return Policy{kind: bestOf, of: max(k, 1), score: score, rand: r}
}

func tightest(need, free, capacity *resources.Vector) float64 {
	left := 0.0
	for k, c := range capacity {
		if c > 0 {
			left += float64(free[k]-need[k]) / float64(c)
		}
	}
	return -left
}

// Find returns a machine for the query, picked by the policy, and false if none
// will do: see [Snapshot.Explain]. Machines that the scheduler may not claim
// will not do. It takes nothing: see [Snapshot.Take].
//
// Cost: by score, O(machines with room); else O(machines) at worst, of which
// most are passed by 32 at a time, and a few where there is room. It allocates
// nothing, but for some small objects where there is an Among to walk.
func (s *Snapshot) Find(q Query, p Policy) (MachineID, bool) {
	if s.none() {
		return 0, false
	}
	node := 0
	if q.Among == nil {
		node = s.find(&q, p)
	} else {
		node = s.findAmong(q, p)
	}
	if node < 0 {
		return 0, false
	}
	return s.ids[node].id, true
}

// Place finds room for up to k tasks that all have the query's need, takes it,
// and yields machines with how many of the tasks they take. It stops when all
// are placed or nothing will do any more, and returns how many are placed. What
// was yielded is to be committed; yield may be nil. The policy picks a place for each task in
// turn; what that costs is shared where the policy allows: by next fit and
// first fit a machine takes as many as fit at once, and by score the machines
// are searched once for all tasks. Cost: as [Snapshot.Find] once, and
// O(machines used); by score O(machines + k log machines), and a list of the
// machines with room.
func (s *Snapshot) Place(q Query, p Policy, k int, yield func(m MachineID, tasks int)) (placed int) {
	if s.none() {
		return 0
	}
	if yield == nil {
		yield = func(MachineID, int) {}
	}
	if p.kind == byScore {
		return s.placeByScore(q, p.score, k, yield)
	}
	for placed < k {
		m, ok := s.Find(q, p)
		if !ok {
			return placed
		}
		node, n := int(m.Node()), 1
		if p.kind != bestOf {
			n = min(k-placed, times(&q.Need, &s.free[node]))
		}
		all := q.Need.Scale(int64(n))
		s.take(node, &all)
		yield(m, n)
		placed += n
	}
	return placed
}

// times returns how often need fits in free, at least once.
func times(need, free *resources.Vector) int {
	n := int64(1) << 30
	for k, q := range need {
		if q > 0 {
			n = min(n, free[k]/q)
		}
	}
	return int(n)
}

// permits tells whether a machine with room will do.
func (s *Snapshot) permits(q *Query, mask *Mask, node int) bool {
	n := locality.Node(node)
	return (mask == nil || mask.Has(n)) && (q.Allow == nil || q.Allow(n))
}

// find returns the node picked, or -1.
func (s *Snapshot) find(q *Query, p Policy) int {
	n := len(s.free)
	if n == 0 {
		return -1
	}
	mask := s.owner.mask.Load()
	if p.kind == nextFit {
		if s.index.cursor >= n {
			s.index.cursor = 0
		}
		// Mostly the machine that was picked last has room for one more: what else
		// a search needs is not made before it is known that this one has not.
		at := s.index.cursor
		if s.late > 0 {
			s.catchUp(at)
		}
		if fits(&q.Need, &s.free[at]) && s.permits(q, mask, at) {
			return at
		}
	}
	need := makeSparse(&q.Need)
	s.need = q.Need
	switch p.kind {
	case byScore:
		s.catchUpAll()
		best, high := -1, 0.0
		for node := s.index.next(s.free, &need, 0, n); node < n; node = s.index.next(s.free, &need, node+1, n) {
			if s.permits(q, mask, node) {
				if score := s.score(p.score, node); best < 0 || score > high {
					best, high = node, score
				}
			}
		}
		return best
	case bestOf:
		best, high := -1, 0.0
		for range p.of {
			node := s.from(q, &need, mask, p.start(s, n))
			if node < 0 {
				return -1
			}
			if score := s.score(p.score, node); best < 0 || score > high {
				best, high = node, score
			}
		}
		return best
	case firstFit:
		return s.from(q, &need, mask, p.start(s, n))
	}
	node := s.from(q, &need, mask, s.index.cursor)
	if node >= 0 {
		s.index.cursor = node
	}
	return node
}

// start returns where a search begins.
func (p *Policy) start(s *Snapshot, n int) int {
	if p.rand != nil {
		return p.rand.IntN(n)
	}
	s.index.turn = (s.index.turn + 1) % n
	return s.index.turn
}

// from returns the first machine that will do from start on, once around, or
// -1.
func (s *Snapshot) from(q *Query, need *sparse, mask *Mask, start int) int {
	n := len(s.free)
	for _, part := range [2][2]int{{start, n}, {0, start}} {
		for node := s.next(need, part[0], part[1]); node < part[1]; node = s.next(need, node+1, part[1]) {
			if s.permits(q, mask, node) {
				return node
			}
		}
	}
	return -1
}

// score returns the score of a machine for s.need.
func (s *Snapshot) score(score Score, node int) float64 {
	return score(&s.need, &s.free[node], &s.val[node].spec.Capacity)
}

// findAmong is find where only some machines are to be looked at: those who are
// asked for score look at all of them, the others at the first that will do.
func (s *Snapshot) findAmong(q Query, p Policy) int {
	need, mask := makeSparse(&q.Need), s.owner.mask.Load()
	s.need = q.Need
	best, high, looked := -1, 0.0, 0
	for n := range q.Among {
		if uint64(n) >= uint64(len(s.free)) {
			continue
		}
		node := int(n)
		s.catchUp(node)
		if !need.fits(&s.free[node]) || !s.permits(&q, mask, node) {
			continue
		}
		if p.score == nil {
			return node
		}
		if score := s.score(p.score, node); best < 0 || score > high || score == high && node < best {
			best, high = node, score
		}
		if looked++; p.kind == bestOf && looked == p.of {
			break
		}
	}
	return best
}

// placeByScore is Place by score. It yields machines by number.
func (s *Snapshot) placeByScore(q Query, score Score, k int, yield func(MachineID, int)) (placed int) {
	need, mask := makeSparse(&q.Need), s.owner.mask.Load()
	s.need = q.Need
	var c candidates
	look := func(node int) {
		if s.permits(&q, mask, node) {
			c = append(c, candidate{s.score(score, node), node, 0})
		}
	}
	s.catchUpAll()
	if q.Among != nil {
		for n := range q.Among {
			if uint64(n) < uint64(len(s.free)) && need.fits(&s.free[n]) {
				look(int(n))
			}
		}
		// One that is in Among twice is one candidate.
		slices.SortFunc(c, candidate.byNode)
		c = slices.CompactFunc(c, func(a, b candidate) bool { return a.node == b.node })
	} else {
		for node := s.index.next(s.free, &need, 0, len(s.free)); node < len(s.free); node = s.index.next(s.free, &need, node+1, len(s.free)) {
			look(node)
		}
	}
	for i := len(c)/2 - 1; i >= 0; i-- {
		c.sink(i)
	}
	var full candidates
	for placed < k && len(c) > 0 {
		best := &c[0]
		s.take(best.node, &q.Need)
		best.tasks++
		placed++
		if need.fits(&s.free[best.node]) {
			best.score = s.score(score, best.node)
		} else {
			full = append(full, *best)
			c[0] = c[len(c)-1]
			c = c[:len(c)-1]
		}
		c.sink(0)
	}
	full = append(full, c...)
	slices.SortFunc(full, candidate.byNode)
	for _, m := range full {
		if m.tasks > 0 {
			yield(s.ids[m.node].id, m.tasks)
		}
	}
	return placed
}

// candidate is a machine with room, its score for one task more, and how many
// it got.
type candidate struct {
	score float64
	node  int
	tasks int
}

func (c candidate) byNode(d candidate) int { return cmp.Compare(c.node, d.node) }

// candidates are a heap, the best first, the lowest number among equals.
type candidates []candidate

func (c candidates) sink(i int) {
	for {
		top := i
		for child := 2*i + 1; child <= 2*i+2 && child < len(c); child++ {
			if c[child].score > c[top].score || c[child].score == c[top].score && c[child].node < c[top].node {
				top = child
			}
		}
		if top == i {
			return
		}
		c[i], c[top] = c[top], c[i]
		i = top
	}
}
