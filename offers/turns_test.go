package offers_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/cellsched/cellsched/offers"
	"github.com/cellsched/cellsched/omega"
	"github.com/cellsched/cellsched/resources"
)

// Of frameworks that decline as little the first to ask has its request answered first.
func TestRequest_OldestGoesFirst(t *testing.T) {
	cell, _ := newCell(t, 1, resources.Vector{4})
	m := newMaster(t, cell, offers.Config{})
	worker := register(t, m, offers.Registration{Name: "worker"})
	tasks, err := worker.Accept(start, launch(read(t, worker, start).Offers[0].ID, 4))
	require.NoError(t, err)
	var both []*offers.Framework
	for _, name := range []string{"first", "second"} {
		f := register(t, m, offers.Registration{Name: name})
		_, err := f.Request(start, offers.Request{Machines: 1, Each: resources.Vector{4}})
		require.NoError(t, err)
		both = append(both, f)
	}
	require.NoError(t, worker.Release(start, tasks...))
	require.Len(t, read(t, both[0], start).Answers, 1)
	require.Empty(t, read(t, both[1], start).Answers)
}

// As few have to leave as can be: on the machine where there are fewest, and none if the
// others make its room unnecessary.
func TestRequest_RevokesAsFewAsCanBe(t *testing.T) {
	tests := map[string]struct {
		tasks map[int][]int64 // by machine
		want  int64           // the size of the task that has to leave
	}{
		"one task, not two":    {map[int][]int64{0: {2, 2}, 1: {4}}, 4},
		"none that is no help": {map[int][]int64{0: {3, 1}, 1: {2, 1, 1}}, 3},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			cell, _ := newCell(t, 2, resources.Vector{4})
			m := newMaster(t, cell, offers.Config{})
			low := register(t, m, offers.Registration{Name: "low"})
			for i, o := range read(t, low, start).Offers {
				for _, need := range test.tasks[i] { // one after the other, which is the youngest
					tasks, err := low.Accept(start, launch(o.ID, need))
					require.NoError(t, err)
					require.Len(t, tasks, 1)
					for _, rest := range read(t, low, start).Offers {
						o = rest
					}
				}
			}
			owner := register(t, m, offers.Registration{Name: "owner", Guaranteed: resources.Vector{4}})
			_, err := owner.Request(start, offers.Request{Machines: 1, Each: resources.Vector{test.want}, Revoke: true})
			require.NoError(t, err)
			revoked := read(t, low, start).Revoked
			require.Len(t, revoked, 1)
			require.Equal(t, test.want, revoked[0].Task.Need[0])
		})
	}
}

// An answer that is too late offers the room to others, though no step has come to it.
func TestAccept_TooLateFreesTheRoom(t *testing.T) {
	cell, _ := newCell(t, 1, resources.Vector{4})
	m := newMaster(t, cell, offers.Config{})
	slow := register(t, m, offers.Registration{Name: "slow"})
	other := register(t, m, offers.Registration{Name: "other"})
	_, err := slow.Accept(at(30), launch(read(t, slow, start).Offers[0].ID, 4))
	require.ErrorIs(t, err, offers.ErrExpired)
	require.Len(t, read(t, other, at(30)).Offers, 1)
}

// The framework that declined room last is not asked again while there is any other one
// that declines as little, though the order puts it first.
func TestDecline_GoesToOthersWhateverTheOrder(t *testing.T) {
	cell, _ := newCell(t, 1, resources.Vector{4})
	m := newMaster(t, cell, offers.Config{Order: offers.Priority{}})
	low := register(t, m, offers.Registration{Name: "low"})
	require.NoError(t, low.Suppress(start))
	require.NoError(t, low.Decline(start, offers.For(0), ids(read(t, low, start).Offers)...))
	high := register(t, m, offers.Registration{Name: "high", Precedence: 1})
	got := read(t, high, start).Offers
	require.Len(t, got, 1)
	require.NoError(t, low.Revive(start))
	require.NoError(t, high.Decline(start, offers.For(0), ids(got)...))
	require.Len(t, read(t, low, start).Offers, 1)
}

