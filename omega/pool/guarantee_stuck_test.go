package pool_test

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/cellsched/cellsched/locality"
	"github.com/cellsched/cellsched/omega/pool"
	"github.com/cellsched/cellsched/resources"
)

// prompt lets holders release their leases as soon as they are preempted.
func prompt(leases ...pool.Lease) {
	for _, l := range leases {
		context.AfterFunc(l.Context(), func() { _ = l.Release() })
	}
}

// overdue returns those of some leases that Overdue names, of all that it names.
func overdue(t *testing.T, p *pool.Pool, of ...pool.Lease) (some []pool.Lease) {
	t.Helper()
	late := p.Overdue()
	for _, l := range of {
		if _, named := late[l]; named {
			some = append(some, l)
		}
	}
	require.Len(t, late, len(some), "Overdue names no other lease")
	return some
}

// Each holder that ignores its preemption delays the request by one grace: then other
// room is taken back, of a lease that was not preempted yet.
func TestGuarantee_WaitsOneGraceForEachHolderThatDoesNotRelease(t *testing.T) {
	for stuck := range 4 {
		t.Run(fmt.Sprint(stuck), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p := newPool(t, pool.Config{Machines: machines(4), Grace: time.Second})
				gold := tenant(t, p, "gold", pool.Settings{Guarantee: v(1)})
				held := take(t, tenant(t, p, "batch"), 4, 1)
				prompt(held[:4-stuck]...) // the youngest, which goes first, ignores it
				start := time.Now()
				ctx, cancel := context.WithTimeout(t.Context(), 24*time.Hour)
				defer cancel()
				l, err := gold.Acquire(ctx, v(1))
				require.NoError(t, err)
				require.Equal(t, time.Duration(stuck)*(time.Second+time.Nanosecond), time.Since(start))
				require.Len(t, overdue(t, p, held...), stuck)
				require.Zero(t, p.Stats().Free[0])
				require.Zero(t, p.Stats().Machines[0].Reserved)
				time.Sleep(time.Hour)
				require.Len(t, preempted(held), min(stuck+1, 4), "none is preempted for a request that was served")
				for _, l := range held[4-stuck:] { // late, and none waits
					release(t, l)
				}
				require.EqualValues(t, stuck, p.Stats().Free[0])
				require.Empty(t, p.Overdue())
				release(t, l)
				for _, l := range held {
					_ = l.Release()
				}
				require.Equal(t, v(4, 4), p.Stats().Free)
				require.NoError(t, p.Close(t.Context()))
			})
		})
	}
}

// Where all holders are stuck, one of them that releases late serves the request.
func TestGuarantee_OfStuckHoldersAloneIsRestoredByALateRelease(t *testing.T) {
	for name, first := range map[string]int{"the first one": 2, "a later one": 0} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p := newPool(t, pool.Config{Machines: machines(3), Grace: time.Second})
				gold := tenant(t, p, "gold", pool.Settings{Guarantee: v(1)})
				batch := tenant(t, p, "batch")
				held := take(t, batch, 3, 1)
				runs, other := submit(t, gold, 1), submit(t, batch, 1)
				time.Sleep(time.Second + time.Nanosecond)
				synctest.Wait()
				require.Len(t, preempted(held), 2, "one more for each grace")
				time.Sleep(time.Minute)
				require.Len(t, overdue(t, p, held...), 3)
				require.False(t, runs())
				release(t, held[first])
				require.True(t, runs())
				require.False(t, other())
				release(t, held[1])
				require.True(t, other(), "the room goes to the next request")
				require.Len(t, p.Overdue(), 1)
			})
		})
	}
}

// A stuck holder that releases after all serves the request for which it was preempted,
// and the lease that was preempted in its place makes room for others.
func TestGuarantee_TakesTheRoomOfAHolderThatReleasesLate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPool(t, pool.Config{Machines: machines(4), Grace: 10 * time.Second, Patience: -1})
		gold := tenant(t, p, "gold", pool.Settings{Guarantee: v(1)})
		batch := tenant(t, p, "batch")
		held := take(t, batch, 4, 1)
		runs, other := submit(t, gold, 1), submit(t, batch, 1)
		time.Sleep(11 * time.Second)
		gone := preempted(held)
		require.Equal(t, held[2:], gone)
		release(t, held[3])
		require.True(t, runs(), "late")
		require.False(t, other())
		require.Zero(t, p.Stats().Machines[0].Reserved)
		release(t, held[2])
		require.True(t, other())
		time.Sleep(time.Minute)
		require.Empty(t, preempted(held[:2]))
	})
}

