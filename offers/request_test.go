package offers_test

import (
	"math"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/cellsched/cellsched/offers"
	"github.com/cellsched/cellsched/omega"
	"github.com/cellsched/cellsched/resources"
)

// take starts a task of so much on each offer of an answer.
func take(t *testing.T, f *offers.Framework, now time.Time, a offers.Answer, need int64) []omega.AllocationID {
	t.Helper()
	require.NoError(t, a.Reason)
	launches := make([]offers.Launch, len(a.Offers))
	for i, o := range a.Offers {
		launches[i] = launch(o.ID, need)
	}
	tasks, err := f.Accept(now, launches...)
	require.NoError(t, err)
	return tasks
}

// Two frameworks that each need three of four machines before they can start
// anything: by collecting offers, each would keep two and wait for ever. Asking
// for all at once, one gets them, and the other one when it has ended.
func TestRequest_TwoHoardersDoNotWaitForEachOther(t *testing.T) {
	cell, _ := newCell(t, 4, resources.Vector{10})
	m := newMaster(t, cell, offers.Config{Timeout: offers.Never()})
	a := register(t, m, offers.Registration{Name: "a", Outstanding: 0.5})
	b := register(t, m, offers.Registration{Name: "b", Outstanding: 0.5})
	require.Len(t, read(t, a, start).Offers, 2, "each has two")
	gotB := read(t, b, start).Offers
	require.Len(t, gotB, 2)
	for i := range 100 {
		require.NoError(t, m.Step(at(float64(i))))
		require.Empty(t, read(t, a, start).Offers, "and waits for ever")
	}

	m = newMaster(t, cell, offers.Config{})
	a, b = register(t, m, offers.Registration{Name: "a"}), register(t, m, offers.Registration{Name: "b"})
	both := []*offers.Framework{a, b}
	for _, f := range both {
		require.NoError(t, f.Suppress(start))
		require.NoError(t, f.Decline(start, offers.For(0), ids(read(t, f, start).Offers)...))
	}
	for _, f := range both {
		_, err := f.Request(start, offers.Request{Machines: 3, Each: resources.Vector{10}})
		require.NoError(t, err)
	}
	first, second := read(t, a, start), read(t, b, start)
	require.Empty(t, second.Answers, "there is room for one")
	require.Len(t, first.Answers, 1)
	require.Len(t, first.Answers[0].Offers, 3)
	require.Empty(t, first.Offers, "they are told once")
	tasks := take(t, a, start, first.Answers[0], 10)
	require.Empty(t, read(t, b, start).Answers)
	require.NoError(t, a.Release(start, tasks...))
	second = read(t, b, start)
	require.Len(t, second.Answers, 1)
	take(t, b, start, second.Answers[0], 10)
	require.NoError(t, cell.Check())
}

func TestRequest_IsAllOrNothingUntilItsDeadline(t *testing.T) {
	cell, machines := newCell(t, 3, resources.Vector{10})
	optimist, err := cell.Register("optimist", omega.Limits{})
	require.NoError(t, err)
	var tx omega.Txn
	tx.Claim(omega.Claim{Machine: machines[1], Need: resources.Vector{8}})
	_, err = optimist.Commit(&tx)
	require.NoError(t, err)
	m := newMaster(t, cell, offers.Config{})
	f := register(t, m, offers.Registration{Name: "f", Minimum: resources.Vector{20}})
	other := register(t, m, offers.Registration{Name: "other", Minimum: resources.Vector{20}})

	two, err := f.Request(start, offers.Request{Machines: 2, Each: resources.Vector{4}})
	require.NoError(t, err)
	news := read(t, f, start)
	require.Equal(t, two, news.Answers[0].Request)
	require.Equal(t, []omega.MachineID{machines[0], machines[2]},
		[]omega.MachineID{news.Answers[0].Offers[0].Machine, news.Answers[0].Offers[1].Machine})
	_, offered := f.Held()
	require.Equal(t, resources.Vector{8}, offered)

	// Of the next one there are two machines, not three.
	three, err := other.Request(start, offers.Request{Machines: 3, Each: resources.Vector{5}, Deadline: at(10)})
	require.NoError(t, err)
	forgotten, err := other.Request(start, offers.Request{Machines: 3, Each: resources.Vector{5}})
	require.NoError(t, err)
	require.NoError(t, other.Withdraw(start, forgotten))
	require.ErrorIs(t, other.Withdraw(start, forgotten), offers.ErrUnknown)
	require.ErrorIs(t, f.Withdraw(start, three), offers.ErrUnknown)
	held, _ := other.Held()
	require.Zero(t, held, "nothing is kept for it")
	require.NoError(t, m.Step(at(9)))
	require.Empty(t, read(t, other, at(9)).Answers)
	require.NoError(t, m.Step(at(10)))
	require.Equal(t, []offers.Answer{{Request: three, Reason: offers.ErrExpired}}, read(t, other, at(10)).Answers)

	again, err := other.Request(at(11), offers.Request{Machines: 3, Each: resources.Vector{5}})
	require.NoError(t, err)
	task, _ := tx.Allocation(0)
	require.NoError(t, optimist.Release(task))
	require.NoError(t, m.Step(at(12)))
	got := read(t, other, at(12)).Answers
	require.Len(t, got, 1)
	require.Equal(t, again, got[0].Request)
	take(t, other, at(12), got[0], 5)
	require.NoError(t, cell.Check())
}

