package drf

import (
	"math"
	"slices"

	"github.com/cellsched/cellsched/resources"
)

// none is the slot of no user.
const none = math.MaxUint32

// unwanted is the demand of a user without one. It fits in no valid free vector and
// leaves the minimum of its subtree to the others.
var unwanted = resources.Uniform(math.MaxInt64)

// everything has room for every valid vector.
var everything = resources.Uniform(resources.MaxQuantity)

// account is one user. The fields that a comparison may need come first. All fields
// are side by side: a million users are on so many pages of memory that a second
// page for each would cost.
//
// Num and kind rank the user while it has a demand: see track.
type account struct {
	num    int64   // amount of kind that counts, with the next task under OrderAfter; 0 if the share is 0
	weight float64 // for kind
	seq    uint64  // order of registration, the tie-break
	kind   resources.Kind
	skips  uint16 // see Heap.SetMaxSkips
	gen    uint32 // odd while the slot is taken; see User

	usage  resources.Vector
	demand resources.Vector // unwanted while there is none
}

// rank is a user's place in an order, packed in 64 bits:
//
//   - the high bits of a key, a float64 that orders as its bits do;
//   - a bit that is set if those are not exactly the key;
//   - the slot, in the low bits.
//
// One comparison of two ranks decides, unless they are so close that it takes the
// exact one.
type rank uint64

// vacant is the rank behind all users.
const vacant rank = math.MaxInt64

// track is a tournament among the users with a demand that are ranked by one kind
// of resource. Node 1 is the root, the winner of all; i's children are 2i and 2i+1,
// slot s is leaf leaves+s.
//
// Keys are amounts over weights; times the inverse of the total they are shares. So
// the order within a kind does not depend on the total. For this reason each kind
// has a tournament of its own: a change of the totals changes none of them.
type track []rank

// tree is a tournament tree over users. Each inner node holds the winner and the
// component-wise minimum demand below it, so whole subtrees that cannot fit are
// skipped. A binary heap is as fast while everything fits, but in a full cell it
// has to pop each user that does not fit.
//
// A user is in the track of its dominant kind. After a change of the totals it may
// be in another one: it is ranked there by less than its share, since the dominant
// share is the largest. So the winners of the tracks are never too late in the
// order. A winner in the wrong track moves to the right one before it is returned.
//
// The type does not depend on the type of the caller's keys, so that the hot path
// is compiled once, without a dictionary.
type tree struct {
	total    resources.Vector
	inverse  [resources.MaxKinds]float64    // of total; 0 where there is none
	kinds    int                            // total has nothing from this kind on
	accounts []account                      // by slot
	scales   []*[resources.MaxKinds]float64 // by slot: weights by kind, else nil; empty if no user has any
	leaves   int                            // a power of two, or 0
	slots    rank                           // the mask of a rank's slot; all bits are set for vacant alone
	tracks   [resources.MaxKinds]track      // nil until a user is ranked by that kind
	// least are the smallest demands below each inner node, kind by kind. They are
	// an array of their own, since a charge moves winners only: without these 64
	// bytes each, eight times as many winners fit in the cache.
	least []resources.Vector
	// yielded reports whether the order of registration differs from that of the
	// slots.
	yielded bool
	// moved reports whether some users may be in the wrong track.
	moved bool
	// after reports whether users are ranked by their share with their next task.
	after bool
}

// setTotal sets the total. It ranks all users again only if the total of a kind
// becomes zero: a user ranked by that kind may have a smaller share than its rank.
func (t *tree) setTotal(total resources.Vector) {
	ended := false
	for k, q := range total {
		ended = ended || q == 0 && t.total[k] > 0
	}
	t.total, t.kinds = total, 0
	for k, q := range total {
		t.inverse[k] = 0
		if q > 0 {
			t.inverse[k], t.kinds = 1/float64(q), k+1
		}
	}
	if t.moved = len(t.accounts) > 0; t.moved && ended {
		t.settle()
	}
}

// grow adds a slot and doubles the leaves if none is left.
func (t *tree) grow() (slot uint32) {
	slot = uint32(len(t.accounts))
	t.accounts = append(t.accounts, account{demand: unwanted})
	if t.scales != nil {
		t.scales = append(t.scales, nil)
	}
	if len(t.accounts) > t.leaves {
		t.widen(max(8, 2*t.leaves))
	}
	return slot
}

// reserve makes room for n slots more.
func (t *tree) reserve(n int) {
	t.accounts = slices.Grow(t.accounts, n)
	leaves := max(8, t.leaves)
	for leaves < len(t.accounts)+n {
		leaves *= 2
	}
	if leaves > t.leaves {
		t.widen(leaves)
	}
}

// widen sets the number of leaves, a power of two and more than now.
func (t *tree) widen(leaves int) {
	old, oldTracks := t.leaves, t.tracks
	t.leaves = leaves
	t.slots = rank(2*t.leaves - 1)
	t.least = make([]resources.Vector, t.leaves)
	for i := t.leaves - 1; i > 0; i-- {
		t.least[i] = t.demand(2 * i).Min(*t.demand(2*i + 1))
	}
	for k, was := range oldTracks {
		if was != nil {
			t.tracks[k] = t.newTrack()
			for s, r := range was[old:] {
				if r != vacant {
					a := &t.accounts[s]
					t.tracks[k][t.leaves+s] = t.packExactly(a.num, a.weight, uint32(s))
				}
			}
			t.playAll(t.tracks[k])
		}
	}
}

