package allot_test

import (
	"fmt"
	"math/big"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/cellsched/cellsched/drf/allot"
	"github.com/cellsched/cellsched/resources"
)

// floor is a few machines with their running tasks. Tasks that do not run, wait.
type floor struct {
	total   resources.Vector
	free    []resources.Vector
	users   []allot.Holding
	running []running
	waiting [][]resources.Vector // by user
}

// floors draws a full or nearly full cell in which one user was first.
func floors() *rapid.Generator[*floor] {
	return rapid.Custom(func(t *rapid.T) *floor {
		f := new(floor)
		for range rapid.IntRange(1, 3).Draw(t, "machines") {
			machine := resources.Vector{rapid.Int64Range(2, 8).Draw(t, "CPU"), rapid.Int64Range(2, 8).Draw(t, "memory")}
			f.free = append(f.free, machine)
			f.total = f.total.Add(machine)
		}
		task := rapid.SampledFrom([]resources.Vector{{1}, {0, 1}, {1, 1}, {2, 1}, {1, 2}, {0, 2}, {3}, {2, 3}})
		for i := range rapid.IntRange(2, 4).Draw(t, "users") {
			f.users = append(f.users, allot.Holding{Weight: rapid.SampledFrom([]float64{1, 1, 2, 0.1, 1.0 / 3}).Draw(t, "weight")})
			f.waiting = append(f.waiting, nil)
			for _, need := range rapid.SliceOfN(task, 3, 9).Draw(t, "tasks") {
				m := slices.IndexFunc(f.free, need.Fits)
				if m < 0 || rapid.IntRange(0, 5).Draw(t, "late") == 0 {
					f.waiting[i] = append(f.waiting[i], need)
					continue
				}
				f.start(i, m, need)
			}
		}
		return f
	})
}

func (f *floor) start(user, machine int, need resources.Vector) {
	f.free[machine], _ = f.free[machine].Sub(need)
	f.users[user].Usage = f.users[user].Usage.Add(need)
	f.running = append(f.running, running{User: user, Machine: machine, Need: need, Started: int64(len(f.running) * 7 % 5)})
}

// ask asks for one waiting task of a user.
func (f *floor) ask(t require.TestingT, user int, demand resources.Vector) preemption {
	for i := range f.users {
		f.users[i].Demand = resources.Vector{}
		if len(f.waiting[i]) > 0 {
			f.users[i].Demand = f.waiting[i][0]
		}
	}
	f.users[user].Demand = demand
	p, err := preempt(f.total, f.users, user, f.free, f.running)
	require.NoError(t, err)
	return p
}

// carryOut carries p out for waiting task n of a user.
func (f *floor) carryOut(p preemption, user, n int) (lost []resources.Vector) {
	for _, i := range p.Allocations {
		r := f.running[i]
		lost = append(lost, r.Need)
		f.free[r.Machine] = f.free[r.Machine].Add(r.Need)
		f.users[r.User].Usage, _ = f.users[r.User].Usage.Sub(r.Need)
		f.waiting[r.User] = append(f.waiting[r.User], r.Need)
	}
	gone := 0
	f.running = slices.DeleteFunc(f.running, func(running) bool {
		gone++
		return slices.Contains(p.Allocations, gone-1)
	})
	need := f.waiting[user][n]
	f.waiting[user] = slices.Delete(f.waiting[user], n, n+1)
	f.start(user, p.Machine, need)
	return lost
}

// state is the set of running tasks with user and machine, in any order.
func (f *floor) state() string {
	var lines []string
	for _, r := range f.running {
		lines = append(lines, fmt.Sprint(r.User, r.Machine, r.Need))
	}
	slices.Sort(lines)
	return fmt.Sprint(lines)
}

func share(total resources.Vector, u allot.Holding, usage resources.Vector) *big.Rat {
	s, _ := shareOfUsage(total, u, usage)
	return s
}

// Kueue #3779, #7101 and #14543: users that preempt each other for ever. Users ask
// in any order: no state comes back, and the victim could not take from the user in
// turn.
func TestPreempt_NeverGoesInCircles(t *testing.T) {
	preempted := 0
	for range 10 { // few draws may have none
		rapid.Check(t, func(t *rapid.T) {
			f := floors().Draw(t, "floor")
			rng := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 1))
			seen := map[string]bool{f.state(): true}
			for moved := true; moved; {
				moved = false
				type turn struct{ user, task int }
				var order []turn
				for u := range f.waiting {
					for n := range f.waiting[u] {
						order = append(order, turn{u, n})
					}
				}
				rng.Shuffle(len(order), func(i, j int) { order[i], order[j] = order[j], order[i] })
				for _, o := range order {
					p := f.ask(t, o.user, f.waiting[o.user][o.task])
					if p.Verdict != allot.Yields && p.Verdict != fitsAlready {
						continue
					}
					victims := f.owners(p.Allocations)
					lost := f.carryOut(p, o.user, o.task)
					require.False(t, seen[f.state()], "the cell is back at %v", f.state())
					seen[f.state()] = true
					if p.Verdict == allot.Yields {
						preempted++
						for i, need := range lost {
							from := victims[i]
							victim, now := f.users[from], f.users[o.user]
							require.GreaterOrEqual(t, share(f.total, victim, victim.Usage).Cmp(share(f.total, now, now.Usage)), 0,
								"user %d ends below %d", from, o.user)
							back := f.ask(t, from, need)
							again := slices.ContainsFunc(back.Allocations, func(i int) bool { return f.running[i].User == o.user })
							require.False(t, again, "user %d takes %v back", from, need)
						}
					}
					moved = true
					break
				}
			}
		})
		if preempted > 0 {
			break
		}
	}
	require.NotZero(t, preempted)
}

