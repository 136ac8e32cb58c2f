package drf

import (
	"slices"

	"github.com/cellsched/cellsched/drf/internal/check"
	"github.com/cellsched/cellsched/internal/fault"
	"github.com/cellsched/cellsched/internal/keys"
	"github.com/cellsched/cellsched/resources"
)

// The weights that [Heap.Add], [Heap.SetWeight] and [Heap.SetWeights] accept.
const (
	MinWeight = check.MinWeight // 1e-6
	MaxWeight = check.MaxWeight // 1e6
)

// Heap orders users by weighted dominant share and picks the next one.
//
// The zero Heap works, but all shares in it are 0 until [Heap.SetTotal]. Methods of
// a nil Heap fail with [resources.ErrNil], or return nothing. A Heap is not safe
// for concurrent use, reading included. K is the caller's key of a user:
// [Heap.User] looks it up and [Heap.Key] returns it. No other call on a [User]
// depends on it.
//
// The share of a user is the largest of usage[k]/(total[k]*weight[k]) over the
// kinds k that the total has any of. The order is exact. Shares are compared as
// fractions of integers, never as rounded numbers, and follow from the present
// usage, so they do not drift. In a tie the user that was added, or yielded,
// earlier is first: see [Heap.Yield].
//
// Costs are for n users, parked ones included.
type Heap[K comparable] struct {
	tree   tree
	skips  skipCounter
	keys   []K // by slot
	byKey  map[K]User
	vacant []uint32
	seq    uint64
}

// New returns a heap without users over a cell of the given total, in base units.
// Errors: [resources.ErrQuantity] for a component outside [0, 2^62], [ErrEmpty] for
// a total of nothing.
func New[K comparable](total resources.Vector) (*Heap[K], error) {
	h := new(Heap[K])
	if err := h.SetTotal(total); err != nil {
		return nil, err
	}
	return h, nil
}

// SetTotal changes the total that shares are parts of, in base units, as machines
// come and go. Usage stays, and may exceed the new total. A kind that the total has
// none of plays no part in any share. Errors: as [New].
//
// Cost: O(1), since the order within a kind does not depend on its total. The dominant
// kind of a user may change with the total. The user then moves when it comes first in
// its old order: once, at O(log n). If that is so for many users, or a kind is gone, all
// are ordered again, in O(n).
func (h *Heap[K]) SetTotal(total resources.Vector) error {
	if h == nil {
		return self.Absent("heap")
	}
	if err := self.Some("total", total); err != nil {
		return err
	}
	if total != h.tree.total {
		h.tree.setTotal(total)
	}
	return nil
}

// Grow makes room for n users more, so that the next n calls of [Heap.Add] do not copy
// those before. Cost: O(n + users).
func (h *Heap[K]) Grow(n int) {
	if h == nil || n <= 0 {
		return
	}
	h.tree.reserve(n)
	h.keys = slices.Grow(h.keys, n)
	if h.byKey == nil {
		h.byKey = make(map[K]User, n)
	}
}

