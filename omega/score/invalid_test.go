package score_test

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cellsched/cellsched/omega/score"
	"github.com/cellsched/cellsched/resources"
)

func TestWeights_InvalidAreNamed(t *testing.T) {
	shape := []score.Point{{0, 0}, {100, 10}}
	size := resources.Vector{1}
	constructors := map[string]func(score.Weights) (score.Func, error){
		"LeastAllocated": score.LeastAllocated,
		"MostAllocated":  score.MostAllocated,
		"Balanced":       score.Balanced,
		"Binpack":        score.Binpack,
		"Spread":         score.Spread,
		"RequestedToCapacity": func(w score.Weights) (score.Func, error) {
			return score.RequestedToCapacity(shape, w)
		},
		"LeastLeft": func(w score.Weights) (score.Func, error) { return score.LeastLeft(size, w) },
		"MostLeft":  func(w score.Weights) (score.Func, error) { return score.MostLeft(size, w) },
	}
	for name, construct := range constructors {
		for _, bad := range []float64{-1, math.NaN(), math.Inf(1), math.Nextafter(score.MaxWeight, math.Inf(1))} {
			f, err := construct(score.Weights{1, 0, bad})
			require.Nil(t, f)
			require.ErrorContains(t, err, "score: "+name+": Weights[2] is")
		}
		f, err := construct(score.Weights{score.MaxWeight})
		require.NotNil(t, f)
		require.NoError(t, err)
	}
}

func TestRequestedToCapacity_InvalidShapesAreNamed(t *testing.T) {
	tests := map[string]struct {
		shape []score.Point
		want  string
	}{
		"no points":                {nil, "no points"},
		"utilization below 0":      {[]score.Point{{-1, 0}}, "point 0 is {-1 0}"},
		"utilization above 100":    {[]score.Point{{0, 0}, {101, 0}}, "point 1 is {101 0}"},
		"utilization not a number": {[]score.Point{{math.NaN(), 0}}, "point 0 is {NaN 0}"},
		"score below 0":            {[]score.Point{{0, -1}}, "point 0 is {0 -1}"},
		"score above 10":           {[]score.Point{{0, 11}}, "point 0 is {0 11}"},
		"score not a number":       {[]score.Point{{0, math.NaN()}}, "point 0 is {0 NaN}"},
		"the same twice":           {[]score.Point{{5, 0}, {5, 1}}, "point 1 is at 5 after 5"},
		"falling":                  {[]score.Point{{5, 0}, {4, 1}}, "point 1 is at 4 after 5"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			f, err := score.RequestedToCapacity(tt.shape, score.Weights{})
			require.Nil(t, f)
			require.ErrorContains(t, err, tt.want)
		})
	}
}

func TestRequestedToCapacity_KeepsNoArgument(t *testing.T) {
	shape := []score.Point{{0, 0}, {100, 10}}
	f := made(t)(score.RequestedToCapacity(shape, score.Weights{}))
	shape[1].Score = 0
	require.InDelta(t, 100, f(&resources.Vector{1}, &resources.Vector{1}, &resources.Vector{1}), 0)
}

func TestFit_InvalidSizesAreNamed(t *testing.T) {
	for name, construct := range map[string]func(resources.Vector, score.Weights) (score.Func, error){
		"LeastLeft": score.LeastLeft, "MostLeft": score.MostLeft,
	} {
		f, err := construct(resources.Vector{1, -1}, score.Weights{})
		require.Nil(t, f)
		require.ErrorIs(t, err, resources.ErrQuantity)
		require.ErrorContains(t, err, "score: "+name+": size: ")

		for _, size := range []resources.Vector{{}, {0, 1}} {
			f, err = construct(size, score.Weights{1})
			require.Nil(t, f)
			require.ErrorContains(t, err, "score: "+name+": size has nothing of any kind that counts")
		}
	}
}

func TestNewFragmentation_InvalidInputIsNamed(t *testing.T) {
	gpu := []resources.Kind{1, 2}
	one := []score.Class{{Need: resources.Vector{1, 1}, Popularity: 1}}
	tests := map[string]struct {
		devices []resources.Kind
		classes []score.Class
		want    string
		wraps   error
	}{
		"no devices":              {nil, one, "no devices", nil},
		"no such kind":            {[]resources.Kind{resources.MaxKinds}, one, "devices[0] is 8", resources.ErrKind},
		"device twice":            {[]resources.Kind{1, 2, 1}, one, "devices[2] is 1", resources.ErrKind},
		"no classes":              {gpu, nil, "popularities of 0 classes add up to 0", nil},
		"invalid need":            {gpu, []score.Class{one[0], {Need: resources.Vector{-1}}}, "classes[1].Need", resources.ErrQuantity},
		"unequal devices":         {gpu, []score.Class{{Need: resources.Vector{0, 3, 4}}}, "classes[0].Need: 3 of one device and 4 of another", nil},
		"popularity below 0":      {gpu, []score.Class{one[0], {Popularity: -1}}, "classes[1].Popularity is -1", nil},
		"popularity not a number": {gpu, []score.Class{{Popularity: math.NaN()}}, "classes[0].Popularity is NaN", nil},
		"popularity infinite":     {gpu, []score.Class{{Popularity: math.Inf(1)}}, "classes[0].Popularity is +Inf", nil},
		"all unpopular":           {gpu, []score.Class{{}}, "popularities of 1 classes add up to 0", nil},
		"sum infinite":            {gpu, []score.Class{{Popularity: math.MaxFloat64}, {Popularity: math.MaxFloat64}}, "add up to +Inf", nil},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			f, err := score.NewFragmentation(tt.devices, tt.classes)
			require.Nil(t, f)
			require.ErrorContains(t, err, "score: fragmentation: ")
			require.ErrorContains(t, err, tt.want)
			if tt.wraps != nil {
				require.ErrorIs(t, err, tt.wraps)
			}
		})
	}
}
