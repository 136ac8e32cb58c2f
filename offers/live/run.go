package live

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/cellsched/cellsched/internal/fault"
	"github.com/cellsched/cellsched/offers"
	"github.com/cellsched/cellsched/resources"
)

// Errors of [Run] before it has changed anything.
var (
	// errInterval reports that the interval is negative.
	errInterval = fault.Text("live: invalid interval", offers.ErrConfig)
	// errMember reports a member without a Handle, or with a Notify of its own.
	errMember = fault.Text("live: invalid member", offers.ErrConfig)
)

// Member is a framework together with the function that decides for it.
type Member struct {
	// Registration names the framework and its wishes. Notify must be nil: Run sets it.
	Registration offers.Registration
	// Handle is called with the news of the framework, one call at a time. The first call
	// comes at the start, also without news: a framework that is offered nothing may want to
	// make a request, or to suppress its offers.
	//
	// Handle answers through f, then or later, and should return when ctx is done. If it
	// returns an error, or panics, Run declines the offers of the news that it has not
	// answered.
	//
	// An offer may have ended before the answer, which then fails with [offers.ErrRescinded]
	// or [offers.ErrExpired]. Handle should not return such an error unless the other offers
	// are to be declined.
	Handle func(ctx context.Context, f *offers.Framework, news offers.News) error
}

func (m *Member) check() error {
	switch {
	case m.Handle == nil:
		return fmt.Errorf("%w: framework %s has no Handle", errMember, fault.Quote(m.Registration.Name))
	case m.Registration.Notify != nil:
		return fmt.Errorf("%w: framework %s has a Notify: want nil, since Run sets it", errMember, fault.Quote(m.Registration.Name))
	}
	return nil
}

// Config holds the settings of [Run].
type Config struct {
	// Interval is the longest time from one [offers.Master.Step] to the next; 0 is
	// [offers.DefaultInterval]. Step sees the changes that schedulers outside of the master
	// have made.
	Interval time.Duration
	// Failed, if not nil, is called with each error of a framework, also with a
	// [PanicError], on the framework's goroutine.
	Failed func(framework string, err error)
}

// Run registers the members and runs them. It ends when ctx is done, when a successor
// replaces the master, or when an [offers.Order] panics in a Step. Then the members are
// disconnected, so their tasks end unless Registration.Failover is longer. A member whose
// framework is taken over or disconnected by another caller ends at once, and the others
// go on. The frameworks of a master may be run by several calls at once.
//
// Run returns once all goroutines have ended; a goroutine ends if its Handle heeds its
// context. The error joins the cause and, for each framework that has failed, its first
// error.
//
// Errors before it begins: [resources.ErrNil] without a context, [offers.ErrConfig] for a
// negative interval and for a member without a Handle or with a Notify of its own, those of [offers.Master.Register]. Run checks all members before it
// registers the first, so nothing has changed then. There is one exception: a
// registration by another caller in between can make a later member fail. Then the
// members that were registered before it are disconnected.
func Run(ctx context.Context, m *offers.Master, cfg Config, members ...Member) error {
	if ctx == nil {
		return fault.New("live", "context", resources.ErrNil)
	}
	if cfg.Interval < 0 {
		return fmt.Errorf("%w: %v: want 0 or more", errInterval, cfg.Interval)
	}
	if cfg.Interval == 0 {
		cfg.Interval = offers.DefaultInterval
	}
	runs, err := register(m, cfg, members)
	if err != nil {
		return err
	}
	ctx, stop := context.WithCancelCause(ctx)
	var all sync.WaitGroup
	for _, r := range runs {
		all.Go(func() { r.run(ctx) })
	}
	func() {
		defer all.Wait() // also if an Order ends the goroutine
		defer func() { stop(err) }()
		err = step(ctx, m, cfg.Interval)
	}()
	errs := []error{context.Cause(ctx)}
	for _, r := range runs {
		errs = append(errs, r.failed, r.unheard)
	}
	return errors.Join(errs...)
}

