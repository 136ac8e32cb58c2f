package allot

import (
	"math/bits"

	"github.com/cellsched/cellsched/drf"
	"github.com/cellsched/cellsched/drf/internal/fraction"
	"github.com/cellsched/cellsched/resources"
)

// Report is the result of an [Audit].
type Report struct {
	// Users has one entry for each user, by its index.
	Users []Standing
	// Jain is Jain's index of the weighted dominant shares of the active users:
	// those that hold or want anything. It is 1 if all are equal, and 1/n if one of
	// n users holds everything. It is 1 if no user holds anything.
	Jain float64
}

// Standing is a user's share beside its fair share.
type Standing struct {
	// Share is the user's weighted dominant share, as [drf.Heap.Share] returns it.
	Share float64
	// Kind is the kind of the user's dominant share, the lower kind in a tie. For a
	// user that holds nothing it is the dominant kind of its demand.
	Kind resources.Kind
	// Held is the user's dominant share without its weight: the part of the total
	// of Kind that it holds.
	Held float64
	// Fair is the part of the total of Kind that is the user's fair share: see
	// [Audit].
	Fair float64
	// Violation is Held minus Fair. Its sign is exact: it is 0 only if they are
	// equal.
	Violation float64
	// Short reports whether the user has less than its fair share and wants more.
	Short bool
}

// Audit compares the users' holdings with their fair shares of total, in base
// units. It does not matter which scheduler placed them.
//
// The fair share of a user is its weight over the sum of the weights of all active
// users: users that hold or want anything. A user is entitled to that part of any
// kind, independent of the others' demands. A user above its fair share does no
// harm while no user is short. [Divide] returns the exact allocation of dominant
// resource fairness.
//
// With weights by kind, the sum is taken for each kind that the total has, and the
// largest counts. All fair shares can then still be had at once. The user that
// exceeds its own by the largest factor is the last in the order of a [drf.Heap].
//
// Numbers are rounded, within 8 units in the last place; signs and kinds are exact.
// A user that is not active has a zero Standing. Cost: O(n) for n users, one
// allocation of 48n bytes.
//
// Errors name the user by index: [drf.ErrWeight], or [resources.ErrQuantity] for an
// invalid component. For the total they are those of [drf.New].
func Audit(total resources.Vector, users []Holding) (Report, error) {
	if err := self.Some("audit: total", total); err != nil {
		return Report{}, err
	}
	if err := checkHoldings("audit", users); err != nil {
		return Report{}, err
	}
	r := Report{Users: make([]Standing, len(users)), Jain: 1}
	all := entitled(&total, users)
	var active, sum, squares float64
	for i := range users {
		u := &users[i]
		if !u.active() {
			continue
		}
		held := u.portion(&u.Usage, &total)
		if held.num == 0 {
			wanted := u.portion(&u.Demand, &total)
			held = portion{0, wanted.total, wanted.weight, wanted.kind}
		}
		s := Standing{
			Share:     float64(held.num) / (float64(held.total) * held.weight),
			Kind:      held.kind,
			Held:      float64(held.num) / float64(held.total),
			Fair:      fixed(held.weight).float() / all.float(),
			Violation: held.over(all),
		}
		s.Short = s.Violation < 0 && u.Demand != (resources.Vector{})
		r.Users[i] = s
		active++
		sum += s.Share
		squares += s.Share * s.Share
	}
	if squares > 0 {
		r.Jain = min(1, sum*sum/(active*squares))
	}
	return r, nil
}

// over returns the unweighted p minus the fair share of its weight among all. The
// sign is exact.
func (p portion) over(all weightSum) float64 {
	num, fair := all.times(p.num), fixed(p.weight).times(p.total)
	sign := 1.0
	for i := 2; i >= 0; i-- {
		if num[i] != fair[i] {
			if num[i] < fair[i] {
				num, fair, sign = fair, num, -1
			}
			break
		}
	}
	var rest [3]uint64
	var borrow uint64
	for i := range rest {
		rest[i], borrow = bits.Sub64(num[i], fair[i], borrow)
	}
	difference := float64(rest[2])*(1<<64)*(1<<64) + float64(rest[1])*(1<<64) + float64(rest[0])
	return sign * difference / (float64(p.total) * all.float())
}

// weightSum is an exact weight or sum of weights, in units of 2^-72: the last place
// of a float64 from drf.MinWeight on. A weight is less than 2^92 units, so 2^36 of them
// fit.
type weightSum struct{ hi, lo uint64 }

// entitled returns the sum of the weights of all active users, for the kind of
// total with the largest sum.
func entitled(total *resources.Vector, users []Holding) (all weightSum) {
	var sums [resources.MaxKinds]weightSum
	for i := range users {
		if u := &users[i]; u.active() {
			for k := range sums {
				sums[k] = sums[k].plus(fixed(u.weight(k)))
			}
		}
	}
	for k, s := range sums {
		if total[k] > 0 && (s.hi > all.hi || s.hi == all.hi && s.lo > all.lo) {
			all = s
		}
	}
	return all
}

// fixed converts a valid weight.
func fixed(w float64) weightSum {
	_, least := fraction.Mantissa(drf.MinWeight)
	m, e := fraction.Mantissa(w)
	return weightSum{m >> (64 - (e - least)), m << (e - least)}
}

func (w weightSum) plus(v weightSum) weightSum {
	lo, carry := bits.Add64(w.lo, v.lo, 0)
	hi, _ := bits.Add64(w.hi, v.hi, carry)
	return weightSum{hi, lo}
}

// times returns w*n, lowest limb first.
func (w weightSum) times(n int64) [3]uint64 {
	carry, p0 := bits.Mul64(w.lo, uint64(n))
	p2, mid := bits.Mul64(w.hi, uint64(n))
	p1, c := bits.Add64(mid, carry, 0)
	return [3]uint64{p0, p1, p2 + c}
}

func (w weightSum) float() float64 { return float64(w.hi)*(1<<64) + float64(w.lo) }
