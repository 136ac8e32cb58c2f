package offers_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cellsched/cellsched/offers"
	"github.com/cellsched/cellsched/resources"
)

// What is offered on a machine that drains is taken back by the next step, kept or
// not, read or not; once it takes claims again it is offered again.
func TestStep_TakesBackWhatIsOfferedOnAMachineThatDrains(t *testing.T) {
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
