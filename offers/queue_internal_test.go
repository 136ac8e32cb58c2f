package offers

import (
	"cmp"
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/cellsched/cellsched/omega"
	"github.com/cellsched/cellsched/resources"
)

// orderly is a queue beside its frameworks, for each of which it notes the turn of its last
// offer.
type orderly struct {
	*queue
	held         map[*account]resources.Vector
	asked        map[*member]uint64
	askedOfRoles map[*role]uint64
	turns        uint64
}

func newOrderly(order, roles Order) *orderly {
	c := &client{cfg: Config{Order: order, Roles: roles}, total: resources.Vector{64, 128}}
	rg, b := newRegistry(c), newAccountBook(c)
	return &orderly{
		queue: newQueue(c, rg, b, &inbox{client: c, registry: rg}),
		held:  make(map[*account]resources.Vector), asked: make(map[*member]uint64), askedOfRoles: make(map[*role]uint64),
	}
}

func (o *orderly) join(t *rapid.T) {
	f := &member{
		name: fmt.Sprint(o.registry.last), sched: new(omega.Scheduler), connected: true, fresh: true,
		reg: Registration{Weight: float64(rapid.IntRange(1, 3).Draw(t, "weight")), Precedence: omega.Precedence(rapid.IntRange(0, 2).Draw(t, "precedence"))},
	}
	o.registry.last++
	f.Seq, f.role = o.registry.last, o.roleOf(rapid.SampledFrom([]string{"", "x", "y"}).Draw(t, "role"))
	f.role.members++
	o.registry.order = append(o.registry.order, f)
	o.accounts.share(f, omega.Account(rapid.IntRange(1, 12).Draw(t, "account")))
	o.reshare()
}

// naive returns the frameworks in the order that the documentation of Order describes, from
// sums that are made anew.
func (o *orderly) naive(byClass bool) []*member {
	var in []*member
	holds := make(map[*role]resources.Vector)
	highest := make(map[*role]omega.Precedence)
	accounts := make(map[*role][]*account)
	for _, f := range o.registry.order {
		if !slices.Contains(accounts[f.role], f.account) {
			accounts[f.role] = append(accounts[f.role], f.account)
			holds[f.role] = holds[f.role].Add(o.held[f.account])
		}
		if !f.suppressed {
			in = append(in, f)
			if p, ok := highest[f.role]; !ok || f.reg.Precedence > p {
				highest[f.role] = f.reg.Precedence
			}
		}
	}
	rank := func(order Order, weight float64, p omega.Precedence, held resources.Vector) float64 {
		return order.Rank(Standing{Weight: weight, Precedence: p, Held: held, Total: o.total})
	}
	slices.SortFunc(in, func(f, g *member) int {
		class := 0
		if byClass {
			class = cmp.Compare(min(bitLen(f.refusals), classes-1), min(bitLen(g.refusals), classes-1))
		}
		return cmp.Or(class,
			cmp.Compare(rank(o.cfg.Roles, f.role.weight, highest[f.role], holds[f.role]), rank(o.cfg.Roles, g.role.weight, highest[g.role], holds[g.role])),
			cmp.Compare(o.askedOfRoles[f.role], o.askedOfRoles[g.role]),
			cmp.Compare(f.role.Seq, g.role.Seq),
			cmp.Compare(rank(o.cfg.Order, f.reg.Weight, f.reg.Precedence, o.held[f.account]), rank(o.cfg.Order, g.reg.Weight, g.reg.Precedence, o.held[g.account])),
			cmp.Compare(o.asked[f], o.asked[g]),
			cmp.Compare(f.Seq, g.Seq),
		)
	})
	return in
}

func bitLen(n int) (bits int) {
	for ; n > 0; n /= 2 {
		bits++
	}
	return bits
}

func names(of []*member) (all []string) {
	for _, f := range of {
		all = append(all, f.name)
	}
	return all
}

// The queue, which moves frameworks one by one, keeps them as a sort of all would. The
// order is by role, then by rank, turn and age; for declined room it is by class first.
func TestQueue_OrdersAsASortOfAll(t *testing.T) {
	orders := map[string]Order{"fair": DRF{}, "strict": Priority{}}
	for name, order := range orders {
		t.Run(name, func(t *testing.T) {
			rapid.Check(t, func(t *rapid.T) {
				o := newOrderly(order, rapid.SampledFrom([]Order{DRF{}, Priority{}}).Draw(t, "roles"))
				for range rapid.IntRange(1, 8).Draw(t, "frameworks") {
					o.join(t)
				}
				one := func(t *rapid.T) *member { return rapid.SampledFrom(o.registry.order).Draw(t, "framework") }
				room := func(t *rapid.T) resources.Vector {
					return resources.Vector{rapid.Int64Range(0, 8).Draw(t, "cpu"), rapid.Int64Range(1, 8).Draw(t, "memory")}
				}
				t.Repeat(map[string]func(*rapid.T){
					"join": o.join,
					"offer": func(t *rapid.T) {
						f, r, n := one(t), room(t), rapid.IntRange(1, 3).Draw(t, "offers")
						if f.suppressed {
							t.Skip("it wants none")
						}
						o.realign() // as before each offer of a round
						o.charge(f, &r, n)
						o.turns += uint64(n)
						o.held[f.account] = o.held[f.account].Add(r)
						o.asked[f], o.askedOfRoles[f.role] = o.turns, o.turns
					},
					"give back": func(t *rapid.T) {
						f, r := one(t), room(t)
						left, ok := o.held[f.account].Sub(r)
						if !ok {
							t.Skip("it holds less")
						}
						o.credit(f, r)
						o.held[f.account] = left
					},
					"refuse": func(t *rapid.T) {
						f := one(t)
						for range rapid.SampledFrom([]int{1, 2, 20, 40}).Draw(t, "times") {
							f.countRefusal()
						}
					},
					"accept": func(t *rapid.T) { one(t).forgetRefusals() },
					"suppress or revive": func(t *rapid.T) {
						f := one(t)
						f.suppressed = !f.suppressed
						o.reshare()
					},
					"weigh a role": func(t *rapid.T) {
						r := one(t).role
						r.weight = float64(rapid.IntRange(1, 3).Draw(t, "weight"))
						o.rerank(r, false)
						o.reshare()
					},
					"": func(t *rapid.T) {
						o.realign()
						require.Equal(t, names(o.naive(false)), names(slices.Collect(o.inTurn())), "in turn")
						require.Equal(t, names(o.naive(true)), names(slices.Collect(o.byClass())), "by class")
					},
				})
			})
		})
	}
}
