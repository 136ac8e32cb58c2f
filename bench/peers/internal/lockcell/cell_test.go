package lockcell_test

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/cellsched/cellsched/bench/peers/internal/lockcell"
)

func machines(n int, capacity lockcell.Vector) []lockcell.Vector {
	return slices.Repeat([]lockcell.Vector{capacity}, n)
}

func TestClaim_GoesOnWhereTheLastSearchEnded(t *testing.T) {
	c := lockcell.New(machines(3, lockcell.Vector{CPU: 2}), lockcell.Chunks)
	one := lockcell.Vector{CPU: 1}
	first, ok := c.Claim(one)
	require.True(t, ok)
	for range 2 {
		_, ok = c.Claim(one)
		require.True(t, ok)
	}
	require.Equal(t, []int64{0, 1, 2}, []int64{c.Free(0).CPU, c.Free(1).CPU, c.Free(2).CPU})

	require.NoError(t, c.Release(first))
	_, ok = c.Claim(one)
	require.True(t, ok)
	require.Equal(t, int64(1), c.Free(0).CPU, "machine 0 is behind the cursor")

	_, ok = c.ClaimFirst(one)
	require.True(t, ok)
	require.Zero(t, c.Free(0).CPU, "first fit takes the first machine with room")
}

func TestRelease_RefusesAHandleTwice(t *testing.T) {
	for _, growth := range []lockcell.Growth{lockcell.Chunks, lockcell.Append} {
		c := lockcell.New(machines(1, lockcell.Vector{CPU: 1}), growth)
		require.ErrorIs(t, c.Release(lockcell.Handle{}), lockcell.ErrReleased)
		old, ok := c.Claim(lockcell.Vector{CPU: 1})
		require.True(t, ok)
		require.NoError(t, c.Release(old))
		require.ErrorIs(t, c.Release(old), lockcell.ErrReleased)

		_, ok = c.Claim(lockcell.Vector{CPU: 1}) // takes the same place in the slab
		require.True(t, ok)
		require.ErrorIs(t, c.Release(old), lockcell.ErrReleased)
	}
}

func TestRelease_MakesPlacesInTheSlabGoodAgain(t *testing.T) {
	c := lockcell.New(machines(1, lockcell.Vector{CPU: 2}), lockcell.Chunks)
	allocs := testing.AllocsPerRun(1, func() {
		for range 10_000 { // twice the size of a chunk
			first, _ := c.Claim(lockcell.Vector{CPU: 1})
			second, _ := c.Claim(lockcell.Vector{CPU: 1})
			require.NoError(t, c.Release(first))
			require.NoError(t, c.Release(second))
		}
	})
	require.Zero(t, allocs)
}

func TestClaimGang_TakesAllOnDifferentMachinesOrNothing(t *testing.T) {
	c := lockcell.New(machines(3, lockcell.Vector{CPU: 2}), lockcell.Chunks)
	_, ok := c.ClaimGang(nil, lockcell.Vector{CPU: 1}, 4)
	require.False(t, ok)
	require.Equal(t, int64(2), c.Free(0).CPU)

	handles, ok := c.ClaimGang(nil, lockcell.Vector{CPU: 1}, 3)
	require.True(t, ok)
	require.Len(t, handles, 3)
	for m := range 3 {
		require.Equal(t, int64(1), c.Free(m).CPU)
	}
}

func TestClaimJob_TakesFittingTasks(t *testing.T) {
	c := lockcell.New(machines(3, lockcell.Vector{CPU: 2}), lockcell.Chunks)
	require.Len(t, c.ClaimJob(nil, lockcell.Vector{CPU: 1}, 4), 4)
	require.Len(t, c.ClaimJob(nil, lockcell.Vector{CPU: 1}, 4), 2)
}

// Another caller takes the room that was found while it is thought about.
func TestClaimChecked_LooksAgain(t *testing.T) {
	c := lockcell.New(machines(2, lockcell.Vector{CPU: 1}), lockcell.Chunks)
	one := lockcell.Vector{CPU: 1}
	thoughts := 0
	_, conflicts, ok := c.ClaimChecked(one, func() {
		if thoughts++; thoughts == 1 {
			_, taken := c.Claim(one)
			require.True(t, taken)
		}
	})
	require.True(t, ok)
	require.Equal(t, 1, conflicts)
	require.Zero(t, c.Free(1).CPU)
}

// After any calls, free and claimed add up to the capacity, and every handle
// is good for one release.
func TestCell_Conserves(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		const n, capacity = 4, 10
		growth := rapid.SampledFrom([]lockcell.Growth{lockcell.Chunks, lockcell.Append}).Draw(t, "growth")
		c := lockcell.New(machines(n, lockcell.Vector{CPU: capacity}), growth)
		type claim struct {
			handle lockcell.Handle
			cpu    int64
		}
		var live []claim
		claimed := func(cpu int64, handles ...lockcell.Handle) {
			for _, h := range handles {
				live = append(live, claim{h, cpu})
			}
		}
		cpu := rapid.Int64Range(1, capacity)
		t.Repeat(map[string]func(*rapid.T){
			"claim": func(t *rapid.T) {
				q := cpu.Draw(t, "cpu")
				if h, ok := c.Claim(lockcell.Vector{CPU: q}); ok {
					claimed(q, h)
				}
			},
			"job": func(t *rapid.T) {
				q := cpu.Draw(t, "cpu")
				claimed(q, c.ClaimJob(nil, lockcell.Vector{CPU: q}, rapid.IntRange(1, 6).Draw(t, "tasks"))...)
			},
			"gang": func(t *rapid.T) {
				q := cpu.Draw(t, "cpu")
				handles, _ := c.ClaimGang(nil, lockcell.Vector{CPU: q}, rapid.IntRange(1, n+1).Draw(t, "width"))
				claimed(q, handles...)
			},
			"release": func(t *rapid.T) {
				if len(live) == 0 {
					return
				}
				i := rapid.IntRange(0, len(live)-1).Draw(t, "claim")
				require.NoError(t, c.Release(live[i].handle))
				require.ErrorIs(t, c.Release(live[i].handle), lockcell.ErrReleased)
				live = slices.Delete(live, i, i+1)
			},
			"": func(t *rapid.T) {
				var sum int64
				for m := range n {
					free := c.Free(m).CPU
					require.GreaterOrEqual(t, free, int64(0))
					sum += free
				}
				for _, cl := range live {
					sum += cl.cpu
				}
				require.Equal(t, int64(n*capacity), sum)
			},
		})
	})
}