// What an accept leaves counts as fresh, not as declined, also if it is hidden from the
// framework that has accepted. It goes by the order, also to a framework that has
// declined something before.
func TestAccept_TheRestIsFreshThoughItIsFiltered(t *testing.T) {
	cell, machines := newCell(t, 4, resources.Vector{8})
	other, err := cell.Register("other", omega.Limits{})
	require.NoError(t, err)
	var tx omega.Txn
	for _, machine := range machines[2:] {
		tx.Claim(omega.Claim{Machine: machine, Need: resources.Vector{8}})
	}
	_, err = other.Commit(&tx)
	require.NoError(t, err)
	m := newMaster(t, cell, offers.Config{Order: offers.Priority{}})
	first := register(t, m, offers.Registration{Name: "first", Precedence: 20, Machines: omega.Mask{2}})
	require.NoError(t, first.Suppress(start))
	require.NoError(t, first.Decline(start, offers.For(0), ids(read(t, first, start).Offers)...))
	second := register(t, m, offers.Registration{Name: "second", Precedence: 10, Outstanding: 1})
	third := register(t, m, offers.Registration{Name: "third", Outstanding: 1})
	require.NoError(t, third.Suppress(start))
	got := read(t, second, start).Offers
	require.Len(t, got, 2)
	require.NoError(t, first.Revive(start))
	for _, o := range got {
		if o.Machine == machines[1] {
			require.NoError(t, second.Decline(start, offers.For(0), o.ID))
		}
	}
	got = read(t, first, start).Offers
	require.Len(t, got, 1)
	require.NoError(t, third.Revive(start))
	l := launch(got[0].ID, 2)
	l.Filter, l.Refuse = true, offers.For(time.Minute)
	_, err = first.Accept(start, l)
	require.NoError(t, err)
	require.Empty(t, read(t, third, start).Offers)
	require.Len(t, read(t, second, start).Offers, 1)
}

// Where several frameworks come to be offered leftovers in one call, none of them is
// forgotten. They do so if their revocations end together.
func TestRequest_ConcurrentRevocations(t *testing.T) {
	cell, machines := newCell(t, 3, resources.Vector{4})
	require.NoError(t, cell.SetCapacity(machines[2], resources.Vector{2}))
	m := newMaster(t, cell, offers.Config{})
	greedy := register(t, m, offers.Registration{Name: "greedy"})
	on := make(map[omega.MachineID]omega.AllocationID)
	for _, o := range read(t, greedy, start).Offers {
		tasks, err := greedy.Accept(start, launch(o.ID, o.Room[0]))
		require.NoError(t, err)
		on[o.Machine] = tasks[0]
	}
	require.NoError(t, greedy.Suppress(start))
	var both []*offers.Framework
	want := offers.Request{Machines: 1, Each: resources.Vector{4}, Revoke: true}
	for _, r := range []offers.Registration{{Name: "a", Machines: omega.Mask{1}}, {Name: "b", Machines: omega.Mask{2 | 4}}} {
		r.Guaranteed, r.Outstanding = want.Each, 1
		f := register(t, m, r)
		_, err := f.Request(start, want)
		require.NoError(t, err)
		both = append(both, f)
	}
	require.Len(t, read(t, greedy, start).Revoked, 2)
	require.NoError(t, greedy.Release(start, on[machines[2]]), "it is too little for a request")
	require.NoError(t, greedy.Release(start, on[machines[0]], on[machines[1]]))
	require.Len(t, read(t, both[0], start).Answers, 1)
	b := read(t, both[1], start)
	require.Len(t, b.Answers, 1)
	require.Len(t, b.Offers, 1, "what is free on the third machine")
}
