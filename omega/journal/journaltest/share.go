package journaltest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/cellsched/cellsched/omega"
	"github.com/cellsched/cellsched/omega/journal"
	"github.com/cellsched/cellsched/resources"
)

// Share has four cells with four schedulers each change one store at the same time, as
// processes do. open returns another handle of the store, which is empty at first. Each cell
// writes a checkpoint after so many bytes of entries. A caller may disturb the store meanwhile.
//
// At the end each scheduler must hold what its commits were told. All copies, and one that is
// opened late, must be the same to the byte: so each commit that was acknowledged is in each
// copy once.
func Share(t *testing.T, checkpoint int64, open func() journal.Store) {
	t.Helper()
	const processes, schedulers, commits = 4, 4, 50
	cfg := journal.Config{Checkpoint: checkpoint}
	for i := range 8 {
		cfg.First.Machines = append(cfg.First.Machines, omega.Machine{Name: fmt.Sprint("m", i), Capacity: resources.Vector{40}})
	}
	copies := make([]*journal.Cell, processes)
	var opening, running sync.WaitGroup
	for i := range copies {
		store := open()
		opening.Go(func() {
			again(t, "open", func() (err error) {
				copies[i], err = journal.Open(t.Context(), store, cfg)
				return err
			})
		})
	}
	opening.Wait()
	if t.Failed() {
		t.FailNow()
	}
	workers := make([]*worker, processes*schedulers)
	for i := range workers {
		s, err := copies[i%processes].Take(t.Context(), fmt.Sprint("s", i), omega.Limits{})
		if err != nil {
			t.Fatalf("take: %v", err)
		}
		workers[i] = &worker{s, rand.New(rand.NewPCG(1, uint64(i))), map[omega.AllocationID]bool{}, 0}
		running.Go(func() {
			if err := workers[i].run(t.Context(), commits); err != nil {
				t.Errorf("commit: %v", err)
			}
		})
	}
	running.Wait()
	if t.Failed() {
		t.FailNow()
	}
	alike(t, copies)
	again(t, "checkpoint", func() error { return copies[0].Checkpoint(t.Context()) })
	store := open()
	again(t, "open", func() error {
		late, err := journal.Open(t.Context(), store, cfg)
		if err == nil {
			copies = append(copies, late)
		}
		return err
	})
	if t.Failed() {
		t.FailNow()
	}
	if from, err := copies[processes].Saved(); from == 0 || err != nil {
		t.Fatalf("restored from position %d, %v, want a checkpoint", from, err)
	}
	alike(t, copies)
	granted := 0
	for _, w := range workers {
		live := map[omega.AllocationID]bool{}
		for a := range w.s.Allocations() {
			live[a.ID] = true
		}
		if !maps.Equal(live, w.held) {
			t.Errorf("scheduler %q holds %v, its commits were told %v", w.s.Name(), live, w.held)
		}
		granted += w.granted
	}
	if granted < processes*schedulers*commits/4 {
		t.Errorf("%d claims were granted, too few", granted)
	}
	for _, c := range copies {
		if err := c.Close(t.Context()); err != nil {
			t.Errorf("close: %v", err)
		}
	}
}

// again calls do until it succeeds, a hundred times at most: the store may be disturbed.
func again(t *testing.T, what string, do func() error) {
	t.Helper()
	var err error
	for range 100 {
		if err = do(); err == nil {
			return
		}
		<-time.After(20 * time.Millisecond)
	}
	t.Errorf("%s: %v", what, err)
}

// alike waits until all copies have applied the same entries, and compares them. An append that
// was sent again may add an entry late.
func alike(t *testing.T, copies []*journal.Cell) {
	t.Helper()
	for _, c := range copies {
		if err := c.Sync(t.Context()); err != nil {
			t.Fatalf("sync: %v", err)
		}
	}
	for tries := 0; ; {
		end, level := copies[0].Position(), true
		all := make([][]byte, len(copies))
		for i, c := range copies {
			var b bytes.Buffer
			if err := errors.Join(c.Err(), c.Save(&b), c.Check()); err != nil {
				t.Fatalf("at position %d: %v", c.Position(), err)
			}
			all[i] = b.Bytes()
		}
		for _, c := range copies {
			level = level && c.Position() == end
		}
		if level {
			other := slices.IndexFunc(all, func(b []byte) bool { return !bytes.Equal(all[0], b) })
			if other < 0 {
				return
			}
			// Its position moves just after an entry was applied.
			if tries++; tries == 1000 {
				t.Fatalf("copy %d differs at position %d", other, end)
			}
		}
		<-time.After(time.Millisecond)
	}
}

// worker is a scheduler that claims and releases, and knows what it was told.
type worker struct {
	s       *omega.Scheduler
	rng     *rand.Rand
	held    map[omega.AllocationID]bool
	granted int
}

func (w *worker) run(ctx context.Context, commits int) error {
	var machines []omega.MachineID
	for m := range w.s.Cell().Machines() {
		machines = append(machines, m.ID)
	}
	var tx omega.Txn
	for range commits {
		tx.Reset()
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
				w.granted++
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
