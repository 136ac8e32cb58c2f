package omega

import (
	"iter"
	"math/bits"
	"time"

	"github.com/cellsched/cellsched/resources"
)

// Snapshot is a scheduler's private copy of the cell, on which it places before it
// commits: Omega paper, section 3.4. Each machine is as it was at some moment of the last
// refresh, or of an own commit since; the commit checks. It belongs to its scheduler's
// goroutine. A nil Snapshot knows no machine.
type Snapshot struct {
	cell  *Cell
	owner *owner
	maker uint32 // of the scheduler's own versions, which are not kept for it; see show

	// By node number. seen is the word as it was when the machine was copied, so that
	// refreshing compares one pointer a machine. It is nil where the copy is not, or no
	// longer, what the word says.
	//
	// Invariant of seen and val between commits: a version there is kept, or the
	// scheduler's own and in its word. Its maker retires a version only after show
	// has put here the one which took its place.
	seen []*object
	free []resources.Vector // closed where the machine takes no claims
	val  []*version
	ids  []identity // of val

	behind Mask // machines of which the copy is older than seen: see there
	late   int  // how many

	taken Mask // the machines with less free here than in val
	// absorbed is the set of machines whose foreign changes an own commit has
	// copied. The next refresh reports them.
	absorbed Mask

	// By block of stamped machines: the stamp when the block was copied, if it
	// was at rest then, else unseen.
	stamps []uint64

	at   time.Time // of the last refresh
	mask *Mask     // the owner's at that time, or when Wait refreshed it since

	fenced uint64 // successions up to the last refresh

	lapsed bool // reservations were over at that time, and their room is free here

	loaded int64 // has no meaning: a load for the caches alone has to be stored somewhere
	index  index
	need   resources.Vector // that is being scored: kept here so that a search allocates nothing

	_ [120]byte // to whole cache lines: what is written for each search shares none with another snapshot
}

// identity is a spec and the ID in it, so that reading the ID takes no look at the
// spec: specs are seldom in a cache, and seldom change.
type identity struct {
	spec *spec
	id   MachineID
}

// closed is the room on a machine that takes no claims: nothing fits in it.
var closed = resources.Uniform(-1)

// unseen is a stamp that no block has.
const unseen = stampChanges

// Snapshot returns the scheduler's one snapshot, filled on first use. Commits update it
// on the machines that they touch, [Snapshot.Refresh] on all.
func (s *Scheduler) Snapshot() *Snapshot {
	if s.none() {
		return nil
	}
	first := s.snap == nil
	snap := s.snapshot()
	if first {
		snap.update(nil)
	}
	return snap
}

// Snapshot returns a new snapshot of the cell for readers, such as pages of statistics.
// It belongs to no scheduler and to one goroutine at a time, and is updated by
// [Snapshot.Refresh] alone. Cost: O(machines).
func (c *Cell) Snapshot() *Snapshot {
	if c.none() {
		return nil
	}
	s := &Snapshot{cell: c, owner: &owner{}} // the maker 0 has made no version
	s.update(nil)
	return s
}

// snapshot is Scheduler.Snapshot without filling it.
func (s *Scheduler) snapshot() *Snapshot {
	if s.snap == nil {
		s.snap = &Snapshot{cell: s.cell, owner: s.owner, maker: s.maker.Number()}
	}
	return s.snap
}

// Refresh brings the snapshot up to date and returns how many machines others have
// changed. Room that was taken and not committed is free again. It is lock-free.
//
// Cost: a few cache lines for each machine that changed, one comparison for each of the
// first 8,192 machines and for every 8 beyond.
func (s *Snapshot) Refresh(now time.Time) (copied int) {
	if s.none() {
		return 0
	}
	s.at = now
	return s.update(nil)
}

// RefreshEach is [Snapshot.Refresh], and calls visit with the present state of each
// machine whose copy was outdated, removed machines included. So a caller that keeps
// something for each machine need not look at all of them. visit must not refresh or
// commit; it may be nil.
func (s *Snapshot) RefreshEach(now time.Time, visit func(MachineState)) (copied int) {
	if s.none() {
		return 0
	}
	if visit == nil {
		return s.Refresh(now)
	}
	s.at = now
	var st MachineState
	return s.update(func(node int) {
		s.describe(node, &st)
		visit(st)
	})
}

// Space returns the space of the snapshot's cell, or nil: see [Cell.Space].
func (s *Snapshot) Space() *resources.Space {
	if s.none() {
		return nil
	}
	return s.cell.space
}

// describe sets st to the state of a machine, with its free room in s. A machine that is
// behind is one that an update visits: its version has that room, and none is reserved.
func (s *Snapshot) describe(node int, st *MachineState) {
	val := s.known(node)
	val.describe(st)
	if val.keeps {
		room := val.roomFor(s.owner, s.at)
		st.Reserved, _ = val.free().Sub(room)
	}
	if st.Condition == Ready && s.behind[node/64]>>(node%64)&1 == 0 {
		st.Free = s.free[node]
	}
}

// lapse shows the room of reservations that are over as free.
func (s *Snapshot) lapse(visit func(node int)) {
	for _, r := range s.cell.reserved() {
		if !r.active || !r.over(s.at) {
			continue
		}
		s.lapsed = true
		for i := range r.parts {
			if p := &r.parts[i]; s.knows(p.machine) {
				node := int(p.machine.Node())
				before := s.free[node]
				if s.open(node); visit != nil && s.free[node] != before {
					visit(node)
				}
			}
		}
	}
}

