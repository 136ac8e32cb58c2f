package pool_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/cellsched/cellsched/omega"
	"github.com/cellsched/cellsched/omega/journal"
	"github.com/cellsched/cellsched/omega/journal/journaltest"
	"github.com/cellsched/cellsched/omega/pool"
	"github.com/cellsched/cellsched/resources"
)

const replicaTTL = 10 * time.Second

// replica is a process with a pool on a cell in a journal.
type replica struct {
	client *journaltest.Client
	cell   *journal.Cell
	pool   *pool.Pool
	name   string // of its scheduler
}

// replicate returns so many processes with a pool each, on one cell of some machines.
func replicate(t *testing.T, sim *journaltest.Sim, n int, cfg pool.Config, units ...int64) (all []*replica) {
	t.Helper()
	for range n {
		r := &replica{client: sim.Client()}
		var err error
		r.cell, err = journal.Open(t.Context(), r.client, journal.Config{First: omega.Config{Machines: machines(units...)}, TTL: replicaTTL})
		require.NoError(t, err)
		all = append(all, r)
	}
	for _, r := range all {
		s, err := r.cell.Ephemeral(t.Context(), "service", omega.Limits{Divisible: true})
		require.NoError(t, err)
		cfg.Replicas, err = r.cell.Board(t.Context(), "service")
		require.NoError(t, err)
		cfg.Cell, cfg.Scheduler = r.cell.Cell, s
		r.name = s.Name()
		r.pool, err = pool.New(cfg)
		require.NoError(t, err)
	}
	return all
}

func (r *replica) close(t *testing.T) {
	t.Helper()
	require.NoError(t, r.pool.Close(context.Background()))
	require.NoError(t, r.cell.Check())
	require.NoError(t, r.cell.Close(context.Background()))
}

// kill ends a process: its store takes no more.
func (r *replica) kill() {
	_ = r.client.Close()
	ctx, stop := context.WithCancel(context.Background())
	stop()
	_ = r.pool.Close(ctx)
	_ = r.cell.Close(ctx)
}

func quickSim(seed uint64) *journaltest.Sim {
	return journaltest.NewSim(journaltest.Faults{Delay: 5 * time.Millisecond}, rand.New(rand.NewPCG(seed, 1)))
}

// keepBusy keeps so many requests of a tenant in a pool, each for a lease of one unit that lasts
// about so long, until ctx ends.
func keepBusy(ctx context.Context, p *pool.Pool, name string, requests int, rng *rand.Rand, length time.Duration, used *atomic.Int64) {
	done := make(chan struct{})
	for range requests {
		own := rand.New(rand.NewPCG(rng.Uint64(), 1))
		go func() {
			defer func() { done <- struct{}{} }()
			for ctx.Err() == nil {
				l, err := p.Acquire(ctx, name, v(1))
				if err != nil {
					return
				}
				start := time.Now()
				select {
				case <-time.After(length/2 + time.Duration(own.Int64N(int64(length)))):
				case <-ctx.Done():
				}
				used.Add(int64(time.Since(start)))
				_ = l.Release()
			}
		}()
	}
	for range requests {
		<-done
	}
}

// meanHeld runs tenants with a load each on some pools, and returns the mean of what each holds.
func meanHeld(t *testing.T, pools []*pool.Pool, where func(tenant int) []int, tenants, requests int) []float64 {
	t.Helper()
	const warm, span = 6 * time.Second, 12 * time.Second
	used := make([][]atomic.Int64, tenants)
	ctx, stop := context.WithCancel(t.Context())
	n, done := 0, make(chan struct{})
	for i := range tenants {
		used[i] = make([]atomic.Int64, len(pools))
		at := where(i)
		for _, p := range at {
			n++
			rng := rand.New(rand.NewPCG(uint64(i), uint64(p)))
			go func() {
				keepBusy(ctx, pools[p], fmt.Sprint("t", i), requests/len(at), rng, time.Second, &used[i][p])
				done <- struct{}{}
			}()
		}
	}
	time.Sleep(warm)
	before := make([]int64, tenants)
	for i := range used {
		for p := range used[i] {
			before[i] += used[i][p].Load()
		}
	}
	time.Sleep(span)
	mean := make([]float64, tenants)
	for i := range used {
		sum := -before[i]
		for p := range used[i] {
			sum += used[i][p].Load()
		}
		mean[i] = float64(sum) / float64(span)
	}
	stop()
	for range n {
		<-done
	}
	return mean
}

