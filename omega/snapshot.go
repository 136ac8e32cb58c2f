package omega

import (
	"iter"

	"github.com/cellsched/cellsched/locality"
	"github.com/cellsched/cellsched/resources"
)

// Snapshot is a scheduler's private copy of the cell, on which it places
// before it commits: the local copy of cell state of the Omega paper, section
// 3.4.
//
// It shows each machine as it truly was at some moment of the last refresh, or
// of an own commit since; it is not one moment of the whole cell, which does
// not matter, since the commit checks. It belongs to its scheduler and is used
// from the same goroutine.
type Snapshot struct {
	cell *Cell

	// By node number. seen is the word as it was when the machine was copied,
	// so that refreshing compares one pointer a machine; nil where the copy is
	// not, or no longer, what the word says.
	seen []*version
	free []resources.Vector // closed where the machine takes no claims
	val  []*version

	cursor int // where the next search begins

	// Schedulers start their searches apart, or all of them would pick the same
	// machines: their numbers are spread by the golden ratio.
	spread uint64
}

// closed is the room on a machine that takes no claims: nothing fits in it.
var closed = resources.Vector{-1, -1, -1, -1, -1, -1, -1, -1}

// Snapshot returns the scheduler's snapshot, which it fills on first use and
// returns from then on. Committing updates it on the machines that the
// transaction touched; for the rest call [Snapshot.Refresh].
func (s *Scheduler) Snapshot() *Snapshot {
	if s.snap == nil {
		s.snap = &Snapshot{cell: s.cell, spread: uint64(s.num-1) * 0x9E3779B97F4A7C15 >> 32}
		s.snap.Refresh()
	}
	return s.snap
}

// Refresh brings the snapshot up to date, room taken with [Snapshot.Take] and
// never committed included, and returns how many machines it had to copy.
// Cost: one comparison for each machine of the cell and a copy for each that
// changed. It is lock-free.
func (s *Snapshot) Refresh() (copied int) {
	n := int(s.cell.nodes.Load())
	if len(s.seen) == 0 && n > 0 {
		s.cursor = int(s.spread % uint64(n))
	}
	for len(s.seen) < n {
		s.seen, s.free, s.val = append(s.seen, nil), append(s.free, closed), append(s.val, nil)
	}
	node := 0
	for words := range s.cell.words.all(n) {
		for i := range words {
			raw := words[i].Load()
			if raw != s.seen[node] {
				val, settled := raw.value()
				s.put(node, raw, val, settled)
				copied++
			}
			node++
		}
	}
	return copied
}

// put copies one machine. An unsettled one is looked at again next time, since
// its gang can be decided without its word changing.
func (s *Snapshot) put(node int, raw, val *version, settled bool) {
	s.seen[node], s.val[node], s.free[node] = raw, val, val.free
	if val.cond != Ready {
		s.free[node] = closed
	}
	if !settled {
		s.seen[node] = nil
	}
}

// see is put for a machine that a commit settled.
func (s *Snapshot) see(node uint32, raw, val *version) {
	if s.covers(node) {
		s.put(int(node), raw, val, true)
	}
}

// seq returns the sequence number that the machine had when it was copied, 0 if
// there is no copy or no snapshot at all.
func (s *Snapshot) seq(node uint32) uint64 {
	if s == nil || !s.covers(node) {
		return 0
	}
	return s.val[node].seq
}

func (s *Snapshot) covers(node uint32) bool { return uint64(node) < uint64(len(s.val)) }

// Len returns the number of node numbers that the snapshot knows: every node
// is below it.
func (s *Snapshot) Len() int { return len(s.seen) }

// Free returns the room on machine m that the scheduler has not taken yet, and
// false if the machine takes no claims or the snapshot does not know it.
func (s *Snapshot) Free(m MachineID) (resources.Vector, bool) {
	if !s.knows(m) || s.free[m.Node()] == closed {
		return resources.Vector{}, false
	}
	return s.free[m.Node()], true
}

func (s *Snapshot) knows(m MachineID) bool {
	node := uint32(m.Node())
	return s.covers(node) && s.val[node].spec.id == m
}

// Machines walks the machines by node number as the snapshot has them, removed
// ones left out. Free is what is left after [Snapshot.Take]. The loop body may
// take, and must not refresh or commit.
func (s *Snapshot) Machines() iter.Seq[MachineState] {
	return func(yield func(MachineState) bool) {
		for node, val := range s.val {
			if val.cond == Removed {
				continue
			}
			state := val.state()
			if val.cond == Ready {
				state.Free = s.free[node]
			}
			if !yield(state) {
				return
			}
		}
	}
}

// FirstFit returns the first machine with room for need for which allow says
// yes; a nil allow says so always. The search starts at the machine that the
// last one found, at first at a place of the scheduler's own, and goes once
// around, so that schedulers work in different places and each fills a machine
// before it goes on. It takes nothing: see [Snapshot.Take].
//
// Cost: O(machines) at worst, a few where there is room; no allocation.
func (s *Snapshot) FirstFit(need resources.Vector, allow func(locality.Node) bool) (MachineID, bool) {
	n := len(s.free)
	for range n {
		if s.cursor >= n {
			s.cursor = 0
		}
		if resources.Fits(&need, &s.free[s.cursor]) && (allow == nil || allow(locality.Node(s.cursor))) {
			return s.val[s.cursor].spec.id, true
		}
		s.cursor++
	}
	return 0, false
}

// Take sets need aside on machine m in the snapshot alone, so that the next
// search does not give the same room out again, and reports whether it fits.
// A refresh forgets it; so does a commit on that machine.
func (s *Snapshot) Take(m MachineID, need resources.Vector) bool {
	if !s.knows(m) {
		return false
	}
	rest, ok := s.free[m.Node()].Sub(need)
	if ok {
		s.free[m.Node()] = rest
		s.seen[m.Node()] = nil
	}
	return ok
}
