package score

import (
	"fmt"

	"github.com/cellsched/cellsched/resources"
)

// MaxWeight is the largest weight a kind may have.
const MaxWeight = 1e6

// Weights says how much each kind of resource counts in a score, relative to
// the others. A kind of weight 0 does not count.
//
// The zero Weights lets all kinds count the same. A kind that the machine has
// none of does not count on that machine, whatever its weight; a kind that the
// task does not ask for does. So where only some machines have a GPU, a score
// that spreads draws tasks without one to them, unless the weight of the GPU
// is 0. Weights are plain values: compare them with ==, copy them, share them
// between goroutines.
type Weights [resources.MaxKinds]float64

// resolve returns w, or a weight of 1 for each kind if w is zero.
func (w Weights) resolve(score string) (Weights, error) {
	for k, weight := range w {
		if weight >= 0 && weight <= MaxWeight { // false for NaN
			continue
		}
		return Weights{}, fmt.Errorf("score: %s: Weights[%d] is %v, want 0 to %v", score, k, weight, MaxWeight)
	}
	if w == (Weights{}) {
		for k := range w {
			w[k] = 1
		}
	}
	return w, nil
}

// left is the weighted mean of the shares of each kind that stay free; ok is
// false if the machine has nothing of any kind that counts.
func (w *Weights) left(need, free, capacity *resources.Vector) (mean float64, ok bool) {
	var sum, total float64
	for k, weight := range w {
		if weight == 0 || capacity[k] <= 0 {
			continue
		}
		sum += weight * left(need, free, capacity, k)
		total += weight
	}
	if total == 0 {
		return 0, false
	}
	return sum / total, true
}
