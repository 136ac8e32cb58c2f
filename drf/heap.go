package drf

import (
	"github.com/cellsched/cellsched/internal/fault"
	"github.com/cellsched/cellsched/internal/keys"
	"github.com/cellsched/cellsched/resources"
)

// The weights that [Heap.Add], [Heap.SetWeight] and [Heap.SetWeights] accept.
const (
	MinWeight = 1e-6
	MaxWeight = 1e6
)

// Heap orders users by weighted dominant share and picks who is next.
//
// The zero Heap works, but all shares in it are 0 until [Heap.SetTotal]. Methods of a
// nil Heap fail with [resources.ErrNil], or return nothing. A Heap
// is not safe for concurrent use, reading included. K is the caller's key of a
// user: [Heap.User] looks it up and [Heap.Key] gives it back, and no call on a
// [User] depends on it otherwise.
//
// The share of a user is the largest of usage[k]/(total[k]*weight[k]) over the
// kinds k that the total has any of. Order is exact: shares are compared as
// fractions of integers, never as rounded numbers, and follow from what is
// held at that moment, so that they do not drift. Where two are equal, the
// user that was added earlier is first, or that yielded earlier: see [Heap.Yield].
//
// Costs are for n users, parked ones included.
type Heap[K comparable] struct {
	tree   tree
	turns  turns
	keys   []K // by slot
	byKey  map[K]User
	vacant []uint32
	seq    uint64
}

// New returns a heap without users over a cell of the given total, in base
// units.
//
// A component outside [0, 2^62] is a [resources.ErrQuantity], a total of
// nothing an [ErrEmpty].
func New[K comparable](total resources.Vector) (*Heap[K], error) {
	h := new(Heap[K])
	if err := h.SetTotal(total); err != nil {
		return nil, err
	}
	return h, nil
}

// SetTotal changes what the users share, in base units, as machines come and
// go. What they hold stays, and may be more than the new total.
//
// A kind of which the total has none plays no part in anybody's share. Cost:
// O(1): users are kept in order by each kind, which does not depend on how
// much there is of it. Those whose dominant kind is another with the new total
// change places when they come first in what was their order, each once, at
// O(log n); where that is so for many, or a kind is gone, all are ordered
// anew, in O(n). Errors are those of [New].
func (h *Heap[K]) SetTotal(total resources.Vector) error {
	if h == nil {
		return absent("heap")
	}
	if err := checkSome("total", total); err != nil {
		return err
	}
	if total != h.tree.total {
		h.tree.setTotal(total)
	}
	return nil
}

// Add registers a user that holds nothing and is parked: [Heap.Demand] makes
// it a candidate.
//
// A user of weight 2 is entitled to twice the share of one of weight 1. Cost:
// O(1) amortised, allocations included. A key that is taken, or not equal to
// itself, is an [ErrKey]; a weight outside [MinWeight, MaxWeight] an
// [ErrWeight].
func (h *Heap[K]) Add(key K, weight float64) (User, error) {
	if h == nil {
		return User{}, absent("heap")
	}
	if !validWeight(weight) {
		return User{}, checkWeight("add key "+fault.Key(key), weight)
	}
	if !keys.Findable(key) {
		return User{}, refuse(ErrKey, "add key %s, want one equal to itself", fault.Key(key))
	}
	if _, ok := h.byKey[key]; ok {
		return User{}, refuse(ErrKey, "add key %s, which another user has, want a new one", fault.Key(key))
	}
	var slot uint32
	if n := len(h.vacant); n > 0 {
		slot, h.vacant = h.vacant[n-1], h.vacant[:n-1]
		h.tree.yielded = true
		h.keys[slot] = key
	} else {
		slot = h.tree.grow()
		h.keys = append(h.keys, key)
	}
	a := &h.tree.accounts[slot]
	*a = account{weight: weight, seq: h.seq, gen: a.gen + 1, demand: unwanted}
	if h.tree.scales != nil {
		h.tree.scales[slot] = nil
	}
	h.seq++
	u := User{slot, a.gen}
	if h.byKey == nil {
		h.byKey = make(map[K]User)
	}
	h.byKey[key] = u
	return u, nil
}

