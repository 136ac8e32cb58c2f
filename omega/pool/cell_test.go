package pool_test

import (
	"context"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/cellsched/cellsched/omega"
	"github.com/cellsched/cellsched/omega/pool"
	"github.com/cellsched/cellsched/resources"
)

// shared is a cell with a pool and another scheduler.
type shared struct {
	t     *testing.T
	cell  *omega.Cell
	own   *omega.Scheduler // of the pool
	pool  *pool.Pool
	other *omega.Scheduler
	ids   []omega.MachineID
}

// share makes a pool on a cell of machines with some units each.
func share(t *testing.T, cfg pool.Config, units ...int64) *shared {
	t.Helper()
	cell, err := omega.NewCell(omega.Config{Machines: machines(units...)})
	require.NoError(t, err)
	s := &shared{t: t, cell: cell}
	s.own, err = cell.Register("service", omega.Limits{Divisible: true, Lowest: -10, Highest: 5})
	require.NoError(t, err)
	s.other, err = cell.Register("other", omega.Limits{Highest: 9})
	require.NoError(t, err)
	for m := range cell.Machines() {
		s.ids = append(s.ids, m.ID)
	}
	cfg.Cell, cfg.Scheduler = cell, s.own
	if h, ok := cfg.Store.(*hooks); ok {
		h.Scheduler = s.own
	}
	s.pool, err = pool.New(cfg)
	require.NoError(t, err)
	t.Cleanup(func() {
		if t.Failed() {
			ctx, stop := context.WithCancel(context.Background())
			stop()
			_ = s.pool.Close(ctx)
			return
		}
		require.NoError(t, s.pool.Close(context.Background()))
		require.Zero(t, s.own.Usage(), "all blocks are back")
		require.NoError(t, cell.Check())
	})
	return s
}

// claim commits one claim of the other scheduler, with victims as the cell proposes them.
func (s *shared) claim(machine int, p omega.Precedence, need ...int64) (omega.AllocationID, error) {
	s.t.Helper()
	victims, _ := s.cell.Victims(s.ids[machine], v(need...), p)
	tx := omega.Txn{Now: time.Now(), Grace: time.Minute}
	tx.Claim(omega.Claim{Machine: s.ids[machine], Need: v(need...), Precedence: p, Victims: victims})
	_, err := s.other.Commit(&tx)
	require.NoError(s.t, err)
	a, _ := tx.Allocation(0)
	return a, tx.Err(0)
}

// blocks returns what the pool has on each machine of the cell.
func (s *shared) blocks() (units []int64) {
	units = make([]int64, len(s.ids))
	for a := range s.own.Allocations() {
		units[a.ID.Node()] += a.Need[0]
	}
	return units
}

func TestCell_LendsInChunksAndGetsBackWhatIsIdle(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := share(t, pool.Config{Chunk: 4}, 32, 32)
		require.Equal(t, []int64{0, 0}, s.blocks())
		var leases []pool.Lease
		for range 6 {
			leases = append(leases, acquire(t, s.pool, "a", 1))
		}
		synctest.Wait()
		before := s.blocks()
		require.Equal(t, int64(10), before[0]+before[1], "1 and a chunk of 4, and once more")
		release(t, leases[0])
		leases[0] = acquire(t, s.pool, "b", 1)
		require.Equal(t, before, s.blocks(), "a lease that fits in a block does not touch the cell")
		release(t, leases...)
		time.Sleep(3 * time.Second)
		synctest.Wait()
		require.Equal(t, []int64{0, 0}, s.blocks())
	})
}

func TestCell_ReturnsItsStockWhileAnotherSchedulerWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := share(t, pool.Config{Chunk: 4}, 6)
		lease := acquire(t, s.pool, "a", 2)
		require.Equal(t, []int64{4}, s.blocks(), "a step is an eighth of a machine, or one need")
		small := acquire(t, s.pool, "a", 1)
		release(t, lease)
		synctest.Wait()
		require.Equal(t, []int64{4}, s.blocks(), "3 in stock")
		require.NoError(t, s.other.Wait(t.Context(), v(5)))
		_, err := s.claim(0, 0, 5)
		require.NoError(t, err)

		// It holds what it uses until the room is wanted no more.
		got := queue(t, s.pool, "b", v(1))
		synctest.Wait()
		require.Empty(t, got)
		for a := range s.other.Allocations() {
			require.NoError(t, s.other.Release(a.ID))
		}
		release(t, <-got, small)
	})
}

