package score

import (
	"errors"

	"github.com/cellsched/cellsched/internal/fault"
	"github.com/cellsched/cellsched/resources"
)

// LeastLeft is high where little stays free: 1 less the weighted mean over kinds of
// the rest, as a fraction of size. A kind that is zero in size does not count.
//
// size is one for all machines, usually the largest one's capacity; then the score is 0
// to 1. So, unlike with [MostAllocated], half of a small machine is less room to waste
// than half of a large one. A machine without a GPU wastes none. Cost of a score:
// O(kinds) without a division, no allocation. It is the baseline of Weng et al., USENIX
// ATC 2023, which has 128 CPUs and 8 GPUs for size.
//
// Errors: a size that wraps [resources.ErrQuantity] if it is invalid, or that
// has nothing of any kind that counts; a weight outside [0, [MaxWeight]].
func LeastLeft(size resources.Vector, w Weights) (Func, error) {
	s, err := newSlack("LeastLeft", size, w)
	if err != nil {
		return nil, err
	}
	return func(need, free, _ *resources.Vector) float64 {
		need, free = some(need), some(free)
		return 1 - s.of(need, free)
	}, nil
}

// MostLeft is high where much stays free: the weighted mean over kinds of the rest,
// as a fraction of size; 1 - [LeastLeft]. Size, cost and errors are those of
// LeastLeft.
func MostLeft(size resources.Vector, w Weights) (Func, error) {
	s, err := newSlack("MostLeft", size, w)
	if err != nil {
		return nil, err
	}
	return func(need, free, _ *resources.Vector) float64 {
		need, free = some(need), some(free)
		return s.of(need, free)
	}, nil
}

// slack has for each kind the weight of one base unit that is left.
type slack [resources.MaxKinds]float64

func newSlack(score string, size resources.Vector, w Weights) (slack, error) {
	if err := size.Check(); err != nil {
		return slack{}, fault.Newf("score", err, "%s: size", score)
	}
	w, err := w.resolve(score)
	if err != nil {
		return slack{}, err
	}
	var total float64
	for k, whole := range size {
		if whole > 0 {
			total += w[k]
		}
	}
	if total == 0 {
		return slack{}, errors.New("score: " + score + ": size has nothing of any kind that counts")
	}
	var s slack
	for k, whole := range size {
		if whole > 0 {
			s[k] = w[k] / total / float64(whole)
		}
	}
	return s, nil
}

func (s *slack) of(need, free *resources.Vector) float64 {
	var sum float64
	for k, unit := range s {
		sum += unit * float64(free[k]-need[k])
	}
	return sum
}
