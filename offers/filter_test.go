package offers_test

import (
	"fmt"
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/cellsched/cellsched/locality"
	"github.com/cellsched/cellsched/offers"
	"github.com/cellsched/cellsched/omega"
	"github.com/cellsched/cellsched/resources"
)

// OF-P1: a filter hides room that is contained in the refused room, on that machine, from
// that framework.
func TestDecline_HidesContainedRoom(t *testing.T) {
	tests := map[string]struct {
		at      float64
		room    resources.Vector
		other   bool // on the other machine
		offered bool
	}{
		"less":                   {2, resources.Vector{2, 2048}, false, false},
		"the same":               {2, resources.Vector{4, 4096}, false, false},
		"more of one":            {2, resources.Vector{5, 4096}, false, true},
		"more of the other":      {2, resources.Vector{2, 5000}, false, true},
		"less, on another":       {2, resources.Vector{2, 2048}, true, true},
		"less, once it is over":  {6, resources.Vector{2, 2048}, false, true},
		"just before it is over": {4.999, resources.Vector{2, 2048}, false, false},
		"just when it is over":   {5, resources.Vector{2, 2048}, false, true},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			cell, machines := newCell(t, 2, resources.Vector{8, 8192})
			optimist, err := cell.Register("optimist", omega.Limits{})
			require.NoError(t, err)
			// leave makes the optimist leave so much free on each machine.
			leave := func(rooms ...resources.Vector) {
				for a := range optimist.Allocations() {
					require.NoError(t, optimist.Release(a.ID))
				}
				var tx omega.Txn
				for i, room := range rooms {
					need, _ := resources.Vector{8, 8192}.Sub(room)
					tx.Claim(omega.Claim{Machine: machines[i], Need: need})
				}
				granted, err := optimist.Commit(&tx)
				require.NoError(t, err)
				require.Equal(t, len(rooms), granted)
			}
			leave(resources.Vector{4, 4096}, resources.Vector{})
			m := newMaster(t, cell, offers.Config{})
			f := register(t, m, offers.Registration{Name: "f"})
			got := read(t, f, start).Offers
			require.Len(t, got, 1)
			require.NoError(t, f.Decline(start, offers.For(5*time.Second), got[0].ID))
			if test.other {
				leave(resources.Vector{}, test.room)
			} else {
				leave(test.room, resources.Vector{})
			}
			require.NoError(t, m.Step(at(test.at)))
			got = read(t, f, at(test.at)).Offers
			require.Equal(t, test.offered, len(got) == 1)
			if test.offered {
				require.Equal(t, test.room, got[0].Room)
			}
			require.NoError(t, f.Revive(at(test.at)))
			if !test.offered {
				require.Len(t, read(t, f, at(test.at)).Offers, 1, "to revive ends filters")
			}
		})
	}
}

// OF-P2.
func TestDecline_ForHowLong(t *testing.T) {
	tests := map[string]struct {
		refuse offers.Span
		hidden time.Duration
	}{
		"no time":       {offers.For(0), 0},
		"a moment":      {offers.For(200 * time.Millisecond), time.Second},
		"five seconds":  {offers.For(5 * time.Second), 5 * time.Second},
		"default":       {offers.Span{}, 5 * time.Second},
		"thirty years":  {offers.For(1e9 * time.Second), 365 * 24 * time.Hour},
		"never ends":    {offers.Never(), 365 * 24 * time.Hour},
		"the longest":   {offers.For(math.MaxInt64 - 1), 365 * 24 * time.Hour},
		"one too short": {offers.For(1), time.Second},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			cell, _ := newCell(t, 1, resources.Vector{1})
			m := newMaster(t, cell, offers.Config{})
			f := register(t, m, offers.Registration{Name: "f"})
			require.NoError(t, f.Decline(start, test.refuse, ids(read(t, f, start).Offers)...))
			if test.hidden == 0 {
				require.Len(t, read(t, f, start).Offers, 1)
				return
			}
			until := start.Add(test.hidden)
			require.NoError(t, m.Step(until.Add(-1)))
			require.Empty(t, read(t, f, until.Add(-1)).Offers)
			next, ok := m.Next()
			require.True(t, ok)
			require.Equal(t, until, next)
			require.NoError(t, m.Step(until))
			require.Len(t, read(t, f, until).Offers, 1)
		})
	}
}

