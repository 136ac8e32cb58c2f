package pool_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/cellsched/cellsched/internal/journals"
	"github.com/cellsched/cellsched/omega"
	"github.com/cellsched/cellsched/omega/pool"
)

// fail has a journal refuse the operations that it keeps, and all later ones.
func fail(j *journals.Stalling, err error) {
	for j.Refuse(err, 0); j.Fail(err); {
		continue
	}
}

// journaled is a cell with a journal, and a pool that has a block on its machine.
func journaled(t *testing.T) (*journals.Stalling, *shared) {
	t.Helper()
	j := new(journals.Stalling)
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
		j.Stall(true)
		release(t, l)
		synctest.Wait()
		j.Stall(false)
		require.Equal(t, 1, j.Most())
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
					fail(j, err)
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
		j.Stall(true)
		got := make(chan error, 1)
		go func() {
			_, err := s.pool.Acquire(context.Background(), "a", v(2))
			got <- err
		}()
		synctest.Wait()
		fail(j, errors.Join(omega.ErrOutcome, omega.ErrJournal))
		require.ErrorIs(t, <-got, pool.ErrClosed)
		require.NoError(t, s.pool.Close(context.Background()))
	})
}

// A tenant is charged to an account of its own even if the journal has refused the account, or
// another operation, for a while.
func TestCell_NamesATenantAfterTheJournalHasRefusedItsAccount(t *testing.T) {
	for passes := range 4 {
		synctest.Test(t, func(t *testing.T) {
			j, s := journaled(t)
			j.RefuseOne(errors.New("disk is full"), passes)
			l, err := s.pool.Acquire(t.Context(), "a", v(2))
			require.NoError(t, err)
			time.Sleep(time.Minute)
			synctest.Wait()
			account, err := s.cell.Account(t.Context(), "a")
			require.NoError(t, err)
			held, err := s.cell.Usage(account)
			require.NoError(t, err)
			require.Equal(t, v(2), held, "%d operations pass", passes)
			release(t, l)
			require.NoError(t, s.pool.Close(context.Background()))
		})
	}
}
