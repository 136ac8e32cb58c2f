package score

import (
	"math"

	"github.com/cellsched/cellsched/resources"
)

// Binpack is Nomad's score for packing: (10 - m)/9, which is 0 for an empty machine and
// 1 for a full one. Here m is the weighted mean of ten to the power of the share that
// stays free, over the kinds that the machine has. It is 0 for a machine that has none
// of the kinds that count.
//
// The emptiest kind counts most. So of two machines that are equally full on average
// the evenly filled one wins. Cost of a score: O(kinds) with one [math.Exp] each, no
// allocation. Errors: a weight outside [0, [MaxWeight]].
//
// With weights of 1 for CPU and memory and no other, it is (20 - 10^cpu -
// 10^memory)/18 as in Nomad, which knows no other kind. As in Nomad, pass the
// capacity without the machine's own reserve.
func Binpack(w Weights) (Func, error) {
	w, err := w.resolve("Binpack")
	if err != nil {
		return nil, err
	}
	return func(need, free, capacity *resources.Vector) float64 {
		need, free, capacity = some(need), some(free), some(capacity)
		mean, ok := w.power(need, free, capacity)
		if !ok {
			return 0
		}
		return (10 - mean) / 9
	}, nil
}

// Spread is Nomad's score for spreading, 1 - [Binpack]: 0 for a full machine, 1 for an
// empty one. It is 0 for a machine that has none of the kinds that count. Of two
// machines that are equally full on average it prefers the unevenly filled one. Cost
// and errors are those of Binpack.
func Spread(w Weights) (Func, error) {
	w, err := w.resolve("Spread")
	if err != nil {
		return nil, err
	}
	return func(need, free, capacity *resources.Vector) float64 {
		need, free, capacity = some(need), some(free), some(capacity)
		mean, ok := w.power(need, free, capacity)
		if !ok {
			return 0
		}
		return (mean - 1) / 9
	}, nil
}

// power is the weighted mean of ten to the power of the shares that stay free;
// ok is false if the machine has nothing of any kind that counts.
func (w *Weights) power(need, free, capacity *resources.Vector) (mean float64, ok bool) {
	var sum, total float64
	for k, weight := range w {
		if weight == 0 || capacity[k] <= 0 {
			continue
		}
		// With math.Pow the score takes three times as long. Exp(Ln10) is a
		// bit above 10.
		sum += weight * min(math.Exp(math.Ln10*left(need, free, capacity, k)), 10)
		total += weight
	}
	if total == 0 {
		return 0, false
	}
	return sum / total, true
}
