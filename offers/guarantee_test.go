package offers_test

import (
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/cellsched/cellsched/offers"
	"github.com/cellsched/cellsched/omega"
	"github.com/cellsched/cellsched/resources"
)

// keeps returns how much of tasks runs in the cell in the name of f.
func keeps(f *offers.Framework) (held int64) {
	for a := range f.Tasks() {
		held += a.Need[0]
	}
	return held
}

// Two revocations together take no more than one may.
func TestRequest_TwoRevocationsLeaveTheGuarantee(t *testing.T) {
	m, cell, owner, low, _, _ := crowd(t, map[string]int64{"owner": 10, "low": 20, "high": 20})
	second := register(t, m, offers.Registration{Name: "second", Guaranteed: resources.Vector{10}})
	for _, f := range []*offers.Framework{owner, second} {
		_, err := f.Request(at(1), offers.Request{Machines: 1, Each: resources.Vector{10}, Revoke: true})
		require.NoError(t, err)
	}
	require.Len(t, read(t, low, at(1)).Revoked, 1, "nor is it told to end more")
	for s := range 60 {
		require.NoError(t, m.Step(at(float64(s))))
	}
	require.GreaterOrEqual(t, keeps(low), int64(20))
	require.Len(t, read(t, owner, at(60)).Answers, 1)
	require.Len(t, read(t, second, at(60)).Answers, 1)
	require.NoError(t, cell.Check())
}

// What a framework has lost to others since the last Step is not taken once more.
func TestRequest_KnowsForeignPreemptions(t *testing.T) {
	_, cell, owner, low, _, tasks := crowd(t, map[string]int64{"owner": 10, "low": 20, "high": 30})
	optimist, err := cell.Register("optimist", omega.Limits{Lowest: 5, Highest: 5})
	require.NoError(t, err)
	tx := omega.Txn{Now: start, Grace: omega.AtOnce}
	tx.Claim(omega.Claim{
		Machine: machineOf(t, cell, tasks[low][0]), Precedence: 5, Need: resources.Vector{10}, Victims: tasks[low][:1],
	})
	granted, err := optimist.Commit(&tx)
	require.NoError(t, err)
	require.Equal(t, 1, granted)
	_, err = owner.Request(at(1), offers.Request{Machines: 1, Each: resources.Vector{10}, Revoke: true})
	require.NoError(t, err)
	require.Empty(t, read(t, low, at(1)).Revoked, "it has no more than its own")
}

func machineOf(t *testing.T, cell *omega.Cell, id omega.AllocationID) omega.MachineID {
	t.Helper()
	for st := range cell.Machines() {
		for _, a := range cell.AllocationsOn(st.ID) {
			if a.ID == id {
				return st.ID
			}
		}
	}
	require.Fail(t, "there is no such allocation", id)
	return 0
}

// A framework that ends other tasks meanwhile keeps those it was told to end, if
// it would have less than its own without them.
func TestRequest_LooksAgainAtTheEndOfTheGrace(t *testing.T) {
	m, cell, owner, low, high, _ := crowd(t, map[string]int64{"owner": 10, "low": 20})
	_, err := owner.Request(at(1), offers.Request{Machines: 1, Each: resources.Vector{10}, Revoke: true})
	require.NoError(t, err)
	notice := read(t, low, at(1)).Revoked
	require.Len(t, notice, 1)
	hog, err := cell.Register("hog", omega.Limits{})
	require.NoError(t, err)
	for a := range low.Tasks() {
		if a.ID != notice[0].Task.ID {
			// No framework gets to see what it leaves: a scheduler without a master takes it.
			require.NoError(t, low.Suppress(at(2)))
			require.NoError(t, high.Suppress(at(2)))
			require.NoError(t, owner.Suppress(at(2)))
			require.NoError(t, m.SetTerms(at(2), offers.Terms{Machines: omega.Mask{}}))
			require.NoError(t, low.Release(at(2), a.ID))
			var tx omega.Txn
			tx.Claim(omega.Claim{Machine: a.Machine, Need: resources.Vector{10}})
			granted, err := hog.Commit(&tx)
			require.NoError(t, err)
			require.Equal(t, 1, granted)
			require.NoError(t, m.SetTerms(at(2), offers.Terms{}))
			break
		}
	}
	for s := 3; s < 60; s++ {
		require.NoError(t, m.Step(at(float64(s))))
	}
	require.EqualValues(t, 20, keeps(low))
	require.EqualValues(t, 20, keeps(high), "it has to leave instead")
	require.Len(t, read(t, owner, at(60)).Answers, 1)
	require.NoError(t, cell.Check())
}