// Where others take a part of a gang just before, nothing of it is kept.
func TestRequest_RacesSchedulersWithoutAMaster(t *testing.T) {
	cell, machines := newCell(t, 64, resources.Vector{10})
	m := newMaster(t, cell, offers.Config{Interval: offers.For(time.Nanosecond)}) // it need not stand back
	f := register(t, m, offers.Registration{Name: "f", Minimum: resources.Vector{20}})
	optimist, err := cell.Register("optimist", omega.Limits{})
	require.NoError(t, err)
	var group sync.WaitGroup
	var done atomic.Bool
	group.Go(func() {
		var tx omega.Txn
		for i := 0; !done.Load(); i++ {
			tx.Reset()
			tx.Claim(omega.Claim{Machine: machines[i%len(machines)], Need: resources.Vector{1}})
			if _, err := optimist.Commit(&tx); err != nil {
				t.Error(err)
				return
			}
			if id, granted := tx.Allocation(0); granted {
				if err := optimist.Release(id); err != nil {
					t.Error(err)
					return
				}
			}
		}
	})
	for i := range 3000 {
		now := at(float64(i))
		id, err := f.Request(now, offers.Request{Machines: len(machines), Each: resources.Vector{10}})
		require.NoError(t, err)
		for _, a := range read(t, f, now).Answers {
			require.Len(t, a.Offers, len(machines))
			require.NoError(t, f.Decline(now, offers.For(0), ids(a.Offers)...))
		}
		if err := f.Withdraw(now, id); err != nil {
			require.ErrorIs(t, err, offers.ErrUnknown)
		}
	}
	done.Store(true)
	group.Wait()
	require.NoError(t, m.Step(start))
	require.Empty(t, read(t, f, start).Offers)
	for st := range cell.Machines() {
		require.Equal(t, st.Capacity, st.Free, "nothing is left behind")
	}
	require.NoError(t, cell.Check())
}

func TestRequest_RejectsInvalidArguments(t *testing.T) {
	cell, _ := newCell(t, 3, resources.Vector{10})
	m := newMaster(t, cell, offers.Config{})
	f := register(t, m, offers.Registration{Name: "f", Guaranteed: resources.Vector{30}})
	require.NoError(t, f.Decline(start, offers.Span{}, ids(read(t, f, start).Offers)...))
	one := resources.Vector{1}
	tests := map[string]struct {
		r   offers.Request
		err error
	}{
		"no machine":           {offers.Request{Each: one}, offers.ErrEmpty},
		"nothing on each":      {offers.Request{Machines: 1}, offers.ErrEmpty},
		"less than nothing":    {offers.Request{Machines: 1, Each: resources.Vector{-1}}, resources.ErrQuantity},
		"too late":             {offers.Request{Machines: 1, Each: one, Deadline: start}, offers.ErrExpired},
		"beyond its guarantee": {offers.Request{Machines: 4, Each: resources.Vector{8}, Revoke: true}, offers.ErrExceeds},
		"as many as there are numbers": {
			offers.Request{Machines: 1 << 30, Each: resources.Vector{resources.MaxQuantity}, Revoke: true}, offers.ErrExceeds,
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			_, err := f.Request(start, test.r)
			require.ErrorIs(t, err, test.err)
		})
	}
	_, err := m.Register(start, offers.Registration{Name: "g", Guaranteed: resources.Vector{1}})
	require.ErrorIs(t, err, offers.ErrGuarantee)
	_, err = m.Register(start, offers.Registration{Name: "g", Guaranteed: resources.Vector{-1}})
	require.ErrorIs(t, err, resources.ErrQuantity)
	_, err = m.Register(start, offers.Registration{Name: "f", Epoch: 1, Guaranteed: resources.Vector{29}})
	require.NoError(t, err, "its old guarantee is none of the others'")
	_, err = m.Register(start, offers.Registration{Name: "g", Guaranteed: resources.Vector{1}})
	require.NoError(t, err)
}

