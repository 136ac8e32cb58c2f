package offers_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/cellsched/cellsched/offers"
	"github.com/cellsched/cellsched/omega"
	"github.com/cellsched/cellsched/resources"
)

// What is offered on a machine that drains is taken back by the next step, kept or
// not, read or not; once it takes claims again it is offered again.
func TestStep_RescindsOffersOfADrainingMachine(t *testing.T) {
	for i := range 4 {
		optimistic, seen := i&1 == 1, i&2 == 2
		cell, machines := newCell(t, 2, resources.Vector{10})
		m := newMaster(t, cell, offers.Config{Terms: offers.Terms{Optimistic: optimistic}})
		f := register(t, m, offers.Registration{Name: "f", Outstanding: 1})
		var told []offers.Ended
		if seen {
			for _, o := range read(t, f, start).Offers {
				if o.Machine == machines[0] {
					told = append(told, offers.Ended{Offer: o.ID, Reason: offers.ErrRescinded})
				}
			}
		}
		require.NoError(t, cell.Drain(machines[0]))
		require.NoError(t, m.Step(at(1)))
		st, _ := cell.State(machines[0])
		require.Equal(t, st.Capacity, st.Free)
		news := read(t, f, at(1))
		require.Equal(t, told, news.Ended)
		require.Len(t, news.Offers, 1-len(told), "that on the other machine")
		for _, one := range told {
			_, err := f.Accept(at(1), launch(one.Offer, 1))
			require.ErrorIs(t, err, offers.ErrRescinded)
		}
		_, offered := f.Held()
		if !optimistic {
			require.Equal(t, resources.Vector{10}, offered)
		}
		require.NoError(t, m.Step(at(2)))
		require.Empty(t, read(t, f, at(2)).Offers)

		require.NoError(t, cell.Resume(machines[0]))
		require.NoError(t, m.Step(at(3)))
		again := read(t, f, at(3)).Offers
		require.Len(t, again, 1)
		require.Equal(t, machines[0], again[0].Machine)
		require.NoError(t, cell.Check())
	}
}

// A revocation on a machine that drains, or is of no use any more or not offered, begins
// elsewhere at once. Its victims may stay.
func TestStep_RevokesElsewhereWhenAMachineIsOfNoUseAnyMore(t *testing.T) {
	tests := map[string]func(t *testing.T, m *offers.Master, cell *omega.Cell, machine omega.MachineID){
		"drains": func(t *testing.T, _ *offers.Master, cell *omega.Cell, machine omega.MachineID) {
			t.Helper()
			require.NoError(t, cell.Drain(machine))
		},
		"changes": func(t *testing.T, _ *offers.Master, cell *omega.Cell, machine omega.MachineID) {
			t.Helper()
			require.NoError(t, cell.SetAttributes(machine, nil))
		},
		"is not offered": func(t *testing.T, m *offers.Master, _ *omega.Cell, machine omega.MachineID) {
			t.Helper()
			require.NoError(t, m.SetTerms(at(1), offers.Terms{Machines: omega.Mask{^(1 << machine.Node())}}))
		},
	}
	for name, spoil := range tests {
		t.Run(name, func(t *testing.T) {
			cell, machines := newCell(t, 2, resources.Vector{10})
			for _, id := range machines {
				require.NoError(t, cell.SetAttributes(id, map[string]string{"disk": "ssd"}))
			}
			m := newMaster(t, cell, offers.Config{Grace: offers.For(10 * time.Second)})
			low := register(t, m, offers.Registration{Name: "low"})
			for _, o := range read(t, low, start).Offers {
				_, err := low.Accept(start, launch(o.ID, 10))
				require.NoError(t, err)
			}
			owner := register(t, m, offers.Registration{
				Name: "owner", Guaranteed: resources.Vector{10}, Labels: map[string][]string{"disk": nil},
			})
			_, err := owner.Request(start, offers.Request{Machines: 1, Each: resources.Vector{10}, Revoke: true})
			require.NoError(t, err)
			first := read(t, low, start).Revoked
			require.Len(t, first, 1)

			spoil(t, m, cell, first[0].Task.Machine)
			require.NoError(t, m.Step(at(1)))
			news := read(t, low, at(1))
			require.Equal(t, []omega.Allocation{first[0].Task}, news.Spared)
			require.Len(t, news.Revoked, 1)
			require.NotEqual(t, first[0].Task.Machine, news.Revoked[0].Task.Machine)
			require.Equal(t, at(11), news.Revoked[0].Until)
			require.NoError(t, m.Step(at(10)))
			require.Empty(t, read(t, owner, at(10)).Answers)
			require.NoError(t, m.Step(at(11)))
			answers := read(t, owner, at(11)).Answers
			require.Len(t, answers, 1)
			require.Equal(t, news.Revoked[0].Task.Machine, answers[0].Offers[0].Machine)
		})
	}
}
