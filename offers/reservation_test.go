package offers_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/cellsched/cellsched/offers"
	"github.com/cellsched/cellsched/omega"
	"github.com/cellsched/cellsched/resources"
)

// refiller is another scheduler of the cell. It claims units wherever it finds room, and
// each of its tasks lasts for the same time.
type refiller struct {
	s       *omega.Scheduler
	length  time.Duration
	running []refilled
}

type refilled struct {
	id    omega.AllocationID
	until time.Time
}

func (r *refiller) step(t require.TestingT, now time.Time) {
	for len(r.running) > 0 && !r.running[0].until.After(now) {
		require.NoError(t, r.s.Release(r.running[0].id))
		r.running = r.running[1:]
	}
	for range 200 {
		r.s.Snapshot().Refresh(now)
		m, ok := r.s.Snapshot().Find(omega.Query{Need: resources.Vector{1}}, omega.NextFit())
		if !ok {
			return
		}
		tx := omega.Txn{Now: now}
		tx.Claim(omega.Claim{Machine: m, Need: resources.Vector{1}})
		_, err := r.s.Commit(&tx)
		require.NoError(t, err)
		if id, ok := tx.Allocation(0); ok {
			// Tasks end one after the other, so that a whole machine is never free by luck.
			r.running = append(r.running, refilled{id, now.Add(r.length)})
			return
		}
	}
}

// A scheduler that is no framework takes each unit of room at once. A need of a framework
// waits for no longer than one of its tasks lasts: its room is reserved in the cell.
func TestRequest_StartsWithinOneAllocationBesideAnotherScheduler(t *testing.T) {
	tests := map[string]struct {
		machines int
		request  offers.Request
	}{
		"most of a machine":        {1, offers.Request{Machines: 1, Each: resources.Vector{3}}},
		"a whole machine":          {1, offers.Request{Machines: 1, Each: resources.Vector{4}}},
		"one of several machines":  {3, offers.Request{Machines: 1, Each: resources.Vector{4}}},
		"a gang of whole machines": {3, offers.Request{Machines: 2, Each: resources.Vector{4}}},
		"a gang of all machines":   {2, offers.Request{Machines: 2, Each: resources.Vector{3}}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			cell, _ := newCell(t, tt.machines, resources.Vector{4})
			other, err := cell.Register("other", omega.Limits{})
			require.NoError(t, err)
			length := time.Duration(4*tt.machines) * time.Second
			fill := refiller{s: other, length: length}
			for s := range 4 * tt.machines {
				fill.step(t, start.Add(time.Duration(s-4*tt.machines)*time.Second))
			}
			m := newMaster(t, cell, offers.Config{})
			f := register(t, m, offers.Registration{Name: "f"})
			require.NoError(t, f.Suppress(start))
			id, err := f.Request(start, tt.request)
			require.NoError(t, err)
			for s := 0; ; s++ {
				now := at(float64(s))
				require.LessOrEqual(t, now.Sub(start), length+time.Second, "it waits on")
				require.NoError(t, m.Step(now))
				if answers := read(t, f, now).Answers; len(answers) > 0 {
					require.Equal(t, id, answers[0].Request)
					require.Len(t, answers[0].Offers, tt.request.Machines)
					break
				}
				fill.step(t, now)
			}
			other.Snapshot().Refresh(at(100))
			for r := range other.Snapshot().Reservations() {
				require.Fail(t, "a reservation is left", fmt.Sprint(r))
			}
		})
	}
}