// Of two filters on a machine neither ends the other, unless it hides no more.
func TestDecline_FiltersAddUp(t *testing.T) {
	cell, machines := newCell(t, 1, resources.Vector{8, 8})
	optimist, err := cell.Register("optimist", omega.Limits{})
	require.NoError(t, err)
	// leave makes the optimist leave so much free.
	leave := func(room resources.Vector) {
		for a := range optimist.Allocations() {
			require.NoError(t, optimist.Release(a.ID))
		}
		need, _ := resources.Vector{8, 8}.Sub(room)
		var tx omega.Txn
		tx.Claim(omega.Claim{Machine: machines[0], Need: need})
		granted, err := optimist.Commit(&tx)
		require.NoError(t, err)
		require.Equal(t, 1, granted)
	}
	wide, tall := resources.Vector{6, 2}, resources.Vector{2, 6}
	leave(wide)
	m := newMaster(t, cell, offers.Config{})
	f := register(t, m, offers.Registration{Name: "f"})
	require.NoError(t, f.Decline(start, offers.For(10*time.Second), ids(read(t, f, start).Offers)...))
	leave(tall)
	require.NoError(t, m.Step(at(1)))
	got := read(t, f, at(1)).Offers
	require.Len(t, got, 1)
	require.NoError(t, f.Decline(at(1), offers.For(20*time.Second), got[0].ID))
	leave(wide)
	require.NoError(t, m.Step(at(9.9)))
	require.Empty(t, read(t, f, at(9.9)).Offers)
	leave(tall)
	require.NoError(t, m.Step(at(20.9)))
	require.Empty(t, read(t, f, at(20.9)).Offers)
	leave(wide)
	require.NoError(t, m.Step(at(20.9)))
	require.Len(t, read(t, f, at(20.9)).Offers, 1)
}

// A machine that takes a removed one's number is none that was refused.
func TestDecline_HidesNoOtherMachine(t *testing.T) {
	cell, machines := newCell(t, 1, resources.Vector{10})
	m := newMaster(t, cell, offers.Config{})
	f := register(t, m, offers.Registration{Name: "f"})
	require.NoError(t, f.Decline(start, offers.Never(), ids(read(t, f, start).Offers)...))
	_, err := cell.Remove(machines[0])
	require.NoError(t, err)
	require.NoError(t, m.Step(at(1)))
	again, err := cell.Add(omega.Machine{Name: "again", Capacity: resources.Vector{10}})
	require.NoError(t, err)
	require.Equal(t, machines[0].Node(), again.Node())
	require.NoError(t, m.Step(at(2)))
	require.Len(t, read(t, f, at(2)).Offers, 1)
}

// However long the interval, nothing is hidden for more than 365 days.
func TestDecline_BacksOffForAYearAtMost(t *testing.T) {
	cell, _ := newCell(t, 1, resources.Vector{10})
	m := newMaster(t, cell, offers.Config{Interval: offers.Never(), Timeout: offers.Never()})
	f := register(t, m, offers.Registration{Name: "f"})
	now := start
	for range 10 {
		got := read(t, f, now).Offers
		require.Len(t, got, 1)
		require.NoError(t, f.Decline(now, offers.For(1), got[0].ID))
		now = now.Add(offers.MaxRefuse)
		next, ok := m.Next()
		require.True(t, ok)
		require.Equal(t, now, next)
		require.NoError(t, m.Step(now))
	}
}

func TestDecline_RejectsInvalidArguments(t *testing.T) {
	cell, _ := newCell(t, 2, resources.Vector{1})
	m := newMaster(t, cell, offers.Config{})
	f := register(t, m, offers.Registration{Name: "f"})
	got := read(t, f, start).Offers
	require.ErrorIs(t, f.Decline(start, offers.For(-3*time.Second), got[0].ID), offers.ErrSpan)
	_, offered := f.Held()
	require.Equal(t, resources.Vector{2}, offered)
	err := f.Decline(start, offers.Span{}, offers.OfferID{}, got[0].ID, got[0].ID)
	require.ErrorIs(t, err, offers.ErrUnknown)
	require.ErrorIs(t, err, offers.ErrDeclined)
	_, offered = f.Held()
	require.Equal(t, resources.Vector{1}, offered, "those that could be declined were")
}

