package observe

import (
	"cmp"
	"math"
	"math/bits"
	"slices"
	"time"
)

// Counts are the numbers that an engine has counted since it was made: a scheduler of a
// cell, a loop, a master of offers, a tenant of a pool. All packages return this type, so
// that one exporter serves them. Fields that an engine does not count are zero.
type Counts struct {
	Name string // of the scheduler, framework or tenant, if there are several

	// Counted tells which of the fields that some engines do not count this one counts: a 0
	// of these is a number, a 0 of the others is none. All engines count the rest.
	Counted struct{ Commits, Retries, Victims, Offers bool }

	Commits   uint64 // transactions that were committed, and rounds
	Claims    uint64 // claims or requests that were granted or refused
	Granted   uint64 // of these
	Retries   uint64 // claims judged again because another commit changed the machine meanwhile
	Preempted uint64 // allocations of its own that were preempted, or asked to end
	Victims   uint64 // allocations of other schedulers that its claims preempted
	Waiting   int    // requests that wait now
	Offers    int    // offers that are outstanding now
	// Refused counts the refused claims by reason, in the order of the reasons. Reasons
	// without any are left out.
	Refused []Refusal

	Waited Histogram // by granted requests, from the request to the grant
	Placed Histogram // by attempts and rounds, from their begin to their end
}

// Refusal is the number of claims that were refused for a reason.
type Refusal struct {
	Reason string // one word or two, in lower case: "conflict", "full", "queue full"
	Count  uint64
}

// Add adds the numbers of o to those of c. The name stays. The sum counts what either counts.
func (c *Counts) Add(o *Counts) {
	c.Commits += o.Commits
	c.Claims += o.Claims
	c.Granted += o.Granted
	c.Retries += o.Retries
	c.Preempted += o.Preempted
	c.Victims += o.Victims
	c.Waiting += o.Waiting
	c.Offers += o.Offers
	c.Counted.Commits = c.Counted.Commits || o.Counted.Commits
	c.Counted.Retries = c.Counted.Retries || o.Counted.Retries
	c.Counted.Victims = c.Counted.Victims || o.Counted.Victims
	c.Counted.Offers = c.Counted.Offers || o.Counted.Offers
	for _, r := range o.Refused {
		c.Refuse(r.Reason, r.Count)
	}
	for _, h := range [...][2]*Histogram{{&c.Waited, &o.Waited}, {&c.Placed, &o.Placed}} {
		if *h[1] != (Histogram{}) {
			h[0].Merge(h[1])
		}
	}
}

// Refuse adds n refusals for a reason. Claims stays.
func (c *Counts) Refuse(reason string, n uint64) {
	if n == 0 {
		return
	}
	i, found := slices.BinarySearchFunc(c.Refused, reason, func(r Refusal, s string) int { return cmp.Compare(r.Reason, s) })
	if !found {
		c.Refused = slices.Insert(c.Refused, i, Refusal{Reason: reason})
	}
	c.Refused[i].Count += n
}

// buckets is how many buckets a histogram has. The bound of the last but one is 2.4 hours.
const buckets = 35

// Histogram counts durations in fixed buckets. The zero Histogram is empty. It is a plain
// value and not safe for concurrent use.
type Histogram struct {
	// Buckets[i] counts durations below Bound(i) that no earlier bucket has. The last one
	// has no bound.
	Buckets [buckets]uint64
	Sum     time.Duration
}

// Bound returns the upper bound of a bucket: 2^i microseconds.
func (h *Histogram) Bound(i int) time.Duration { return time.Microsecond << i }

// Add counts one duration. One below 0 counts as 0. Cost: O(1).
func (h *Histogram) Add(d time.Duration) {
	d = max(d, 0)
	h.Buckets[min(bits.Len64(uint64(d/time.Microsecond)), buckets-1)]++
	h.Sum = later(h.Sum, d)
}

// Merge adds the durations of o.
func (h *Histogram) Merge(o *Histogram) {
	for i, n := range &o.Buckets {
		h.Buckets[i] += n
	}
	h.Sum = later(h.Sum, o.Sum)
}

// later returns the sum of two times that are not negative, or the longest time.
func later(a, b time.Duration) time.Duration {
	return min(a, math.MaxInt64-b) + b
}

// Count returns how many durations were counted.
func (h *Histogram) Count() (n uint64) {
	for _, b := range &h.Buckets {
		n += b
	}
	return n
}

// Quantile returns the bound of the bucket with the quantile q, from 0 to 1: of n durations in
// order the one with the number ⌈q*n⌉, the first for less. It is 0 for an empty histogram. Of the
// last bucket it is the bound of the one before.
func (h *Histogram) Quantile(q float64) time.Duration {
	all := h.Count()
	rank := uint64(math.Ceil(min(max(q, 0), 1) * float64(all)))
	var below uint64
	for i, n := range &h.Buckets {
		if below += n; n > 0 && below >= min(max(rank, 1), all) {
			return h.Bound(min(i, buckets-2))
		}
	}
	return 0
}
