package offers_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cellsched/cellsched/offers"
	"github.com/cellsched/cellsched/omega"
	"github.com/cellsched/cellsched/resources"
)

// Two frameworks that share an account get what one would.
func TestOrder_AccountsAreShared(t *testing.T) {
	tests := map[string]struct {
		roles []string
		want  []int // how much a and b have together, and c
	}{
		"one role":            {[]string{"", "", ""}, []int{30, 30}},
		"a role of their own": {[]string{"x", "x", "y"}, []int{30, 30}},
		"two roles":           {[]string{"x", "y", "z"}, []int{30, 30}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			cell, machines := newCell(t, 0, resources.Vector{})
			m := newMaster(t, cell, offers.Config{})
			account := accountOf(cell, "shared")
			all := []*offers.Framework{
				register(t, m, offers.Registration{Name: "a", Role: test.roles[0], Account: account, Outstanding: 1}),
				register(t, m, offers.Registration{Name: "b", Role: test.roles[1], Account: account, Outstanding: 1}),
				register(t, m, offers.Registration{Name: "c", Role: test.roles[2], Outstanding: 1}),
			}
			for i := range 60 { // all at once, so that nothing is learned between
				id, err := cell.Add(omega.Machine{Name: fmt.Sprint("node-", i), Capacity: resources.Vector{10}})
				require.NoError(t, err)
				machines = append(machines, id)
			}
			require.NoError(t, m.Step(start))
			got := make([]int, 3)
			for range machines {
				for i, f := range all {
					for _, o := range read(t, f, start).Offers {
						_, err := f.Accept(start, offers.Launch{Offers: []offers.OfferID{o.ID}, Tasks: []offers.Task{{Need: o.Room}}})
						require.NoError(t, err)
						got[i]++
					}
				}
			}
			require.Equal(t, test.want, []int{got[0] + got[1], got[2]}, "%v", got)
			require.Positive(t, got[0])
			require.Positive(t, got[1])
		})
	}
}

// Each offer to one framework of a shared account puts off all that share it.
func TestOrder_FrameworksOfOneAccountMoveTogether(t *testing.T) {
	for name, test := range map[string]struct {
		roles []string
		want  string // the frameworks that are offered one machine after the other
	}{
		"one role":           {[]string{"", "", ""}, "acbcacbc"},
		"roles of their own": {[]string{"x", "y", "z"}, "acbcacbc"},
		"one of two":         {[]string{"x", "y", "y"}, "acaaaaaa"}, // y holds that, too, and what c has
	} {
		t.Run(name, func(t *testing.T) {
			cell, machines := newCell(t, 8, resources.Vector{10})
			other, err := cell.Register("other", omega.Limits{})
			require.NoError(t, err)
			var tx omega.Txn
			for _, id := range machines {
				tx.Claim(omega.Claim{Machine: id, Need: resources.Vector{10}})
			}
			_, err = other.Commit(&tx)
			require.NoError(t, err)
			m := newMaster(t, cell, offers.Config{})
			account := accountOf(cell, "shared")
			all := []*offers.Framework{
				register(t, m, offers.Registration{Name: "a", Role: test.roles[0], Account: account}),
				register(t, m, offers.Registration{Name: "b", Role: test.roles[1], Account: account}),
				register(t, m, offers.Registration{Name: "c", Role: test.roles[2]}),
			}
			var who strings.Builder
			for i := range machines {
				id, _ := tx.Allocation(i)
				require.NoError(t, other.Release(id))
				require.NoError(t, m.Step(start))
				for _, f := range all {
					for _, o := range read(t, f, start).Offers {
						who.WriteString(f.Name())
						_, err := f.Accept(start, launch(o.ID, 10))
						require.NoError(t, err)
					}
				}
			}
			require.Equal(t, test.want, who.String())
			require.NoError(t, m.Step(start))
			for _, f := range all {
				require.NoError(t, f.Unregister(start))
			}
			require.Empty(t, m.Leftovers())
		})
	}
}