// After a takeover the news repeat the tasks that are to be preempted. They include tasks
// that were revoked while the framework was away.
func TestRegister_RepeatsRevocations(t *testing.T) {
	for name, away := range map[string]bool{"taken over": false, "away": true} {
		t.Run(name, func(t *testing.T) {
			cell, _ := newCell(t, 1, resources.Vector{10})
			m := newMaster(t, cell, offers.Config{Grace: offers.For(10 * time.Second)})
			r := offers.Registration{Name: "low", Failover: offers.For(time.Minute)}
			low := register(t, m, r)
			tasks, err := low.Accept(start, launch(read(t, low, start).Offers[0].ID, 10))
			require.NoError(t, err)
			owner := register(t, m, offers.Registration{Name: "owner", Guaranteed: resources.Vector{10}})
			if away {
				require.NoError(t, low.Disconnect(start))
			}
			_, err = owner.Request(at(1), offers.Request{Machines: 1, Each: resources.Vector{10}, Revoke: true})
			require.NoError(t, err)
			if !away {
				require.Len(t, read(t, low, at(1)).Revoked, 1)
			}
			r.Epoch++
			low = register(t, m, r)
			got := read(t, low, at(2)).Revoked
			require.Len(t, got, 1)
			require.Equal(t, tasks[0], got[0].Task.ID)
			require.Equal(t, at(11), got[0].Until)
			require.Empty(t, read(t, low, at(2)).Revoked)
		})
	}
}

// Nothing is higher than the highest precedence. Tasks that have it are not promised to
// others, and without a grace no request waits for ever.
func TestRequest_SparesUnpreemptibleTasks(t *testing.T) {
	cell, _ := newCell(t, 1, resources.Vector{10})
	m := newMaster(t, cell, offers.Config{Grace: offers.For(0)})
	top := register(t, m, offers.Registration{Name: "top", Precedence: math.MaxInt32})
	_, err := top.Accept(start, launch(read(t, top, start).Offers[0].ID, 10))
	require.NoError(t, err)
	owner := register(t, m, offers.Registration{Name: "owner", Guaranteed: resources.Vector{10}})
	_, err = owner.Request(start, offers.Request{Machines: 1, Each: resources.Vector{10}, Revoke: true})
	require.NoError(t, err)
	require.NoError(t, m.Step(start))
	require.Empty(t, read(t, top, start).Revoked)
}

// Of tasks of one precedence the youngest has the least to lose.
func TestRequest_RevokesTheYoungest(t *testing.T) {
	cell, _ := newCell(t, 1, resources.Vector{20})
	m := newMaster(t, cell, offers.Config{})
	f := register(t, m, offers.Registration{Name: "f"})
	var tasks []omega.AllocationID
	for range 2 {
		got, err := f.Accept(start, launch(read(t, f, start).Offers[0].ID, 10))
		require.NoError(t, err)
		tasks = append(tasks, got...)
	}
	owner := register(t, m, offers.Registration{Name: "owner", Guaranteed: resources.Vector{10}})
	_, err := owner.Request(start, offers.Request{Machines: 1, Each: resources.Vector{10}, Revoke: true})
	require.NoError(t, err)
	got := read(t, f, start).Revoked
	require.Len(t, got, 1)
	require.Equal(t, tasks[1], got[0].Task.ID)
}

// A request that is withdrawn lets its victims stay.
func TestWithdraw_EndsARevocation(t *testing.T) {
	m, cell, owner, low, _, _ := crowd(t, map[string]int64{"owner": 20})
	id, err := owner.Request(at(1), offers.Request{Machines: 1, Each: resources.Vector{10}, Revoke: true})
	require.NoError(t, err)
	got := read(t, low, at(1)).Revoked
	require.Len(t, got, 1)
	require.NoError(t, owner.Withdraw(at(2), id))
	require.NoError(t, m.Step(at(60)))
	require.EqualValues(t, 30, keeps(low))
	require.Empty(t, read(t, owner, at(60)).Answers)
	require.NoError(t, low.Release(at(61), got[0].Task.ID))
	require.Len(t, read(t, owner, at(61)).Offers, 1, "its machine is anybody's again")
	require.NoError(t, cell.Check())
}

