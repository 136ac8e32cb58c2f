package drf

import (
	"math/bits"

	"github.com/cellsched/cellsched/resources"
)

// Shares are integers in units of 2^-shareBits of the total. Products of share
// and time are in units of 2^-sumBits ns of the whole total, in int64.
const (
	shareBits = 32
	sumBits   = 8
)

// waitState is the part that a member of a FairQueue takes in the order.
type waitState uint8

const (
	notWaiting waitState = iota
	inOrder              // of its parent
	atLimit              // waits, but a limit of its own holds it back
)

// member is a tenant or a group of a [FairQueue].
//
// For kind k the received service at clock c is
//
//	S_k = settled + running*(c - at)
//
// where at is the clock of the last change of running, so S needs no update while
// time passes. Z_k is ahead. The clock is that of the member's siblings.
//
// key, turn and urgent are the place in the order as of the last refresh. They
// may be out of date, but only too good: see tournament.
type member struct {
	gen    uint32 // odd while the slot is taken
	parent uint32
	state  waitState
	urgent bool  // below its guarantee, with its next task
	owed   bool  // it has a guarantee
	level  uint8 // see levels
	class  int32
	place  int32   // leaf in the parent's order
	key    float64 // S+Z by weight
	turn   uint64  // served
	since  uint64  // turn in which the wait began
	served uint64  // turn of the last start
	weight float64
	taken  float64 // of the shift of its level

	epoch    uint64    // of the sums; those of an older one are forgotten by touch
	at       int64     // clock when they were settled
	expected int64     // mean length of a task in ns, or unknown
	before   int64     // received service in ns that rebase has taken off the sums
	children *children // of a group, else nil

	sums [resources.MaxKinds]sums // by kind

	held, need       resources.Vector
	guarantee, limit resources.Vector
	limited          bool
	throttled        bool
}

// sums are the received service of a member in one kind, and the shares that it
// runs.
type sums struct{ settled, running, ahead int64 }

// children is a group's state of its members. Its clock is the time since one of
// them began to wait, after none did. When none waits an epoch has ended, and the
// clock is zero.
type children struct {
	order   tournament
	n       int
	waiting int     // members in the order, those included that Pick has hidden
	since   int64   // time at which the epoch's contention began
	rebased int64   // time of the last rebase, or since
	epoch   uint64  // how often contention has ended
	typical float64 // q: mean of share times expected length at a start
	marks   marks   // of class 0
	classes map[int32]*marks
}

// clock returns the contended time of an epoch in ns.
func (q *FairQueue) clock(g *children) int64 {
	if g.waiting == 0 {
		return 0
	}
	return q.now - g.since
}

// received returns S, with the time that has passed since the sums were settled.
func (s *sums) received(passed int64) int64 { return s.settled + product64(s.running, passed) }

// raw returns the key by the sums.
func (m *member) raw(kinds int, passed int64) float64 {
	most := m.sums[0].received(passed) + m.sums[0].ahead
	for k := 1; k < kinds; k++ {
		s := &m.sums[k]
		most = max(most, s.received(passed)+s.ahead)
	}
	return m.byWeight(most)
}

// received returns the largest received service of a kind.
func (m *member) received(kinds int, passed int64) int64 {
	most := m.sums[0].received(passed)
	for k := 1; k < kinds; k++ {
		most = max(most, m.sums[k].received(passed))
	}
	return most
}

// byWeight divides a sum by the weight.
func (m *member) byWeight(sum int64) float64 {
	if m.weight == 1 { // a division takes as long as all else in raw
		return float64(sum)
	}
	return float64(sum) / m.weight
}

// raise brings S+Z of each kind up to level times the weight.
func (m *member) raise(level float64, kinds int, passed int64) {
	floor := toSum(level * m.weight)
	for k := range m.sums[:kinds] {
		s := &m.sums[k]
		if below := floor - s.received(passed) - s.ahead; below > 0 {
			s.settled += below
		}
	}
}

// add moves the key up by so much, in all kinds.
func (m *member) add(by float64) {
	sum := toSum(by * m.weight)
	for k := range m.sums {
		m.sums[k].settled += sum
	}
}

// lower brings S+Z of each kind down to level times the weight.
func (m *member) lower(level float64, kinds int, passed int64) {
	ceiling := toSum(level * m.weight)
	for k := range m.sums[:kinds] {
		s := &m.sums[k]
		if above := s.received(passed) + s.ahead - ceiling; above > 0 {
			s.settled -= above
		}
	}
}

