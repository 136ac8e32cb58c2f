package simulate

import (
	"errors"
	"slices"

	"github.com/cellsched/cellsched/offers"
	"github.com/cellsched/cellsched/omega"
	"github.com/cellsched/cellsched/resources"
)

// begin begins an attempt at the first job, on the offers that the framework has.
func (f *framework) begin() {
	o := f.queue[0]
	j, now := &f.sim.cfg.Jobs[o.job], f.sim.now
	f.sim.jobs.pick(o.job, now)
	ends := now + f.spec.Think[j.Class].of(o.left)
	f.phase, f.attempt = thinking, attempt{job: o.job, active: true, began: now, ends: ends}
	f.sim.queue.Push(ends, event{wake, f.number})
	f.looked, f.kept = f.kept, f.looked[:0]
	f.place(o.left, &j.Need)
}

// place plans tasks: it fills one offer after the other, from any of them on, so
// that frameworks which are offered the same seldom want the same.
func (f *framework) place(left int, need *resources.Vector) {
	f.plan = f.plan[:0]
	if len(f.looked) == 0 {
		return // it is to ask
	}
	first := f.rand.IntN(len(f.looked))
	for i := range f.looked {
		on := &f.looked[(first+i)%len(f.looked)]
		if n := min(left, fits(&on.Room, need)); n > 0 {
			f.plan = append(f.plan, launch{on: *on, tasks: n})
			left -= n
			on.ID = offers.OfferID{} // it is not to be declined
		}
	}
	f.looked = slices.DeleteFunc(f.looked, func(o offers.Offer) bool { return o.ID == offers.OfferID{} })
}

// fits returns how many tasks of a need fit in a room.
func fits(room, need *resources.Vector) int {
	n := int64(1) << 31
	for k, q := range need {
		if q > 0 {
			n = min(n, room[k]/q)
		}
	}
	return int(n)
}

// decide ends the thinking.
func (f *framework) decide() error {
	if _, err := f.read(); err != nil {
		return err
	}
	o := f.queue[0]
	if f.spec.Asks {
		f.phase = asking
		_, err := f.handle.Request(f.sim.clock(), offers.Request{
			Machines: min(o.left, f.reach), Each: f.sim.cfg.Jobs[o.job].Need,
			Deadline: f.sim.clock().Add(f.sim.cfg.retry()),
		})
		return err
	}
	planned := 0
	for _, l := range f.plan {
		planned += l.tasks
	}
	if planned == o.left && len(f.queue)+len(f.later) == 1 {
		if err := f.suppress(); err != nil { // before the room it leaves over is offered to it again
			return err
		}
	}
	return f.conclude()
}

// answered goes on with the answer to a request.
func (f *framework) answered(a offers.Answer) error {
	f.plan = f.plan[:0]
	for _, on := range a.Offers {
		f.plan = append(f.plan, launch{on: on, tasks: 1})
	}
	return f.conclude()
}

// conclude starts the planned tasks, as far as their offers last, gives back the
// other offers that were looked at, and counts the attempt.
func (f *framework) conclude() error {
	o := f.queue[0]
	f.queue = f.queue[1:]
	j, a := &f.sim.cfg.Jobs[o.job], &f.attempt
	back := f.looked
	f.looked = f.looked[:0]
	// First the offers it cannot use: a framework that accepts last is no decliner to the master.
	if err := f.decline(back); err != nil {
		return err
	}
	var held []omega.AllocationID
	for _, l := range f.plan {
		ids, err := f.accept(&l, &j.Need)
		if err != nil {
			return err
		}
		a.sent += l.tasks
		held = append(held, ids...)
	}
	a.granted = len(held)
	o.left -= len(held)
	o.placed += len(held)
	o.attempts++
	if len(held) > 0 {
		f.sim.start(tasks{f.number, o.job, j.Need, f.sim.now, held}, j.Duration)
	}
	f.phase = idle
	f.settle(o, j)
	return nil
}

// lasts reports whether the deadline of an offer is still to come.
func (f *framework) lasts(o *offers.Offer) bool {
	return o.Deadline.IsZero() || f.sim.clock().Before(o.Deadline)
}

// accept starts tasks on an offer, and returns nil if that is gone or in conflict.
func (f *framework) accept(l *launch, need *resources.Vector) ([]omega.AllocationID, error) {
	if l.gone || !f.lasts(&l.on) {
		return nil, nil
	}
	all := make([]offers.Task, l.tasks)
	for i := range all {
		all[i].Need = *need
	}
	ids, err := f.handle.Accept(f.sim.clock(), offers.Launch{Offers: []offers.OfferID{l.on.ID}, Tasks: all})
	if errors.Is(err, omega.ErrConflict) {
		return nil, nil
	}
	return ids, err
}

// settle counts an attempt that has ended, and has a job that is not done come
// back, or be given up.
func (f *framework) settle(o *order, j *Job) {
	a := &f.attempt
	a.active = false
	most, fruitless := f.sim.cfg.attempts()
	switch {
	case o.left == 0:
		f.sim.jobs.end(o.job, j, a.began, false)
	case used(o.attempts, most) || o.placed == 0 && used(o.attempts, fruitless):
		f.sim.jobs.end(o.job, j, a.began, true)
	default:
		o.until = f.sim.now + f.sim.cfg.retry()
		f.later = append(f.later, o)
		f.sim.jobs.delay(o.job, o.until)
		f.sim.queue.Push(o.until, event{wake, f.number})
	}
	f.sim.jobs.attempt(f.sim.cfg, a)
	f.load.add(a, f.sim.now)
}

// used reports whether so many attempts are all that there may be; below 0 is no
// limit.
func used(attempts, most int) bool { return most > 0 && attempts >= most }
