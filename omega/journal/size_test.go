package journal_test

import (
	"context"
	"errors"
	"fmt"
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

// small returns a store that takes entries of 1 KiB.
func small() *journaltest.Sim {
	return journaltest.NewSim(journaltest.Faults{Largest: 1 << 10, Delay: time.Millisecond}, rand.New(rand.NewPCG(1, 1)))
}

// A transaction that is too large for the store is refused by itself: nothing of it is done,
// its scheduler goes on, and the others do not notice.
func TestCommit_TooLargeForTheStoreChangesNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		sim := small()
		cell := open(t, sim.Client(), first(2))
		s, err := cell.Take(t.Context(), "s", omega.Limits{})
		require.NoError(t, err)
		m, _ := cell.Machine("m0")
		var tx omega.Txn
		for range 1000 {
			tx.Claim(omega.Claim{Machine: m, Need: resources.Vector{1}})
		}
		for range 2 {
			_, err = s.CommitContext(t.Context(), &tx)
			require.ErrorIs(t, err, journal.ErrSize)
			require.ErrorContains(t, err, "want 1 to 1024")
			require.NotErrorIs(t, err, omega.ErrJournal)
			require.NotErrorIs(t, err, omega.ErrOutcome)
			onePackage(t, err)
			require.Zero(t, s.Usage())
			require.NoError(t, cell.Drain(m))
			require.NoError(t, cell.Resume(m))
		}
		tx.Reset()
		tx.Claim(omega.Claim{Machine: m, Need: resources.Vector{1}})
		granted, err := s.CommitContext(t.Context(), &tx)
		require.NoError(t, err)
		require.Equal(t, 1, granted)
		require.NoError(t, cell.Err())
		require.NoError(t, cell.Close(t.Context()))

		again := open(t, sim.Client(), first(2))
		require.Equal(t, 1, count(again), "each operation counts once")
		require.NoError(t, again.Close(t.Context()))
	})
}

// Calls of Sync and small operations wait in the queue beside one that is too large for the store,
// or for any entry. It fails alone.
func TestCell_RefusesALargeOperationAlone(t *testing.T) {
	const large, syncs, drains = 0, 1, 2
	for order := range 3 * 3 * 3 {
		queue := []int{order % 3, order / 3 % 3, order / 9}
		for _, size := range []int{20, 3000} { // attributes of 100 bytes
			t.Run(fmt.Sprint(queue, size), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					sim := small()
					store := &gate{Store: sim.Client()}
					cell := open(t, store, first(2))
					m, _ := cell.Machine("m0")
					attributes := map[string]string{}
					for i := range size {
						attributes[fmt.Sprint("key", i)] = strings.Repeat("v", 90)
					}
					changes := []func() error{
						large: func() error {
							_, err := cell.Add(omega.Machine{Name: "large", Attributes: attributes})
							return err
						},
						syncs:  func() error { return cell.Sync(t.Context()) },
						drains: func() error { return cell.Drain(m) },
					}
					store.set(true)
					var running sync.WaitGroup
					running.Go(func() { _ = cell.Drain(m) }) // waits in the store, the others in the queue
					synctest.Wait()
					failed := make([]error, len(queue))
					for i, change := range queue {
						running.Go(func() { failed[i] = changes[change]() })
						synctest.Wait()
					}
					store.set(false)
					running.Wait()
					for i, change := range queue {
						if change == large {
							require.ErrorIs(t, failed[i], journal.ErrSize)
							require.ErrorIs(t, failed[i], resources.ErrQuantity)
						} else {
							require.NoError(t, failed[i])
						}
					}
					require.NoError(t, cell.Close(t.Context()))
					other := open(t, sim.Client(), first(2))
					require.Equal(t, saved(t, cell.Cell), saved(t, other.Cell))
					require.NoError(t, other.Close(t.Context()))
				})
			})
		}
	}
}

func count(cell *journal.Cell) (n int) {
	for range cell.Allocations() {
		n++
	}
	return n
}

