package federation

import (
	"maps"
	"reflect"
	"time"

	"github.com/cellsched/cellsched/locality"
	"github.com/cellsched/cellsched/resources"
)

// site is a local master as the global master knows it.
type site struct {
	name  string
	index int
	// incarnation is the incarnation of the verifier whose list of tasks was
	// followed; 0 before the first list, when nothing is known and nothing is
	// launched.
	incarnation uint64
	// silent is set when a batch was not answered in time, until the site is heard.
	silent   bool
	replaced bool      // a verifier with a higher incarnation was heard of
	asked    time.Time // when its list was asked for last

	number  uint64 // of the last batch
	batches []*batch
	filling *batch // to be sent at the end of the step
	notices window
	heard   []uint64  // notices to acknowledge
	due     time.Time // of an acknowledgement without a batch

	machines []machine
	rooms    []resources.Vector // by machine: reported free room, less launches in flight
	stamps   []uint64           // by block
	inside   part
	outside  part
	recent   int                 // the machine that was heard last to have more room
	closed   []int               // machines that look free and refuse
	barred   map[*class]struct{} // classes that the cell does not permit at present
	where    locality.Attributes
	usage    []stake
	total    resources.Vector
}

// machine is a worker of a site, as it was last heard of.
type machine struct {
	report
	sent   resources.Vector // needs of launches that are not answered
	closed bool             // looks free and refuses
}

// open reports whether the machine takes claims, as far as is known.
func (m *machine) open() bool { return m.Ready && !m.closed }

// grow makes room for n machines.
func (s *site) grow(n int) {
	for len(s.machines) < n {
		s.machines, s.rooms = append(s.machines, machine{}), append(s.rooms, resources.Vector{})
	}
	for len(s.stamps)*blockSize < n {
		s.stamps = append(s.stamps, 0)
	}
	s.inside.grow(n)
	s.outside.grow(n)
}

// apply follows the report on a machine, and tells whether there may be more room.
func (s *site) apply(r *report) (more bool) {
	n := int(r.ID.Node())
	s.grow(n + 1)
	m := &s.machines[n]
	if r.ID == 0 || r.Seq <= m.Seq {
		return false
	}
	fresh := m.ID != r.ID
	if fresh || !same(m.Attributes, r.Attributes) {
		s.describe(r)
		more = true
	}
	if fresh && m.ID != 0 {
		m.sent = resources.Vector{} // of a machine that is gone
	}
	if m.Internal != r.Internal {
		s.inside.set(n, &resources.Vector{})
		s.outside.set(n, &resources.Vector{})
	}
	s.total, _ = s.total.Sub(m.counted())
	m.report, m.closed = *r, false
	s.total = s.total.Add(m.counted())
	return s.refresh(n) || more
}

// counted returns the capacity, if the machine is there.
func (m *machine) counted() resources.Vector {
	if !m.Ready {
		return resources.Vector{}
	}
	return m.Capacity
}

// refresh notes the room of machine n, and tells whether there is more of any kind.
func (s *site) refresh(n int) (more bool) {
	m := &s.machines[n]
	var room resources.Vector
	if m.open() {
		room = m.Free
		lower(&room, &m.sent)
	}
	more = !resources.Fits(&room, &s.rooms[n])
	s.rooms[n] = room
	s.part(m.Internal).set(n, &room)
	return more
}

func (s *site) part(internal bool) *part {
	if internal {
		return &s.inside
	}
	return &s.outside
}

// describe notes the attributes of a machine. Attributes that a cell has accepted
// are valid.
func (s *site) describe(r *report) {
	values := make(map[string]locality.Value, len(r.Attributes))
	for name, text := range r.Attributes {
		values[name] = locality.Text(text)
	}
	_ = s.where.Describe(r.ID.Node(), values)
}

// same compares attributes, which are the same map wherever they did not change.
func same(a, b map[string]string) bool {
	return len(a) == len(b) && (len(a) == 0 || reflect.ValueOf(a).Pointer() == reflect.ValueOf(b).Pointer() || maps.Equal(a, b))
}

// applyBlock follows the reports of a block, unless it has nothing new.
func (s *site) applyBlock(b *block) (more bool) {
	s.grow(b.First + len(b.Machines))
	if i := b.First / blockSize; i < len(s.stamps) {
		if b.Stamp <= s.stamps[i] {
			return false
		}
		s.stamps[i] = b.Stamp
	}
	for i := range b.Machines {
		more = s.apply(&b.Machines[i]) || more
	}
	return more
}

// bar keeps a class of jobs from the site until its next heartbeat.
func (s *site) bar(c *class) {
	if s.barred == nil {
		s.barred = map[*class]struct{}{}
	}
	s.barred[c] = struct{}{}
}

// reopen lets machines be tried again that looked free and refused, and barred classes.
func (s *site) reopen() (more bool) {
	more = len(s.barred) > 0
	clear(s.barred)
	for _, n := range s.closed {
		if s.machines[n].closed {
			s.machines[n].closed = false
			more = s.refresh(n) || more
		}
	}
	s.closed = s.closed[:0]
	return more
}

// forget drops all that was heard from a verifier that was replaced.
func (s *site) forget() {
	s.machines, s.rooms, s.stamps = nil, nil, nil
	s.inside, s.outside, s.closed, s.barred = part{}, part{}, nil, nil
	s.batches, s.filling = nil, nil
	s.notices, s.heard, s.due = window{}, nil, time.Time{}
	s.total, s.usage = resources.Vector{}, nil
}

// window is the set of received numbers of a sequence: all up to low, and the set
// later.
type window struct {
	low   uint64
	later map[uint64]struct{}
}

// add notes a number, and returns false if it was received before.
func (w *window) add(n uint64) bool {
	if _, had := w.later[n]; had || n <= w.low {
		return false
	}
	if n != w.low+1 {
		if w.later == nil {
			w.later = map[uint64]struct{}{}
		}
		w.later[n] = struct{}{}
		return true
	}
	for w.low = n; ; w.low++ {
		if _, had := w.later[w.low+1]; !had {
			return true
		}
		delete(w.later, w.low+1)
	}
}
