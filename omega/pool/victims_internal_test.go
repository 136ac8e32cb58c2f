package pool

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/cellsched/cellsched/omega"
	"github.com/cellsched/cellsched/resources"
)

// call is one step of a script. Its numbers select what it is about.
type call struct{ Kind, A, B, C int }

// world is a pool under test with its tenants and tasks.
type world struct {
	p       *Pool
	tenants []*Tenant // not groups
	all     []*Tenant
	tasks   []*heldTask
	added   int
}

type heldTask struct {
	state  string
	lease  Lease
	finish chan struct{}
	stop   context.CancelFunc
}

func newWorld(t *testing.T) *world {
	t.Helper()
	cfg := Config{Patience: -1}
	for i, c := range []int64{6, 4, 5} {
		cfg.Machines = append(cfg.Machines, omega.Machine{Name: fmt.Sprint("m", i), Capacity: resources.Vector{c, c}})
	}
	p, err := New(cfg)
	require.NoError(t, err)
	w := &world{p: p, added: len(cfg.Machines)}
	leaf := func(parent *Tenant, name string) {
		var n *Tenant
		if parent == nil {
			n, err = p.Tenant(name)
		} else {
			n, err = parent.Tenant(name)
		}
		require.NoError(t, err)
		w.tenants, w.all = append(w.tenants, n), append(w.all, n)
	}
	leaf(nil, "a")
	leaf(nil, "b")
	leaf(nil, "c")
	org, err := p.Tenant("org")
	require.NoError(t, err)
	leaf(org, "x")
	leaf(org, "y")
	team, err := org.Tenant("team")
	require.NoError(t, err)
	leaf(team, "u")
	leaf(team, "v")
	w.all = append(w.all, org, team)
	return w
}

// do makes one call. In a synctest bubble.
func (w *world) do(c call) {
	switch c.Kind {
	case 0, 1, 2: // a task, of one kind or two
		need := resources.Vector{int64(1 + c.B%4), int64(c.C % 3)}
		h := &heldTask{state: "waits", finish: make(chan struct{})}
		ctx, stop := context.WithCancel(context.Background())
		h.stop = stop
		err := w.tenants[c.A%len(w.tenants)].Go(ctx, need, func(_ context.Context, l Lease) error {
			h.state, h.lease = "runs", l
			<-h.finish
			h.state = "done"
			return nil
		})
		if err != nil {
			h.state = "refused"
		}
		w.tasks = append(w.tasks, h)
	case 3, 4, 5:
		var running []*heldTask
		for _, h := range w.tasks {
			if h.state == "runs" {
				running = append(running, h)
			}
		}
		if len(running) > 0 {
			close(running[c.A%len(running)].finish)
		}
	case 6:
		if len(w.tasks) > 0 {
			if h := w.tasks[c.A%len(w.tasks)]; h.state == "runs" {
				need := h.lease.Need()
				need[0] = max(1, need[0]-1)
				_ = h.lease.Resize(need)
			}
		}
	case 7, 8: // guarantees that add up to too much are refused
		n := w.all[c.A%len(w.all)]
		_ = n.Set(Settings{
			Guarantee: resources.Vector{int64(c.B % 7), int64(c.C % 5)}, Priority: c.B / 7 % 3, Strict: c.C%2 == 0,
		})
	case 9:
		_ = w.p.ResizeMachine(fmt.Sprint("m", c.A%w.added), resources.Vector{int64(c.B % 8), int64(c.C % 8)})
	case 10:
		_ = w.p.DrainMachine(fmt.Sprint("m", c.A%w.added), c.B%2 == 0)
	case 11:
		if c.A%4 == 0 {
			_ = w.p.RemoveMachine(fmt.Sprint("m", c.B%w.added))
		} else if _, err := w.p.AddMachine(omega.Machine{Name: fmt.Sprint("m", w.added), Capacity: resources.Vector{3, 3}}); err == nil {
			w.added++
		}
	case 12, 13: // a limit, a rate, or none of them
		n := w.all[c.A%len(w.all)]
		s := n.Settings()
		s.Limit, s.Limited, s.Rate, s.Burst = resources.Vector{}, false, 0, 0
		if c.B%3 > 0 {
			s.Limit, s.Limited = resources.Vector{int64(1 + c.B%9), int64(1 + c.C%9)}, true
		}
		if c.C%4 == 0 {
			// Each tenant has a rate of its own: the timers of two with tokens at the same
			// instant fire in any order, and next fit then places their tasks otherwise.
			s.Rate, s.Burst = 0.5+0.0137*float64(c.A%len(w.all)), 1+c.C/4%3
		}
		_ = n.Set(s)
	case 14, 15:
		w.request(c)
	case 16:
		time.Sleep(time.Duration(c.A%5) * time.Second / 2)
	}
	synctest.Wait()
}

