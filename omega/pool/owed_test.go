package pool_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/cellsched/cellsched/omega/pool"
)

// A request that is owed room is not kept waiting by a later one of its tenant that
// the guarantee covers, too: what is free already is for the first.
func TestGuarantee_ALaterRequestDoesNotTakeWhatIsOwedToTheFirst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPool(t, pool.Config{Machines: machines(8), Grace: 10 * time.Second})
		a := tenant(t, p, "a", pool.Settings{Guarantee: v(7)})
		first, second := acquire(t, p, "b", 5), acquire(t, p, "c", 2) // one unit is free
		granted := make(chan int64, 2)
		ask := func(need int64) {
			go func() {
				if _, err := a.Acquire(t.Context(), v(need)); err == nil {
					granted <- need
				}
			}()
			synctest.Wait()
		}
		ask(6)
		require.Error(t, first.Context().Err(), "preempted")
		require.NoError(t, second.Context().Err())
		ask(1)
		require.Empty(t, granted, "the free unit is for the first")
		require.Error(t, second.Context().Err(), "preempted")
		release(t, first)
		synctest.Wait()
		require.EqualValues(t, 6, <-granted)
		release(t, second)
		require.EqualValues(t, 1, <-granted)
	})
}

// A holder that does not release holds up the request that its lease was preempted
// for, and no other one.
func TestGuarantee_ALateHolderHoldsUpOneRequest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPool(t, pool.Config{Machines: machines(8), Grace: 10 * time.Second})
		a, b := tenant(t, p, "a", pool.Settings{Guarantee: v(4)}), tenant(t, p, "b", pool.Settings{Guarantee: v(3)})
		late, prompt := acquire(t, p, "c", 4), acquire(t, p, "d", 3)
		granted := make(chan string, 2)
		ask := func(n *pool.Tenant, need int64) {
			go func() {
				if _, err := n.Acquire(t.Context(), v(need)); err == nil {
					granted <- n.Name()
				}
			}()
			synctest.Wait()
		}
		ask(a, 4) // from the one unit that is free and from c
		ask(b, 3)
		require.Error(t, late.Context().Err())
		require.Error(t, prompt.Context().Err())
		release(t, prompt)
		require.Equal(t, "b", <-granted)
		time.Sleep(time.Hour)
		require.Empty(t, granted)
		require.Contains(t, p.Overdue(), late)
		release(t, late)
		require.Equal(t, "a", <-granted)
	})
}

// A group's guarantee that covers a request of one tenant gives way to the
// guarantee of another tenant in the group, while the first does not hold the room.
func TestGuarantee_OfATenantGoesBeforeThatOfItsGroup(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPool(t, pool.Config{Machines: machines(4), Grace: 10 * time.Second})
		org := tenant(t, p, "org", pool.Settings{Guarantee: v(3)})
		x, err := org.Tenant("x")
		require.NoError(t, err)
		y, err := org.Tenant("y", pool.Settings{Guarantee: v(3)})
		require.NoError(t, err)
		kept, given := acquire(t, p, "a", 1), acquire(t, p, "a", 1)
		granted := make(chan string, 2)
		ask := func(n *pool.Tenant, need int64) {
			go func() {
				if _, err := n.Acquire(t.Context(), v(need)); err == nil { // x waits until the end
					granted <- n.Name()
				}
			}()
			synctest.Wait()
		}
		ask(x, 3)
		require.NoError(t, kept.Context().Err())
		require.Error(t, given.Context().Err())
		require.Empty(t, granted)
		ask(y, 2)
		require.Equal(t, "org/y", <-granted, "at once: two units are free")
		require.NoError(t, kept.Context().Err())
		release(t, given)
		require.Empty(t, granted)
	})
}

// waits asks for needs one after the other, and returns what is granted.
func waits(t *testing.T, n *pool.Tenant, needs ...int64) chan int64 {
	t.Helper()
	granted := make(chan int64, len(needs))
	for _, need := range needs {
		go func() {
			if _, err := n.Acquire(t.Context(), v(need)); err == nil {
				granted <- need
			}
		}()
		synctest.Wait()
	}
	return granted
}

