package locality

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// Two readers found the same stamp. The later one, with bits read before or after
// the other, leaves the kept bits alone. While one is stalled within keep, no bits
// are kept.
func TestMemo_IsWrittenByOneReaderAtATime(t *testing.T) {
	var m memo
	m.pages[2].Store(new(memoPage))
	pg, old := m.look(2, 8)
	require.NotNil(t, pg)
	bits := func() (words [lineWords]uint64) {
		pg.bits.load(8, words[:])
		return words
	}

	six, four := [lineWords]uint64{6, 7: 66}, [lineWords]uint64{4, 7: 44}
	pg.keep(8, old, 6, six[:])
	pg.keep(8, old, 4, four[:])
	_, stamp := m.look(2, 15)
	require.EqualValues(t, 6, stamp)
	require.Equal(t, six, bits())
	_, stamp = m.look(2, 16)
	require.Zero(t, stamp, "the next line")

	pg.stamps[1].Store(busy)
	pg.keep(8, busy, 8, four[:])
	require.Equal(t, busy, pg.stamps[1].Load())
	require.Equal(t, six, bits())

	pg, stamp = m.look(3, 8)
	require.Nil(t, pg)
	require.Equal(t, busy, stamp)
	pg, _ = (*memo)(nil).look(2, 8)
	require.Nil(t, pg)
}

// A set that is no longer cached costs nothing. A cached one has room for the
// machines of the last call, and for their bits.
func TestCache_HasMemosForTheSetsItCaches(t *testing.T) {
	var a Attributes
	var both []Constraint
	for i := range 2 {
		c, err := a.Register(Greater("x", int64(i)))
		require.NoError(t, err)
		both = append(both, c)
	}
	describe := func(n Node) {
		require.NoError(t, a.Describe(n, map[string]Value{"x": Number(9)}))
	}
	describe(1)
	set, err := a.Require(both...)
	require.NoError(t, err)
	require.Nil(t, set.memo.Load())
	require.Equal(t, 1, a.Cache(1))
	m := set.memo.Load()
	require.NotNil(t, m.pages[0].Load())
	require.Nil(t, m.pages[1].Load())
	require.Equal(t, 1, set.Count())
	pg, stamp := m.look(0, 0)
	require.EqualValues(t, 2, pg.bits[0].Load())
	require.Equal(t, a.frames[0].Load().seq[0].Load(), stamp)

	describe(pageNodes)
	_, err = a.Require(both...)
	require.NoError(t, err)
	require.Equal(t, 1, a.Cache(1))
	require.Same(t, m, set.memo.Load(), "kept bits are not lost")
	require.NotNil(t, m.pages[1].Load())
	require.Equal(t, 2, set.Count())

	require.Zero(t, a.Cache(0))
	require.Nil(t, set.memo.Load())
	require.Equal(t, 2, set.Count())
}
