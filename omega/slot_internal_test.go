package omega

import (
	"fmt"
	"math"
	"runtime"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/cellsched/cellsched/resources"
)

func TestSlot_IsSmall(t *testing.T) {
	for kinds := 1; kinds <= resources.MaxKinds; kinds++ {
		l := layoutFor(kinds)
		most := []uint32{24, 32, 32, 40, 48, 48, 56, 64}[kinds-1]
		require.LessOrEqual(t, 8*l.size, most, "%d kinds", kinds)
	}
	require.Equal(t, layoutFor(resources.MaxKinds), layoutFor(0), "any kinds")
}

// The slots of a cell are for as many kinds as its space names. Without one, they are for
// those of the machines with which it begins, or of the first that is added.
func TestSlot_IsForTheKindsOfTheCell(t *testing.T) {
	space, err := resources.NewSpace(resources.CPU(), resources.Memory(), resources.Dimension{Name: "gpu"})
	require.NoError(t, err)
	cpu, gpu := Machine{Name: "a", Capacity: resources.Vector{8}}, Machine{Name: "b", Capacity: resources.Vector{8, 1 << 40, 2}}
	tests := map[string]struct {
		cfg   Config
		add   []Machine
		kinds int
	}{
		"its space's":                 {Config{Space: space, Machines: []Machine{cpu}}, nil, 3},
		"those of its machines":       {Config{Machines: []Machine{cpu, gpu}}, nil, 3},
		"that of the first one added": {Config{}, []Machine{cpu, gpu}, 1},
		"those of a later one":        {Config{}, []Machine{gpu, cpu}, 3},
		"any, where none has any":     {Config{}, []Machine{{Name: "c"}, gpu}, resources.MaxKinds},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			cell, err := NewCell(test.cfg)
			require.NoError(t, err)
			for _, m := range test.add {
				_, err := cell.Add(m)
				require.NoError(t, err)
			}
			require.Equal(t, layoutFor(test.kinds), cell.layout)
			s, err := cell.Register("s", Limits{})
			require.NoError(t, err)
			if b, ok := cell.Machine("b"); ok { // whatever the slots are for, any need has a place
				tx := Txn{}
				for range 2 {
					tx.Claim(Claim{Machine: b, Need: resources.Vector{4, 1 << 39, 1}})
				}
				granted, err := s.Commit(&tx)
				require.NoError(t, err)
				require.Equal(t, 2, granted)
				for a := range cell.Allocations() {
					require.Equal(t, resources.Vector{4, 1 << 39, 1}, a.Need)
				}
				a, _ := tx.Allocation(1)
				require.NoError(t, s.Release(a))
			}
			require.NoError(t, cell.Check())
		})
	}
}

// A slot returns the allocation that was put into it, in cells of few kinds and of
// many, for small and large amounts. That holds also where a slot has no room for it.
func TestSlot_SaysWhatWasPutIntoIt(t *testing.T) {
	edges := []int64{0, 0, 1, math.MaxUint32 - 1, math.MaxUint32, math.MaxUint32 + 1, 1<<33 - 1, 1<<42 - 1, 1 << 42, 1 << 48, 1 << 51, resources.MaxQuantity}
	rapid.Check(t, func(t *rapid.T) {
		cell := &Cell{layout: layoutFor(rapid.IntRange(0, resources.MaxKinds).Draw(t, "kinds of the cell")), tag: 1}
		cell.nodes.Store(1)
		cell.slots.grow(0)
		var tallies [3]tally
		cell.numbers.give(&tallies[0])
		cell.numbers.give(&tallies[1]) // the last one has no number
		at, n := cell.table(0), rapid.Uint32Range(0, 500).Draw(t, "slot")
		seq := uint64(1)
		var like likeness // as of the claims of one transaction
		var last resources.Vector
		for range rapid.IntRange(1, 6).Draw(t, "allocations of the slot") {
			want := record{
				tally:   &tallies[rapid.IntRange(0, 2).Draw(t, "tally")],
				grantee: rapid.SampledFrom([]uint64{0, 1, 1<<granteeBits - 1, 1 << granteeBits, math.MaxUint64}).Draw(t, "grantee"),
			}
			for k := range want.need {
				if rapid.Bool().Draw(t, "some") {
					want.need[k] = rapid.OneOf(rapid.SampledFrom(edges), rapid.Int64Range(0, resources.MaxQuantity)).Draw(t, "amount")
				}
			}
			if rapid.Bool().Draw(t, "needs the same as before") {
				want.need = last
			}
			last = want.need
			if rapid.IntRange(0, 9).Draw(t, "waits") == 0 {
				want.ext = &extension{after: &leaving{}}
			}
			it := item{claim: Claim{Need: want.need}, tally: want.tally, grantee: want.grantee}
			im := like.image(&it, want.ext, cell.layout.size-slotHead)
			own := at.grow(n)
			require.Zero(t, own.meta().Load())
			own.meta().Store(im.meta)
			at.fill(n, own, im)
			seq++
			own.seq().Store(seq)

			id := allocationID(0, n, cell.tag, seq)
			got, ok := cell.record(id)
			require.True(t, ok)
			require.Equal(t, want, got)
			var seen record
			number, ok := at.look(n, &seen)
			require.True(t, ok)
			require.Equal(t, want, seen)
			require.Equal(t, seq, number)
			require.True(t, cell.holds(id))
			require.True(t, at.beginRelease(id))
			require.False(t, at.beginRelease(id))
			got, ok = cell.record(id)
			require.True(t, ok, "until it is released")
			require.Equal(t, want, got)
			at.empty(n, seq)
			_, ok = cell.record(id)
			require.False(t, ok)
			_, ok = at.look(n, &seen)
			require.False(t, ok)
			require.False(t, at.beginRelease(id))
			if more := at.more.Load(); more != nil && more.far.at(n) != nil {
				require.Nil(t, more.far.at(n).Load(), "kept alive")
			}
		}
	})
}

