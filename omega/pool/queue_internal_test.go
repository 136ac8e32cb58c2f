package pool

import (
	"context"
	"errors"
	"slices"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/cellsched/cellsched/omega"
	"github.com/cellsched/cellsched/resources"
)

// The queue of a tenant is sorted by priority, then by arrival, whatever joins and
// leaves it. Each group lists its tasks that wait.
func TestQueue_IsSortedByPriorityAndArrival(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		p, err := New(Config{Machines: []omega.Machine{{Name: "m", Capacity: resources.Vector{1}}}})
		require.NoError(rt, err)
		n, err := p.Tenant("a")
		require.NoError(rt, err)
		groups := []*Group{nil, {tenant: n}, {tenant: n}}
		var want []*waiter
		most := rapid.Int32Range(0, 12).Draw(rt, "priorities")
		rt.Repeat(map[string]func(*rapid.T){
			"push": func(rt *rapid.T) {
				w := &waiter{tenant: n, need: resources.Vector{1}, priority: rapid.Int32Range(-most, most).Draw(rt, "priority")}
				w.task.group = rapid.SampledFrom(groups).Draw(rt, "group")
				n.push(w)
				i := len(want)
				for i > 0 && want[i-1].priority < w.priority {
					i--
				}
				want = slices.Insert(want, i, w)
			},
			"pop": func(rt *rapid.T) {
				if len(want) > 0 {
					i := rapid.IntRange(0, len(want)-1).Draw(rt, "i")
					n.pop(want[i])
					want = slices.Delete(want, i, i+1)
				}
			},
			"": func(rt *rapid.T) {
				var got, back []*waiter
				inGroup := make(map[*Group]int)
				for w := n.first; w != nil; w = w.next {
					got = append(got, w)
					inGroup[w.task.group]++
				}
				for w := n.last; w != nil; w = w.prev {
					back = append(back, w)
				}
				slices.Reverse(back)
				if !slices.Equal(got, want) || !slices.Equal(back, want) {
					rt.Fatalf("queue of %d, want %d in another order", len(got), len(want))
				}
				for _, g := range groups[1:] {
					require.Len(rt, g.waiting, inGroup[g])
					for i, w := range g.waiting {
						require.True(rt, w.queued && w.task.group == g && int(w.place) == i)
					}
				}
				several := len(want) > 0 && want[0].priority != want[len(want)-1].priority
				require.Equal(rt, several, len(n.runs) > 0)
			},
		})
	})
}

// lateContext is a context that ends as soon as it was asked whether it has.
type lateContext struct {
	context.Context //nolint:containedctx // it is a context itself
	end             func()
}

func (c *lateContext) Err() error {
	if err := c.Context.Err(); err != nil {
		return err
	}
	c.end()
	return nil
}

// A task that comes while the context of its group ends does not wait in the queue.
func TestGroup_TakesNoTaskOnceItsOwnWereDropped(t *testing.T) {
	errOver := errors.New("over")
	synctest.Test(t, func(t *testing.T) {
		p, err := New(Config{Machines: []omega.Machine{{Name: "m", Capacity: resources.Vector{1}}}})
		require.NoError(t, err)
		held, ok := p.TryAcquire("other", resources.Vector{1})
		require.True(t, ok)
		n, err := p.Tenant("a")
		require.NoError(t, err)
		g, _ := n.Group(t.Context())
		ctx, cancel := g.ctx, g.cancel
		g.ctx = &lateContext{ctx, func() {
			cancel(errOver)
			synctest.Wait() // for what drops the tasks
		}}
		err = g.Go(resources.Vector{1}, func(context.Context, Lease) error { return nil })
		require.ErrorIs(t, err, errOver)
		require.Zero(t, p.Stats().Waiting)
		require.ErrorIs(t, g.Wait(), errOver)
		require.NoError(t, held.Release())
	})
}

// A group that ends takes all of its tasks out of the queue, and no other ones.
func TestGroup_ItsEndDropsItsTasksAlone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, err := New(Config{Machines: []omega.Machine{{Name: "m", Capacity: resources.Vector{1}}}})
		require.NoError(t, err)
		held, ok := p.TryAcquire("other", resources.Vector{1})
		require.True(t, ok)
		n, err := p.Tenant("a")
		require.NoError(t, err)
		ctx, cancel := context.WithCancel(t.Context())
		ended, _ := n.Group(ctx)
		others, _ := n.Group(t.Context())
		ran := 0
		for i := range 500 {
			g := others
			if i%5 > 0 {
				g = ended
			}
			require.NoError(t, g.Go(resources.Vector{1}, func(context.Context, Lease) error {
				ran++
				return nil
			}))
		}
		cancel()
		require.ErrorIs(t, ended.Wait(), context.Canceled)
		require.Equal(t, 100, p.Stats().Waiting)
		require.NoError(t, held.Release())
		require.NoError(t, others.Wait())
		require.Equal(t, 100, ran)
	})
}
