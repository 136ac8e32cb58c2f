package loop_test

import (
	"context"
	"fmt"
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/cellsched/cellsched/drf"
	"github.com/cellsched/cellsched/internal/niltest"
	"github.com/cellsched/cellsched/omega"
	"github.com/cellsched/cellsched/omega/loop"
	"github.com/cellsched/cellsched/resources"
)

// floor is a cell in virtual time on which tenants always have jobs that wait.
type floor struct {
	*rig
	now      float64
	accounts []omega.Account
	until    map[omega.AllocationID]float64 // when a task ends
	account  map[omega.AllocationID]int
	received []float64 // slots × seconds by tenant
}

// tick goes on to the end of the next task: service is received, the slot becomes free,
// and the loop is stepped.
func (f *floor) tick(tb testing.TB) {
	tb.Helper()
	end := math.Inf(1)
	for _, u := range f.until {
		end = min(end, u)
	}
	for id := range f.until {
		f.received[f.account[id]] += end - f.now
	}
	f.now = end
	for id, u := range f.until {
		if u == end {
			require.NoError(tb, f.sched.Release(id))
			delete(f.until, id)
		}
	}
	f.Recheck()
	f.settle(tb, at(f.now))
}

// Where more tenants wait than there are slots, service by weight is even within what
// tasks of 3 s on all slots make up, and stays so. FIFO goes by the number of jobs.
func TestByService_EvensOutServiceByWeight(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		slots := rapid.IntRange(1, 3).Draw(rt, "slots")
		weights := rapid.SliceOfN(rapid.SampledFrom([]float64{1, 2, 4}), slots+1, 6).Draw(rt, "weights")
		lengths := rapid.SliceOfN(rapid.Float64Range(0.5, 3), 7, 7).Draw(rt, "lengths")
		cell := newCell(t, int64(slots))
		total := resources.Vector{int64(slots)}
		order, err := loop.NewByService[string](total, cell.Usage)
		require.NoError(rt, err)
		f := &floor{until: map[omega.AllocationID]float64{}, account: map[omega.AllocationID]int{}, received: make([]float64, len(weights))}
		n := 0
		again := func(i int) {
			j := job(fmt.Sprint(i), 1, 1)
			j.Account = f.accounts[i]
			f.submit(t, at(f.now), j)
		}
		f.rig = newRig(t, cell, loop.Config[string]{
			Order: order, Attempts: -1, Fruitless: -1, MinDelay: time.Hour, MaxDelay: time.Hour,
			Observe: func(e loop.Event[string]) {
				if e.Kind == loop.Placed {
					var i int
					_, _ = fmt.Sscan(e.Pending.Job().Key, &i)
					id := e.Allocations[0]
					// Tenants have tasks of unlike lengths, longer ones now and then.
					f.until[id] = f.now + lengths[(i+n/5)%len(lengths)]
					f.account[id] = i
					n++
					again(i)
				}
			},
		})
		for i, w := range weights {
			f.accounts = append(f.accounts, accountOf(cell, fmt.Sprint("t", i)))
			require.NoError(rt, order.SetWeight(f.accounts[i], w))
			for range 2 + i {
				again(i)
			}
		}
		f.settle(t, epoch)
		for f.now < 60 {
			f.tick(t)
			least, most := math.Inf(1), 0.0
			for i, w := range weights {
				least, most = min(least, f.received[i]/w), max(most, f.received[i]/w)
			}
			require.LessOrEqual(rt, most-least, 2*3*float64(slots), "at %v: %v by weight %v", f.now, f.received, weights)
		}
		require.NoError(rt, cell.Check())
	})
}

// What another scheduler placed for an account counts as its service, also where many
// accounts are read in turn.
func TestByService_CountsAllThatAnAccountHolds(t *testing.T) {
	cell := newCell(t, 2)
	a, b := accountOf(cell, "a"), accountOf(cell, "b")
	order, err := loop.NewByService[string](resources.Vector{2}, cell.Usage)
	require.NoError(t, err)
	r := newRig(t, cell, loop.Config[string]{Order: order, MinDelay: time.Hour, MaxDelay: time.Hour})
	other := register(t, cell, "other")
	m, _ := cell.Machine("m0")
	var tx omega.Txn
	tx.Claim(omega.Claim{Machine: m, Account: a, Need: resources.Vector{1}})
	tx.Claim(omega.Claim{Machine: m, Need: resources.Vector{1}})
	_, err = other.Commit(&tx)
	require.NoError(t, err)
	for _, j := range []loop.Job[string]{{Key: "a", Account: a}, {Key: "b", Account: b}} {
		j.Tasks, j.Need = 1, resources.Vector{1}
		r.submit(t, epoch, j)
	}
	r.settle(t, epoch)
	first, _ := tx.Allocation(0)
	second, _ := tx.Allocation(1)
	require.NoError(t, other.Release(first)) // a holds nothing now, and has received 9 s
	r.Recheck()
	r.settle(t, at(9))
	require.Len(t, r.held["b"], 1)
	require.Empty(t, r.held["a"])
	require.NoError(t, other.Release(second))
	r.Recheck()
	r.settle(t, at(10))
	require.Len(t, r.held["a"], 1)
}

