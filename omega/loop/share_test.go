package loop_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"math/big"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/cellsched/cellsched/drf"
	"github.com/cellsched/cellsched/internal/niltest"
	"github.com/cellsched/cellsched/omega"
	"github.com/cellsched/cellsched/omega/loop"
	"github.com/cellsched/cellsched/resources"
)

// books are the usages of accounts, in a test without a cell.
type books map[omega.Account]resources.Vector

var errBooks = errors.New("no such account")

func (b books) usage(a omega.Account) (resources.Vector, error) {
	v, ok := b[a]
	if !ok {
		return resources.Vector{7, 7}, errBooks
	}
	return v, nil
}

// dominant is the definition of a weighted dominant share.
func dominant(held, total resources.Vector, weight float64) *big.Rat {
	most := new(big.Rat)
	for k := range total {
		if total[k] > 0 {
			if r := big.NewRat(held[k], total[k]); r.Cmp(most) > 0 {
				most = r
			}
		}
	}
	return most.Quo(most, new(big.Rat).SetFloat64(weight))
}

// Next returns a job of the account with the least share by the definition: of equal
// ones, that which had its turn longest ago.
func TestByShare_AgreesWithTheDefinition(t *testing.T) {
	store := omega.Local{Scheduler: register(t, newCell(t, 1), "s")}
	rapid.Check(t, func(t *rapid.T) {
		l, err := loop.New(loop.Config[int]{Store: store})
		require.NoError(t, err)
		amount := func(most int64) *rapid.Generator[resources.Vector] {
			return rapid.Custom(func(t *rapid.T) resources.Vector {
				return resources.Vector{rapid.Int64Range(0, most).Draw(t, "0"), 0, rapid.Int64Range(0, most).Draw(t, "2")}
			})
		}
		accounts := rapid.Map(rapid.IntRange(0, 4), func(i int) omega.Account { return omega.Account(i) })
		total := resources.Vector{5, 0, 9}
		held := books{}
		order, err := loop.NewByShare[int](total, held.usage)
		require.NoError(t, err)
		weights := map[omega.Account]float64{}
		turns, turn := map[omega.Account]int{}, 0 // when each had its turn, or came
		var in, out []*loop.Pending[int]
		come := func(a omega.Account) {
			if _, ok := weights[a]; !ok {
				turn++
				weights[a], turns[a] = 1, turn
			}
		}
		push := func(p *loop.Pending[int]) {
			come(p.Job().Account)
			order.Push(p)
			in = append(in, p)
		}
		t.Repeat(map[string]func(*rapid.T){
			"submit": func(t *rapid.T) {
				p, err := l.Submit(epoch, loop.Job[int]{
					Key: len(in) + len(out), Tasks: 1, Need: resources.Vector{1}, Account: accounts.Draw(t, "account"),
					Precedence: omega.Precedence(rapid.IntRange(0, 1).Draw(t, "precedence")),
				})
				require.NoError(t, err)
				push(p)
			},
			"back": func(t *rapid.T) {
				if len(out) > 0 {
					i := rapid.IntRange(0, len(out)-1).Draw(t, "which")
					p := out[i]
					out = slices.Delete(out, i, i+1)
					push(p)
				}
			},
			"hold": func(t *rapid.T) {
				held[accounts.Draw(t, "account")] = amount(6).Draw(t, "held")
				order.Advance(epoch)
			},
			"weigh": func(t *rapid.T) {
				a, w := accounts.Draw(t, "account"), rapid.SampledFrom([]float64{0.5, 1, 3}).Draw(t, "weight")
				come(a)
				weights[a] = w
				require.NoError(t, order.SetWeight(a, w))
			},
			"total": func(t *rapid.T) {
				if v := amount(9).Draw(t, "total"); v != (resources.Vector{}) {
					total = v
					require.NoError(t, order.SetTotal(v))
				}
			},
			"next": func(t *rapid.T) {
				if len(in) == 0 {
					require.Nil(t, order.Next())
					return
				}
				slices.SortFunc(in, func(p, q *loop.Pending[int]) int {
					a, b := p.Job().Account, q.Job().Account
					return cmp.Or(dominant(held[a], total, weights[a]).Cmp(dominant(held[b], total, weights[b])), turns[a]-turns[b],
						int(q.Job().Precedence-p.Job().Precedence), p.Job().Key-q.Job().Key)
				})
				require.Same(t, in[0], order.Next())
				turn++
				turns[in[0].Job().Account] = turn
				in, out = in[1:], append(out, in[0])
			},
		})
	})
}