// Small operations that are sent together fill an entry beyond the store's bound. They go into
// smaller ones, each once.
func TestCell_DividesAnEntryThatIsTooLarge(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		sim := small()
		cell := open(t, sim.Client(), first(2))
		m, _ := cell.Machine("m0")
		const schedulers = 64
		var handles [schedulers]*omega.Scheduler
		for i := range handles {
			s, err := cell.Register(fmt.Sprint("s", i), omega.Limits{})
			require.NoError(t, err)
			handles[i] = s
		}
		var running sync.WaitGroup
		for _, s := range handles {
			running.Go(func() {
				for range 3 {
					var tx omega.Txn
					for range 10 {
						tx.Claim(omega.Claim{Machine: m, Need: resources.Vector{1}})
					}
					if granted, err := s.CommitContext(t.Context(), &tx); err != nil {
						t.Errorf("granted %d, %v", granted, err)
					}
					for i := range tx.Len() {
						if id, ok := tx.Allocation(i); ok && i > 0 {
							if err := s.Release(id); err != nil {
								t.Error(err)
							}
						}
					}
				}
			})
		}
		running.Wait()
		for _, e := range sim.Entries() {
			require.LessOrEqual(t, len(e.Data), 1<<10)
		}
		left := count(cell)
		require.NoError(t, cell.Check())
		require.NoError(t, cell.Close(t.Context()))
		again := open(t, sim.Client(), first(2))
		require.Equal(t, left, count(again))
		require.NoError(t, again.Close(t.Context()))
	})
}

// A first state that is too large is refused, and nothing is appended.
func TestOpen_RefusesAFirstStateTooLargeForTheStore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		sim := small()
		_, err := journal.Open(t.Context(), sim.Client(), first(1000))
		require.ErrorIs(t, err, journal.ErrSize)
		require.Empty(t, sim.Entries())
	})
}

// troubled is a store that fails with errors of the moment.
type troubled struct {
	journal.Store
	write, read atomic.Pointer[error]
}

func (s *troubled) Append(ctx context.Context, entry []byte) error {
	if err := s.write.Load(); err != nil {
		return *err
	}
	return s.Store.Append(ctx, entry)
}

func (s *troubled) Read(ctx context.Context, after journal.Position) iter.Seq2[journal.Entry, error] {
	return func(yield func(journal.Entry, error) bool) {
		for e, err := range s.Store.Read(ctx, after) {
			if bad := s.read.Load(); bad != nil {
				yield(journal.Entry{}, *bad)
				return
			}
			if !yield(e, err) {
				return
			}
		}
	}
}

var errFull = errors.New("no space left on device")

// A disk that is full holds changes up. The cell says so meanwhile, and goes on once there is
// space.
func TestStall_NamesTheErrorThatIsTriedAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := &troubled{Store: newSim(1).Client()}
		cell := open(t, store, first(1))
		m, _ := cell.Machine("m0")
		require.NoError(t, cell.Stall())

		for name, fault := range map[string]struct {
			set  *atomic.Pointer[error]
			text string
		}{
			"append": {&store.write, "journal: append is tried again: no space left on device"},
			"read":   {&store.read, "journal: walk is begun again: no space left on device"},
		} {
			fault.set.Store(&errFull)
			drained := make(chan error, 1)
			go func() { drained <- cell.Drain(m) }()
			time.Sleep(time.Minute)
			synctest.Wait()
			require.ErrorIs(t, cell.Stall(), errFull, name)
			require.EqualError(t, cell.Stall(), fault.text)
			require.NoError(t, cell.Err(), "it goes on later")
			require.Equal(t, time.Minute, cell.Lag())

			fault.set.Store(nil)
			require.NoError(t, <-drained)
			require.NoError(t, cell.Stall())
			require.NoError(t, cell.Resume(m))
		}
		require.NoError(t, cell.Close(t.Context()))
	})
}

// Open returns the reason for which its context has ended too early.
func TestOpen_NamesTheErrorOfAStoreThatStalls(t *testing.T) {
	for name, set := range map[string]func(*troubled){
		"append": func(s *troubled) { s.write.Store(&errFull) },
		"read":   func(s *troubled) { s.read.Store(&errFull) },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				store := &troubled{Store: newSim(1).Client()}
				set(store)
				ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
				defer cancel()
				_, err := journal.Open(ctx, store, first(1))
				require.ErrorIs(t, err, context.DeadlineExceeded)
				require.ErrorIs(t, err, errFull)
			})
		})
	}
}
