package loop_test

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/cellsched/cellsched/drf/pools"
	"github.com/cellsched/cellsched/omega"
	"github.com/cellsched/cellsched/omega/loop"
	"github.com/cellsched/cellsched/resources"
)

// forest is a tree of pools over one kind, with an order by it.
type forest struct {
	*loop.ByPools[string]
	tree *pools.Tree[string]
	cell *omega.Cell
}

func newForest(tb testing.TB, cell *omega.Cell, total int64) *forest {
	tb.Helper()
	tree, err := pools.New[string](resources.Vector{total}, nil)
	require.NoError(tb, err)
	order, err := loop.NewByPools[string](tree, cell.Usage)
	require.NoError(tb, err)
	return &forest{order, tree, cell}
}

// leaf adds an account below a pool.
func (f *forest) leaf(tb testing.TB, pool pools.Node, name string, cfg pools.Config) omega.Account {
	tb.Helper()
	node, err := f.tree.AddJob(pool, name, cfg)
	require.NoError(tb, err)
	a := accountOf(f.cell, name)
	require.NoError(tb, f.SetLeaf(a, node))
	return a
}

func at1(most int64) *resources.Vector { return &resources.Vector{most} }

// charged returns a job of one kind for an account.
func charged(key string, a omega.Account, tasks int, need int64) loop.Job[string] {
	j := job(key, tasks, need)
	j.Account = a
	return j
}

// Pools share the cell by weight, and what they get their accounts share.
func TestByPools_SharesByPoolsAndThenWithin(t *testing.T) {
	cell := newCell(t, 12)
	f := newForest(t, cell, 12)
	eng, err := f.tree.AddPool(f.tree.Root(), "eng", pools.Config{Weight: 2})
	require.NoError(t, err)
	a, b := f.leaf(t, eng, "a", pools.Config{}), f.leaf(t, eng, "b", pools.Config{})
	c := f.leaf(t, f.tree.Root(), "c", pools.Config{})
	r := newRig(t, cell, loop.Config[string]{Order: f})
	for i := range 12 {
		for _, account := range []omega.Account{a, b, c} {
			r.submit(t, epoch, charged(fmt.Sprint(account, i), account, 1, 1))
		}
	}
	r.settle(t, epoch)
	for account, want := range map[omega.Account]int64{a: 4, b: 4, c: 4} {
		held, err := cell.Usage(account)
		require.NoError(t, err)
		require.Equal(t, want, held[0])
	}
}

// What would exceed a maximum share is held back, however much room there is, and a turn
// is for no more tasks than the share leaves. What is released lets more go.
func TestByPools_HoldsBackWhatExceedsAMaximumShare(t *testing.T) {
	cell := newCell(t, 100)
	f := newForest(t, cell, 100)
	pool, err := f.tree.AddPool(f.tree.Root(), "pool", pools.Config{Max: at1(10)})
	require.NoError(t, err)
	b := f.leaf(t, pool, "b", pools.Config{Max: at1(4)})
	a := f.leaf(t, pool, "a", pools.Config{})
	r := newRig(t, cell, loop.Config[string]{Order: f})
	r.submit(t, epoch, charged("b", b, 9, 2))
	r.submit(t, epoch, charged("a", a, 9, 3))
	require.Equal(t, at(1), r.settle(t, epoch), "it is asked again every Recheck")
	require.Len(t, r.held["b"], 2)
	require.Len(t, r.held["a"], 2)
	require.Equal(t, []string{"b submitted", "a submitted", "b placed 2", "a placed 2"}, r.log(), "no attempt fails")

	require.NoError(t, r.sched.Release(r.held["a"][0]))
	r.settle(t, at(1))
	require.Equal(t, []string{"a placed 1"}, r.log())
	require.NoError(t, f.tree.SetLimits(pool, resources.Vector{}, nil))
	r.settle(t, at(2))
	require.Equal(t, []string{"a placed 6", "a complete"}, r.log())
}

