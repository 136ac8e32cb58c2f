package offers_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/cellsched/cellsched/offers"
	"github.com/cellsched/cellsched/omega"
	"github.com/cellsched/cellsched/omega/observe"
	"github.com/cellsched/cellsched/resources"
)

// kindsOf returns what a subscription has been told, and ends it.
func kindsOf(s *observe.Subscription) (kinds []observe.Event) {
	s.Close()
	for e := range s.Events() {
		e.At, e.Err = e.At.UTC(), nil
		kinds = append(kinds, e)
	}
	return kinds
}

func TestStats_CountsOffersTasksAndRefusals(t *testing.T) {
	var stream observe.Stream
	cell, machines := newCell(t, 2, resources.Vector{4})
	m := newMaster(t, cell, offers.Config{Events: &stream})
	var counts observe.Counts
	counts.Counted.Commits, counts.Counted.Offers = true, true
	require.Equal(t, counts, m.Stats())
	told := stream.Subscribe(100)
	f := register(t, m, offers.Registration{Name: "a"})
	got := read(t, f, start).Offers
	require.Len(t, got, 2)
	counts.Commits, counts.Offers = 1, 2
	require.Equal(t, counts, m.Stats())

	_, err := f.Accept(start, offers.Launch{Offers: ids(got)[:1], Tasks: []offers.Task{{Need: resources.Vector{1}}, {Need: resources.Vector{2}}}})
	require.NoError(t, err)
	now := m.Stats()
	require.EqualValues(t, 2, now.Granted)
	require.EqualValues(t, 2, now.Claims)
	_, err = cell.Remove(machines[1])
	require.NoError(t, err)
	_, err = f.Accept(start, offers.Launch{Offers: ids(got)[1:2], Tasks: []offers.Task{{Need: resources.Vector{1}}}})
	require.Error(t, err)
	now = m.Stats()
	require.EqualValues(t, 3, now.Claims)
	require.EqualValues(t, 2, now.Granted)
	require.Equal(t, []observe.Refusal{{Reason: "rescinded", Count: 1}}, now.Refused)

	var seen []observe.Kind
	for _, e := range kindsOf(told) {
		require.Equal(t, "offers", e.Source)
		if e.Kind == observe.Offered && len(seen) == 0 {
			require.Equal(t, observe.Event{Kind: observe.Offered, At: start, Source: "offers", Tenant: "a", Machine: "node-0", Need: resources.Vector{4}}, e)
		}
		if e.Kind == observe.Granted {
			require.Equal(t, observe.Event{Kind: observe.Granted, At: start, Source: "offers", Tenant: "a", Machine: "node-0", Need: resources.Vector{3}, Count: 2}, e)
		}
		seen = append(seen, e.Kind)
	}
	require.Equal(t, []observe.Kind{observe.Offered, observe.Offered, observe.Round, observe.Granted}, seen[:4])
	require.Contains(t, seen, observe.Refused)
}

// revoked returns a master that has asked a framework, greedy, to end its task for another one,
// and the events of that.
func revoked(t *testing.T) (*offers.Master, *observe.Subscription) {
	t.Helper()
	var stream observe.Stream
	cell, _ := newCell(t, 1, resources.Vector{4})
	m := newMaster(t, cell, offers.Config{Events: &stream})
	greedy := register(t, m, offers.Registration{Name: "greedy"})
	got := read(t, greedy, start).Offers
	_, err := greedy.Accept(start, offers.Launch{Offers: ids(got), Tasks: []offers.Task{{Need: resources.Vector{4}}}})
	require.NoError(t, err)
	told := stream.Subscribe(100, observe.Preempted)
	owed := register(t, m, offers.Registration{Name: "owed", Guaranteed: resources.Vector{2}, Precedence: 1})
	_, err = owed.Request(start, offers.Request{Machines: 1, Each: resources.Vector{2}, Revoke: true})
	require.NoError(t, err)
	return m, told
}

func TestStats_CountsRequestsThatWaitAndRevocations(t *testing.T) {
	m, told := revoked(t)
	now := m.Stats()
	require.Equal(t, 1, now.Waiting)
	require.EqualValues(t, 1, now.Preempted)
	require.Equal(t, []observe.Event{{
		Kind: observe.Preempted, At: start, Source: "offers", Tenant: "greedy", Machine: "node-0", Need: resources.Vector{4},
	}}, kindsOf(told))
}

// A framework that registers again is told again of the tasks that it is to end. They were
// asked to end once.
func TestStats_CountARevocationOnce(t *testing.T) {
	m, told := revoked(t)
	for epoch := range uint64(3) {
		greedy := register(t, m, offers.Registration{Name: "greedy", Epoch: epoch + 1})
		require.Len(t, read(t, greedy, start).Revoked, 1)
	}
	require.EqualValues(t, 1, m.Stats().Preempted)
	require.Len(t, kindsOf(told), 1)
}

// An accept that the master refuses by itself counts as one that the cell refuses.
func TestStats_CountAcceptsThatAreNotSent(t *testing.T) {
	var stream observe.Stream
	cell, _ := newCell(t, 1, resources.Vector{4})
	m := newMaster(t, cell, offers.Config{Events: &stream})
	f := register(t, m, offers.Registration{Name: "a"})
	got := read(t, f, start).Offers
	told := stream.Subscribe(9, observe.Refused)
	large := offers.Task{Need: resources.Vector{3}}
	_, err := f.Accept(start, offers.Launch{Offers: ids(got), Tasks: []offers.Task{large, large}})
	require.ErrorIs(t, err, offers.ErrExceeds)
	_, err = f.Accept(start, offers.Launch{Offers: ids(got), Tasks: []offers.Task{{}}})
	require.ErrorIs(t, err, offers.ErrEmpty)
	_, err = f.Accept(start)
	require.ErrorIs(t, err, offers.ErrEmpty)
	now := m.Stats()
	require.EqualValues(t, 3, now.Claims)
	require.Equal(t, []observe.Refusal{{Reason: "exceeds", Count: 2}, {Reason: "other", Count: 1}}, now.Refused)
	events := kindsOf(told)
	require.Equal(t, observe.Event{Kind: observe.Refused, At: start, Source: "offers", Tenant: "a", Count: 2}, events[0])
}

// Waited has the requests that were met, not those that ended at their deadline.
func TestStats_HasTheWaitsOfRequestsThatWereMet(t *testing.T) {
	cell, machines := newCell(t, 1, resources.Vector{4})
	s, err := cell.Register("other", omega.Limits{})
	require.NoError(t, err)
	var tx omega.Txn
	tx.Claim(omega.Claim{Machine: machines[0], Need: resources.Vector{4}})
	_, err = s.Commit(&tx)
	require.NoError(t, err)
	full, granted := tx.Allocation(0)
	require.True(t, granted)
	m := newMaster(t, cell, offers.Config{})
	f := register(t, m, offers.Registration{Name: "f"})
	_, err = f.Request(start, offers.Request{Machines: 1, Each: resources.Vector{4}, Deadline: start.Add(time.Second)})
	require.NoError(t, err)
	_, err = f.Request(start.Add(2*time.Second), offers.Request{Machines: 1, Each: resources.Vector{3}})
	require.NoError(t, err)
	require.Equal(t, 1, m.Stats().Waiting)
	require.Equal(t, observe.Histogram{}, m.Stats().Waited)
	require.NoError(t, s.Release(full))
	require.NoError(t, m.Step(start.Add(5*time.Second)))
	var want observe.Histogram
	want.Add(3 * time.Second)
	require.Zero(t, m.Stats().Waiting)
	require.Equal(t, want, m.Stats().Waited)
}