// giveBack returns the room that was taken.
func (s *Snapshot) giveBack() {
	for i, w := range s.taken {
		for ; w != 0; w &= w - 1 {
			node := i*64 + bits.TrailingZeros64(w)
			s.open(node)
		}
		s.taken[i] = 0
	}
}

// open makes all the room on a machine free that it has according to its copy.
func (s *Snapshot) open(node int) {
	val := s.val[node]
	free := &s.free[node]
	switch {
	case val.cond != Ready:
		*free = closed
	case val.keeps:
		*free = val.roomFor(s.owner, s.at)
	default:
		val.unpack(free)
	}
	// Whether that is more than before is not asked: a wrong guess of the processor
	// costs more than a bound that stays as it is.
	s.index.raise(node, free)
}

// grow makes room for n machines.
func (s *Snapshot) grow(n int) {
	if len(s.seen) == 0 {
		s.reserve(n)
	}
	for len(s.seen) < n {
		s.seen, s.free, s.val = append(s.seen, nil), append(s.free, closed), append(s.val, nil)
		s.ids = append(s.ids, identity{})
		if len(s.taken)*64 < len(s.seen) {
			s.taken, s.absorbed, s.behind = append(s.taken, 0), append(s.absorbed, 0), append(s.behind, 0)
		}
		if b := (len(s.seen) - int(unstamped) + stampBlock - 1) / stampBlock; len(s.seen) > int(unstamped) && b > len(s.stamps) {
			s.stamps = append(s.stamps, unseen)
		}
	}
	s.index.grow(n)
}

// reserve allocates whole cache lines for n machines, so that a snapshot of a few
// machines shares none with another one.
func (s *Snapshot) reserve(n int) {
	const line = 8 // the machines with words in one cache line
	lines := (n + line - 1) / line
	s.seen, s.val = make([]*object, 0, lines*line), make([]*version, 0, lines*line)
	s.free, s.ids = make([]resources.Vector, 0, lines*line), make([]identity, 0, lines*line)
	masks := (n + 64*line - 1) / (64 * line) * line
	s.taken, s.absorbed, s.behind = make(Mask, 0, masks), make(Mask, 0, masks), make(Mask, 0, masks)
	if n > int(unstamped) {
		blocks := (n - int(unstamped) + stampBlock - 1) / stampBlock
		s.stamps = make([]uint64, 0, (blocks+line-1)/line*line)
	}
	s.index.reserve(n)
}

// put copies one machine.
func (s *Snapshot) put(node int, raw *object, val *version, settled bool) {
	s.seen[node] = raw
	// An unsettled machine is looked at again next time, since its gang can be decided
	// without its word changing. The commit that put it there has not yet closed its
	// block's stamp.
	if !settled {
		s.seen[node] = nil
	}
	bit := uint64(1) << (node % 64)
	s.taken[node/64] &^= bit
	if word := &s.behind[node/64]; *word&bit != 0 {
		*word &^= bit
		s.late--
	}
	s.copy(node, val)
}

// copy copies the parts of a machine that searches read.
func (s *Snapshot) copy(node int, val *version) {
	s.val[node] = val
	if known := &s.ids[node]; known.spec != val.spec {
		*known = identity{val.spec, val.spec.id}
	}
	s.open(node)
}

func (s *Snapshot) covers(node uint32) bool { return uint64(node) < uint64(len(s.val)) }

// Len returns the number of node numbers: every node is below it.
func (s *Snapshot) Len() int {
	if s.none() {
		return 0
	}
	return len(s.seen)
}

// Free returns the room on machine m less the room taken, and false if the machine takes
// no claims or the snapshot does not know it.
func (s *Snapshot) Free(m MachineID) (resources.Vector, bool) {
	if s.none() {
		return resources.Vector{}, false
	}
	if !s.knows(m) || s.free[m.Node()] == closed {
		return resources.Vector{}, false
	}
	return s.free[m.Node()], true
}

func (s *Snapshot) knows(m MachineID) bool {
	node := uint32(m.Node())
	if !s.covers(node) {
		return false
	}
	s.catchUp(int(node))
	return s.ids[node].id == m
}

// Machines walks the machines by node number, without removed ones. Free is the rest
// after [Snapshot.Take]. The loop body may take, and must not refresh or commit.
func (s *Snapshot) Machines() iter.Seq[MachineState] {
	return func(yield func(MachineState) bool) {
		if s.none() {
			return
		}
		s.catchUpAll()
		for node, val := range s.val {
			if val.cond == Removed {
				continue
			}
			var st MachineState
			if s.describe(node, &st); !yield(st) {
				return
			}
		}
	}
}

// Take sets need aside on machine m, in the snapshot alone, for the next search, and
// reports whether it fits. A refresh forgets it; so does a commit on that machine.
func (s *Snapshot) Take(m MachineID, need resources.Vector) bool {
	if s.none() {
		return false
	}
	if !s.knows(m) || !resources.Fits(&need, &s.free[m.Node()]) {
		return false
	}
	s.take(int(m.Node()), &need)
	return true
}

func (s *Snapshot) take(node int, need *resources.Vector) {
	sub(&s.free[node], need)
	s.taken[node/64] |= 1 << (node % 64)
	s.index.lower(node)
}
