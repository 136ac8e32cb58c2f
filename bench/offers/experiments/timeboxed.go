package experiments

import (
	"time"

	"github.com/cellsched/cellsched/offers"
	"github.com/cellsched/cellsched/omega"
)

// turns is a time box of two schedulers. A scheduler that has nothing to do, or cannot,
// hands it on if the other one waits for it.
type turns struct {
	w       *world
	box     *offers.TimeBox
	parties []*party
}

// party is a scheduler of a box, with jobs in the order in which they came.
type party struct {
	turns     *turns
	scheduler *omega.Scheduler
	think     time.Duration
	lengths   func() time.Duration
	queue     []*order
	thinking  bool
	stuck     bool // there was no room for its first job
}

// newTurns returns a box of that slice.
func newTurns(w *world, slice time.Duration, parties ...*party) (*turns, error) {
	t := &turns{w: w, parties: parties}
	var schedulers []*omega.Scheduler
	for _, p := range parties {
		p.turns = t
		schedulers = append(schedulers, p.scheduler)
	}
	var err error
	if t.box, err = offers.NewTimeBox(w.time(), slice, nil, schedulers...); err != nil {
		return nil, err
	}
	w.after(0, t.tick)
	return t, nil
}

// tick sees to it that no scheduler misses the end of a slice.
func (t *turns) tick() error {
	_, until := t.box.Step(t.w.time())
	t.w.after(max(until.Sub(t.w.time()), time.Millisecond), t.tick)
	return t.look()
}

// look lets the scheduler that has the turn do its work, and hands the box on when
// there is none.
func (t *turns) look() error {
	for range t.parties {
		holder, _ := t.box.Step(t.w.time())
		for _, p := range t.parties {
			if p.scheduler != holder {
				continue
			}
			if err := p.begin(); err != nil || p.thinking {
				return err
			}
		}
		other := false
		for _, p := range t.parties {
			other = other || p.scheduler != holder && len(p.queue) > 0 && !p.stuck
		}
		if !other {
			return nil
		}
		t.box.Yield(t.w.time(), holder)
	}
	return nil
}

// submit adds a job.
func (p *party) submit(o *order) error {
	p.queue = append(p.queue, o)
	return p.turns.look()
}

// begin decides about the jobs in turn, each for as long as that takes.
func (p *party) begin() error {
	for !p.thinking && !p.stuck && len(p.queue) > 0 {
		tx := plan(p.turns.w, p.scheduler, p.queue[0].left)
		if tx.Len() == 0 {
			p.stuck = true // until something ends
			return nil
		}
		if p.think == 0 {
			if err := p.commit(tx); err != nil {
				return err
			}
			continue
		}
		p.thinking = true
		p.turns.w.after(p.think, func() error {
			p.thinking = false
			if err := p.commit(tx); err != nil {
				return err
			}
			return p.turns.look()
		})
	}
	return nil
}

// commit starts the tasks that were decided, if it is still this one's turn.
func (p *party) commit(tx *omega.Txn) error {
	ids, err := granted(p.scheduler, tx)
	if err != nil {
		return err
	}
	for _, id := range ids {
		p.turns.w.after(p.lengths(), func() error { return p.release(id) })
	}
	first := p.queue[0]
	if first.left -= len(ids); first.left == 0 {
		first.placed()
		p.queue = p.queue[1:]
	}
	return nil
}

// release ends a task.
func (p *party) release(id omega.AllocationID) error {
	for _, one := range p.turns.parties {
		one.stuck = false
	}
	if err := p.scheduler.Release(id); err != nil {
		return err
	}
	return p.turns.look()
}
