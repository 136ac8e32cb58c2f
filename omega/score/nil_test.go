package score_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cellsched/cellsched/omega/score"
	"github.com/cellsched/cellsched/resources"
)

func TestNil_FragmentationOfNothing(t *testing.T) {
	var f *score.Fragmentation
	v := resources.Vector{1}
	require.Zero(t, f.Amount(&v))
	require.Zero(t, f.FGD(&v, &v, &v))
}

// funcs are all scores of the package, by name.
func funcs(t *testing.T) map[string]score.Func {
	t.Helper()
	made := func(f score.Func, err error) score.Func {
		t.Helper()
		require.NoError(t, err)
		return f
	}
	var w score.Weights
	f, err := score.NewFragmentation([]resources.Kind{1}, []score.Class{{Need: resources.Vector{1, 500}, Popularity: 1}})
	require.NoError(t, err)
	return map[string]score.Func{
		"DotProduct": score.DotProduct, "Tetris": score.Tetris, "Balanced": made(score.Balanced(w)),
		"LeastLeft": made(score.LeastLeft(resources.Vector{4, 4}, w)), "MostLeft": made(score.MostLeft(resources.Vector{4, 4}, w)),
		"Binpack": made(score.Binpack(w)), "Spread": made(score.Spread(w)), "LeastAllocated": made(score.LeastAllocated(w)),
		"MostAllocated": made(score.MostAllocated(w)), "FGD": f.FGD, "FGD of none": (*score.Fragmentation)(nil).FGD,
		"RequestedToCapacity": made(score.RequestedToCapacity([]score.Point{{0, 0}, {100, 10}}, w)),
		"Amount":              func(_, free, _ *resources.Vector) float64 { return f.Amount(free) },
	}
}

// A vector that is nil counts as one of nothing, in each place.
func TestNil_VectorsCountAsNothing(t *testing.T) {
	for name, f := range funcs(t) {
		for nils := range 8 {
			vectors := [3]*resources.Vector{{1, 500}, {2, 700}, {4, 1000}}
			zeros := vectors
			for i := range vectors {
				if nils>>i&1 != 0 {
					vectors[i], zeros[i] = nil, new(resources.Vector)
				}
			}
			require.NotPanics(t, func() {
				require.Equal(t, f(zeros[0], zeros[1], zeros[2]), f(vectors[0], vectors[1], vectors[2]), "%s %03b", name, nils)
			}, "%s %03b", name, nils)
		}
	}
}

func TestErrors_NameThePackageOnce(t *testing.T) {
	_, size := score.LeastLeft(resources.Vector{-1}, score.Weights{})
	_, device := score.NewFragmentation([]resources.Kind{9}, nil)
	_, class := score.NewFragmentation([]resources.Kind{0}, []score.Class{{Need: resources.Vector{-1}, Popularity: 1}})
	require.EqualError(t, size, "score: LeastLeft: size: invalid quantity: kind0=-1, want 0 to 2^62")
	require.EqualError(t, device, "score: fragmentation: devices[0] is 9, want distinct kinds below 8: invalid kind")
	require.EqualError(t, class, "score: fragmentation: classes[0].Need: invalid quantity: kind0=-1, want 0 to 2^62")
	for _, err := range []error{size, class} {
		require.ErrorIs(t, err, resources.ErrQuantity)
	}
	require.ErrorIs(t, device, resources.ErrKind)
}
