package federation

import (
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/cellsched/cellsched/internal/fault"
)

// Receive takes a message of a local master, once, late, twice or out of order. Parts
// of the message older than the known state are ignored.
//
// Errors: [ErrUnknown] for a sender that is no local master of this global master, or a
// message for another one; [ErrInvalid] for an answer to a launch that was not sent, and
// for a message of a global master; [ErrSuperseded] once a successor of this global
// master is heard of. The rest of a message with a wrong answer is followed.
func (g *Global) Receive(m Message) error {
	if g == nil {
		return absent("global master")
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	s := g.byName[m.From]
	switch {
	case m.To != g.cfg.Name:
		return unknown("message for %s, want one for %s", fault.Quote(m.To), fault.Quote(g.cfg.Name))
	case s == nil:
		return unknown("message from %s, want one of the local masters %s", fault.Quote(m.From), fault.List(strings.Join(g.cfg.Locals, ", ")))
	case m.tell == nil:
		return invalid("message from local master %s: want a report", fault.Quote(m.From))
	case m.tell.Epoch > g.epoch:
		g.gone = true
	}
	if g.gone {
		g.signal()
		return ErrSuperseded
	}
	err := g.follow(s, m.tell)
	g.signal()
	return err
}

// follow follows a report.
func (g *Global) follow(s *site, t *tell) error {
	if t.Incarnation < s.incarnation {
		return nil
	}
	if t.Epoch == g.epoch && t.Listed && t.Incarnation > s.incarnation {
		g.adopt(s, t)
	}
	if t.Incarnation != s.incarnation {
		s.replaced = s.incarnation != 0 // so it is asked for its list
		return nil
	}
	if s.silent {
		s.silent = false
		g.gains++
	}
	if t.Epoch != g.epoch {
		return nil // the rest is for a predecessor
	}
	var wrong error
	for i := range t.Answers {
		if err := g.answered(s, &t.Answers[i]); err != nil && wrong == nil {
			wrong = err
		}
	}
	for i := range t.Notices {
		n := &t.Notices[i]
		s.heard = append(s.heard, n.Number)
		if s.notices.add(n.Number) {
			g.noticed(s, &n.Event)
		}
	}
	g.apply(s, t)
	return wrong
}

// apply follows the states of machines.
func (g *Global) apply(s *site, t *tell) {
	more := t.Full && s.reopen()
	if t.Full {
		s.usage = t.Usage
	}
	for i := range t.Machines {
		if r := &t.Machines[i]; s.apply(r) {
			s.recent, more = int(r.ID.Node()), true
		}
	}
	for _, b := range t.Blocks {
		more = s.applyBlock(b) || more
	}
	if more {
		g.gains++
		g.external = s.index // its state is the youngest
	}
}

// adopt follows the list of a verifier that this global master did not know. All that
// was heard from its predecessor is dropped, and the list decides about each task there.
func (g *Global) adopt(s *site, t *tell) {
	s.forget()
	s.notices.low = t.Noticed
	s.incarnation, s.replaced, s.asked = t.Incarnation, false, time.Time{}
	g.gains++
	for _, u := range g.order.users {
		if u != nil && u.seeking == s {
			u.seeking = nil
		}
	}
	listed := make(map[Task]Kind, len(t.List))
	for i := range t.List {
		listed[t.List[i].Task] = t.List[i].Kind
	}
	for _, task := range slices.SortedFunc(maps.Keys(g.found), Task.compare) {
		if at := g.found[task]; at.site == int32(s.index) && listed[task] == 0 && !at.ended {
			delete(g.found, task)
			g.events = append(g.events, Event{Task: task, Kind: Returned, Local: s.name})
		}
	}
	for _, j := range g.inOrder() {
		for i := len(j.tasks) - 1; i >= 0; i-- {
			p, task := &j.tasks[i], Task{j.Name, i}
			if p.site != int32(s.index) || p.phase != sent && p.phase != running || listed[task] != 0 {
				continue
			}
			if p.phase == running {
				g.stats.Running--
				g.events = append(g.events, Event{Task: task, Kind: Returned, Local: s.name})
			}
			g.requeue(j, int32(i))
		}
	}
	for i := range t.List {
		g.listedTask(s, &t.List[i])
	}
	if !g.listed() {
		return
	}
	for _, j := range g.held {
		g.enqueue(j)
	}
	g.held = nil
}

// inOrder returns the jobs by age, the youngest first, so that tasks that return go to
// the head of their lanes in order.
func (g *Global) inOrder() []*job {
	jobs := make([]*job, 0, len(g.jobs))
	for _, j := range g.jobs {
		jobs = append(jobs, j)
	}
	slices.SortFunc(jobs, func(a, b *job) int {
		if a.seq > b.seq {
			return -1
		}
		return 1
	})
	return jobs
}

// listedTask follows one entry of a list: a task runs, or has ended.
func (g *Global) listedTask(s *site, e *Event) {
	j := g.jobs[e.Task.Job]
	if j == nil || e.Task.Index < 0 || e.Task.Index >= len(j.tasks) || j.tasks[e.Task.Index].phase == idle {
		at, had := g.found[e.Task]
		if had && at.ended {
			return
		}
		g.found[e.Task] = found{int32(s.index), e.Kind == Ended}
		if e.Kind == Ended || !had {
			g.events = append(g.events, Event{e.Task, e.Kind, s.name, e.Allocation})
		}
		return
	}
	switch p := &j.tasks[e.Task.Index]; {
	case p.site != int32(s.index) || p.phase != sent && p.phase != running:
	case e.Kind == Ended:
		g.ended(j, e)
	case p.phase == sent:
		p.phase = running
		g.stats.Running++
		g.events = append(g.events, Event{e.Task, Started, s.name, e.Allocation})
	}
}

// noticed follows a notice: a task has ended, or was stopped.
func (g *Global) noticed(s *site, e *Event) {
	j := g.jobs[e.Task.Job]
	if j == nil || e.Task.Index < 0 || e.Task.Index >= len(j.tasks) || j.tasks[e.Task.Index].phase == idle {
		at, had := g.found[e.Task]
		if !had || at.site != int32(s.index) || at.ended {
			return
		}
		if e.Kind == Ended {
			g.found[e.Task] = found{at.site, true}
		} else {
			delete(g.found, e.Task)
		}
		g.events = append(g.events, Event{e.Task, e.Kind, s.name, e.Allocation})
		return
	}
	p := &j.tasks[e.Task.Index]
	if p.site != int32(s.index) || p.phase != sent && p.phase != running {
		return
	}
	if e.Kind == Ended {
		g.ended(j, e)
		return
	}
	if p.phase == running {
		g.stats.Running--
	}
	g.outrun(s, j, e.Task.Index)
	g.events = append(g.events, Event{e.Task, Returned, s.name, e.Allocation})
	g.requeue(j, int32(e.Task.Index))
}

// ended follows the end of a task, which may come before the answer that it was granted.
func (g *Global) ended(j *job, e *Event) {
	p := &j.tasks[e.Task.Index]
	if p.phase == running {
		g.stats.Running--
	}
	s := g.sites[p.site]
	g.outrun(s, j, e.Task.Index)
	p.phase = ended
	j.left--
	g.order.credit(j.user, j.Need)
	g.events = append(g.events, Event{e.Task, Ended, s.name, e.Allocation})
	g.drop(j)
}

// outrun marks the launch of a task that has news before its answer.
func (g *Global) outrun(s *site, j *job, i int) {
	if j.tasks[i].phase != sent {
		return
	}
	for _, b := range s.batches {
		for k := range b.entries {
			if e := &b.entries[k]; e.job == j && int(e.index) == i {
				e.done = true
			}
		}
	}
}
