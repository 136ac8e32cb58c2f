package score

import (
	"math"

	"github.com/cellsched/cellsched/resources"
)

// Balanced is high where the kinds will be used in equal shares once the task is
// placed. It is 100 less the weighted standard deviation of the percentages that are
// used, over the kinds that the machine has. That is 50 to 100, and 0 for a machine
// that has none of the kinds that count.
//
// It neither packs nor spreads: an empty machine is as balanced as a full one.
// It keeps one kind from being stranded where another has run out. Cost of a
// score: O(kinds), no allocation. Errors: a weight outside [0, [MaxWeight]]. It
// is the plug-in NodeResourcesBalancedAllocation of Kubernetes 1.34, which has
// equal weights.
func Balanced(w Weights) (Func, error) {
	w, err := w.resolve("Balanced")
	if err != nil {
		return nil, err
	}
	return func(need, free, capacity *resources.Vector) float64 {
		need, free, capacity = some(need), some(free), some(capacity)
		mean, ok := w.left(need, free, capacity)
		if !ok {
			return 0
		}
		// Free fractions deviate as much as used ones: f = 1 - u. There are two
		// passes, since the difference of two sums of squares loses small
		// deviations.
		var sum, total float64
		for k, weight := range &w {
			if weight == 0 || capacity[k] <= 0 {
				continue
			}
			d := left(need, free, capacity, k) - mean
			sum += weight * d * d
			total += weight
		}
		return 100 * (1 - math.Sqrt(sum/total))
	}, nil
}
