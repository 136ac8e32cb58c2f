package offers_test

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/cellsched/cellsched/locality"
	"github.com/cellsched/cellsched/offers"
	"github.com/cellsched/cellsched/omega"
	"github.com/cellsched/cellsched/resources"
)

// Machines of the model come and go, and schedulers without a master claim them. The
// master may see that at once, or be asked something else before.

// aside lets the master see what has changed in the cell, or not yet.
func (m *model) aside(t *rapid.T) {
	m.settled = false
	if rapid.IntRange(0, 3).Draw(t, "unseen") > 0 {
		m.step(t, 0)
	}
}

func (m *model) doAdd(t *rapid.T) {
	if len(m.machines) >= 6 {
		t.Skip("enough")
	}
	m.add(t)
	m.aside(t)
}

func (m *model) add(t *rapid.T) {
	m.added++
	id, err := m.cell.Add(omega.Machine{
		Name: fmt.Sprint("m", m.added), Attributes: m.labels(t),
		Capacity: resources.Vector{rapid.Int64Range(1, 10).Draw(t, "cpu"), rapid.Int64Range(0, 10).Draw(t, "memory")},
	})
	require.NoError(t, err)
	m.machines = append(m.machines, id)
}

func (m *model) labels(t *rapid.T) map[string]string {
	return rapid.SampledFrom([]map[string]string{
		nil, {"zone": "a"}, {"zone": "c", "disk": "ssd"}, {"zone": "b", "disk": "ssd"},
	}).Draw(t, "labels")
}

func (m *model) machine(t *rapid.T) omega.MachineID { return one(t, "machine", m.machines) }

func (m *model) doRemove(t *rapid.T) {
	machine := m.machine(t)
	_, err := m.cell.Remove(machine)
	require.NoError(t, err)
	m.machines = slices.DeleteFunc(m.machines, func(one omega.MachineID) bool { return one == machine })
	delete(m.leave, machine)
	for _, f := range m.all {
		f.filters = slices.DeleteFunc(f.filters, func(one shade) bool { return one.machine == machine })
		delete(f.asked, machine)
		for id, one := range f.tasks {
			if one.machine == machine {
				m.lose(f, id, "")
			}
		}
		for _, o := range f.offers {
			o.doomed = o.doomed || o.Machine == machine
		}
	}
	m.aside(t)
}

// lose takes a task from a framework.
func (m *model) lose(f *fw, id omega.AllocationID, by string) {
	f.lost[id] = &loss{task: f.tasks[id], by: by}
	delete(f.tasks, id)
}

// doChange gives a machine another size, or other labels.
func (m *model) doChange(t *rapid.T) {
	machine := m.machine(t)
	if rapid.Bool().Draw(t, "labels") {
		require.NoError(t, m.cell.SetAttributes(machine, m.labels(t)))
	} else {
		st, _ := m.cell.State(machine)
		used, _ := st.Capacity.Sub(st.Free)
		more := resources.Vector{rapid.Int64Range(1, 5).Draw(t, "cpu"), rapid.Int64Range(0, 5).Draw(t, "memory")}
		require.NoError(t, m.cell.SetCapacity(machine, used.Add(more)))
	}
	m.aside(t)
}

// describe lets constraints be told of machines that are special; by number.
func (m *model) describe(t *rapid.T) {
	m.special = make(map[locality.Node]bool)
	one, err := m.attributes.Register(locality.Equal("special", locality.Number(1)))
	require.NoError(t, err)
	m.specials, err = m.attributes.Require(one)
	require.NoError(t, err)
}

// doDescribe makes a machine special, or not any more.
func (m *model) doDescribe(t *rapid.T) {
	node := m.machine(t).Node()
	m.special[node] = !m.special[node]
	value := locality.Number(0)
	if m.special[node] {
		value = locality.Number(1)
	}
	require.NoError(t, m.attributes.Describe(node, map[string]locality.Value{"special": value}))
	m.aside(t)
}

// meet notes which machines meet the constraints of a framework, as the master does.
func (m *model) meet(f *fw) { f.meets = maps.Clone(m.special) }

// doDrain lets a machine take no claims any more, or again.
func (m *model) doDrain(t *rapid.T) {
	machine := m.machine(t)
	if st, _ := m.cell.State(machine); st.Condition == omega.Draining {
		require.NoError(t, m.cell.Resume(machine))
	} else {
		require.NoError(t, m.cell.Drain(machine))
	}
	m.aside(t)
}

// doClaim claims room for a scheduler without a master.
func (m *model) doClaim(t *rapid.T) {
	var tx omega.Txn
	tx.Claim(omega.Claim{
		Machine: m.machine(t), Precedence: 5, Need: resources.Vector{rapid.Int64Range(1, 5).Draw(t, "need")},
	})
	_, err := m.optimist.Commit(&tx)
	require.NoError(t, err)
	m.aside(t)
}

// doPreempt does so at the cost of others: of tasks and of offers.
func (m *model) doPreempt(t *rapid.T) {
	machine, need := m.machine(t), resources.Vector{rapid.Int64Range(1, 5).Draw(t, "need")}
	victims, ok := m.cell.Victims(machine, need, 5)
	if !ok {
		t.Skip("no room at any cost")
	}
	unclear := false // which of several offers that are alike is taken
	for _, a := range m.cell.AllocationsOn(machine) {
		if !slices.Contains(victims, a.ID) {
			continue
		}
		for _, f := range m.all {
			if _, is := f.tasks[a.ID]; is {
				m.lose(f, a.ID, m.optimist.Name())
			} else if a.Scheduler == offers.DefaultName && a.Account == accountOf(m.cell, f.name) {
				like := &room{Offer: offers.Offer{Machine: machine, Room: a.Need}}
				unclear = unclear || m.claims(f, like) > 1
				if f.drowsy && !slices.Contains(f.heard, a.ID) {
					continue // it has not read of that one
				}
				for _, o := range f.alike(like) {
					o.doomed = true
				}
			}
		}
	}
	tx := omega.Txn{Now: m.now, Grace: time.Duration(rapid.IntRange(0, 2).Draw(t, "grace")) * time.Second}
	if tx.Grace == 0 {
		tx.Grace = omega.AtOnce
	}
	tx.Claim(omega.Claim{Machine: machine, Precedence: 5, Need: need, Victims: victims})
	granted, err := m.optimist.Commit(&tx)
	require.NoError(t, err)
	require.Equal(t, 1, granted)
	if m.aside(t); unclear {
		m.step(t, 0)
	}
}

func (m *model) doGiveBack(t *rapid.T) {
	for mark := range m.optimist.Marked() {
		require.NoError(t, m.optimist.Release(mark.Allocation.ID))
	}
	for a := range m.optimist.Allocations() {
		if rapid.Bool().Draw(t, "this one") {
			require.NoError(t, m.optimist.Release(a.ID))
		}
	}
	m.aside(t)
}
