package offers_test

import (
	"bytes"
	"fmt"
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/cellsched/cellsched/offers"
	"github.com/cellsched/cellsched/omega"
	"github.com/cellsched/cellsched/resources"
)

// mess is a master with a framework that has one offer of each fate, another
// framework, and one that has left.
type mess struct {
	cell     *omega.Cell
	machines []omega.MachineID
	m        *offers.Master
	now      time.Time

	f, other, left                                            *offers.Framework
	good, expired, used, declined, rescinded, foreign, beside offers.Offer // of f, but for one
	task                                                      omega.AllocationID
}

func newMess(t *testing.T) *mess {
	t.Helper()
	w := &mess{now: at(31)}
	w.cell, w.machines = newCell(t, 14, resources.Vector{10, 10})
	w.m = newMaster(t, w.cell, offers.Config{})
	w.left = register(t, w.m, offers.Registration{Name: "left"})
	require.NoError(t, w.left.Unregister(start))
	w.other = register(t, w.m, offers.Registration{Name: "other", Outstanding: 0.1, Guaranteed: resources.Vector{40}})
	w.f = register(t, w.m, offers.Registration{Name: "f", Outstanding: 1})
	got := read(t, w.f, start).Offers
	require.Len(t, got, 12)
	w.expired = got[0]
	// The others are made anew, to last longer.
	require.NoError(t, w.f.Decline(at(20), offers.For(0), ids(got[1:])...))
	got = read(t, w.f, at(20)).Offers
	require.Len(t, got, 6)
	require.NoError(t, w.f.Suppress(at(20)))
	require.NoError(t, w.other.Decline(at(20), offers.For(0), ids(read(t, w.other, at(20)).Offers)...))
	w.foreign = read(t, w.other, at(20)).Offers[0]
	require.NoError(t, w.other.Suppress(at(20)))
	w.used, w.declined, w.rescinded, w.good, w.beside = got[0], got[1], got[2], got[3], got[4]
	tasks, err := w.f.Accept(at(20), launch(w.used.ID, 10, 10))
	require.NoError(t, err)
	w.task = tasks[0]
	require.NoError(t, w.f.Decline(at(20), offers.For(time.Hour), w.declined.ID))
	_, err = w.cell.Remove(w.rescinded.Machine)
	require.NoError(t, err)
	require.NoError(t, w.m.Step(w.now))
	read(t, w.f, w.now)
	return w
}

// state is all that can be seen of it.
func (w *mess) state(t *testing.T) string {
	t.Helper()
	var all bytes.Buffer
	require.NoError(t, w.cell.Dump(&all))
	for _, f := range []*offers.Framework{w.f, w.other} {
		held, offered := f.Held()
		fmt.Fprintln(&all, f.Name(), f.Epoch(), held, offered, read(t, f, w.now))
	}
	next, ok := w.m.Next()
	fmt.Fprintln(&all, next, ok)
	for _, id := range w.machines {
		fmt.Fprintln(&all, w.m.Replies(id))
	}
	return all.String()
}

