package omega

import (
	"cmp"
	"slices"
	"sync/atomic"

	"github.com/cellsched/cellsched/omega/internal/atomics"
	"github.com/cellsched/cellsched/omega/observe"
)

// Stats returns how many transactions the scheduler has committed, how many of their
// claims were granted, and why the others were refused, without its predecessors. Waited
// has the calls of [Scheduler.Wait] and [Scheduler.WaitAny] that returned nil. Left out are transactions that failed, and those in doubt that a journal applied after all.
//
// Safe for concurrent use. It may show a commit in progress in part, and takes the mutex
// of the line where schedulers wait. Cost: O(schedulers that wait).
func (s *Scheduler) Stats() observe.Counts {
	if s.none() {
		return observe.Counts{}
	}
	counted := s.counts.read()
	counted.lost = s.lost()
	all := counted.public(s.owner.name)
	if c := s.cell; c.waiting() && !s.superseded() {
		c.waiters.mu.Lock()
		defer c.waiters.mu.Unlock()
		for _, w := range c.waiters.line {
			if w.owner == s.owner {
				all.Waiting++
			}
		}
	}
	return all
}

// Stats returns the counts of each scheduler by name, predecessors included. The first
// has no name: it is the sum over schedulers that have left. A commit in progress when
// its scheduler was replaced may be missing.
//
// Safe for concurrent use: see [Scheduler.Stats]. Cost: O(schedulers log schedulers).
func (c *Cell) Stats() []observe.Counts {
	if c.none() {
		return nil
	}
	waiting := c.waitingOf()
	c.mu.Lock()
	defer c.mu.Unlock()
	all := make([]observe.Counts, 1, len(c.owners)+1)
	all[0] = c.departed.public("")
	for _, o := range c.owners {
		counted := o.counted()
		one := counted.public(o.name)
		one.Waiting = waiting[o]
		all = append(all, one)
	}
	slices.SortFunc(all, func(a, b observe.Counts) int { return cmp.Compare(a.Name, b.Name) })
	return all
}

// waitingOf returns how many calls of Wait each owner has in the line.
func (c *Cell) waitingOf() map[*owner]int {
	if !c.waiting() {
		return nil
	}
	c.waiters.mu.Lock()
	defer c.waiters.mu.Unlock()
	n := make(map[*owner]int)
	for _, w := range c.waiters.line {
		n[w.owner]++
	}
	return n
}

// counts are the numbers of one Scheduler. The commit in progress alone writes them, so
// that a store after a load loses nothing. All but the word lie apart from the Scheduler. In
// the cache line of the word is what each commit reads of the Scheduler anyway: a line more
// takes 2 % of a commit.
//
// On amd64 an atomic store is a locked instruction, as costly as all else that a commit of
// one claim adds here. So a commit with nothing but granted claims stores one word, the one
// that also makes the scheduler busy:
//
//	bit 0: busy │ bit 1: odd │ bits 2 to 31: commits │ bits 32 to 63: granted claims
//
// The numbers of the word are carried over long before they are full. Odd tells whether
// that has happened an odd number of times.
type counts struct {
	word    *atomics.Uint64          // the Scheduler's
	carried atomics.Pointer[carried] // nil before the first time; replaced, never written through

	retries, victims atomics.Uint64
	refused          [len(reasons)]atomics.Uint64 // claims, by verdict

	waited atomic.Pointer[waitTimes] // nil before the first Wait that returned nil

	lostBefore uint64         // of the owner's, those of predecessors
	lostThen   atomics.Uint64 // one more than the owner's when a successor began, 0 before

	_ [72]byte // to whole pairs of cache lines
}

// carried are the numbers of all words before those of one parity.
type carried struct{ odd, commits, grants uint64 }

const (
	oddWord   = 1 << 1
	oneCommit = 1 << 2
	oneGrant  = 1 << 32
	// carryAt has the highest bit of each number. One commit adds less than half of what the
	// word can hold of either.
	carryAt = 1<<31 | 1<<63
)

// occupy makes the scheduler busy. It returns the word as it was, or false while another
// goroutine has made it busy.
func (s *Scheduler) occupy() (word uint64, ok bool) {
	word = s.word.Load()
	return word, word%2 == 0 && s.word.CompareAndSwap(word, word+1)
}

// committed returns a word with one commit more.
func committed(word uint64, granted int) uint64 {
	return word + oneCommit + uint64(granted)*oneGrant
}

// vacate makes the scheduler free.
func (s *Scheduler) vacate(word uint64) {
	if word&carryAt != 0 {
		word = s.counts.carry(word)
	}
	s.word.Store(word)
}

