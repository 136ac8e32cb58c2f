package drf_test

import (
	"cmp"
	"container/heap"
	"slices"

	"github.com/cellsched/cellsched/resources"
)

// mapUser and mapCell do the same the plain way.
type mapUser struct {
	i             int
	at            int // in the heap
	weight        float64
	usage, demand map[string]float64
}

type mapCell struct {
	*benchCell
	totals, room map[string]float64
	users        []*mapUser
	order        []*mapUser
	parked       []*mapUser
}

func byName(v resources.Vector) map[string]float64 {
	return map[string]float64{"cpu": float64(v[0]), "memory": float64(v[1]), "gpu": float64(v[2])}
}

func newMapCell(c *benchCell) *mapCell {
	m := &mapCell{benchCell: c, totals: byName(c.total), room: byName(c.free)}
	for i, u := range c.users {
		usage, _ := c.heap.Usage(u)
		m.users = append(m.users, &mapUser{i, i, c.weights[i], byName(usage), byName(c.demands[i])})
	}
	m.order = slices.Clone(m.users)
	heap.Init(m)
	return m
}

func (m *mapCell) share(u *mapUser) (share float64) {
	for kind, q := range u.usage {
		share = max(share, q/m.totals[kind]/u.weight)
	}
	return share
}

func (m *mapCell) Len() int           { return len(m.order) }
func (m *mapCell) Less(i, j int) bool { return m.share(m.order[i]) < m.share(m.order[j]) }

func (m *mapCell) Swap(i, j int) {
	m.order[i], m.order[j] = m.order[j], m.order[i]
	m.order[i].at, m.order[j].at = i, j
}

func (m *mapCell) Push(x any) {
	u := x.(*mapUser)
	u.at = len(m.order)
	m.order = append(m.order, u)
}

func (m *mapCell) Pop() any {
	last := len(m.order) - 1
	u := m.order[last]
	m.order = m.order[:last]
	return u
}

func (m *mapCell) step() {
	if !m.full {
		m.start()
		return
	}
	u := m.users[m.end()]
	for kind, q := range u.demand {
		u.usage[kind] -= q
		m.room[kind] += q
	}
	heap.Fix(m, u.at)
	for m.start() {
	}
}

func (m *mapCell) fits(u *mapUser) bool {
	for kind, q := range u.demand {
		if q > m.room[kind] {
			return false
		}
	}
	return true
}

func (m *mapCell) start() (ok bool) {
	m.parked = m.parked[:0]
	for !ok && len(m.order) > 0 {
		u := m.order[0]
		if !m.fits(u) {
			m.parked = append(m.parked, heap.Pop(m).(*mapUser))
			continue
		}
		for kind, q := range u.demand {
			u.usage[kind] += q
			if m.full {
				m.room[kind] -= q
			}
		}
		if m.full {
			m.running = append(m.running, u.i)
		}
		heap.Fix(m, 0)
		ok = true
	}
	for _, u := range m.parked {
		heap.Push(m, u)
	}
	return ok
}

// sortCell sorts all users by share for each decision and takes the first that
// fits.
type sortCell struct {
	*benchCell
	usages []resources.Vector
	order  []int
}

func newSortCell(c *benchCell) *sortCell {
	s := &sortCell{benchCell: c}
	for i, u := range c.users {
		usage, _ := c.heap.Usage(u)
		s.usages, s.order = append(s.usages, usage), append(s.order, i)
	}
	return s
}

func (s *sortCell) share(i int) (share float64) {
	for k := range 3 {
		share = max(share, float64(s.usages[i][k])/float64(s.total[k])/s.weights[i])
	}
	return share
}

func (s *sortCell) step() {
	if !s.full {
		s.start()
		return
	}
	i := s.end()
	s.usages[i], _ = s.usages[i].Sub(s.demands[i])
	for s.start() {
	}
}

func (s *sortCell) start() bool {
	slices.SortFunc(s.order, func(a, b int) int { return cmp.Compare(s.share(a), s.share(b)) })
	for _, i := range s.order {
		if s.demands[i].Fits(s.free) {
			s.usages[i] = s.usages[i].Add(s.demands[i])
			if s.full {
				s.free, _ = s.free.Sub(s.demands[i])
				s.running = append(s.running, i)
			}
			return true
		}
	}
	return false
}