// rescale turns running shares of the old total into shares of the new one.
func (m *member) rescale(q *FairQueue, was *resources.Vector, passed int64) {
	for k := range m.sums {
		s := &m.sums[k]
		s.settled = s.received(passed)
		if s.running > 0 && q.total[k] > 0 {
			factor := float64(was[k]) / float64(q.total[k])
			s.running = int64(float64(s.running) * factor)
			s.ahead = toSum(float64(s.ahead) * factor)
		}
	}
	m.at += passed
}

// toSum converts with saturation. It rounds as math.Round does but for the last
// number below a half, in a tenth of the time.
func toSum(x float64) int64 {
	const most = 1 << 61 // two of them can be added
	switch {
	case x >= most:
		return most
	case x <= -most:
		return -most
	case x < 0:
		return int64(x - 0.5)
	}
	return int64(x + 0.5)
}

// product64 returns share*ns in sums, saturated. Both are 0 or more.
func product64(share, ns int64) int64 {
	hi, lo := bits.Mul64(uint64(share), uint64(ns))
	const down = shareBits - sumBits
	if hi>>(down-3) > 0 {
		return 1 << 61
	}
	return int64(hi<<(64-down) | lo>>down)
}

// share returns an amount of one kind as a share of the total, rounded up, so that
// no task is free. A kind of which the total has nothing counts as none.
func (q *FairQueue) share(k int, need int64) int64 {
	total := q.total[k]
	if need == 0 || total == 0 {
		return 0
	}
	if need >= total {
		return 1 << shareBits
	}
	// A division of 128 bits takes longer. The product is within 2^-19 of the share.
	// How far that is over the need is exact, in units of 2^-shareBits.
	share := int64(float64(need) * q.scale[k])
	over := share*total - need<<shareBits // wraps, and is less than twice the total
	for over < 0 {
		share, over = share+1, over+total
	}
	for over >= total {
		share, over = share-1, over-total
	}
	return share
}

// touch forgets the sums of an earlier epoch. Tasks that run on are received from
// the beginning of this one. It returns the time that has passed since the sums
// were settled.
func (q *FairQueue) touch(m *member) int64 {
	g := q.members[m.parent].children
	if m.epoch != g.epoch {
		m.forget(g.epoch)
	}
	return q.clock(g) - m.at
}

func (m *member) forget(epoch uint64) {
	m.epoch, m.before, m.at = epoch, 0, 0
	m.level, m.taken = 0, 0
	for k := range m.sums {
		m.sums[k].settled = 0
	}
}

// settle adds the service received since the last time, before running changes.
func (q *FairQueue) settle(m *member) {
	passed := q.touch(m)
	if passed == 0 {
		return
	}
	m.at += passed
	for k := range m.sums[:q.kinds] {
		s := &m.sums[k]
		s.settled = s.received(passed)
	}
}

// place returns the key of a member with the shift of its level.
func (q *FairQueue) place(m *member) float64 {
	key := m.raw(q.kinds, q.touch(m))
	if m.level > 0 {
		key = q.members[m.parent].children.mark(m.class).shifted(m, key)
	}
	return key
}

// fold takes the shift of its level into the sums of a member.
func (q *FairQueue) fold(m *member) {
	passed := q.touch(m)
	if m.level == 0 {
		return
	}
	k := q.members[m.parent].children.mark(m.class)
	raw := m.raw(q.kinds, passed)
	m.add(k.shifted(m, raw) - raw)
	m.taken = k.levels[m.level].shift
}

// refresh brings the place of a waiting member up to date and reports whether it
// has changed.
func (q *FairQueue) refresh(slot uint32) bool {
	m := &q.members[slot]
	key := 0.0
	if q.byHeld {
		key = m.share()
	} else {
		key = q.place(m)
	}
	urgent := m.owed && m.below(m.next())
	changed := key != m.key || m.turn != m.served || m.urgent != urgent
	m.key, m.turn, m.urgent = key, m.served, urgent
	return changed
}

// share returns the dominant share by weight that is held.
func (m *member) share() float64 {
	most := int64(0)
	for k := range m.sums {
		most = max(most, m.sums[k].running)
	}
	return m.byWeight(most)
}

// slack is how far a child may come back behind the others.
func (g *children) slack(weight float64) float64 { return 8 * g.typical / weight }