// Over four processes each of 64 tenants holds the dominant share that it has in one pool, within
// a chunk of each process, wherever its requests are made.
func TestReplicas_GiveTheSharesOfOnePool(t *testing.T) {
	const processes, tenants, requests, chunk = 4, 64, 12, 2
	units := []int64{64, 64, 64, 64, 64, 64, 64, 64}
	cfg := pool.Config{Chunk: chunk, Tenants: map[string]pool.Settings{}}
	for i := range tenants {
		cfg.Tenants[fmt.Sprint("t", i)] = pool.Settings{Weight: float64(1 + i%2)}
	}
	var one []float64
	synctest.Test(t, func(t *testing.T) {
		alone := cfg
		alone.Chunk, alone.Machines = 0, machines(units...)
		p := newPool(t, alone)
		one = meanHeld(t, []*pool.Pool{p}, func(int) []int { return []int{0} }, tenants, requests)
		require.NoError(t, p.Close(t.Context()))
	})
	cases := map[string]func(int) []int{
		"each in one":      func(i int) []int { return []int{i % processes} },
		"one has the most": func(i int) []int { return []int{max(0, i-tenants+processes)} },
		"all in each":      func(int) []int { return []int{0, 1, 2, 3} },
	}
	for name, where := range cases {
		if testing.Short() && name != "each in one" {
			continue
		}
		for _, order := range []pool.Order{pool.OverTime, pool.Instant} {
			if order == pool.Instant && name != "one has the most" {
				continue
			}
			t.Run(fmt.Sprint(name, ", ", order), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					own := cfg
					own.Order = order
					slow := journaltest.NewSim(journaltest.Faults{Delay: 40 * time.Millisecond}, rand.New(rand.NewPCG(1, 1)))
					all := replicate(t, slow, processes, own, units...)
					var pools []*pool.Pool
					for _, r := range all {
						pools = append(pools, r.pool)
					}
					sum := 0.0
					for i, mean := range meanHeld(t, pools, where, tenants, requests) {
						sum += mean
						require.InDelta(t, one[i], mean, processes*chunk/4, "tenant %d", i)
					}
					require.Greater(t, sum, 490.0, "of 512 units are in use")
					for _, r := range all {
						r.close(t)
					}
				})
			})
		}
	}
}

// heldIn returns what a tenant or group holds in each pool.
func heldIn(all []*replica, name string) (units []int64) {
	for _, r := range all {
		sum := int64(0)
		for _, s := range r.pool.Stats().Tenants {
			if s.Name == name {
				sum += s.Held[0]
			}
		}
		units = append(units, sum)
	}
	return units
}

func sumOfAll(units []int64) (sum int64) {
	for _, u := range units {
		sum += u
	}
	return sum
}

// A limit of a tenant, and one of a group, hold over all processes at each moment, in a store
// that loses, doubles and delays appends. Each process that asks has a fair part, and what a
// process had that is killed is back within the TTL and a second.
func TestReplicas_KeepLimitsOverAllProcesses(t *testing.T) {
	for seed := range uint64(2) {
		synctest.Test(t, func(t *testing.T) {
			const processes, limit = 4, 12
			faults := journaltest.Faults{Lost: 0.05, Unknown: 0.05, Duplicate: 0.1, Delay: 10 * time.Millisecond}
			sim := journaltest.NewSim(faults, rand.New(rand.NewPCG(seed, 1)))
			most := pool.Settings{Limited: true, Limit: v(limit, resources.MaxQuantity)}
			all := replicate(t, sim, processes, pool.Config{Chunk: 4, Tenants: map[string]pool.Settings{"t": most}}, 32, 32)
			ctx, stop := context.WithCancel(t.Context())
			n, done := 0, make(chan struct{})
			busy := make([]context.CancelFunc, processes)
			for i, r := range all {
				g := tenant(t, r.pool, "g", most)
				var own context.Context
				own, busy[i] = context.WithCancel(ctx)
				for k, name := range []string{"t", "g/a", fmt.Sprint("g/b", i)} {
					if of, some := strings.CutPrefix(name, "g/"); some {
						_, err := g.Tenant(of)
						require.NoError(t, err)
					}
					n++
					go func() {
						var used atomic.Int64
						keepBusy(own, r.pool, name, 10, rand.New(rand.NewPCG(seed, uint64(i+10*k))), 300*time.Millisecond, &used)
						done <- struct{}{}
					}()
				}
			}
			var parts [2][processes]int64 // sums over time
			watch := func(live []*replica, lost [2]int64, span time.Duration) (at [2]int64) {
				parts = [2][processes]int64{}
				for end := time.Now().Add(span); time.Now().Before(end); time.Sleep(10 * time.Millisecond) {
					for i, name := range []string{"t", "g"} {
						units := heldIn(live, name)
						at[i] = sumOfAll(units)
						require.LessOrEqual(t, at[i]+lost[i], int64(limit), "%s: %v", name, units)
						for k := range units {
							parts[i][k] += units[k]
						}
					}
				}
				return at
			}
			watch(all, [2]int64{}, 3*time.Second)
			watch(all, [2]int64{}, 6*time.Second)
			for i := range parts {
				mean := sumOfAll(parts[i][:]) / processes
				for _, part := range parts[i] {
					require.InEpsilon(t, mean, part, 0.35, "%v", parts[i])
				}
				require.Greater(t, float64(processes*mean), 0.6*limit*6e3/10, "%v is far below the limit", parts[i])
			}
			dies, live := all[3], all[:3]
			lost := [2]int64{heldIn(all[3:], "t")[0], heldIn(all[3:], "g")[0]}
			dies.kill()
			watch(live, lost, replicaTTL/2)
			time.Sleep(replicaTTL/2 + time.Second)
			for i := range 2 {
				used := int64(0)
				for range 60 {
					used = max(used, watch(live, [2]int64{}, 10*time.Millisecond)[i])
				}
				require.Equal(t, int64(limit), used, "all of the limit is used by the others")
			}
			for a := range live[0].cell.Allocations() {
				require.NotEqual(t, dies.name, a.Scheduler)
			}
			stop()
			for range n {
				<-done
			}
			for i := range busy {
				busy[i]()
			}
			for _, r := range live {
				r.close(t)
			}
		})
	}
}