// carry carries the numbers of a word over and returns the next word.
func (c *counts) carry(word uint64) uint64 {
	all := c.total(word, c.carried.Load())
	all.odd = word&oddWord ^ oddWord
	c.carried.Store(&all) // before the word: total relies on that
	return all.odd
}

// total adds the numbers of a word to those that were carried over. A word of the other
// parity was carried over after it was loaded, so they have its numbers already.
func (*counts) total(word uint64, sum *carried) carried {
	if sum == nil {
		sum = &carried{}
	}
	all := *sum
	if word&oddWord == sum.odd {
		all.commits += word % oneGrant / oneCommit
		all.grants += word / oneGrant
	}
	return all
}

// note counts the rest of a transaction: not its granted claims.
func (c *counts) note(tx *Txn, granted int) {
	if granted == len(tx.items) && tx.retries|tx.preempted == 0 {
		return
	}
	c.noteRest(tx)
}

// noteRest is note for a transaction with more than granted claims. It stores once for
// each run of claims that were refused for the same reason, and nothing for releases.
func (c *counts) noteRest(tx *Txn) {
	if len(tx.items) == 1 && tx.items[0].kind == releaseItem && tx.retries == 0 {
		return // as most are, but for claims
	}
	reason, n := pending, uint64(0)
	for i := range tx.items {
		if it := &tx.items[i]; it.kind != releaseItem && it.verdict != done {
			if it.verdict != reason {
				addTo(&c.refused[reason], n)
				reason, n = it.verdict, 0
			}
			n++
		}
	}
	addTo(&c.refused[reason], n)
	addTo(&c.retries, tx.retries)
	addTo(&c.victims, tx.preempted)
	tx.retries, tx.preempted = 0, 0
}

// addTo adds to a number that no other goroutine writes. Nothing is no store.
func addTo(to *atomics.Uint64, n uint64) {
	if n > 0 {
		to.Store(to.Load() + n)
	}
}

// counted holds the numbers of one moment.
type counted struct {
	commits, grants, retries, victims, lost uint64
	refused                                 [len(reasons)]uint64
	waited                                  *observe.Histogram // nil for none; never written through
}

// read returns the numbers of c. The word is loaded first: see total. It belongs to what was
// carried over unless that has changed meanwhile. The loop ends, as carries are 2^31 commits
// or grants apart.
func (c *counts) read() (n counted) {
	before, word := c.carried.Load(), c.word.Load()
	sum := c.carried.Load()
	for sum != before {
		before, word = sum, c.word.Load()
		sum = c.carried.Load()
	}
	all := c.total(word, sum)
	n.commits, n.grants = all.commits, all.grants
	n.retries, n.victims = c.retries.Load(), c.victims.Load()
	for v := range n.refused {
		n.refused[v] = c.refused[v].Load()
	}
	n.waited = c.waited.Load().read()
	return n
}

// add adds the numbers of o.
func (n *counted) add(o counted) {
	n.commits += o.commits
	n.grants += o.grants
	n.retries += o.retries
	n.victims += o.victims
	n.lost += o.lost
	for v, more := range o.refused {
		n.refused[v] += more
	}
	if o.waited != nil {
		var sum observe.Histogram
		if n.waited != nil {
			sum = *n.waited
		}
		sum.Merge(o.waited)
		n.waited = &sum
	}
}

// public returns the numbers of the scheduler of that name.
func (n *counted) public(name string) observe.Counts {
	all := observe.Counts{
		Name: name, Commits: n.commits, Claims: n.grants, Granted: n.grants, Retries: n.retries,
		Victims: n.victims, Preempted: n.lost,
	}
	all.Counted.Commits, all.Counted.Retries, all.Counted.Victims = true, true, true
	if n.waited != nil {
		all.Waited = *n.waited
	}
	for v, refused := range n.refused {
		all.Claims += refused
		all.Refuse(reasonNames[v], refused)
	}
	return all
}

// counted returns the numbers of an owner's Schedulers, with the cell's mutex held.
func (o *owner) counted() counted {
	all := o.past
	if o.counts != nil {
		all.add(o.counts.read())
	}
	all.lost = o.lost.Load()
	return all
}

// lost returns how many allocations of the Scheduler were preempted in its time.
func (s *Scheduler) lost() uint64 {
	all := s.owner.lost.Load()
	if then := s.counts.lostThen.Load(); then > 0 {
		all = then - 1
	}
	return all - s.counts.lostBefore
}