// An error names the invalid value and the expected one, and the call changes nothing.
func TestMaster_RefusesBadInput(t *testing.T) {
	type call = func(w *mess) error
	accept := func(launches func(w *mess) []offers.Launch) call {
		return func(w *mess) error {
			_, err := w.f.Accept(w.now, launches(w)...)
			return err
		}
	}
	withGood := func(bad func(w *mess) offers.OfferID) call { // in one call with a valid one
		return accept(func(w *mess) []offers.Launch {
			return []offers.Launch{launch(w.good.ID, 1), launch(bad(w), 1)}
		})
	}
	task := func(need ...int64) call {
		return accept(func(w *mess) []offers.Launch {
			return []offers.Launch{launch(w.beside.ID, 1), launch(w.good.ID, need...)}
		})
	}
	reg := func(r offers.Registration) call {
		return func(w *mess) error {
			if r.Name == "" {
				r.Name = "new"
			}
			_, err := w.m.Register(w.now, r)
			return err
		}
	}
	request := func(r offers.Request) call {
		return func(w *mess) error {
			_, err := w.f.Request(w.now, r)
			return err
		}
	}
	config := func(cfg offers.Config) call {
		return func(w *mess) error {
			_, err := offers.New(w.cell, cfg, w.now)
			return err
		}
	}
	one := resources.Vector{1}
	tests := map[string]struct {
		call call
		err  error
		text string
	}{
		"accept: unknown": {withGood(func(*mess) offers.OfferID { return offers.OfferID{} }), offers.ErrUnknown, `"f": offer 0.0: unknown`},
		"accept: used":    {withGood(func(w *mess) offers.OfferID { return w.used.ID }), offers.ErrUsed, `"f": offer 0.29: used already`},
		"accept: declined": {
			withGood(func(w *mess) offers.OfferID { return w.declined.ID }), offers.ErrDeclined, `"f": offer 0.30: was declined`,
		},
		"accept: rescinded": {
			withGood(func(w *mess) offers.OfferID { return w.rescinded.ID }), offers.ErrRescinded, `"f": offer 0.31: was rescinded`,
		},
		"accept: expired": {
			withGood(func(w *mess) offers.OfferID { return w.expired.ID }), offers.ErrExpired, `"f": offer 0.17: has expired`,
		},
		"accept: foreign": {
			withGood(func(w *mess) offers.OfferID { return w.foreign.ID }), offers.ErrForeign, `"f": offer 0.35: belongs to another framework`,
		},
		"accept: twice": {withGood(func(w *mess) offers.OfferID { return w.good.ID }), offers.ErrUsed, `"f": offer 0.32: used already`},
		"accept: machines that are combined": {accept(func(w *mess) []offers.Launch {
			l := launch(w.good.ID, 1)
			l.Offers = append(l.Offers, w.beside.ID)
			return []offers.Launch{l}
		}), offers.ErrMachine, "is of another machine"},
		"accept: no launch": {accept(func(*mess) []offers.Launch { return nil }), offers.ErrEmpty, `"f": accept without a launch`},
		"accept: no offer": {accept(func(*mess) []offers.Launch {
			return []offers.Launch{{Tasks: []offers.Task{{Need: one}}}}
		}), offers.ErrEmpty, "launch of 1 tasks on 0 offers: want one of each at least"},
		"accept: no task": {accept(func(w *mess) []offers.Launch {
			return []offers.Launch{{Offers: []offers.OfferID{w.good.ID}}}
		}), offers.ErrEmpty, "launch of 0 tasks on 1 offers: want one of each at least"},
		"accept: a task of nothing":     {task(), offers.ErrEmpty, `task 0 on machine "node-6" needs nothing`},
		"accept: a negative need":       {task(2, -1), resources.ErrQuantity, `task 0 on machine "node-6"`},
		"accept: more than is offered":  {task(11), offers.ErrExceeds, "tasks need kind0=11, room kind0=10,kind1=10"},
		"accept: of another kind":       {task(1, 1, 1), offers.ErrExceeds, "tasks need kind0=1,kind1=1,kind2=1, room"},
		"accept: beyond all quantities": {task(math.MaxInt64), resources.ErrQuantity, `task 0 on machine "node-6"`},
		"accept: negative refuse": {accept(func(w *mess) []offers.Launch {
			l := launch(w.good.ID, 1)
			l.Filter, l.Refuse = true, offers.For(-time.Second)
			return []offers.Launch{l}
		}), offers.ErrSpan, "refuse -1s: want 0s or more"},
		"accept: after it has left": {func(w *mess) error {
			_, err := w.left.Accept(w.now, launch(w.good.ID, 1))
			return err
		}, offers.ErrUnregistered, `"left"`},

		"decline: for less than no time": {func(w *mess) error {
			return w.f.Decline(w.now, offers.For(-1), w.good.ID)
		}, offers.ErrSpan, "refuse -1ns: want 0s or more"},
		"decline: used": {func(w *mess) error {
			return w.f.Decline(w.now, offers.Span{}, w.used.ID, w.rescinded.ID)
		}, offers.ErrRescinded, "offer 0.29: used already"},
		"decline: foreign": {func(w *mess) error {
			return w.f.Decline(w.now, offers.Span{}, w.foreign.ID)
		}, offers.ErrForeign, "offer 0.35: belongs to another framework"},
		"decline: after it has left": {func(w *mess) error {
			return w.left.Decline(w.now, offers.Span{}, w.good.ID)
		}, offers.ErrUnregistered, `"left"`},

		"release: of nothing": {func(w *mess) error { return w.f.Release(w.now, omega.AllocationID{}) }, omega.ErrReleased, "release of allocation 0/0/0"},
		"release: of another's": {func(w *mess) error {
			return w.other.Release(w.now, w.task)
		}, omega.ErrNotOwner, "release of allocation 3/1/7"},

		"register: twice":               {reg(offers.Registration{Name: "f"}), offers.ErrName, `framework "f" is registered already`},
		"register: a slash":             {reg(offers.Registration{Name: "a/b"}), offers.ErrName, `"a/b": want one without a slash`},
		"register: weight below 0":      {reg(offers.Registration{Weight: -2}), offers.ErrWeight, `"new": invalid weight: -2: want 1e-06 to 1e+06`},
		"register: no weight":           {reg(offers.Registration{Weight: math.NaN()}), offers.ErrWeight, "NaN: want 1e-06 to 1e+06"},
		"register: all weight":          {reg(offers.Registration{Weight: math.Inf(1)}), offers.ErrWeight, "+Inf: want 1e-06 to 1e+06"},
		"register: outstanding above 1": {reg(offers.Registration{Outstanding: 1.5}), offers.ErrFraction, `"new": outstanding offers of 1.5: want 0 to 1`},
		"register: no outstanding":      {reg(offers.Registration{Outstanding: math.NaN()}), offers.ErrFraction, "NaN: want 0 to 1"},
		"register: negative minimum":    {reg(offers.Registration{Minimum: resources.Vector{-1}}), resources.ErrQuantity, `"new": minimum`},
		"register: negative guarantee":  {reg(offers.Registration{Guaranteed: resources.Vector{-1}}), resources.ErrQuantity, `"new": guarantee`},
		"register: too much guaranteed": {
			reg(offers.Registration{Guaranteed: resources.Vector{91, 1}}), offers.ErrGuarantee,
			`"new": kind0=131 with what others are guaranteed, kind0=130 in the cell`,
		},
		"register: negative failover": {reg(offers.Registration{Failover: offers.For(-1)}), offers.ErrSpan, `"new": invalid time: failover -1ns: want 0s or more`},
		"register: an account of nobody": {
			reg(offers.Registration{Account: 99}), omega.ErrUnknown, `"new": unknown account 99`,
		},

		"request: no machine": {request(offers.Request{Each: one}), offers.ErrEmpty, `"f" asks for kind0=1 on 0 machines`},
		"request: fewer":      {request(offers.Request{Each: one, Machines: -1}), offers.ErrEmpty, "on -1 machines"},
		"request: nothing":    {request(offers.Request{Machines: 1}), offers.ErrEmpty, `"f" asks for 0 on 1 machines`},
		"request: negative":   {request(offers.Request{Machines: 1, Each: resources.Vector{-1}}), resources.ErrQuantity, `"f": request`},
		"request: too late":   {request(offers.Request{Machines: 1, Each: one, Deadline: at(31)}), offers.ErrExpired, "its deadline"},
		"request: not its own": {
			request(offers.Request{Machines: 1, Each: one, Revoke: true}), offers.ErrExceeds,
			`"f" would hold kind0=41,kind1=40, of which it runs kind0=10,kind1=10, is offered kind0=30,kind1=30 and asks for kind0=1: it is guaranteed 0`,
		},
		"withdraw: nothing":      {func(w *mess) error { return w.f.Withdraw(w.now, 7) }, offers.ErrUnknown, `"f": request 7`},
		"reply: it is not asked": {func(w *mess) error { return w.f.Reply(w.now, w.machines[0], true) }, offers.ErrUnknown, `"f": inverse offer of machine "node-0"`},
		"vacate: no machine": {func(w *mess) error {
			_, err := w.m.Vacate(w.now, 0, w.now)
			return err
		}, omega.ErrUnknown, "machine none"},

		"terms: more than all":      {func(w *mess) error { return w.m.SetTerms(w.now, offers.Terms{Percent: 101}) }, offers.ErrFraction, "101 per cent of each machine: want 0 to 100"},
		"terms: less than nothing":  {func(w *mess) error { return w.m.SetTerms(w.now, offers.Terms{Percent: -1}) }, offers.ErrFraction, "-1 per cent"},
		"role: weight of no number": {func(w *mess) error { return w.m.SetRoleWeight("r", math.NaN()) }, offers.ErrWeight, `role "r": invalid weight: NaN`},

		"config: a slash":           {config(offers.Config{Name: "a/b"}), offers.ErrName, `"a/b": want one without a slash`},
		"config: no timeout":        {config(offers.Config{Timeout: offers.For(0)}), offers.ErrSpan, "offer timeout 0s: want 1ns or more"},
		"config: negative interval": {config(offers.Config{Interval: offers.For(-1)}), offers.ErrSpan, "interval -1ns: want 1ns or more"},
		"config: negative recovery": {config(offers.Config{Recovery: offers.For(-1)}), offers.ErrSpan, "recovery -1ns: want 0s or more"},
		"config: negative grace":    {config(offers.Config{Grace: offers.For(-1)}), offers.ErrSpan, "grace -1ns: want 0s or more"},
		"config: negative smallest": {config(offers.Config{Smallest: resources.Vector{-1}}), resources.ErrQuantity, "smallest offer"},
		"config: too many long":     {config(offers.Config{LongInCell: 101}), offers.ErrFraction, "101 per cent for long tasks: want 0 to 100"},
		"config: terms":             {config(offers.Config{Terms: offers.Terms{Percent: 101}}), offers.ErrFraction, "101 per cent of each machine"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			w := newMess(t)
			before := w.state(t)
			err := test.call(w)
			require.ErrorIs(t, err, test.err)
			require.ErrorContains(t, err, test.text)
			require.Equal(t, before, w.state(t), "nothing has changed")
			_, err = w.f.Accept(w.now, launch(w.good.ID, 10, 10), launch(w.beside.ID, 10, 10))
			require.NoError(t, err, "what is valid is so after all")
			require.NoError(t, w.cell.Check())
		})
	}
}

// More than 365 days is 365 days.
func TestDecline_IsCapped(t *testing.T) {
	for name, refuse := range map[string]offers.Span{"a thousand years": offers.For(math.MaxInt64 - 1), "never": offers.Never()} {
		t.Run(name, func(t *testing.T) {
			cell, _ := newCell(t, 1, resources.Vector{10})
			m := newMaster(t, cell, offers.Config{})
			f := register(t, m, offers.Registration{Name: "f"})
			require.NoError(t, f.Decline(start, refuse, ids(read(t, f, start).Offers)...))
			year := start.Add(offers.MaxRefuse)
			require.NoError(t, m.Step(year.Add(-1)))
			require.Empty(t, read(t, f, year.Add(-1)).Offers)
			require.NoError(t, m.Step(year))
			require.Len(t, read(t, f, year).Offers, 1)
		})
	}
}