func TestCell_WakesARequestWhenAnotherSchedulerReleases(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := share(t, pool.Config{}, 4, 4)
		a, err := s.claim(0, 0, 3)
		require.NoError(t, err)
		b, err := s.claim(1, 0, 3)
		require.NoError(t, err)
		got := queue(t, s.pool, "a", v(4))
		small := acquire(t, s.pool, "b", 1)
		synctest.Wait()
		require.Empty(t, got)
		release(t, small)
		start := time.Now()
		require.NoError(t, s.other.Release(b))
		release(t, <-got)
		require.Equal(t, start, time.Now(), "it was woken, not by a timer")
		require.NoError(t, s.other.Release(a))
	})
}

func TestCell_PreemptsOnlyLeasesThatNoLongerFit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := share(t, pool.Config{Chunk: 1, Tenants: map[string]pool.Settings{"high": {Priority: 3}, "low": {}}}, 8)
		high := acquire(t, s.pool, "high", 2)
		old := acquire(t, s.pool, "low", 2)
		young := acquire(t, s.pool, "low", 2)
		ends := func(l pool.Lease) bool { return l.Context().Err() != nil }
		synctest.Wait()

		a, err := s.claim(0, 2, 4) // 2 are free
		require.NoError(t, err)
		synctest.Wait()
		require.True(t, ends(young))
		require.ErrorIs(t, context.Cause(young.Context()), pool.ErrPreempted)
		require.False(t, ends(old) || ends(high))
		require.Equal(t, []int64{4}, s.blocks())
		ready, err := s.cell.ReadyAt(a)
		require.NoError(t, err)
		require.Equal(t, time.Now().Add(time.Minute).UTC(), ready.UTC())
		require.Empty(t, s.pool.Overdue())
		time.Sleep(time.Minute + time.Second)
		require.Equal(t, map[pool.Lease]time.Duration{young: time.Second}, s.pool.Overdue())

		_, ok := s.pool.TryAcquire("low", v(1))
		require.False(t, ok, "there is no room until it is released")
		release(t, young)
		synctest.Wait()
		ready, err = s.cell.ReadyAt(a)
		require.NoError(t, err)
		require.True(t, ready.IsZero())
		require.Empty(t, slices.Collect(s.own.Marked()))
		require.Empty(t, s.pool.Overdue())

		_, err = s.claim(0, 2, 4)
		require.Error(t, err, "high is of a higher precedence")
		require.False(t, ends(old))
		release(t, old, high)
	})
}

func TestCell_GivesStockToAPreemptorBeforeLeases(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := share(t, pool.Config{Chunk: 8}, 64)
		lease := acquire(t, s.pool, "a", 1)
		synctest.Wait()
		require.Equal(t, []int64{9}, s.blocks())
		_, err := s.claim(0, 1, 63)
		require.NoError(t, err)
		synctest.Wait()
		require.NoError(t, lease.Context().Err(), "the stock was enough")
		require.Equal(t, []int64{1}, s.blocks())
		release(t, lease)
	})
}

// A lease is preempted for the kinds that a claim takes, not for those of which more is left
// than is held.
func TestCell_CancelsNoLeaseThatStillFits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := share(t, pool.Config{Chunk: 2}, 2)
		require.NoError(t, s.cell.SetCapacity(s.ids[0], v(22, 44)))
		cpu, err := s.pool.Acquire(t.Context(), "a", v(1))
		require.NoError(t, err)
		both, err := s.pool.Acquire(t.Context(), "a", v(1, 1))
		require.NoError(t, err)
		_, err = s.claim(0, 1, 21)
		require.NoError(t, err)
		synctest.Wait()
		require.NoError(t, cpu.Context().Err())
		require.ErrorIs(t, context.Cause(both.Context()), pool.ErrPreempted, "the younger one")
		release(t, cpu)
		release(t, both)
	})
}

func TestCell_FollowsMachinesThatComeDrainAndGo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := share(t, pool.Config{}, 2)
		_, err := s.pool.AddMachine(omega.Machine{Name: "x", Capacity: v(1)})
		require.ErrorIs(t, err, pool.ErrConfig)
		require.ErrorIs(t, s.pool.DrainMachine("m0", true), pool.ErrConfig)

		_, err = s.pool.Acquire(t.Context(), "a", v(3))
		require.ErrorIs(t, err, pool.ErrNeed)
		id, err := s.cell.Add(omega.Machine{Name: "large", Capacity: v(4)})
		require.NoError(t, err)
		s.ids = append(s.ids, id)
		lease := acquire(t, s.pool, "a", 3)
		require.Equal(t, "large", lease.Machine())
		small := acquire(t, s.pool, "a", 1)
		synctest.Wait()
		require.Equal(t, int64(6), s.pool.Stats().Total[0])

		for _, m := range s.ids {
			require.NoError(t, s.cell.Drain(m))
		}
		synctest.Wait()
		got := queue(t, s.pool, "a", v(1))
		synctest.Wait()
		require.Empty(t, got)
		require.NoError(t, s.cell.Resume(s.ids[0]))
		release(t, <-got)

		other := queue(t, s.pool, "a", v(4))
		synctest.Wait()
		_, err = s.cell.Remove(id)
		require.NoError(t, err)
		synctest.Wait()
		require.ErrorIs(t, context.Cause(lease.Context()), pool.ErrPreempted)
		_, open := <-other
		require.False(t, open, "no machine has as much any more")
		id, err = s.cell.Add(omega.Machine{Name: "again", Capacity: v(4)})
		require.NoError(t, err)
		require.Equal(t, s.ids[1].Node(), id.Node(), "the number is used again")
		again := acquire(t, s.pool, "b", 4)
		require.Equal(t, "again", again.Machine())
		require.NoError(t, again.Context().Err())
		release(t, lease, again, small)
		require.NoError(t, s.cell.Check())
	})
}

