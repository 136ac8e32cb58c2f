package locality

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// Two readers found the same stamp. The one that comes later, with what it read
// before or after the other, leaves what is kept alone; and while one is stalled
// within keep, nothing is kept.
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