// Allocations of another scheduler last longer than many reservations. The need is met
// all the same.
func TestRequest_IsAnsweredHoweverLongAllocationsLast(t *testing.T) {
	for name, tt := range map[string]struct {
		machines int
		request  offers.Request
		most     int // seconds
	}{
		"one machine": {2, offers.Request{Machines: 1, Each: resources.Vector{4}}, 4 * 8 * 10},
		"a gang":      {3, offers.Request{Machines: 2, Each: resources.Vector{3}}, 7 * 64},
	} {
		t.Run(name, func(t *testing.T) {
			cell, _ := newCell(t, tt.machines, resources.Vector{4})
			other, err := cell.Register("other", omega.Limits{})
			require.NoError(t, err)
			fill := refiller{s: other, length: 60 * time.Second}
			for i := range 4 * tt.machines {
				fill.step(t, start.Add(time.Duration(i-4*tt.machines)*fill.length/time.Duration(4*tt.machines)))
			}
			m := newMaster(t, cell, offers.Config{Timeout: offers.For(time.Second)})
			f := register(t, m, offers.Registration{Name: "f"})
			require.NoError(t, f.Suppress(start))
			_, err = f.Request(start, tt.request)
			require.NoError(t, err)
			waited, answered := 0, false
			for ; !answered && waited < 2*tt.most; waited++ {
				now := at(float64(waited))
				require.NoError(t, m.Step(now))
				answered = len(read(t, f, now).Answers) > 0
				fill.step(t, now)
			}
			require.LessOrEqual(t, waited, tt.most)
		})
	}
}

// reservationsOf returns the reservations of a cell, with the accounts that they are for.
func reservationsOf(t require.TestingT, s *omega.Scheduler, now time.Time) map[omega.ReservationID]omega.Account {
	s.Snapshot().Refresh(now)
	all := map[omega.ReservationID]omega.Account{}
	for r := range s.Snapshot().Reservations() {
		require.NotEmpty(t, r.Claims)
		all[r.ID] = r.Claims[0].Account
	}
	return all
}

// A reservation stays although another framework with a request is ahead: it is not the turn of
// that one, since a third framework waits for offers before it. Else each of them would
// displace the other one, and the master would never come to rest.
func TestRequest_ReservationStaysWhileNoOtherTurnHasCome(t *testing.T) {
	cell, _ := newCell(t, 4, resources.Vector{10})
	view, err := cell.Register("view", omega.Limits{})
	require.NoError(t, err)
	m := newMaster(t, cell, offers.Config{Timeout: offers.For(30 * time.Second)})
	take := func(f *offers.Framework) (tasks []omega.AllocationID) {
		for _, o := range read(t, f, start).Offers {
			ids, err := f.Accept(start, launch(o.ID, o.Room[0]))
			require.NoError(t, err)
			tasks = append(tasks, ids...)
		}
		require.NoError(t, f.Suppress(start))
		return tasks
	}
	// It has the smallest share, and has declined once: others are ahead of it by that alone.
	behind := register(t, m, offers.Registration{Name: "behind", Outstanding: 1})
	rest := read(t, behind, start).Offers
	_, err = behind.Accept(start, launch(rest[0].ID, 5))
	require.NoError(t, err)
	rest = append(rest[1:], read(t, behind, start).Offers...)
	require.NoError(t, behind.Decline(start, offers.For(time.Hour), ids(rest)...))
	require.NoError(t, behind.Suppress(start))
	ahead := register(t, m, offers.Registration{Name: "ahead", Outstanding: 1})
	tasks := take(ahead)
	require.NoError(t, ahead.Release(start, tasks[len(tasks)-1]))
	waits := register(t, m, offers.Registration{Name: "waits", Outstanding: 1})
	require.Len(t, take(waits), 1)
	require.NoError(t, waits.Revive(start))
	require.Equal(t, resources.Vector{40}, used(cell))

	whole := offers.Request{Machines: 1, Each: resources.Vector{10}}
	for _, f := range []*offers.Framework{behind, ahead} {
		_, err := f.Request(at(1), whole)
		require.NoError(t, err)
	}
	require.NoError(t, m.Step(at(1)))
	first := reservationsOf(t, view, at(1))
	require.Len(t, first, 1)
	for _, account := range first {
		require.Equal(t, accountOf(cell, "behind"), account)
	}
	for s := 2; s < 20; s++ {
		now := at(float64(s))
		require.NoError(t, m.Step(now))
		require.Equal(t, first, reservationsOf(t, view, now))
		next, due := m.Next()
		require.True(t, !due || next.After(now), "the master is not at rest")
	}
}

