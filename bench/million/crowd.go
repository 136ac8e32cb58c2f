package main

import "math/rand/v2"

// crowd is a cell at its limit. In each round a task leaves, chosen at random. Up to
// two come in, or fewer once the limit of a kind is reached. Tasks that fit nowhere are
// turned away. The tasks that stay tend to be small, since those still fit.
type crowd struct {
	p      placer
	rng    *rand.Rand
	needs  []need // of the tasks that come in
	of     []need // by task
	live   []int
	vacant []int // tasks that are not live
	taken  need
	limit  need
}

// crowdTasks is the number of tasks of average size for each machine. There are up to
// three times as many small ones.
const crowdTasks = 20

// crowdSetting returns the setting of a crowd, and its needs.
func crowdSetting(machines int) (setting, []need) {
	needs := tailed(crowdTasks * machines)
	return setting{capacityAt(needs, machines, 1), machines, 3 * len(needs)}, needs
}

func newCrowd(p placer, s setting, needs []need, share float64) *crowd {
	total := func(q int64) int64 { return int64(share * float64(q) * float64(s.machines)) }
	c := &crowd{
		p: p, rng: seeded(), needs: needs, of: make([]need, s.tasks),
		limit: need{total(s.capacity.cpu), total(s.capacity.memory), total(s.capacity.gpu)},
	}
	for task := range s.tasks {
		c.vacant = append(c.vacant, s.tasks-1-task)
	}
	for _, n := range needs {
		c.come(n)
	}
	for range s.machines * crowdTasks { // until the live tasks have settled
		if !c.round() {
			break // the next round will say so
		}
	}
	return c
}

// round is one departure and the arrivals that follow.
func (c *crowd) round() bool {
	i := c.rng.IntN(len(c.live))
	task := c.live[i]
	if !c.p.release(task) {
		return false
	}
	n := c.of[task]
	c.taken = need{c.taken.cpu - n.cpu, c.taken.memory - n.memory, c.taken.gpu - n.gpu}
	c.live[i] = c.live[len(c.live)-1]
	c.live = c.live[:len(c.live)-1]
	c.vacant = append(c.vacant, task)
	for range 2 {
		c.come(c.needs[c.rng.IntN(len(c.needs))])
	}
	return true
}

// come places a task or turns it away.
func (c *crowd) come(n need) {
	if len(c.vacant) == 0 || !c.taken.within(&c.limit) {
		return
	}
	task := c.vacant[len(c.vacant)-1]
	if !c.p.place(task, n) {
		return
	}
	c.vacant = c.vacant[:len(c.vacant)-1]
	c.live = append(c.live, task)
	c.of[task] = n
	c.taken = need{c.taken.cpu + n.cpu, c.taken.memory + n.memory, c.taken.gpu + n.gpu}
}

// within reports whether n is below a limit in every kind.
func (n need) within(limit *need) bool {
	return n.cpu < limit.cpu && n.memory < limit.memory && n.gpu < limit.gpu
}
