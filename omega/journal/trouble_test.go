package journal_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"math/rand/v2"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/cellsched/cellsched/omega"
	"github.com/cellsched/cellsched/omega/journal"
	"github.com/cellsched/cellsched/omega/journal/journaltest"
	"github.com/cellsched/cellsched/resources"
)

// gated is a store in which appends wait for leave, and then may fail.
type gated struct {
	journal.Store
	leave chan error
}

func (g *gated) Append(ctx context.Context, entry []byte) error {
	select {
	case err := <-g.leave:
		if err != nil {
			return err
		}
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	return g.Store.Append(ctx, entry)
}

func newGated() *gated {
	g := &gated{journaltest.NewSim(journaltest.Faults{}, rand.New(rand.NewPCG(1, 1))).Client(), make(chan error, 8)}
	g.leave <- nil // the begin of the session
	return g
}

// While the store is slow commits wait, snapshots stay readable, and Lag grows. A commit
// with a context that ends is in doubt, and has its outcome later.
func TestCell_WaitsForASlowStore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := newGated()
		cell := open(t, store, first(1))
		store.leave <- nil
		s, err := cell.Take(t.Context(), "s", omega.Limits{})
		require.NoError(t, err)
		require.Zero(t, cell.Lag())
		m, _ := cell.Machine("m0")
		var tx omega.Txn
		tx.Claim(omega.Claim{Machine: m, Need: resources.Vector{7}})
		ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second)
		defer cancel()
		_, err = s.CommitContext(ctx, &tx)
		require.ErrorIs(t, err, omega.ErrOutcome)
		require.ErrorIs(t, err, context.DeadlineExceeded)
		require.Equal(t, 3*time.Second, cell.Lag())
		s.Snapshot().Refresh(time.Time{})
		free, _ := s.Snapshot().Free(m)
		require.Equal(t, resources.Vector{40}, free)
		store.leave <- nil
		granted, err := s.CommitContext(t.Context(), &tx)
		require.NoError(t, err)
		require.Equal(t, 1, granted)
		require.Zero(t, cell.Lag())
		store.leave <- nil // the end of the session
		require.NoError(t, cell.Close(t.Context()))
	})
}

// After a store has failed, the change in flight is in doubt, and every later one is refused.
func TestCell_RefusesChangesAfterTheStoreHasFailed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := newGated()
		cell := open(t, store, first(1))
		m, _ := cell.Machine("m0")
		broken := errors.New("sync failed")
		store.leave <- errors.Join(journal.ErrFailed, broken)
		err := cell.Drain(m)
		require.ErrorIs(t, err, omega.ErrOutcome)
		require.ErrorIs(t, err, broken)
		require.ErrorIs(t, err, omega.ErrJournal)
		err = cell.Drain(m)
		require.ErrorIs(t, err, journal.ErrFailed)
		require.ErrorIs(t, err, omega.ErrJournal)
		require.NotErrorIs(t, err, omega.ErrOutcome)
		require.ErrorIs(t, cell.Sync(t.Context()), journal.ErrFailed)
		require.ErrorIs(t, cell.Err(), broken)
		require.ErrorIs(t, cell.Close(t.Context()), broken)
	})
}

// A store that finds a fork as it appends ends the journal: the entry is not sent again.
func TestCell_EndsWhereAnAppendFindsAFork(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := newGated()
		cell := open(t, store, first(1))
		m, _ := cell.Machine("m0")
		store.leave <- journal.ErrForked
		store.leave <- nil
		err := cell.Drain(m)
		require.ErrorIs(t, err, omega.ErrOutcome)
		require.ErrorIs(t, err, journal.ErrForked)
		require.ErrorIs(t, cell.Err(), journal.ErrFailed)
		require.ErrorIs(t, cell.Close(t.Context()), journal.ErrForked)
		require.Len(t, store.leave, 1)
	})
}

// A store that lacks entries behind its last checkpoint is refused: it is not read for ever.
func TestOpen_EndsWhereEntriesAreTrimmedForGood(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		sim := newSim(1)
		cell := open(t, sim.Client(), first(1))
		require.NoError(t, cell.Checkpoint(t.Context()))
		_, r, err := sim.Client().Checkpoint(t.Context())
		require.NoError(t, err)
		old, err := io.ReadAll(r)
		require.NoError(t, err)
		at, _ := cell.Saved()
		m, _ := cell.Machine("m0")
		require.NoError(t, cell.Drain(m))
		require.NoError(t, cell.Checkpoint(t.Context()))
		require.NoError(t, cell.Close(t.Context()))
		store := &stale{sim.Client(), at, old, 9}
		_, err = journal.Open(t.Context(), store, first(1))
		require.ErrorIs(t, err, journal.ErrTrimmed)
		require.GreaterOrEqual(t, store.times, 5)
	})
}

