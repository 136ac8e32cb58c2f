package pool_test

import (
	"context"
	"fmt"
	"math"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/cellsched/cellsched/locality"
	"github.com/cellsched/cellsched/omega/pool"
	"github.com/cellsched/cellsched/resources"
)

// demand is a request of the test below: after a pause, of a tenant by number.
type demand struct {
	Pause, Tenant, Slow int
	Need                int64
}

// On one machine, with holders that release within the grace, a request within the
// guarantee of its tenant starts within the grace, whatever others hold, wait for
// or are guaranteed.
func TestGuarantee_IsRestoredWithinTheGrace(t *testing.T) {
	const grace = 10 * time.Second
	names := []string{"a", "b", "c", "org/x", "org/y"}
	rapid.Check(t, func(rt *rapid.T) {
		capacity := rapid.Int64Range(4, 12).Draw(rt, "capacity")
		owed := make([]int64, len(names))
		left := capacity
		for i := range owed {
			owed[i] = rapid.Int64Range(0, left).Draw(rt, "guarantee")
			left -= owed[i]
		}
		group := rapid.Bool().Draw(rt, "the group has a guarantee")
		demands := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) demand {
			return demand{
				rapid.IntRange(0, 3).Draw(t, "pause"), rapid.IntRange(0, 4).Draw(t, "tenant"),
				rapid.IntRange(0, 10).Draw(t, "slow"), rapid.Int64Range(1, capacity).Draw(t, "need"),
			}
		}), 1, 30).Draw(rt, "demands")
		var late []string
		synctest.Test(t, func(t *testing.T) {
			p := newPool(t, pool.Config{Machines: machines(capacity), Grace: grace})
			org := tenant(t, p, "org")
			if group {
				require.NoError(t, org.Set(pool.Settings{Guarantee: v(owed[3] + owed[4])}))
			}
			handles := []*pool.Tenant{tenant(t, p, "a"), tenant(t, p, "b"), tenant(t, p, "c")}
			for _, name := range []string{"x", "y"} {
				n, err := org.Tenant(name)
				require.NoError(t, err)
				handles = append(handles, n)
			}
			for i, n := range handles {
				// Strict: else a later request of the tenant may pass one that is
				// covered, and use the guarantee up.
				require.NoError(t, n.Set(pool.Settings{Guarantee: v(owed[i]), Strict: true}))
			}
			claimed := make([]int64, len(names)) // held and asked for
			var mu sync.Mutex
			var wg sync.WaitGroup
			ctx, cancel := context.WithCancel(context.Background())
			for i, d := range demands {
				time.Sleep(time.Duration(d.Pause) * time.Second)
				mu.Lock()
				claimed[d.Tenant] += d.Need
				covered := claimed[d.Tenant] <= owed[d.Tenant]
				mu.Unlock()
				asked := time.Now()
				wg.Go(func() {
					l, err := handles[d.Tenant].Acquire(ctx, v(d.Need))
					if err == nil {
						if waited := time.Since(asked); covered && waited > grace {
							mu.Lock()
							late = append(late, fmt.Sprintf("demand %d waited for %v", i, waited))
							mu.Unlock()
						}
						select {
						case <-l.Context().Done(): // preempted
							time.Sleep(time.Duration(d.Slow) * time.Second)
						case <-ctx.Done():
						}
						_ = l.Release()
					} else if covered {
						mu.Lock()
						late = append(late, fmt.Sprintf("demand %d was not served", i))
						mu.Unlock()
					}
					mu.Lock()
					claimed[d.Tenant] -= d.Need
					mu.Unlock()
				})
				synctest.Wait()
			}
			time.Sleep(2 * grace)
			cancel()
			wg.Wait()
			require.Equal(t, p.Stats().Total, p.Stats().Free)
			require.Zero(t, p.Stats().Machines[0].Reserved)
			require.NoError(t, p.Close(context.Background()))
		})
		require.Empty(rt, late)
	})
}

// cooperative holds leases until they are preempted, and releases them a while
// later.
func cooperative(leases []pool.Lease, after time.Duration) {
	for _, l := range leases {
		go func() {
			<-l.Context().Done()
			time.Sleep(after)
			_ = l.Release()
		}()
	}
}

func TestGuarantee_OfManyRequestsIsTakenBackAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPool(t, pool.Config{Machines: machines(8), Grace: 10 * time.Second})
		tenant(t, p, "owed", pool.Settings{Guarantee: v(4)})
		var batch []pool.Lease
		for range 8 {
			batch = append(batch, acquire(t, p, "batch", 1))
		}
		start := time.Now()
		var got []<-chan pool.Lease
		for range 6 {
			got = append(got, queue(t, p, "owed", v(1)))
		}
		ended := 0
		for _, l := range batch {
			if l.Context().Err() != nil {
				ended++
			}
		}
		require.Equal(t, 4, ended, "as many as the guarantee covers, at once")
		cooperative(batch, 9*time.Second)
		var served []pool.Lease
		for _, g := range got[:4] {
			served = append(served, <-g)
		}
		require.Equal(t, 9*time.Second, time.Since(start))
		require.Equal(t, pool.Lease{}, arrived(got[4]), "beyond the guarantee nothing is preempted")
		for _, l := range batch {
			_ = l.Release()
		}
		release(t, append(served, arrived(got[4]), arrived(got[5]))...)
		time.Sleep(10 * time.Second) // the holders end
		require.Equal(t, v(8, 8), p.Stats().Free)
	})
}