// Remove forgets a user; its key is free again.
//
// A user that holds anything is not removed, with an [ErrHeld]: what it has
// not given back still counts, and forgetting it would let a user start anew
// at a share of zero. [Heap.Park] it and credit what it holds first. Cost:
// O(log n), no allocation. A user that is not there is an [ErrUser].
func (h *Heap[K]) Remove(u User) error {
	if h == nil {
		return absent("heap")
	}
	a := h.account(u)
	if a == nil {
		return badUser("remove", u)
	}
	if held := h.tree.accounts[u.slot].usage; held != (resources.Vector{}) {
		return refuse(ErrHeld, "remove %s: it still holds %v, want nothing", h.name(u), held)
	}
	h.park(u.slot)
	if h.turns.picked == u.slot+1 {
		h.turns.picked = 0 // who comes into the slot was not picked
	}
	delete(h.byKey, h.keys[u.slot])
	clear(h.keys[u.slot : u.slot+1]) // for the garbage collector
	a.gen++
	if a.gen != 0 { // a slot that ran out of generations is not used again
		h.vacant = append(h.vacant, u.slot)
	}
	return nil
}

// Yield puts the user behind all others whose share is equal to its own, as if
// it had been added last.
//
// A caller whose users keep coming back to equal shares, such as none at all
// where there is room for one task only, calls it for whoever was served: then
// they take turns, where else the one added first would be picked each time.
// Cost: O(log n), no allocation. Errors: [ErrUser].
func (h *Heap[K]) Yield(u User) error {
	if h == nil {
		return absent("heap")
	}
	a := h.account(u)
	if a == nil {
		return badUser("yield of", u)
	}
	a.seq = h.seq
	h.seq++
	h.tree.yielded = true
	h.reenter(u.slot)
	return nil
}

// SetWeight changes a user's weight, for all kinds, at once and for all that it
// holds. Cost: O(log n), no allocation. Errors: [ErrUser], [ErrWeight].
func (h *Heap[K]) SetWeight(u User, weight float64) error {
	if h == nil {
		return absent("heap")
	}
	a := h.account(u)
	if a == nil {
		return badUser("set weight of", u)
	}
	if !validWeight(weight) {
		return checkWeight("set weight of "+h.name(u), weight)
	}
	a.weight = weight
	if h.tree.scales != nil {
		h.tree.scales[u.slot] = nil
	}
	h.reenter(u.slot)
	return nil
}

// SetWeights gives a user a weight of its own for each kind: one that is to
// have twice the memory of others, but no more CPU, has weight 2 for memory.
// All count, whether or not the total has any of the kind. Ghodsi et al., NSDI
// 2011, section 4.3. Cost: O(log n), and one allocation of 64 bytes. Errors:
// [ErrUser], [ErrWeight].
func (h *Heap[K]) SetWeights(u User, weights [resources.MaxKinds]float64) error {
	if h == nil {
		return absent("heap")
	}
	if h.account(u) == nil {
		return badUser("set weights of", u)
	}
	for _, w := range weights {
		if !validWeight(w) {
			return checkWeight("set weights of "+h.name(u), w)
		}
	}
	t := &h.tree
	if t.scales == nil {
		t.scales = make([]*[resources.MaxKinds]float64, len(t.accounts))
	}
	t.scales[u.slot] = &weights
	h.reenter(u.slot)
	return nil
}

// OrderAfter says whether users are ordered by the share that they will have
// with their next task, instead of the share that they have, which is the
// paper's rule and the default. Then small tasks go before large ones of users
// who hold the same, and no user gets further ahead than by what others could
// not have used: the rule of Parkes, Procaccia and Shah for indivisible tasks,
// EC 2012 (SequentialMinMax). Cost: O(n) where it changes anything.
func (h *Heap[K]) OrderAfter(nextTask bool) {
	if h == nil {
		return
	}
	if h.tree.after != nextTask {
		h.tree.after = nextTask
		h.tree.settle()
	}
}

