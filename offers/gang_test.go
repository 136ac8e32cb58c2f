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

// Requests for one machine after the other do not get past the order: a framework that
// holds more is not before one that holds nothing any more.
func TestRequest_OfOneMachineKeepsToTheOrder(t *testing.T) {
	cell, _ := newCell(t, 8, resources.Vector{4})
	m := newMaster(t, cell, offers.Config{})
	g := register(t, m, offers.Registration{Name: "g", Outstanding: 0.5})
	h := register(t, m, offers.Registration{Name: "h", Outstanding: 0.5})
	var tasks []omega.AllocationID
	for _, f := range []*offers.Framework{g, h} {
		for _, o := range read(t, f, start).Offers {
			ids, err := f.Accept(start, launch(o.ID, 4))
			require.NoError(t, err)
			if f == h {
				tasks = append(tasks, ids...)
			}
		}
	}
	require.Len(t, tasks, 4)
	for range 8 {
		_, err := g.Request(start, offers.Request{Machines: 1, Each: resources.Vector{4}})
		require.NoError(t, err)
	}
	got := 0
	for i, a := range tasks {
		require.NoError(t, h.Release(at(float64(i)), a))
		got += len(read(t, h, at(float64(i))).Offers)
	}
	require.NotZero(t, got, "its share is 0 in the end, the other one's is all")
}

// Room that becomes free goes to the framework that the order puts first, whether it has
// made a request or waits for offers.
func TestRequest_TakesItsTurn(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		machines := rapid.IntRange(3, 12).Draw(t, "machines")
		cell, err := omega.NewCell(omega.Config{})
		require.NoError(t, err)
		for i := range machines {
			_, err := cell.Add(omega.Machine{Name: fmt.Sprint(i), Capacity: resources.Vector{4}})
			require.NoError(t, err)
		}
		m, err := offers.New(cell, offers.Config{}, start)
		require.NoError(t, err)
		all := make([]*asker, rapid.IntRange(2, 4).Draw(t, "frameworks"))
		for i := range all {
			f, err := m.Register(start, offers.Registration{Name: fmt.Sprint(i), Outstanding: 1})
			require.NoError(t, err)
			all[i] = &asker{Framework: f}
			require.NoError(t, f.Suppress(start))
		}
		taken := func() (by []*asker) {
			for _, a := range all {
				news, err := a.News(start)
				require.NoError(t, err)
				for _, answer := range news.Answers {
					a.pending--
					news.Offers = append(news.Offers, answer.Offers...)
				}
				for _, o := range news.Offers {
					tasks, err := a.Accept(start, launch(o.ID, 4))
					require.NoError(t, err)
					a.tasks = append(a.tasks, tasks...)
					by = append(by, a)
				}
			}
			return by
		}
		taken()
		for _, a := range all { // the framework that was offered something first is the first still
			a.ordinary = rapid.Bool().Draw(t, "ordinary")
			if a.ordinary {
				require.NoError(t, a.Revive(start))
			}
			taken()
		}
		for range rapid.IntRange(5, 40).Draw(t, "steps") {
			a := all[rapid.IntRange(0, len(all)-1).Draw(t, "who")]
			if len(a.tasks) == 0 {
				continue
			}
			for _, b := range all {
				if b.pending == 0 && !b.ordinary && rapid.Bool().Draw(t, "asks") {
					_, err := b.Request(start, offers.Request{Machines: 1, Each: resources.Vector{4}})
					require.NoError(t, err)
					b.pending++
				}
			}
			taken()
			if len(a.tasks) == 0 {
				continue
			}
			require.NoError(t, a.Release(start, a.tasks[0]))
			a.tasks = a.tasks[1:]
			least := machines
			for _, b := range all {
				if b.ordinary || b.pending > 0 {
					least = min(least, len(b.tasks))
				}
			}
			for _, b := range taken() {
				require.Len(t, b.tasks, least+1, "it was not the turn of %s", b.Name())
			}
		}
	})
}

// asker is a framework that waits for offers, or asks for one machine at a time.
type asker struct {
	*offers.Framework
	ordinary bool
	pending  int
	tasks    []omega.AllocationID
}

// busy returns a cell of n machines and frameworks that fill it with tasks as they are
// offered room. The function that it returns lets them run on for a second: the task that
// began first ends.
func busy(t *testing.T, machines, frameworks int) (*offers.Master, func(now time.Time) int) {
	t.Helper()
	cell, _ := newCell(t, machines, resources.Vector{4})
	m := newMaster(t, cell, offers.Config{})
	type running struct {
		of *offers.Framework
		id omega.AllocationID
	}
	var tasks []running
	all := make([]*offers.Framework, frameworks)
	launched := func(now time.Time) (n int) {
		for _, f := range all {
			for _, o := range read(t, f, now).Offers {
				ids, err := f.Accept(now, launch(o.ID, o.Room[0]))
				require.NoError(t, err)
				tasks = append(tasks, running{f, ids[0]})
				n++
			}
		}
		return n
	}
	for i := range all {
		all[i] = register(t, m, offers.Registration{Name: fmt.Sprint(i), Outstanding: 1 / float64(frameworks)})
	}
	launched(start)
	require.Len(t, tasks, machines)
	return m, func(now time.Time) int {
		require.NoError(t, m.Step(now))
		if len(tasks) > 0 {
			require.NoError(t, tasks[0].of.Release(now, tasks[0].id))
			tasks = tasks[1:]
		}
		return launched(now)
	}
}