// An entry of more than one operation holds 256 KiB at most.
func TestCell_SendsALargeOperationInTheNextEntry(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		sim := newSim(1)
		store := &gated{sim.Client(), make(chan error, 8)}
		store.leave <- nil
		cell := open(t, store, first(1))
		large := make(map[string]string)
		for i := range 1000 {
			large[fmt.Sprint("key", i)] = strings.Repeat("v", 90)
		}
		var adding sync.WaitGroup
		for i := range 6 { // the first one waits in the store, the others in the queue
			adding.Go(func() {
				if _, err := cell.Add(omega.Machine{Name: fmt.Sprint("large", i), Capacity: resources.Vector{1}, Attributes: large}); err != nil {
					t.Error(err)
				}
			})
			synctest.Wait()
		}
		for range 5 {
			store.leave <- nil
		}
		adding.Wait()
		var sizes []int
		for _, e := range sim.Entries()[1:] {
			sizes = append(sizes, len(parse(t, e.Data).body))
			require.LessOrEqual(t, sizes[len(sizes)-1], 256<<10)
		}
		require.Len(t, sizes, 4, "1, 2, 2 and 1 of the operations: %v", sizes)
		require.NoError(t, cell.Close(t.Context()))
	})
}

// After Close a change is refused for good.
func TestCell_RefusesChangesAfterClose(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cell := open(t, newSim(1).Client(), first(1))
		require.NoError(t, cell.Close(t.Context()))
		m, _ := cell.Machine("m0")
		err := cell.Drain(m)
		require.ErrorIs(t, err, journal.ErrClosed)
		require.ErrorIs(t, err, omega.ErrJournal)
		require.NotErrorIs(t, err, omega.ErrOutcome)
	})
}

// paused is a store with walks that wait, while hold is set, until on is closed.
type paused struct {
	journal.Store
	hold atomic.Bool
	on   chan struct{}
}

func (p *paused) Read(ctx context.Context, after journal.Position) iter.Seq2[journal.Entry, error] {
	return func(yield func(journal.Entry, error) bool) {
		for e, err := range p.Store.Read(ctx, after) {
			if p.hold.Load() {
				<-p.on
				p.hold.Store(false)
				if e.Data != nil {
					return // a walk that is begun again
				}
			}
			if !yield(e, err) {
				return
			}
		}
	}
}

// altered is a store that changes an entry as it is read.
type altered struct {
	journal.Store
	at   journal.Position
	edit func([]byte) []byte
}

func (a *altered) Read(ctx context.Context, after journal.Position) iter.Seq2[journal.Entry, error] {
	return func(yield func(journal.Entry, error) bool) {
		for e, err := range a.Store.Read(ctx, after) {
			if e.At == a.at && e.Data != nil {
				e.Data = a.edit(bytes.Clone(e.Data))
			}
			if !yield(e, err) {
				return
			}
		}
	}
}

// A store with another history than the writers of its entries saw is refused.
func TestOpen_FindsAForkedStore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		sim := journaltest.NewSim(journaltest.Faults{}, rand.New(rand.NewPCG(1, 1)))
		cell := open(t, sim.Client(), first(2))
		m, _ := cell.Machine("m0")
		for range 3 {
			require.NoError(t, cell.Drain(m))
			require.NoError(t, cell.Resume(m))
		}
		require.NoError(t, cell.Close(t.Context()))
		entries := sim.Entries()
		for at := journal.Position(2); int(at) < len(entries); at++ {
			_, err := journal.Open(t.Context(), &altered{sim.Client(), at, func([]byte) []byte { return entries[at-2].Data }}, first(2))
			require.ErrorIs(t, err, journal.ErrForked, "position %d", at)
			_, err = journal.Open(t.Context(), &altered{sim.Client(), at, func(b []byte) []byte { b[0]++; return b }}, first(2))
			require.ErrorIs(t, err, journal.ErrForked, "position %d", at)
		}
	})
}