// request asks for one need or several, with a priority.
func (w *world) request(c call) {
	r := Request{Needs: []resources.Vector{{int64(1 + c.B%3), int64(c.C % 2)}}, Priority: c.B % 3}
	for range c.C % 3 {
		r.Needs = append(r.Needs, resources.Vector{int64(1 + c.B%2), int64(c.C % 3)})
	}
	h := &heldTask{state: "waits", finish: make(chan struct{})}
	ctx, stop := context.WithCancel(context.Background())
	h.stop = stop
	go func() {
		leases, err := w.tenants[c.A%len(w.tenants)].Request(ctx, r)
		if err != nil {
			h.state = "refused"
			return
		}
		h.state, h.lease = "runs", leases[0]
		<-h.finish
		for _, l := range leases {
			_ = l.Release()
		}
		h.state = "done"
	}()
	w.tasks = append(w.tasks, h)
}

// view tells which tasks wait, run and are preempted.
func (w *world) view() (all []string) {
	for _, h := range w.tasks {
		text := h.state
		if h.state == "runs" {
			v := h.lease.view()
			text = fmt.Sprintf("runs on %d, preempted %v", v.node, v.preempted)
		}
		all = append(all, text)
	}
	w.p.mu.Lock()
	defer w.p.mu.Unlock()
	for _, o := range w.p.promises.list {
		all = append(all, fmt.Sprintf("%s is owed %v on %v", o.tenant.name, o.need, o.kept.nodes))
	}
	return all
}

func (w *world) end() {
	var left []*heldTask
	for _, h := range w.tasks {
		if h.state == "waits" || h.state == "runs" {
			left = append(left, h)
		}
	}
	for _, h := range left { // which may start others of them
		h.stop()
		close(h.finish)
	}
	for _, n := range w.all {
		_ = n.Set(Settings{})
	}
	for range w.tasks {
		synctest.Wait()
	}
	w.p.mu.Lock()
	w.p.serving.dispatch() // drops the tasks with ended contexts
	w.p.crew.launch()
	w.p.mu.Unlock()
	_ = w.p.Close(context.Background())
}

// The index that follows each change finds the same as a search of all leases, and
// what it remembers hides no request that could be served.
func TestVictims_FromTheIndexAreThoseOfASearch(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		small := rapid.IntRange(0, 41)
		script := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) call {
			return call{rapid.IntRange(0, 16).Draw(t, "kind"), small.Draw(t, "a"), small.Draw(t, "b"), small.Draw(t, "c")}
		}), 10, 80).Draw(rt, "script")
		if rapid.Bool().Draw(rt, "guarantees at several depths") {
			script = append([]call{{7, 7, 6, 3}, {7, 8, 4, 2}, {7, 3, 1, 1}, {7, 5, 2, 1}, {7, 6, 1, 1}, {7, 0, 5, 2}, {7, 1, 2, 1}}, script...)
		}
		var failed error
		synctest.Test(t, func(t *testing.T) {
			a, b := newWorld(t), newWorld(t)
			defer b.end()
			defer a.end()
			for i, c := range script {
				a.do(c)
				b.p.mu.Lock()
				b.p.search.index = nil // looks at all anew
				b.p.mu.Unlock()
				b.do(c)
				if x, y := a.view(), b.view(); !slices.Equal(x, y) {
					failed = fmt.Errorf("step %d, %+v:\n%v\nwith an index that is made anew\n%v", i, c, x, y)
					return
				}
				if failed = a.p.checkPromises(); failed == nil {
					failed = a.compare()
				}
				if failed != nil {
					failed = fmt.Errorf("step %d, %+v: %w", i, c, failed)
					return
				}
			}
		})
		if failed != nil {
			rt.Fatal(failed)
		}
	})
}

// compare compares the index with the reference for each guarantee and some needs.
func (w *world) compare() error {
	p := w.p
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, g := range p.tenants.guaranteed {
		known := p.search.use(p.promises.list).looks[g]
		p.search.use(p.promises.list).refresh(known)
		for t := range g.below() {
			for _, need := range []resources.Vector{{1}, {3}, {2, 1}, {0, 2}, {5, 3}} {
				ask := &waiter{tenant: t, need: need}
				node := -1
				nodes, got := p.search.victims(ask, g, &look{of: g}, nil)
				if nodes != nil {
					node = int(nodes[0])
				}
				other, want := p.searched(ask, g)
				if node != other || len(got) != len(want) {
					return fmt.Errorf("%v of %s for %s: machine %d with %d victims, want %d with %d", need, t.name, g.name, node, len(got), other, len(want))
				}
				if known.hopeless(&need) && node >= 0 {
					return fmt.Errorf("%v of %s for %s: the index says that it is hopeless, and there is room on %d", need, t.name, g.name, node)
				}
				if node < 0 {
					known.fail(&need) // to be remembered for the next steps
				}
				for i := range got {
					if got[i].slot != want[i].slot || got[i].owed != want[i].owed || got[i].owed != nil && got[i].order != want[i].order {
						return fmt.Errorf("%v of %s for %s: victim %d is %+v, want %+v", need, t.name, g.name, i, got[i], want[i])
					}
				}
			}
		}
	}
	return nil
}
