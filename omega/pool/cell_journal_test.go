package pool_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"github.com/cellsched/cellsched/omega"
	"github.com/cellsched/cellsched/omega/pool"
)

// stalling is a journal that applies operations at once, and keeps up to 100 of them while it
// is stalled.
type stalling struct {
	mu      sync.Mutex // guards what follows
	stalled bool
	failed  error // of all later operations
	queue   []*omega.Operation
	most    int // operations that were kept at once
}

func (j *stalling) Append(op *omega.Operation) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.failed != nil {
		op.Fail(j.failed)
		return
	}
	j.queue = append(j.queue, op)
	j.flush()
}

func (j *stalling) stall(on bool) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.stalled = on
	j.flush()
}

// fail refuses the operations that are kept, and all later ones.
func (j *stalling) fail(err error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	for _, op := range j.queue {
		op.Fail(err)
	}
	j.queue, j.failed = nil, err
}

func (j *stalling) flush() {
	if j.stalled && len(j.queue) <= 100 {
		j.most = max(j.most, len(j.queue))
		return
	}
	for ; len(j.queue) > 0; j.queue = j.queue[1:] {
		j.queue[0].Apply()
	}
}

// journaled is a cell with a journal, and a pool that has a block on its machine.
func journaled(t *testing.T) (*stalling, *shared) {
	t.Helper()
	j := new(stalling)
	cell, err := omega.NewCell(omega.Config{Machines: machines(4)})
	require.NoError(t, err)
	require.NoError(t, cell.SetJournal(j))
	s := &shared{t: t, cell: cell}
	s.own, err = cell.Take(t.Context(), "service", omega.Limits{Divisible: true, Lowest: -10, Highest: 5})
	require.NoError(t, err)
	s.other, err = cell.Take(t.Context(), "other", omega.Limits{Highest: 9})
	require.NoError(t, err)
	for m := range cell.Machines() {
		s.ids = append(s.ids, m.ID)
	}
	s.pool, err = pool.New(pool.Config{Cell: cell, Scheduler: s.own, Chunk: 1})
	require.NoError(t, err)
	return j, s
}

// The committer sends the release of a preempted block once, and waits until the journal has
// it.
func TestCell_ReleasesAPreemptedBlockOnceWhileTheJournalIsSlow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		j, s := journaled(t)
		l := acquire(t, s.pool, "a", 4)
		synctest.Wait()
		_, err := s.claim(0, 9, 4)
		require.NoError(t, err)
		synctest.Wait()
		j.stall(true)
		release(t, l)
		synctest.Wait()
		j.stall(false)
		require.Equal(t, 1, j.most)
		synctest.Wait()
		for m := range s.own.Marked() {
			require.Fail(t, "not acknowledged", m)
		}
		require.NoError(t, s.pool.Close(context.Background()))
	})
}

// A pool ends once the journal of its cell has failed: requests are refused, leases end, and
// Close returns. So it does where the outcome of a commit is never known.
func TestCell_EndsThePoolOnceTheJournalHasFailed(t *testing.T) {
	failed := fmt.Errorf("%w: disk is full", omega.ErrJournal)
	for name, err := range map[string]error{"before a commit": failed, "after a commit": fmt.Errorf("%w: %w", omega.ErrOutcome, failed)} {
		for what, needs := range map[string]int64{"a small request": 1, "a large request": 4, "a release": 0} {
			t.Run(what+" "+name, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					j, s := journaled(t)
					held := acquire(t, s.pool, "a", 2)
					synctest.Wait()
					j.fail(err)
					if needs == 0 {
						release(t, held)
						synctest.Wait()
						needs = 1
					}
					_, err := s.pool.Acquire(t.Context(), "b", v(needs))
					require.ErrorIs(t, err, pool.ErrClosed)
					if what != "a release" {
						require.ErrorIs(t, context.Cause(held.Context()), pool.ErrClosed)
						release(t, held)
					}
					require.NoError(t, s.pool.Close(context.Background()))
				})
			})
		}
	}
}

// A journal that fails while it is slow ends the pool, too.
func TestCell_EndsThePoolWithTheCommitThatIsInTheJournal(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		j, s := journaled(t)
		j.stall(true)
		got := make(chan error, 1)
		go func() {
			_, err := s.pool.Acquire(context.Background(), "a", v(2))
			got <- err
		}()
		synctest.Wait()
		j.fail(errors.Join(omega.ErrOutcome, omega.ErrJournal))
		require.ErrorIs(t, <-got, pool.ErrClosed)
		require.NoError(t, s.pool.Close(context.Background()))
	})
}