// Whatever frameworks and another scheduler start beside them, requests for gangs are answered
// one after the other: each within the length of the allocations that others have, once it is
// its turn, or after the timeout of an offer.
func TestRequest_EachGangIsAnsweredInItsTime(t *testing.T) {
	const timeout, longest, asking = 30, 12, 40 // seconds: of an offer, of an allocation at most, of requests
	rapid.Check(t, func(t *rapid.T) {
		machines := rapid.IntRange(2, 4).Draw(t, "machines")
		cell, err := omega.NewCell(omega.Config{})
		require.NoError(t, err)
		for i := range machines {
			_, err := cell.Add(omega.Machine{Name: fmt.Sprint(i), Capacity: resources.Vector{4}})
			require.NoError(t, err)
		}
		m, err := offers.New(cell, offers.Config{Timeout: offers.For(timeout * time.Second)}, start)
		require.NoError(t, err)
		other, err := cell.Register("other", omega.Limits{})
		require.NoError(t, err)
		fill := refiller{s: other, length: time.Duration(rapid.IntRange(1, longest).Draw(t, "length")) * time.Second}
		all := make([]*gangClient, rapid.IntRange(1, 3).Draw(t, "frameworks"))
		for i := range all {
			h, err := m.Register(start, offers.Registration{Name: fmt.Sprint(i), Outstanding: 1})
			require.NoError(t, err)
			all[i] = &gangClient{Framework: h, since: map[offers.RequestID]waiting{}}
			if all[i].gangs = rapid.Bool().Draw(t, "gangs"); all[i].gangs {
				require.NoError(t, h.Suppress(start)) // it has no other tasks
			}
		}
		open, done := 0, 0
		for s := 0; s < asking || open > 0; s++ {
			now := at(float64(s))
			require.NoError(t, m.Step(now))
			for _, h := range all {
				answered := h.step(t, now, machines)
				open, done = open-answered, done+answered
				if s < asking && h.gangs && len(h.since) < 2 && rapid.IntRange(0, 9).Draw(t, "asks") == 0 {
					id, err := h.Request(now, offers.Request{
						Machines: rapid.IntRange(1, machines).Draw(t, "of"), Each: resources.Vector{rapid.Int64Range(1, 4).Draw(t, "each")},
					})
					require.NoError(t, err)
					h.since[id] = waiting{s, done}
					open++
				}
				for id, since := range h.since {
					require.LessOrEqual(t, s-since.second, timeout+(done-since.done+1)*(longest+1), "request %d of %s waits", id, h.Name())
				}
			}
			fill.step(t, now)
		}
		require.NoError(t, cell.Check())
	})
}

// gangClient is a framework that has gangs answered, or starts tasks on all that it is offered.
type gangClient struct {
	*offers.Framework
	gangs bool
	since map[offers.RequestID]waiting
	tasks []refilled
}

// waiting is when a request began to wait, and how many had been answered by then.
type waiting struct{ second, done int }

// step ends tasks and starts others, for as long as a gang lasts. It returns how many requests
// were answered.
func (h *gangClient) step(t *rapid.T, now time.Time, machines int) (answered int) {
	for len(h.tasks) > 0 && !h.tasks[0].until.After(now) {
		require.NoError(t, h.Release(now, h.tasks[0].id))
		h.tasks = h.tasks[1:]
	}
	news, err := h.News(now)
	require.NoError(t, err)
	for _, a := range news.Answers {
		require.NoError(t, a.Reason)
		require.LessOrEqual(t, len(a.Offers), machines)
		require.Contains(t, h.since, a.Request)
		delete(h.since, a.Request)
		answered++
		news.Offers = append(news.Offers, a.Offers...)
	}
	for _, o := range news.Offers {
		tasks, err := h.Accept(now, launch(o.ID, o.Room[0]))
		require.NoError(t, err)
		h.tasks = append(h.tasks, refilled{tasks[0], now.Add(10 * time.Second)})
	}
	return answered
}
