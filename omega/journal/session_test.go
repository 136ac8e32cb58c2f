package journal_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/cellsched/cellsched/omega"
	"github.com/cellsched/cellsched/omega/journal"
	"github.com/cellsched/cellsched/omega/journal/journaltest"
	"github.com/cellsched/cellsched/resources"
)

const ttl = 10 * time.Second

// expiring is first with a TTL.
func expiring(machines int) journal.Config {
	cfg := first(machines)
	cfg.TTL = ttl
	return cfg
}

// hold has a scheduler claim amounts, one on each machine in turn.
func hold(t *testing.T, s *omega.Scheduler, amounts ...int64) {
	t.Helper()
	var tx omega.Txn
	i := 0
	for m := range s.Cell().Machines() {
		tx.Claim(omega.Claim{Machine: m.ID, Need: resources.Vector{amounts[i%len(amounts)]}})
		i++
	}
	granted, err := s.CommitContext(t.Context(), &tx)
	require.NoError(t, err)
	require.Equal(t, i, granted)
}

// ephemeral returns a scheduler that ends with the session of a cell.
func ephemeral(t *testing.T, cell *journal.Cell) *omega.Scheduler {
	t.Helper()
	s, err := cell.Ephemeral(t.Context(), "leases", omega.Limits{})
	require.NoError(t, err)
	return s
}

// used returns the sum of the allocations of schedulers with names that begin so.
func used(cell *journal.Cell, prefix string) (sum int64) {
	for a := range cell.Allocations() {
		if strings.HasPrefix(a.Scheduler, prefix) {
			sum += a.Need[0]
		}
	}
	return sum
}

// released waits until schedulers of a name hold no more than so much, and returns for how long.
func released(t *testing.T, cell *journal.Cell, prefix string, left int64) time.Duration {
	t.Helper()
	start := time.Now()
	for used(cell, prefix) > left {
		require.NoError(t, cell.Err())
		require.Less(t, time.Since(start), time.Hour)
		time.Sleep(time.Millisecond)
	}
	return time.Since(start)
}

func closeAll(t *testing.T, cells ...*journal.Cell) {
	t.Helper()
	for _, cell := range cells {
		require.NoError(t, cell.Close(t.Context()))
	}
}

// A process dies while others propose the end of its session, in a store that loses, doubles
// and delays appends. Its leases alone end, within the TTL and a second. The oldest process,
// which releases the leases of expired sessions, may be the process that dies.
func TestCell_EndsTheLeasesOfAProcessThatDies(t *testing.T) {
	for seed := range uint64(40) {
		synctest.Test(t, func(t *testing.T) {
			faults := journaltest.Faults{Lost: 0.1, Unknown: 0.1, Duplicate: 0.1, Delay: 20 * time.Millisecond}
			sim := journaltest.NewSim(faults, rand.New(rand.NewPCG(seed, 1)))
			cfg := expiring(4)
			if seed%2 == 0 {
				cfg.Checkpoint = 500
			}
			var cells []*journal.Cell
			var clients []*journaltest.Client
			for i := range 3 {
				clients = append(clients, sim.Client())
				cells = append(cells, open(t, clients[i], cfg))
				hold(t, ephemeral(t, cells[i]), 3)
				s, err := cells[i].Take(t.Context(), fmt.Sprint("work-", i), omega.Limits{})
				require.NoError(t, err)
				hold(t, s, 2)
			}
			time.Sleep(time.Duration(seed) * 700 * time.Millisecond)
			dies := int(seed % 3)
			require.NoError(t, clients[dies].Close())
			one := cells[(dies+1)%3]
			require.LessOrEqual(t, released(t, one, "leases", 24), ttl+time.Second)
			time.Sleep(time.Minute)
			require.Equal(t, int64(24), used(one, "leases"))
			require.Equal(t, int64(24), used(one, "work"), "work stays")
			_ = cells[dies].Close(t.Context())
			for i, cell := range cells {
				if i != dies {
					require.NoError(t, cell.Check())
					closeAll(t, cell)
				}
			}
			last := open(t, sim.Client(), cfg)
			require.Zero(t, used(last, "leases"))
			for _, one := range last.Stats() {
				require.NotContains(t, one.Name, "session")
			}
			closeAll(t, last)
		})
	}
}

