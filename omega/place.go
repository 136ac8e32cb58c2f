package omega

import (
	"cmp"
	"iter"
	"slices"

	"github.com/cellsched/cellsched/locality"
	"github.com/cellsched/cellsched/omega/score"
	"github.com/cellsched/cellsched/resources"
)

// Query describes the machines that a search looks for.
type Query struct {
	// Need is the amount that has to fit. The zero need fits on every machine that
	// takes claims, any number of times, though no claim of it is granted; a negative
	// one fits nowhere.
	Need resources.Vector
	// Allow says which machines will do besides having room; nil for all.
	Allow func(locality.Node) bool
	// Among are the only machines to look at, in this order; nil for all.
	Among iter.Seq[locality.Node]
}

// Find returns a machine that fits the query, picked by the policy, and false if none
// does: see [Snapshot.Explain]. It takes no room: see [Snapshot.Take].
//
// Cost: by score O(machines with room), else O(machines) at worst, most of which are
// passed by 32 at a time. It allocates nothing, but some small objects for an Among.
func (s *Snapshot) Find(q Query, p Policy) (MachineID, bool) {
	if p == nil {
		p = nextFit{}
	}
	if s.none() {
		return 0, false
	}
	return p.Pick(s, q)
}

// chosen returns the ID of the machine with a node number, and false for -1.
func (s *Snapshot) chosen(node int) (MachineID, bool) {
	if node < 0 {
		return 0, false
	}
	return s.ids[node].id, true
}

// Place finds room for up to k tasks of the query's need, takes it, and yields machines
// with the number of tasks that they take. It returns how many are placed. The policy
// picks for each task in turn; by next fit and first fit a machine takes as many as fit
// at once. The caller commits the tasks; yield may be nil. Cost: as [Snapshot.Find] once,
// and O(machines used); by score O(machines + k log machines).
func (s *Snapshot) Place(q Query, p Policy, k int, yield func(m MachineID, tasks int)) (placed int) {
	if s.none() {
		return 0
	}
	if yield == nil {
		yield = func(MachineID, int) {}
	}
	atOnce := false // whether a machine takes as many as fit
	switch p := p.(type) {
	case nil, nextFit, firstFit:
		atOnce = true
	case byScore:
		s.catchUpAll()
		if q.Among != nil || p.trend == anyTrend || k > len(s.free)/fewOf || !s.index.boxed(s) {
			return s.placeByScore(q, p.score, k, yield)
		}
		var tasks candidates
		for ; placed < k; placed++ {
			node := s.findBest(&q, p)
			if node < 0 {
				break
			}
			s.take(node, &q.Need)
			tasks = append(tasks, candidate{node: node, tasks: 1})
		}
		slices.SortFunc(tasks, candidate.byNode)
		for i, m := range tasks {
			if i+1 < len(tasks) && tasks[i+1].node == m.node {
				tasks[i+1].tasks += m.tasks
			} else {
				yield(s.ids[m.node].id, m.tasks)
			}
		}
		return placed
	}
	for placed < k {
		m, ok := s.Find(q, p)
		if !ok {
			return placed
		}
		n := 1
		if atOnce {
			n = min(k-placed, times(&q.Need, &s.free[m.Node()]))
		}
		if !s.Take(m, q.Need.Scale(int64(n))) {
			return placed // a policy of the caller's own, which picked a machine without room
		}
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

// permits reports whether a machine with room will do.
func (s *Snapshot) permits(q *Query, mask *Mask, node int) bool {
	n := locality.Node(node)
	return (mask == nil || mask.Has(n)) && (q.Allow == nil || q.Allow(n))
}

// findNext is next fit. It returns a node, or -1.
func (s *Snapshot) findNext(q *Query) int {
	n := len(s.free)
	if n == 0 {
		return -1
	}
	mask := s.owner.mask.Load()
	if s.index.cursor >= n {
		s.index.cursor = 0
	}
	// Mostly the machine that was picked last has room for one more: what else
	// a search needs is not made before it is known that this one has not.
	// The next one has, where the tasks of a gang go to machines of their own.
	for at := s.index.cursor; at < min(s.index.cursor+2, n); at++ {
		if s.late > 0 {
			s.catchUp(at)
		}
		if resources.Fits(&q.Need, &s.free[at]) && s.permits(q, mask, at) {
			s.index.cursor = at
			return at
		}
	}
	need := makeSparse(&q.Need)
	node := s.from(q, &need, mask, s.index.cursor)
	if node >= 0 {
		s.index.cursor = node
	}
	return node
}

// findBest is a search by score. It returns a node, or -1.
func (s *Snapshot) findBest(q *Query, p byScore) int {
	s.catchUpAll()
	need, mask := makeSparse(&q.Need), s.owner.mask.Load()
	s.need = q.Need
	if p.trend != anyTrend && s.index.boxed(s) {
		return s.bestInBoxes(q, &need, mask, p)
	}
	n := len(s.free)
	best, high := -1, 0.0
	for node := s.index.next(s.free, &need, 0, n); node < n; node = s.index.next(s.free, &need, node+1, n) {
		if s.permits(q, mask, node) {
			if score := s.score(p.score, node); best < 0 || score > high {
				best, high = node, score
			}
		}
	}
	return best
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
func (s *Snapshot) score(f score.Func, node int) float64 {
	return f(&s.need, &s.free[node], &s.val[node].spec.Capacity)
}

// findAmong is a search where only some machines are to be looked at. Without a score
// the first that will do is picked. With one it is the best of the first most that will
// do, or of all of them if most is 0.
func (s *Snapshot) findAmong(q Query, f score.Func, most int) int {
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
		if f == nil {
			return node
		}
		if score := s.score(f, node); best < 0 || score > high || score == high && node < best {
			best, high = node, score
		}
		if looked++; looked == most {
			break
		}
	}
	return best
}

// placeByScore is Place by score. It yields machines by number.
func (s *Snapshot) placeByScore(q Query, f score.Func, k int, yield func(MachineID, int)) (placed int) {
	need, mask := makeSparse(&q.Need), s.owner.mask.Load()
	s.need = q.Need
	var c candidates
	look := func(node int) {
		if s.permits(&q, mask, node) {
			c = append(c, candidate{s.score(f, node), node, 0})
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
			best.score = s.score(f, best.node)
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
