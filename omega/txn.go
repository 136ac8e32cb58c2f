package omega

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/cellsched/cellsched/resources"
)

// Claim asks for resources on one machine.
type Claim struct {
	Machine MachineID
	Account Account // whom the allocation is charged to
	Need    resources.Vector
}

// Txn is a transaction: claims and releases that a scheduler sends in one
// commit. Omega paper, sections 3.4 and 5.2.
//
// The zero Txn is empty and ready to use: claims are granted one by one
// (incremental) and conflict only if they do not fit (fine-grained), the
// paper's recommendation. On one machine all of a transaction's items take
// effect in one step, releases first; those of a gang that is refused follow
// its refusal, machine by machine. Releases apply whatever becomes of the
// claims. A Txn is not safe for concurrent use and must not be copied. After the
// commit its outcome is read item by item; Reset makes it ready for the next one
// and keeps its memory, so a loop that reuses one Txn allocates nothing for it.
type Txn struct {
	_ noCopy

	// Gang asks for all claims or none, in one atomic step over all machines.
	Gang bool
	// Coarse refuses a claim whenever its machine has changed in any way since
	// the scheduler's snapshot last saw it, even if the claim still fits. A
	// machine that it never saw has changed.
	Coarse bool

	items []item
	order []int32 // items that concern a machine, sorted by its number
	cell  *Cell   // where it was committed, nil before
}

// noCopy makes go vet complain about copies.
type noCopy struct{}

func (*noCopy) Lock()   {}
func (*noCopy) Unlock() {}

// verdict is what became of an item.
type verdict uint8

const (
	pending verdict = iota
	done            // the claim is granted, the release has happened
	conflict
	changed
	draining
	removed
	full
	gangRefused
	notLive
	notOwner
)

var reasons = [...]error{
	conflict: ErrConflict, changed: ErrConflict, draining: ErrDraining, removed: ErrRemoved, full: ErrFull,
	gangRefused: ErrGang, notLive: ErrReleased, notOwner: ErrNotOwner,
}

// item is a claim or a release and what became of it.
type item struct {
	claim   Claim
	id      AllocationID // of a claim once it is granted; of a release always
	release bool
	verdict verdict
	free    resources.Vector // on a conflict
	spec    *spec            // the machine, for errors
	rec     *record          // of a claim: in slot id.slot from first fit on
}

func (it *item) node() uint32 {
	if it.release {
		return it.id.node
	}
	return uint32(it.claim.Machine.Node())
}

// Claim adds a claim and returns its item number, by which its outcome is read
// after the commit. Items are numbered from 0 in the order in which they were
// added, claims and releases alike.
func (t *Txn) Claim(c Claim) int {
	t.items = append(t.items, item{claim: c})
	return len(t.items) - 1
}

// Release adds the release of an allocation and returns its item number.
func (t *Txn) Release(a AllocationID) int {
	t.items = append(t.items, item{id: a, release: true})
	return len(t.items) - 1
}

// Len returns the number of items.
func (t *Txn) Len() int { return len(t.items) }

// Reset empties t for reuse and leaves Gang and Coarse as they are.
func (t *Txn) Reset() {
	clear(t.items) // records and names are not kept alive
	t.items, t.cell = t.items[:0], nil
}

// Allocation returns the allocation that claim i was granted, and false if it
// was not, or if i is not the number of a claim of a committed transaction.
func (t *Txn) Allocation(i int) (AllocationID, bool) {
	if t.cell == nil || i < 0 || i >= len(t.items) || t.items[i].release || t.items[i].verdict != done {
		return AllocationID{}, false
	}
	return t.items[i].id, true
}

// Err returns nil if claim i was granted or release i has happened, else an
// [ItemError] that says why not. Before the commit it is [ErrUncommitted]; for
// a number that no item has, [ErrUnknown].
func (t *Txn) Err(i int) error {
	if i < 0 || i >= len(t.items) {
		return fmt.Errorf("%w item %d of a transaction of %d", ErrUnknown, i, len(t.items))
	}
	it := &t.items[i]
	if t.cell == nil || it.verdict == pending {
		return ErrUncommitted
	}
	if it.verdict == done {
		return nil
	}
	e := &ItemError{
		Release: it.release, Machine: it.claim.Machine, Need: it.claim.Need, Free: it.free,
		Changed: it.verdict == changed, Reason: reasons[it.verdict], space: t.cell.space,
	}
	if it.release {
		e.Allocation = it.id
	} else if it.spec.id == it.claim.Machine {
		e.Name = it.spec.Name // else the number serves another machine by now
	}
	return e
}

// check validates t against the cell and puts its items in order. It changes
// nothing but t.
func (t *Txn) check(c *Cell) error {
	if t.cell != nil {
		return ErrCommitted
	}
	if len(t.items) == 0 {
		return ErrEmpty
	}
	t.order = t.order[:0]
	nodes := c.nodes.Load()
	for i := range t.items {
		it := &t.items[i]
		it.verdict, it.rec = pending, nil
		if it.release {
			if it.id.node >= nodes || it.id.cell != c.tag {
				it.verdict = notLive // forged, or of another cell
				continue
			}
		} else {
			it.id = AllocationID{}
			if err := it.claim.Need.Check(); err != nil {
				return fmt.Errorf("omega: item %d: claim on machine %v: need: %w", i, it.claim.Machine, err)
			}
			if c.word(it.claim.Machine) == nil {
				return fmt.Errorf("%w machine %v in item %d", ErrUnknown, it.claim.Machine, i)
			}
			if a := uint32(it.claim.Account); a > c.known.Load() {
				return fmt.Errorf("%w account %d in item %d", ErrUnknown, a, i)
			}
		}
		t.order = append(t.order, int32(i))
	}
	t.sort()
	return nil
}

// sort puts items of one machine together, releases first, machines in rising
// order: the one order in which all gangs take words.
func (t *Txn) sort() {
	before := func(a, b int32) int {
		x, y := &t.items[a], &t.items[b]
		if c := cmp.Compare(x.node(), y.node()); c != 0 {
			return c
		}
		if x.release != y.release {
			if x.release {
				return -1
			}
			return 1
		}
		return cmp.Compare(a, b)
	}
	if !slices.IsSortedFunc(t.order, before) {
		slices.SortFunc(t.order, before)
	}
}

// group is the items of one machine.
type group struct {
	node  uint32
	items []int32
}

// groups walks t's items machine by machine.
func (t *Txn) groups(yield func(group) bool) {
	for rest := t.order; len(rest) > 0; {
		node, n := t.items[rest[0]].node(), 1
		for n < len(rest) && t.items[rest[n]].node() == node {
			n++
		}
		if !yield(group{node, rest[:n]}) {
			return
		}
		rest = rest[n:]
	}
}

// misses tells whether a release of g found nothing to release. Its record may
// have gone just after the version was loaded in which it was live, so that
// where the machine has changed since, it is to be judged anew.
func (t *Txn) misses(g group) bool {
	return slices.ContainsFunc(g.items, func(i int32) bool { return t.items[i].verdict == notLive })
}