// Demand says what the user's next task takes, in base units, and makes the
// user a candidate for [Heap.Pick]. It stays one, with this demand, until the
// next call of Demand or [Heap.Park]; being picked or charged changes nothing.
//
// Cost: O(log n), O(1) where the demand is the same as before; no allocation.
// A demand of nothing is an [ErrEmpty]: it would always fit and never raise
// the user's share, so it would be picked for ever. Other errors: [ErrUser],
// and [resources.ErrQuantity] for a component outside [0, 2^62].
func (h *Heap[K]) Demand(u User, next resources.Vector) error {
	if h == nil {
		return absent("heap")
	}
	if h.account(u) == nil {
		return badUser("demand of", u)
	}
	if next == (resources.Vector{}) || !resources.Fits(&next, &everything) {
		return checkSome("demand of "+h.name(u), next)
	}
	t := &h.tree
	if was := t.accounts[u.slot].demand; was != next {
		t.want(u.slot, next)
		if was == unwanted || t.after {
			t.rank(u.slot)
		}
	}
	return nil
}

// Park takes back the user's demand, if any. The user keeps what it holds, and
// is not picked. Cost: O(log n), no allocation. Errors: [ErrUser].
func (h *Heap[K]) Park(u User) error {
	if h == nil {
		return absent("heap")
	}
	if h.account(u) == nil {
		return badUser("park", u)
	}
	h.park(u.slot)
	return nil
}

// Charge adds v, in base units, to what the user holds. It need not be what
// the user demanded, nor fit in the total.
//
// Cost: O(log n), no allocation. An invalid component of v, or one that takes
// the user beyond 2^62, is a [resources.ErrQuantity]; a user that is not there
// an [ErrUser].
func (h *Heap[K]) Charge(u User, v resources.Vector) error {
	if h == nil {
		return absent("heap")
	}
	if h.account(u) == nil {
		return badUser("charge", u)
	}
	if usage := &h.tree.accounts[u.slot].usage; !add(usage, &v) {
		return badCharge(h.name(u), *usage, v)
	}
	h.served(u.slot)
	h.reenter(u.slot)
	return nil
}

// Credit takes v, in base units, from what the user holds.
//
// Cost: O(log n), no allocation. More than the user holds of any kind is an
// [ErrHeld], an invalid component a [resources.ErrQuantity], a user that is
// not there an [ErrUser].
func (h *Heap[K]) Credit(u User, v resources.Vector) error {
	if h == nil {
		return absent("heap")
	}
	if h.account(u) == nil {
		return badUser("credit", u)
	}
	usage := &h.tree.accounts[u.slot].usage
	if !resources.Fits(&v, usage) {
		return badCredit(h.name(u), *usage, v)
	}
	for k := range v {
		usage[k] -= v[k]
	}
	h.reenter(u.slot)
	return nil
}

// Share returns the user's weighted dominant share and the kind that it is a
// share of, the lower kind where two are equal. A share of 0 is one of kind 0.
//
// The number is rounded, within 4 units in the last place: what is equal here
// need not be so in the heap's order. Cost: O(1).
func (h *Heap[K]) Share(u User) (share float64, kind resources.Kind, ok bool) {
	if h == nil {
		return 0, 0, false
	}
	if h.account(u) == nil {
		return 0, 0, false
	}
	t := &h.tree
	usage := &t.accounts[u.slot].usage
	k := t.dominant(u.slot, usage)
	if usage[k] == 0 || t.total[k] == 0 {
		return 0, 0, true
	}
	return float64(usage[k]) / (float64(t.total[k]) * t.weightOf(u.slot, k)), resources.Kind(k), true
}

// Usage returns what the user holds: what it was charged, less its credits.
// Cost: O(1).
func (h *Heap[K]) Usage(u User) (usage resources.Vector, ok bool) {
	if h == nil {
		return usage, false
	}
	if h.account(u) == nil {
		return resources.Vector{}, false
	}
	return h.tree.accounts[u.slot].usage, true
}

// Len returns how many users there are, parked ones included.
func (h *Heap[K]) Len() int {
	if h == nil {
		return 0
	}
	return len(h.byKey)
}

func (h *Heap[K]) park(slot uint32) {
	t := &h.tree
	if !t.wants(slot) {
		return
	}
	h.forgive(slot)
	t.unrank(slot)
	t.want(slot, unwanted)
}

// reenter is for a user whose share may have changed.
func (h *Heap[K]) reenter(slot uint32) {
	if t := &h.tree; t.wants(slot) {
		t.rank(slot)
	}
}
