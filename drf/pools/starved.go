package pools

import (
	"iter"
	"slices"
	"time"

	"github.com/cellsched/cellsched/internal/fault"

	"github.com/cellsched/cellsched/resources"
)

// errFactor reports a part of the fair share that is not in (0, 1].
var errFactor = fault.Text("pools: invalid factor", ErrValue)

// Hunger records the starved pools and jobs, and since when they are starved. The
// caller decides after how long to preempt for them.
//
// A node is starved of its min share if it wants more and holds less than that. It
// is starved of its fair share if it holds less than a part of it. With several
// kinds, this has to hold for all kinds that it wants more of, and, for the min
// share, has a min share of. A node with enough of one kind is not starved: its
// tasks determine its usage of the others, and DRF would not give it more. The root
// is never starved, as there is no other node to preempt.
//
// The zero Hunger has no starved node. It is not safe for concurrent use.
type Hunger struct {
	// Factor is the part of its fair share below which a node is starved of it. It
	// is in (0, 1]; 0 is one half, as in the Hadoop Fair Scheduler.
	Factor float64

	last     time.Time
	starving []Starving // of the last call of Observe
}

// Starving is a starved pool or job. A time is the zero Time if the node is not
// starved of that share; at least one is set.
type Starving struct {
	Node Node
	// OfMin is the time since which it is starved of its min share.
	OfMin time.Time
	// OfFair is the time since which it is starved of a part of its fair share.
	OfFair time.Time
}

// Observe records the starved nodes of now, by standings from [Tree.Standings].
//
// A node that was not starved at the last call is starved from now on, although it
// may have been so earlier: the recorded time is never too long. A node that is no
// longer starved, or not in standings, is forgotten. If it is starved again, its
// time begins anew.
//
// Cost: O(n) for n standings, and memory for the starved nodes. The caller keeps
// standings. Errors, which change nothing: [ErrValue] for an earlier time than
// before, or the zero Time; [ErrValue] for a Factor outside [0, 1].
func (h *Hunger) Observe(now time.Time, standings []Standing) error {
	if h == nil {
		return self.Absent("hunger")
	}
	factor := h.Factor
	switch {
	case factor == 0:
		factor = 0.5
	case !(factor > 0 && factor <= 1): // NaN too
		return self.Refuse(errFactor, "observe: factor %v, want more than 0, and 1 at most", factor)
	}
	if now.Before(h.last) || now.IsZero() {
		return self.Refuse(errTime, "observe at %v after %v, want no earlier, nor the zero time", now, h.last)
	}
	before := make(map[Node]Starving, len(h.starving))
	for _, s := range h.starving {
		before[s.Node] = s
	}
	var starving []Starving // a new one: a walk over the old one may go on
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

// Starved walks the nodes that were starved at the last call of Observe, in the
// order of its standings. The body may call Observe.
func (h *Hunger) Starved() iter.Seq[Starving] {
	if h == nil {
		return func(func(Starving) bool) {}
	}
	return slices.Values(h.starving)
}

// since returns the start of a state that holds now: before, or now if before is
// zero.
func since(before, now time.Time) time.Time {
	if before.IsZero() {
		return now
	}
	return before
}

// belowMin reports whether the node is starved of its min share.
func (s *Standing) belowMin() bool {
	return s.below(func(k int) (below, counts bool) {
		return s.Usage[k] < s.Min[k], s.Min[k] > 0
	})
}

// belowFair reports whether the node is starved of a part of its fair share. That
// part is rounded as float64 is, which no caller can notice.
func (s *Standing) belowFair(factor float64) bool {
	return s.below(func(k int) (below, counts bool) {
		return float64(s.Usage[k]) < factor*float64(s.Fair[k]), true
	})
}

// below reports whether the node is below in each kind that counts and that it
// wants more of, and there is such a kind.
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
