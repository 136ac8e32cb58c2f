package offers

import (
	"slices"
	"time"

	"github.com/cellsched/cellsched/offers/internal/line"
	"github.com/cellsched/cellsched/offers/internal/timers"
	"github.com/cellsched/cellsched/omega"
	"github.com/cellsched/cellsched/resources"
)

// member is what the master knows of a framework, whoever speaks for it.
type member struct {
	name string
	line.Place
	account *account
	reg     Registration
	role    *role
	fits    omega.Mask       // machines that suit its other filters, nil if it has none at all
	meets   omega.Mask       // machines that meet its constraints, nil if there are none
	uses    omega.Mask       // both, nil for all: see index
	narrow  bool             // those are few
	useless bool             // there are none
	sched   *omega.Scheduler // in whose name its tasks are; nil until it has registered

	connected  bool // somebody speaks for it
	suppressed bool
	gone       bool
	evicted    bool
	timer      timers.Timer // of its return, while it is away

	watch    watch // of its calls
	silent   bool  // there were none for long
	vanished bool  // nor for so long that it was taken for gone, see comeBack

	offered resources.Vector // what its outstanding offers add up to
	ended   resources.Vector // what of that is of offers that have ended, see discharge
	offers  []*offer
	plans   int        // revocations that have begun for it
	rests   uint64     // before that turn nothing is gathered for it
	picked  int        // offers to be, of a round that is not committed yet, and of accept
	accept  *accepting // on the way or in doubt, nil if there is none
	most    float64    // the part of the cell that it is offered at once

	shown resources.Vector // of long tasks, by its optimistic offers

	here *offer // its optimistic offer on the machine that is being offered

	lapsed   time.Time // when it let offers expire last
	refusals int       // since it accepted anything
	class    uint8     // what follows from that
	filters  map[uint32]*filter

	fresh  bool // the order was not asked yet
	queued bool // it is in line
	hungry bool // it is to be offered what others have left
	seen   uint64

	short     resources.Vector // of what it is guaranteed, as it was told
	news      News
	unread    []OfferID
	notified  bool
	toldMarks map[omega.AllocationID]bool
}

// wants tells whether a framework is to be offered anything.
func (f *member) wants() bool { return f.connected && !f.suppressed && !f.useless && !f.silent }

// give takes off what a framework does not have any more.
func (m *Master) give(f *member, v resources.Vector) {
	held, ok := f.account.held.Sub(v)
	if !ok { // others charge the account, too
		held, _ = m.usage(f.account.id)
	}
	m.hold(f, held)
	m.restand(f, false)
}

// rechargeAll reads what is charged to an account, if any framework is charged to it.
func (m *Master) rechargeAll(id omega.Account) {
	if a := m.accounts[id]; a != nil {
		m.recharge(a.sharers[0])
	}
}

// recharge reads what a framework is charged.
func (m *Master) recharge(f *member) {
	held, err := m.usage(f.account.id)
	for _, one := range f.account.sharers {
		held = held.Add(one.ended) // which is to be discharged yet
	}
	if err == nil && held != f.account.held {
		m.hold(f, held)
		m.restand(f, false)
	}
}

// restand asks anew where a framework and its role stand.
func (m *Master) restand(f *member, chosen bool) {
	m.rerank(f.role, chosen)
	m.requeue(f, chosen)
}

// requeue puts a framework where it belongs: in line, behind whom the order puts
// before it, if it is to be offered anything and has not too much of that.
func (m *Master) requeue(f *member, chosen bool) {
	if f.gone || f.sched == nil {
		f.dequeue()
		return
	}
	rank := m.rankOf(f, chosen)
	f.fresh = false
	was, stays := f.queued, f.wants() && f.plans == 0 && (m.cfg.Terms.Optimistic || !m.sated(f))
	if was && stays && !chosen && rank == f.Rank {
		return // where it stands, as most do when the shares of all are looked at again
	}
	if !stays {
		f.dequeue()
	}
	before := f.Place
	if chosen {
		f.Asked = m.turn
	}
	f.Rank = rank
	switch {
	case was && stays && !f.narrow:
		f.role.lines[f.class].Move(before, f.Place)
	case !was && stays:
		f.enqueue()
		m.feed(f)
	}
}

