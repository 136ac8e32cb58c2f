package omega

import (
	"iter"
	"slices"

	"github.com/cellsched/cellsched/locality"
	"github.com/cellsched/cellsched/resources"
)

// Limits bound the claims of a scheduler: Omega paper, section 3.4. They are enforced at
// its commits, without a shared write. The zero Limits allow as much as there is,
// everywhere, at precedence 0.
type Limits struct {
	// Held is the most that the allocations may add up to at any moment; nil for no limit.
	// Releases of a transaction count for its claims: on the same machine only, unless it
	// is a gang or claims nothing there.
	Held *resources.Vector
	// Jobs is the most jobs between BeginJob and EndJob at a time; 0 for no limit. With a
	// limit the scheduler may claim only inside a job.
	Jobs int
	// Gang is the most claims that one of its gangs may have; 0 for no limit.
	Gang int
	// Lowest and Highest are the range of precedence of its claims.
	Lowest, Highest Precedence
	// Divisible lets a claim that preempts take only the part that it lacks: see
	// [Mark.Rest]. Without it a victim goes as a whole.
	Divisible bool
	// Machines is the mask of machines that it may claim: see [Scheduler.Restrict].
	Machines Mask
}

// clone returns limits that share nothing with l.
func (l *Limits) clone() Limits {
	c := *l
	if l.Held != nil {
		held := *l.Held
		c.Held = &held
	}
	c.Machines = slices.Clone(l.Machines)
	return c
}

func (l *Limits) check(name string) error {
	if l.Held != nil {
		if err := l.Held.Check(); err != nil {
			return refuse(err, "scheduler %q: limit of what it may hold", name)
		}
	}
	if l.Jobs < 0 || l.Gang < 0 {
		return limit("scheduler %q: limits of jobs %d, gang %d: want 0 or more", name, l.Jobs, l.Gang)
	}
	if l.Lowest > l.Highest {
		return limit("scheduler %q: precedence from %d to %d: want lowest <= highest", name, l.Lowest, l.Highest)
	}
	return nil
}

// Limits returns a copy of the scheduler's limits, with the present mask. Cost: O(machines /
// 64) with a mask. Safe for concurrent use.
func (s *Scheduler) Limits() Limits {
	if s.none() {
		return Limits{}
	}
	l := s.owner.limits
	l.Machines = nil
	if m := s.owner.mask.Load(); m != nil {
		l.Machines = *m
	}
	return l.clone()
}

// allow returns an error unless a gang of so many claims, with the given sum, is within
// the limits of a scheduler without allocations.
func (l *Limits) allow(name string, claims int, sum *resources.Vector, space *resources.Space) error {
	if l.Gang > 0 && claims > l.Gang {
		return limit("scheduler %q: gang of %d claims, limit of %d", name, claims, l.Gang)
	}
	if l.Held != nil && !resources.Fits(sum, l.Held) {
		return limit("scheduler %q: need %s, limit of %s", name, space.Format(*sum), space.Format(*l.Held))
	}
	return nil
}

// Left returns how much more [Limits] let the scheduler claim, kind by kind:
// [resources.MaxQuantity] without a limit. ok is false while it may claim nothing, as it
// has no job admitted. Claims of commits in progress may count as held. Cost: O(1). Safe
// for concurrent use, lock-free.
func (s *Scheduler) Left() (left resources.Vector, ok bool) {
	if s.none() {
		return resources.Vector{}, false
	}
	o := s.owner
	if o.limits.Jobs > 0 && o.jobs.Load().count() == 0 {
		return resources.Vector{}, false
	}
	if o.held == nil {
		for k := range left {
			left[k] = resources.MaxQuantity
		}
		return left, true
	}
	held := o.held.load()
	for k, most := range o.limits.Held {
		left[k] = max(0, most-held[k])
	}
	return left, true
}

// Mask is a set of machines by node number, 64 to a word: bit n%64 of word n/64. Machines
// beyond its end are not in it. Where a mask is asked for, nil stands for all machines.
type Mask []uint64

// NewMask returns the mask of the given machines.
func NewMask(nodes iter.Seq[locality.Node]) Mask {
	if nodes == nil {
		return Mask{}
	}
	m := Mask{}
	for n := range nodes {
		for int(n/64) >= len(m) {
			m = append(m, 0)
		}
		m[n/64] |= 1 << (n % 64)
	}
	return m
}

// Has reports whether n is in the mask. A nil mask has every n.
func (m Mask) Has(n locality.Node) bool {
	return m == nil || int(n/64) < len(m) && m[n/64]>>(n%64)&1 == 1
}
