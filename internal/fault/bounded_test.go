package fault_test

import (
	"context"
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/cellsched/cellsched/delay"
	"github.com/cellsched/cellsched/drf"
	"github.com/cellsched/cellsched/drf/pools"
	"github.com/cellsched/cellsched/locality"
	"github.com/cellsched/cellsched/locality/quincy"
	"github.com/cellsched/cellsched/offers"
	"github.com/cellsched/cellsched/offers/live"
	"github.com/cellsched/cellsched/omega"
	"github.com/cellsched/cellsched/omega/federation"
	"github.com/cellsched/cellsched/omega/flow"
	"github.com/cellsched/cellsched/omega/pool"
	"github.com/cellsched/cellsched/resources"
)

// An error shows a part of what a caller gave, however long that is.
func TestErrors_ShowAPartOfALongName(t *testing.T) {
	long := strings.Repeat("x", 1<<20)
	one, now := resources.Vector{1}, time.Unix(1, 0)
	many := make([]string, 1000)
	ring := map[string]string{}
	for i := range many {
		many[i] = fmt.Sprint("group-", i)
		ring[many[i]] = fmt.Sprint("group-", (i+1)%len(many))
	}
	err := func(_ any, err error) error { return err }

	cell, e := omega.NewCell(omega.Config{Machines: []omega.Machine{{Name: "m", Capacity: one}}})
	require.NoError(t, e)
	id, _ := cell.Machine("m")
	s, e := cell.Register("s", omega.Limits{})
	require.NoError(t, e)
	m, e := offers.New(cell, offers.Config{}, now)
	require.NoError(t, e)
	p, e := pool.New(pool.Config{Machines: []omega.Machine{{Name: "m", Capacity: one}}})
	require.NoError(t, e)
	defer func() { require.NoError(t, p.Close(context.Background())) }()
	users, e := drf.New[string](one)
	require.NoError(t, e)
	user, e := users.Add(long, 1)
	require.NoError(t, e)
	tree, e := pools.New[string](one, nil)
	require.NoError(t, e)
	node, e := tree.AddJob(tree.Root(), long, pools.Config{})
	require.NoError(t, e)
	q, e := delay.NewQueue[string](delay.Policy{}, nil)
	require.NoError(t, e)
	planner := quincy.Planner[string, string]{}
	tasks, e := flow.New[string](flow.Config[string]{
		Cell: cell, Scheduler: s, Slot: one,
		Arcs: func(arcs []quincy.Arc, _ string, _ quincy.State, _ int64) []quincy.Arc { return arcs },
	})
	require.NoError(t, e)
	var a locality.Attributes
	require.NoError(t, a.Describe(1, nil))
	topology, e := locality.New(locality.Config{Levels: []string{"node", "rack", "any"}})
	require.NoError(t, e)
	values := make([]locality.Value, 1000)
	for i := range values {
		values[i] = locality.Text(many[i])
	}
	global, e := federation.New(federation.Config{Name: "g", Locals: []string{"a"}})
	require.NoError(t, e)
	var machine omega.MachineID
	var allocation omega.AllocationID

	for what, err := range map[string]error{
		"offers: evict":            m.Evict(now, long),
		"offers: register":         err(m.Register(now, offers.Registration{Name: long})),
		"offers: role":             err(m.Register(now, offers.Registration{Name: "f", Role: long})),
		"offers: label":            err(m.Register(now, offers.Registration{Name: "f", Labels: map[string][]string{long: nil}})),
		"offers: value":            err(m.Register(now, offers.Registration{Name: "f", Labels: map[string][]string{"l": {long}}})),
		"offers: weight of a role": m.SetRoleWeight(long, math.NaN()),
		"offers: role to weigh":    m.SetRoleWeight(long, 1),
		"offers: master":           err(offers.New(cell, offers.Config{Name: long}, now)),
		"offers: admits":           m.Admits(offers.Registration{Name: long}),
		"live: no handle":          live.Run(context.Background(), m, live.Config{}, live.Member{Registration: offers.Registration{Name: long}}),
		"live: notify": live.Run(context.Background(), m, live.Config{}, live.Member{
			Registration: offers.Registration{Name: long, Notify: func() {}},
			Handle:       func(context.Context, *offers.Framework, offers.News) error { return nil },
		}),
		"federation: job":       global.Submit(federation.Job{Name: "j", User: long}),
		"federation: name":      global.Submit(federation.Job{Name: long}),
		"federation: local":     err(federation.New(federation.Config{Name: "g", Locals: []string{long, long}})),
		"federation: verifier":  err(federation.NewVerifier(federation.Local{Name: long, Scheduler: s})),
		"federation: recipient": global.Receive(federation.Message{To: long}),
		"federation: sender":    global.Receive(federation.Message{To: "g", From: long}),
		"omega: replace":        err(cell.Replace(long)),
		"omega: register":       err(cell.Register(long, omega.Limits{})),
		"omega: deputy":         err(s.Deputy(long, omega.Limits{})),
		"omega: account":        err(cell.Account(t.Context(), long)),
		"omega: add":            err(cell.Add(omega.Machine{Name: long})),
		"omega: attribute":      cell.SetAttributes(id, map[string]string{long: ""}),
		"omega: value":          cell.SetAttributes(id, map[string]string{"a": long}),
		"omega: machine ID":     machine.UnmarshalText([]byte(long)),
		"omega: allocation ID":  allocation.UnmarshalText([]byte(long)),
		"pool: machine":         err(p.AddMachine(omega.Machine{Name: long})),
		"pool: drain":           p.DrainMachine(long, true),
		"pool: resize":          p.ResizeMachine(long, one),
		"pool: remove":          p.RemoveMachine(long),
		"pool: tenant":          err(p.Tenant(long)),
		"pool: acquire":         err(p.Acquire(context.Background(), long, one)),
		"pool: new":             err(pool.New(pool.Config{Machines: []omega.Machine{{Name: long}}})),
		"drf: twice":            err(users.Add(long, 1)),
		"drf: weight":           err(users.Add(long, -1)),
		"drf: credit":           users.Credit(user, one),
		"pools: twice":          err(tree.AddJob(tree.Root(), long, pools.Config{})),
		"pools: credit":         tree.Credit(node, one),
		"delay: no tasks":       q.Add(long),
		"delay: unknown":        q.Remove(long),
		"quincy: job":           planner.RemoveJob(long),
		"flow: job":             tasks.RemoveJob(long),
		"flow: task":            tasks.Add("t", flow.Task[string]{Job: long, Need: one}, now),
		"flow: unknown task":    tasks.Done(long),
		"locality: set":         a.Set(9, long, values[0]),
		"locality: unset":       a.Unset(9, long),
		"locality: attribute":   a.Set(1, long, values[0]),
		"locality: text":        a.Set(1, "a", locality.Text(long)),
		"locality: predicate":   err(a.Register(locality.OneOf("a", append(values, locality.Number(1))...))),
		"locality: nothing":     err(a.Register(locality.OneOf(long))),
		"locality: levels":      err(locality.New(locality.Config{Levels: many})),
		"locality: cycle":       err(locality.New(locality.Config{Levels: []string{"node", "rack", "any"}, Parents: ring})),
		"locality: groups":      topology.Add(1, many...),
		"resources: parse":      err((*resources.Space)(nil).Parse(long)),
		"resources: name":       err(resources.NewSpace(resources.Dimension{Name: long})),
	} {
		require.Error(t, err, what)
		require.Less(t, len(err.Error()), 800, "%s: %.300s", what, err)
	}
}
