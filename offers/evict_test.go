package offers_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/cellsched/cellsched/offers"
	"github.com/cellsched/cellsched/resources"
)

// Evict ends a framework that is there or away, with all that it has.
func TestEvict_LeavesNothing(t *testing.T) {
	tests := map[string]func(t *testing.T, m *offers.Master, f *offers.Framework){
		"while it is there": func(*testing.T, *offers.Master, *offers.Framework) {},
		"while it is away": func(t *testing.T, _ *offers.Master, f *offers.Framework) {
			t.Helper()
			require.NoError(t, f.Disconnect(at(1)))
		},
		"while it is silent": func(t *testing.T, m *offers.Master, _ *offers.Framework) {
			t.Helper()
			pass(t, m, nil, 1, 100)
		},
		"after it was taken for gone": func(t *testing.T, m *offers.Master, _ *offers.Framework) {
			t.Helper()
			pass(t, m, nil, 1, 700)
		},
	}
	for name, before := range tests {
		t.Run(name, func(t *testing.T) {
			cell, machines := newCell(t, 4, resources.Vector{10})
			m := newMaster(t, cell, offers.Config{LongInCell: 90})
			told := 0
			f := register(t, m, offers.Registration{
				Name: "f", Role: "r", Failover: offers.Never(), Guaranteed: resources.Vector{20}, Epoch: 7, Notify: func() { told++ },
			})
			got := read(t, f, start).Offers
			_, err := f.Accept(start, offers.Launch{
				Offers: []offers.OfferID{got[0].ID}, Tasks: []offers.Task{{Need: resources.Vector{6}, Long: true}}, Filter: true,
			})
			require.NoError(t, err)
			require.NoError(t, f.Decline(start, offers.For(time.Hour), got[1].ID))
			_, err = f.Request(start, offers.Request{Machines: 3, Each: resources.Vector{10}})
			require.NoError(t, err)
			_, err = m.Vacate(start, machines[0], at(10000))
			require.NoError(t, err)
			before(t, m, f)
			told = 0
			now := at(1000)
			require.NoError(t, m.Evict(now, "f"))
			require.Empty(t, m.Leftovers())
			for st := range cell.Machines() {
				require.Equal(t, st.Capacity, st.Free)
			}
			require.ErrorIs(t, m.Evict(now, "f"), offers.ErrUnregistered)
			for range 2 {
				_, err = f.News(now)
				require.ErrorIs(t, err, offers.ErrEvicted)
				require.ErrorIs(t, err, offers.ErrUnregistered)
				require.ErrorContains(t, err, `"f"`)
				require.ErrorIs(t, f.Disconnect(now), offers.ErrEvicted)
			}

			again, err := m.Register(now, offers.Registration{Name: "f"})
			require.NoError(t, err, "it is another one, of whatever epoch")
			require.NoError(t, m.Step(now))
			require.Len(t, read(t, again, now).Offers, 4)
			_, err = f.News(now)
			require.ErrorIs(t, err, offers.ErrEvicted)
			require.Empty(t, m.Replies(machines[0]))
		})
	}
}

// An evicted framework is notified, and its room goes to others at once.
func TestEvict_OffersItsRoomToOthers(t *testing.T) {
	cell, _ := newCell(t, 3, resources.Vector{10})
	m := newMaster(t, cell, offers.Config{})
	told := 0
	f := register(t, m, offers.Registration{Name: "f", Notify: func() { told++ }})
	_, err := f.Accept(start, launch(read(t, f, start).Offers[0].ID, 10))
	require.NoError(t, err)
	g := register(t, m, offers.Registration{Name: "g"})
	read(t, f, start)
	told = 0
	require.NoError(t, m.Evict(start, "f"))
	require.Equal(t, 1, told)
	require.Len(t, read(t, g, start).Offers, 3)
	require.ErrorContains(t, m.Evict(start, "h"), `"h"`)
}

// What an earlier master has left behind can be evicted, too; a master that was replaced
// evicts nothing.
func TestEvict_AfterFailover(t *testing.T) {
	cell, _ := newCell(t, 1, resources.Vector{10})
	old := newMaster(t, cell, offers.Config{})
	f := register(t, old, offers.Registration{Name: "f"})
	_, err := f.Accept(start, launch(read(t, f, start).Offers[0].ID, 10))
	require.NoError(t, err)
	m := newMaster(t, cell, offers.Config{})
	require.ErrorIs(t, old.Evict(start, "f"), offers.ErrFenced)
	require.Equal(t, 1, m.Members())
	require.NoError(t, m.Evict(start, "f"))
	require.Zero(t, m.Members())
	for range cell.Allocations() {
		t.Fatal("its tasks are left")
	}
	g := register(t, m, offers.Registration{Name: "g"})
	require.Len(t, read(t, g, start).Offers, 1)
}
