package federation

import (
	"slices"
	"time"

	"github.com/cellsched/cellsched/omega"
)

// batch is launches that one site verifies together. It is sent until it is answered.
type batch struct {
	number   uint64
	launches []launch
	entries  []entry
	at       time.Time // when it was sent last
}

// entry is one launch of a batch.
type entry struct {
	job   *job
	index int32
	node  int32  // -1 where the verifier chooses the machine
	seq   uint64 // of the machine when it was matched
	done  bool   // a notice, or a list, came before the answer
}

// launch sends the next task of a job, or all tasks of a gang, to the places.
func (g *Global) launch(j *job, at []place) {
	s := at[0].site
	if s.filling != nil && len(s.filling.launches)+len(at) > batchSize && len(s.filling.launches) > 0 {
		g.number(s)
	}
	if s.filling == nil {
		// Matches go round the sites, so each gets its part of the tasks that wait.
		most := min(batchSize, max(len(at), len(j.waiting)/len(g.sites)+1))
		s.filling = &batch{launches: make([]launch, 0, most), entries: make([]entry, 0, most)}
	}
	gang := 0
	if j.Gang {
		gang = len(s.filling.launches) + 1
	}
	for _, p := range at {
		last := len(j.waiting) - 1
		i := j.waiting[last]
		j.waiting = j.waiting[:last]
		m := &s.machines[p.machine]
		s.filling.launches = append(s.filling.launches, launch{
			Task: Task{j.Name, int(i)}, User: j.User, Machine: m.ID, Need: j.Need, Precedence: j.Precedence, Gang: gang,
		})
		if j.class.where != nil {
			s.filling.launches[len(s.filling.launches)-1].Described = m.Described
		}
		s.filling.entries = append(s.filling.entries, entry{job: j, index: i, node: int32(p.machine), seq: m.Seq})
		j.tasks[i] = placement{sent, int32(s.index)}
		s.take(p.machine, &j.Need)
		g.order.charge(j.user, j.Need)
		g.stats.Sent++
		if p.borrowed {
			g.stats.Borrowed++
		}
	}
	g.stats.Waiting -= len(at)
	if len(j.waiting) == 0 {
		j.user.drop(j)
	}
	if at[0].borrowed && !j.Gang {
		g.external = (s.index + 1) % len(g.sites)
	} else {
		g.internal = (s.index + 1) % len(g.sites)
	}
}

// number closes the batch that is being filled.
func (g *Global) number(s *site) {
	if s.filling == nil {
		return
	}
	s.number++
	s.filling.number = s.number
	s.batches = append(s.batches, s.filling)
	s.filling = nil
}

// settled returns the number up to which all batches of a site are answered.
func (s *site) settled() uint64 {
	if len(s.batches) > 0 {
		return s.batches[0].number - 1
	}
	return s.number
}

// requeue puts a task back to the head of its job, and so of its lane.
func (g *Global) requeue(j *job, i int32) {
	if j.lane != nil && j.Gang {
		j.user.drop(j) // more of it waits
	}
	j.tasks[i] = placement{phase: waiting}
	j.waiting = append(j.waiting, i)
	g.stats.Waiting++
	g.order.credit(j.user, j.Need)
	if j.lane == nil {
		j.user.push(j)
	}
	g.order.demand(j.user)
}

// answered follows the answer to a batch. An answer to a batch that is settled is ignored.
func (g *Global) answered(s *site, a *answer) error {
	i := slices.IndexFunc(s.batches, func(b *batch) bool { return b.number == a.Number })
	if i < 0 {
		if a.Number > s.number || a.Number <= g.epoch<<32 {
			return invalid("answer %d of local master %q to a batch that was not sent: want %d to %d", a.Number, s.name, g.epoch<<32+1, s.number)
		}
		return nil
	}
	b := s.batches[i]
	if len(a.Granted) != len(b.entries) {
		return invalid("answer %d of local master %q to %d launches: want %d", a.Number, s.name, len(a.Granted), len(b.entries))
	}
	s.batches = slices.Delete(s.batches, i, i+1)
	for k := len(b.entries) - 1; k >= 0; k-- { // so that refused tasks are requeued in their order
		e, id := &b.entries[k], a.Granted[k]
		task := Task{e.job.Name, int(e.index)}
		if e.node < 0 {
			g.sought(s, e, id)
			continue
		}
		m := &s.machines[e.node]
		current := m.ID == b.launches[k].Machine
		if current && s.untake(int(e.node), &e.job.Need) {
			g.gains++
		}
		switch {
		case id != (omega.AllocationID{}):
			if current && m.Seq == e.seq { // the state that has the task is still on its way
				lower(&m.Free, &e.job.Need)
				s.refresh(int(e.node))
			}
			if !e.done {
				e.job.tasks[e.index].phase = running
				g.stats.Running++
				g.events = append(g.events, Event{task, Started, s.name, id})
			}
		case !e.done:
			g.stats.Refused++
			g.requeue(e.job, e.index)
			why := refusedRoom
			if len(a.Why) > 0 {
				why = a.Why[k]
			}
			switch {
			case why == refusedJob:
				s.bar(e.job.class)
			case current && (why == refusedMachine || (why == refusedRoom || why == refusedAttributes) && m.Seq == e.seq):
				m.closed = true
				s.closed = append(s.closed, int(e.node))
				s.refresh(int(e.node))
			}
		}
	}
	return nil
}