// What is taken back for a strict tenant is granted in its order, and nothing is
// taken back for a request behind one that the guarantee does not cover.
func TestGuarantee_OfAStrictTenantKeepsItsOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPool(t, pool.Config{Machines: machines(8), Grace: 10 * time.Second})
		strict := pool.Settings{Guarantee: v(4), Strict: true}
		late, prompt, rest := acquire(t, p, "c", 3), acquire(t, p, "d", 1), acquire(t, p, "e", 4)
		granted := waits(t, tenant(t, p, "a", strict), 3, 1)
		require.Error(t, rest.Context().Err(), "it holds the most")
		release(t, rest)
		synctest.Wait()
		require.Len(t, granted, 2)
		require.NoError(t, prompt.Context().Err())
		require.NoError(t, late.Context().Err())
	})
	synctest.Test(t, func(t *testing.T) {
		p := newPool(t, pool.Config{Machines: machines(4), Grace: 10 * time.Second})
		late, prompt := acquire(t, p, "c", 3), acquire(t, p, "d", 1)
		granted := waits(t, tenant(t, p, "a", pool.Settings{Guarantee: v(4), Strict: true}), 3, 1)
		require.Error(t, late.Context().Err())
		require.Error(t, prompt.Context().Err())
		release(t, prompt)
		synctest.Wait()
		require.Empty(t, granted)
		release(t, late)
		synctest.Wait()
		require.Len(t, granted, 2)
	})
	synctest.Test(t, func(t *testing.T) {
		p := newPool(t, oneMachine(8))
		held := acquire(t, p, "c", 8)
		granted := waits(t, tenant(t, p, "a", pool.Settings{Guarantee: v(3), Strict: true}), 5, 1)
		require.NoError(t, held.Context().Err())
		require.Empty(t, granted)
	})
}

// Where a machine shrinks, the room that is left goes to the request that was owed
// first.
func TestGuarantee_OnAMachineThatShrinksIsRestoredInOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPool(t, pool.Config{Machines: machines(8), Grace: 10 * time.Second})
		var held [4]pool.Lease
		for i := range held {
			held[i] = acquire(t, p, "c", 2)
		}
		a := waits(t, tenant(t, p, "a", pool.Settings{Guarantee: v(4)}), 4) // from the last two
		b := waits(t, tenant(t, p, "b", pool.Settings{Guarantee: v(4)}), 4)
		release(t, held[3], held[1])
		require.NoError(t, p.ResizeMachine("m0", v(6, 6)))
		release(t, held[2])
		synctest.Wait()
		require.Len(t, a, 1)
		require.Empty(t, b)
	})
}

// What a request that gives up has got, and what a lease that shrinks leaves, go to
// the next request that is owed.
func TestGuarantee_RoomThatIsLeftGoesToTheNext(t *testing.T) {
	for name, leave := range map[string]func(context.CancelFunc, pool.Lease){
		"by a request that gives up": func(cancel context.CancelFunc, _ pool.Lease) { cancel() },
		"by a lease that shrinks":    func(_ context.CancelFunc, l pool.Lease) { _ = l.Resize(v(1)) },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p := newPool(t, pool.Config{Machines: machines(8), Grace: 10 * time.Second})
				b := tenant(t, p, "b", pool.Settings{Guarantee: v(4)})
				var held [4]pool.Lease
				for i := range held {
					held[i] = acquire(t, p, "c", 2)
				}
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				a := tenant(t, p, "a", pool.Settings{Guarantee: v(4)})
				go func() { _, _ = a.Acquire(ctx, v(4)) }()
				synctest.Wait()
				granted := waits(t, b, 3)
				release(t, held[3], held[1]) // two for each
				require.Empty(t, granted)
				leave(cancel, held[0])
				synctest.Wait()
				require.Len(t, granted, 1)
			})
		})
	}
}

// A guarantee may take both what is owed to another request and leases: the promise
// comes first, and the leases after it are preempted, too.
func TestGuarantee_TakesAPromiseAndALeaseTogether(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPool(t, pool.Config{Machines: machines(6), Grace: 10 * time.Second, Patience: -1})
		org := tenant(t, p, "org", pool.Settings{Guarantee: v(4)})
		x, err := org.Tenant("x", pool.Settings{Guarantee: v(4)})
		require.NoError(t, err)
		y, err := org.Tenant("y")
		require.NoError(t, err)
		held := []pool.Lease{acquire(t, p, "b", 2), acquire(t, p, "b", 2), acquire(t, p, "b", 2)}
		later := submit(t, y, 2) // within the guarantee of the group
		require.Error(t, held[2].Context().Err())
		require.NoError(t, held[1].Context().Err())
		first := submit(t, x, 4)
		require.Error(t, held[1].Context().Err(), "the promise to y is not enough")
		require.NoError(t, held[0].Context().Err())
		release(t, held[2], held[1])
		require.True(t, first())
		require.False(t, later())
		release(t, held[0])
		require.True(t, later())
	})
}