// In a full cell, the account with the least share gets the room that appears, though the
// jobs of the other one came first. So it does when another scheduler has placed the
// other's allocations.
func TestByShare_DecidesInAFullCell(t *testing.T) {
	cell := newCell(t, 4)
	a, b := accountOf(cell, "a"), accountOf(cell, "b")
	order, err := loop.NewByShare[string](resources.Vector{4}, cell.Usage)
	require.NoError(t, err)
	r := newRig(t, cell, loop.Config[string]{Order: order, MinDelay: at(10).Sub(epoch), MaxDelay: at(10).Sub(epoch)})
	other := register(t, cell, "other")
	ids := make([]omega.AllocationID, 4)
	for i := range ids {
		var tx omega.Txn
		m, _ := cell.Machine("m0")
		tx.Claim(omega.Claim{Machine: m, Account: a, Need: resources.Vector{1}})
		_, err := other.Commit(&tx)
		require.NoError(t, err)
		ids[i], _ = tx.Allocation(0)
	}
	for i := range 6 {
		j := job(fmt.Sprint("ab"[i/3:i/3+1], i%3), 1, 1)
		j.Account = []omega.Account{a, b}[i/3]
		r.submit(t, epoch, j)
	}
	r.settle(t, epoch)
	var got []string
	for n, id := range ids {
		require.NoError(t, other.Release(id))
		r.events = nil
		r.Recheck()
		r.settle(t, at(float64(n)))
		for _, e := range r.events {
			if e.Kind == loop.Complete {
				got = append(got, e.Pending.Job().Key)
			}
		}
	}
	// Shares at each turn: 3 to 0, 2 to 1, 1 to 2, and again 1 to 2, as the first of a end.
	require.Equal(t, []string{"b0", "b1", "a0", "a1"}, got)
}

// Of 256 accounts, each is read in each 4 steps of 64, though the one read last in a
// step is served then and leaves, and new ones come.
func TestByShare_ReadsManyAccountsInTurn(t *testing.T) {
	const n = 256
	l, err := loop.New(loop.Config[int]{Store: omega.Local{Scheduler: register(t, newCell(t, 1), "s")}})
	require.NoError(t, err)
	step, reads := 0, 0
	last := map[omega.Account]int{} // the step that read it last
	gone := map[omega.Account]bool{}
	order, err := loop.NewByShare[int](resources.Vector{9}, func(a omega.Account) (resources.Vector, error) {
		last[a] = step
		if reads++; step == 1 && reads == 64 || reads == 65 { // the one served last is read first
			return resources.Vector{}, nil
		}
		return resources.Vector{9}, nil
	})
	require.NoError(t, err)
	submit := func(a int) {
		p, err := l.Submit(epoch, loop.Job[int]{Key: a, Account: omega.Account(a), Tasks: 1, Need: resources.Vector{1}})
		require.NoError(t, err)
		reads = 100 // of no interest
		order.Push(p)
		reads = 0
	}
	for a := range n {
		submit(a)
	}
	for step = 1; step <= n/2; step++ {
		if step > n/4 {
			submit(n + step)
		}
		order.Advance(at(float64(step)))
		reads = 0
		first := order.Next()
		require.Equal(t, 0, step-last[first.Job().Account])
		require.LessOrEqual(t, reads, 65)
		gone[first.Job().Account] = true
		maps.DeleteFunc(last, func(a omega.Account, _ int) bool { return gone[a] })
		for a, read := range last {
			require.LessOrEqual(t, step-read, n/64, "account %d in step %d", a, step)
		}
	}
	before := reads
	require.NotNil(t, order.Next(), "of the same step")
	require.Equal(t, before, reads)
}