// A gang is of machines that its framework can use.
func TestRequest_UsesEligibleMachinesOnly(t *testing.T) {
	cell, machines := newCell(t, 3, resources.Vector{10})
	m := newMaster(t, cell, offers.Config{})
	f := register(t, m, offers.Registration{Name: "f", Machines: omega.Mask{0b110}, Minimum: resources.Vector{20}})
	_, err := f.Request(start, offers.Request{Machines: 3, Each: resources.Vector{1}})
	require.ErrorIs(t, err, offers.ErrExceeds)
	_, err = f.Request(start, offers.Request{Machines: 2, Each: resources.Vector{1}})
	require.NoError(t, err)
	got := read(t, f, start).Answers
	require.Len(t, got, 1)
	require.Equal(t, machines[1], got[0].Offers[0].Machine)
	require.Equal(t, machines[2], got[0].Offers[1].Machine)
}

// Each kind is promised by itself, and the one that is short is named.
func TestRegister_GuaranteesKindByKind(t *testing.T) {
	tests := map[string]struct {
		guaranteed resources.Vector
		short      string // what the error says, or nothing
	}{
		"all that is left":         {resources.Vector{6, 10, 0}, ""},
		"of one kind":              {resources.Vector{0, 10, 0}, ""},
		"too much of the first":    {resources.Vector{7}, "kind0=11 with what others are guaranteed, kind0=10 in the cell"},
		"too much of the second":   {resources.Vector{6, 21}, "kind1=21 with what others are guaranteed, kind1=20 in the cell"},
		"of what there is none of": {resources.Vector{0, 0, 1}, "kind2=1 with what others are guaranteed, 0 in the cell"},
		"beyond all sums":          {resources.Vector{resources.MaxQuantity}, "kind0=10 in the cell"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			cell, _ := newCell(t, 2, resources.Vector{5, 10})
			m := newMaster(t, cell, offers.Config{})
			register(t, m, offers.Registration{Name: "other", Guaranteed: resources.Vector{4}})
			_, err := m.Register(start, offers.Registration{Name: "f", Guaranteed: test.guaranteed})
			if test.short == "" {
				require.NoError(t, err)
				return
			}
			require.ErrorIs(t, err, offers.ErrGuarantee)
			require.ErrorContains(t, err, test.short)
			_, err = m.Register(start, offers.Registration{Name: "f", Guaranteed: resources.Vector{6, 20}})
			require.NoError(t, err, "nothing was promised by what was refused")
		})
	}
}

// Machines that go take no guarantee with them, but frameworks with a guarantee are told
// that the cell cannot keep them all.
func TestNews_ShortReportsUncoveredGuarantees(t *testing.T) {
	cell, machines := newCell(t, 3, resources.Vector{10, 10})
	m := newMaster(t, cell, offers.Config{})
	r := offers.Registration{Name: "cpu", Guaranteed: resources.Vector{15}}
	cpu := register(t, m, r)
	both := register(t, m, offers.Registration{Name: "both", Guaranteed: resources.Vector{10, 20}})
	memory := register(t, m, offers.Registration{Name: "memory", Guaranteed: resources.Vector{0, 10}})
	none := register(t, m, offers.Registration{Name: "none"})
	short := func(f *offers.Framework) []int64 {
		if v := read(t, f, start).Short; v != nil {
			return v[:2]
		}
		return nil
	}
	require.Nil(t, short(cpu), "all is well")
	_, err := cell.Remove(machines[0])
	require.NoError(t, err)
	require.NoError(t, m.Step(start))
	require.Equal(t, []int64{5, 0}, short(cpu))
	require.Equal(t, []int64{5, 10}, short(both))
	require.Equal(t, []int64{0, 10}, short(memory))
	require.Nil(t, short(none))
	require.NoError(t, m.Step(start))
	require.Nil(t, short(both), "it is told once")
	r.Epoch++
	cpu = register(t, m, r)
	require.Equal(t, []int64{5, 0}, short(cpu), "it keeps what it had, and is told again")
	_, err = m.Register(start, offers.Registration{Name: "cpu", Guaranteed: resources.Vector{16}, Epoch: 3})
	require.ErrorIs(t, err, offers.ErrGuarantee, "but gets no more")
	_, err = m.Register(start, offers.Registration{Name: "new", Guaranteed: resources.Vector{1}})
	require.ErrorIs(t, err, offers.ErrGuarantee)
	register(t, m, offers.Registration{Name: "of nothing"})

	require.NoError(t, memory.Unregister(start))
	require.Equal(t, []int64{5, 0}, short(both))
	require.Nil(t, short(cpu))
	_, err = cell.Add(omega.Machine{Name: "new", Capacity: resources.Vector{5}})
	require.NoError(t, err)
	require.NoError(t, m.Step(start))
	require.Equal(t, []int64{0, 0}, short(both), "all is well again")
	require.Equal(t, []int64{0, 0}, short(cpu))
}

