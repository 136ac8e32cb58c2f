package omega_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/cellsched/cellsched/omega"
	"github.com/cellsched/cellsched/resources"
)

// modelled is a cell and its reference side by side, at one time of day.
type modelled struct {
	cell     *omega.Cell
	ref      refCell
	accounts []omega.Account
	observer *omega.Scheduler     // only looks
	granted  []omega.AllocationID // that there ever were
	machines []omega.MachineID
	now      time.Time
}

// The whole API against an obviously right model: schedulers with different
// limits take turns, while machines come and go and time passes.
func TestCell_BehavesLikeTheModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		cell, err := omega.NewCell(omega.Config{})
		require.NoError(t, err)
		m := &modelled{cell: cell, now: time.Unix(1000, 0)}
		m.ref.held = map[omega.AllocationID]*refAllocation{}
		m.accounts = []omega.Account{0, accountOf(cell, "a"), accountOf(cell, "b")}
		m.observer, err = cell.Register("observer", omega.Limits{})
		require.NoError(t, err)
		for i, limits := range []omega.Limits{
			{Highest: 3, Divisible: rapid.Bool().Draw(t, "divisible")},
			{Held: &resources.Vector{9, 9}, Gang: 3, Highest: 2, Divisible: true},
			{Jobs: 1, Machines: omega.Mask{0b11}, Lowest: -1, Highest: 2},
		} {
			o := &refOwner{name: fmt.Sprint(i), limits: limits, mask: limits.Machines}
			o.s, err = cell.Register(o.name, limits)
			require.NoError(t, err)
			require.NoError(t, o.s.BeginJob())
			o.jobs++
			m.look(o)
			m.ref.owners = append(m.ref.owners, o)
		}
		m.add(t)
		m.add(t)
		t.Repeat(map[string]func(*rapid.T){
			"machines": func(t *rapid.T) {
				one(t, m.add, m.add, m.setCapacity, m.setCapacity, m.resume, m.resume, m.drain, m.remove)
			},
			"schedulers":   func(t *rapid.T) { one(t, m.beginJob, m.beginJob, m.endJob, m.replace, m.restrict, m.leave) },
			"commit":       m.commit,
			"commit again": m.commit, // more often than the rest
			"release":      m.release,
			"refresh":      func(t *rapid.T) { m.look(m.owner(t)) },
			"tick":         m.tick,
			"":             m.check,
		})
	})
}

func seldom(t *rapid.T) bool { return rapid.IntRange(0, 9).Draw(t, "seldom") == 6 }

// one does one of several actions.
func one(t *rapid.T, actions ...func(*rapid.T)) {
	actions[rapid.IntRange(0, len(actions)-1).Draw(t, "which")](t)
}

func (m *modelled) tick(t *rapid.T) {
	m.now = m.now.Add(time.Duration(rapid.IntRange(1, 4).Draw(t, "seconds")) * time.Second)
}

func (m *modelled) owner(t *rapid.T) *refOwner {
	return m.ref.owners[rapid.IntRange(0, len(m.ref.owners)-1).Draw(t, "scheduler")]
}

// machine draws one that there is or was.
func (m *modelled) machine(t *rapid.T) omega.MachineID {
	if !seldom(t) {
		return m.ref.nodes[rapid.IntRange(0, len(m.ref.nodes)-1).Draw(t, "machine")].id
	}
	return rapid.SampledFrom(m.machines).Draw(t, "machine")
}

func vector(t *rapid.T, most int64, label string) resources.Vector {
	return resources.Vector{rapid.Int64Range(0, most).Draw(t, label), rapid.Int64Range(0, most).Draw(t, label)}
}

// some returns a need, or one unit if that is nothing.
func some(need resources.Vector) resources.Vector {
	if need == (resources.Vector{}) {
		return resources.Vector{1}
	}
	return need
}

// look refreshes a scheduler's snapshot.
func (m *modelled) look(o *refOwner) {
	o.s.Snapshot().Refresh(m.now)
	o.seen = map[int]refSeen{}
	for node, n := range m.ref.nodes {
		o.seen[node] = n.seen
	}
}

// change checks the error of a change to a machine.
func (m *modelled) change(t *rapid.T, id omega.MachineID, err error) (n *refNode) {
	n = m.ref.nodes[id.Node()]
	if n.id != id || n.cond == omega.Removed {
		require.ErrorIs(t, err, omega.ErrRemoved)
		return nil
	}
	return n
}