// Room is kept for a request in another process, but for no longer than the patience where
// that process does not take it.
func TestReplicas_PassOverARequestThatTakesNoRoom(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		all := replicate(t, quickSim(1), 2, pool.Config{Chunk: 1, Patience: 3 * time.Second}, 8)
		var rich []pool.Lease
		for range 8 {
			l, err := all[0].pool.Acquire(t.Context(), "rich", v(1))
			require.NoError(t, err)
			rich = append(rich, l)
		}
		poor := queue(t, all[1].pool, "poor", v(1))
		time.Sleep(500 * time.Millisecond)
		require.Empty(t, poor)
		more := queue(t, all[0].pool, "rich", v(1))
		release(t, rich[0])
		l := <-poor
		require.Empty(t, more, "the poorer one goes first")

		// The other process stops with its request in the line.
		second := queue(t, all[1].pool, "poor", v(1))
		time.Sleep(500 * time.Millisecond)
		require.Empty(t, second)
		all[1].kill()
		release(t, rich[1])
		start := time.Now()
		time.Sleep(100 * time.Millisecond)
		require.Equal(t, "requests in other processes go first", all[0].pool.Waiters()[0].Reason)
		release(t, <-more)
		require.GreaterOrEqual(t, time.Since(start), 2*time.Second)
		require.LessOrEqual(t, time.Since(start), 4*time.Second)
		_ = l.Release()
		release(t, rich[2:]...)
		all[0].close(t)
	})
}

// The notes of a pool end with it, and those of a process with its session. So does the room.
func TestReplicas_LeaveNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cfg := pool.Config{Chunk: 4, Tenants: map[string]pool.Settings{"a": {Limited: true, Limit: v(6, 6)}}}
		all := replicate(t, quickSim(1), 3, cfg, 8)
		var leases []pool.Lease
		for i, r := range all {
			l, err := r.pool.Acquire(t.Context(), "a", v(int64(i+1)))
			require.NoError(t, err)
			leases = append(leases, l)
		}
		time.Sleep(2 * time.Second)
		require.Equal(t, []int64{1, 2, 3}, heldIn(all, "a"))
		_, ok := all[0].pool.TryAcquire("a", v(1))
		require.False(t, ok, "6 of 6 are in use")
		release(t, leases[1])
		require.NoError(t, all[1].pool.Close(t.Context()))
		board, err := all[1].cell.Board(t.Context(), "service")
		require.NoError(t, err)
		time.Sleep(2 * time.Second)
		list, _, err := board.Next(t.Context(), 0)
		require.NoError(t, err)
		for _, one := range list {
			require.Zero(t, one.Own, one.Key)
		}
		start, work := time.Now(), leases[2].Context()
		all[2].kill()
		<-work.Done()
		require.ErrorIs(t, context.Cause(work), pool.ErrClosed, "its work is to end")
		release(t, leases[2])
		l, err := all[0].pool.Acquire(t.Context(), "a", v(5))
		require.NoError(t, err)
		require.LessOrEqual(t, time.Since(start), replicaTTL+time.Second)
		require.NoError(t, all[1].cell.Close(t.Context()))
		release(t, l, leases[0])
		all[0].close(t)
	})
}
