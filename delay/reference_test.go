package delay_test

import (
	"math"
	"time"

	"github.com/cellsched/cellsched/delay"
	"github.com/cellsched/cellsched/locality"
)

// reference is the rule of waits, as plainly as possible: Algorithm 3 in the
// paper's own variables, and the price of its waits.
type reference struct {
	waits   delay.Waits
	paper   bool
	nearest int
	empty   [256]bool
	starved bool
	told    int // tasks, 0 for not told

	level   int
	wait    time.Duration
	skipped bool

	debt, from, rest, forgiven time.Duration
	price                      time.Duration // when wait was from
}

// slots is the state of the slots that offers come from.
type slots struct {
	idle, taken int64
	age, price  time.Duration
}

func (s *slots) many() bool { return 5*s.idle > 3*s.taken }

func (s *slots) pass(d, window time.Duration) {
	if s.many() {
		s.price += d
	} else if s.idle > 0 {
		s.price += d * time.Duration(s.idle) / time.Duration(s.idle+s.taken)
	}
	if s.idle+s.taken == 0 {
		return
	}
	if s.age += d; s.age >= window {
		s.idle, s.taken, s.age = (s.idle+1)/2, s.taken/2, 0
	}
}

// all is the sum of all waits, also of those for empty levels.
func (r *reference) all() (sum time.Duration) {
	for _, w := range r.waits {
		sum += w
	}
	return sum
}

// between is the sum of the waits on the way from a level to another one.
func (r *reference) between(from, to int) (sum time.Duration) {
	for l := from; l < min(to, len(r.waits)); l++ {
		if !r.empty[l] {
			sum += r.waits[l]
		}
	}
	return sum
}

func (r *reference) takesAfter(level int, wait time.Duration) bool {
	return r.starved || level <= r.nearest || r.nearest >= len(r.waits) || level <= r.level ||
		wait >= r.between(max(r.level, r.nearest), level)
}

func (r *reference) takes(level int) bool { return r.takesAfter(level, r.wait) }

func (r *reference) tick(d time.Duration) {
	if r.skipped {
		r.wait += d
	} else {
		r.rest += d
	}
	r.skipped = false
}

func (r *reference) launch(level int, marked bool, s *slots) {
	if r.paper {
		r.level, r.wait = min(level, len(r.waits)), 0
		return
	}
	all := level > r.nearest && r.takes(len(r.waits))
	if r.takesAfter(len(r.waits), r.from) {
		r.rest += r.wait - r.from
	} else {
		r.debt += min(r.wait-r.from, s.price-r.price)
	}
	r.debt = max(0, r.debt-r.rest/16)
	r.rest, r.price = 0, s.price
	if level <= r.nearest && r.told > 0 {
		most := r.all() / 4 * 5
		off := min(r.between(r.nearest, math.MaxInt)/4/time.Duration(r.told)*5, most-r.forgiven, r.debt)
		r.forgiven += off
		r.debt -= off
	}
	r.level = min(level, len(r.waits))
	r.wait = max(0, r.debt-r.between(r.nearest, max(r.level, r.nearest)))
	r.from = r.wait
	if all {
		s.idle, s.taken, s.age = 0, 0, 0
	}
	r.skipped = marked && s.idle > 0
}

// allowed is the farthest level that is taken.
func (r *reference) allowed() locality.Level {
	if r.takes(len(r.waits)) {
		return 255
	}
	for l := len(r.waits) - 1; ; l-- {
		if r.takes(l) {
			return locality.Level(l)
		}
	}
}