// Whatever accounts hold of several kinds, and however it changes, an account that
// never held anything goes before those that did.
func TestByService_AnAccountWithoutServiceGoesFirst(t *testing.T) {
	store := omega.Local{Scheduler: register(t, newCell(t, 1), "s")}
	rapid.Check(t, func(t *rapid.T) {
		const accounts = 3
		l, err := loop.New(loop.Config[int]{Store: store})
		require.NoError(t, err)
		total := resources.Vector{8, 5}
		held := books{}
		order, err := loop.NewByService[int](total, held.usage)
		require.NoError(t, err)
		order.Advance(epoch)
		for i := range 2 * accounts { // so that all wait when one has its turn
			p, err := l.Submit(epoch, loop.Job[int]{Account: omega.Account(i % accounts), Tasks: 1, Need: resources.Vector{1}})
			require.NoError(t, err)
			order.Push(p)
		}
		p := order.Next()
		order.Push(p)
		began := map[omega.Account]bool{}
		for second := range rapid.IntRange(1, 12).Draw(t, "changes") {
			a := omega.Account(rapid.IntRange(0, accounts-1).Draw(t, "account"))
			held[a] = resources.Vector{rapid.Int64Range(0, 4).Draw(t, "0"), rapid.Int64Range(0, 4).Draw(t, "1")}
			if held[a] != (resources.Vector{}) {
				began[a] = true
			}
			order.Advance(at(float64(second)))
			order.Push(order.Next())
		}
		clear(held)
		order.Advance(at(100))
		if p := order.Next(); len(began) < accounts {
			require.False(t, began[p.Job().Account])
		}
	})
}

// waiting returns an order of jobs, two for each of so many accounts.
func waiting(t *testing.T, total resources.Vector, held books, accounts int) *loop.ByService[int] {
	t.Helper()
	l, err := loop.New(loop.Config[int]{Store: omega.Local{Scheduler: register(t, newCell(t, 1), "s")}})
	require.NoError(t, err)
	order, err := loop.NewByService[int](total, held.usage)
	require.NoError(t, err)
	order.Advance(epoch)
	for a := range 2 * accounts {
		p, err := l.Submit(epoch, loop.Job[int]{Account: omega.Account(a % accounts), Tasks: 1, Need: resources.Vector{1}})
		require.NoError(t, err)
		order.Push(p)
	}
	return order
}

// An account that releases a part of what it holds receives less from then on.
func TestByService_CountsAPartThatIsReleased(t *testing.T) {
	held := books{0: {4}, 1: {2}}
	order := waiting(t, resources.Vector{8}, held, 2)
	held[0] = resources.Vector{1}
	order.Advance(at(1))
	order.Push(order.Next())
	clear(held)
	order.Advance(at(10)) // 0 has received 4 + 9, 1 has received 20
	require.Zero(t, order.Next().Job().Account)
}

// The account that was served has received something at once, however many others are
// read in turn.
func TestByService_ReadsTheAccountThatWasServed(t *testing.T) {
	held := books{}
	order := waiting(t, resources.Vector{9}, held, 1000)
	require.Zero(t, order.Next().Job().Account)
	held[0] = resources.Vector{3}
	order.Advance(at(1))
	require.NotZero(t, order.Next().Job().Account)
}

// An account with all its jobs backed off holds up no other.
func TestByService_PassesOverAccountsWithoutAJobToGo(t *testing.T) {
	cell := newCell(t, 2)
	order, err := loop.NewByService[string](resources.Vector{2}, cell.Usage)
	require.NoError(t, err)
	r := newRig(t, cell, loop.Config[string]{Order: order, MinDelay: time.Hour, MaxDelay: time.Hour})
	claim(t, register(t, cell, "other"), "m0", cell, 1)
	large, small := job("large", 1, 2), job("small", 1, 1)
	large.Account, small.Account = accountOf(cell, "a"), accountOf(cell, "b")
	r.submit(t, epoch, large)
	r.submit(t, epoch, small)
	require.Equal(t, epoch.Add(time.Hour), r.settle(t, epoch))
	require.Len(t, r.held["small"], 1)
}

