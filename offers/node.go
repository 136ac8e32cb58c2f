package offers

import (
	"maps"
	"time"

	"github.com/cellsched/cellsched/omega"
	"github.com/cellsched/cellsched/resources"
)

// node is what the master keeps of a machine.
type node struct {
	// What a round looks at comes first, to be in few cache lines.
	number  uint32
	gone    bool
	dirty   bool
	known   bool // free is what the machine has
	refused bool // see last
	id      omega.MachineID
	idle    uint64     // its entry in the list of idle nodes, or 0
	kept    *request   // for which all that is free is kept, or what it gathers: see barred
	offers  []*offer   // outstanding
	own     *[]*member // narrow ones that can use it, nil if there never was one
	// free is what the machine had when the node was looked at.
	free resources.Vector

	// last is whose decline or silence was the last, if the room is refused: since
	// then nothing was accepted or released here.
	last     *member
	capacity resources.Vector
	labels   map[string]string
	long     resources.Vector // what long tasks hold
	promised resources.Vector // what offers keep for such
	leave    time.Time        // by when it was asked to be left, and what was answered
	replies  []Reply
}

// see takes notice of what a machine is now.
func (m *Master) see(st *omega.MachineState) {
	number := int(st.ID.Node())
	for len(m.floor.nodes) <= number {
		m.floor.nodes = append(m.floor.nodes, &node{number: uint32(len(m.floor.nodes)), gone: true})
	}
	n := m.floor.nodes[number]
	removed := st.Condition == omega.Removed
	if !n.gone && (removed || n.id != st.ID) {
		m.lose(n)
	}
	if removed {
		return
	}
	if n.gone || n.capacity != st.Capacity || !maps.Equal(n.labels, st.Attributes) {
		m.total, _ = m.total.Sub(n.capacity)
		m.total = m.total.Add(st.Capacity)
		n.id, n.capacity, n.labels, n.gone = st.ID, st.Capacity, st.Attributes, false
		m.floor.rejudge(n)
	}
	m.floor.markDirty(n)
	if st.Condition == omega.Draining {
		m.ledger.takeBack(n) // else tasks would start there until they expire
	}
	n.free, n.known = st.Free, st.Condition == omega.Ready
}

// lose forgets a machine that was removed.
func (m *Master) lose(n *node) {
	m.ledger.takeBack(n)
	for _, a := range m.accepts.flights {
		for _, o := range a.offers {
			if o.node == n && o.Machine == n.id && m.caps.enabled() {
				m.caps.unpromise(o)
				o.Long = resources.Vector{}
			}
		}
	}
	for _, f := range m.registry.order {
		m.floor.clearFilters(f, n.number)
	}
	m.total, _ = m.total.Sub(n.capacity)
	m.floor.idle.remove(n)
	m.sessions.unask(n)
	if n.barred() {
		m.guarantees.abandon(n.kept)
	}
	m.gangs.letGo(n)
	*n = node{number: n.number, gone: true, offers: n.offers, own: n.own, dirty: n.dirty}
	m.floor.rejudge(n)
}

// idle are the nodes with room that nobody wanted, in the order in which that
// turned out. Who wants more looks at those that it has not seen.
type idle struct {
	entries []idler
	last    uint64
	live    int
}

// idler is an entry: it stands while its node says so.
type idler struct {
	node *node
	seq  uint64
}

// add puts n at the end.
func (l *idle) add(n *node) {
	if n.idle == 0 {
		l.live++
	}
	l.last++
	n.idle = l.last
	l.entries = append(l.entries, idler{n, l.last})
	if len(l.entries) > 2*l.live+64 {
		kept := l.entries[:0]
		for _, e := range l.entries {
			if e.node.idle == e.seq {
				kept = append(kept, e)
			}
		}
		clear(l.entries[len(kept):])
		l.entries = kept
	}
}

// remove takes n out, if it is in.
func (l *idle) remove(n *node) {
	if n.idle != 0 {
		n.idle = 0
		l.live--
	}
}