// Kinds that a request does not ask for play no part in its bound.
func TestRequest_IsWithinTheGuaranteeOfItsKinds(t *testing.T) {
	cell, _ := newCell(t, 2, resources.Vector{10, 10})
	m := newMaster(t, cell, offers.Config{})
	f := register(t, m, offers.Registration{Name: "f", Guaranteed: resources.Vector{10}, Outstanding: 0.1})
	_, err := f.Accept(start, launch(read(t, f, start).Offers[0].ID, 2, 10))
	require.NoError(t, err)
	require.NoError(t, f.Suppress(start))
	require.NoError(t, f.Decline(start, offers.For(0), ids(read(t, f, start).Offers)...))
	_, err = f.Request(start, offers.Request{Machines: 1, Each: resources.Vector{9}, Revoke: true})
	require.ErrorIs(t, err, offers.ErrExceeds)
	_, err = f.Request(start, offers.Request{Machines: 1, Each: resources.Vector{8, 1}, Revoke: true})
	require.ErrorIs(t, err, offers.ErrExceeds, "it is guaranteed none of the second")
	_, err = f.Request(start, offers.Request{Machines: 1, Each: resources.Vector{8}, Revoke: true})
	require.NoError(t, err, "though it has some")
}

// A framework that was there before the master failed can come back as it was. That holds
// for any guarantees of newcomers meanwhile, and although machines have gone. The
// frameworks concerned are told.
func TestNew_KeepsGuaranteesOfReturningFrameworks(t *testing.T) {
	for name, test := range map[string]struct {
		meanwhile func(*testing.T, *omega.Cell, []omega.MachineID, *offers.Master)
		short     int64
	}{
		"nothing": {func(*testing.T, *omega.Cell, []omega.MachineID, *offers.Master) {}, 0},
		"a newcomer": {func(t *testing.T, _ *omega.Cell, _ []omega.MachineID, m *offers.Master) {
			t.Helper()
			register(t, m, offers.Registration{Name: "newcomer", Guaranteed: resources.Vector{6}})
		}, 6},
		"a machine is lost": {func(t *testing.T, cell *omega.Cell, machines []omega.MachineID, m *offers.Master) {
			t.Helper()
			_, err := cell.Remove(machines[1])
			require.NoError(t, err)
			require.NoError(t, m.Step(start))
		}, 4},
	} {
		t.Run(name, func(t *testing.T) {
			cell, machines := newCell(t, 2, resources.Vector{4})
			m := newMaster(t, cell, offers.Config{})
			r := offers.Registration{Name: "f", Guaranteed: resources.Vector{8}}
			f := register(t, m, r)
			_, err := f.Accept(start, launch(read(t, f, start).Offers[0].ID, 4))
			require.NoError(t, err)

			m = newMaster(t, cell, offers.Config{})
			test.meanwhile(t, cell, machines, m)
			require.NoError(t, m.Admits(r))
			f = register(t, m, r)
			var short int64
			if of := read(t, f, start).Short; of != nil {
				short = of[0]
			}
			require.Equal(t, test.short, short)
			require.NoError(t, m.Step(at(3600)))
			require.Equal(t, int64(4), keeps(f), "its task goes on")

			_, err = m.Register(start, offers.Registration{Name: "late", Guaranteed: resources.Vector{1}})
			require.ErrorIs(t, err, offers.ErrGuarantee, "others are not believed")
			r.Epoch++
			r.Guaranteed[0]++
			_, err = m.Register(start, r)
			require.ErrorIs(t, err, offers.ErrGuarantee, "nor is it, now that it is known")
		})
	}
}
