package omega

import (
	"iter"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/cellsched/cellsched/resources"
)

// fitsAll reports whether needs fit in rooms at once, by the obvious search.
func fitsAll(needs, rooms []resources.Vector) bool {
	if len(needs) == 0 {
		return true
	}
	for i := range rooms {
		if rest, ok := rooms[i].Sub(needs[0]); ok {
			left := slices.Clone(rooms)
			left[i] = rest
			if fitsAll(needs[1:], left) {
				return true
			}
		}
	}
	return false
}

// each walks rooms as a snapshot does.
func each(rooms []resources.Vector) iter.Seq[*resources.Vector] {
	return func(yield func(*resources.Vector) bool) {
		for i := range rooms {
			if !yield(&rooms[i]) {
				return
			}
		}
	}
}

func TestDemand_IsMetWhereSomeWayToPlaceItExists(t *testing.T) {
	vector := func(least, most int64) *rapid.Generator[resources.Vector] {
		return rapid.Custom(func(t *rapid.T) resources.Vector {
			return resources.Vector{rapid.Int64Range(least, most).Draw(t, "a"), rapid.Int64Range(0, most).Draw(t, "b")}
		})
	}
	met := 0
	rapid.Check(t, func(t *rapid.T) {
		needs := rapid.SliceOfN(vector(1, 4), 1, 6).Draw(t, "needs")
		rooms := rapid.SliceOfN(vector(0, 7), 0, 4).Draw(t, "rooms")
		d := newDemand(needs)
		require.Equal(t, len(needs), d.total)
		fits := fitsAll(needs, rooms)
		require.Equal(t, fits, d.met(each(rooms)))
		if fits {
			met++
		}
		for i := range rooms {
			one := slices.ContainsFunc(needs, func(need resources.Vector) bool { return need.Fits(rooms[i]) })
			require.Equal(t, one, d.usable(&rooms[i]))
		}
	})
	require.NotZero(t, met)
}

// First fit finds no way for these, and there is one.
func TestDemand_IsMetWhereOnlyASearchFindsTheWay(t *testing.T) {
	d := newDemand([]resources.Vector{{3}, {3}, {2}, {2}, {2}})
	require.True(t, d.met(each([]resources.Vector{{6}, {6}})))
	d = newDemand([]resources.Vector{{3}, {3}, {2}})
	require.False(t, d.met(each([]resources.Vector{{4}, {4}})))
}

// Two of the needs but no three fit in a room, and there is one need too many. To find
// that out takes long.
func TestDemand_ThatIsTooHardToDecideMayBeMet(t *testing.T) {
	needs := []resources.Vector{{1}}
	for i := range int64(15) {
		needs = append(needs, resources.Vector{34 + i})
	}
	d := newDemand(needs)
	p := packing{demand: &d, rooms: slices.Repeat([]resources.Vector{{100}}, 7)}
	require.True(t, p.enough())
	require.False(t, p.firstFit())
	require.True(t, p.search())
	require.Negative(t, p.steps)
}
