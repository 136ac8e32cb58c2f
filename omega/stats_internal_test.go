package omega

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// The numbers in the word that also makes a scheduler busy are carried over before they
// are full, so that none runs into its neighbour.
func TestCounts_AreCarriedOver(t *testing.T) {
	for name, word := range map[string]uint64{
		"commits":         (1<<29 - 1) * oneCommit,
		"granted claims":  (1<<31 - 1) * oneGrant,
		"both":            (1<<29-1)*oneCommit + (1<<31-1)*oneGrant,
		"many of a gang":  (1<<31-2)*oneGrant + oneCommit,
		"neither of both": oneCommit + oneGrant,
	} {
		t.Run(name, func(t *testing.T) {
			var s Scheduler
			s.counts = &counts{word: &s.word}
			s.word.Store(word)
			commits, grants := word%oneGrant/oneCommit, word/uint64(oneGrant)
			for range 5 {
				before, ok := s.occupy()
				require.True(t, ok)
				_, again := s.occupy()
				require.False(t, again)
				n := s.counts.read()
				require.Equal(t, []uint64{commits, grants}, []uint64{n.commits, n.grants})
				s.vacate(committed(before, 1<<31-1))
				commits, grants = commits+1, grants+1<<31-1
				n = s.counts.read()
				require.Equal(t, []uint64{commits, grants}, []uint64{n.commits, n.grants})
				before, ok = s.occupy()
				require.True(t, ok)
				s.vacate(before)
				require.Equal(t, n, s.counts.read())
			}
		})
	}
}
