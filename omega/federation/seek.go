package federation

import (
	"maps"
	"slices"
	"time"

	"github.com/cellsched/cellsched/drf/allot"
	"github.com/cellsched/cellsched/locality"
	"github.com/cellsched/cellsched/omega"
	"github.com/cellsched/cellsched/resources"
)

// seek asks for preemption where tasks fit nowhere: for each user at most one local master
// at a time, and after all have refused a lane, for the next lane. After all have refused
// all lanes it begins anew, not before the timeout. It returns when it is to be called again.
func (g *Global) seek(now time.Time) (next time.Time) {
	if g.cfg.Grace == 0 {
		return next
	}
	for _, u := range g.order.users {
		if u == nil {
			continue
		}
		if u.seeking != nil {
			if !u.seeking.silent {
				continue
			}
			u.seeking = nil // the others may have room
			u.sought++
		}
		if u.sought >= len(g.sites) && u.soughtLanes+1 < u.singles() {
			u.sought = 0
			u.soughtLanes++
		}
		if u.sought >= len(g.sites) {
			if again := u.soughtAt.Add(g.cfg.Timeout); now.Before(again) && u.singles() > 0 {
				next = earlier(next, again)
				continue
			}
			u.sought, u.soughtLanes = 0, 0
		}
		l := u.single(u.soughtLanes)
		if l == nil {
			continue
		}
		for ; u.sought < len(g.sites); u.sought++ {
			if s := g.sites[(u.handle.Index()+u.sought)%len(g.sites)]; !s.unlisted() && !s.silent {
				g.seekAt(s, u, l)
				break
			}
		}
		if u.soughtAt = now; u.seeking == nil {
			next = earlier(next, now.Add(g.cfg.Timeout))
		}
	}
	return next
}

// singles returns the number of the user's lanes without a gang.
func (u *user) singles() (n int) {
	for _, l := range u.lanes {
		if l.class.gang == 0 {
			n++
		}
	}
	return n
}

// single returns the user's lane without a gang that is number n by precedence, and then by
// age. It begins anew after the last one, and returns nil if there is none. Cost: O(lanes) for
// the first, O(lanes log lanes) for others.
func (u *user) single(n int) (next *lane) {
	if n == 0 {
		for _, l := range u.lanes {
			if l.class.gang == 0 && (next == nil || l.before(next)) {
				next = l
			}
		}
		return next
	}
	var all []*lane
	for _, l := range u.lanes {
		if l.class.gang == 0 {
			all = append(all, l)
		}
	}
	if len(all) == 0 {
		return nil
	}
	slices.SortFunc(all, func(a, b *lane) int {
		if a.before(b) {
			return -1
		}
		return 1
	})
	return all[n%len(all)]
}

// before reports whether l comes before another lane, by precedence and then by age.
func (l *lane) before(other *lane) bool {
	if l.class.order != other.class.order {
		return l.class.order > other.class.order
	}
	return l.jobs[0].seq < other.jobs[0].seq
}

// seekAt sends the next task of a lane to a site, as a batch of its own.
func (g *Global) seekAt(s *site, u *user, l *lane) {
	j := l.jobs[0]
	last := len(j.waiting) - 1
	i := j.waiting[last]
	j.waiting = j.waiting[:last]
	how := &seek{Grace: g.cfg.Grace}
	if l.class.where != nil {
		how.Among = l.class.where[s.index].Words([]uint64{}) // not nil, also where no machine is known
		how.Described = map[int]uint64{}
		for n := range s.machines {
			if d := s.machines[n].Described; d != 1 && how.Among.Has(locality.Node(n)) {
				how.Described[n] = d
			}
		}
	}
	if g.cfg.Weights != nil {
		how.Total, how.Users = g.stakes(u, s, j.Need)
	}
	g.number(s)
	s.filling = &batch{
		launches: []launch{{Task: Task{j.Name, int(i)}, User: j.User, Need: j.Need, Precedence: j.Precedence, Seek: how}},
		entries:  []entry{{job: j, index: i, node: -1}},
	}
	j.tasks[i] = placement{sent, int32(s.index)}
	g.order.charge(u, j.Need)
	g.stats.Sent++
	g.stats.Waiting--
	if len(j.waiting) == 0 {
		u.drop(j)
	}
	u.seeking = s
	g.order.demand(u)
}

// stakes returns the usage of all users outside of a site, as far as is known; no users if
// the user is not below its fair share, or no other one is above its own. Of its own users
// a global master knows the usage exactly.
func (g *Global) stakes(u *user, at *site, need resources.Vector) (elsewhere resources.Vector, users []stake) {
	all, there := map[string]resources.Vector{}, map[string]resources.Vector{}
	for _, s := range g.sites {
		for _, k := range s.usage {
			all[k.User] = all[k.User].Add(k.Usage)
			if s == at {
				there[k.User] = k.Usage
			}
		}
		if s != at {
			elsewhere = elsewhere.Add(s.total)
		}
	}
	for _, own := range g.order.users {
		if own != nil {
			all[own.name], _ = g.order.heap.Usage(own.handle)
		}
	}
	var holdings []allot.Holding
	index := -1
	for _, name := range slices.Sorted(maps.Keys(all)) {
		weight := g.weight(name)
		h := allot.Holding{Usage: all[name], Weight: weight}
		if name == u.name {
			index, h.Demand = len(holdings), need
		}
		holdings = append(holdings, h)
		rest := all[name]
		inside := there[name]
		lower(&rest, &inside)
		users = append(users, stake{name, rest, weight})
	}
	p, err := allot.Preempt(elsewhere.Add(at.total), holdings, index)
	if err != nil || p.Verdict() != allot.Yields {
		return elsewhere, nil
	}
	return elsewhere, users
}

// weight returns the weight of a user.
func (g *Global) weight(name string) float64 {
	if w, ok := g.cfg.Weights[name]; ok {
		return w
	}
	return 1
}

// sought follows the answer of a site that was asked to preempt.
func (g *Global) sought(s *site, e *entry, id omega.AllocationID) {
	u := e.job.user
	asked := u.seeking == s // else it was silent, and another one is asked meanwhile
	if asked {
		u.seeking = nil
	}
	switch {
	case id != (omega.AllocationID{}):
		u.sought, u.soughtLanes = 0, 0
		if !e.done {
			e.job.tasks[e.index].phase = running
			g.stats.Running++
			g.events = append(g.events, Event{Task{e.job.Name, int(e.index)}, Started, s.name, id})
		}
	case !e.done:
		if asked {
			u.sought++
		}
		g.stats.Refused++
		g.requeue(e.job, e.index)
	}
}
