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

// fairModel is the rule of FairQueue by its definition: service is summed task
// by task, and each pick looks at all tenants. One level, two kinds, total 8 of
// each, so that all numbers are exact in float64.
type fairModel struct {
	nodes        []*modelTenant
	now, last    float64
	clock        float64
	v, u, leeway float64
	typical      float64
	turn         int
}

type modelTenant struct {
	user              drf.User
	weight            float64
	expected          float64
	need              [2]int64
	waits, restrained bool
	throttled         bool
	since, served     int
	grant, limit      int64 // of kind 0; 0 for none
	base              [2]float64
	tasks             []*modelTask
}

type modelTask struct {
	need     [2]int64
	run      *drf.Run
	began    float64 // clock at the start, 0 once forgotten
	ended    float64 // clock at the end, or -1
	expected float64
	wall     float64 // -1 if not measured
}

// Sums are in 2^-8 ns, as in the queue.
const modelUnit = 256

func (m *fairModel) contended() bool {
	for _, n := range m.nodes {
		if n.waits && !n.restrained {
			return true
		}
	}
	return false
}

func (m *fairModel) advance(now float64) {
	if m.contended() && now > m.last {
		m.clock += now - m.last
	}
	m.last = now
}

func (n *modelTenant) held(k int) (sum int64) {
	for _, t := range n.tasks {
		if t.ended < 0 {
			sum += t.need[k]
		}
	}
	return sum
}

func (n *modelTenant) service(k int, clock float64) float64 {
	s := n.base[k]
	for _, t := range n.tasks {
		to := clock
		if t.ended >= 0 {
			to = t.ended
		}
		s += float64(t.need[k]) / 8 * (to - t.began) * modelUnit
	}
	return s
}

func (n *modelTenant) ahead(k int) (z float64) {
	for _, t := range n.tasks {
		if t.ended < 0 {
			z += float64(t.need[k]) / 8 * t.expected * modelUnit
		}
	}
	return z
}

func (n *modelTenant) key(clock float64) float64 {
	return max(n.service(0, clock)+n.ahead(0), n.service(1, clock)+n.ahead(1)) / n.weight
}

func (n *modelTenant) received(clock float64) float64 {
	return max(n.service(0, clock), n.service(1, clock)) / n.weight
}

func (n *modelTenant) raise(level, clock float64) {
	for k := range n.base {
		if below := math.Round(level*n.weight) - n.service(k, clock) - n.ahead(k); below > 0 {
			n.base[k] += below
		}
	}
}

func (n *modelTenant) urgent() bool {
	return n.grant > 0 && n.held(0)+n.need[0] <= n.grant && n.held(0) < n.grant
}

func (n *modelTenant) over() bool { return n.limit > 0 && n.held(0)+n.need[0] > n.limit }

func (m *fairModel) slack(n *modelTenant) float64 { return 8 * m.typical / n.weight }

// key returns the key of the order, which has a floor where others were passed.
func (m *fairModel) key(n *modelTenant) float64 {
	return max(n.key(m.clock), m.u-m.leeway/n.weight)
}

func (m *fairModel) before(a, b *modelTenant) bool {
	ak, bk := m.key(a), m.key(b)
	switch {
	case a.urgent() != b.urgent():
		return a.urgent()
	case ak != bk:
		return ak < bk
	case a.served != b.served:
		return a.served < b.served
	}
	return a.since < b.since
}

// first returns the first in the order for which ok is true.
func (m *fairModel) first(ok func(*modelTenant) bool) (best *modelTenant) {
	for _, n := range m.nodes {
		if n.waits && !n.restrained && ok(n) && (best == nil || m.before(n, best)) {
			best = n
		}
	}
	return best
}

func all(*modelTenant) bool { return true }

func (m *fairModel) entry() float64 {
	if f := m.first(all); f != nil && !f.urgent() {
		m.v = max(m.v, f.received(m.clock))
	}
	return m.v
}

func (m *fairModel) enter(n *modelTenant, resumed bool) {
	if resumed {
		n.raise(m.v-m.slack(n), m.clock)
	} else {
		n.raise(m.entry(), m.clock)
	}
	n.waits, n.restrained = true, n.over() || n.throttled
}

// calm ends an epoch if none waits.
func (m *fairModel) calm() {
	if m.contended() {
		return
	}
	m.clock, m.v, m.u, m.leeway = 0, 0, 0, 0
	for _, n := range m.nodes {
		n.base = [2]float64{}
		var run []*modelTask
		for _, t := range n.tasks {
			if t.began = 0; t.ended < 0 {
				run = append(run, t)
			}
		}
		n.tasks = run
	}
}

func (m *fairModel) review(n *modelTenant) {
	switch {
	case n.waits && !n.restrained && (n.over() || n.throttled):
		n.restrained = true
		m.calm()
	case n.waits && n.restrained && !n.over() && !n.throttled:
		m.enter(n, true)
	}
}

func (m *fairModel) start(n *modelTenant, run *drf.Run) {
	contended := m.contended()
	m.turn++
	if contended {
		if !n.waits || n.restrained {
			n.raise(m.entry(), m.clock)
		} else {
			n.raise(m.u-m.leeway/n.weight, m.clock)
		}
		key := n.key(m.clock)
		if n.urgent() {
			if most := m.v + m.slack(n); key > most {
				for k := range n.base {
					if above := n.service(k, m.clock) + n.ahead(k) - math.Round(most*n.weight); above > 0 {
						n.base[k] -= above
					}
				}
			}
		} else {
			m.v = max(m.v, n.received(m.clock))
			if f := m.first(all); f != nil && f != n && m.key(f) < key && key > m.u {
				lightest := drf.MaxWeight
				for _, o := range m.nodes {
					lightest = min(lightest, o.weight)
				}
				m.leeway = min(8*m.typical, m.leeway+(key-m.u)*lightest)
				m.u = key
			}
		}
	}
	t := &modelTask{need: n.need, run: run, began: m.clock, ended: -1, expected: n.expected, wall: -1}
	n.tasks = append(n.tasks, t)
	n.served = m.turn
	if contended {
		m.typical += (max(float64(n.need[0]), float64(n.need[1]))/8*n.expected*modelUnit - m.typical) / 8
	}
	most := max(n.service(0, m.clock), n.service(1, m.clock))
	for k := range n.base {
		if below := most - math.Round(8*m.typical) - n.service(k, m.clock); below > 0 {
			n.base[k] += below
		}
	}
	m.review(n)
}

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
				free := [2]int64{int64(rapid.IntRange(0, 8).Draw(t, "cpu")), int64(rapid.IntRange(0, 8).Draw(t, "memory"))}
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
					require.Equal(t, want.user, u, "key %v", want.key(m.clock))
					start(t, want)
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
				// Learned lengths have a test of their own.
				require.NoError(t, q.End(k.run, at()))
				require.NoError(t, q.Expect(n.user, time.Duration(n.expected)))
				m.advance(m.now)
				k.ended = m.clock
				m.review(n)
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