// An allocation needs a record on the heap only where its slot has no room for its need.
func TestSlot_HasNoRecordBesidesWhereItHasRoom(t *testing.T) {
	var tl tally
	new(numbers).give(&tl)
	far := func(kinds int, need resources.Vector, grantee uint64) bool {
		var im image
		im.pack(&need, &tl, grantee, nil, layoutFor(kinds).size-slotHead)
		return im.meta&metaFar != 0
	}
	for kinds := 1; kinds <= resources.MaxKinds; kinds++ {
		var small, large resources.Vector
		for k := range kinds {
			small[k], large[k] = math.MaxUint32, resources.MaxQuantity
			if kinds > 2 {
				large[k] = 1<<42 - 1
			}
		}
		require.False(t, far(kinds, small, 1<<granteeBits-1), "%d kinds", kinds)
		require.False(t, far(kinds, large, 0), "%d kinds", kinds)
		require.True(t, far(kinds, large, 1<<granteeBits), "%d kinds", kinds)
		if kinds > 2 {
			larger := large
			larger[kinds-1] = 1 << 52
			require.True(t, far(kinds, larger, 0), "%d kinds, and too much of one", kinds)
		}
		if kinds < resources.MaxKinds {
			large[0], large[kinds] = resources.MaxQuantity, 1
			require.True(t, far(kinds, large, 0), "one kind more than %d", kinds)
		}
	}
}

// A place in the list of tallies is given out again, the number is not.
func TestNumbers_AreUsedOnce(t *testing.T) {
	var n numbers
	seen := map[uint32]bool{0: true}
	for range 3 * numberUses {
		var tl tally
		n.give(&tl)
		require.False(t, seen[tl.number])
		seen[tl.number] = true
		require.Same(t, &tl, n.tally(tl.number))
		n.take(&tl)
		require.Nil(t, n.tally(tl.number))
	}
	require.EqualValues(t, 3, n.used)
	n.used = maxIndex
	for len(n.spare) > 0 {
		n.give(&tally{})
	}
	var none tally
	n.give(&none)
	require.Zero(t, none.number)
	n.take(&none)
	require.Empty(t, n.spare)
	require.Nil(t, n.tally(0))
}

// The tally of a scheduler that has left is kept nowhere; its place serves another
// scheduler's. A slot that a delayed commit of the first one has taken, and that will
// never be live, is not the other scheduler's.
func TestLeave_FreesTheNumbersOfItsTallies(t *testing.T) {
	cell, err := NewCell(Config{Machines: []Machine{{Name: "a", Capacity: resources.Vector{10}}}})
	require.NoError(t, err)
	for i := range 5 {
		s, err := cell.Register(fmt.Sprint("s", i), Limits{})
		require.NoError(t, err)
		var tx Txn
		tx.Claim(Claim{Machine: cell.machine(0, 0), Need: resources.Vector{1}})
		_, err = s.Commit(&tx)
		require.NoError(t, err)
		id, ok := tx.Allocation(0)
		require.True(t, ok)
		require.ErrorIs(t, s.Leave(), ErrHolding)
		require.NoError(t, s.Release(id))
		require.NoError(t, s.Leave())
		// A predecessor that was delayed for long, as it has taken a slot.
		delayed := &item{claim: Claim{Need: resources.Vector{1}}, tally: s.last}
		live := load(cell.words.at(0)).live
		require.True(t, s.place(new(Txn), delayed, nil, &live, cell.table(0), 1000))
	}
	require.EqualValues(t, 1, cell.numbers.used)
	require.Len(t, cell.numbers.spare, 1)
	require.NoError(t, cell.Check())
}

// The memory of a live allocation, its ID included, where all slots that there are are
// taken: no more in cells with few kinds than those need, whatever the amounts.
func TestAllocation_TakesLittleMemory(t *testing.T) {
	for kinds, most := range map[int]float64{1: 48, 2: 56, 3: 56, 4: 64, 8: 88} {
		dims := make([]resources.Dimension, kinds)
		var need resources.Vector
		for k := range dims {
			dims[k].Name = fmt.Sprint("k", k)
		}
		space, err := resources.NewSpace(dims...)
		require.NoError(t, err)
		cell, err := NewCell(Config{Space: space, Machines: []Machine{{Name: "a", Capacity: resources.Uniform(resources.MaxQuantity)}}})
		require.NoError(t, err)
		s, err := cell.Register("s", Limits{})
		require.NoError(t, err)
		var tx Txn
		claim := func(i int) {
			for k := range dims {
				need[k] = 1<<40 + int64(i)
			}
			tx.Reset()
			tx.Claim(Claim{Machine: cell.machine(0, 0), Need: need})
			granted, err := s.Commit(&tx)
			require.NoError(t, err)
			require.Equal(t, 1, granted)
		}
		claim(0)
		all := int(cell.layout.third + 8*cell.layout.block)
		before := heap()
		for i := 1; i < all; i++ {
			claim(i)
		}
		took := float64(heap()-before)/float64(all) + float64(unsafe.Sizeof(AllocationID{}))
		require.LessOrEqual(t, took, most, "%d kinds", kinds)
		runtime.KeepAlive(cell)
	}
}

// heap returns the bytes of the heap that are in use.
func heap() int64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}