// A machine too small for an unasked offer has room for a request.
func TestRequest_MayBeSmallerThanTheSmallestOffer(t *testing.T) {
	cell, _ := newCell(t, 2, resources.Vector{3})
	m := newMaster(t, cell, offers.Config{Smallest: resources.Vector{2}})
	f := register(t, m, offers.Registration{Name: "f", Outstanding: 1})
	for _, o := range read(t, f, start).Offers {
		_, err := f.Accept(start, launch(o.ID, 2))
		require.NoError(t, err)
	}
	require.NoError(t, m.Step(at(1)))
	require.Empty(t, read(t, f, at(1)).Offers)
	_, err := f.Request(at(2), offers.Request{Machines: 2, Each: resources.Vector{1}})
	require.NoError(t, err)
	answers := read(t, f, at(2)).Answers
	require.Len(t, answers, 1)
	require.Len(t, answers[0].Offers, 2)
}

func TestRequest_RefusesNeedsAboveTheCell(t *testing.T) {
	cell, machines := newCell(t, 3, resources.Vector{10})
	require.NoError(t, cell.SetCapacity(machines[2], resources.Vector{20}))
	m := newMaster(t, cell, offers.Config{Terms: offers.Terms{Machines: omega.Mask{1}}})
	f := register(t, m, offers.Registration{Name: "f", Machines: omega.Mask{0b101}})
	tests := map[string]struct {
		machines int
		each     int64
		err      error
	}{
		"all that it can use":       {2, 10, nil},
		"more machines":             {3, 1, offers.ErrExceeds},
		"the largest":               {1, 20, nil},
		"larger than any":           {1, 21, offers.ErrExceeds},
		"larger than some":          {2, 11, offers.ErrExceeds},
		"as many as there are ints": {math.MaxInt, 1, offers.ErrExceeds},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			_, err := f.Request(start, offers.Request{Machines: test.machines, Each: resources.Vector{test.each}})
			require.ErrorIs(t, err, test.err)
		})
	}
	_, err := f.Request(start, offers.Request{Machines: 2, Each: resources.Vector{11}})
	require.ErrorContains(t, err, `asks for kind0=11 on 2 machines, 1 that it can use are so large`)

	// Machines that come count when the master has seen them; machines that go end no
	// request.
	_, err = cell.Add(omega.Machine{Name: "other", Capacity: resources.Vector{30}})
	require.NoError(t, err)
	other := register(t, m, offers.Registration{Name: "other"})
	_, err = other.Request(start, offers.Request{Machines: 1, Each: resources.Vector{30}})
	require.ErrorIs(t, err, offers.ErrExceeds)
	require.NoError(t, m.Step(at(1)))
	_, err = other.Request(at(1), offers.Request{Machines: 1, Each: resources.Vector{30}})
	require.NoError(t, err)
	_, err = cell.Remove(machines[0])
	require.NoError(t, err)
	require.NoError(t, m.Step(at(2)))
	require.Empty(t, read(t, f, at(2)).Answers)
}

// After a takeover the offers of a gang are told again, one by one. The new caller asks
// again for what was not answered.
func TestRegister_ForgetsRequests(t *testing.T) {
	cell, _ := newCell(t, 2, resources.Vector{4})
	m := newMaster(t, cell, offers.Config{})
	f := register(t, m, offers.Registration{Name: "f"})
	require.NoError(t, f.Suppress(start))
	require.NoError(t, f.Decline(start, offers.Span{}, ids(read(t, f, start).Offers)...))
	for _, deadline := range []time.Time{{}, at(10)} {
		_, err := f.Request(start, offers.Request{Machines: 2, Each: resources.Vector{4}, Deadline: deadline})
		require.NoError(t, err)
	}
	f = register(t, m, offers.Registration{Name: "f", Epoch: 1})
	news := read(t, f, start)
	require.Empty(t, news.Answers)
	require.Len(t, news.Offers, 2)
	require.NoError(t, m.Step(at(11)))
	require.Empty(t, read(t, f, at(11)).Answers)
}

// That a machine was resized by others is noticed, though a gang was claimed there
// before the next step.
func TestRequest_NoticesForeignResizes(t *testing.T) {
	cell, machines := newCell(t, 1, resources.Vector{10})
	m := newMaster(t, cell, offers.Config{})
	g, h := register(t, m, offers.Registration{Name: "g"}), register(t, m, offers.Registration{Name: "h"})
	for _, f := range []*offers.Framework{g, h} {
		require.NoError(t, f.Suppress(start))
		require.NoError(t, f.Decline(start, offers.For(0), ids(read(t, f, start).Offers)...))
	}
	require.NoError(t, m.Step(at(1)))
	require.NoError(t, cell.SetCapacity(machines[0], resources.Vector{20}))
	_, err := g.Request(at(2), offers.Request{Machines: 1, Each: resources.Vector{5}})
	require.NoError(t, err)
	require.Len(t, read(t, g, at(2)).Answers, 1)
	require.NoError(t, h.Revive(at(2)))
	require.Equal(t, resources.Vector{15}, read(t, h, at(2)).Offers[0].Room)
	require.NoError(t, m.Step(at(3)))
	_, err = m.Register(at(3), offers.Registration{Name: "x", Guaranteed: resources.Vector{20}})
	require.NoError(t, err)
}
