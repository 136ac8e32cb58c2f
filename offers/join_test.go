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

// fourMachines returns a cell of m0 to m3, of which m1 has a GPU.
func fourMachines(t *testing.T) *omega.Cell {
	t.Helper()
	var machines []omega.Machine
	for i := range 4 {
		one := omega.Machine{Name: fmt.Sprint("m", i), Capacity: resources.Vector{10}}
		if i == 1 {
			one.Attributes = map[string]string{"gpu": "yes"}
		}
		machines = append(machines, one)
	}
	cell, err := omega.NewCell(omega.Config{Machines: machines})
	require.NoError(t, err)
	return cell
}

// machinesOf returns the names of the machines of offers.
func machinesOf(t *testing.T, cell *omega.Cell, got []offers.Offer) (names []string) {
	t.Helper()
	for _, o := range got {
		st, in := cell.State(o.Machine)
		require.True(t, in)
		names = append(names, st.Name)
	}
	return names
}

// A framework that comes later does not wait for the timeout of unread offers that are
// more than the share of a framework that was there before. It does where that framework
// has read them, since it may be about to accept them.
func TestRegister_SharesUnreadOffers(t *testing.T) {
	every := []string{"m0", "m1", "m2", "m3"}
	for name, test := range map[string]struct {
		first, second offers.Registration
		meanwhile     func(*testing.T, *offers.Framework)
		kept, got     []string // machines that both read of then
	}{
		"the latest go":         {kept: every[:2], got: every[2:]},
		"by weight":             {second: offers.Registration{Weight: 3}, kept: every[:1], got: every[1:]},
		"not below the share":   {first: offers.Registration{Weight: 1.1}, kept: every[:3], got: every[3:]},
		"what it asked for":     {first: offers.Registration{Outstanding: 1}, kept: every},
		"only what is of use":   {second: offers.Registration{Labels: map[string][]string{"gpu": nil}}, kept: []string{"m0", "m2", "m3"}, got: every[1:2]},
		"nothing of use":        {second: offers.Registration{Minimum: resources.Vector{11}}, kept: every},
		"who wants nothing yet": {second: offers.Registration{Suppressed: true}, kept: every},
		"what is read stays": {meanwhile: func(t *testing.T, f *offers.Framework) {
			t.Helper()
			require.Len(t, read(t, f, start).Offers, 4)
		}},
		"a gang stays": {first: offers.Registration{Suppressed: true}, meanwhile: func(t *testing.T, f *offers.Framework) {
			t.Helper()
			_, err := f.Request(start, offers.Request{Machines: 4, Each: resources.Vector{10}})
			require.NoError(t, err)
			require.NoError(t, f.Revive(start))
		}},
		"who is away keeps them": {
			first: offers.Registration{Failover: offers.For(time.Minute)},
			meanwhile: func(t *testing.T, f *offers.Framework) {
				t.Helper()
				require.NoError(t, f.Disconnect(start))
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			cell := fourMachines(t)
			m := newMaster(t, cell, offers.Config{})
			test.first.Name, test.second.Name = "first", "second"
			first := register(t, m, test.first)
			if test.meanwhile != nil {
				test.meanwhile(t, first)
			}
			second := register(t, m, test.second)
			require.Equal(t, test.got, machinesOf(t, cell, read(t, second, start).Offers))
			if test.kept != nil {
				news := read(t, first, start)
				require.Equal(t, test.kept, machinesOf(t, cell, news.Offers))
				require.Empty(t, news.Ended, "of what it never read")
			}
			require.NoError(t, cell.Check())
		})
	}
}

// So it is when a framework revives; a takeover only takes the offers over.
func TestRevive_SharesUnreadOffers(t *testing.T) {
	cell := fourMachines(t)
	m := newMaster(t, cell, offers.Config{})
	second := register(t, m, offers.Registration{Name: "second", Suppressed: true})
	first := register(t, m, offers.Registration{Name: "first"})
	require.NoError(t, second.Revive(start))
	require.NoError(t, second.Revive(start))
	require.Len(t, read(t, second, start).Offers, 2)
	register(t, m, offers.Registration{Name: "second", Epoch: 1})
	require.Len(t, read(t, first, start).Offers, 2)
}