// Several needs, several requests on one machine and required machines get other room
// in the same way.
func TestGuarantee_TakesOtherRoomForEachSortOfRequest(t *testing.T) {
	type ask struct {
		needs   []int64
		prefer  []locality.Node
		require bool
	}
	for name, c := range map[string]struct {
		machines []int64
		asks     []ask
		stuck    []int // of the leases of one unit, by number: machines are filled in turn
		graces   int   // until all run
		gone     int   // leases preempted until then
	}{
		"one need, its machine required": {[]int64{3, 3}, []ask{{[]int64{1}, []locality.Node{1}, true}}, []int{5, 4}, 2, 3},
		"a need of two units":            {[]int64{4}, []ask{{needs: []int64{2}}}, []int{3}, 1, 3},
		"both of its holders stuck":      {[]int64{4}, []ask{{needs: []int64{2}}}, []int{3, 2}, 1, 4},
		"two requests, one holder stuck": {[]int64{4}, []ask{{needs: []int64{1}}, {needs: []int64{1}}}, []int{3}, 1, 3},
		"two requests, two stuck":        {[]int64{4}, []ask{{needs: []int64{1}}, {needs: []int64{1}}}, []int{3, 2}, 1, 4},
		"two needs":                      {[]int64{2, 2}, []ask{{needs: []int64{1, 1}}}, []int{1}, 1, 3},
		"two needs, one required": {
			[]int64{3, 3}, []ask{{[]int64{1, 1}, []locality.Node{1}, true}}, []int{5}, 1, 3,
		},
		"a need that moves to another machine": {[]int64{2, 2}, []ask{{needs: []int64{2}}}, []int{1}, 1, 4},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p := newPool(t, pool.Config{Machines: machines(c.machines...), Grace: time.Second, Patience: -1})
				gold := tenant(t, p, "gold", pool.Settings{Guarantee: v(2)})
				var units int64
				for _, n := range c.machines {
					units += n
				}
				held := take(t, tenant(t, p, "batch"), int(units), 1)
				for i, l := range held {
					if !slices.Contains(c.stuck, i) {
						prompt(l)
					}
				}
				start := time.Now()
				done := make(chan time.Duration, len(c.asks))
				for _, a := range c.asks {
					go func() {
						if _, err := gold.Request(t.Context(), pool.Request{Needs: needs(a.needs...), Prefer: a.prefer, Required: a.require}); err == nil {
							done <- time.Since(start)
						}
					}()
				}
				time.Sleep(time.Duration(c.graces) * (time.Second + time.Nanosecond))
				synctest.Wait()
				require.Len(t, done, len(c.asks))
				require.Len(t, preempted(held), c.gone)
				require.Len(t, overdue(t, p, held...), len(c.stuck))
				for _, m := range p.Stats().Machines {
					require.Zero(t, m.Reserved)
				}
				time.Sleep(time.Minute)
				require.Len(t, preempted(held), c.gone)
				for _, l := range held {
					_ = l.Release()
				}
			})
		})
	}
}

// A request that counts on a lease which was preempted for another one gets other room,
// too, when that lease is late.
func TestGuarantee_CountsOnNoLateLeaseOfAnotherRequest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPool(t, pool.Config{Machines: machines(3), Grace: 10 * time.Second, Patience: -1})
		gold := tenant(t, p, "gold", pool.Settings{Guarantee: v(1)})
		held := take(t, tenant(t, p, "batch"), 3, 1)
		prompt(held[:2]...)
		ctx, cancel := context.WithTimeout(t.Context(), 4*time.Second)
		defer cancel()
		_, err := gold.Acquire(ctx, v(1))
		require.ErrorIs(t, err, context.DeadlineExceeded)
		runs := submit(t, gold, 1)
		require.Len(t, preempted(held), 1, "its room is to come")
		time.Sleep(6*time.Second - time.Nanosecond)
		require.False(t, runs())
		time.Sleep(2 * time.Nanosecond)
		require.True(t, runs())
		require.Len(t, preempted(held), 2)
	})
}

// Room that came free beside a late lease goes to others where no other room can be
// taken back, and back to the guarantee when there is enough.
func TestGuarantee_WithoutOtherRoomLeavesWhatIsFreeToOthers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPool(t, pool.Config{Machines: machines(3), Grace: time.Second, Patience: -1})
		gold := tenant(t, p, "gold", pool.Settings{Guarantee: v(2)})
		take(t, tenant(t, p, "high", pool.Settings{Priority: 1}), 1, 1)
		batch := tenant(t, p, "batch")
		held := take(t, batch, 2, 1)
		runs, other := submit(t, gold, 2), make(chan pool.Lease, 1)
		go func() {
			l, err := batch.Acquire(t.Context(), v(1))
			if err == nil {
				other <- l
				<-l.Context().Done()
				_ = l.Release()
			}
		}()
		release(t, held[0])
		synctest.Wait()
		require.Empty(t, other)
		time.Sleep(time.Second + time.Nanosecond)
		synctest.Wait()
		require.Len(t, other, 1)
		require.Zero(t, p.Stats().Machines[0].Reserved)
		time.Sleep(time.Minute)
		require.NoError(t, (<-other).Context().Err(), "it would not do")
		release(t, held[1])
		require.True(t, runs(), "both are there now")
	})
}

