package drf

import (
	"math"

	"github.com/cellsched/cellsched/drf/internal/fraction"
	"github.com/cellsched/cellsched/resources"
)

// withNext returns what slot holds and its next task takes, at most 2^63-1 of a
// kind: more than it may ever hold.
func (t *tree) withNext(slot uint32) resources.Vector {
	v := t.accounts[slot].usage
	if t.wants(slot) {
		for k, q := range &t.accounts[slot].demand {
			v[k] = int64(min(uint64(v[k]+q), math.MaxInt64))
		}
	}
	return v
}

// scale returns the weights of slot by kind, or nil where they are all the same.
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

// measure finds the kind of slot's dominant share, and what is counted of it:
// 0 of kind 0 where that is nothing.
func (t *tree) measure(slot uint32) (kind resources.Kind, num int64) {
	usage := &t.accounts[slot].usage
	if t.after {
		with := t.withNext(slot)
		usage = &with
	}
	// Without branches, since which kind leads is hard to predict: the
	// largest fraction, as float64 bits, and the runner-up.
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

// weigh measures slot again, after its usage, its weight, its demand or the
// totals changed, and returns its rank in the track of its kind.
func (t *tree) weigh(slot uint32) rank {
	a := &t.accounts[slot]
	a.kind, a.num = t.measure(slot)
	if s := t.scale(slot); s != nil {
		a.weight = s[a.kind]
	}
	return t.packExactly(a.num, a.weight, slot)
}

// dominant returns the kind of which usage is the largest share for slot, the
// lower one in a tie.
func (t *tree) dominant(slot uint32, usage *resources.Vector) (kind int) {
	for k := 1; k < t.kinds; k++ {
		if t.total[k] > 0 && (t.total[kind] == 0 ||
			fraction.Compare(usage[k], t.total[k], t.weightOf(slot, k), usage[kind], t.total[kind], t.weightOf(slot, kind)) > 0) {
			kind = k
		}
	}
	return kind
}

// share returns the rank by share of r, a rank in the track of kind k.
func (t *tree) share(r rank, k int) rank {
	if r == vacant {
		return vacant
	}
	return t.pack(math.Float64frombits(uint64(r&^(t.slots|t.inexact())))*t.inverse[k], uint32(r&t.slots))
}

// before reports whether a is to be picked before b. They are both of one track
// or both by share.
func (t *tree) before(a, b rank) bool {
	d := int64(a - b)
	if t.near(d) && !t.decides(a, b) {
		return t.exactlyBefore(a, b)
	}
	return d < 0
}

// decides reports whether two ranks that are close tell the order nevertheless:
// both are exact, and where they are equal the lower slot is that of the user
// who came first.
func (t *tree) decides(a, b rank) bool { return (a|b)&t.inexact() == 0 && !t.yielded }

// near reports whether two ranks are too close to tell which share is larger.
//
// A key is an amount over a weight, and a share that times the inverse of a
// total: after five roundings (of the amount, the quotient, the total, its
// inverse, the product), each by at most 2^-53 of the number. That is less
// than the last bit that a rank keeps, and cutting off what it does not keep,
// twice for a share, is less than three.
func (t *tree) near(difference int64) bool {
	slack := 8 * uint64(t.slots+1)
	return uint64(difference)+slack <= 2*slack
}

// tooClose reports whether two float64, as bits, may be of equal shares: keys
// that were not cut off.
func tooClose(difference int64) bool {
	const slack = 16 // at most one unit in the last place for each rounding, 10 for a pair
	return uint64(difference+slack) <= 2*slack
}

// exactlyBefore decides by integers alone, by what the two are ranked by. The
// ranks themselves do not count, except that only shares of zero have a key of
// zero.
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