func TestSpan_Prints(t *testing.T) {
	require.Equal(t, "default", offers.Span{}.String())
	require.Equal(t, "never", offers.Never().String())
	require.Equal(t, "5s", offers.For(5*time.Second).String())
}

// Server-side filters spare the framework the decline.
func TestRegister_FiltersMachines(t *testing.T) {
	cell, err := omega.NewCell(omega.Config{Machines: []omega.Machine{
		{Name: "small", Capacity: resources.Vector{1, 1}},
		{Name: "large", Capacity: resources.Vector{9, 9}},
		{Name: "flash", Capacity: resources.Vector{9, 9}, Attributes: map[string]string{"disk": "flash"}},
		{Name: "spins", Capacity: resources.Vector{9, 9}, Attributes: map[string]string{"disk": "spinning"}},
	}})
	require.NoError(t, err)
	tests := map[string]struct {
		r    offers.Registration
		want []string
	}{
		"all":             {offers.Registration{}, []string{"small", "large", "flash", "spins"}},
		"these":           {offers.Registration{Machines: omega.Mask{0b101}}, []string{"small", "flash"}},
		"none":            {offers.Registration{Machines: omega.Mask{}}, nil},
		"so much":         {offers.Registration{Minimum: resources.Vector{1, 2}}, []string{"large", "flash", "spins"}},
		"with a value":    {offers.Registration{Labels: map[string][]string{"disk": {"nvme", "flash"}}}, []string{"flash"}},
		"with any":        {offers.Registration{Labels: map[string][]string{"disk": nil}}, []string{"flash", "spins"}},
		"with two labels": {offers.Registration{Labels: map[string][]string{"disk": nil, "gpu": nil}}, nil},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			m := newMaster(t, cell, offers.Config{Name: "master " + name})
			test.r.Name = "f"
			f := register(t, m, test.r)
			var got []string
			for _, o := range read(t, f, start).Offers {
				st, _ := cell.State(o.Machine)
				got = append(got, st.Name)
			}
			require.Equal(t, test.want, got)
			require.NoError(t, f.Unregister(start))
		})
	}
}

func TestSuppress_UntilRevived(t *testing.T) {
	cell, _ := newCell(t, 2, resources.Vector{10})
	m := newMaster(t, cell, offers.Config{})
	f := register(t, m, offers.Registration{Name: "f"})
	got := read(t, f, start).Offers
	require.NoError(t, f.Suppress(start))
	require.NoError(t, f.Suppress(start))
	_, err := f.Accept(start, launch(got[0].ID, 1))
	require.NoError(t, err, "what it has it may answer")
	require.NoError(t, m.Step(at(1)))
	require.Empty(t, read(t, f, at(1)).Offers)
	require.NoError(t, f.Revive(at(2)))
	require.Len(t, read(t, f, at(2)).Offers, 1)
}

// A framework that registers suppressed is offered nothing but the answers to its
// requests until it revives, and takes no share from others. A takeover sets the
// suppression anew, and keeps the offers that there are.
func TestSuppress_FromTheBeginning(t *testing.T) {
	cell, _ := newCell(t, 4, resources.Vector{10})
	m := newMaster(t, cell, offers.Config{})
	r := offers.Registration{Name: "f", Suppressed: true}
	f := register(t, m, r)
	require.NoError(t, m.Step(start))
	require.Empty(t, read(t, f, start).Offers)
	_, err := f.Request(start, offers.Request{Machines: 1, Each: resources.Vector{10}})
	require.NoError(t, err)
	require.Len(t, read(t, f, start).Answers, 1)
	other := register(t, m, offers.Registration{Name: "other"})
	all := read(t, other, start).Offers
	require.Len(t, all, 3, "all that is left")

	r.Epoch++
	f = register(t, m, r)
	require.Len(t, read(t, f, start).Offers, 1, "what it asked for")
	require.NoError(t, other.Decline(start, offers.For(time.Hour), ids(all)...))
	require.Empty(t, read(t, f, start).Offers)
	require.NoError(t, f.Revive(start))
	require.Len(t, read(t, f, start).Offers, 1, "half of the cell is its share again")
}

