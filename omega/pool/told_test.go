package pool_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/cellsched/cellsched/omega"
	"github.com/cellsched/cellsched/omega/pool"
	"github.com/cellsched/cellsched/resources"
)

// A request that waits for the rate of a group names the group, or the one that
// takes longest where several have a rate.
func TestWaiters_NameTheGroupOfARate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPool(t, oneMachine(10))
		outer := tenant(t, p, "outer", pool.Settings{Rate: 0.1})
		inner, err := outer.Tenant("inner", pool.Settings{Rate: 1})
		require.NoError(t, err)
		n, err := inner.Tenant("a")
		require.NoError(t, err)
		l, ok := n.TryAcquire(v(1))
		require.True(t, ok)
		release(t, l)
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
		defer cancel()
		failed := make(chan error, 1)
		go func() {
			_, err := n.Acquire(ctx, v(1))
			failed <- err
		}()
		synctest.Wait()
		require.Equal(t, `"outer" is over its rate for another 10s`, p.Waiters()[0].Reason)
		require.NoError(t, outer.Set(pool.Settings{Rate: 2}))
		require.Equal(t, `"outer/inner" is over its rate for another 1s`, p.Waiters()[0].Reason)
		require.NoError(t, outer.Set(pool.Settings{}))
		require.Equal(t, `"outer/inner" is over its rate for another 1s`, p.Waiters()[0].Reason)
		require.NoError(t, n.Set(pool.Settings{Rate: 0.2}), "its bucket is full")
		require.Equal(t, `"outer/inner" is over its rate for another 1s`, p.Waiters()[0].Reason)
		require.NoError(t, outer.Set(pool.Settings{Rate: 0.01}))
		require.NoError(t, <-failed)
		require.ErrorContains(t, asErr(n.Acquire(ctx, v(1))), `"outer" is over its rate for another`)
	})
}

func asErr(_ pool.Lease, err error) error { return err }

// A limit on one kind leaves the others without a bound, and is shown alone.
func TestLimit_OfOneKindAlone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPool(t, oneMachine(10))
		limit := resources.Uniform(resources.MaxQuantity)
		limit[0] = 3
		group := tenant(t, p, "g", pool.Settings{Limit: limit, Limited: true})
		n, err := group.Tenant("a", pool.Settings{Guarantee: v(2, 8)})
		require.NoError(t, err)
		l, ok := n.TryAcquire(v(2, 9))
		require.True(t, ok)
		_, err = n.Acquire(t.Context(), v(4))
		require.ErrorIs(t, err, pool.ErrNeed)
		require.EqualError(t, err, `pool: need of "g/a": cpu=4m, more than the limit cpu=3m of "g": need can never be met`)
		_, err = n.Request(t.Context(), pool.Request{Needs: []resources.Vector{v(2), v(2)}})
		require.EqualError(t, err, `pool: request of "g/a": cpu=2m + cpu=2m together exceed the limit cpu=3m of "g": need can never be met`)
		waits := asked(n, v(2))
		require.Equal(t, `"g" is at its limit cpu=3m`, p.Waiters()[0].Reason)
		limit[0] = 1
		require.ErrorContains(t, group.Set(pool.Settings{Limit: limit, Limited: true}), `limit cpu=1m, but`)
		require.NoError(t, n.Set(pool.Settings{}))
		require.NoError(t, group.Set(pool.Settings{Limit: limit, Limited: true}))
		require.EqualError(t, <-waits, `pool: request of "g/a": cpu=2m, more than the limit cpu=1m of "g": need can never be met`)
		release(t, l)
	})
}

// A machine that is reserved says so, also while leases from before the reservation
// leave no room: longer tasks are turned away then.
func TestStats_TellWhatIsReservedBehindOlderLeases(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPool(t, oneMachine(10))
		run := func(name string, d time.Duration) {
			l := acquire(t, p, name, 1)
			time.Sleep(d)
			release(t, l)
		}
		older := acquire(t, p, "older", 4)
		large, cancel := context.WithCancel(t.Context())
		failed := make(chan error, 1)
		go func() {
			_, err := p.Acquire(large, "large", v(8))
			failed <- err
		}()
		synctest.Wait()
		run("long", time.Minute)
		time.Sleep(time.Minute)
		run("short", time.Millisecond)
		require.Equal(t, v(8), p.Stats().Machines[0].Reserved)
		require.Equal(t, v(6, 10), p.Stats().Machines[0].Free)
		_, ok := p.TryAcquire("none", v(7))
		require.False(t, ok)
		release(t, older)
		synctest.Wait()
		cancel()
		require.NoError(t, <-failed, "it was served")
		require.Zero(t, p.Stats().Machines[0].Reserved)
	})
}

