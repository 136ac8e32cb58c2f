package drf_test

import (
	"math"

	"github.com/cellsched/cellsched/drf"
)

// fairModel is the rule of FairQueue by its definition: service is summed task
// by task, and each pick looks at all tenants. One level, two kinds, total 8 of
// each, so that all numbers are exact in float64.
type fairModel struct {
	nodes     []*modelTenant
	now, last float64
	clock     float64
	levels    [4]modelLevel
	typical   float64
	turn      int
}

// modelLevel is a level of the root's children.
type modelLevel struct{ v, u, floor, shift, ahead float64 }

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
	level             int
	taken             float64 // of the shift of its level
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

// key returns the key of the order: with the shift of its level, which does not take
// it past the level above.
func (m *fairModel) key(n *modelTenant) float64 {
	key := n.key(m.clock)
	if n.level == 0 {
		return key
	}
	return max(key, min(key+m.levels[n.level].shift-n.taken, m.levels[n.level-1].u))
}

// fold puts the shift into the sums.
func (m *fairModel) fold(n *modelTenant) {
	n.move(m.key(n) - n.key(m.clock))
	n.taken = m.levels[n.level].shift
}

func (n *modelTenant) move(by float64) {
	for k := range n.base {
		n.base[k] += math.Round(by * n.weight)
	}
}

// settle finds the level of a tenant that is served.
func (m *fairModel) settle(n *modelTenant) {
	key, raw, received := m.key(n), n.key(m.clock), n.received(m.clock)
	if floor := m.levels[n.level].floor; key < floor {
		key = floor
		n.level = min(n.level+1, 3)
	} else {
		for n.level > 0 && received+(key-raw) >= m.levels[n.level-1].u {
			n.level--
		}
	}
	for i := 1; i <= n.level; i++ {
		less := max(0, m.levels[i-1].floor-max(key, m.levels[i].u))
		key += less
		for j := i; j < 4; j++ {
			l := &m.levels[j]
			l.v, l.u, l.floor, l.shift = l.v+less, l.u+less, l.floor+less, l.shift+less
		}
	}
	n.move(key - raw)
	n.taken = m.levels[n.level].shift
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
		m.levels[0].v = max(m.levels[0].v, m.servedAt(f))
	}
	return m.levels[0].v
}

func (m *fairModel) servedAt(n *modelTenant) float64 {
	return n.received(m.clock) + (m.key(n) - n.key(m.clock))
}

// passedOver returns the first in the order that needs no more than n, if others with
// more service passed it.
func (m *fairModel) passedOver(n *modelTenant) *modelTenant {
	f := m.first(func(o *modelTenant) bool { return o.need[0] <= n.need[0] && o.need[1] <= n.need[1] })
	if f == nil || f.urgent() || m.key(f) >= m.levels[0].u {
		return nil
	}
	return f
}

func (m *fairModel) enter(n *modelTenant, resumed bool) {
	m.fold(n)
	switch {
	case resumed:
		n.raise(m.levels[n.level].v-m.slack(n), m.clock)
	case n.level > 0:
		n.raise(m.levels[n.level].v, m.clock)
	default:
		at := m.entry()
		if f := m.passedOver(n); f != nil && n.key(m.clock) < at {
			at, n.level, n.taken = m.servedAt(f), f.level, m.levels[f.level].shift
		}
		n.raise(at, m.clock)
	}
	n.waits, n.restrained = true, n.over() || n.throttled
}

// calm ends an epoch if none waits.
func (m *fairModel) calm() {
	if m.contended() {
		return
	}
	m.clock, m.levels = 0, [4]modelLevel{}
	for _, n := range m.nodes {
		n.base, n.level, n.taken = [2]float64{}, 0, 0
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
	ordered := false
	if contended {
		urgent := n.urgent()
		switch {
		case !n.waits || n.restrained:
			m.fold(n)
			n.level, n.taken = 0, 0
			n.raise(m.entry(), m.clock)
		case urgent:
			m.fold(n)
		default:
			m.settle(n)
		}
		l, key := &m.levels[n.level], n.key(m.clock)
		if urgent {
			if most := l.v + m.slack(n); key > most {
				for k := range n.base {
					if above := n.service(k, m.clock) + n.ahead(k) - math.Round(most*n.weight); above > 0 {
						n.base[k] -= above
					}
				}
			}
		} else {
			received := n.received(m.clock)
			l.v = max(l.v, received)
			if f := m.first(all); f != nil && f != n && m.key(f) < key && received > l.u {
				ahead := l.ahead
				if n.level < 3 {
					ahead = max(ahead, m.levels[n.level+1].ahead)
				}
				l.u = received
				l.floor = max(l.floor, math.Floor(l.u-8*ahead))
			}
			ordered = true
		}
	}
	t := &modelTask{need: n.need, run: run, began: m.clock, ended: -1, expected: n.expected, wall: -1}
	n.tasks = append(n.tasks, t)
	n.served = m.turn
	if ordered {
		all := 0.0
		for k, need := range n.need {
			if need > 0 {
				all = max(all, n.ahead(k))
			}
		}
		l := &m.levels[n.level]
		l.ahead += (all/n.weight - l.ahead) / 8
	}
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
