package offers_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/cellsched/cellsched/offers"
	"github.com/cellsched/cellsched/omega"
	"github.com/cellsched/cellsched/resources"
)

// Read alone, a sentinel names its package and its subject.
func TestErrors_SentinelsNamePackageAndNoun(t *testing.T) {
	seen := make(map[string]bool)
	for _, err := range []error{
		offers.ErrUnknown, offers.ErrUsed, offers.ErrDeclined, offers.ErrRescinded, offers.ErrExpired, offers.ErrForeign,
		offers.ErrMachine, offers.ErrExceeds, offers.ErrEmpty, offers.ErrName, offers.ErrUnregistered, offers.ErrEvicted,
		offers.ErrFenced, offers.ErrGuarantee, offers.ErrSpan, offers.ErrWeight, offers.ErrFraction,
	} {
		text, ok := strings.CutPrefix(err.Error(), "offers: ")
		require.True(t, ok, err.Error())
		require.Greater(t, len(strings.Fields(text)), 1, "%v has no noun", err)
		require.NotContains(t, text, "offers: ")
		require.False(t, seen[text], text)
		seen[text] = true
	}
}

// Each error names the package once, in front, then the value and the expected one. It
// wraps a sentinel.
func TestErrors_NameThePackageOnceAndTheValue(t *testing.T) {
	space, err := resources.NewSpace(resources.Dimension{Name: "cpu"}, resources.Dimension{Name: "disk"})
	require.NoError(t, err)
	cell, err := omega.NewCell(omega.Config{Space: space})
	require.NoError(t, err)
	for i := range 2 {
		_, err := cell.Add(omega.Machine{Name: fmt.Sprint("node-", i), Capacity: resources.Vector{10, 10}})
		require.NoError(t, err)
	}
	m := newMaster(t, cell, offers.Config{LongInCell: 50})
	f := register(t, m, offers.Registration{Name: "f"})
	o := read(t, f, start).Offers
	machine := o[0].Machine
	gone := register(t, m, offers.Registration{Name: "gone"})
	require.NoError(t, gone.Unregister(start))
	evicted := register(t, m, offers.Registration{Name: "evicted"})
	require.NoError(t, m.Evict(start, "evicted"))
	replaced := register(t, m, offers.Registration{Name: "replaced"})
	register(t, m, offers.Registration{Name: "replaced", Epoch: 3, Suppressed: true})
	old := newMaster(t, cell, offers.Config{Name: "old"})
	oldest := register(t, old, offers.Registration{Name: "oldest"})
	newMaster(t, cell, offers.Config{Name: "old"})
	accept := func(launches ...offers.Launch) error {
		_, err := f.Accept(start, launches...)
		return err
	}
	reg := func(r offers.Registration) error {
		if r.Name == "" {
			r.Name = "new"
		}
		_, err := m.Register(start, r)
		if again := m.Admits(r); err != nil && !strings.Contains(err.Error(), "epoch") {
			require.EqualError(t, again, err.Error())
		}
		return err
	}
	config := func(c offers.Config) error {
		_, err := offers.New(cell, c, start)
		return err
	}
	request := func(r offers.Request) error {
		_, err := f.Request(start, r)
		return err
	}
	news := func(f *offers.Framework) error {
		_, err := f.News(start)
		return err
	}
	task := func(need ...int64) []offers.Task {
		var v resources.Vector
		copy(v[:], need)
		return []offers.Task{{Need: v}}
	}
	one := []offers.OfferID{o[0].ID}
	long := strings.Repeat("x", 250)
	tests := map[string]struct {
		err  error
		is   error
		says string
	}{
		"nil cell":           {second(offers.New(nil, offers.Config{}, start)), offers.ErrEmpty, "cell is nil"},
		"nil master":         {(*offers.Master)(nil).Step(start), offers.ErrEmpty, "master is nil"},
		"zero master":        {second(new(offers.Master).Register(start, offers.Registration{Name: "f"})), offers.ErrEmpty, "master is nil or zero"},
		"nil master admits":  {(*offers.Master)(nil).Admits(), offers.ErrEmpty, "master is nil"},
		"nil master evicts":  {(*offers.Master)(nil).Evict(start, "f"), offers.ErrEmpty, "master is nil"},
		"nil framework":      {news(nil), offers.ErrEmpty, "framework is nil"},
		"zero framework":     {new(offers.Framework).Decline(start, offers.Span{}), offers.ErrEmpty, "framework is nil or zero"},
		"master name":        {config(offers.Config{Name: "a\nb"}), offers.ErrName, `"a\nb"`},
		"master with slash":  {config(offers.Config{Name: "a/b"}), offers.ErrName, `master "a/b"`},
		"smallest":           {config(offers.Config{Smallest: resources.Vector{-4}}), resources.ErrQuantity, "smallest offer"},
		"liveness":           {config(offers.Config{Liveness: offers.For(-5)}), offers.ErrSpan, "liveness -5ns"},
		"timeout":            {config(offers.Config{Timeout: offers.For(0)}), offers.ErrSpan, "offer timeout 0s"},
		"per cent":           {config(offers.Config{LongInCell: 300}), offers.ErrFraction, "300"},
		"part":               {m.SetTerms(start, offers.Terms{Percent: 101}), offers.ErrFraction, "101"},
		"empty name":         {reg(offers.Registration{Name: "\x00"}), offers.ErrName, `"\x00"`},
		"a long name":        {reg(offers.Registration{Name: long}), offers.ErrName, "257"},
		"invalid name":       {reg(offers.Registration{Name: "a\xffb"}), resources.ErrName, "0xff"},
		"name with slash":    {reg(offers.Registration{Name: "a/b"}), offers.ErrName, `framework "a/b"`},
		"role":               {reg(offers.Registration{Role: "a\tb"}), offers.ErrName, `framework "new": role`},
		"label":              {reg(offers.Registration{Labels: map[string][]string{"a\n": nil}}), offers.ErrName, "label"},
		"value of a label":   {reg(offers.Registration{Labels: map[string][]string{"zone": {"", "a\n"}}}), offers.ErrName, `label "zone"`},
		"weight":             {reg(offers.Registration{Weight: -2}), offers.ErrWeight, `framework "new": invalid weight: -2`},
		"outstanding":        {reg(offers.Registration{Outstanding: 2}), offers.ErrFraction, "2"},
		"minimum":            {reg(offers.Registration{Minimum: resources.Vector{-1}}), resources.ErrQuantity, "minimum"},
		"guarantee":          {reg(offers.Registration{Guaranteed: resources.Vector{-1}}), resources.ErrQuantity, "guarantee"},
		"too much":           {reg(offers.Registration{Guaranteed: resources.Vector{21}}), offers.ErrGuarantee, "cpu=21"},
		"failover":           {reg(offers.Registration{Failover: offers.For(-1)}), offers.ErrSpan, "failover -1ns"},
		"account":            {reg(offers.Registration{Account: 99}), omega.ErrUnknown, "account 99"},
		"taken":              {reg(offers.Registration{Name: "f"}), offers.ErrName, "epoch 0"},
		"role weight":        {m.SetRoleWeight("r", 0), offers.ErrWeight, `role "r"`},
		"role name":          {m.SetRoleWeight("a\nb", 1), offers.ErrName, `"a\nb"`},
		"no launch":          {accept(), offers.ErrEmpty, `framework "f"`},
		"no task":            {accept(offers.Launch{Offers: one}), offers.ErrEmpty, "0 tasks on 1 offers"},
		"task of nothing":    {accept(offers.Launch{Offers: one, Tasks: task()}), offers.ErrEmpty, `machine "node-0" needs nothing`},
		"negative task":      {accept(offers.Launch{Offers: one, Tasks: task(-1)}), resources.ErrQuantity, `task 0 on machine "node-0"`},
		"large task":         {accept(offers.Launch{Offers: one, Tasks: task(11)}), offers.ErrExceeds, "cpu=11"},
		"negative refuse":    {accept(offers.Launch{Offers: one, Tasks: task(1), Refuse: offers.For(-1)}), offers.ErrSpan, "refuse -1ns"},
		"two machines":       {accept(offers.Launch{Offers: []offers.OfferID{o[0].ID, o[1].ID}, Tasks: task(1)}), offers.ErrMachine, "is of another machine"},
		"no such offer":      {accept(offers.Launch{Offers: make([]offers.OfferID, 1), Tasks: task(1)}), offers.ErrUnknown, "offer 0.0: unknown"},
		"long tasks":         {accept(offers.Launch{Offers: one, Tasks: []offers.Task{{Need: resources.Vector{10}, Long: true}}}, offers.Launch{Offers: []offers.OfferID{o[1].ID}, Tasks: []offers.Task{{Need: resources.Vector{1}, Long: true}}}), offers.ErrExceeds, "50% of the cell"},
		"decline":            {f.Decline(start, offers.Span{}, offers.OfferID{}), offers.ErrUnknown, `framework "f": offer 0.0`},
		"decline for -1":     {f.Decline(start, offers.For(-1)), offers.ErrSpan, "-1ns"},
		"release":            {f.Release(start, omega.AllocationID{}), omega.ErrReleased, `framework "f": release`},
		"request of nothing": {request(offers.Request{Machines: 1}), offers.ErrEmpty, "on 1 machines"},
		"request on none":    {request(offers.Request{Each: resources.Vector{1}}), offers.ErrEmpty, "on 0 machines"},
		"negative request":   {request(offers.Request{Machines: 1, Each: resources.Vector{-1}}), resources.ErrQuantity, "request"},
		"large request":      {request(offers.Request{Machines: 3, Each: resources.Vector{1}}), offers.ErrExceeds, "1 are missing"},
		"late request":       {request(offers.Request{Machines: 1, Each: resources.Vector{1}, Deadline: start}), offers.ErrExpired, "is past"},
		"beyond guarantee":   {request(offers.Request{Machines: 1, Each: resources.Vector{1}, Revoke: true}), offers.ErrExceeds, "cpu=1"},
		"withdraw":           {f.Withdraw(start, 77), offers.ErrUnknown, "request 77: unknown"},
		"reply":              {f.Reply(start, machine, true), offers.ErrUnknown, `machine "node-0": unknown`},
		"vacate":             {second(m.Vacate(start, 0, at(1))), omega.ErrUnknown, "vacate"},
		"evict":              {m.Evict(start, "nobody"), offers.ErrUnregistered, `"nobody"`},
		"unregistered":       {news(gone), offers.ErrUnregistered, `"gone"`},
		"evicted":            {news(evicted), offers.ErrEvicted, `"evicted"`},
		"replaced":           {news(replaced), offers.ErrFenced, `"replaced", epoch 0`},
		"fenced":             {old.Step(start), offers.ErrFenced, "scheduler was replaced"},
		"of a fenced master": {news(oldest), offers.ErrFenced, "replaced by a successor"},
		"box without time":   {second(offers.NewTimeBox(start, 0, nil)), offers.ErrSpan, "slice 0s"},
		"box of nobody":      {second(offers.NewTimeBox(start, time.Second, nil)), offers.ErrEmpty, "0 schedulers"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			require.ErrorIs(t, test.err, test.is)
			require.ErrorContains(t, test.err, test.says)
			for line := range strings.SplitSeq(test.err.Error(), "\n") {
				require.True(t, strings.HasPrefix(line, "offers: "), line)
				for _, name := range []string{"offers", "omega", "resources", "drf"} {
					require.NotContains(t, line, ": "+name+": ")
				}
				require.NotContains(t, line, " 0 0 0", "a raw vector")
			}
		})
	}
	require.NoError(t, cell.Check())
	require.Equal(t, o[0].ID, one[0])
	_, err = f.Accept(start, launch(o[0].ID, 10), launch(o[1].ID, 10))
	require.NoError(t, err, "nothing has changed")
	require.NotErrorIs(t, offers.ErrUnregistered, offers.ErrEvicted)
}

// second returns the error of a call.
func second[T any](_ T, err error) error { return err }