func (m *modelled) add(t *rapid.T) {
	spare := slices.ContainsFunc(m.ref.nodes, func(n *refNode) bool { return n.cond == omega.Removed })
	if len(m.ref.nodes) == 3 && !spare {
		t.Skip("enough")
	}
	machine := omega.Machine{Name: fmt.Sprint("m", len(m.machines)), Capacity: vector(t, 6, "capacity").Add(resources.Vector{6, 6})}
	id, err := m.cell.Add(machine)
	require.NoError(t, err)
	m.machines = append(m.machines, id)
	if int(id.Node()) == len(m.ref.nodes) {
		m.ref.nodes = append(m.ref.nodes, &refNode{})
	} else {
		require.Equal(t, omega.Removed, m.ref.nodes[id.Node()].cond)
	}
	n := m.ref.nodes[id.Node()]
	n.seen.changes++
	n.seen.id = id
	*n = refNode{Machine: machine, id: id, seen: n.seen}
}

func (m *modelled) drain(t *rapid.T)  { m.setCondition(t, omega.Draining, m.cell.Drain) }
func (m *modelled) resume(t *rapid.T) { m.setCondition(t, omega.Ready, m.cell.Resume) }

func (m *modelled) setCondition(t *rapid.T, cond omega.Condition, set func(omega.MachineID) error) {
	id := m.machine(t)
	err := set(id)
	if n := m.change(t, id, err); n != nil {
		require.NoError(t, err)
		if n.cond != cond {
			n.seen.changes++
		}
		n.cond = cond
	}
}

func (m *modelled) setCapacity(t *rapid.T) {
	id, capacity := m.machine(t), vector(t, 14, "capacity")
	err := m.cell.SetCapacity(id, capacity)
	n := m.change(t, id, err)
	if n == nil {
		return
	}
	node := int(id.Node())
	if !sum(m.ref.live(node)).Fits(capacity) {
		require.ErrorIs(t, err, omega.ErrInUse)
		return
	}
	require.NoError(t, err)
	running := sum(m.ref.allocations(func(a *refAllocation) bool {
		return a.Machine == id && (a.live || m.now.Before(a.until))
	}))
	n.squeezed = n.squeezed || !running.Fits(capacity)
	n.Capacity = capacity
	n.seen.changes++
}

func (m *modelled) remove(t *rapid.T) {
	id := m.machine(t)
	lost, err := m.cell.Remove(id)
	n := m.change(t, id, err)
	if n == nil {
		return
	}
	require.NoError(t, err)
	want := m.ref.live(int(id.Node()))
	require.Len(t, lost, len(want))
	for _, a := range lost {
		a := m.ref.held[a.ID]
		require.Contains(t, want, a)
		require.Contains(t, lost, a.Allocation)
		a.live, a.until = false, time.Time{}
		a.owner.marks = append(a.owner.marks, omega.Mark{Allocation: a.Allocation, Fate: omega.Lost})
	}
	n.cond = omega.Removed
	n.seen.changes++
}

func (m *modelled) release(t *rapid.T) {
	if len(m.granted) == 0 {
		t.Skip("nothing was granted")
	}
	o, id := m.owner(t), rapid.SampledFrom(m.granted).Draw(t, "allocation")
	err := o.s.Release(id)
	switch a := m.ref.held[id]; {
	case a == nil:
		require.ErrorIs(t, err, omega.ErrReleased)
	case a.owner != o:
		require.ErrorIs(t, err, omega.ErrNotOwner)
	default:
		require.NoError(t, err)
		if a.live {
			m.ref.nodes[id.Node()].seen.changes++
		}
		delete(m.ref.held, id)
	}
}

func (m *modelled) restrict(t *rapid.T) {
	o, mask := m.owner(t), rapid.SampledFrom([]omega.Mask{nil, nil, {0b101}, {0b110}, {0b1011}, {}}).Draw(t, "mask")
	require.NoError(t, o.s.Restrict(t.Context(), mask))
	o.mask = mask
}

func (m *modelled) beginJob(t *rapid.T) {
	o := m.owner(t)
	if err := o.s.BeginJob(); o.limits.Jobs > 0 && o.jobs == o.limits.Jobs {
		require.ErrorIs(t, err, omega.ErrLimit)
	} else {
		require.NoError(t, err)
		o.jobs++
	}
}

func (m *modelled) endJob(t *rapid.T) {
	o := m.owner(t)
	if err := o.s.EndJob(); o.jobs == 0 {
		require.ErrorIs(t, err, omega.ErrUnknown)
	} else {
		require.NoError(t, err)
		o.jobs--
	}
}
