package omega

import (
	"iter"
	"slices"
	"time"
)

// Fate is the event that took an allocation from its owner.
type Fate uint8

// The fates of an allocation.
const (
	Preempted Fate = iota + 1 // a claim of higher precedence took its place
	Lost                      // its machine was removed
)

// String returns the fate in lower case.
func (f Fate) String() string {
	switch f {
	case Preempted:
		return "preempted"
	case Lost:
		return "lost"
	}
	return "unknown fate"
}

// Mark is the notice that an allocation was taken from its owner. It stays until the
// owner releases the allocation, which it does once it has stopped the task, by Until.
// The cell stops no task: a late one shares the machine with its successor.
type Mark struct {
	Allocation Allocation
	Fate       Fate
	By         string // the scheduler that preempted it
	// Until is the time by which the task is to have stopped: [Txn.Now] of the commit that
	// preempted it, and its [Txn.Grace].
	Until time.Time
	// Rest is the part that a claim left of an allocation of a Divisible owner. It is
	// an allocation of that owner, is charged as the one before, and runs on. Zero if
	// nothing was left, and for marks of a cell that was restored.
	Rest AllocationID
}

// markNode is one mark in an owner's list of them: immutable, newest first. A
// list without marks may have one node of size 0, which keeps the count.
type markNode struct {
	Mark
	next *markNode
	num  uint64 // of the mark: the owner's are numbered from 1 as they are pushed
	last uint64 // of the head: the number of the last mark that was pushed
	size int    // nodes from here on
	kept int    // how many of them the last pruning left
}

// push adds a mark to the list and wakes the goroutines that wait for one. Any
// goroutine may call it. It is lock-free, except where a goroutine waits. It linearizes
// at the swap, which fails only if another mark was pushed or the list was pruned.
//
// The list is pruned whenever it has doubled, read or not. So it holds at most twice
// the marks that stand, and a few. A marked allocation was granted once and still has
// its slot, which bounds the marks that stand.
func (o *owner) push(c *Cell, m Mark) {
	n := &markNode{Mark: m}
	for pruned := false; ; {
		head := o.marks.Load()
		if head != nil && head.size > 2*head.kept+64 && !pruned {
			o.prune(c, head)
			pruned = true // once: it may have found a cut in progress
			continue
		}
		n.next, n.num, n.size, n.kept = nil, 1, 1, 0
		if head != nil {
			n.next, n.num, n.size, n.kept = head, head.last+1, head.size+1, head.kept
		}
		n.last = n.num
		if o.marks.CompareAndSwap(head, n) {
			o.watchers.tell(c)
			return
		}
	}
}

// prune drops the marks of released allocations from the list that begins at head,
// and returns the rest, newest first. Numbers stay. It leaves a list with a new
// head as it is.
func (o *owner) prune(c *Cell, head *markNode) []*markNode {
	var standing []*markNode
	total := 0
	for n := head; n != nil && n.size > 0; n = n.next {
		total++
		if c.holds(n.Allocation.ID) {
			standing = append(standing, n)
		}
	}
	// A cut in progress needs the releases since it began. An allocation found
	// released in an even epoch was released before the next cut began.
	if (total > len(standing) || head != nil && head.kept < total) && c.epoch.Load()&1 == 0 {
		list := &markNode{last: head.last}
		for i, n := range slices.Backward(standing) {
			list = &markNode{
				Mark: n.Mark, next: list, num: n.num, last: head.last,
				size: len(standing) - i, kept: len(standing),
			}
		}
		o.marks.CompareAndSwap(head, list)
	}
	return standing
}

// newer reports whether a mark stands that was pushed after number seen, and
// returns the number of the last one.
func (o *owner) newer(c *Cell, seen uint64) (last uint64, stands bool) {
	head := o.marks.Load()
	if head == nil {
		return 0, false
	}
	for n := head; n != nil && n.num > seen; n = n.next {
		if c.holds(n.Allocation.ID) {
			return head.last, true
		}
	}
	return head.last, false
}

// Marked walks the allocations that were preempted or lost and are not released yet, the
// earliest first. No mark is dropped. It appears shortly after the commit that caused it:
// [Scheduler.WaitMark] waits for that. The loop body may release. Safe for concurrent
// use, lock-free. Cost: O(marks).
func (s *Scheduler) Marked() iter.Seq[Mark] {
	return func(yield func(Mark) bool) {
		if s.none() {
			return
		}
		for _, m := range slices.Backward(s.owner.prune(s.cell, s.owner.marks.Load())) {
			if !yield(m.Mark) {
				return
			}
		}
	}
}

// Holds reports whether a was granted to the scheduler and not released, even if
// preempted or lost. Safe for concurrent use, lock-free. Cost: O(1).
func (s *Scheduler) Holds(a AllocationID) bool {
	if s.none() {
		return false
	}
	t := s.cell.tallyOf(a)
	return t != nil && t.owner == s.owner
}
