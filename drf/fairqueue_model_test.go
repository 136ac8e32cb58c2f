package drf_test

import (
	"fmt"
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/cellsched/cellsched/drf"
	"github.com/cellsched/cellsched/resources"
)

func TestFairQueue_BehavesLikeTheDefinition(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		q, err := drf.NewFairQueue(resources.Vector{8, 8})
		require.NoError(t, err)
		m := &fairModel{}
		at := func() time.Duration { return time.Duration(m.now) }
		vector := func(need [2]int64) resources.Vector { return resources.Vector{need[0], need[1]} }
		pick := func(t *rapid.T, ok func(*modelTenant) bool) *modelTenant {
			var some []*modelTenant
			for _, n := range m.nodes {
				if ok(n) {
					some = append(some, n)
				}
			}
			if len(some) == 0 {
				t.Skip("none")
			}
			return rapid.SampledFrom(some).Draw(t, "tenant")
		}
		drawNeed := func(t *rapid.T) [2]int64 {
			return rapid.SampledFrom([][2]int64{{1, 0}, {0, 1}, {1, 1}, {2, 1}, {1, 4}, {8, 0}}).Draw(t, "need")
		}
		start := func(t *rapid.T, n *modelTenant) {
			run, err := startRun(q, n.user, vector(n.need), at())
			require.NoError(t, err)
			m.start(n, run)
		}
		serve := func(t *rapid.T, free [2]int64) (*modelTenant, bool) {
			fits := func(n *modelTenant) bool { return n.need[0] <= free[0] && n.need[1] <= free[1] }
			m.advance(m.now)
			want := m.first(fits)
			most := vector(free)
			u, ok := q.Pick(at(), &most, func(u drf.User) bool {
				for _, n := range m.nodes {
					if n.user == u {
						return fits(n)
					}
				}
				panic("unknown")
			})
			require.Equal(t, want != nil, ok)
			if ok {
				require.Equal(t, want.user, u, "key %v", m.key(want))
				start(t, want)
			}
			return want, ok
		}
		end := func(t *rapid.T, n *modelTenant, k *modelTask) {
			// Learned lengths have a test of their own.
			require.NoError(t, q.End(k.run, at()))
			require.NoError(t, q.Expect(n.user, time.Duration(n.expected)))
			m.advance(m.now)
			k.ended = m.clock
			m.review(n)
		}
		t.Repeat(map[string]func(*rapid.T){
			"add": func(t *rapid.T) {
				if len(m.nodes) == 12 {
					t.Skip("enough")
				}
				w := rapid.SampledFrom([]float64{1, 1, 2, 4, 0.5}).Draw(t, "weight")
				u, err := q.Add(drf.User{}, w)
				require.NoError(t, err)
				e := float64(rapid.IntRange(0, 8).Draw(t, "expected")) * 1024
				require.NoError(t, q.Expect(u, time.Duration(e)))
				m.nodes = append(m.nodes, &modelTenant{user: u, weight: w, expected: e})
			},
			"guarantee or limit": func(t *rapid.T) {
				n := pick(t, func(n *modelTenant) bool { return !n.waits })
				n.grant = int64(rapid.IntRange(0, 3).Draw(t, "guarantee"))
				n.limit = int64(rapid.IntRange(0, 8).Draw(t, "limit"))
				require.NoError(t, q.SetGuarantee(n.user, resources.Vector{n.grant}))
				most := resources.Vector{n.limit, resources.MaxQuantity}
				m.advance(m.now)
				require.NoError(t, q.SetLimit(n.user, most, n.limit > 0, at()))
			},
			"wait": func(t *rapid.T) {
				n := pick(t, func(*modelTenant) bool { return true })
				need := drawNeed(t)
				require.NoError(t, q.Wait(n.user, vector(need), at()))
				m.advance(m.now)
				if n.waits && n.need == need {
					return
				}
				n.need = need
				if !n.waits {
					m.turn++
					n.since = m.turn
					m.enter(n, false)
				}
				m.review(n)
			},
			"throttle": func(t *rapid.T) {
				n := pick(t, func(*modelTenant) bool { return true })
				n.throttled = !n.throttled
				require.NoError(t, q.Throttle(n.user, n.throttled, at()))
				m.advance(m.now)
				m.review(n)
			},
			"park": func(t *rapid.T) {
				n := pick(t, func(n *modelTenant) bool { return n.waits })
				require.NoError(t, q.Park(n.user, at()))
				m.advance(m.now)
				counted := !n.restrained
				n.waits, n.restrained = false, false
				if counted {
					m.calm()
				}
			},
			"pick": func(t *rapid.T) {
				serve(t, [2]int64{int64(rapid.IntRange(0, 8).Draw(t, "cpu")), int64(rapid.IntRange(0, 8).Draw(t, "memory"))})
			},
			// Rounds in which there is little memory or none: tenants that need it fall
			// behind, and are served now and then.
			"rounds": func(t *rapid.T) {
				memory := int64(rapid.IntRange(0, 2).Draw(t, "memory"))
				every := rapid.IntRange(1, 9).Draw(t, "every")
				for round := range rapid.IntRange(1, 40).Draw(t, "rounds") {
					m.now += 16 * 1024
					for _, n := range m.nodes {
						for _, k := range n.tasks {
							if k.ended < 0 {
								end(t, n, k)
							}
						}
					}
					free := [2]int64{8}
					if round%every == 0 {
						free[1] = memory
					}
					for range 8 {
						n, ok := serve(t, free)
						if !ok {
							break
						}
						free[0], free[1] = free[0]-n.need[0], free[1]-n.need[1]
						if n.need == [2]int64{} {
							break
						}
					}
				}
			},
			"start unasked": func(t *rapid.T) {
				n := pick(t, func(n *modelTenant) bool { return n.need != [2]int64{} && !n.over() })
				m.advance(m.now)
				start(t, n)
			},
			"end": func(t *rapid.T) {
				n := pick(t, func(n *modelTenant) bool { return n.held(0)+n.held(1) > 0 })
				var live []*modelTask
				for _, k := range n.tasks {
					if k.ended < 0 {
						live = append(live, k)
					}
				}
				k := rapid.SampledFrom(live).Draw(t, "task")
				end(t, n, k)
			},
			"time passes": func(t *rapid.T) {
				m.now += float64(rapid.IntRange(0, 64).Draw(t, "time")) * 1024
			},
			"": func(t *rapid.T) {
				require.Equal(t, m.contended(), q.Contended())
				for i, n := range m.nodes {
					got, err := q.Received(n.user, at())
					require.NoError(t, err)
					m.advance(m.now)
					require.Equal(t, time.Duration(math.Floor(max(0, n.received(m.clock)*n.weight)/modelUnit)), got, fmt.Sprint(i))
				}
			},
		})
	})
}