// Add registers a user that holds nothing and is parked: [Heap.Demand] makes it a
// candidate. A user of weight 2 is entitled to twice the share of one of weight 1.
//
// Cost: O(1) amortised, allocations included. Errors: [ErrKey] for a key that is
// taken or not equal to itself, [ErrWeight] for a weight outside [[MinWeight],
// [MaxWeight]].
func (h *Heap[K]) Add(key K, weight float64) (User, error) {
	if h == nil {
		return User{}, self.Absent("heap")
	}
	if !check.ValidWeight(weight) {
		return User{}, self.Weight("add key "+fault.Key(key), weight)
	}
	if !keys.Findable(key) {
		return User{}, self.Refuse(ErrKey, "add key %s, want one equal to itself", fault.Key(key))
	}
	if _, ok := h.byKey[key]; ok {
		return User{}, self.Refuse(ErrKey, "add key %s: another user has it, want a new one", fault.Key(key))
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

// Remove forgets a user. Its key is free again.
//
// A user that holds anything is not removed, with [ErrHeld]: it could come back at
// a share of zero while its amounts still count. Call [Heap.Park] and credit its
// usage first. Cost: O(log n), no allocation. Errors: [ErrUser], [ErrHeld].
func (h *Heap[K]) Remove(u User) error {
	if h == nil {
		return self.Absent("heap")
	}
	a := h.account(u)
	if a == nil {
		return badUser("remove")
	}
	if held := h.tree.accounts[u.slot].usage; held != (resources.Vector{}) {
		return self.Refuse(ErrHeld, "remove %s: it still holds %v, want nothing", h.name(u), held)
	}
	h.park(u.slot)
	if h.skips.picked == u.slot+1 {
		h.skips.picked = 0 // the slot's next user was not picked
	}
	delete(h.byKey, h.keys[u.slot])
	clear(h.keys[u.slot : u.slot+1]) // for the garbage collector
	a.gen++
	if a.gen != 0 { // a slot that ran out of generations is not used again
		h.vacant = append(h.vacant, u.slot)
	}
	return nil
}

// Yield puts the user behind all others with a share equal to its own, as if it had
// been added last.
//
// It suits users that keep coming back to equal shares, such as no usage at all
// where there is room for one task only. A caller yields the user that was served,
// and then they take turns. Without it the user added first is picked each time.
// Cost: O(log n), no allocation. Errors: [ErrUser].
func (h *Heap[K]) Yield(u User) error {
	if h == nil {
		return self.Absent("heap")
	}
	a := h.account(u)
	if a == nil {
		return badUser("yield of")
	}
	a.seq = h.seq
	h.seq++
	h.tree.yielded = true
	h.reenter(u.slot)
	return nil
}

// SetWeight changes a user's weight for all kinds, at once and for all of its
// usage. Cost: O(log n), no allocation. Errors: [ErrUser], [ErrWeight].
func (h *Heap[K]) SetWeight(u User, weight float64) error {
	if h == nil {
		return self.Absent("heap")
	}
	a := h.account(u)
	if a == nil {
		return badUser("set weight of")
	}
	if !check.ValidWeight(weight) {
		return self.Weight("set weight of "+h.name(u), weight)
	}
	a.weight = weight
	if h.tree.scales != nil {
		h.tree.scales[u.slot] = nil
	}
	h.reenter(u.slot)
	return nil
}

// SetWeights gives a user a weight for each kind. For example, weight 2 for memory
// is for a user that is to have twice the memory of others but no more CPU. Every
// weight has to be valid, also of a kind that the total has none of. Ghodsi et al.,
// NSDI 2011, section 4.3. Cost: O(log n), and one allocation of 64 bytes. Errors:
// [ErrUser], [ErrWeight].
func (h *Heap[K]) SetWeights(u User, weights [resources.MaxKinds]float64) error {
	if h == nil {
		return self.Absent("heap")
	}
	if h.account(u) == nil {
		return badUser("set weights of")
	}
	for _, w := range weights {
		if !check.ValidWeight(w) {
			return self.Weight("set weights of "+h.name(u), w)
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

// OrderAfter orders users by the share that they will have with their next task,
// instead of their present share. The present share is the paper's rule and the
// default.
//
// With it, small tasks go before large ones of users with equal usage. No user gets
// further ahead than by an amount that others could not have used. The rule is that
// of Parkes, Procaccia and Shah for indivisible tasks, EC 2012 (SequentialMinMax).
// Cost: O(n) if the setting changes.
func (h *Heap[K]) OrderAfter(nextTask bool) {
	if h == nil {
		return
	}
	if h.tree.after != nextTask {
		h.tree.after = nextTask
		h.tree.settle()
	}
}

// Demand sets the amount that the user's next task takes, in base units, and makes
// the user a candidate for [Heap.Pick]. It stays a candidate with this demand until
// the next call of Demand or [Heap.Park]; a pick or a charge changes nothing. A demand
// larger than the total, or than each machine, is no error: it waits until a total or
// machine is large enough, and no room is reserved for it.
//
// Cost: O(log n), or O(1) for the same demand as before; no allocation. Errors:
// [ErrUser]; [resources.ErrQuantity] for a component outside [0, 2^62]; [ErrEmpty]
// for a demand of nothing, which would fit always and be picked for ever.
func (h *Heap[K]) Demand(u User, next resources.Vector) error {
	if h == nil {
		return self.Absent("heap")
	}
	if h.account(u) == nil {
		return badUser("demand of")
	}
	if next == (resources.Vector{}) || !resources.Fits(&next, &everything) {
		return self.Some("demand of "+h.name(u), next)
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

// Park removes the user's demand, if any. The user keeps its usage and is not
// picked. Cost: O(log n), no allocation. Errors: [ErrUser].
func (h *Heap[K]) Park(u User) error {
	if h == nil {
		return self.Absent("heap")
	}
	if h.account(u) == nil {
		return badUser("park")
	}
	h.park(u.slot)
	return nil
}

// Charge adds v, in base units, to the user's usage. It need not equal the user's
// demand, nor fit in the total.
//
// Cost: O(log n), no allocation. Errors: [ErrUser]; [resources.ErrQuantity] for an
// invalid component, or usage beyond 2^62.
func (h *Heap[K]) Charge(u User, v resources.Vector) error {
	if h == nil {
		return self.Absent("heap")
	}
	if h.account(u) == nil {
		return badUser("charge")
	}
	if usage := &h.tree.accounts[u.slot].usage; !add(usage, &v) {
		return badCharge(h.name(u), *usage, v)
	}
	h.countSkip(u.slot)
	h.reenter(u.slot)
	return nil
}

// Credit subtracts v, in base units, from the user's usage.
//
// Cost: O(log n), no allocation. Errors: [ErrUser]; [resources.ErrQuantity] for an
// invalid component; [ErrHeld] for more than the user holds of a kind.
func (h *Heap[K]) Credit(u User, v resources.Vector) error {
	if h == nil {
		return self.Absent("heap")
	}
	if h.account(u) == nil {
		return badUser("credit")
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

// Share returns the user's weighted dominant share and its kind, the lower kind in
// a tie. A share of 0 is of kind 0.
//
// The number is rounded, within 4 units in the last place: two equal numbers may be
// unequal in the heap's order. Cost: O(1).
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

// Usage returns the amount that the user holds: its charges less its credits. Cost:
// O(1).
func (h *Heap[K]) Usage(u User) (usage resources.Vector, ok bool) {
	if h == nil {
		return usage, false
	}
	if h.account(u) == nil {
		return resources.Vector{}, false
	}
	return h.tree.accounts[u.slot].usage, true
}

// Len returns the number of users, parked ones included.
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
	h.resetSkips(slot)
	t.unrank(slot)
	t.want(slot, unwanted)
}

// reenter ranks a user again after its share may have changed.
func (h *Heap[K]) reenter(slot uint32) {
	if t := &h.tree; t.wants(slot) {
		t.rank(slot)
	}
}
