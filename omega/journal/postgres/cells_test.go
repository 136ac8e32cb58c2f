package postgres_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/cellsched/cellsched/internal/servertest"
	"github.com/cellsched/cellsched/omega"
	"github.com/cellsched/cellsched/omega/journal"
	"github.com/cellsched/cellsched/resources"
)

// worker is a scheduler that claims and releases, and knows what it was told.
type worker struct {
	s     *omega.Scheduler
	rng   *rand.Rand
	held  map[omega.AllocationID]bool
	grown int // claims that were granted
}

func (w *worker) run(ctx context.Context, commits int) error {
	var tx omega.Txn
	for range commits {
		tx.Reset()
		var machines []omega.MachineID
		for m := range w.s.Cell().Machines() {
			machines = append(machines, m.ID)
		}
		var released []omega.AllocationID
		for a := range w.held {
			if len(released) < 3 && w.rng.IntN(3) == 0 {
				tx.Release(a)
				released = append(released, a)
			}
		}
		for range 1 + w.rng.IntN(4) {
			tx.Claim(omega.Claim{Machine: machines[w.rng.IntN(len(machines))], Need: resources.Vector{1 + w.rng.Int64N(5)}})
		}
		if err := w.commit(ctx, &tx); err != nil {
			return err
		}
		for _, a := range released {
			delete(w.held, a)
		}
		for i := range tx.Len() {
			if a, ok := tx.Allocation(i); ok {
				w.held[a] = true
				w.grown++
			}
		}
	}
	return nil
}

// commit gives up on a commit after a few milliseconds, and asks for its outcome then.
func (w *worker) commit(ctx context.Context, tx *omega.Txn) error {
	for {
		patience, cancel := context.WithTimeout(ctx, 5*time.Millisecond)
		_, err := w.s.CommitContext(patience, tx)
		cancel()
		if !errors.Is(err, omega.ErrOutcome) || errors.Is(err, omega.ErrJournal) || ctx.Err() != nil {
			return err
		}
	}
}

func saved(t *testing.T, cell *journal.Cell) []byte {
	t.Helper()
	var b bytes.Buffer
	require.NoError(t, cell.Save(&b))
	return b.Bytes()
}

// Four processes with four schedulers each change one cell, while the database ends their
// connections again and again. Each knows what it was granted, and all copies are equal to
// the byte: so each commit that was acknowledged is in each copy, once.
func TestCell_IsSharedByManyProcesses(t *testing.T) {
	t.Parallel()
	dsn := servertest.Postgres(t)
	const processes, schedulers, commits = 4, 4, 60
	cfg := journal.Config{Checkpoint: 10 << 10}
	for i := range 8 {
		cfg.First.Machines = append(cfg.First.Machines, omega.Machine{Name: fmt.Sprint("m", i), Capacity: resources.Vector{40}})
	}
	copies := make([]*journal.Cell, processes)
	var opening sync.WaitGroup
	for i := range copies {
		store := open(t, connect(t, dsn), "cell")
		opening.Go(func() {
			var err error
			if copies[i], err = journal.Open(t.Context(), store, cfg); err != nil {
				t.Error(err)
			}
		})
	}
	opening.Wait()
	if t.Failed() {
		t.FailNow()
	}

	ended := make(chan struct{})
	var running, breaking sync.WaitGroup
	breaking.Go(func() { breakConnections(t, dsn, ended) })
	workers := make([]*worker, processes*schedulers)
	for i := range workers {
		s, err := copies[i%processes].Take(t.Context(), fmt.Sprint("s", i), omega.Limits{})
		require.NoError(t, err)
		workers[i] = &worker{s: s, rng: rand.New(rand.NewPCG(1, uint64(i))), held: map[omega.AllocationID]bool{}}
		running.Go(func() {
			if err := workers[i].run(t.Context(), commits); err != nil {
				t.Error(err)
			}
		})
	}
	running.Wait()
	close(ended)
	breaking.Wait()

	require.NoError(t, copies[0].Checkpoint(t.Context()))
	late, err := journal.Open(t.Context(), open(t, connect(t, dsn), "cell"), cfg)
	require.NoError(t, err)
	from, err := late.Saved()
	require.NoError(t, err)
	require.Positive(t, from, "restored from a checkpoint")
	copies = append(copies, late)
	end := late.Position()
	for _, c := range copies {
		for c.Position() < end {
			require.NoError(t, c.Err())
			require.NoError(t, c.Sync(t.Context()))
		}
		end = max(end, c.Position())
	}
	for _, c := range copies {
		for c.Position() < end {
			require.NoError(t, c.Err())
			<-time.After(time.Millisecond)
		}
	}
	want, granted := saved(t, copies[0]), 0
	for _, c := range copies {
		require.Equal(t, end, c.Position())
		require.True(t, bytes.Equal(want, saved(t, c)))
		require.NoError(t, c.Check())
	}
	for _, w := range workers {
		live := map[omega.AllocationID]bool{}
		for a := range w.s.Allocations() {
			require.False(t, live[a.ID])
			live[a.ID] = true
		}
		require.Equal(t, w.held, live)
		granted += w.grown
	}
	require.Greater(t, granted, processes*schedulers*commits/4)
	for _, c := range copies {
		require.NoError(t, c.Close(t.Context()))
	}
}

// breakConnections ends connections of others until told to end.
func breakConnections(t *testing.T, dsn string, ended <-chan struct{}) {
	t.Helper()
	pool := connect(t, dsn)
	for {
		select {
		case <-ended:
			return
		case <-time.After(30 * time.Millisecond):
		}
		_, err := pool.Exec(t.Context(), `
			SELECT pg_terminate_backend(pid) FROM pg_stat_activity
			WHERE backend_type = 'client backend' AND pid <> pg_backend_pid() ORDER BY random() LIMIT 2`)
		if err != nil {
			t.Error(err)
			return
		}
	}
}
