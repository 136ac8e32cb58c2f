package omega_test

import (
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"
	"github.com/stretchr/testify/require"

	"github.com/cellsched/cellsched/omega"
)

// ordered is a journal that one goroutine applies, behind its callers.
type ordered struct {
	mu    sync.Mutex
	queue []*omega.Operation
	wake  chan struct{}
	ended sync.WaitGroup
}

func newOrdered(t *testing.T) *ordered {
	t.Helper()
	j := &ordered{wake: make(chan struct{}, 1)}
	j.ended.Go(func() {
		var batch []*omega.Operation
		for range j.wake {
			j.mu.Lock()
			batch, j.queue = j.queue, batch[:0]
			j.mu.Unlock()
			for _, op := range batch {
				op.Apply()
			}
		}
	})
	t.Cleanup(func() {
		close(j.wake)
		j.ended.Wait()
	})
	return j
}

func (j *ordered) Append(op *omega.Operation) {
	j.mu.Lock()
	j.queue = append(j.queue, op)
	j.mu.Unlock()
	select {
	case j.wake <- struct{}{}:
	default:
	}
}

// Histories of clients whose commits go through a journal are ones that a cell without
// concurrency could have produced, as those of a cell in memory are.
func TestCommit_ThroughAJournalIsLinearizable(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(linearClients))
	seeds, ops := uint64(10), 500
	if testing.Short() {
		seeds, ops = 3, 200
	}
	rounds, undecided := 0, 0
	for seed := range seeds {
		clients, first := newClients(t, seed, ops), emptyBooks()
		j := newOrdered(t)
		journaledClients(t, clients, j)
		for done := 0; done < ops; done += linearRound {
			all := round(t, clients)
			rounds++
			switch porcupine.CheckOperationsTimeout(linearModel(first), all, 20*time.Second) {
			case porcupine.Illegal:
				require.Fail(t, "not linearizable", "seed %d, operations %d and on", seed, done)
			case porcupine.Unknown:
				undecided++
			}
			first = *all[len(all)-1].Output.(reply).books
		}
	}
	require.LessOrEqual(t, undecided, rounds/50, "rounds of %d without a verdict", rounds)
	t.Logf("%d rounds, %d without a verdict", rounds, undecided)
}

// journaledClients gives clients a copy of their cell that has a journal.
func journaledClients(t *testing.T, clients []*client, j omega.Journal) {
	t.Helper()
	empty, err := omega.NewCell(omega.Config{})
	require.NoError(t, err)
	require.NoError(t, empty.SetJournal(j))
	ids := make([]omega.MachineID, len(clients[0].ids))
	for i, id := range clients[0].ids {
		was, _ := clients[0].cell.State(id)
		ids[i], err = empty.Add(omega.Machine{Name: was.Name, Capacity: was.Capacity})
		require.NoError(t, err)
	}
	for _, c := range clients {
		c.cell, c.ids, c.s = empty, ids, ranked(t, empty, c.s.Name())
	}
}
