package drf

import (
	"cmp"
	"slices"

	"github.com/cellsched/cellsched/resources"
)

// victim is a user above its fair share.
type victim struct {
	user  int
	share portion
}

// over returns the other users that are above their fair shares, by descending
// share.
func (c *contest) over(all weightSum) []victim {
	var over []victim
	for i := range c.users {
		u := &c.users[i]
		if !u.active() {
			continue
		}
		if p := u.portion(&u.Usage, c.total); p.over(all) > 0 {
			over = append(over, victim{i, p})
		}
	}
	slices.SortStableFunc(over, func(a, b victim) int { return b.share.compare(a.share) })
	return over
}

// plan tries the victims in order. It returns the best plan of the first victim
// that has one.
func (c *contest) plan(victims []victim) Preemption {
	candidates, ends := c.candidates()
	none := Preemption{Verdict: NoMachine}
	for _, v := range victims {
		all := candidates[ends[v.user]:ends[v.user+1]]
		slices.SortFunc(all, c.byMachine)
		var best taking
		for len(all) > 0 {
			machine, n := c.running[all[0]].Machine, 1
			for n < len(all) && c.running[all[n]].Machine == machine {
				n++
			}
			here := all[:n]
			all = all[n:]
			if !c.enough(machine, here) {
				continue
			}
			switch t := c.take(v.user, machine, here); {
			case t.allocations == nil:
				none.Verdict = WouldFlip
			case best.allocations == nil || c.compare(&t, &best) > 0:
				best = t
			}
		}
		if best.allocations != nil {
			return Preemption{Verdict: Yields, Machine: best.machine, Victim: v.user, Allocations: best.allocations}
		}
	}
	return none
}

// candidates groups the allocations by user: those of user u are
// indices[ends[u]:ends[u+1]].
func (c *contest) candidates() (indices, ends []int) {
	ends = make([]int, len(c.users)+2)
	for i := range c.running {
		ends[c.running[i].User+2]++
	}
	for u := range c.users {
		ends[u+2] += ends[u+1]
	}
	indices = make([]int, len(c.running))
	for i := range c.running {
		next := &ends[c.running[i].User+1] // in the end, where the next user's begin
		indices[*next] = i
		*next++
	}
	return indices, ends
}

// byMachine orders two allocations by machine, the younger first.
func (c *contest) byMachine(i, j int) int {
	a, b := &c.running[i], &c.running[j]
	return cmp.Or(cmp.Compare(a.Machine, b.Machine), cmp.Compare(b.Started, a.Started), cmp.Compare(j, i))
}

// enough reports whether the demand would fit on machine without any of these
// allocations.
func (c *contest) enough(machine int, all []int) bool {
	room := c.free[machine]
	for _, i := range all {
		room = room.Add(c.running[i].Need)
	}
	return resources.Fits(c.demand, &room)
}

// taking is a set of a victim's allocations on one machine, with the share that the
// victim keeps without them.
type taking struct {
	machine     int
	allocations []int // nil where there is none
	keeps       portion
}

// compare returns more than 0 if a is to be preferred to b. The last allocation of
// each is its oldest.
func (c *contest) compare(a, b *taking) int {
	as, bs := a.allocations, b.allocations
	return cmp.Or(
		a.keeps.compare(b.keeps),
		cmp.Compare(len(bs), len(as)),
		cmp.Compare(c.running[as[len(as)-1]].Started, c.running[bs[len(bs)-1]].Started),
	)
}

// take chooses the allocations that the victim loses on the machine, the youngest
// first.
func (c *contest) take(user, machine int, of []int) taking {
	u := &c.users[user]
	room, left := c.free[machine], u.Usage
	var taken []int
	for _, i := range of {
		if resources.Fits(c.demand, &room) {
			break
		}
		need := &c.running[i].Need
		if rest, ok := left.Sub(*need); ok && c.lacks(&room, need) && c.allows(u, &rest) {
			room, left, taken = room.Add(*need), rest, append(taken, i)
		}
	}
	if !resources.Fits(c.demand, &room) {
		// The youngest used up the share that the victim may lose. A single larger
		// allocation may still do.
		return c.takeOne(u, machine, of)
	}
	// A later allocation may have made an earlier one unnecessary.
	spared := 0
	for n, i := range slices.Backward(taken) {
		need := &c.running[i].Need
		if without, ok := room.Sub(*need); ok && resources.Fits(c.demand, &without) {
			room, left = without, left.Add(*need)
			taken[n] = -1
			spared++
		}
	}
	if spared > 0 {
		taken = slices.DeleteFunc(taken, func(i int) bool { return i < 0 })
	}
	return taking{machine, taken, u.portion(&left, c.total)}
}

// takeOne chooses the youngest allocation that is enough alone.
func (c *contest) takeOne(u *Holding, machine int, of []int) taking {
	for _, i := range of {
		need := &c.running[i].Need
		room := c.free[machine].Add(*need)
		if rest, ok := u.Usage.Sub(*need); ok && resources.Fits(c.demand, &room) && c.allows(u, &rest) {
			return taking{machine, []int{i}, u.portion(&rest, c.total)}
		}
	}
	return taking{}
}

// lacks reports whether need has some of a kind that the demand does not find in
// room.
func (c *contest) lacks(room, need *resources.Vector) bool {
	for k, d := range c.demand {
		if d > room[k] && need[k] > 0 {
			return true
		}
	}
	return false
}

// allows reports whether a victim left with usage ends where it cannot preempt the
// user in turn: above the user, or level with it if the user's share rises.
//
// Claim: no sequence of preemptions comes back to its first state. Proof, by
// contradiction:
//
//  1. Suppose that a sequence does. Let s be the lowest share from which a user
//     acted in it, where acting is preempting or taking free room.
//  2. A victim ends no lower than the user that acts, which was at s or above. It
//     ends above s if that user stayed at s. So no victim is pushed down to s or
//     below.
//  3. So no user rose from s either: the number of users at s or below would shrink
//     and never grow back, and the sequence would not come back.
//  4. So each user that acted from s gained amounts that do not raise its share. It
//     must lose them again, and its share is then s at most.
//  5. It loses them as the victim of a user that ends no higher, so one that stayed
//     at s. By step 2 it ends above s: a contradiction.
func (c *contest) allows(u *Holding, usage *resources.Vector) bool {
	d := u.portion(usage, c.total).compare(c.after)
	return d > 0 || d == 0 && c.rises
}
