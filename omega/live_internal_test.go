package omega

import (
	"context"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/cellsched/cellsched/resources"
)

// A live set is a set, and an immutable one: toggling a slot in one copy
// leaves the others as they are.
func TestLive_IsAnImmutableSet(t *testing.T) {
	const slots = firstLive + lowSlots + 3*chunkSlots
	rapid.Check(t, func(t *rapid.T) {
		var l live
		model := map[uint32]bool{}
		var before live
		var then []uint32
		t.Repeat(map[string]func(*rapid.T){
			"toggle": func(t *rapid.T) {
				slot := rapid.Uint32Range(0, slots-1).Draw(t, "slot")
				l.toggle(slot)
				if model[slot] = !model[slot]; !model[slot] {
					delete(model, slot)
				}
			},
			"fill": func(t *rapid.T) {
				n := rapid.IntRange(0, 1500).Draw(t, "n")
				for ; n > 0 && l.free(0) < slots; n-- {
					slot := l.free(0)
					l.toggle(slot)
					model[slot] = true
				}
			},
			"keep a copy": func(*rapid.T) {
				before.follow(&l)
				then = slices.Collect(l.all())
			},
			"": func(t *rapid.T) {
				all := slices.Collect(l.all())
				require.Len(t, all, len(model))
				require.Equal(t, len(model), l.count())
				require.True(t, slices.IsSorted(all))
				var restored live
				restored.add(all)
				require.Equal(t, all, slices.Collect(restored.all()))
				for _, slot := range all {
					require.True(t, model[slot])
					require.True(t, l.has(slot))
				}
				from := rapid.Uint32Range(0, slots+2000).Draw(t, "from")
				for _, from := range []uint32{0, from} {
					lowest := from
					for model[lowest] {
						lowest++
					}
					require.Equal(t, lowest, l.free(from))
				}
				require.Equal(t, then, slices.Collect(before.all()))
			},
		})
	})
}

func TestSegments_GrowInPlace(t *testing.T) {
	var s segments[uint32]
	for _, i := range []uint32{0, 15, 16, 31, 32, 47, 48, 1000, maxIndex - 1} {
		require.Nil(t, (&segments[uint32]{}).at(i))
		*s.grow(i) = i + 1
		require.Equal(t, i+1, *s.at(i))
	}
	require.EqualValues(t, 1, *s.at(0), "growing moves nothing")
	require.Nil(t, s.at(maxIndex), "beyond the last index")

	last, n := -1, 0
	for i, at := range s.each() {
		require.Greater(t, int(i), last, "they come by index")
		require.Same(t, s.at(i), at)
		last, n = int(i), n+1
	}
	require.Equal(t, maxIndex-1, last)
	require.GreaterOrEqual(t, n, 64+512, "all of a segment")
}

// Slots are found in every part, whatever the kinds of the cell, and do not move.
func TestSlots_GrowInPlace(t *testing.T) {
	for kinds := range resources.MaxKinds + 1 {
		cell := &Cell{layout: layoutFor(kinds)}
		l := cell.layout
		of := func() table { return table{new(slots), cell} }
		ends := []uint32{0, l.first - 1, l.first, l.second - 1, l.second, l.third - 1, l.third, l.third + l.block - 1, l.third + l.block, 1000, maxAllocations - 1}
		all := of()
		for i, n := range ends {
			require.Nil(t, of().at(n))
			at := all.grow(n)
			require.Len(t, at, int(l.size))
			for w := range at {
				at[w].Store(uint64(n)<<8 + uint64(w) + 1)
			}
			require.Same(t, &at[0], &all.at(n)[0], "slot %d, grown as number %d", n, i)
		}
		for _, n := range ends {
			for w := range all.at(n) {
				require.Equal(t, uint64(n)<<8+uint64(w)+1, all.at(n)[w].Load(), "%d kinds: slot %d is its own, and has not moved", kinds, n)
			}
		}
		walked := 0
		for n, at := range all.all() {
			require.Same(t, &at[0], &all.at(n)[0])
			walked++
		}
		require.Greater(t, walked, int(l.third)+2*int(l.block))
	}
}

// Goroutines that create a segment at the same time get the same one.
func TestSegments_GrowOnceForAll(t *testing.T) {
	for range 300 {
		var s segments[uint32]
		var got [4]*uint32
		var begin, end sync.WaitGroup
		begin.Add(1)
		for i := range got {
			end.Go(func() {
				begin.Wait()
				got[i] = s.grow(1 << 14)
			})
		}
		begin.Done()
		end.Wait()
		for _, one := range got {
			require.Same(t, s.at(1<<14), one)
		}
	}
}

// Each Wait removes its watcher of marks when it ends, in whatever way it ends.
func TestWait_LeavesNoWatcher(t *testing.T) {
	cell, err := NewCell(Config{Machines: []Machine{{Name: "a", Capacity: resources.Vector{1}}}})
	require.NoError(t, err)
	s, err := cell.Register("s", Limits{})
	require.NoError(t, err)
	require.NoError(t, s.Wait(t.Context(), resources.Vector{1}))
	require.ErrorIs(t, s.Wait(t.Context(), resources.Vector{2}), ErrNeverFits)
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		require.ErrorIs(t, s.Wait(ctx, resources.Vector{1}), context.DeadlineExceeded)
		require.ErrorIs(t, s.WaitMark(ctx), context.DeadlineExceeded)
	})
	require.Zero(t, s.owner.watchers.count.Load())
	require.Empty(t, s.owner.watchers.list)
	require.Zero(t, cell.waiters.count.Load())
	require.Empty(t, cell.waiters.line)
}
