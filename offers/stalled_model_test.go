package offers_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/cellsched/cellsched/offers"
	"github.com/cellsched/cellsched/omega"
	"github.com/cellsched/cellsched/resources"
)

// Any calls may come while accepts and steps are on the way, several at a time, or in doubt.
// Each task is granted once, and frameworks are charged as the cell says. Nothing is left of
// frameworks that have ended.
func TestMaster_AnythingWhileCommitsAreOnTheWay(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		y := newLine(t)
		t.Repeat(map[string]func(*rapid.T){
			"something": func(*rapid.T) { y.act() },
			"step": func(*rapid.T) {
				y.seconds++
				_ = y.m.Step(at(y.seconds))
			},
			"": func(t *rapid.T) {
				require.NoError(t, y.cell.Check())
			},
		})
		y.end()
	})
}

// line is a master with frameworks, in which other calls come during commits.
type line struct {
	t       *rapid.T
	cell    *omega.Cell
	m       *offers.Master
	all     map[string]*hooks
	of      map[string]*offers.Framework
	offers  map[string][]offers.Offer
	tasks   map[omega.AllocationID]string // that were granted, with their frameworks
	granted []omega.AllocationID
	doubts  map[string][]offers.Launch
	epochs  map[string]uint64
	seconds float64
	depth   int
	added   int
}

func newLine(t *rapid.T) *line {
	cell, err := omega.NewCell(omega.Config{})
	require.NoError(t, err)
	y := &line{
		t: t, cell: cell, all: map[string]*hooks{}, of: map[string]*offers.Framework{},
		offers: map[string][]offers.Offer{}, tasks: map[omega.AllocationID]string{},
		doubts: map[string][]offers.Launch{}, epochs: map[string]uint64{},
	}
	cfg := offers.Config{
		Timeout: offers.For(5e9), Grace: offers.For(2e9),
		Terms: offers.Terms{Optimistic: rapid.Bool().Draw(t, "optimistic")},
	}
	if rapid.Bool().Draw(t, "caps") {
		cfg.LongOnMachine, cfg.LongInCell = 60, 50
	}
	cfg.Store = func(s *omega.Scheduler) omega.Store { return &slow{Local: omega.Local{Scheduler: s}, all: y.all} }
	y.m, err = offers.New(cell, cfg, start)
	require.NoError(t, err)
	for _, name := range []string{"", "/f", "/g", "/h"} {
		h := &hooks{}
		midst := func(context.Context) error {
			if y.depth > 2 {
				return nil
			}
			y.depth++
			defer func() { y.depth-- }()
			for range rapid.IntRange(0, 3).Draw(t, "meddles") {
				y.act()
			}
			if rapid.IntRange(0, 5).Draw(t, "lost") == 0 {
				return omega.ErrOutcome
			}
			return nil
		}
		if h.before = midst; rapid.Bool().Draw(t, "after") {
			h.before, h.after = nil, midst
		}
		y.all["offers"+name] = h
	}
	for range 3 {
		y.grow()
	}
	return y
}

func (y *line) grow() {
	_, err := y.cell.Add(omega.Machine{Name: fmt.Sprint("m", y.added), Capacity: resources.Vector{10, 10}})
	require.NoError(y.t, err)
	y.added++
}

func (y *line) pick(label string, n int) int { return rapid.IntRange(0, n-1).Draw(y.t, label) }

// act has something happen.
func (y *line) act() {
	now := at(y.seconds)
	name := []string{"f", "g", "h"}[y.pick("framework", 3)]
	f := y.of[name]
	if f == nil {
		y.register(name, 0)
		return
	}
	switch y.pick("what", 14) {
	case 0, 1, 2:
		y.accept(name, f)
	case 3:
		if of := y.offers[name]; len(of) > 0 {
			i := y.pick("offer", len(of))
			_ = f.Decline(now, offers.For(1e9), of[i].ID)
		}
	case 4, 5:
		if news, err := f.News(now); err == nil {
			y.offers[name] = append(y.offers[name], news.Offers...)
			for _, a := range news.Answers {
				y.offers[name] = append(y.offers[name], a.Offers...)
			}
		}
	case 6:
		for _, id := range y.granted {
			if y.tasks[id] == name {
				if f.Release(now, id) == nil {
					delete(y.tasks, id)
				}
				break
			}
		}
	case 7:
		_, _ = f.Request(now, offers.Request{Machines: 1 + y.pick("machines", 2), Each: resources.Vector{6, 1}, Revoke: y.pick("revoke", 2) == 0})
	case 8:
		_ = f.Suppress(now)
		_ = f.Revive(now)
	case 9:
		y.epochs[name]++
		y.register(name, y.epochs[name])
	case 10:
		if y.pick("leaves", 3) == 0 {
			_ = f.Unregister(now)
			y.forget(name)
		}
	case 11:
		if states := slices.Collect(y.cell.Machines()); len(states) > 1 && y.pick("lose", 3) == 0 {
			_, err := y.cell.Remove(states[y.pick("machine", len(states))].ID)
			require.NoError(y.t, err)
			y.grow()
		}
	case 12:
		y.seconds += float64(y.pick("seconds", 4))
	case 13:
		_ = y.m.Step(now)
	}
}

