package omega_test

import (
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/cellsched/cellsched/omega"
)

// replace has a scheduler succeeded, or all that work under the observer.
func (m *modelled) replace(t *rapid.T) {
	o := m.owner(t)
	switch rapid.IntRange(0, 2).Draw(t, "how") {
	case 0:
		successor, err := m.cell.Replace(o.name)
		require.NoError(t, err)
		o.deputy = false
		m.succeed(t, o, successor)
	case 1:
		m.takeOver(t, o)
	default:
		chief, err := m.cell.Replace("observer")
		require.NoError(t, err)
		m.observer = chief
		for _, o := range m.ref.owners {
			if o.deputy {
				m.fenced(t, o.s, o)
				m.takeOver(t, o)
			}
		}
	}
}

func (m *modelled) takeOver(t *rapid.T, o *refOwner) {
	successor, err := m.observer.Deputy(o.name, omega.Limits{})
	require.NoError(t, err)
	o.deputy = true
	m.succeed(t, o, successor)
}

func (m *modelled) succeed(t *rapid.T, o *refOwner, successor *omega.Scheduler) {
	old := o.s
	require.Equal(t, old.Epoch()+1, successor.Epoch())
	o.s = successor
	m.look(o)
	m.fenced(t, old, o)
}

// fenced tries what a scheduler that was replaced cannot do any more.
func (m *modelled) fenced(t *rapid.T, old *omega.Scheduler, o *refOwner) {
	for id, a := range m.ref.held {
		if a.owner == o {
			require.ErrorIs(t, old.Release(id), omega.ErrSuperseded)
		}
		var tx omega.Txn
		tx.Release(id)
		_, err := old.Commit(&tx)
		require.ErrorIs(t, err, omega.ErrSuperseded)
	}
}

// leave has a scheduler leave, if it can, and come back as a new one.
func (m *modelled) leave(t *rapid.T) {
	o := m.owner(t)
	holds := len(m.ref.allocations(func(a *refAllocation) bool { return a.owner == o })) > 0
	for _, other := range m.ref.owners {
		for _, mark := range other.marks {
			holds = holds || mark.By == o.name && m.ref.held[mark.Allocation.ID] != nil
		}
	}
	err := o.s.Leave()
	if holds {
		require.ErrorIs(t, err, omega.ErrHolding)
		return
	}
	require.NoError(t, err)
	require.ErrorIs(t, o.s.Release(omega.AllocationID{}), omega.ErrLeft)
	for _, a := range m.ref.held {
		if a.grantee == o {
			a.grantee = nil
		}
	}
	o.s, err = m.cell.Register(o.name, o.limits)
	require.NoError(t, err)
	require.NoError(t, o.s.BeginJob())
	o.jobs, o.mask, o.deputy = 1, o.limits.Machines, false
	m.look(o)
}
