package score

import (
	"errors"
	"fmt"
	"slices"

	"github.com/cellsched/cellsched/resources"
)

// Point is one corner of the shape that [RequestedToCapacity] scores by: a kind
// that is used to Utilization percent gets Score, 0 to 10.
type Point struct {
	Utilization, Score float64
}

// RequestedToCapacity scores each kind by the percentage of it that is used once the
// task is placed. The shape is straight lines between the points, level before the
// first and after the last. The score is ten times the weighted mean: 0 to 100.
//
// It fills machines up to where the shape is highest: {0, 0}, {80, 10}, {100, 5} packs,
// but would rather leave a fifth of the machine free. A kind with a score of 0 is left
// out of the mean, as it is in Kubernetes. So a kind that starts to count may lower the
// score. A machine whose kinds all score 0 has 0. Points are copied. Cost of a score:
// O(kinds · points), no allocation.
//
// Errors: no points, a utilization outside [0, 100] or not above the one
// before, a score outside [0, 10], a weight outside [0, [MaxWeight]]. It is the
// scoring strategy RequestedToCapacityRatio of Kubernetes. Unlike there,
// extended resources count even if the task asks for none of them.
func RequestedToCapacity(shape []Point, w Weights) (Func, error) {
	if err := checkShape(shape); err != nil {
		return nil, err
	}
	w, err := w.resolve("RequestedToCapacity")
	if err != nil {
		return nil, err
	}
	points := slices.Clone(shape)
	return func(need, free, capacity *resources.Vector) float64 {
		need, free, capacity = some(need), some(free), some(capacity)
		var sum, total float64
		for k, weight := range &w {
			if weight == 0 || capacity[k] <= 0 {
				continue
			}
			if s := at(points, 100*(1-left(need, free, capacity, k))); s > 0 {
				sum += weight * s
				total += weight
			}
		}
		if total == 0 {
			return 0
		}
		return 10 * sum / total
	}, nil
}

// at returns the height of the shape at a utilization in percent.
func at(points []Point, utilization float64) float64 {
	for i, p := range points {
		if utilization > p.Utilization {
			continue
		}
		if i == 0 {
			return p.Score
		}
		before := points[i-1]
		part := (utilization - before.Utilization) / (p.Utilization - before.Utilization)
		return before.Score + part*(p.Score-before.Score)
	}
	return points[len(points)-1].Score
}

func checkShape(points []Point) error {
	if len(points) == 0 {
		return errors.New("score: RequestedToCapacity: no points, want at least one")
	}
	for i, p := range points {
		if p.Utilization >= 0 && p.Utilization <= 100 && p.Score >= 0 && p.Score <= 10 { // false for NaN
			if i == 0 || p.Utilization > points[i-1].Utilization {
				continue
			}
			return fmt.Errorf("score: RequestedToCapacity: point %d is at %v after %v, want utilizations to rise",
				i, p.Utilization, points[i-1].Utilization)
		}
		return fmt.Errorf("score: RequestedToCapacity: point %d is %v, want a utilization of 0 to 100 and a score of 0 to 10", i, p)
	}
	return nil
}