func (y *line) register(name string, epoch uint64) {
	f, err := y.m.Register(at(y.seconds), offers.Registration{
		Name: name, Epoch: epoch, Outstanding: 1, Guaranteed: resources.Vector{5}, Failover: offers.For(20e9),
	})
	if err == nil {
		y.of[name], y.offers[name] = f, nil
		delete(y.doubts, name)
	} else {
		require.True(y.t, errors.Is(err, offers.ErrName) || errors.Is(err, offers.ErrGuarantee) || errors.Is(err, offers.ErrFenced), err)
	}
}

func (y *line) forget(name string) {
	delete(y.of, name)
	delete(y.doubts, name)
	maps.DeleteFunc(y.tasks, func(_ omega.AllocationID, of string) bool { return of == name })
}

// accept repeats what is in doubt, or starts tasks on some of the offers.
func (y *line) accept(name string, f *offers.Framework) {
	launches := y.doubts[name]
	if launches == nil {
		of := y.offers[name]
		for range min(len(of), 1+y.pick("launches", 2)) {
			o := of[len(of)-1]
			of = of[:len(of)-1]
			need := resources.Vector{1 + int64(y.pick("need", 9)), 1}
			if !need.Fits(o.Room) {
				need = o.Room
			}
			launches = append(launches, offers.Launch{
				Offers: []offers.OfferID{o.ID}, Tasks: []offers.Task{{Need: need, Long: need.Fits(o.Long)}},
			})
		}
		y.offers[name] = of
	}
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	if y.depth > 0 {
		cancel() // or it would wait for the call that the commit is part of
	}
	ids, err := f.AcceptContext(ctx, at(y.seconds), launches...)
	if errors.Is(err, context.Canceled) {
		return
	}
	if errors.Is(err, omega.ErrOutcome) {
		y.doubts[name] = launches
		return
	}
	if y.of[name] == f {
		delete(y.doubts, name)
	}
	for _, id := range ids {
		require.NotContains(y.t, y.tasks, id, "granted twice")
		y.tasks[id] = name
		y.granted = append(y.granted, id)
	}
}

// end lets all commits through, has all frameworks leave, and finds nothing left.
func (y *line) end() {
	for _, h := range y.all {
		h.before, h.after = nil, nil
	}
	step := func() {
		y.seconds++
		require.NoError(y.t, y.m.Step(at(y.seconds)))
	}
	step()
	for _, name := range slices.Sorted(maps.Keys(y.of)) {
		f := y.of[name]
		if launches := y.doubts[name]; launches != nil {
			_, err := f.Accept(at(y.seconds), launches...)
			require.NotErrorIs(y.t, err, omega.ErrOutcome)
		}
		if held, _ := f.Held(); true {
			usage, err := y.cell.Usage(accountOf(y.cell, name))
			require.NoError(y.t, err)
			require.Equal(y.t, usage, held, name)
		}
		_ = f.Unregister(at(y.seconds))
	}
	for range 3 {
		step()
	}
	y.seconds += 10_000 // of the frameworks with handles that are of no use any more
	for range 3 {
		step()
	}
	require.Zero(y.t, used(y.cell))
	require.Empty(y.t, y.m.Leftovers())
}

// A revocation that begins while an accept is on the way does not count on the room of
// its offers. Once the accept is granted, its task is a victim at once.
func TestRequest_RevokesFromAnAcceptOnTheWay(t *testing.T) {
	cell, _ := newCell(t, 1, resources.Vector{10})
	m, all := newSlow(t, cell, offers.Config{Grace: offers.For(30e9)})
	f := register(t, m, offers.Registration{Name: "f", Outstanding: 1})
	g := register(t, m, offers.Registration{Name: "g", Guaranteed: resources.Vector{10}, Suppressed: true})
	require.NoError(t, m.Step(start))
	mine := read(t, f, start).Offers
	all["offers/f"] = &hooks{before: func(context.Context) error {
		_, err := g.Request(at(1), offers.Request{Machines: 1, Each: resources.Vector{10}, Revoke: true})
		return errors.Join(err, m.Step(at(1)))
	}}
	tasks, err := f.Accept(start, launch(mine[0].ID, 10))
	require.NoError(t, err)
	require.NoError(t, m.Step(at(2)))
	revoked := read(t, f, at(2)).Revoked
	require.Len(t, revoked, 1)
	require.Equal(t, tasks[0], revoked[0].Task.ID)
	require.Equal(t, at(32), revoked[0].Until)
	require.NoError(t, m.Step(at(32)))
	require.Len(t, read(t, g, at(32)).Answers, 1)
	require.NoError(t, cell.Check())
}