// What was received is forgotten when the last job of all has ended, as with a
// drf.FairQueue, and accounts that come back take part again.
func TestByService_ForgetsWhenNothingWaits(t *testing.T) {
	cell := newCell(t, 1)
	order, err := loop.NewByService[string](resources.Vector{1}, cell.Usage)
	require.NoError(t, err)
	r := newRig(t, cell, loop.Config[string]{Order: order, MinDelay: time.Hour, MaxDelay: time.Hour})
	submit := func(now float64, key string) {
		j := job(key, 1, 1)
		j.Account = accountOf(cell, key[:1])
		r.submit(t, at(now), j)
	}
	ended := func(now float64, key string) {
		require.Len(t, r.held[key], 1, key)
		require.NoError(t, r.sched.Release(r.held[key][0]))
		r.Recheck()
		r.settle(t, at(now))
	}
	submit(0, "a1")
	submit(0, "b1")
	submit(0, "c1")
	r.settle(t, epoch)
	ended(10, "a1") // a has received 10 s, as the others waited
	ended(11, "b1")
	ended(12, "c1")
	for round, now := range []float64{100, 200} {
		first, second := fmt.Sprint("a", round+2), fmt.Sprint("b", round+2)
		submit(now, first)
		submit(now, second)
		r.settle(t, at(now))
		ended(now+5, first)
		ended(now+6, second)
	}
}

func TestByService_RefusesBadInput(t *testing.T) {
	_, err := loop.NewByService[int](resources.Vector{1}, nil)
	require.ErrorIs(t, err, resources.ErrNil)
	_, err = loop.NewByService[int](resources.Vector{}, books{}.usage)
	require.ErrorIs(t, err, drf.ErrEmpty)
	require.Regexp(t, `^loop: order by service: `, err)
	order, err := loop.NewByService[int](resources.Vector{1}, books{}.usage)
	require.NoError(t, err)
	require.ErrorIs(t, order.SetTotal(resources.Vector{-1}), resources.ErrQuantity)
	err = order.SetWeight(3, math.NaN())
	require.ErrorIs(t, err, drf.ErrWeight)
	require.Regexp(t, `^loop: weight of account 3: `, err)
	store := omega.Local{Scheduler: register(t, newCell(t, 1), "s")}
	for _, order := range []*loop.ByService[int]{nil, {}} {
		niltest.Methods(t, order, resources.ErrNil, nil)
		_, err = loop.New(loop.Config[int]{Store: store, Order: order})
		require.ErrorIs(t, err, loop.ErrConfig)
	}
}

// Two tenants with weights of 3 and 1 wait for the only machine. Each task takes a
// second.
func ExampleByService() {
	total := resources.Vector{1}
	cell, _ := omega.NewCell(omega.Config{Machines: []omega.Machine{{Name: "node", Capacity: total}}})
	s, _ := cell.Register("batch", omega.Limits{})
	order, err := loop.NewByService[string](total, cell.Usage)
	if err != nil {
		panic(err)
	}
	var running omega.AllocationID
	l, err := loop.New(loop.Config[string]{
		Store: omega.Local{Scheduler: s},
		Order: order,
		Observe: func(e loop.Event[string]) {
			if e.Kind == loop.Placed {
				fmt.Print(e.Pending.Job().Key, " ")
				running = e.Allocations[0]
			}
		},
	})
	if err != nil {
		panic(err)
	}
	for _, tenant := range []struct {
		name   string
		weight float64
	}{{"gold", 3}, {"iron", 1}} {
		account, _ := cell.Account(context.Background(), tenant.name)
		_ = order.SetWeight(account, tenant.weight)
		for range 8 {
			_, _ = l.Submit(epoch, loop.Job[string]{Key: tenant.name, Account: account, Need: total, Tasks: 1})
		}
	}
	for second := range 8 {
		now := at(float64(second))
		if second > 0 {
			_ = s.Release(running) // its second is over
			l.Recheck()
		}
		for next := now; !next.After(now); {
			next, _, _ = l.Step(context.Background(), now)
		}
	}
	// Output:
	// gold iron gold gold iron gold gold gold
}
