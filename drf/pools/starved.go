package pools

import (
	"errors"
	"iter"
	"slices"
	"time"

	"github.com/cellsched/cellsched/resources"
)

// ErrFactor is what a part of the fair share fails with that is not in (0, 1].
var ErrFactor = errors.New("pools: invalid factor")

// Hunger knows who is starved, and since when: for how long somebody has to be
// before others are preempted for it is for the caller to say.
//
// A pool or a job is starved of its min share when it wants more and holds less
// than that, and of its fair share when it holds less than a part of it. Of
// several kinds, it is when this is so in all those of which it wants more, and,
// for the min share, was promised some: as soon as it has enough of one kind,
// what it has of the others is what its tasks make of that, and DRF would not
// give it more. The root is never starved: there is nobody to take from.
//
// The zero Hunger has seen nobody. It is not safe for concurrent use.
type Hunger struct {
	// Factor is the part of its fair share below which somebody is starved of
	// it, in (0, 1]; 0 is one half, as in the Hadoop Fair Scheduler.
	Factor float64

	last     time.Time
	starving []Starving // of the last call of Observe
}

// Starving is a pool or a job that is starved. A time is the zero Time where it
// is not; one of them at least is set.
type Starving struct {
	Node Node
	// OfMin is since when it is starved of its min share.
	OfMin time.Time
	// OfFair is since when it is starved of a part of its fair share.
	OfFair time.Time
}

// Observe notes who is starved now, by standings from [Tree.Standings].
//
// Whoever was not starved before is from now on. So it may have been for as
// long as since the call before: nobody is counted as starved for longer than
// it was. Whoever is starved no more is forgotten, as is who is not in
// standings; if it is starved again, it is so since then.
//
// Cost: O(n) for n standings, and memory for those who are starved. standings
// stays the caller's. An earlier time than before, or the zero Time, is an
// [ErrTime], a Factor outside [0, 1] an [ErrFactor]; nothing is noted then.
func (h *Hunger) Observe(now time.Time, standings []Standing) error {
	if h == nil {
		return absent("hunger")
	}
	factor := h.Factor
	switch {
	case factor == 0:
		factor = 0.5
	case !(factor > 0 && factor <= 1): // NaN too
		return refuse(ErrFactor, "observe: factor %v, want more than 0, and 1 at most", factor)
	}
	if now.Before(h.last) || now.IsZero() {
		return refuse(ErrTime, "observe at %v after %v, want no earlier, nor the zero time", now, h.last)
	}
	before := make(map[Node]Starving, len(h.starving))
	for _, s := range h.starving {
		before[s.Node] = s
	}
	var starving []Starving // a walk over those of before is not disturbed
	for i := range standings {
		s := &standings[i]
		if s.Parent == (Node{}) {
			continue
		}
		was, is := before[s.Node], Starving{Node: s.Node}
		if s.belowMin() {
			is.OfMin = since(was.OfMin, now)
		}
		if s.belowFair(factor) {
			is.OfFair = since(was.OfFair, now)
		}
		if !is.OfMin.IsZero() || !is.OfFair.IsZero() {
			starving = append(starving, is)
		}
	}
	h.last, h.starving = now, starving
	return nil
}

// Starved walks those who were starved at the last call of Observe, in the
// order of its standings. The body may call Observe.
func (h *Hunger) Starved() iter.Seq[Starving] {
	if h == nil {
		return func(func(Starving) bool) {}
	}
	return slices.Values(h.starving)
}

// since returns when that began which is so now.
func since(before, now time.Time) time.Time {
	if before.IsZero() {
		return now
	}
	return before
}

// belowMin reports whether it is starved of its min share.
func (s *Standing) belowMin() bool {
	return s.below(func(k int) (below, counts bool) {
		return s.Usage[k] < s.Min[k], s.Min[k] > 0
	})
}

// belowFair reports whether it is starved of a part of its fair share. That part
// is rounded as float64 is, to more digits than the starved can tell.
func (s *Standing) belowFair(factor float64) bool {
	return s.below(func(k int) (below, counts bool) {
		return float64(s.Usage[k]) < factor*float64(s.Fair[k]), true
	})
}

// below reports whether something counts, of which it wants more, and it is
// below in all of that.
func (s *Standing) below(kind func(k int) (below, counts bool)) bool {
	some := false
	for k := range resources.MaxKinds {
		if s.Usage[k] >= s.Wants[k] {
			continue
		}
		below, counts := kind(k)
		if counts && !below {
			return false
		}
		some = some || counts
	}
	return some
}
