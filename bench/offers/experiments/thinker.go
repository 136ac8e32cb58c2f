package experiments

import (
	"context"
	"errors"
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
	party     *party           // of a time box
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
	switch s.manner {
	case boxed:
	case optimist:
		if s.scheduler, err = s.w.cell.Register(r.Name, omega.Limits{}); err != nil {
			return err
		}
	default:
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
		job := &order{left: serviceTasks, placed: s.waits.add(s.w)}
		if s.manner == boxed {
			return s.party.submit(job)
		}
		s.queue = append(s.queue, job)
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

// box has the thinker take turns with a batch scheduler, and returns the function that
// submits a job to that.
func (s *thinker) box(lengths func() time.Duration) (func(tasks int, placed func()) error, error) {
	batch := &party{lengths: lengths}
	s.party = &party{think: s.think, lengths: s.lengths}
	for name, p := range map[string]*party{"batch": batch, "service": s.party} { // in any order
		var err error
		if p.scheduler, err = s.w.cell.Register(name, omega.Limits{}); err != nil {
			return nil, err
		}
	}
	_, err := newTurns(s.w, patientTimeout, batch, s.party)
	return func(tasks int, placed func()) error {
		return batch.submit(&order{left: tasks, placed: placed})
	}, err
}

// locks returns the share of the cell that is kept from others by the room that the
// thinker thinks about.
func (s *thinker) locks() float64 {
	switch {
	case s.party != nil && s.party.thinking:
		return 1
	case s.framework == nil:
		return 0
	}
	_, offered := s.framework.Held()
	return float64(offered[0]) / (pathologyMachines * pathologyMachine)
}

// begin begins to decide, if there is a job to decide about and room to decide on.
func (s *thinker) begin() error {
	if s.busy || len(s.queue) == 0 || s.framework != nil && s.manner != asks && len(s.kept) == 0 {
		return nil
	}
	s.busy = true
	if s.manner == optimist {
		tx := plan(s.w, s.scheduler, s.queue[0].left)
		s.w.after(s.think, func() error { return s.commit(tx) })
		return nil
	}
	n := len(s.kept) // offers that come meanwhile are for the next time
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

// decide starts the tasks of the first job on the room there was, and gives back the
// rest.
func (s *thinker) decide(looked []offers.Offer) error {
	f, first := s.framework, s.queue[0]
	var declined []offers.OfferID
	for _, o := range looked {
		if !o.Deadline.IsZero() && !s.w.time().Before(o.Deadline) {
			continue // too late
		}
		id := s.latest(o)
		tasks := fill(o.Room, slot, func() (task, bool) {
			if first.left == 0 {
				return task{}, false
			}
			first.left--
			return task{length: s.lengths()}, true
		})
		if len(tasks) == 0 {
			declined = append(declined, id)
			continue
		}
		err := f.start(id, tasks)
		if s.manner == shown && (errors.Is(err, omega.ErrConflict) || errors.Is(err, offers.ErrRescinded)) {
			first.left += len(tasks) // others were faster
			continue
		}
		if err != nil {
			return err
		}
	}
	s.done()
	if s.manner == shown {
		return s.renew(declined)
	}
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

// latest returns the offer to answer instead of one: where optimistic offers say
// more by now, the one before has ended.
func (s *thinker) latest(o offers.Offer) offers.OfferID {
	id := o.ID
	for _, later := range s.kept {
		if later.Machine == o.Machine && s.manner == shown {
			id = later.ID
		}
	}
	return id
}

// renew gives back the optimistic offers that are left, so that the next decision is
// made on the room there is then.
func (s *thinker) renew(left []offers.OfferID) error {
	f := s.framework
	if len(s.queue) == 0 {
		if err := f.Suppress(s.w.time()); err != nil {
			return err
		}
	}
	for _, o := range s.kept {
		if !slices.Contains(left, o.ID) {
			left = append(left, o.ID)
		}
	}
	s.kept = nil
	var ended *offers.OfferError // is one that was accepted, or has ended meanwhile
	if err := f.Decline(s.w.time(), f.refuse, left...); err != nil && !errors.As(err, &ended) {
		return err
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

// plan looks for room for so many tasks in a snapshot of the cell as it is.
func plan(w *world, s *omega.Scheduler, most int) *omega.Txn {
	tx := &omega.Txn{}
	snapshot := s.Snapshot()
	snapshot.Refresh(w.time())
	snapshot.Place(omega.Query{Need: slot}, omega.WorstFit(), most, func(m omega.MachineID, tasks int) {
		for range tasks {
			tx.Claim(omega.Claim{Machine: m, Need: slot})
		}
	})
	return tx
}

// granted commits the planned claims, and returns the allocations that were granted.
func granted(s *omega.Scheduler, tx *omega.Txn) (ids []omega.AllocationID, err error) {
	if tx.Len() == 0 {
		return nil, nil
	}
	if _, err := (omega.Local{Scheduler: s}).Commit(context.Background(), tx); err != nil {
		return nil, err
	}
	for i := range tx.Len() {
		if id, ok := tx.Allocation(i); ok {
			ids = append(ids, id)
		}
	}
	return ids, nil
}

// commit takes the part of the planned room that is still there.
func (s *thinker) commit(tx *omega.Txn) error {
	ids, err := granted(s.scheduler, tx)
	if err != nil {
		return err
	}
	for _, id := range ids {
		s.w.after(s.lengths(), func() error { return s.scheduler.Release(id) })
	}
	s.queue[0].left -= len(ids)
	s.done()
	return s.begin()
}
