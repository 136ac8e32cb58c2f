package pool_test

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/cellsched/cellsched/omega/pool"
)

// A lease is not preempted where another one, that is needed anyhow, makes its room
// unnecessary.
func TestGuarantee_PreemptsNoLeaseOfAKindThatIsThere(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cfg := pool.Config{Machines: machines(2), Grace: time.Second}
		cfg.Machines[0].Capacity = v(2, 1)
		p := newPool(t, cfg)
		owner := tenant(t, p, "owner", pool.Settings{Guarantee: v(1, 1)})
		memory := acquire(t, p, "a", 0, 1)
		older, newer := acquire(t, p, "a", 1), acquire(t, p, "a", 1)
		got := queue(t, p, owner.Name(), v(1, 1))
		require.NoError(t, older.Context().Err())
		require.ErrorIs(t, context.Cause(newer.Context()), pool.ErrPreempted)
		require.ErrorIs(t, context.Cause(memory.Context()), pool.ErrPreempted)
		release(t, memory, newer)
		release(t, arrived(got), older)
	})
}

// hooked is a context that calls functions when it is asked.
type hooked struct {
	context.Context //nolint:containedctx // it is a context itself
	done, err       func()
}

func (h *hooked) Done() <-chan struct{} {
	if f := h.done; f != nil {
		h.done = nil
		f()
	}
	return h.Context.Done()
}

func (h *hooked) Err() error {
	if f := h.err; f != nil {
		h.err = nil
		f()
	}
	return h.Context.Err()
}

// Goroutines that wait for the end of a lease when the first one of them makes its
// context, or when it ends, all learn of the end.
func TestContext_EndsForAllThatWaitForIt(t *testing.T) {
	p := newPool(t, pool.Config{Machines: machines(1)})
	n := tenant(t, p, "a")
	parent := &hooked{Context: t.Context()}
	var inner, outer <-chan struct{}
	require.NoError(t, n.Do(parent, v(1), func(ctx context.Context, _ pool.Lease) error {
		parent.done = func() { inner = ctx.Done() }
		outer = ctx.Done()
		return nil
	}))
	<-inner
	<-outer

	var during <-chan struct{}
	require.NoError(t, n.Do(parent, v(1), func(ctx context.Context, _ pool.Lease) error {
		parent.err = func() { during = ctx.Done() }
		return nil
	}))
	require.NotNil(t, during)
	<-during
}

// Names that are used once do not add up beside tenants that hold leases. Some are
// remembered for statistics.
func TestTenant_NamesUsedOnceAreForgottenBesideManyThatHold(t *testing.T) {
	p := newPool(t, pool.Config{Machines: machines(1 << 20)})
	const held = 3000
	for i := range 1000 {
		release(t, acquire(t, p, fmt.Sprint("early ", i), 1))
	}
	require.Len(t, p.Stats().Tenants, 1000)
	for i := range held {
		acquire(t, p, fmt.Sprint("held ", i), 1)
	}
	for i := range 10 * held {
		release(t, acquire(t, p, fmt.Sprint("once ", i), 1))
	}
	require.LessOrEqual(t, len(p.Stats().Tenants), 3*held)
}
