package drf

import (
	"math/bits"

	"github.com/cellsched/cellsched/drf/internal/fraction"
	"github.com/cellsched/cellsched/resources"
)

// Report is what an [Audit] found.
type Report struct {
	// Users has one entry for each user, by its index.
	Users []Standing
	// Jain is Jain's index of the weighted dominant shares of those who hold
	// or want anything: 1 where they are equal, down to 1/n where one of n
	// holds everything. It is 1 where nobody holds anything.
	Jain float64
}

// Standing says how a user stands towards its fair share.
type Standing struct {
	// Share is its weighted dominant share, as of [Heap.Share].
	Share float64
	// Kind is what Share is a share of, the lower kind where two are equal. Who
	// holds nothing has that of its demand.
	Kind resources.Kind
	// Held is the part that it holds of the total of Kind: its dominant share.
	Held float64
	// Fair is the part of Kind that is its fair share: see [Audit].
	Fair float64
	// Violation is by how much Held exceeds Fair, or falls short of it where
	// it is negative. Its sign is exact: it is 0 where they are the same.
	Violation float64
	// Short tells that it has less than its fair share and wants more.
	Short bool
}

// Audit says how far users are from their fair shares of total, in base units,
// after the fact: whatever it was that let them take what they hold.
//
// The fair share of a user is its weight over the sum of the weights of all who
// are active: who hold or want anything. It is what each is entitled to of any
// kind, whatever the others want. Who holds more does no harm while nobody is
// short; what exactly dominant resource fairness would give to each is for
// [Divide] to say. Where weights are by kind, the sum is that of the kind where
// it is largest, of those that the total has any of. Then still the fair shares
// of all can be had at once, and who is over its own by the largest factor is
// the last in the order of a [Heap].
//
// Numbers are rounded, within 8 units in the last place, signs and kinds are
// exact. Who is not active has a Standing of zero. Cost: O(n) for n users, one
// allocation of 48n bytes. Errors name the user, by its index: an [ErrWeight],
// and a [resources.ErrQuantity] for an invalid component; for the total they
// are those of [New].
func Audit(total resources.Vector, users []Holding) (Report, error) {
	if err := checkSome("audit: total", total); err != nil {
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

// over returns by how much p, unweighted, exceeds its weight over all: exact in
// its sign.
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

// weightSum is a weight or a sum of them, exactly, in units of 2^-72: the last
// place of one from MinWeight on. One is less than 2^92 of them, so that there
// is room for 2^36.
type weightSum struct{ hi, lo uint64 }

// entitled returns the sum of the weights of all who are active, for the kind
// of total where it is largest.
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

// fixed returns a valid weight.
func fixed(w float64) weightSum {
	_, least := fraction.Mantissa(MinWeight)
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
