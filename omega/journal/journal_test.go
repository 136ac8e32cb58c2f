package journal_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/cellsched/cellsched/omega"
	"github.com/cellsched/cellsched/omega/journal"
	"github.com/cellsched/cellsched/omega/journal/journaltest"
	"github.com/cellsched/cellsched/resources"
)

func first(machines int) journal.Config {
	cfg := journal.Config{}
	for i := range machines {
		cfg.First.Machines = append(cfg.First.Machines, omega.Machine{Name: fmt.Sprint("m", i), Capacity: resources.Vector{40}})
	}
	return cfg
}

func open(t *testing.T, store journal.Store, cfg journal.Config) *journal.Cell {
	t.Helper()
	cell, err := journal.Open(t.Context(), store, cfg)
	require.NoError(t, err)
	return cell
}

func saved(t *testing.T, cell *omega.Cell) []byte {
	t.Helper()
	var b bytes.Buffer
	require.NoError(t, cell.Save(&b))
	return b.Bytes()
}

// worker is a caller that claims and releases, and knows what it was told.
type worker struct {
	s       *omega.Scheduler
	rng     *rand.Rand
	held    map[omega.AllocationID]bool
	inDoubt bool // its last commit has no outcome

	asked    int                  // claims of the commit in doubt
	released []omega.AllocationID // by it
}

// run commits until the journal fails or it has done n commits.
func (w *worker) run(ctx context.Context, n int) {
	var tx omega.Txn
	for range n {
		tx.Reset()
		machines := make([]omega.MachineState, 0, 8)
		for m := range w.s.Cell().Machines() {
			machines = append(machines, m)
		}
		var released []omega.AllocationID
		for a := range w.held {
			if w.rng.IntN(4) == 0 && len(released) < 2 {
				tx.Release(a)
				released = append(released, a)
			}
		}
		for range 1 + w.rng.IntN(3) {
			tx.Claim(omega.Claim{Machine: machines[w.rng.IntN(len(machines))].ID, Need: resources.Vector{1 + w.rng.Int64N(5)}})
		}
		_, err := w.s.CommitContext(ctx, &tx)
		for errors.Is(err, omega.ErrOutcome) && !errors.Is(err, journal.ErrFailed) && !errors.Is(err, journal.ErrClosed) {
			_, err = w.s.CommitContext(ctx, &tx)
		}
		if err != nil {
			if w.inDoubt = errors.Is(err, omega.ErrOutcome); w.inDoubt {
				w.asked, w.released = tx.Len()-len(released), released
			}
			return
		}
		for _, a := range released {
			delete(w.held, a)
		}
		for i := range tx.Len() {
			if a, ok := tx.Allocation(i); ok {
				w.held[a] = true
			}
		}
	}
}

// finds compares what the worker was told with what a cell has. A commit in doubt may have been
// done in part, as it is no gang: its releases and some of its claims, or nothing.
func (w *worker) finds(t *testing.T, cell *journal.Cell, name, which string) map[omega.AllocationID]bool {
	t.Helper()
	live := map[omega.AllocationID]bool{}
	for a := range cell.Allocations() {
		if a.Scheduler == name {
			live[a.ID] = true
		}
	}
	if !w.inDoubt {
		require.Equal(t, w.held, live, "%s: %s", which, name)
		return live
	}
	kept, gone := 0, 0
	for a := range w.held {
		if live[a] {
			kept++
		} else {
			gone++
			require.Contains(t, w.released, a, "%s: %s", which, name)
		}
	}
	if gone > 0 {
		require.Equal(t, len(w.released), gone, "%s: %s: a part of the releases", which, name)
	}
	if more := len(live) - kept; len(w.released) > 0 && gone == 0 {
		require.Zero(t, more, "%s: %s: claims without their releases", which, name)
	} else {
		require.LessOrEqual(t, more, w.asked, "%s: %s", which, name)
	}
	return live
}

// The store loses, doubles and delays appends, and processes crash. Nothing that was
// acknowledged is lost or done twice, and copies are equal. Each next process, and at the end a
// fresh cell, has what callers were told. JOURNAL_SEEDS sets how many runs there are.
func TestCell_KeepsWhatItAcknowledged(t *testing.T) {
	seeds := uint64(500)
	if testing.Short() {
		seeds = 100
	}
	if n, err := strconv.ParseUint(os.Getenv("JOURNAL_SEEDS"), 10, 32); err == nil {
		seeds = n
	}
	for seed := range seeds {
		synctest.Test(t, func(t *testing.T) { faulty(t, seed) })
	}
}

func faulty(t *testing.T, seed uint64) {
	t.Helper()
	rng := rand.New(rand.NewPCG(seed, 1))
	sim := journaltest.NewSim(journaltest.Faults{Lost: 0.1, Unknown: 0.1, Duplicate: 0.1, Broken: 0.05, Delay: 20 * time.Millisecond}, rand.New(rand.NewPCG(seed, 2)))
	cfg := first(1 + rng.IntN(6))
	if seed%2 == 0 { // else the whole log is replayed by each process
		cfg.Checkpoint = 200 + rng.Int64N(3000)
	}
	workers := make([]*worker, 1+rng.IntN(4))
	for range 1 + rng.IntN(4) {
		client := sim.Client()
		cell := open(t, client, cfg)
		var running sync.WaitGroup
		for i := range workers {
			name := fmt.Sprint("s", i)
			s, err := cell.Take(t.Context(), name, omega.Limits{})
			require.NoError(t, err)
			if w := workers[i]; w != nil {
				w.held = w.finds(t, cell, name, fmt.Sprint("seed ", seed))
			} else {
				workers[i] = &worker{held: map[omega.AllocationID]bool{}}
			}
			w := workers[i]
			w.s, w.inDoubt, w.rng = s, false, rand.New(rand.NewPCG(seed, uint64(10+i)))
			running.Go(func() { w.run(t.Context(), 1+w.rng.IntN(20)) })
		}
		if rng.IntN(3) > 0 {
			time.Sleep(time.Duration(rng.IntN(400)) * time.Millisecond)
			_ = client.Close()
		}
		running.Wait()
		synctest.Wait()
		_ = cell.Close(t.Context())
		require.Zero(t, cell.Lag())
		require.NoError(t, cell.Check())
	}
	one, other := open(t, sim.Client(), cfg), open(t, sim.Client(), cfg)
	require.NoError(t, one.Sync(t.Context()))
	time.Sleep(time.Minute) // walks of the store that end are begun again
	require.Equal(t, one.Position(), other.Position())
	require.True(t, bytes.Equal(saved(t, one.Cell), saved(t, other.Cell)), "seed %d", seed)
	for i, w := range workers {
		w.finds(t, one, fmt.Sprint("s", i), fmt.Sprintf("the end of seed %d", seed))
	}
	require.NoError(t, one.Close(t.Context()))
	require.NoError(t, other.Close(t.Context()))
}
