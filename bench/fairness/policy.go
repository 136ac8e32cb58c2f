package main

import (
	"errors"
	"fmt"
	"math"

	"github.com/cellsched/cellsched/drf/allot"
	"github.com/cellsched/cellsched/resources"
)

var (
	errUsers  = errors.New("want two")
	errDemand = errors.New("want some of each kind that there is, and of no other")
)

// policy computes how many tasks each user gets, of tasks that can be divided.
type policy struct {
	name   string
	divide func(total resources.Vector, demands []resources.Vector) ([]float64, error)
}

func policies() []policy {
	return []policy{{"DRF", dominant}, {"Asset", asset}, {"CEEI", ceei}}
}

func dominant(total resources.Vector, demands []resources.Vector) ([]float64, error) {
	takers := make([]allot.Taker, len(demands))
	for i, d := range demands {
		takers[i].Demand = d
	}
	return allot.Divide(total, takers)
}

// asset lets all users' assets grow alike until something is used up. Every user
// demands some of each kind, so no user goes on then.
func asset(total resources.Vector, demands []resources.Vector) ([]float64, error) {
	if err := checkDemands(total, demands); err != nil {
		return nil, err
	}
	tasks := make([]float64, len(demands)) // for each unit of assets
	for i, d := range demands {
		assets := 0.0
		for k, q := range total {
			if q > 0 {
				assets += float64(d[k]) / float64(q)
			}
		}
		tasks[i] = 1 / assets
	}
	level := math.Inf(1)
	for k, q := range total {
		used := 0.0
		for i, d := range demands {
			used += tasks[i] * float64(d[k])
		}
		if q > 0 {
			level = min(level, float64(q)/used)
		}
	}
	for i := range tasks {
		tasks[i] *= level
	}
	return tasks, nil
}

// ceei finds, for two users, the tasks with the largest product. For each number
// of the first user's tasks there is a largest one of the second's, a concave
// function. The logarithm of the product is concave too. The number where it
// stops to grow is found by bisection.
func ceei(total resources.Vector, demands []resources.Vector) ([]float64, error) {
	if err := checkDemands(total, demands); err != nil {
		return nil, err
	}
	if len(demands) != 2 {
		return nil, fmt.Errorf("%d users: %w", len(demands), errUsers)
	}
	a, b := demands[0], demands[1]
	// The first user's tasks are x. Kind k leaves the second (total-x*a)/b; the
	// least of these is its number, and its slope there is -a/b.
	rest := func(x float64) (y, slope float64) {
		y = math.Inf(1)
		for k, q := range total {
			if q == 0 {
				continue
			}
			if room := (float64(q) - x*float64(a[k])) / float64(b[k]); room < y {
				y, slope = room, -float64(a[k])/float64(b[k])
			}
		}
		return y, slope
	}
	low, high := 0.0, math.Inf(1)
	for k, q := range total {
		if q > 0 {
			high = min(high, float64(q)/float64(a[k]))
		}
	}
	for range 200 { // beyond the last bit of a float64
		x := low + (high-low)/2
		if y, slope := rest(x); y+x*slope > 0 { // the sign of the derivative of log(x*y)
			low = x
		} else {
			high = x
		}
	}
	y, _ := rest(low)
	return []float64{low, y}, nil
}

// checkDemands returns an error unless every user demands some of every kind that
// there is. CEEI and Asset Fairness are defined only there.
func checkDemands(total resources.Vector, demands []resources.Vector) error {
	for i, d := range demands {
		for k, q := range total {
			if q < 0 || d[k] < 0 || (q > 0) != (d[k] > 0) {
				return fmt.Errorf("user %d demands %v of %v: %w", i, d, total, errDemand)
			}
		}
	}
	return nil
}
