package pool

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/cellsched/cellsched/locality"
	"github.com/cellsched/cellsched/omega"
	"github.com/cellsched/cellsched/resources"
)

// books are the machines of the pool with the room held there: the truth, kept under the
// pool's mutex. All other parts ask them for room.
//
// Invariant: for each machine, free plus the needs of its leases is the block that the
// pool has of it. Free is negative in a kind only where the block was lowered below the
// needs of its leases; such a machine has no room. A pool without a cell has the whole of
// each machine as its block.
type books struct {
	*core
	machines []machine // by node number
	byName   map[string]locality.Node
	total    resources.Vector // capacity of all machines that are not gone
	most     mostTree         // of the room that claims may use
	from     int              // where the last search by next fit ended
	keepers  int              // machines with a reservation
	epoch    uint64           // releases so far
	freed    locality.Node    // machine of the last one
}

// machine is one machine of a pool.
type machine struct {
	name     string
	capacity resources.Vector
	block    resources.Vector // of the capacity, that leases come out of
	held     resources.Vector
	room     resources.Vector // free and neither draining nor reserved
	kept     resources.Vector // reserved for keeper
	older    resources.Vector // held by leases from before that
	owed     resources.Vector // to requests that a guarantee covers
	asked    resources.Vector // by reservations of other schedulers in the cell, which lack it
	assigned resources.Vector // part of owed that promises have got
	promises []*promise       // in the order in which they were made
	owing    int              // how many these are
	keeper   *waiter
	leases   int
	draining bool
	shrunk   bool  // its block was lowered: it may hold more
	gone     bool  // removed; the number is not used again
	plain    bool  // its room is the block less its leases
	lent     *lent // by a cell; nil without one
}

// free returns the block's room less the room of leases.
func (m *machine) free() (v resources.Vector) {
	if m.gone {
		return v
	}
	for k := range v {
		v[k] = max(0, m.block[k]-m.held[k])
	}
	return v
}

// unasked returns the free room less the room to be returned to the cell.
func (m *machine) unasked() resources.Vector {
	v := m.free()
	for k := range v {
		v[k] = max(0, v[k]-m.asked[k])
	}
	return v
}

// grants reports whether the machine takes new leases: it neither drains nor holds
// more than its block of any kind.
func (m *machine) grants() bool {
	return !m.gone && !m.draining && (!m.shrunk || resources.Fits(&m.held, &m.block))
}

// unowed returns the free room less promised room and less room to be returned to
// the cell.
func (m *machine) unowed() resources.Vector {
	v := m.free()
	for k := range v {
		v[k] = max(0, v[k]-m.owed[k]-m.asked[k])
	}
	return v
}

// reach returns the amount that the pool has of a machine or may claim, of one kind.
func (m *machine) reach(k int) int64 {
	if m.lent == nil {
		return m.block[k]
	}
	return m.block[k] + m.lent.free[k]
}

// settle recomputes the room of a machine after a change.
func (b *books) settle(node int) {
	m := &b.machines[node]
	none := resources.Vector{}
	m.plain = !m.gone && !m.draining && !m.shrunk && m.kept == none && m.owed == none && m.asked == none
	m.room = none
	if m.grants() {
		for k := range m.room {
			m.room[k] = max(0, m.block[k]-m.held[k]-m.kept[k]-m.owed[k]-m.asked[k])
		}
	}
	b.most.set(node, &m.room)
}

// allocate notes a lease that fits.
func (b *books) allocate(node int, need *resources.Vector) { b.use(node, need, 1) }

// release notes the end of a lease.
func (b *books) release(node int, need *resources.Vector) { b.use(node, need, -1) }

// use notes a lease more, or one less by a sign of -1.
func (b *books) use(node int, need *resources.Vector, sign int64) {
	m := &b.machines[node]
	m.leases += int(sign)
	if !m.plain {
		for k := range m.held {
			m.held[k] += sign * need[k]
		}
		b.settle(node)
		return
	}
	for k := range m.held {
		q := sign * need[k]
		m.held[k], m.room[k] = m.held[k]+q, m.room[k]-q
	}
	b.most.set(node, &m.room)
}

// find returns the first machine with room for need, from the one on that the
// last search found, or -1. Cost: O(log machines) where one has room for all of
// it; machines that have enough of each kind only together cost as much each.
func (b *books) find(need *resources.Vector) int {
	if b.most.width == 1 {
		if len(b.machines) == 1 && resources.Fits(need, &b.most.nodes[1]) {
			return 0
		}
		return -1
	}
	if b.from >= len(b.machines) {
		b.from = 0
	}
	at := b.most.first(need, b.from, len(b.machines))
	if at < 0 {
		at = b.most.first(need, 0, b.from)
	}
	if at >= 0 {
		b.from = at
	}
	return at
}

// ever reports whether a machine that is not gone could hold need if it were
// empty. One that drains may come back into use.
func (b *books) ever(need *resources.Vector) bool {
	for i := range b.machines {
		if m := &b.machines[i]; !m.gone && resources.Fits(need, &m.capacity) {
			return true
		}
	}
	return false
}

