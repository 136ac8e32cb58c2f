package drf

import (
	"math"

	"github.com/cellsched/cellsched/drf/internal/fraction"
	"github.com/cellsched/cellsched/resources"
)

// withNext returns the usage of slot plus its demand, at most 2^63-1 of a kind. The
// sum may exceed the amount that a user may hold.
func (t *tree) withNext(slot uint32) resources.Vector {
	v := t.accounts[slot].usage
	if t.wants(slot) {
		for k, q := range &t.accounts[slot].demand {
			v[k] = int64(min(uint64(v[k]+q), math.MaxInt64))
		}
	}
	return v
}

// scale returns the weights of slot by kind, or nil if one weight is for all kinds.
func (t *tree) scale(slot uint32) *[resources.MaxKinds]float64 {
	if t.scales == nil {
		return nil
	}
	return t.scales[slot]
}

// weightOf returns the weight of slot for a kind.
func (t *tree) weightOf(slot uint32, kind int) float64 {
	if s := t.scale(slot); s != nil {
		return s[kind]
	}
	return t.accounts[slot].weight
}

// measure returns the kind of slot's dominant share and the amount that counts in
// it: 0 of kind 0 if that amount is nothing.
func (t *tree) measure(slot uint32) (kind resources.Kind, num int64) {
	usage := &t.accounts[slot].usage
	if t.after {
		with := t.withNext(slot)
		usage = &with
	}
	// No branches: the kind that leads is hard to predict. First is the largest
	// fraction, as float64 bits, and second the runner-up.
	var first, second uint64
	lead, scale := 0, t.scale(slot)
	for k := range t.kinds {
		f := float64(usage[k]) * t.inverse[k]
		if scale != nil {
			f /= scale[k]
		}
		bits := math.Float64bits(f)
		second = max(second, min(first, bits))
		if bits > first {
			lead = k
		}
		first = max(first, bits)
	}
	if first == 0 {
		return 0, 0
	}
	if tooClose(int64(first - second)) {
		lead = t.dominant(slot, usage)
	}
	return resources.Kind(lead), usage[lead]
}

// weigh measures slot again and returns its rank in the track of its kind. It is
// called after slot's usage, weight or demand, or the totals, have changed.
func (t *tree) weigh(slot uint32) rank {
	a := &t.accounts[slot]
	a.kind, a.num = t.measure(slot)
	if s := t.scale(slot); s != nil {
		a.weight = s[a.kind]
	}
	return t.packExactly(a.num, a.weight, slot)
}

// dominant returns the kind of slot's largest share in usage. The lower kind wins a
// tie.
func (t *tree) dominant(slot uint32, usage *resources.Vector) (kind int) {
	for k := 1; k < t.kinds; k++ {
		if t.total[k] > 0 && (t.total[kind] == 0 ||
			fraction.Compare(usage[k], t.total[k], t.weightOf(slot, k), usage[kind], t.total[kind], t.weightOf(slot, kind)) > 0) {
			kind = k
		}
	}
	return kind
}

// share turns r, a rank in the track of kind k, into a rank by share.
func (t *tree) share(r rank, k int) rank {
	if r == vacant {
		return vacant
	}
	return t.pack(math.Float64frombits(uint64(r&^(t.slots|t.inexact())))*t.inverse[k], uint32(r&t.slots))
}

// before reports whether a is to be picked before b. Both are ranks of one track,
// or both are ranks by share.
func (t *tree) before(a, b rank) bool {
	d := int64(a - b)
	if t.near(d) && !t.decides(a, b) {
		return t.exactlyBefore(a, b)
	}
	return d < 0
}

// decides reports whether two close ranks still give the order: both are exact, and
// where they are equal the lower slot is the user that was added first.
func (t *tree) decides(a, b rank) bool { return (a|b)&t.inexact() == 0 && !t.yielded }

// near reports whether two ranks are too close to tell which share is larger.
//
// Proof of the slack:
//
//  1. A key is an amount over a weight. A share is a key times the inverse of a
//     total.
//  2. That takes five roundings: of the amount, the quotient, the total, its
//     inverse and the product. Each is at most 2^-53 of the number.
//  3. Their sum is less than the last bit that a rank keeps.
//  4. A rank cuts off the bits below, twice for a share. All together is less than
//     three of the last bits.
func (t *tree) near(difference int64) bool {
	slack := 8 * uint64(t.slots+1)
	return uint64(difference)+slack <= 2*slack
}

// tooClose reports whether two float64, as bits, may stand for equal shares. Their
// keys were not cut off.
func tooClose(difference int64) bool {
	const slack = 16 // at most one unit in the last place for each rounding, 10 for a pair
	return uint64(difference+slack) <= 2*slack
}

// exactlyBefore orders two users by integers alone. The ranks themselves do not
// count, except that only shares of zero have a key of zero.
func (t *tree) exactlyBefore(a, b rank) bool {
	if a == vacant || b == vacant {
		return a != vacant
	}
	x, y := &t.accounts[a&t.slots], &t.accounts[b&t.slots]
	if x.num != 0 && y.num != 0 {
		if c := fraction.Compare(x.num, t.total[x.kind], x.weight, y.num, t.total[y.kind], y.weight); c != 0 {
			return c < 0
		}
	} else if x.num != y.num {
		return x.num == 0
	}
	return x.seq < y.seq
}
