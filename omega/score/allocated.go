package score

import "github.com/cellsched/cellsched/resources"

// LeastAllocated is the percentage of the machine that stays free, as the weighted mean
// over the kinds that it has. It is 0 to 100, and 0 for a machine that has none of the
// kinds that count.
//
// It spreads. Cost of a score: O(kinds), no allocation. Errors: a weight
// outside [0, [MaxWeight]]. It is the scoring strategy LeastAllocated of
// Kubernetes. Unlike there, extended resources count even if the task asks for
// none of them.
func LeastAllocated(w Weights) (Func, error) {
	w, err := w.resolve("LeastAllocated")
	if err != nil {
		return nil, err
	}
	return func(need, free, capacity *resources.Vector) float64 {
		need, free, capacity = some(need), some(free), some(capacity)
		mean, _ := w.left(need, free, capacity)
		return 100 * mean
	}, nil
}

// MostAllocated is the percentage of the machine that is used once the task is placed,
// as the weighted mean over the kinds that it has. It is 0 to 100, and 0 for a machine
// that has none of the kinds that count.
//
// It packs. Cost of a score: O(kinds), no allocation. Errors: a weight outside
// [0, [MaxWeight]]. It is the scoring strategy MostAllocated of Kubernetes.
// Unlike there, extended resources count even if the task asks for none of
// them.
func MostAllocated(w Weights) (Func, error) {
	w, err := w.resolve("MostAllocated")
	if err != nil {
		return nil, err
	}
	return func(need, free, capacity *resources.Vector) float64 {
		need, free, capacity = some(need), some(free), some(capacity)
		mean, ok := w.left(need, free, capacity)
		if !ok {
			return 0
		}
		return 100 * (1 - mean)
	}, nil
}