// owners returns the users of a set of allocations.
func (f *floor) owners(set []int) (users []int) {
	for _, i := range set {
		users = append(users, f.running[i].User)
	}
	return users
}

// yielding returns the sets of some users' allocations on a machine that make room for
// demand, and all of them.
func (f *floor) yielding(machine int, demand resources.Vector, users ...int) (sets [][]int, all []int) {
	for i, r := range f.running {
		if slices.Contains(users, r.User) && r.Machine == machine {
			all = append(all, i)
		}
	}
	for mask := 1; mask < 1<<len(all); mask++ {
		var set []int
		room := f.free[machine]
		for b, i := range all {
			if mask>>b&1 == 1 {
				set = append(set, i)
				room = room.Add(f.running[i].Need)
			}
		}
		if demand.Fits(room) {
			sets = append(sets, set)
		}
	}
	return sets, all
}

// without is a user's usage after a set is lost.
func (f *floor) without(user int, set []int) resources.Vector {
	usage := f.users[user].Usage
	for _, i := range set {
		if f.running[i].User == user {
			usage, _ = usage.Sub(f.running[i].Need)
		}
	}
	return usage
}

func TestPreempt_AgreesWithTheDefinition(t *testing.T) {
	verdicts := make(map[allot.Verdict]int)
	for range 10 { // few draws may have none
		rapid.Check(t, func(t *rapid.T) {
			f := floors().Draw(t, "floor")
			user := rapid.IntRange(0, len(f.users)-1).Draw(t, "user")
			if len(f.waiting[user]) == 0 {
				t.Skip("wants nothing")
			}
			demand := f.waiting[user][0]
			got := f.ask(t, user, demand)
			verdicts[got.Verdict]++
			shares := make([]*big.Rat, len(f.users))
			for i, u := range f.users {
				shares[i] = share(f.total, u, u.Usage)
			}
			level := fairLevel(f.total, f.users)
			after := share(f.total, f.users[user], f.users[user].Usage.Add(demand))

			allowed := func(set []int) bool {
				return !slices.ContainsFunc(f.owners(set), func(victim int) bool {
					d := share(f.total, f.users[victim], f.without(victim, set)).Cmp(after)
					return d < 0 || d == 0 && after.Cmp(shares[user]) <= 0
				})
			}
			var over []int
			for i := range f.users {
				if i != user && shares[i].Cmp(level) > 0 {
					over = append(over, i)
				}
			}
			slices.SortStableFunc(over, func(a, b int) int { return shares[b].Cmp(shares[a]) })
			// must is a victim that has to be found: by one allocation, or by all
			// on a machine.
			must := -1
			for _, v := range over {
				for m := range f.free {
					sets, all := f.yielding(m, demand, v)
					for _, set := range sets {
						if must < 0 && (len(set) == 1 || len(set) == len(all)) && allowed(set) {
							must = v
						}
					}
				}
			}

			switch {
			case slices.ContainsFunc(f.free, demand.Fits):
				require.Equal(t, preemption{Verdict: fitsAlready, Machine: slices.IndexFunc(f.free, demand.Fits)}, got)
			case shares[user].Cmp(level) >= 0:
				require.Equal(t, preemption{Verdict: allot.HasShare}, got)
			case len(over) == 0:
				require.Equal(t, preemption{Verdict: allot.NoneOver}, got)
			case must < 0 && got.Verdict == noMachine:
				require.Equal(t, preemption{Verdict: noMachine}, got)
			default:
				require.Equal(t, allot.Yields, got.Verdict)
				require.Subset(t, over, f.owners(got.Allocations))
				if must >= 0 {
					require.GreaterOrEqual(t, shares[got.Victim].Cmp(shares[must]), 0)
				}
				require.True(t, allowed(got.Allocations))
				sets, _ := f.yielding(got.Machine, demand, over...)
				chosen := slices.Sorted(slices.Values(got.Allocations))
				require.Contains(t, sets, chosen)
				for _, set := range sets {
					smaller := len(set) < len(chosen) && !slices.ContainsFunc(set, func(i int) bool { return !slices.Contains(chosen, i) })
					require.False(t, smaller, "%v would have been enough of %v", set, chosen)
				}
			}
		})
		if verdicts[allot.Yields] > 0 {
			break
		}
	}
	require.NotZero(t, verdicts[allot.Yields]) // each of the others is in the table below, too
}
