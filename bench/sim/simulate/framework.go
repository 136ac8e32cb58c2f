package simulate

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/cellsched/cellsched/offers"
)

// framework is a scheduler of a two-level architecture: Omega paper, section 4.2.
// It decides about the first job of its queue on the room that it had been offered when
// it began. No other framework can have that meanwhile. Then it gives back the rest
// of that. Room that it is offered while it decides is for the next time.
//
//	revive ──▶ kept ──▶ looked at, planned ── think ──▶ accept, decline ──▶ suppress
//	a job      offers   begin                           decide              no job is left
//
// One that asks is offered nothing of itself: it thinks first, and then requests a
// gang offer.
type framework struct {
	sim    *simulation
	number int32
	spec   *Scheduler
	handle *offers.Framework
	rand   *rand.Rand
	reach  int // how many machines it may be offered
	load   Load
	locked usage // the room that it is offered

	queue []*order // the next first
	later []*order // that come back to the queue, the next first
	quiet bool     // it wants no offers
	kept  []offers.Offer

	phase   phase
	attempt attempt
	looked  []offers.Offer // that the attempt is on
	plan    []launch
}

// order is a job as a framework sees it.
type order struct {
	job, left        int // left are tasks
	attempts, placed int
	until            time.Duration // when it comes back to the queue
}

// launch is so many tasks that are to be started on an offer, unless that is gone.
type launch struct {
	on    offers.Offer
	tasks int
	gone  bool
}

// phase is the progress of an attempt.
type phase uint8

const (
	idle     phase = iota
	thinking       // until the attempt ends
	asking         // until the request is answered
)

func newFramework(s *simulation, number int) (*framework, error) {
	f := &framework{sim: s, number: int32(number), spec: &s.cfg.Architecture.Schedulers[number]}
	f.rand = rand.New(rand.NewPCG(s.cfg.Seed, schedulerStream+uint64(number)))
	f.load.Name, f.load.Serves = f.spec.Name, f.spec.Serves
	wants := f.spec.Wants
	wants.Name, wants.Machines = f.spec.Name, f.spec.Part.mask(s.cfg.Cell.Machines)
	wants.Notify = func() { s.master.told = append(s.master.told, f) }
	f.reach = len(s.within(wants.Machines))
	var err error
	if f.handle, err = s.master.Register(s.clock(), wants); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrConfig, err)
	}
	return f, f.rest()
}

func (f *framework) submit(_ context.Context, job, tasks int) error {
	f.sim.jobs.begin(job, f.sim.now)
	f.queue = append(f.queue, &order{job: job, left: tasks})
	return f.proceed()
}

func (f *framework) wake(context.Context) error {
	for len(f.later) > 0 && f.later[0].until <= f.sim.now {
		f.queue, f.later = append(f.queue, f.later[0]), f.later[1:]
	}
	if f.phase == thinking && f.attempt.ends <= f.sim.now {
		if err := f.decide(); err != nil {
			return err
		}
	}
	return f.proceed()
}

// hear reads the news of the master, and goes on with that.
func (f *framework) hear() error {
	answers, err := f.read()
	if err != nil {
		return err
	}
	for _, a := range answers {
		if err := f.answered(a); err != nil {
			return err
		}
	}
	return f.proceed()
}

// read takes in which offers there are now. There are answers only while it asks.
func (f *framework) read() ([]offers.Answer, error) {
	news, err := f.handle.News(f.sim.clock())
	if err != nil {
		return nil, err
	}
	if len(news.Ended) > 0 {
		ended := make(map[offers.OfferID]bool, len(news.Ended))
		for _, e := range news.Ended {
			ended[e.Offer] = true
		}
		f.kept = slices.DeleteFunc(f.kept, func(o offers.Offer) bool { return ended[o.ID] })
		f.looked = slices.DeleteFunc(f.looked, func(o offers.Offer) bool { return ended[o.ID] })
		for i := range f.plan {
			f.plan[i].gone = f.plan[i].gone || ended[f.plan[i].on.ID]
		}
	}
	f.kept = append(f.kept, news.Offers...)
	return news.Answers, nil
}

// proceed does all that can be done without waiting.
func (f *framework) proceed() error {
	if f.phase != idle {
		return nil
	}
	if len(f.queue)+len(f.later) == 0 {
		return f.rest()
	}
	if f.quiet && !f.spec.Asks {
		f.quiet = false
		if err := f.handle.Revive(f.sim.clock()); err != nil {
			return err
		}
	}
	if len(f.queue) > 0 && (f.spec.Asks || len(f.kept) > 0) {
		f.begin()
	}
	return nil
}

// rest gives back all that it is offered, and wants no more.
func (f *framework) rest() error {
	if err := f.suppress(); err != nil {
		return err
	}
	if _, err := f.read(); err != nil {
		return err
	}
	back := f.kept
	f.kept = nil
	return f.decline(back)
}

func (f *framework) suppress() error {
	if f.quiet {
		return nil
	}
	f.quiet = true
	return f.handle.Suppress(f.sim.clock())
}

// decline gives back offers, to be offered anything at once.
func (f *framework) decline(back []offers.Offer) error {
	ids := make([]offers.OfferID, 0, len(back))
	for _, o := range back {
		if f.lasts(&o) {
			ids = append(ids, o.ID)
		}
	}
	if len(ids) == 0 {
		return nil
	}
	return f.handle.Decline(f.sim.clock(), offers.For(0), ids...)
}

func (f *framework) release(t *tasks) error { return f.handle.Release(f.sim.clock(), t.held...) }

func (f *framework) measured() Load {
	f.load.Locked = f.locked.mean(&f.sim.cfg.Cell, f.sim.now)
	f.load.closeDays(f.sim.now)
	return f.load
}
