package journal_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/cellsched/cellsched/omega"
	"github.com/cellsched/cellsched/omega/journal"
)

// collected is a store that keeps each checkpoint, and all entries.
type collected struct {
	journal.Store
	all map[journal.Position][]byte
}

func (c *collected) Replace(_ context.Context, at journal.Position, save func(io.Writer) error) error {
	var b bytes.Buffer
	err := save(&b)
	c.all[at] = b.Bytes()
	return err
}

// A copy that is restored from a checkpoint at any point, and applies the entries behind it, is
// the same to the byte. It gives out the same allocations from then on.
func TestOpen_FromACheckpointAtAnyPointGivesTheSameCell(t *testing.T) {
	for seed := range uint64(5) {
		synctest.Test(t, func(t *testing.T) {
			sim := newSim(seed)
			store := &collected{sim.Client(), map[journal.Position][]byte{}}
			cell := open(t, store, first(3))
			rng := rand.New(rand.NewPCG(seed, 7))
			workers := make([]*worker, 3)
			for i := range workers {
				s, err := cell.Take(t.Context(), fmt.Sprint("s", i), omega.Limits{})
				require.NoError(t, err)
				workers[i] = &worker{s: s, rng: rng, held: map[omega.AllocationID]bool{}}
			}
			for step := range 40 {
				require.NoError(t, cell.Checkpoint(t.Context()))
				w := workers[rng.IntN(len(workers))]
				w.run(t.Context(), 3)
				switch m, _ := cell.Machine(fmt.Sprint("m", step%3)); rng.IntN(6) {
				case 0:
					require.NoError(t, cell.Drain(m))
				case 1:
					require.NoError(t, cell.Resume(m))
				case 2:
					_, err := cell.Account(t.Context(), fmt.Sprint("account-", step))
					require.NoError(t, err)
				}
			}
			require.Greater(t, len(store.all), 35)
			var copies []*journal.Cell
			for at, checkpoint := range store.all {
				one := open(t, &stale{sim.Client(), at, checkpoint, 1}, first(3))
				copies = append(copies, one)
			}
			workers[0].run(t.Context(), 20)
			require.NoError(t, cell.Sync(t.Context()))
			time.Sleep(time.Minute)
			want := saved(t, cell.Cell)
			for _, one := range copies {
				require.Equal(t, cell.Position(), one.Position())
				require.True(t, bytes.Equal(want, saved(t, one.Cell)), "seed %d", seed)
			}
			for _, one := range copies { // which appends to the store
				require.NoError(t, one.Close(t.Context()))
			}
			require.NoError(t, cell.Close(t.Context()))
		})
	}
}

// Cells that share a store write together as many checkpoints as one cell does.
func TestCell_SharesTheWorkOfCheckpoints(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		sim := newSim(1)
		cfg := first(8)
		cfg.Checkpoint = 3000
		var cells []*journal.Cell
		var stores []*collected
		for range 4 {
			store := &collected{sim.Client(), map[journal.Position][]byte{}}
			cell := open(t, store, cfg)
			s, err := cell.Take(t.Context(), fmt.Sprint("s", len(cells)), omega.Limits{})
			require.NoError(t, err)
			cells, stores = append(cells, cell), append(stores, store)
			w := &worker{s: s, rng: rand.New(rand.NewPCG(1, uint64(len(cells)))), held: map[omega.AllocationID]bool{}}
			go w.run(t.Context(), 300)
		}
		time.Sleep(time.Hour)
		bytes, written := 0, 0
		for _, e := range sim.Entries() {
			bytes += len(e.Data)
		}
		for _, store := range stores {
			written += len(store.all)
		}
		due := bytes / int(cfg.Checkpoint)
		require.Greater(t, due, 15)
		require.Greater(t, written, due/4)
		require.Less(t, written, 2*due)
		for _, cell := range cells {
			require.NoError(t, cell.Close(t.Context()))
		}
	})
}
