package pool_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/cellsched/cellsched/locality"
	"github.com/cellsched/cellsched/omega/pool"
)

// Several needs within a guarantee are given room by preemption as one need is, each
// on one machine, and start together once all holders have released.
func TestGuarantee_GivesRoomToSeveralNeeds(t *testing.T) {
	type held struct {
		node  int64
		units int64
		class int // of its tenant
	}
	for name, c := range map[string]struct {
		machines []int64
		held     []held
		needs    []int64
		limit    int64 // of the group, 0 for none
		gone     []int // preempted
	}{
		"on one machine":               {[]int64{4}, []held{{0, 1, 0}, {0, 1, 0}, {0, 1, 0}, {0, 1, 0}}, []int64{2, 1}, 0, []int{1, 2, 3}},
		"on two machines":              {[]int64{3, 3}, []held{{0, 3, 0}, {1, 3, 0}}, []int64{2, 2}, 0, []int{0, 1}},
		"with what is free":            {[]int64{4, 2}, []held{{0, 3, 0}, {1, 1, 0}}, []int64{3, 1}, 0, []int{0}},
		"the largest first":            {[]int64{2, 3}, []held{{0, 2, 0}, {1, 3, 0}}, []int64{1, 3, 1}, 0, []int{0, 1}},
		"where the first fits":         {[]int64{4, 2}, []held{{0, 2, 0}, {0, 2, 0}, {1, 1, 0}, {1, 1, 0}}, []int64{2, 2, 2}, 0, []int{0, 1, 2, 3}},
		"not a part of them":           {[]int64{3, 3}, []held{{0, 3, 0}, {1, 3, 1}}, []int64{2, 2}, 0, nil},
		"beside a safe lease":          {[]int64{4, 4}, []held{{0, 2, 1}, {0, 2, 0}, {1, 2, 1}, {1, 2, 0}}, []int64{2, 2}, 0, []int{1, 3}},
		"more than is guaranteed":      {[]int64{8}, []held{{0, 4, 0}, {0, 4, 0}}, []int64{4, 4}, 0, nil},
		"at the limit of a group":      {[]int64{8}, []held{{0, 1, 0}, {0, 1, 0}, {0, 1, 0}}, []int64{1, 1}, 4, []int{2}},
		"where the best does not do":   {[]int64{3, 4}, []held{{0, 3, 0}}, []int64{3, 2, 2}, 0, []int{0}},
		"beside free room at a limit":  {[]int64{4, 4}, []held{{1, 1, 0}, {1, 1, 0}, {1, 1, 0}, {1, 1, 0}}, []int64{1, 1}, 4, []int{2, 3}},
		"at the limit, on two":         {[]int64{3, 3}, []held{{0, 2, 0}, {1, 1, 0}, {1, 1, 0}}, []int64{2, 1}, 4, []int{0, 2}},
		"at the limit of higher class": {[]int64{8}, []held{{0, 1, 1}, {0, 1, 1}, {0, 1, 1}}, []int64{1, 1}, 4, nil},
	} {
		for _, strict := range []bool{false, true} {
			t.Run(name, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					p := newPool(t, pool.Config{Machines: machines(c.machines...), Patience: -1})
					g := tenant(t, p, "g")
					guarantee := min(7, p.Stats().Total[0])
					if c.limit > 0 {
						guarantee = c.limit
						require.NoError(t, g.Set(limited(c.limit, 0)))
					}
					a := within(t, g, "a", pool.Settings{Guarantee: v(guarantee), Strict: strict})
					low, high := within(t, g, "low"), within(t, g, "high", pool.Settings{Priority: 1})
					var leases []pool.Lease
					for _, h := range c.held {
						n := low
						if h.class > 0 {
							n = high
						}
						l, err := n.Request(t.Context(), pool.Request{Needs: needs(h.units), Prefer: []locality.Node{locality.Node(h.node)}, Required: true})
						require.NoError(t, err)
						leases = append(leases, l...)
					}
					granted := request(t, a, 0, c.needs...)
					behind := submit(t, a, 1)
					synctest.Wait()
					var gone []int
					for i, l := range leases {
						if l.Context().Err() != nil {
							gone = append(gone, i)
						}
					}
					if c.gone == nil {
						if strict {
							require.Empty(t, gone, "none behind it starts before it")
							require.False(t, behind())
						}
						return
					}
					require.Subset(t, gone, c.gone)
					for _, i := range c.gone {
						require.False(t, granted())
						release(t, leases[i])
					}
					require.True(t, granted())
				})
			})
		}
	}
}