// A late lease is counted once if it shrinks, or if its machine changes.
func TestGuarantee_CountsALateLeaseThatShrinksOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPool(t, pool.Config{Machines: machines(6), Grace: time.Second, Patience: -1})
		gold := tenant(t, p, "gold", pool.Settings{Guarantee: v(4)})
		batch := tenant(t, p, "batch")
		held := append(take(t, batch, 2, 1), take(t, batch, 1, 4)...)
		first := submit(t, gold, 1)
		time.Sleep(time.Second + time.Nanosecond)
		synctest.Wait()
		require.Equal(t, held[1:], preempted(held))
		require.NoError(t, held[2].Resize(v(3)))
		require.True(t, first())
		second := submit(t, gold, 1)
		require.False(t, second(), "the lease in its grace is to come")
		require.NoError(t, held[0].Context().Err())
		require.NoError(t, p.ResizeMachine("m0", v(6, 6)))
		release(t, held[1])
		require.True(t, second())
		third := submit(t, gold, 2)
		require.False(t, third())
		require.NoError(t, held[0].Context().Err(), "one unit would not do")
		release(t, held[2])
		require.True(t, third())
		require.EqualValues(t, 1, p.Stats().Free[0])
		release(t, held[0])
		require.Equal(t, v(2, 6), p.Stats().Free)
	})
}

// Other room is taken back with the token that the request was promised, not with one
// more.
func TestGuarantee_PassesALateLeaseWithTheSameToken(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPool(t, pool.Config{Machines: machines(6), Grace: time.Second, Patience: -1})
		gold := tenant(t, p, "gold", pool.Settings{Guarantee: v(4), Rate: 1.0 / 3600, Burst: 2})
		held := take(t, tenant(t, p, "batch"), 6, 1)
		starts := []func() bool{submit(t, gold, 1), submit(t, gold, 1), submit(t, gold, 1)}
		running := func() (n int) {
			for _, runs := range starts {
				if runs() {
					n++
				}
			}
			return n
		}
		require.Len(t, preempted(held), 2)
		for round := range 2 {
			time.Sleep(time.Second + time.Nanosecond)
			synctest.Wait()
			require.Len(t, preempted(held), 4+2*round, "two tokens, two promises")
		}
		time.Sleep(time.Minute)
		require.Zero(t, running())
		release(t, held[4:]...)
		require.Equal(t, 2, running())
		release(t, held[:4]...)
		require.Equal(t, 2, running(), "there is no third token")
		time.Sleep(time.Hour + time.Second)
		require.Equal(t, 3, running())
	})
}

// A lease that is released in its grace stops the clock: nothing else is preempted.
func TestGuarantee_TakesNoOtherRoomForHoldersThatRelease(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPool(t, pool.Config{Machines: machines(6), Grace: 10 * time.Second, Patience: -1})
		gold := tenant(t, p, "gold", pool.Settings{Guarantee: v(3)})
		held := take(t, tenant(t, p, "batch"), 6, 1)
		cooperative(held, 9*time.Second)
		var starts []func() bool
		for range 3 {
			starts = append(starts, submit(t, gold, 1))
			time.Sleep(4 * time.Second)
		}
		time.Sleep(time.Minute)
		for _, runs := range starts {
			require.True(t, runs())
		}
		require.Empty(t, preempted(held[:3]))
		require.Empty(t, p.Overdue())
		release(t, held[:3]...)
		time.Sleep(10 * time.Second) // the holders end
		require.Equal(t, resources.Vector{3, 6}, p.Stats().Free)
	})
}

// The reason of a request for which room is taken back names the tenant that it waits for.
func TestWaiters_NameTheHolderOfAPreemptedLease(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPool(t, pool.Config{Machines: machines(3), Grace: time.Second, Patience: -1})
		held := take(t, tenant(t, p, "batch"), 3, 1)
		submit(t, tenant(t, p, "gold", pool.Settings{Guarantee: v(2)}), 2)
		const room = `room on "m0" is being taken back for it: preempted leases that are not released: `
		require.Equal(t, room+`2, the first of "batch"`, p.Waiters()[0].Reason)
		release(t, held[2])
		require.Equal(t, room+`1, the first of "batch"`, p.Waiters()[0].Reason)
	})
}