// Each task that ends makes room that others would take at once: a gang comes about
// since, once it is its turn, that is kept for it.
func TestRequest_NoStreamOfOffersStarvesAGang(t *testing.T) {
	m, run := busy(t, 8, 3)
	g := register(t, m, offers.Registration{Name: "g", Minimum: resources.Vector{5}})
	_, err := g.Request(start, offers.Request{Machines: 6, Each: resources.Vector{4}})
	require.NoError(t, err)
	for s := 1; s <= 5; s++ {
		require.Zero(t, run(at(float64(s))))
		require.Empty(t, read(t, g, at(float64(s))).Answers)
	}
	run(at(6))
	require.Len(t, read(t, g, at(6)).Answers, 1)
}

// Two gangs that each need most of the cell do not keep room from each other: one at a
// time reserves.
func TestRequest_OneGangAtATimeReserves(t *testing.T) {
	m, run := busy(t, 8, 3)
	both := make([]*offers.Framework, 2)
	for i := range both {
		both[i] = register(t, m, offers.Registration{Name: fmt.Sprint("g", i), Minimum: resources.Vector{5}})
		_, err := both[i].Request(start, offers.Request{Machines: 6, Each: resources.Vector{4}})
		require.NoError(t, err)
	}
	var done []string
	for s := 1; s <= 40; s++ {
		now := at(float64(s))
		run(now)
		for _, f := range both {
			for _, a := range read(t, f, now).Answers {
				done = append(done, f.Name())
				require.NoError(t, f.Release(now, take(t, f, now, a, 4)...)) // a short one
			}
		}
	}
	require.Equal(t, []string{"g0", "g1"}, done)
}

// A gang that cannot come about, since a service never ends, keeps room from others for
// no longer than an offer lasts, and rarely for some times as long. Then it keeps none until
// they have had it, for as much longer.
func TestRequest_AGangReservesForAShortTime(t *testing.T) {
	for _, timeout := range []offers.Span{{}, offers.Never(), offers.For(10 * time.Second)} {
		wait := 30
		if timeout == offers.For(10*time.Second) {
			wait = 10
		}
		cell, _ := newCell(t, 4, resources.Vector{4})
		m := newMaster(t, cell, offers.Config{Timeout: timeout})
		service := register(t, m, offers.Registration{Name: "service", Outstanding: 0.25})
		_, err := service.Accept(start, launch(read(t, service, start).Offers[0].ID, 4))
		require.NoError(t, err)
		require.NoError(t, service.Suppress(start))
		require.NoError(t, service.Decline(start, offers.Span{}, ids(read(t, service, start).Offers)...))
		f := register(t, m, offers.Registration{Name: "f", Outstanding: 1})
		var tasks []omega.AllocationID
		starts := func(now time.Time) (n int) {
			for _, o := range read(t, f, now).Offers {
				ids, err := f.Accept(now, launch(o.ID, 4))
				require.NoError(t, err)
				tasks = append(tasks, ids...)
				n++
			}
			return n
		}
		require.Equal(t, 3, starts(start))
		g := register(t, m, offers.Registration{Name: "g", Minimum: resources.Vector{5}})
		_, err = g.Request(start, offers.Request{Machines: 4, Each: resources.Vector{4}})
		require.NoError(t, err)

		waited, longest, got, kept := 0, 0, 0, 0
		for s := 1; s <= 40*wait; s++ {
			now := at(float64(s))
			require.NoError(t, m.Step(now))
			n := starts(now)
			if len(tasks) > 0 {
				require.NoError(t, f.Release(now, tasks[0]))
				tasks = tasks[1:]
			}
			if n += starts(now); n > 0 {
				waited, got = 0, got+n
			} else {
				waited, kept = waited+1, kept+1
			}
			longest = max(longest, waited)
		}
		// Of 40 waits the longest is 8 times the first, in which no machine is added either.
		require.LessOrEqual(t, longest, 8*wait+3)
		require.Greater(t, longest, wait/2, "the gang has its turn, too")
		require.GreaterOrEqual(t, got, 7*(kept-longest)/(wait+3), "then others have theirs; the last may go on")
		require.Empty(t, read(t, g, at(float64(40*wait))).Answers)
	}
}
