package offers_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cellsched/cellsched/locality"
	"github.com/cellsched/cellsched/offers"
	"github.com/cellsched/cellsched/omega"
	"github.com/cellsched/cellsched/resources"
)

// describe sets the number and the kind of the cores of a node.
func describe(t *testing.T, a *locality.Attributes, n omega.MachineID, cores int64, arch string) {
	t.Helper()
	require.NoError(t, a.Describe(n.Node(), map[string]locality.Value{
		"cores": locality.Number(cores), "arch": locality.Text(arch),
	}))
}

// constrained returns constraints of all of these predicates.
func constrained(t *testing.T, a *locality.Attributes, predicates ...locality.Predicate) *locality.Constraints {
	t.Helper()
	all := make([]locality.Constraint, len(predicates))
	for i, p := range predicates {
		var err error
		all[i], err = a.Register(p)
		require.NoError(t, err)
	}
	c, err := a.Require(all...)
	require.NoError(t, err)
	return c
}

// offeredOn returns the machines of what is new to f, and declines nothing.
func offeredOn(t *testing.T, f *offers.Framework, seconds float64) (on []omega.MachineID) {
	t.Helper()
	for _, o := range read(t, f, at(seconds)).Offers {
		on = append(on, o.Machine)
	}
	return on
}

func TestRegister_OffersMeetConstraints(t *testing.T) {
	var a locality.Attributes
	cell, machines := newCell(t, 70, resources.Vector{10})
	for i, id := range machines[:69] { // the last one has no attributes
		describe(t, &a, id, int64(i), []string{"arm", "x86"}[i%2])
	}
	large, arm := locality.Greater("cores", 65), locality.Equal("arch", locality.Text("arm"))
	tests := map[string]struct {
		c        *locality.Constraints
		machines omega.Mask
		want     []omega.MachineID
	}{
		"one predicate":        {constrained(t, &a, large), nil, machines[66:69]},
		"all of two":           {constrained(t, &a, large, arm), nil, []omega.MachineID{machines[66], machines[68]}},
		"not":                  {constrained(t, &a, large, arm.Not()), nil, machines[67:68]},
		"of these machines":    {constrained(t, &a, large), omega.Mask{0, 0b1100}, machines[66:68]},
		"met by none":          {constrained(t, &a, locality.Exists("gpu")), nil, nil},
		"the zero constraints": {new(locality.Constraints), nil, nil},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			m := newMaster(t, cell, offers.Config{Name: "master " + name})
			f := register(t, m, offers.Registration{Name: "f", Constraints: test.c, Machines: test.machines})
			require.Equal(t, test.want, offeredOn(t, f, 0))
			require.NoError(t, f.Unregister(start))
		})
	}
	m := newMaster(t, cell, offers.Config{})
	f := register(t, m, offers.Registration{Name: "f"})
	require.Len(t, offeredOn(t, f, 0), 70, "nil are met by all")
}

// Changes of machines count from the next step on; outstanding offers are not taken back.
func TestStep_NoticesWhichMachinesMeetConstraints(t *testing.T) {
	var a locality.Attributes
	cell, machines := newCell(t, 2, resources.Vector{10})
	describe(t, &a, machines[0], 4, "arm")
	describe(t, &a, machines[1], 4, "x86")
	m := newMaster(t, cell, offers.Config{})
	f := register(t, m, offers.Registration{
		Name: "f", Constraints: constrained(t, &a, locality.Equal("arch", locality.Text("arm"))), Outstanding: 1,
	})
	require.Equal(t, machines[:1], offeredOn(t, f, 0))
	require.NoError(t, m.Step(at(1)))
	require.Empty(t, offeredOn(t, f, 1))

	// The other one becomes what it needs.
	require.NoError(t, a.Set(machines[1].Node(), "arch", locality.Text("arm")))
	require.NoError(t, m.Step(at(2)))
	got := read(t, f, at(2)).Offers
	require.Len(t, got, 1)
	require.Equal(t, machines[1], got[0].Machine)

	// And is not any more: the offer can be answered, but is the last one.
	require.NoError(t, a.Set(machines[1].Node(), "arch", locality.Text("x86")))
	require.NoError(t, m.Step(at(3)))
	tasks, err := f.Accept(at(3), launch(got[0].ID, 10))
	require.NoError(t, err)
	require.NoError(t, f.Release(at(4), tasks...))
	require.NoError(t, m.Step(at(5)))
	require.Empty(t, offeredOn(t, f, 5))

	// Gang offers keep to it, too.
	_, err = f.Request(at(6), offers.Request{Machines: 1, Each: resources.Vector{10}})
	require.NoError(t, err)
	require.Empty(t, read(t, f, at(6)).Answers)
	require.NoError(t, a.Set(machines[1].Node(), "arch", locality.Text("arm")))
	require.NoError(t, m.Step(at(7)))
	require.Len(t, read(t, f, at(7)).Answers, 1)

	// A machine that comes, and is described only later.
	late, err := cell.Add(omega.Machine{Name: "late", Capacity: resources.Vector{10}})
	require.NoError(t, err)
	require.NoError(t, m.Step(at(8)))
	require.Empty(t, offeredOn(t, f, 8))
	describe(t, &a, late, 4, "arm")
	require.NoError(t, m.Step(at(9)))
	require.Equal(t, []omega.MachineID{late}, offeredOn(t, f, 9))

	// Nodes that are described and are no machines do no harm.
	require.NoError(t, a.Describe(200, map[string]locality.Value{"arch": locality.Text("arm")}))
	require.NoError(t, m.Step(at(10)))

	// A new registration has other constraints, or none.
	other, err := m.Register(at(11), offers.Registration{
		Name: "f", Epoch: 1, Constraints: constrained(t, &a, locality.Exists("gpu")),
	})
	require.NoError(t, err)
	require.Len(t, offeredOn(t, other, 11), 3, "what it had is told again")
	require.NoError(t, m.Step(at(60)))
	require.Empty(t, offeredOn(t, other, 60))
	last, err := m.Register(at(61), offers.Registration{Name: "f", Epoch: 2})
	require.NoError(t, err)
	require.NoError(t, m.Step(at(80)))
	require.NotEmpty(t, offeredOn(t, last, 80))
	require.NoError(t, cell.Check())
}

// A machine that one framework cannot use is offered to the next at once.
func TestRegister_ConstraintsKeepNothingFromOthers(t *testing.T) {
	var a locality.Attributes
	cell, machines := newCell(t, 3, resources.Vector{10})
	describe(t, &a, machines[2], 4, "arm")
	m := newMaster(t, cell, offers.Config{})
	picky := register(t, m, offers.Registration{
		Name: "picky", Outstanding: 1, Constraints: constrained(t, &a, locality.Exists("arch")),
	})
	other := register(t, m, offers.Registration{Name: "other", Outstanding: 1})
	require.Equal(t, machines[2:], offeredOn(t, picky, 0))
	require.Equal(t, machines[:2], offeredOn(t, other, 0))
}