func TestCell_ChargesEachTenantWhereAChunkIsALease(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := share(t, pool.Config{Chunk: 1}, 4, 4)
		used := func(tenant string) int64 {
			synctest.Wait()
			a, err := s.cell.Account(t.Context(), tenant)
			require.NoError(t, err)
			u, err := s.cell.Usage(a)
			require.NoError(t, err)
			return u[0]
		}
		a := []pool.Lease{acquire(t, s.pool, "a", 1), acquire(t, s.pool, "a", 3), acquire(t, s.pool, "a", 2)}
		b := acquire(t, s.pool, "b", 2)
		require.Equal(t, []int64{6, 2}, []int64{used("a"), used("b")})
		got := queue(t, s.pool, "b", v(3))
		synctest.Wait()
		release(t, a[1])
		next := <-got
		require.Equal(t, []int64{3, 5, 0}, []int64{used("a"), used("b"), used("service")}, "the room is charged to its new user")
		require.NoError(t, b.Resize(v(1)))
		require.Equal(t, []int64{3, 4, 0}, []int64{used("a"), used("b"), used("service")})
		release(t, a[0], a[2], b, next)
		require.Equal(t, []int64{0, 0, 0}, []int64{used("a"), used("b"), used("service")})
	})
}

func TestCell_TriesTheCellAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := share(t, pool.Config{Chunk: 1}, 4)
		lease, ok := s.pool.TryAcquire("a", v(3))
		require.True(t, ok)
		_, ok = s.pool.TryAcquire("a", v(2))
		require.False(t, ok)
		_, err := s.claim(0, 0, 1)
		require.NoError(t, err)
		_, ok = s.pool.TryAcquire("a", v(1))
		require.False(t, ok)
		release(t, lease)
	})
}

func TestCell_PlacesRequestsOfSeveralNeeds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := share(t, pool.Config{}, 4, 4, 4)
		a := tenant(t, s.pool, "a")
		leases, err := a.Request(t.Context(), pool.Request{Needs: needs(3, 3, 3, 1)})
		require.NoError(t, err)
		done := make(chan []pool.Lease, 1)
		go func() {
			more, _ := a.Request(context.Background(), pool.Request{Needs: needs(2, 2)})
			done <- more
		}()
		synctest.Wait()
		require.Empty(t, done)
		release(t, leases[:2]...)
		release(t, <-done...)
		release(t, leases[2:]...)
	})
}

func TestNew_RefusesWhatDoesNotGoWithACell(t *testing.T) {
	cell, err := omega.NewCell(omega.Config{Machines: machines(4)})
	require.NoError(t, err)
	whole, err := cell.Register("whole", omega.Limits{})
	require.NoError(t, err)
	jobs, err := cell.Register("jobs", omega.Limits{Divisible: true, Jobs: 1})
	require.NoError(t, err)
	abroad, err := omega.NewCell(omega.Config{Machines: machines(4)})
	require.NoError(t, err)
	space, err := resources.NewSpace(resources.CPU())
	require.NoError(t, err)
	for name, cfg := range map[string]pool.Config{
		"machines":           {Cell: cell, Machines: machines(1)},
		"another space":      {Cell: cell, Space: space},
		"chunk":              {Cell: cell, Chunk: -1},
		"scheduler abroad":   {Cell: abroad, Scheduler: whole},
		"whole blocks":       {Cell: cell, Scheduler: whole},
		"a limit of jobs":    {Cell: cell, Scheduler: jobs},
		"a bad account":      {Cell: cell, Account: "\n"},
		"chunk alone":        {Chunk: 4},
		"scheduler no cell":  {Scheduler: whole},
		"account, no cell":   {Account: "a"},
		"an empty cell, too": {Cell: emptyCell(t)},
	} {
		_, err := pool.New(cfg)
		require.ErrorIs(t, err, pool.ErrConfig, name)
	}
}

func emptyCell(t *testing.T) *omega.Cell {
	t.Helper()
	cell, err := omega.NewCell(omega.Config{})
	require.NoError(t, err)
	return cell
}