// alive returns how many machines are not gone.
func (b *books) alive() (n int) {
	for i := range b.machines {
		if !b.machines[i].gone {
			n++
		}
	}
	return n
}

// largest returns the capacities of machines, without those that are no more than
// another one's.
func (b *books) largest() (all []resources.Vector) {
	for i := range b.machines {
		m := &b.machines[i]
		if fitsAny(&m.capacity, all) { // a machine that is gone has none
			continue
		}
		all = slices.DeleteFunc(all, func(v resources.Vector) bool { return resources.Fits(&v, &m.capacity) })
		all = append(all, m.capacity)
	}
	return all
}

// addMachine adds a machine to the books.
func (b *books) add(m *omega.Machine) (locality.Node, error) {
	if err := resources.CheckName(m.Name); err != nil {
		return 0, because(ErrMachine, "machine", err)
	}
	if _, taken := b.byName[m.Name]; taken {
		return 0, refuse(ErrMachine, fmt.Sprintf("machine %q: the name is taken", m.Name))
	}
	if err := b.checkCapacity(m.Name, m.Capacity, resources.Vector{}); err != nil {
		return 0, err
	}
	node := len(b.machines)
	b.machines = append(b.machines, machine{name: m.Name, capacity: m.Capacity, block: m.Capacity})
	b.byName[m.Name] = locality.Node(node)
	b.total = b.total.Add(m.Capacity)
	b.most.grow(node + 1)
	b.most.cover(&m.Capacity)
	b.settle(node)
	return locality.Node(node), nil
}

// checkCapacity refuses a capacity in place of one that counts already.
func (b *books) checkCapacity(name string, capacity, instead resources.Vector) error {
	if err := capacity.Check(); err != nil {
		return refuse(resources.ErrQuantity, fmt.Sprintf("machine %q: %s, want 0 to 2^62 of each kind", name, b.space.Format(capacity)))
	}
	rest, _ := b.total.Sub(instead)
	for k := range rest {
		if rest[k] > resources.MaxQuantity-capacity[k] {
			var more, others resources.Vector
			more[k], others[k] = capacity[k], rest[k]
			return refuse(resources.ErrQuantity, fmt.Sprintf("machine %q: %s beside %s on the other machines, want at most 2^62 in all",
				name, b.space.Format(more), b.space.Format(others)))
		}
	}
	return nil
}

// machineName returns the name of a machine by number.
func (b *books) nameOf(node uint32) string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.machines[node].name
}

// grantsNone reports whether a machine takes no new leases.
func (b *books) grantsNone(node locality.Node) bool { return !b.machines[node].grants() }

// firstFit returns for each need the first machine in order with room for it,
// the need with the largest share of the pool first; nil if one finds none. It
// uses up room.
func (b *books) firstFit(needs, room []resources.Vector, order []locality.Node) []locality.Node {
	nodes := make([]locality.Node, len(needs))
	for _, i := range b.largestFirst(needs) {
		at := slices.IndexFunc(order, func(n locality.Node) bool { return resources.Fits(&needs[i], &room[n]) })
		if at < 0 {
			return nil
		}
		nodes[i] = order[at]
		room[nodes[i]], _ = room[nodes[i]].Sub(needs[i])
	}
	return nodes
}

// byNumber returns all machines, with the ones that are gone.
func (b *books) byNumber() []locality.Node {
	order := make([]locality.Node, len(b.machines))
	for i := range order {
		order[i] = locality.Node(i)
	}
	return order
}

// largestFirst returns the numbers of needs, the one with the largest share of the pool
// first.
func (b *books) largestFirst(needs []resources.Vector) []int {
	largest := make([]int, len(needs))
	for i := range largest {
		largest[i] = i
	}
	slices.SortStableFunc(largest, func(i, j int) int {
		x, _, _ := needs[i].DominantShare(b.total)
		y, _, _ := needs[j].DominantShare(b.total)
		return cmp.Compare(y, x)
	})
	return largest
}

// stats returns the state of one machine, of a number.
func (m *machine) stats(node locality.Node) MachineStats {
	reserved := m.owed
	if w := m.keeper; w != nil {
		for i, at := range w.kept.nodes {
			if at == node {
				reserved = reserved.Add(*w.needAt(i))
			}
		}
	}
	return MachineStats{
		Name: m.name, Capacity: m.block, Held: m.held, Free: m.free(), Reserved: reserved,
		Leases: m.leases, Draining: m.draining,
	}
}

// place takes each need from the room of its machine and reports whether all
// fitted.
func place(needs, room []resources.Vector, nodes []locality.Node) bool {
	for i, node := range nodes {
		rest, ok := room[node].Sub(needs[i])
		if !ok {
			return false
		}
		room[node] = rest
	}
	return true
}

// fitsAny reports whether v fits in one of some vectors.
func fitsAny(v *resources.Vector, in []resources.Vector) bool {
	for i := range in {
		if resources.Fits(v, &in[i]) {
			return true
		}
	}
	return false
}

// fitsAnyIn reports whether some vector is at most a need.
func fitsAnyIn(list []resources.Vector, need *resources.Vector) bool {
	return slices.ContainsFunc(list, func(v resources.Vector) bool { return resources.Fits(&v, need) })
}