// rankOf asks the order.
func (m *Master) rankOf(f *member, chosen bool) float64 {
	return ordered(m.cfg.Order.Rank(Standing{
		Name: f.name, Weight: f.reg.Weight, Precedence: f.reg.Precedence, Held: f.account.held, Total: m.total,
		Rank: f.Rank, Chosen: chosen && !f.fresh, New: f.fresh,
	}))
}

// sated tells whether a framework has as many offers as it may have at once.
func (m *Master) sated(f *member) bool {
	return len(f.offers)+f.picked > 0 && m.enough(f, &f.offered)
}

// enough tells whether offers that add up to so much are all that a framework may have
// at once.
func (m *Master) enough(f *member, offered *resources.Vector) bool {
	return share(offered, &m.total) >= f.most/float64(int(1)<<f.class)
}

// enqueue puts a framework in line. A narrow one waits at its machines instead.
func (f *member) enqueue() {
	f.queued = true
	if !f.narrow {
		f.role.lines[f.class].Insert(&f.Place, f)
	}
}

// dequeue takes a framework out of line.
func (f *member) dequeue() {
	if f.queued && !f.narrow {
		f.role.lines[f.class].Remove(f.Place)
	}
	f.queued = false
}

// regroup changes the class of a framework, or whether it is narrow.
func (f *member) regroup(class uint8, narrow bool) {
	queued := f.queued
	f.dequeue()
	f.class, f.narrow = class, narrow
	if queued {
		f.enqueue()
	}
}

// feed notes that a framework is to see what others have left.
func (m *Master) feed(f *member) {
	if !f.hungry {
		f.hungry = true
		m.fill = append(m.fill, f)
	}
}

// revisit notes that a framework may want what it has seen and left.
func (m *Master) revisit(f *member) {
	f.seen = 0
	if f.queued {
		m.feed(f)
	}
}

// reshare follows a change of who wants to be offered anything. It works out how
// much each is offered at once, the fair share where that is not said, and the
// precedence of roles. Cost: O(frameworks).
func (m *Master) reshare() {
	weights := make(map[*role]float64, m.roles.Len()) // of those who want anything
	all := 0.0
	m.unshared, m.present = false, 0
	for _, f := range m.registry.order {
		if f.connected && !f.silent {
			m.present++
		}
		if !f.wants() {
			continue
		}
		if weights[f.role] == 0 {
			all += f.role.weight
			f.role.precedence = f.reg.Precedence
		}
		weights[f.role] += f.reg.Weight
		f.role.precedence = max(f.role.precedence, f.reg.Precedence)
	}
	for _, f := range m.registry.order {
		f.most = f.reg.Outstanding
		if f.most == 0 && f.wants() {
			f.most = f.role.weight / all * f.reg.Weight / weights[f.role]
		}
	}
	m.rescale()
}

// recall takes back what others would not have been offered if f had been there to
// share the cell, and have not read of: the latest offers first, as long as those before
// them are enough. Only what f may be offered is worth it. Cost: O(frameworks + offers
// that have not been read of those who have enough).
func (m *Master) recall(f *member) {
	if !f.wants() || m.cfg.Terms.Optimistic {
		return
	}
	for _, other := range m.registry.order {
		if other == f || !other.wants() || !m.sated(other) {
			continue
		}
		for _, id := range slices.Backward(other.unread) {
			o, err := m.offers.find(other, id)
			if err != nil || o.seen || !o.kept() || !m.cfg.Terms.Machines.Has(o.Machine.Node()) || !f.eligible(o.node, &o.Room) {
				continue
			}
			rest, _ := other.offered.Sub(o.Room)
			if !m.enough(other, &rest) {
				break
			}
			m.rescind(o, rescinded)
		}
	}
}

// rescale asks anew where everybody stands.
func (m *Master) rescale() {
	m.stale = false
	m.shortfall()
	for _, r := range slices.Collect(m.roles.All) {
		m.rerank(r, false)
	}
	for _, f := range m.registry.order {
		m.requeue(f, false)
	}
}

// marked passes on which tasks were preempted or lost, each once.
func (m *Master) marked(f *member) {
	if f.sched == nil || !f.connected {
		return
	}
	for mark := range f.sched.Marked() {
		if !f.toldMarks[mark.Allocation.ID] {
			if f.toldMarks == nil {
				f.toldMarks = make(map[omega.AllocationID]bool)
			}
			f.toldMarks[mark.Allocation.ID] = true
			f.untell(mark.Allocation.ID)
			f.news.Tasks = append(f.news.Tasks, mark)
			m.tell(f)
		}
	}
}