// What one is charged the other one holds, at once and until one of them has gone
// or has another account.
func TestRegister_SharesAnAccount(t *testing.T) {
	cell, _ := newCell(t, 4, resources.Vector{10})
	m := newMaster(t, cell, offers.Config{})
	account := accountOf(cell, "shared")
	a := register(t, m, offers.Registration{Name: "a", Account: account, Outstanding: 1})
	b := register(t, m, offers.Registration{Name: "b", Account: account, Epoch: 1})
	held := func(f *offers.Framework) int64 {
		held, _ := f.Held()
		usage, err := cell.Usage(account)
		require.NoError(t, err)
		require.Equal(t, usage, held)
		return held[0]
	}
	require.EqualValues(t, 40, held(b), "what a is offered")
	_, offered := b.Held()
	require.Zero(t, offered, "is not its own")
	got := read(t, a, start).Offers
	tasks, err := a.Accept(start, launch(got[0].ID, 7), launch(got[1].ID, 10))
	require.NoError(t, err)
	require.EqualValues(t, 40, held(a), "the rest is offered to one of them")
	require.EqualValues(t, 40, held(b))
	require.NoError(t, b.Suppress(start))
	require.NoError(t, a.Suppress(start))
	for _, f := range []*offers.Framework{a, b} {
		for _, o := range read(t, f, start).Offers {
			require.NoError(t, f.Decline(start, offers.Span{}, o.ID))
		}
	}
	require.NoError(t, a.Decline(start, offers.Span{}, got[2].ID, got[3].ID))
	require.EqualValues(t, 17, held(b))
	require.NoError(t, a.Release(start, tasks[0]))
	require.EqualValues(t, 10, held(b))

	// One gets an account of its own, and then shares this one again.
	b = register(t, m, offers.Registration{Name: "b", Epoch: 2, Machines: omega.Mask{}})
	own, _ := b.Held()
	require.Zero(t, own)
	require.EqualValues(t, 10, held(a))
	b = register(t, m, offers.Registration{Name: "b", Epoch: 3, Machines: omega.Mask{}, Account: account})
	require.EqualValues(t, 10, held(b))
	require.NoError(t, a.Unregister(start))
	require.Zero(t, held(b))

	// A successor finds them both.
	c := register(t, m, offers.Registration{Name: "c", Account: account})
	_, err = c.Accept(start, launch(read(t, c, start).Offers[0].ID, 10))
	require.NoError(t, err)
	m = newMaster(t, cell, offers.Config{})
	b = register(t, m, offers.Registration{Name: "b", Account: account})
	require.NoError(t, b.Suppress(start))
	require.NoError(t, b.Decline(start, offers.Span{}, ids(read(t, b, start).Offers)...))
	require.EqualValues(t, 10, held(b), "of who has not come back yet")
	require.NoError(t, m.Step(at(3600)))
	require.Zero(t, held(b))
	require.NoError(t, cell.Check())
}

// Charges of other frameworks to a shared account are not a framework's own: they are
// neither its tasks to be revoked, nor guaranteed to it.
func TestRequest_GuaranteesOnesOwnTasks(t *testing.T) {
	cell, _ := newCell(t, 3, resources.Vector{10})
	m := newMaster(t, cell, offers.Config{})
	account := accountOf(cell, "shared")
	reg := func(name string, guaranteed int64) *offers.Framework {
		return register(t, m, offers.Registration{
			Name: name, Account: account, Guaranteed: resources.Vector{guaranteed}, Outstanding: 0.01,
		})
	}
	a := reg("a", 10)
	_, err := a.Accept(start, launch(read(t, a, start).Offers[0].ID, 10))
	require.NoError(t, err)
	b := reg("b", 0)
	require.NoError(t, a.Suppress(start))
	require.NoError(t, a.Decline(start, offers.Span{}, ids(read(t, a, start).Offers)...))
	for range 2 {
		_, err = b.Accept(start, launch(read(t, b, start).Offers[0].ID, 10))
		require.NoError(t, err)
	}
	owner := reg("owner", 10)
	_, err = owner.Request(start, offers.Request{Machines: 1, Each: resources.Vector{10}, Revoke: true})
	require.NoError(t, err, "it has nothing itself")
	require.Empty(t, read(t, a, start).Revoked, "it has no more than its own")
	require.Len(t, read(t, b, start).Revoked, 1)
}

// A role counts an account once, also of those that a new master has found and that
// have not registered.
func TestNew_CountsAnAccountOnce(t *testing.T) {
	cell, _ := newCell(t, 0, resources.Vector{})
	old := newMaster(t, cell, offers.Config{})
	add := func(m *offers.Master, name string) {
		_, err := cell.Add(omega.Machine{Name: name, Capacity: resources.Vector{5}})
		require.NoError(t, err)
		require.NoError(t, m.Step(start))
	}
	account := accountOf(cell, "shared")
	for name, tasks := range map[string]int{"a": 1, "b": 1, "other": 3} {
		r := offers.Registration{Name: name, Account: account}
		if name == "other" {
			r.Account = 0
		}
		f := register(t, old, r)
		for i := range tasks {
			add(old, fmt.Sprint(name, i))
			_, err := f.Accept(start, launch(read(t, f, start).Offers[0].ID, 5))
			require.NoError(t, err)
		}
		require.NoError(t, f.Suppress(start))
	}
	m := newMaster(t, cell, offers.Config{})
	other := register(t, m, offers.Registration{Name: "other", Role: "theirs"})
	friend := register(t, m, offers.Registration{Name: "friend"})
	add(m, "new")
	require.Empty(t, read(t, other, start).Offers, "it has 15")
	require.Len(t, read(t, friend, start).Offers, 1, "its role has 10")
}