// It is restored within the grace, and its room is not passed by small requests of
// others meanwhile.
func TestGuarantee_OfSeveralNeedsIsNotPassed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPool(t, pool.Config{Machines: machines(4, 4), Patience: -1, Grace: 10 * time.Second})
		a, b := tenant(t, p, "a", pool.Settings{Guarantee: v(6)}), tenant(t, p, "b")
		all, end := context.WithCancel(t.Context())
		for range 8 { // tasks that end when they are told to, and others that wait
			require.NoError(t, b.Go(all, v(1), func(ctx context.Context, _ pool.Lease) error {
				<-ctx.Done()
				time.Sleep(5 * time.Second)
				return nil
			}))
		}
		for range 100 {
			require.NoError(t, b.Go(all, v(1), func(ctx context.Context, _ pool.Lease) error {
				select {
				case <-ctx.Done():
				case <-time.After(time.Minute):
				}
				return nil
			}))
		}
		granted := request(t, a, 0, 3, 3)
		require.False(t, granted())
		require.EqualValues(t, 6, p.Stats().Machines[0].Reserved[0]+p.Stats().Machines[1].Reserved[0])
		time.Sleep(5*time.Second + time.Millisecond)
		require.True(t, granted())
		require.Empty(t, p.Overdue())
		require.EqualValues(t, 6, heldBy(t, p, "a"))
		require.Zero(t, p.Stats().Machines[0].Reserved)
		end()
		time.Sleep(time.Minute)
	})
}

// A limit of a kind that the guarantee does not name is not made room within.
func TestGuarantee_AtALimitOfAKindThatItDoesNotNameTakesNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPool(t, oneMachine(10))
		g := tenant(t, p, "g", pool.Settings{Limit: v(10, 4), Limited: true})
		held := take(t, within(t, g, "c"), 4, 0, 1)
		owed := submit(t, within(t, g, "b", pool.Settings{Guarantee: v(2)}), 1, 1)
		require.False(t, owed())
		require.Empty(t, preempted(held))
		release(t, held[0])
		require.True(t, owed())
		release(t, held[1:]...)
	})
}

// A need for which no machine would do hides no request with smaller needs, though they
// add up to more.
func TestGuarantee_OfSeveralNeedsIsGivenBesideALargerOne(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPool(t, pool.Config{Machines: machines(4, 4), Patience: -1})
		safe := tenant(t, p, "safe", pool.Settings{Guarantee: v(4)})
		gold := tenant(t, p, "gold", pool.Settings{Guarantee: v(4)})
		var protected, others []pool.Lease
		for node := range locality.Node(2) {
			for name, leases := range map[string]*[]pool.Lease{"safe": &protected, "batch": &others} {
				of := safe
				if name == "batch" {
					of = tenant(t, p, name)
				}
				got, err := of.Request(t.Context(), pool.Request{Needs: needs(2), Prefer: []locality.Node{node}, Required: true})
				require.NoError(t, err)
				*leases = append(*leases, got...)
			}
		}
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		large := make(chan error, 1)
		go func() {
			_, err := gold.Acquire(ctx, v(3)) // two of a machine are all that can be preempted
			large <- err
		}()
		synctest.Wait()
		for _, l := range others {
			require.NoError(t, l.Context().Err())
		}
		served := make(chan []pool.Lease, 1)
		go func() {
			leases, _ := gold.Request(t.Context(), pool.Request{Needs: needs(2, 2)})
			served <- leases
		}()
		synctest.Wait()
		for _, l := range others {
			require.ErrorIs(t, context.Cause(l.Context()), pool.ErrPreempted)
		}
		release(t, others...)
		leases := <-served
		require.Len(t, leases, 2)
		cancel()
		require.Error(t, <-large)
		release(t, append(leases, protected...)...)
	})
}