func TestGuarantee_GoesBeforeAReservation(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPool(t, pool.Config{Machines: machines(8), Grace: 10 * time.Second})
		tenant(t, p, "owed", pool.Settings{Guarantee: v(4)})
		old := acquire(t, p, "batch", 8)
		large := queue(t, p, "large", v(8))
		time.Sleep(time.Minute) // longer than the patience
		require.NoError(t, old.Resize(v(7)))
		fill := acquire(t, p, "batch", 1) // behind an older lease
		release(t, old)
		require.Equal(t, v(8), p.Stats().Machines[0].Reserved)
		l := arrived(queue(t, p, "owed", v(4)))
		require.Equal(t, v(4), l.Need())
		release(t, fill)
		require.Equal(t, pool.Lease{}, arrived(large))
		release(t, l)
		release(t, arrived(large))
	})
}

func TestGuarantee_WithinAGroupIsTakenBackFromItsOtherTenants(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPool(t, pool.Config{Machines: machines(8)})
		group := tenant(t, p, "group", pool.Settings{Guarantee: v(4)})
		owed, err := group.Tenant("owed", pool.Settings{Guarantee: v(2)})
		require.NoError(t, err)
		other, err := group.Tenant("other")
		require.NoError(t, err)
		tenant(t, p, "safe", pool.Settings{Guarantee: v(4)})
		var mine, safe []pool.Lease
		for range 4 {
			l, ok := other.TryAcquire(v(1))
			require.True(t, ok)
			mine, safe = append(mine, l), append(safe, acquire(t, p, "safe", 1))
		}
		got := make(chan pool.Lease, 1)
		go func() {
			l, _ := owed.Acquire(context.Background(), v(2))
			got <- l
		}()
		synctest.Wait()
		ended := 0
		for i := range mine {
			require.NoError(t, safe[i].Context().Err(), "within its own guarantee")
			if mine[i].Context().Err() != nil {
				ended++
			}
		}
		require.Equal(t, 2, ended)
		release(t, mine...)
		release(t, append(safe, arrived(got))...)
	})
}

// A lease that reaches beyond its tenant's guarantee is not within it, however
// much the tenant keeps otherwise; and what is preempted already counts as gone.
func TestGuarantee_ProtectsLeasesWithinItAlone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPool(t, pool.Config{Machines: machines(8)})
		tenant(t, p, "owed", pool.Settings{Guarantee: v(5)})
		tenant(t, p, "other", pool.Settings{Guarantee: v(3)})
		wide := acquire(t, p, "other", 4)
		batch := []pool.Lease{acquire(t, p, "batch", 2), acquire(t, p, "batch", 2)}
		got := queue(t, p, "owed", v(5))
		require.Error(t, wide.Context().Err())
		release(t, wide)
		release(t, batch...)
		release(t, arrived(got))

		narrow := []pool.Lease{acquire(t, p, "other", 1), acquire(t, p, "other", 2), acquire(t, p, "other", 2), acquire(t, p, "batch", 3)}
		first, second := queue(t, p, "owed", v(1)), queue(t, p, "owed", v(4))
		require.NoError(t, narrow[0].Context().Err())
		require.NoError(t, narrow[1].Context().Err(), "the oldest leases are within the guarantee, also for a second request")
		require.Error(t, narrow[2].Context().Err())
		require.Error(t, narrow[3].Context().Err())
		release(t, narrow...)
		release(t, arrived(first), arrived(second))
		require.Equal(t, v(8, 8), p.Stats().Free)
	})
}

// The class of a group counts for its tenants among those outside of it.
func TestGuarantee_SparesHigherClassesOfGroups(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPool(t, pool.Config{Machines: machines(4)})
		high, err := tenant(t, p, "high", pool.Settings{Priority: 1}).Tenant("a", pool.Settings{Priority: -7})
		require.NoError(t, err)
		tenant(t, p, "owed", pool.Settings{Guarantee: v(2)})
		l, ok := high.TryAcquire(v(3))
		require.True(t, ok)
		low := acquire(t, p, "low", 1)
		got := queue(t, p, "owed", v(2))
		require.NoError(t, l.Context().Err())
		require.NoError(t, low.Context().Err(), "it would not be enough, so nothing is preempted")
		release(t, l)
		release(t, low, arrived(got))
	})
}

// A kind that the guarantee does not name is used where it is free, and not taken
// from others.
func TestGuarantee_OfSomeKinds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPool(t, pool.Config{Machines: machines(4, 4)})
		tenant(t, p, "owed", pool.Settings{Guarantee: v(2)})
		full := acquire(t, p, "batch", 4, 4) // on one machine there is no memory either
		part := acquire(t, p, "batch", 4, 1)
		got := queue(t, p, "owed", v(2, 3))
		require.NoError(t, full.Context().Err())
		require.Error(t, part.Context().Err())
		release(t, part)
		release(t, arrived(got))
		part = acquire(t, p, "batch", 1, 1)
		none := queue(t, p, "owed", v(0, 4))
		require.NoError(t, part.Context().Err(), "nothing that it names is needed")
		release(t, part, full)
		release(t, arrived(none))
	})
}

