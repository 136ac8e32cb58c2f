package offers_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/cellsched/cellsched/offers"
	"github.com/cellsched/cellsched/omega"
	"github.com/cellsched/cellsched/resources"
)

// counting counts how often the order is asked.
type counting struct {
	offers.DRF
	asked *int
}

func (c counting) Rank(s offers.Standing) float64 {
	*c.asked++
	return c.DRF.Rank(s)
}

// However many offers a call makes or ends, the order is asked a few times.
func TestMaster_AsksTheOrderOnceForManyOffers(t *testing.T) {
	const machines = 1000
	tests := []struct {
		name string
		most int // times that the order may be asked
		do   func(m *offers.Master, f *offers.Framework, of []offers.OfferID) error
	}{
		{"decline", 2, func(_ *offers.Master, f *offers.Framework, of []offers.OfferID) error {
			return f.Decline(start, offers.Span{}, of...)
		}},
		{"expiry", 2, func(m *offers.Master, _ *offers.Framework, _ []offers.OfferID) error {
			return m.Step(at(30))
		}},
		{"unregister", 10, func(_ *offers.Master, f *offers.Framework, _ []offers.OfferID) error {
			return f.Unregister(start)
		}},
		{"disconnect", 10, func(_ *offers.Master, f *offers.Framework, _ []offers.OfferID) error {
			return f.Disconnect(start)
		}},
		{"decline and revive", 50, func(_ *offers.Master, f *offers.Framework, of []offers.OfferID) error {
			if err := f.Decline(start, offers.Span{}, of...); err != nil {
				return err
			}
			return f.Revive(start)
		}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			asked := 0
			cell, _ := newCell(t, machines, resources.Vector{4})
			order := counting{asked: &asked}
			m := newMaster(t, cell, offers.Config{Order: order, Roles: order})
			register(t, m, offers.Registration{Name: "large", Minimum: resources.Vector{5}}) // never offered
			f := register(t, m, offers.Registration{Name: "busy", Outstanding: 1})
			got := ids(read(t, f, start).Offers)
			require.Len(t, got, machines)
			asked = 0
			require.NoError(t, test.do(m, f, got))
			require.LessOrEqual(t, asked, test.most)
			require.Positive(t, asked)
		})
	}
}

// Room of offers that end in one call is free at the end of the call, and charged to no
// account. The cell may have done anything to some of them meanwhile.
func TestFramework_DeclineFreesDeclinedRoom(t *testing.T) {
	const machines = 300
	cell, on := newCell(t, machines, resources.Vector{4})
	m := newMaster(t, cell, offers.Config{})
	first := register(t, m, offers.Registration{Name: "first", Outstanding: 1})
	got := read(t, first, start).Offers
	require.Len(t, got, machines)
	_, err := cell.Remove(got[0].Machine)
	require.NoError(t, err)
	require.NoError(t, cell.Drain(got[1].Machine))
	above, err := cell.Register("above", omega.Limits{Highest: 1})
	require.NoError(t, err)
	claims := cell.AllocationsOn(got[2].Machine)
	require.Len(t, claims, 1)
	var tx omega.Txn
	tx.Now, tx.Grace = start, omega.AtOnce
	tx.Claim(omega.Claim{
		Machine: got[2].Machine, Need: resources.Vector{3}, Precedence: 1, Victims: []omega.AllocationID{claims[0].ID},
	})
	_, err = above.Commit(&tx)
	require.NoError(t, err)
	require.NoError(t, tx.Err(0))

	unknown := offers.OfferID{}
	err = first.Decline(start, offers.For(time.Minute), append(ids(got), got[5].ID, unknown)...)
	require.ErrorIs(t, err, offers.ErrDeclined, "one is named twice")
	require.ErrorIs(t, err, offers.ErrUnknown)
	held, offered := first.Held()
	require.Zero(t, held)
	require.Zero(t, offered)
	for i, id := range on {
		st, in := cell.State(id)
		want := resources.Vector{4}
		if id == got[2].Machine {
			want = resources.Vector{1}
		}
		require.Equal(t, id != got[0].Machine, in)
		if in {
			require.Equal(t, want, st.Free, fmt.Sprint("machine ", i))
		}
	}
	require.NoError(t, m.Step(start))
	second := register(t, m, offers.Registration{Name: "second", Outstanding: 1})
	require.Len(t, read(t, second, start).Offers, machines-2, "without those that were removed and drain")
}
