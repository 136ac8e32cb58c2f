package pool_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/cellsched/cellsched/omega/pool"
)

// Slot time is even for a tenant of large needs beside tenants of small ones, however
// long tasks are.
func TestPatience_GivesLargeNeedsTheirShare(t *testing.T) {
	for _, length := range []time.Duration{100 * time.Microsecond, time.Millisecond, 10 * time.Millisecond, 100 * time.Millisecond, time.Second} {
		for _, need := range []int64{2, 4, 8} {
			t.Run(fmt.Sprint(length, "/", need), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					p := newPool(t, oneMachine(8))
					loads := []*load{{tenant: tenant(t, p, "large"), need: v(need), length: length, workers: 16}}
					for i := range 3 {
						loads = append(loads, &load{
							tenant: tenant(t, p, fmt.Sprint(i)), need: v(1), workers: 16,
							length: length*9/10 + length/100*time.Duration(3*i+1),
						})
					}
					run(t, 500*length, loads...)
					all := float64(need) * loads[0].ran.Seconds()
					for _, l := range loads[1:] {
						all += l.ran.Seconds()
					}
					require.InDelta(t, 0.25, float64(need)*loads[0].ran.Seconds()/all, 0.025)
				})
			})
		}
	}
}

// A large request is served although small ones of its own tenant, and of others, keep
// arriving and go before it. Leases end in clusters, alike in each round.
func TestPatience_BoundsTheWaitBehindSmallRequestsOfTheSameTenant(t *testing.T) {
	for _, length := range []time.Duration{time.Millisecond, 100 * time.Millisecond, time.Second} {
		for others := range 3 {
			for seed := range uint64(8) {
				synctest.Test(t, func(t *testing.T) {
					p := newPool(t, oneMachine(10))
					draw := rand.New(rand.NewPCG(seed, 1))
					var loads []*load
					for i := range 1 + others {
						for range 14 {
							loads = append(loads, &load{
								tenant: tenant(t, p, fmt.Sprint(i)), need: v(1), workers: 1,
								length: length + length/100*time.Duration(draw.IntN(4)),
							})
						}
					}
					go run(t, 4*time.Second+40*length, loads...)
					time.Sleep(2 * time.Second)
					asked := time.Now()
					lease, err := p.Acquire(t.Context(), "0", v(10))
					require.NoError(t, err)
					release(t, lease)
					require.LessOrEqual(t, time.Since(asked), 2*time.Second+time.Duration(5+3*others)*length, "%v, others %d, seed %d", length, others, seed)
				})
			}
		}
	}
}

// Room is reserved for a large request of a tenant. Then another request of the
// tenant takes its limit or its token, or goes before it. Others use the room.
func TestPatience_KeepsNoRoomForARequestThatIsHeldBack(t *testing.T) {
	for name, tc := range map[string]struct {
		set   pool.Settings
		later pool.Request
	}{
		"by a limit":              {pool.Settings{Limit: v(8, 8), Limited: true}, pool.Request{Needs: needs(1)}},
		"by a rate":               {pool.Settings{Rate: 1.0 / 3600}, pool.Request{Needs: needs(1)}},
		"by a request before it":  {pool.Settings{Strict: true, Limit: v(8, 8), Limited: true}, pool.Request{Needs: needs(1), Priority: 1}},
		"by one that waits still": {pool.Settings{Strict: true}, pool.Request{Needs: needs(10), Priority: 1}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p := newPool(t, oneMachine(10))
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				held := acquire(t, p, "holder", 8)
				forever := acquire(t, p, "holder", 1)
				r := tenant(t, p, "r", tc.set)
				ask := func(request pool.Request) {
					_, _ = r.Request(ctx, request) // it is not released
				}
				go ask(pool.Request{Needs: needs(8)})
				time.Sleep(2 * time.Second) // its patience is over
				others := &load{tenant: tenant(t, p, "others"), need: v(1), length: time.Second, workers: 30}
				go run(t, time.Minute, others)
				time.Sleep(2 * time.Second)
				go ask(tc.later)
				time.Sleep(2 * time.Second)
				release(t, held)
				time.Sleep(20 * time.Second)
				require.LessOrEqual(t, p.Stats().Free[0], int64(1))
				cancel()
				time.Sleep(time.Minute)
				release(t, forever)
			})
		})
	}
}
