package score

import "github.com/cellsched/cellsched/resources"

// Tetris is the alignment of the task with the machine's room: the dot product
// of need and free, both as shares of the machine's capacity.
//
// It is high where the machine has most of the kinds that the task needs most, and
// so leaves room of all kinds. Of machines of one size it prefers the emptier. It
// is in [0, kinds]. Cost: O(kinds), no allocation. Grandl et al., SIGCOMM 2014; the
// paper also picks among tasks and adds their remaining work, which is the
// scheduler's order of jobs here.
func Tetris(need, free, capacity *resources.Vector) float64 {
	need, free, capacity = some(need), some(free), some(capacity)
	sum, _ := alignment(need, free, capacity)
	return sum
}

// DotProduct is [Tetris] with the opposite sign: 1 less the mean of the same
// products over the kinds that the machine has.
//
// It prefers room of another shape than the task's, and of machines of one
// size the fuller, which keeps large room for tasks that need it. It is in
// [0, 1], and 0 for a machine that has nothing. Cost: O(kinds), no allocation.
// It is what the simulator of Weng et al., USENIX ATC 2023, calls dot product.
func DotProduct(need, free, capacity *resources.Vector) float64 {
	need, free, capacity = some(need), some(free), some(capacity)
	sum, kinds := alignment(need, free, capacity)
	if kinds == 0 {
		return 0
	}
	return 1 - sum/float64(kinds)
}

// alignment is the dot product over the kinds that the machine has, and their
// number. No kind is weighted: one that need does not ask for adds nothing.
func alignment(need, free, capacity *resources.Vector) (sum float64, kinds int) {
	for k, whole := range capacity {
		if whole <= 0 {
			continue
		}
		room := float64(whole)
		sum += min(float64(need[k])/room, 1) * min(float64(free[k])/room, 1)
		kinds++
	}
	return sum, kinds
}
