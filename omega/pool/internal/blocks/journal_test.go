package blocks_test

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cellsched/cellsched/internal/journals"
	"github.com/cellsched/cellsched/omega"
	"github.com/cellsched/cellsched/resources"
)

func (l *lender) marks() (n int) {
	for range l.own.Marked() {
		n++
	}
	return n
}

// A release that waits in the journal is sent once, for a preempted allocation as for one of a
// machine that was removed.
func TestBlocks_SendTheReleaseOfAMarkOnceWhileTheJournalIsSlow(t *testing.T) {
	for name, take := range map[string]func(l *lender){
		"preempted": func(l *lender) { l.claim(8, 9) },
		"lost": func(l *lender) {
			_, err := l.cell.Remove(l.m)
			require.NoError(l.t, err)
		},
		"lost, and another machine has its place": func(l *lender) {
			_, err := l.cell.Remove(l.m)
			require.NoError(l.t, err)
			_, err = l.cell.Add(omega.Machine{Name: "next", Capacity: resources.Vector{3}})
			require.NoError(l.t, err)
		},
	} {
		t.Run(name, func(t *testing.T) {
			j := new(journals.Stalling)
			l := journaledLender(t, j)
			l.order(block(0, 2), block(1, 3))
			take(l)
			require.Equal(t, 2, l.marks())
			j.Stall(true)
			l.sync()
			for range 3 {
				require.NoError(t, l.blocks.Acknowledge(0))
				require.Empty(t, l.sync())
				require.False(t, l.blocks.At(0).Marked())
				require.Equal(t, 2, j.Len())
			}
			j.Stall(false)
			require.Zero(t, l.marks())
			require.Empty(t, l.sync())
		})
	}
}

// A release that the journal refuses is sent again, after Sync has told of its mark again.
func TestBlocks_SendARefusedReleaseOfAMarkAgain(t *testing.T) {
	j, full := new(journals.Stalling), errors.New("disk is full")
	l := journaledLender(t, j)
	l.order(block(0, 4))
	l.claim(8, 9)
	l.sync()
	j.Refuse(full, 0)
	require.ErrorIs(t, l.blocks.Acknowledge(0), full)
	require.NotEmpty(t, l.sync())
	require.True(t, l.blocks.At(0).Marked())
	j.Refuse(nil, 0)
	require.NoError(t, l.blocks.Acknowledge(0))
	require.Zero(t, l.marks())

	l = journaledLender(t, j)
	l.order(block(0, 4))
	_, err := l.cell.Remove(l.m)
	require.NoError(t, err)
	j.Refuse(full, 0)
	l.sync()
	require.Equal(t, 1, l.marks())
	j.Refuse(nil, 0)
	l.sync()
	require.Zero(t, l.marks())
}