// A framework that can use no machine at all does not count: the others share the cell.
// It counts again with the first machine that it can use, for any reason that it had
// none.
func TestRegister_AFrameworkWithoutMachinesDoesNotCount(t *testing.T) {
	const machines = 200
	var attributes locality.Attributes
	for name, test := range map[string]struct {
		r      offers.Registration
		change func(*omega.Cell, omega.MachineID) error
	}{
		"labels": {
			offers.Registration{Labels: map[string][]string{"gpu": nil}},
			func(c *omega.Cell, m omega.MachineID) error {
				return c.SetAttributes(m, map[string]string{"gpu": "yes"})
			},
		},
		"minimum": {
			offers.Registration{Minimum: resources.Vector{11}},
			func(c *omega.Cell, m omega.MachineID) error { return c.SetCapacity(m, resources.Vector{11}) },
		},
		"machines": {
			offers.Registration{Machines: omega.Mask{0, 0, 0, 1 << 63}},
			func(c *omega.Cell, _ omega.MachineID) error {
				for i := range 256 - machines {
					if _, err := c.Add(omega.Machine{Name: fmt.Sprint("new", i), Capacity: resources.Vector{10}}); err != nil {
						return err
					}
				}
				return nil
			},
		},
		"constraints": {
			offers.Registration{Constraints: constrained(t, &attributes, locality.Exists("gpu"))},
			func(_ *omega.Cell, m omega.MachineID) error {
				return attributes.Describe(m.Node(), map[string]locality.Value{"gpu": locality.Text("yes")})
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			cell, all := newCell(t, machines, resources.Vector{10})
			m := newMaster(t, cell, offers.Config{Timeout: offers.Never()})
			only := register(t, m, offers.Registration{Name: "only"})
			useless := make([]*offers.Framework, 99)
			for i := range useless {
				r := test.r
				r.Name = fmt.Sprint(i)
				useless[i] = register(t, m, r)
			}
			half := func(now time.Time) int {
				require.NoError(t, only.Decline(now, offers.For(0), ids(read(t, only, now).Offers)...))
				require.NoError(t, m.Step(now.Add(40*time.Second)))
				_, offered := only.Held()
				return int(offered[0] / 10)
			}
			require.Equal(t, machines/2, half(start), "half of its share after one refusal")
			require.NoError(t, test.change(cell, all[7]))
			require.NoError(t, m.Step(at(41)))
			require.Equal(t, 1, half(at(41)), "one at least, of a hundredth of the cell")
			offered := 0
			for _, f := range useless {
				offered += len(read(t, f, at(81)).Offers)
			}
			require.Equal(t, 1, offered, "one of them has the machine")
			for _, f := range useless {
				require.NoError(t, f.Unregister(at(81)))
			}
			require.NoError(t, only.Unregister(at(81)))
			require.Empty(t, m.Leftovers())
		})
	}
}

// Back-off holds whatever filters come after it, and through Revive.
func TestRevive_KeepsBackOffThatALargerFilterCovers(t *testing.T) {
	cell, machines := newCell(t, 2, resources.Vector{8})
	optimist, err := cell.Register("optimist", omega.Limits{})
	require.NoError(t, err)
	take := func(machine int) omega.AllocationID {
		var tx omega.Txn
		tx.Claim(omega.Claim{Machine: machines[machine], Need: resources.Vector{4}})
		_, err := optimist.Commit(&tx)
		require.NoError(t, err)
		id, _ := tx.Allocation(0)
		return id
	}
	halves := []omega.AllocationID{take(0), take(1)}
	m := newMaster(t, cell, offers.Config{Interval: offers.For(10 * time.Second)})
	f := register(t, m, offers.Registration{Name: "f"})
	for got := read(t, f, start).Offers; len(got) > 0; got = read(t, f, start).Offers {
		require.NoError(t, f.Decline(start, offers.For(0), ids(got)...))
	}
	grow := func(machine int) offers.OfferID {
		require.NoError(t, optimist.Release(halves[machine]))
		require.NoError(t, m.Step(start))
		got := read(t, f, start).Offers
		require.Len(t, got, 1)
		require.Equal(t, resources.Vector{8}, got[0].Room)
		return got[0].ID
	}
	_, err = f.Accept(start, launch(grow(1), 8)) // forgiven, but for what is hidden already
	require.NoError(t, err)
	require.NoError(t, f.Decline(start, offers.For(time.Minute), grow(0)))
	take(0)
	require.NoError(t, m.Step(start))
	require.NoError(t, f.Revive(start))
	require.Empty(t, read(t, f, start).Offers)
}
