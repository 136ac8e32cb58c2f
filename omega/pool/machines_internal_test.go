package pool

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/cellsched/cellsched/locality"
	"github.com/cellsched/cellsched/omega"
	"github.com/cellsched/cellsched/resources"
)

// When a machine shrinks, drains, goes or comes, the requests that fail are those
// which the machines could not hold if they were empty, and no others.
func TestMachines_ChangesRefuseTheRequestsThatAreImpossible(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		amount := rapid.Int64Range(0, 5)
		vector := rapid.Custom(func(t *rapid.T) resources.Vector {
			return resources.Vector{amount.Draw(t, "x"), amount.Draw(t, "y")}
		})
		capacities := rapid.SliceOfN(vector, 1, 5).Draw(rt, "capacities")
		requests := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) Request {
			r := Request{Needs: rapid.SliceOfN(vector, 1, 3).Draw(t, "needs")}
			if rapid.IntRange(0, 2).Draw(t, "prefers") == 0 {
				r.Prefer = []locality.Node{locality.Node(rapid.IntRange(0, len(capacities)-1).Draw(t, "node"))}
				r.Required = rapid.Bool().Draw(t, "required")
			}
			return r
		}), 1, 12).Draw(rt, "requests")
		kinds := rapid.SliceOfN(rapid.IntRange(0, 3), 1, 6).Draw(rt, "changes")
		to := rapid.SliceOfN(vector, 6, 6).Draw(rt, "to")
		at := rapid.SliceOfN(rapid.IntRange(0, 9), 6, 6).Draw(rt, "at")
		var failed error
		synctest.Test(t, func(t *testing.T) {
			cfg := Config{Patience: -1}
			for i, c := range capacities {
				cfg.Machines = append(cfg.Machines, omega.Machine{Name: fmt.Sprint("m", i), Capacity: c})
			}
			p, err := New(cfg)
			if err != nil {
				return // no capacity
			}
			for i := range capacities { // tenants wait behind these
				if capacities[i] != (resources.Vector{}) {
					_, ok := p.TryAcquire("holder", capacities[i])
					require.True(t, ok)
				}
			}
			ctx, cancel := context.WithCancel(context.Background())
			errs := make([]error, len(requests))
			for i := range requests {
				n, err := p.Tenant(fmt.Sprint("t", i%3))
				require.NoError(t, err)
				go func() { _, errs[i] = n.Request(ctx, requests[i]) }()
				synctest.Wait()
			}
			clear(errs) // of requests that were refused at once
			for i, kind := range kinds {
				possible := make(map[*waiter]bool)
				name := fmt.Sprint("m", at[i]%len(capacities))
				switch kind {
				case 0, 1:
					_ = p.ResizeMachine(name, to[i])
				case 2:
					_ = p.DrainMachine(name, true)
				case 3:
					_, _ = p.AddMachine(omega.Machine{Name: fmt.Sprint("new", i), Capacity: to[i]})
				}
				synctest.Wait()
				p.mu.Lock()
				for n := range p.tenants.all() {
					for w := n.first; w != nil; w = w.next {
						possible[w] = p.placement.empty(w) != nil
					}
				}
				for w, ok := range possible {
					if !ok && failed == nil {
						failed = fmt.Errorf("change %d of %s: %v waits although no machine could hold it", i, name, w.need)
					}
				}
				p.mu.Unlock()
				for j, err := range errs {
					if err == nil {
						continue
					}
					require.ErrorIs(t, err, ErrNeed)
					errs[j] = nil
					w := &waiter{tenant: p.tenants.byName["t0"], need: requests[j].Needs[0]}
					p.mu.Lock()
					if len(requests[j].Needs) == 1 && !requests[j].Required && w.need.Check() == nil && w.need != (resources.Vector{}) && p.placement.empty(w) != nil && failed == nil {
						failed = fmt.Errorf("change %d of %s: %v was refused although a machine could hold it: %w", i, name, w.need, err)
					}
					p.mu.Unlock()
				}
			}
			cancel()
			synctest.Wait()
		})
		if failed != nil {
			rt.Fatal(failed)
		}
	})
}

func TestMachines_ARefusalOfARequestThatWaitsNamesNeedAndTenant(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, err := New(Config{Machines: []omega.Machine{{Name: "m", Capacity: resources.Vector{4000}}}, Space: mustHost(t)})
		require.NoError(t, err)
		_, ok := p.TryAcquire("a", resources.Vector{4000})
		require.True(t, ok)
		failed := make(chan error, 1)
		go func() {
			_, err := p.Acquire(context.Background(), "b", resources.Vector{3000})
			failed <- err
		}()
		synctest.Wait()
		require.NoError(t, p.ResizeMachine("m", resources.Vector{2000}))
		err = <-failed
		require.ErrorIs(t, err, ErrNeed)
		require.EqualError(t, err, `pool: request of "b": cpu=3, no machine has as much any more: need can never be met`)
	})
}

func mustHost(t *testing.T) *resources.Space {
	t.Helper()
	h, err := resources.Host()
	require.NoError(t, err)
	return h.Space
}