// Run sleeps while jobs are held back, and goes on when another scheduler releases what
// one of the accounts holds, wherever that is.
func TestByPools_IsWokenWhenHeldBackJobsMayGo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cell := newCell(t, 100, 1)
		f := newForest(t, cell, 101)
		a := f.leaf(t, f.tree.Root(), "a", pools.Config{Max: at1(10)})
		other := register(t, cell, "other")
		m1, _ := cell.Machine("m1")
		var tx omega.Txn
		tx.Claim(omega.Claim{Machine: m1, Need: resources.Vector{1}, Account: a})
		_, err := other.Commit(&tx)
		require.NoError(t, err)
		small, _ := tx.Allocation(0)
		ctx, cancel := context.WithCancel(t.Context())
		start := time.Now()
		var done time.Duration
		r := newRig(t, cell, loop.Config[string]{Order: f, Recheck: time.Hour, Observe: func(e loop.Event[string]) {
			if e.Kind == loop.Placed {
				done = e.At.Sub(start)
				cancel()
			}
		}})
		r.submit(t, start, charged("j", a, 1, 10))
		time.AfterFunc(time.Minute, func() { require.NoError(t, other.Release(small)) })
		require.ErrorIs(t, r.Run(ctx), context.Canceled)
		require.Equal(t, time.Minute, done, "not at the end of Recheck: the machine is too small for the job")
	})
}

// A job that its maximum share never allows, and one that was cancelled, hold up no
// others of their account.
func TestByPools_OneThatCannotGoHoldsUpNoOthers(t *testing.T) {
	cell := newCell(t, 100)
	f := newForest(t, cell, 100)
	a := f.leaf(t, f.tree.Root(), "a", pools.Config{Max: at1(4)})
	r := newRig(t, cell, loop.Config[string]{Order: f})
	large := r.submit(t, epoch, charged("large", a, 1, 5))
	gang := charged("gang", a, 3, 2)
	gang.Gang = true
	r.submit(t, epoch, gang)
	first := r.submit(t, epoch, charged("first", a, 1, 3))
	waits := r.submit(t, epoch, charged("waits", a, 1, 2))
	r.submit(t, epoch, charged("small", a, 1, 1))
	r.settle(t, epoch)
	require.Len(t, r.held["first"], 1)
	require.Empty(t, r.held["small"])
	r.Cancel(waits)
	r.settle(t, epoch)
	require.Len(t, r.held["small"], 1, "behind one that was cancelled")
	require.False(t, large.Done() || !first.Done())
	leaf, _ := f.tree.Node("a")
	require.NoError(t, f.tree.SetLimits(leaf, resources.Vector{}, at1(10)))
	r.settle(t, at(1))
	require.Len(t, r.held["large"], 1)
	require.Empty(t, r.held["gang"], "1, 3 and 5 leave 1")
}

// Jobs of accounts that are in no pool come last; what is larger than the total is parked
// as in any order.
func TestByPools_AccountsWithoutALeafComeLast(t *testing.T) {
	cell := newCell(t, 2)
	f := newForest(t, cell, 2)
	a := f.leaf(t, f.tree.Root(), "a", pools.Config{})
	r := newRig(t, cell, loop.Config[string]{Order: f})
	r.submit(t, epoch, charged("stranger", accountOf(cell, "x"), 1, 1))
	r.submit(t, epoch, charged("huge", a, 1, 3))
	r.submit(t, epoch, charged("a", a, 1, 1))
	r.settle(t, epoch)
	require.Equal(t, []string{
		"stranger submitted", "huge submitted", "a submitted", "a placed 1", "a complete",
		"stranger placed 1", "stranger complete", "huge parked",
	}, r.log())
}