// register registers all members, or none if that is known before.
func register(m *offers.Master, cfg Config, members []Member) ([]*running, error) {
	runs := make([]*running, len(members))
	registrations := make([]offers.Registration, len(members))
	for i, member := range members {
		if err := member.check(); err != nil {
			return nil, err
		}
		r := &running{member: member, cfg: cfg, wake: make(chan struct{}, 1)}
		r.member.Registration.Notify = r.ring
		runs[i], registrations[i] = r, r.member.Registration
	}
	if err := m.Admits(registrations...); err != nil {
		return nil, err
	}
	for i, r := range runs {
		err := r.guard(func() (err error) {
			r.f, err = m.Register(time.Now(), registrations[i])
			return err
		})
		if err != nil {
			for _, r := range runs[:i] {
				r.leave()
			}
			return nil, err
		}
	}
	return runs, nil
}

// step tells the master the time until ctx is done: when something is due, and
// at the latest an interval after it did so last.
func step(ctx context.Context, m *offers.Master, interval time.Duration) error {
	timer := time.NewTimer(0)
	defer timer.Stop()
	var latest time.Time
	var sooner <-chan struct{}
	for {
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-sooner: // and nothing to do yet
		case <-timer.C:
			if err := guard("", func() error { return m.StepContext(ctx, time.Now()) }); err != nil {
				return err
			}
			latest = time.Now().Add(interval)
		}
		sooner = m.Sooner()
		due := latest
		if next, ok := m.Next(); ok && next.Before(due) {
			due = next
		}
		timer.Reset(time.Until(due))
	}
}

// running is a member that runs.
type running struct {
	member Member
	cfg    Config
	f      *offers.Framework
	wake   chan struct{} // holds one if Handle is to be called
	failed error         // the first

	unheard error // the first panic of Failed
}

// ring has the news passed on.
func (r *running) ring() {
	select {
	case r.wake <- struct{}{}:
	default: // they are to be already
	}
}

// run passes on the news, at once and whenever there are some. It ends when ctx is done,
// or when the framework has ended or was taken over.
func (r *running) run(ctx context.Context) {
	defer r.leave()
	r.ring()
	begun := false
	for {
		select {
		case <-ctx.Done():
			return
		case <-r.wake:
		}
		if ctx.Err() != nil {
			return // both were ready
		}
		var news offers.News
		err := r.guard(func() (err error) {
			news, err = r.f.News(time.Now())
			return err
		})
		switch {
		case errors.Is(err, offers.ErrUnregistered) && !errors.Is(err, offers.ErrEvicted):
			return // it has left by itself
		case err != nil:
			r.fail(err)
			return
		case begun && isEmpty(&news):
			continue // the master has asked whether it is there
		}
		begun = true
		if err := r.guard(func() error { return r.member.Handle(ctx, r.f, news) }); err != nil {
			r.fail(err)
			r.decline(news)
		}
	}
}

// isEmpty reports whether nothing is new.
func isEmpty(n *offers.News) bool {
	return len(n.Offers)+len(n.Ended)+len(n.Tasks)+len(n.Revoked)+len(n.Spared)+len(n.Leave)+len(n.Answers) == 0 && n.Short == nil
}

// decline declines the offers of the news that are not answered.
func (r *running) decline(news offers.News) {
	ids := make([]offers.OfferID, 0, len(news.Offers))
	for _, o := range news.Offers {
		ids = append(ids, o.ID)
	}
	for _, a := range news.Answers {
		for _, o := range a.Offers {
			ids = append(ids, o.ID)
		}
	}
	err := r.guard(func() error { return r.f.Decline(time.Now(), offers.Span{}, ids...) })
	if _, panicked := errors.AsType[*PanicError](err); panicked {
		r.fail(err)
	} // else what cannot be declined is answered, or has ended
}

// fail notes an error, and reports it.
func (r *running) fail(err error) {
	if r.failed == nil {
		r.failed = err
	}
	if r.cfg.Failed == nil {
		return
	}
	unheard := r.guard(func() error {
		r.cfg.Failed(r.member.Registration.Name, err)
		return nil
	})
	if r.unheard == nil {
		r.unheard = unheard
	}
}

// leave disconnects the framework, unless it has left or was replaced.
func (r *running) leave() {
	err := r.guard(func() error { return r.f.Disconnect(time.Now()) })
	if err != nil && !errors.Is(err, offers.ErrUnregistered) && !errors.Is(err, offers.ErrFenced) {
		r.fail(err)
	}
}

// guard makes a call for the framework that may panic.
func (r *running) guard(call func() error) error { return guard(r.member.Registration.Name, call) }