// The account that was served is charged at once, however many others are read in turn.
func TestByShare_ReadsTheAccountThatWasServed(t *testing.T) {
	l, err := loop.New(loop.Config[int]{Store: omega.Local{Scheduler: register(t, newCell(t, 1), "s")}})
	require.NoError(t, err)
	held := books{0: {1}}
	for a := range omega.Account(1000) {
		held[a+1] = resources.Vector{2}
	}
	order, err := loop.NewByShare[int](resources.Vector{9}, held.usage)
	require.NoError(t, err)
	for a := range 2000 {
		p, err := l.Submit(epoch, loop.Job[int]{Account: omega.Account(a % 1000), Tasks: 1, Need: resources.Vector{1}})
		require.NoError(t, err)
		order.Push(p)
	}
	order.Advance(epoch)
	require.Zero(t, order.Next().Job().Account)
	held[0] = resources.Vector{3}
	order.Advance(epoch)
	require.NotZero(t, order.Next().Job().Account)
}

func TestByShare_RefusesBadInput(t *testing.T) {
	_, err := loop.NewByShare[int](resources.Vector{1}, nil)
	require.ErrorIs(t, err, resources.ErrNil)
	_, err = loop.NewByShare[int](resources.Vector{}, books{}.usage)
	require.ErrorIs(t, err, drf.ErrEmpty)
	require.Regexp(t, `^loop: order by share: `, err)
	order, err := loop.NewByShare[int](resources.Vector{1}, books{}.usage)
	require.NoError(t, err)
	require.ErrorIs(t, order.SetTotal(resources.Vector{-1}), resources.ErrQuantity)
	err = order.SetWeight(3, math.NaN())
	require.ErrorIs(t, err, drf.ErrWeight)
	require.Regexp(t, `^loop: weight of account 3: `, err)
	store := omega.Local{Scheduler: register(t, newCell(t, 1), "s")}
	for _, order := range []*loop.ByShare[int]{nil, {}} {
		niltest.Methods(t, order, resources.ErrNil, nil)
		_, err = loop.New(loop.Config[int]{Store: store, Order: order})
		require.ErrorIs(t, err, loop.ErrConfig)
		require.EqualError(t, err, "loop: invalid configuration: Order is a *loop.ByShare[int] that no constructor has made")
	}
}

// The example of the paper: 9 CPUs and 18 GB, tasks of 1 CPU and 4 GB, and of 3 CPUs
// and 1 GB. The order needs to be told of no release.
func ExampleByShare() {
	total := resources.Vector{9, 18}
	cell, _ := omega.NewCell(omega.Config{Machines: []omega.Machine{{Name: "node", Capacity: total}}})
	s, _ := cell.Register("batch", omega.Limits{})
	order, err := loop.NewByShare[string](total, cell.Usage)
	if err != nil {
		panic(err)
	}
	l, err := loop.New(loop.Config[string]{
		Store: omega.Local{Scheduler: s},
		Order: order,
		Observe: func(e loop.Event[string]) {
			if e.Kind == loop.Placed {
				fmt.Println(e.Pending.Job().Key)
			}
		},
	})
	if err != nil {
		panic(err)
	}
	a, _ := cell.Account(context.Background(), "a")
	b, _ := cell.Account(context.Background(), "b")
	for range 4 {
		_, _ = l.Submit(epoch, loop.Job[string]{Key: "a", Account: a, Need: resources.Vector{1, 4}, Tasks: 1})
	}
	for range 4 {
		_, _ = l.Submit(epoch, loop.Job[string]{Key: "b", Account: b, Need: resources.Vector{3, 1}, Tasks: 1})
	}
	for range 5 {
		_, _, _ = l.Step(context.Background(), epoch)
	}
	// Output:
	// a
	// b
	// a
	// b
	// a
}
