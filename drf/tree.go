package drf

import (
	"math"

	"github.com/cellsched/cellsched/resources"
)

// none is the slot of nobody.
const none = math.MaxUint32

// unwanted is the demand of who has none. It fits in no valid free vector and
// leaves the minimum of its subtree to the others.
var unwanted = resources.Vector{
	math.MaxInt64, math.MaxInt64, math.MaxInt64, math.MaxInt64,
	math.MaxInt64, math.MaxInt64, math.MaxInt64, math.MaxInt64,
}

// account is what a comparison may have to know of a user. It is half a cache
// line; what else the user holds is kept aside, since ties are common (users
// of one kind, whole numbers of CPUs) and each reads two accounts.
type account struct {
	num    int64 // usage of kind; 0 if the share is
	weight float64
	seq    uint64         // order of registration, the last resort in a tie
	kind   resources.Kind // of the dominant share
	gen    uint32         // odd while the slot is taken; see User
}

// node is the winner of a subtree: a slot and its key, side by side so that a
// comparison touches the accounts only where keys cannot decide.
type node struct {
	key  uint64
	slot uint32
}

// vacant loses against everybody: its key is that of an infinite share.
var vacant = node{key: 0x7ff << 52, slot: none}

// tree is a tournament among the users with a demand: the root knows the one
// with the smallest share. A binary heap is as quick while everything fits,
// but in a full cell it has to pop all who do not fit. Here each inner node
// also knows the smallest demand below it, component by component, and what
// cannot fit is left out whole.
//
// Node 1 is the root, i's children are 2i and 2i+1, slot s is leaf leaves+s.
// It does not depend on the type of the caller's keys, so that the hot path is
// compiled once, without a dictionary.
type tree struct {
	total    resources.Vector
	inverse  [resources.MaxKinds]float64 // of total; 0 where there is none
	kinds    int                         // total has nothing from this kind on
	accounts []account
	usages   []resources.Vector // by slot
	leaves   int                // a power of two, or 0
	winners  []node
	// demands is an array of its own: a charge moves winners only, and four
	// times as many of them fit in the cache without these 64 bytes each.
	demands []resources.Vector
	// stale says that the totals changed, and that settle is to be called
	// before anybody looks at winners, num or kind.
	stale bool
}

func (t *tree) setTotal(total resources.Vector) {
	t.total, t.kinds, t.stale = total, 0, true
	for k, q := range total {
		t.inverse[k] = 0
		if q > 0 {
			t.inverse[k], t.kinds = 1/float64(q), k+1
		}
	}
}

// grow makes room for one more slot and doubles the leaves when they are out.
func (t *tree) grow() (slot uint32) {
	slot = uint32(len(t.accounts))
	t.accounts = append(t.accounts, account{})
	t.usages = append(t.usages, resources.Vector{})
	if len(t.accounts) <= t.leaves {
		return slot
	}
	old, oldWinners, oldDemands := t.leaves, t.winners, t.demands
	t.leaves = max(8, 2*old)
	t.winners = make([]node, 2*t.leaves)
	t.demands = make([]resources.Vector, 2*t.leaves)
	if old > 0 {
		copy(t.winners[t.leaves:], oldWinners[old:])
		copy(t.demands[t.leaves:], oldDemands[old:])
	}
	for i := t.leaves + old; i < 2*t.leaves; i++ {
		t.winners[i], t.demands[i] = vacant, unwanted
	}
	for i := t.leaves - 1; i > 0; i-- {
		t.demands[i] = t.demands[2*i].Min(t.demands[2*i+1])
	}
	t.playAll() // in vain while the tree is stale, but rare enough
	return slot
}

// play returns the winner of the match between nodes 2i and 2i+1.
func (t *tree) play(i int) node {
	l, r := t.winners[2*i], t.winners[2*i+1]
	if t.before(r, l) {
		return r
	}
	return l
}

// enter puts w on the leaf of slot, with slot's key or vacant, and replays the
// slot's matches.
func (t *tree) enter(slot uint32, w node) {
	i := t.leaves + int(slot)
	t.winners[i] = w
	for i > 1 {
		o := t.winners[i^1]
		i >>= 1
		d := int64(o.key - w.key)
		if near(d) {
			d = 0
			if t.exactlyBefore(o.slot, w.slot) {
				d = -1
			}
		}
		// Which of the two is smaller is a toss-up, so this is written for
		// conditional moves instead of a branch.
		if d < 0 {
			w.key = o.key
		}
		if d < 0 {
			w.slot = o.slot
		}
		// Where somebody else won before and wins now, nothing changes from
		// here up. An equal node of slot itself is no reason to stop: usage
		// may have changed by less than a key shows.
		if w.slot != slot && t.winners[i].slot == w.slot {
			return
		}
		t.winners[i] = w
	}
}

// playAll plays all matches.
func (t *tree) playAll() {
	for i := t.leaves - 1; i > 0; i-- {
		t.winners[i] = t.play(i)
	}
}

// settle brings a stale tree up to date.
func (t *tree) settle() {
	if !t.stale {
		return
	}
	t.stale = false
	for s := range t.accounts {
		slot := uint32(s)
		w := t.weigh(slot)
		if !t.wants(slot) {
			w = vacant
		}
		t.winners[t.leaves+s] = w
	}
	t.playAll()
}

// wants reports whether slot has a demand.
func (t *tree) wants(slot uint32) bool {
	return t.demands[t.leaves+int(slot)][0] != unwanted[0]
}

// want sets the demand of slot and the minima above it.
func (t *tree) want(slot uint32, demand resources.Vector) {
	i := t.leaves + int(slot)
	t.demands[i] = demand
	for i > 1 {
		low := t.demands[i&^1].Min(t.demands[i|1])
		i >>= 1
		if t.demands[i] == low {
			return
		}
		t.demands[i] = low
	}
}
