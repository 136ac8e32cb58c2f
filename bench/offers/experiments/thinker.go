package experiments

import (
	"slices"
	"time"

	"github.com/cellsched/cellsched/offers"
	"github.com/cellsched/cellsched/omega"
)

// thinker is a service framework that decides about one job after the other, and
// takes its time for each attempt.
type thinker struct {
	w         *world
	manner    manner
	think     time.Duration
	framework *framework       // nil for an optimist
	scheduler *omega.Scheduler // of an optimist
	queue     []*order
	kept      []offers.Offer // that it has not answered
	busy      bool
	jobs      stream
	lengths   func() time.Duration
	waits     waits
}

// order is a job of a thinker.
type order struct {
	left   int
	placed func()
}

// join has the thinker take part, and jobs come.
func (s *thinker) join(r offers.Registration) (err error) {
	if s.manner == optimist {
		if s.scheduler, err = s.w.cell.Register(r.Name, omega.Limits{}); err != nil {
			return err
		}
	} else {
		if s.framework, err = s.w.add(r, nil); err != nil {
			return err
		}
		s.framework.refuse = offers.For(0)
		s.framework.offered = func(got []offers.Offer) error {
			s.kept = append(s.kept, got...)
			return s.begin()
		}
		s.framework.answered = s.answered
		if err := s.framework.Suppress(s.w.time()); err != nil {
			return err
		}
	}
	var come func() error
	come = func() error {
		s.w.after(s.jobs.exponential(serviceEvery), come)
		s.queue = append(s.queue, &order{left: serviceTasks, placed: s.waits.add(s.w)})
		if len(s.queue) == 1 && s.framework != nil && s.manner != asks {
			if err := s.framework.Revive(s.w.time()); err != nil {
				return err
			}
		}
		return s.begin()
	}
	s.w.after(s.jobs.exponential(serviceEvery), come)
	return nil
}

// begin begins to decide, if there is about what, and on what.
func (s *thinker) begin() error {
	if s.busy || len(s.queue) == 0 || s.framework != nil && s.manner != asks && len(s.kept) == 0 {
		return nil
	}
	s.busy = true
	if s.manner == optimist {
		tx := s.plan()
		s.w.after(s.think, func() error { return s.commit(tx) })
		return nil
	}
	n := len(s.kept) // what comes meanwhile is for the next time
	s.w.after(s.think, func() error {
		if s.manner == asks {
			_, err := s.framework.Request(s.w.time(), offers.Request{Machines: s.queue[0].left, Each: slot})
			return err
		}
		looked := s.kept[:n]
		s.kept = slices.Clone(s.kept[n:])
		return s.decide(looked)
	})
	return nil
}

// decide starts what the first job needs on what there was, and gives back the
// rest.
func (s *thinker) decide(looked []offers.Offer) error {
	f, first := s.framework, s.queue[0]
	var declined []offers.OfferID
	for _, o := range looked {
		if !o.Deadline.IsZero() && !s.w.time().Before(o.Deadline) {
			continue // too late
		}
		tasks := fill(o.Room, slot, func() (task, bool) {
			if first.left == 0 {
				return task{}, false
			}
			first.left--
			return task{length: s.lengths()}, true
		})
		if len(tasks) == 0 {
			declined = append(declined, o.ID)
			continue
		}
		if err := f.start(o.ID, tasks); err != nil {
			return err
		}
	}
	s.done()
	if len(s.queue) == 0 {
		for _, o := range s.kept {
			if o.Deadline.IsZero() || s.w.time().Before(o.Deadline) {
				declined = append(declined, o.ID)
			}
		}
		s.kept = nil
		if err := f.Suppress(s.w.time()); err != nil {
			return err
		}
	}
	if len(declined) > 0 {
		if err := f.Decline(s.w.time(), f.refuse, declined...); err != nil {
			return err
		}
	}
	return s.begin()
}

// done notes that the thinker has come to an end with the first job, or with one
// attempt at it.
func (s *thinker) done() {
	s.busy = false
	if s.queue[0].left == 0 {
		s.queue[0].placed()
		s.queue = s.queue[1:]
	}
}

// answered starts the first job on a gang offer.
func (s *thinker) answered(a offers.Answer) error {
	if a.Reason != nil {
		return a.Reason
	}
	for _, o := range a.Offers {
		if err := s.framework.start(o.ID, []task{{need: slot, length: s.lengths()}}); err != nil {
			return err
		}
	}
	s.queue[0].left -= len(a.Offers)
	s.done()
	return s.begin()
}

// plan looks for room in a snapshot of the cell as it is.
func (s *thinker) plan() *omega.Txn {
	tx := &omega.Txn{}
	snapshot := s.scheduler.Snapshot()
	snapshot.Refresh(s.w.time())
	snapshot.Place(omega.Query{Need: slot}, omega.WorstFit(), s.queue[0].left, func(m omega.MachineID, tasks int) {
		for range tasks {
			tx.Claim(omega.Claim{Machine: m, Need: slot})
		}
	})
	return tx
}

// commit takes what is still there of what was planned.
func (s *thinker) commit(tx *omega.Txn) error {
	granted := 0
	if tx.Len() > 0 {
		var err error
		if granted, err = s.scheduler.Commit(tx); err != nil {
			return err
		}
	}
	for i := range tx.Len() {
		if id, ok := tx.Allocation(i); ok {
			s.w.after(s.lengths(), func() error { return s.scheduler.Release(id) })
		}
	}
	s.queue[0].left -= granted
	s.done()
	return s.begin()
}
