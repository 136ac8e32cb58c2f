package omega

import (
	"math/rand/v2"

	"github.com/cellsched/cellsched/omega/score"
	"github.com/cellsched/cellsched/resources"
)

// Policy picks one of the machines that fit a query ([Snapshot.Fitting]). It does not
// change the snapshot. A nil Policy is [NextFit]. Policies of this package: NextFit,
// [FirstFit], [BestFit], [WorstFit], [ByScore], [ByFalling], [ByRising], [BestOf]. A
// source of randomness is used only while they search.
type Policy interface {
	// Pick returns a machine of the walk, and false for none.
	Pick(s *Snapshot, q Query) (MachineID, bool)
}

// NextFit picks the first machine from the one that the last search by next fit picked.
// It fills a machine before it goes on, and is the cheapest.
func NextFit() Policy { return nextFit{} }

type nextFit struct{}

// FirstFit picks the first machine from a random one on; without a source of
// randomness, from one further each time.
func FirstFit(r *rand.Rand) Policy { return firstFit{r} }

type firstFit struct{ rand *rand.Rand }

// BestFit picks the machine that is left with the least, as the sum over all
// kinds of the share of its capacity.
func BestFit() Policy { return ByFalling(nil) }

// WorstFit picks the machine that is left with the most. It spreads.
func WorstFit() Policy {
	return ByRising(func(need, free, capacity *resources.Vector) float64 { return -tightest(need, free, capacity) })
}

// ByScore picks the machine with the highest score among all that fit, the lowest number
// among equals. A nil score is best fit's.
func ByScore(f score.Func) Policy { return byScore{or(f), anyTrend} }

// ByFalling is [ByScore] for a score that never rises with the free room: of two machines
// with equal capacities, the one with no less free of any kind scores no higher.
// [score.Func] lists such scores. Most machines need not be looked at. The first search
// makes an index of O(machines) memory, which later searches keep up to date.
func ByFalling(f score.Func) Policy { return byScore{or(f), falling} }

// ByRising is [ByFalling] for a score that is never lower where more is free.
func ByRising(f score.Func) Policy { return byScore{or(f), rising} }

type byScore struct {
	score score.Func
	trend trend
}

// trend tells how a score changes with free room.
type trend uint8

const (
	anyTrend trend = iota
	falling
	rising
)

// BestOf picks the machine with the highest score among k that fit, each the first from a
// random one on. A nil score is best fit's. It comes close to the best of all for a
// fraction of the cost, and two schedulers seldom pick the same machine.
func BestOf(k int, f score.Func, r *rand.Rand) Policy { return bestOf{max(k, 1), or(f), firstFit{r}} }

type bestOf struct {
	k     int
	score score.Func
	first firstFit
}

// or returns a score, or best fit's for nil.
func or(f score.Func) score.Func {
	if f == nil {
		return tightest
	}
	return f
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

// Pick implements [Policy].
func (p nextFit) Pick(s *Snapshot, q Query) (MachineID, bool) {
	if s.none() {
		return 0, false
	}
	if q.Among != nil {
		return s.chosen(s.findAmong(q, nil, 0))
	}
	return s.chosen(s.findNext(&q))
}

// Pick implements [Policy].
func (p firstFit) Pick(s *Snapshot, q Query) (MachineID, bool) {
	switch {
	case s.none() || len(s.free) == 0:
		return 0, false
	case q.Among != nil:
		return s.chosen(s.findAmong(q, nil, 0))
	}
	need := makeSparse(&q.Need)
	return s.chosen(s.from(&q, &need, s.owner.mask.Load(), p.start(s)))
}

// start returns where a search begins.
func (p firstFit) start(s *Snapshot) int {
	n := len(s.free)
	if p.rand != nil {
		return p.rand.IntN(n)
	}
	s.index.turn = (s.index.turn + 1) % n
	return s.index.turn
}

// Pick implements [Policy].
func (p byScore) Pick(s *Snapshot, q Query) (MachineID, bool) {
	switch {
	case s.none():
		return 0, false
	case q.Among != nil:
		return s.chosen(s.findAmong(q, p.score, 0))
	}
	return s.chosen(s.findBest(&q, p))
}

// Pick implements [Policy].
func (p bestOf) Pick(s *Snapshot, q Query) (MachineID, bool) {
	switch {
	case s.none() || len(s.free) == 0:
		return 0, false
	case q.Among != nil:
		return s.chosen(s.findAmong(q, p.score, p.k))
	}
	need, mask := makeSparse(&q.Need), s.owner.mask.Load()
	s.need = q.Need
	best, high := -1, 0.0
	for range p.k {
		node := s.from(&q, &need, mask, p.first.start(s))
		if node < 0 {
			break
		}
		if score := s.score(p.score, node); best < 0 || score > high {
			best, high = node, score
		}
	}
	return s.chosen(best)
}
