package main

import (
	"github.com/cellsched/cellsched/drf"
	"github.com/cellsched/cellsched/resources"
)

// dominant is the order by weighted dominant share of the sharers, and by
// submission within each. No room is reserved for a job that is passed over: the
// end of a trace frees everything.
type dominant struct {
	heap  *drf.Heap[*sharer]
	users map[*sharer]drf.User
	asked []*sharer // in this round
}

func newDRF(total resources.Vector) (order, error) {
	h, err := drf.New[*sharer](total)
	if err != nil {
		return nil, err
	}
	h.SetMaxSkips(-1)
	return &dominant{heap: h, users: map[*sharer]drf.User{}}, nil
}

func (d *dominant) begin() {
	for _, s := range d.asked {
		s.jobs.begin()
	}
	d.asked = d.asked[:0]
}

func (d *dominant) push(j *job) error {
	s := j.who
	u, ok := d.users[s]
	if !ok {
		var err error
		if u, err = d.heap.Add(s, s.weight); err != nil {
			return err
		}
		d.users[s] = u
	}
	if err := s.jobs.push(j); err != nil {
		return err
	}
	// Whether a task fits is asked of all; the demand only says that there is
	// one.
	return d.heap.Demand(u, s.jobs.jobs[0].bundles[0].need)
}

func (d *dominant) drop(j *job) error {
	s := j.who
	if err := s.jobs.drop(j); err != nil || len(s.jobs.jobs) > 0 {
		return err
	}
	return d.heap.Park(d.users[s])
}

func (d *dominant) next(fits func(*job) bool) *job {
	u, ok := d.heap.PickWhere(everything(), func(u drf.User) bool {
		s, _ := d.heap.Key(u)
		if !s.jobs.asked {
			d.asked = append(d.asked, s)
		}
		return s.jobs.next(fits) != nil
	})
	if !ok {
		return nil
	}
	s, _ := d.heap.Key(u)
	return s.jobs.jobs[s.jobs.refused] // where its queue stopped
}

func (d *dominant) charge(j *job, v resources.Vector) error { return d.heap.Charge(d.users[j.who], v) }

func (d *dominant) credit(j *job, v resources.Vector) error { return d.heap.Credit(d.users[j.who], v) }

// everything is more than any need.
func everything() (v resources.Vector) {
	for k := range v {
		v[k] = resources.MaxQuantity
	}
	return v
}
