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

func TestErrors_NameThePackageOnce(t *testing.T) {
	_, size := score.BestFit(resources.Vector{-1}, score.Weights{})
	_, device := score.NewFragmentation([]resources.Kind{9}, nil)
	_, class := score.NewFragmentation([]resources.Kind{0}, []score.Class{{Need: resources.Vector{-1}, Popularity: 1}})
	require.EqualError(t, size, "score: BestFit: size: invalid quantity: kind 0 is -1, want 0 to 2^62")
	require.EqualError(t, device, "score: fragmentation: device of kind 9, want different ones below 8: invalid kind")
	require.EqualError(t, class, "score: fragmentation: need of class 0: invalid quantity: kind 0 is -1, want 0 to 2^62")
	for _, err := range []error{size, class} {
		require.ErrorIs(t, err, resources.ErrQuantity)
	}
	require.ErrorIs(t, device, resources.ErrKind)
}