// Requests with a label, a maximum wait or required machines have the same rights.
func TestGuarantee_HoldsForEveryRequestOfOneNeed(t *testing.T) {
	for name, r := range map[string]pool.Request{
		"label": {Label: "x"}, "wait": {MaxWait: time.Hour}, "required": {Prefer: []locality.Node{1}, Required: true}, "near": {Prefer: []locality.Node{1}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p := newPool(t, pool.Config{Machines: machines(4, 4)})
				owed := tenant(t, p, "owed", pool.Settings{Guarantee: v(2)})
				batch := []pool.Lease{acquire(t, p, "batch", 4), acquire(t, p, "batch", 4)}
				r.Needs = []resources.Vector{v(2)}
				got := make(chan pool.Lease, 1)
				go func() {
					ls, err := owed.Request(context.Background(), r)
					if err == nil {
						got <- ls[0]
					}
				}()
				synctest.Wait()
				victim := batch[0]
				if victim.Context().Err() == nil {
					victim = batch[1]
				}
				require.Error(t, victim.Context().Err())
				if r.Required {
					require.EqualValues(t, 1, victim.Node())
				}
				release(t, victim)
				l := arrived(got)
				require.Equal(t, v(2), l.Need())
				release(t, l)
				for _, l := range batch {
					_ = l.Release()
				}
			})
		})
	}
}

func TestGuarantee_MachineThatDrainsIsReplaced(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPool(t, pool.Config{Machines: machines(4, 4)})
		tenant(t, p, "owed", pool.Settings{Guarantee: v(2)})
		batch := []pool.Lease{acquire(t, p, "batch", 4), acquire(t, p, "batch", 4)}
		got := queue(t, p, "owed", v(2))
		first := batch[0]
		if first.Context().Err() == nil {
			first = batch[1]
		}
		require.NoError(t, p.DrainMachine(first.Machine(), true))
		for _, l := range batch {
			require.Error(t, l.Context().Err(), "room is taken back on the other machine")
		}
		for _, l := range batch {
			if l != first {
				release(t, l)
			}
		}
		l := arrived(got)
		require.Equal(t, v(2), l.Need())
		release(t, l, first)
		for _, m := range p.Stats().Machines {
			require.Zero(t, m.Reserved)
		}
	})
}

func TestTenant_GuaranteesAddUpThroughGroups(t *testing.T) {
	p := newPool(t, oneMachine(8))
	a, b := tenant(t, p, "a"), tenant(t, p, "b")
	_, err := a.Tenant("x", pool.Settings{Guarantee: v(5)})
	require.NoError(t, err)
	_, err = b.Tenant("x", pool.Settings{Guarantee: v(4)})
	require.EqualError(t, err, `pool: settings of "b/x": guarantees add up to cpu=9m, more than cpu=8m,memory=8 of the pool: invalid configuration`)
	_, err = b.Tenant("x", pool.Settings{Guarantee: v(3)})
	require.NoError(t, err)
	err = a.Set(pool.Settings{Guarantee: v(4)})
	require.EqualError(t, err, `pool: settings of "a": guarantee cpu=4m, but those in the group add up to cpu=5m: invalid configuration`)
	require.NoError(t, a.Set(pool.Settings{Guarantee: v(5)}))
	_, err = a.Tenant("y", pool.Settings{Guarantee: v(1)})
	require.EqualError(t, err, `pool: settings of "a/y": guarantees add up to cpu=6m, more than cpu=5m of group "a": invalid configuration`)
	require.ErrorIs(t, a.Set(pool.Settings{Guarantee: v(6)}), pool.ErrConfig)
}

// A task with an ended context needs no room.
func TestGuarantee_PreemptsNothingForATaskThatIsOver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPool(t, oneMachine(4))
		held := acquire(t, p, "b", 4)
		n := tenant(t, p, "a")
		ctx, cancel := context.WithCancel(t.Context())
		require.NoError(t, n.Go(ctx, v(2), func(context.Context, pool.Lease) error { return nil }))
		cancel()
		require.NoError(t, n.Set(pool.Settings{Guarantee: v(2)}))
		require.NoError(t, held.Context().Err())
		release(t, held)
		require.ErrorIs(t, p.Shutdown(t.Context()), context.Canceled)
	})
}

func TestGuarantee_AGraceWithoutEndIsNotOverAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPool(t, pool.Config{Machines: machines(2), Grace: math.MaxInt64})
		tenant(t, p, "owed", pool.Settings{Guarantee: v(2)})
		time.Sleep(time.Hour)
		held := acquire(t, p, "batch", 2)
		got := queue(t, p, "owed", v(1))
		<-held.Context().Done()
		time.Sleep(time.Hour)
		require.Empty(t, p.Overdue())
		release(t, held)
		release(t, arrived(got))
	})
}
