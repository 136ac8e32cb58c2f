package drf

import (
	"math"

	"github.com/cellsched/cellsched/resources"
)

// none is the slot of nobody.
const none = math.MaxUint32

// unwanted is the demand of who has none. It fits in no valid free vector and
// leaves the minimum of its subtree to the others.
var unwanted = resources.Uniform(math.MaxInt64)

// everything has room for every valid vector.
var everything = resources.Uniform(resources.MaxQuantity)

// account is one user: what a comparison may have to know comes first, and all is
// side by side, since a million users are on too many pages of memory for two to
// each.
//
// Num and kind are what the user is ranked by while it has a demand: see track.
type account struct {
	num    int64   // what it holds of kind, with the next task where the order is by that; 0 if the share is
	weight float64 // for kind
	seq    uint64  // order of registration, the last resort in a tie
	kind   resources.Kind
	skips  uint16 // see Heap.SetPatience
	gen    uint32 // odd while the slot is taken; see User

	usage  resources.Vector
	demand resources.Vector // unwanted while there is none
}

// rank is what a user is ordered by, packed: the high bits of a key, which is a
// float64 of which the order is that of its bits, a bit that says whether that
// is not exactly the key, and in the low bits the slot. One comparison of two
// ranks decides, unless they are so close that it takes the exact one.
type rank uint64

// vacant is behind everybody.
const vacant rank = math.MaxInt64

// track is a tournament among the users with a demand who are ranked by one
// kind of resource: the first node is the root, the winner of all. Within a
// kind the order does not depend on the total there is of it, which is why each
// kind has a tournament of its own, and why a change of the totals changes
// none. Keys are amounts over weights; times the inverse of the total they are
// shares.
//
// Node 1 is the root, i's children are 2i and 2i+1, slot s is leaf leaves+s.
type track []rank

// tree knows who has the smallest share, and in whole parts of it who cannot
// fit. A binary heap is as quick while everything fits, but in a full cell it
// has to pop all who do not fit. Here each inner node also knows the smallest
// demand below it, component by component, and what cannot fit is left out
// whole.
//
// A user is in the track of its dominant kind, or in another after the totals
// have changed: then it is ranked there by less than its share, since the
// dominant share is the largest. So the winners of the tracks are never too
// late in the order, and whoever seems to be first, and is in the wrong track,
// moves to the right one before it is believed.
//
// The type does not depend on that of the caller's keys, so that the hot path
// is compiled once, without a dictionary.
type tree struct {
	total    resources.Vector
	inverse  [resources.MaxKinds]float64    // of total; 0 where there is none
	kinds    int                            // total has nothing from this kind on
	accounts []account                      // by slot
	scales   []*[resources.MaxKinds]float64 // by slot: weights that differ by kind, else nil; none, if nobody has any
	leaves   int                            // a power of two, or 0
	slots    rank                           // the bits of a rank that are its slot: all of them for vacant alone
	tracks   [resources.MaxKinds]track      // nil where nobody was ever ranked by that kind
	// least are the smallest demands by node, those above the leaves, kind by
	// kind. They are an array of their own: a charge moves winners only, and
	// eight times as many of them fit in the cache without these 64 bytes each.
	least []resources.Vector
	// yielded says that the order of registration is no longer that of the slots.
	yielded bool
	// moved says that some may be in the wrong track.
	moved bool
	// after says that users are ranked by what they will hold with their next
	// task.
	after bool
}

// setTotal costs nothing but where a kind comes to an end: a user ranked by it
// may have a smaller share than that.
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

// grow makes room for one more slot and doubles the leaves when they are out.
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

// reserve makes room for n slots at once, of which there are none yet.
func (t *tree) reserve(n int) {
	leaves := 8
	for leaves < n {
		leaves *= 2
	}
	t.accounts = make([]account, 0, n)
	t.widen(leaves)
}

// widen gives the tree so many leaves, a power of two and more than it has.
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

// inexact is the bit of a rank that says so.
func (t *tree) inexact() rank { return t.slots + 1 }

// slot returns whose rank r is, or none.
func (t *tree) slot(r rank) uint32 {
	if r == vacant {
		return none
	}
	return uint32(r & t.slots)
}

// enter puts r on the leaf of slot, slot's rank or vacant, and replays the
// slot's matches.
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
		// Which of the two is smaller is a toss-up, so this is written for a
		// conditional move instead of a branch.
		if d < 0 {
			w = o
		}
		// Where somebody else won before and wins now, nothing changes from
		// here up. The same rank of slot itself is no reason to stop: usage
		// may have changed by less than a rank shows.
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

// rank puts a user with a demand where it belongs, after its share has changed
// or it has come to have a demand.
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

// unrank takes a user out of the order.
func (t *tree) unrank(slot uint32) {
	if tr := t.tracks[t.accounts[slot].kind]; tr != nil {
		t.enter(tr, slot, vacant)
	}
}

// reranked tells whether a user was ranked by another kind than its dominant
// one, or as having nothing of it, and then mends that.
func (t *tree) reranked(slot uint32) bool {
	a := &t.accounts[slot]
	if kind, num := t.measure(slot); kind == a.kind && num == a.num {
		return false
	}
	t.rank(slot)
	return true
}

// settle ranks everybody anew.
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