// A process that was away for longer than its TTL finds its session ended: its change was not
// made, and it ends the session of no other process.
func TestCell_IsTornDownAfterItsSessionHasExpired(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		sim := newSim(1)
		away := &gate{Store: sim.Client()}
		lost, other := open(t, away, expiring(2)), open(t, sim.Client(), expiring(2))
		s := ephemeral(t, lost)
		hold(t, s, 5)
		hold(t, ephemeral(t, other), 7)
		away.set(true)
		result := make(chan error)
		go func() {
			var tx omega.Txn
			m, _ := lost.Machine("m0")
			tx.Claim(omega.Claim{Machine: m, Need: resources.Vector{1}})
			_, err := s.CommitContext(context.Background(), &tx)
			result <- err
		}()
		require.LessOrEqual(t, released(t, other, "leases", 14), ttl+time.Second)
		time.Sleep(time.Minute)
		away.set(false)
		err := <-result
		require.ErrorIs(t, err, journal.ErrExpired)
		require.NotErrorIs(t, err, omega.ErrOutcome)
		time.Sleep(time.Minute)
		require.ErrorIs(t, lost.Err(), journal.ErrExpired)
		require.ErrorIs(t, lost.Err(), journal.ErrFailed)
		require.ErrorIs(t, lost.Close(t.Context()), journal.ErrExpired)
		require.NoError(t, other.Err())
		require.Equal(t, int64(14), used(other, "leases"))
		closeAll(t, other)
	})
}

// hindered is a store that holds back the entries in which a process proposes the end of
// another one's session.
type hindered struct {
	journal.Store
	proposed, goes chan struct{}
}

func (h *hindered) Append(ctx context.Context, entry []byte) error {
	const keepEntry, expireSession, checksum = 4, 2, 4
	// The body is the action and two numbers of a byte each.
	if at := len(entry) - checksum - 3; entry[1] == keepEntry && entry[at] == expireSession {
		h.proposed <- struct{}{}
		<-h.goes
	}
	return h.Store.Append(ctx, entry)
}

// The order decides: a session of which an entry comes before the proposal goes on.
func TestCell_KeepsASessionOfWhichAnEntryCameFirst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		sim := newSim(1)
		away := &gate{Store: sim.Client()}
		cell := open(t, away, expiring(1))
		proposer := &hindered{sim.Client(), make(chan struct{}), make(chan struct{})}
		other := open(t, proposer, expiring(1))
		hold(t, ephemeral(t, cell), 5)
		away.set(true)
		<-proposer.proposed
		away.set(false)
		time.Sleep(time.Second)
		proposer.goes <- struct{}{}
		time.Sleep(time.Minute)
		require.NoError(t, cell.Err())
		require.Equal(t, int64(5), used(other, "leases"))
		closeAll(t, cell, other)
	})
}

// Sessions of idle processes go on, at three entries a TTL.
func TestCell_KeepsAnIdleSession(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		sim := newSim(1)
		one, other := open(t, sim.Client(), expiring(1)), open(t, sim.Client(), expiring(1))
		hold(t, ephemeral(t, one), 5)
		before := len(sim.Entries())
		time.Sleep(time.Hour)
		require.NoError(t, one.Err())
		require.NoError(t, other.Err())
		require.Equal(t, int64(5), used(other, "leases"))
		require.InDelta(t, 2*3*int(time.Hour/ttl), len(sim.Entries())-before, 10)
		closeAll(t, one, other)
	})
}

// A store that is away for longer than a TTL ends no session: no process was silent by itself.
func TestCell_EndsNoSessionForAStoreThatWasAway(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		sim := newSim(1)
		var gates []*gate
		var cells []*journal.Cell
		for range 4 {
			gates = append(gates, &gate{Store: sim.Client()})
			cells = append(cells, open(t, gates[len(gates)-1], expiring(1)))
			hold(t, ephemeral(t, cells[len(cells)-1]), 5)
		}
		for _, long := range []time.Duration{ttl, 2 * ttl, time.Hour} {
			for _, g := range gates {
				g.set(true)
			}
			time.Sleep(long)
			for _, g := range gates {
				g.set(false)
				time.Sleep(time.Second)
			}
			time.Sleep(time.Minute)
			for _, cell := range cells {
				require.NoError(t, cell.Err())
				require.Equal(t, int64(20), used(cell, "leases"))
			}
		}
		closeAll(t, cells...)
	})
}

