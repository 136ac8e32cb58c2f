package main

import "slices"

// result is the cost of one run.
type result struct {
	wall, cpu    float64 // seconds
	conflicts    float64
	bytesPerTask float64
}

// The figures of a result, for which rows are compared.
func wall(r result) float64         { return r.wall }
func cpu(r result) float64          { return r.cpu }
func conflicts(r result) float64    { return r.conflicts }
func bytesPerTask(r result) float64 { return r.bytesPerTask }

func (r *row) each(figure func(result) float64) (values []float64) {
	for _, got := range r.results {
		values = append(values, figure(got))
	}
	return values
}

func (r *row) median(figure func(result) float64) float64 { return median(r.each(figure)) }

// worst returns how many times its median the largest value is.
func (r *row) worst(figure func(result) float64) float64 {
	return slices.Max(r.each(figure)) / r.median(figure)
}

// ratio returns the median of a / b, of runs that came soon after each other. Where
// one has twice as many runs, every second counts.
func ratio(a, b *row, figure func(result) float64) float64 {
	x, y := a.each(figure), b.each(figure)
	runs := min(len(x), len(y))
	ratios := make([]float64, runs)
	for i := range ratios {
		ratios[i] = x[(i+1)*len(x)/runs-1] / y[(i+1)*len(y)/runs-1]
	}
	return median(ratios)
}

func median(values []float64) float64 {
	v := slices.Sorted(slices.Values(values))
	n := len(v)
	return (v[(n-1)/2] + v[n/2]) / 2
}