// Several needs reserve their sum on each machine.
func TestStats_TellWhatIsReservedForSeveralNeeds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPool(t, pool.Config{Machines: machines(10, 10, 10), Reserved: 1})
		n := tenant(t, p, "gang")
		held := []pool.Lease{acquire(t, p, "a", 9), acquire(t, p, "b", 9), acquire(t, p, "c", 9)}
		got := asked(n, v(6), v(3), v(4))
		time.Sleep(time.Minute)
		release(t, acquire(t, p, "x", 1))
		var sum, most int64
		for _, m := range p.Stats().Machines {
			sum, most = sum+m.Reserved[0], max(most, m.Reserved[0])
		}
		require.Equal(t, int64(13), sum)
		require.GreaterOrEqual(t, most, int64(7), "two of them are on one machine")
		release(t, held...)
		require.NoError(t, <-got)
		for _, m := range p.Stats().Machines {
			require.Zero(t, m.Reserved)
		}
	})
}

// A request for a kind of which a machine holds more than its capacity is told so.
func TestWaiters_NameAMachineThatIsOverItsCapacity(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPool(t, oneMachine(8))
		held := acquire(t, p, "h", 6)
		require.NoError(t, p.ResizeMachine("m0", v(4, 8)))
		one := asked(tenant(t, p, "a"), v(1))
		large := asked(tenant(t, p, "b"), v(4, 8))
		for _, w := range p.Waiters() {
			require.Equal(t, `"m0" holds cpu=2m more than its capacity`, w.Reason)
		}
		// Another machine that is nearer to having enough is named instead.
		_, err := p.AddMachine(omega.Machine{Name: "m1", Capacity: v(4, 8)})
		require.NoError(t, err)
		require.NoError(t, <-one)
		require.NoError(t, <-large)
		more := acquire(t, p, "h", 4)
		large = asked(tenant(t, p, "b"), v(4))
		require.Equal(t, "short of cpu: needs 4m, 0 of 4m free on m1", p.Waiters()[0].Reason)
		// One that holds as much as its capacity is not over it.
		require.NoError(t, p.DrainMachine("m1", true))
		require.NoError(t, held.Resize(v(4)))
		require.Equal(t, "short of cpu: needs 4m, 0 of 4m free on m0", p.Waiters()[0].Reason)
		release(t, held, more)
		require.NoError(t, <-large)
	})
}

// A machine with leases is known: its removal has a condition of its own.
func TestRemoveMachine_WithLeasesIsInUse(t *testing.T) {
	p := newPool(t, oneMachine(8))
	l, more := acquire(t, p, "a", 4), acquire(t, p, "a", 2)
	err := p.RemoveMachine("m0")
	require.ErrorIs(t, err, pool.ErrMachineInUse)
	require.ErrorIs(t, err, pool.ErrMachine)
	require.EqualError(t, err, `pool: remove machine "m0": leases on it: 2, want none: machine is in use`)
	require.NotErrorIs(t, p.RemoveMachine("m1"), pool.ErrMachineInUse)
	release(t, more, l)
	require.NoError(t, p.RemoveMachine("m0"))
}

// The pool may have room for more than a lease holds. The text does not deny that.
func TestResize_ThatGrowsIsRefusedAsSuch(t *testing.T) {
	p := newPool(t, oneMachine(8))
	l := acquire(t, p, "a", 2)
	for need, says := range map[resources.Vector]string{
		v(3):    `pool: resize of "a": cpu=3m, want at most cpu=2m: a lease does not grow`,
		v(9):    `pool: resize of "a": cpu=9m, want at most cpu=2m: a lease does not grow`,
		v(1, 1): `pool: resize of "a": cpu=1m,memory=1, want at most cpu=2m: a lease does not grow`,
		v():     `pool: resize of "a" to nothing: release the lease instead`,
	} {
		err := l.Resize(need)
		require.ErrorIs(t, err, pool.ErrNeed)
		require.EqualError(t, err, says)
	}
	require.Equal(t, v(2), l.Need())
	release(t, l)
}