func (t *tree) newTrack() track {
	tr := make(track, 2*t.leaves)
	for i := range tr {
		tr[i] = vacant
	}
	return tr
}

// pack returns the rank of a slot with a key that is not exact.
func (t *tree) pack(key float64, slot uint32) rank {
	return rank(math.Float64bits(key))&^t.slots | t.inexact() | rank(slot)
}

// packExactly returns the rank of a slot with the key num/weight.
func (t *tree) packExactly(num int64, weight float64, slot uint32) rank {
	n := float64(num)
	key := n / weight
	bits := rank(math.Float64bits(key))
	if math.FMA(key, weight, -n) == 0 && bits&(t.slots|t.inexact()) == 0 && num < 1<<53 {
		return bits | rank(slot)
	}
	return bits&^t.slots | t.inexact() | rank(slot)
}

// inexact is the bit of a rank that is not exact.
func (t *tree) inexact() rank { return t.slots + 1 }

// slot returns the slot of r, or none.
func (t *tree) slot(r rank) uint32 {
	if r == vacant {
		return none
	}
	return uint32(r & t.slots)
}

// enter puts r, slot's rank or vacant, on slot's leaf and replays its matches.
func (t *tree) enter(tr track, slot uint32, r rank) {
	i := t.leaves + int(slot)
	tr[i] = r
	for w := r; i > 1; {
		o := tr[i^1]
		i >>= 1
		d := int64(o - w)
		if t.near(d) && !t.decides(o, w) {
			d = 0
			if t.exactlyBefore(o, w) {
				d = -1
			}
		}
		// The smaller one is hard to predict, so this is written for a conditional
		// move instead of a branch.
		if d < 0 {
			w = o
		}
		// Another user won here before and wins now: nothing changes from here up.
		// The same rank of slot itself is no reason to stop: usage may have changed
		// by less than a rank shows.
		if tr[i] == w && (w != r || r == vacant) {
			return
		}
		tr[i] = w
	}
}

// playAll plays all matches of a track.
func (t *tree) playAll(tr track) {
	for i := t.leaves - 1; i > 0; i-- {
		tr[i] = tr[2*i]
		if t.before(tr[2*i+1], tr[2*i]) {
			tr[i] = tr[2*i+1]
		}
	}
}

// rank enters a user with a demand at its place, after its share has changed or it
// came to have a demand.
func (t *tree) rank(slot uint32) {
	a := &t.accounts[slot]
	was := a.kind
	w := t.weigh(slot)
	if was != a.kind && t.tracks[was] != nil {
		t.enter(t.tracks[was], slot, vacant)
	}
	if t.tracks[a.kind] == nil {
		t.tracks[a.kind] = t.newTrack()
	}
	t.enter(t.tracks[a.kind], slot, w)
}

// unrank removes a user from the order.
func (t *tree) unrank(slot uint32) {
	if tr := t.tracks[t.accounts[slot].kind]; tr != nil {
		t.enter(tr, slot, vacant)
	}
}

// reranked reports whether a user was ranked by another kind or amount than its
// dominant share, and ranks it again if so.
func (t *tree) reranked(slot uint32) bool {
	a := &t.accounts[slot]
	if kind, num := t.measure(slot); kind == a.kind && num == a.num {
		return false
	}
	t.rank(slot)
	return true
}

// settle ranks all users again.
func (t *tree) settle() {
	for k, tr := range t.tracks {
		if tr != nil {
			t.tracks[k] = t.newTrack()
		}
	}
	for s := range t.accounts {
		if slot := uint32(s); t.wants(slot) {
			w := t.weigh(slot)
			k := t.accounts[slot].kind
			if t.tracks[k] == nil {
				t.tracks[k] = t.newTrack()
			}
			t.tracks[k][t.leaves+s] = w
		}
	}
	for _, tr := range t.tracks {
		if tr != nil {
			t.playAll(tr)
		}
	}
	t.moved = false
}

// wants reports whether slot has a demand.
func (t *tree) wants(slot uint32) bool { return t.accounts[slot].demand[0] != unwanted[0] }

// demand returns the smallest demand below node i, or that of a leaf.
func (t *tree) demand(i int) *resources.Vector {
	if i < t.leaves {
		return &t.least[i]
	}
	if slot := i - t.leaves; slot < len(t.accounts) {
		return &t.accounts[slot].demand
	}
	return &unwanted
}

// want sets the demand of slot and the minima above it.
func (t *tree) want(slot uint32, demand resources.Vector) {
	t.accounts[slot].demand = demand
	for i := t.leaves + int(slot); i > 1; {
		low := t.demand(i &^ 1).Min(*t.demand(i | 1))
		i >>= 1
		if t.least[i] == low {
			return
		}
		t.least[i] = low
	}
}