// Whatever is submitted and released: no pool exceeds its maximum share, and every job
// that fits below the shares goes in the end.
func TestByPools_KeepsEveryMaximumShare(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		cell := newCell(t, 5, 5, 5)
		f := newForest(t, cell, 15)
		most := map[string]int64{}
		limited := func(name string) pools.Config {
			most[name] = rapid.Int64Range(2, 16).Draw(rt, name)
			return pools.Config{Max: at1(most[name]), Weight: rapid.Float64Range(0.5, 2).Draw(rt, "weight")}
		}
		var accounts []omega.Account
		below := map[string][]string{}
		for _, pool := range []string{"p", "q"} {
			node, err := f.tree.AddPool(f.tree.Root(), pool, limited(pool))
			require.NoError(rt, err)
			for i := range 2 {
				name := fmt.Sprint(pool, i)
				below[pool] = append(below[pool], name)
				below[name] = []string{name}
				accounts = append(accounts, f.leaf(t, node, name, limited(name)))
			}
		}
		var held []omega.AllocationID
		r := newRig(t, cell, loop.Config[string]{Order: f, MinDelay: time.Second, Observe: func(e loop.Event[string]) {
			held = append(held, e.Allocations...)
			for name, leaves := range below {
				sum := int64(0)
				for _, leaf := range leaves {
					v, _ := cell.Usage(accountOf(cell, leaf))
					sum += v[0]
				}
				require.LessOrEqual(rt, sum, most[name], name)
			}
		}})
		var all []*loop.Pending[string]
		now := epoch
		rt.Repeat(map[string]func(*rapid.T){
			"submit": func(rt *rapid.T) {
				j := charged("j", rapid.SampledFrom(accounts).Draw(rt, "account"),
					rapid.IntRange(1, 4).Draw(rt, "tasks"), rapid.Int64Range(1, 2).Draw(rt, "need"))
				all = append(all, r.submit(t, now, j))
			},
			"release": func(rt *rapid.T) {
				if len(held) > 0 {
					i := rapid.IntRange(0, len(held)-1).Draw(rt, "i")
					require.NoError(rt, r.sched.Release(held[i]))
					held = slices.Delete(held, i, i+1)
				}
			},
			"": func(*rapid.T) {
				now = now.Add(time.Second)
				r.settle(t, now)
			},
		})
		for range 1000 {
			for _, a := range held {
				require.NoError(rt, r.sched.Release(a))
			}
			held = nil
			now = now.Add(time.Second)
			r.settle(t, now)
		}
		for _, p := range all {
			require.True(rt, p.Done())
		}
	})
}

func TestByPools_RefusesBadInput(t *testing.T) {
	cell := newCell(t, 1)
	_, err := loop.NewByPools[string]((*pools.Tree[string])(nil), cell.Usage)
	require.ErrorIs(t, err, resources.ErrNil)
	_, err = loop.NewByPools[string](new(pools.Tree[string]), cell.Usage)
	require.ErrorIs(t, err, resources.ErrNil)
	f := newForest(t, cell, 1)
	_, err = loop.NewByPools[string](f.tree, nil)
	require.ErrorIs(t, err, resources.ErrNil)
	f.leaf(t, f.tree.Root(), "a", pools.Config{})
	leaf, _ := f.tree.Node("a")
	require.ErrorIs(t, f.SetLeaf(7, leaf), loop.ErrConfig)
	require.ErrorIs(t, f.SetLeaf(7, f.tree.Root()), pools.ErrNode)
	_, err = loop.New(loop.Config[string]{Store: omega.Local{Scheduler: register(t, cell, "s")}, Order: new(loop.ByPools[string])})
	require.ErrorIs(t, err, loop.ErrConfig)
	zero := new(loop.ByPools[string])
	require.NotPanics(t, func() { zero.Push(nil); zero.Next(); zero.Advance(epoch); zero.Held(epoch, nil) })
	require.ErrorIs(t, zero.SetLeaf(1, leaf), resources.ErrNil)
}

// Batch work may use half of the cell; a job of it is held back until some of that is
// released, and service work goes on meanwhile.
func ExampleByPools() {
	cell, s := exampleCell()
	tree, _ := pools.New[string](resources.Vector{8}, nil)
	half := resources.Vector{4}
	batch, _ := tree.AddJob(tree.Root(), "batch", pools.Config{Max: &half})
	service, _ := tree.AddJob(tree.Root(), "service", pools.Config{})
	order, err := loop.NewByPools[string](tree, cell.Usage)
	if err != nil {
		panic(err)
	}
	accounts := map[string]omega.Account{}
	for name, leaf := range map[string]pools.Node{"batch": batch, "service": service} {
		accounts[name], _ = cell.Account(context.Background(), name)
		_ = order.SetLeaf(accounts[name], leaf)
	}
	l, _ := loop.New(loop.Config[string]{
		Store: omega.Local{Scheduler: s},
		Order: order,
		Observe: func(e loop.Event[string]) {
			if e.Kind == loop.Placed {
				fmt.Println(e.Pending.Job().Key, len(e.Allocations), "of", e.Pending.Job().Tasks)
			}
		},
	})
	_, _ = l.Submit(epoch, loop.Job[string]{Key: "index", Account: accounts["batch"], Need: resources.Vector{1}, Tasks: 6})
	_, _ = l.Submit(epoch, loop.Job[string]{Key: "web", Account: accounts["service"], Need: resources.Vector{2}, Tasks: 2})
	for now, more := epoch, true; more && now.Equal(epoch); {
		now, more, _ = l.Step(context.Background(), now)
	}
	// Output:
	// index 4 of 6
	// web 2 of 2
}