// A share of the cell is released of expired sessions, and more after a while, or by Reap.
func TestCell_ReleasesAShareOfTheCellUnasked(t *testing.T) {
	for _, asks := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			sim := newSim(1)
			cfg := expiring(8)
			cfg.Share = 0.25
			client := sim.Client()
			dies := open(t, client, cfg)
			hold(t, ephemeral(t, dies), 30)
			one, other := open(t, sim.Client(), cfg), open(t, sim.Client(), cfg)
			_ = client.Close()
			require.LessOrEqual(t, released(t, one, "leases", 180), ttl+time.Second)
			time.Sleep(time.Minute)
			require.Equal(t, int64(180), used(one, "leases"), "60 of 320 units")
			if asks {
				require.NoError(t, other.Reap(t.Context()))
				require.LessOrEqual(t, released(t, one, "leases", 0), ttl)
			} else {
				long := released(t, one, "leases", 120)
				require.Greater(t, long, 30*time.Second)
				require.LessOrEqual(t, long, 10*ttl)
			}
			_ = dies.Close(t.Context())
			closeAll(t, one, other)
		})
	}
}

// Close releases the leases of its process, and frees the names of their schedulers.
func TestClose_EndsTheLeasesOfTheProcess(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		sim := newSim(1)
		cell, other := open(t, sim.Client(), expiring(2)), open(t, sim.Client(), expiring(2))
		s := ephemeral(t, cell)
		hold(t, s, 5)
		closeAll(t, cell)
		require.NoError(t, other.Sync(t.Context()))
		require.Zero(t, used(other, "leases"))
		for _, one := range other.Stats() {
			require.NotEqual(t, s.Name(), one.Name)
		}
		closeAll(t, other)
	})
}

// All processes die. The next process ends their leases, also from a checkpoint.
func TestOpen_EndsTheLeasesOfProcessesThatDiedBefore(t *testing.T) {
	for _, checkpoint := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			sim := newSim(1)
			for range 2 {
				client := sim.Client()
				cell := open(t, client, expiring(2))
				hold(t, ephemeral(t, cell), 5)
				if checkpoint {
					require.NoError(t, cell.Checkpoint(t.Context()))
				}
				_ = client.Close()
				_ = cell.Close(t.Context())
			}
			last := open(t, sim.Client(), expiring(2))
			require.Equal(t, int64(20), used(last, "leases"))
			require.LessOrEqual(t, released(t, last, "leases", 0), ttl+time.Second)
			closeAll(t, last)
		})
	}
}

// Entries of the next version wait until no process is left that may not know it.
func TestCell_WritesTheNextVersionOnceAllSessionsKnowIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		sim := newSim(1)
		old := open(t, sim.Client(), first(1)) // it writes as an earlier release
		m, _ := old.Machine("m0")
		one := open(t, sim.Client(), expiring(1))
		other := open(t, sim.Client(), expiring(1))
		for range 30 { // it is alive
			require.NoError(t, old.Drain(m))
			time.Sleep(time.Second)
			require.NoError(t, old.Resume(m))
		}
		for _, e := range sim.Entries() {
			require.Equal(t, byte(1), e.Data[0])
		}
		closing, cancel := context.WithTimeout(t.Context(), time.Second)
		_, err := one.Ephemeral(closing, "leases", omega.Limits{})
		require.ErrorIs(t, err, context.DeadlineExceeded)
		cancel()
		start := time.Now()
		ephemeral(t, one)
		require.LessOrEqual(t, time.Since(start), ttl)
		ephemeral(t, other)
		require.NoError(t, old.Drain(m)) // it knows that version after all
		require.NoError(t, old.Sync(t.Context()))
		closeAll(t, one, other, old)
		require.Equal(t, byte(3), sim.Entries()[len(sim.Entries())-1].Data[0])
	})
}

func TestEphemeral_NeedsATTL(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cell := open(t, newSim(1).Client(), first(1))
		_, err := cell.Ephemeral(t.Context(), "leases", omega.Limits{})
		require.ErrorIs(t, err, resources.ErrQuantity)
		require.ErrorIs(t, cell.Reap(t.Context()), resources.ErrQuantity)
		closeAll(t, cell)
		for _, cfg := range []journal.Config{{TTL: -1}, {TTL: 1}, {Share: 2}} {
			_, err := journal.Open(t.Context(), newSim(1).Client(), cfg)
			require.ErrorIs(t, err, resources.ErrQuantity)
		}
	})
}
