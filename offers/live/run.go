package live

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"sync"
	"time"

	"github.com/cellsched/cellsched/offers"
)

// ErrInterval is what Run fails with where the interval is negative.
var ErrInterval = errors.New("live: invalid interval")

// Member is a framework and what decides for it.
type Member struct {
	// Registration says who it is. Notify must be nil: Run sets it.
	Registration offers.Registration
	// Handle is called with whatever is new to the framework, one call at a time.
	// It answers through f, then or later, and should return when ctx is done. If
	// it returns an error, or panics, those offers are declined that came with the
	// news and that it has not answered.
	Handle func(ctx context.Context, f *offers.Framework, news offers.News) error
}

// Config is how a master and its frameworks are run.
type Config struct {
	// Interval is how long after one [offers.Master.Step] the next one comes at
	// the latest, which is when changes are seen that schedulers outside of the
	// master have made; 0 is [offers.DefaultInterval].
	Interval time.Duration
	// Failed, if not nil, is called with each error of a framework, also with a
	// [PanicError], on the framework's goroutine.
	Failed func(framework string, err error)
}

// PanicError says that a framework's Handle has panicked.
type PanicError struct {
	Framework string
	Value     any
	Stack     []byte
}

// Error names the framework and what it panicked with.
func (e *PanicError) Error() string {
	return fmt.Sprintf("live: framework %q: panic: %v", e.Framework, e.Value)
}

// Unwrap returns what it panicked with, if that is an error.
func (e *PanicError) Unwrap() error {
	err, _ := e.Value.(error)
	return err
}

// Run registers the members and runs them until ctx is done, or the master is
// replaced by a successor. Then they are disconnected: so their tasks end, unless
// their failover says otherwise. The frameworks of a master may be run by several
// calls at once.
//
// It returns once all goroutines have ended, which those do whose Handle heeds
// its context, with the cause and, for each framework that has failed, the first
// error, joined. Errors of a registration end it before it begins.
func Run(ctx context.Context, m *offers.Master, cfg Config, members ...Member) error {
	if cfg.Interval < 0 {
		return fmt.Errorf("%w: %v: want 0 or more", ErrInterval, cfg.Interval)
	}
	if cfg.Interval == 0 {
		cfg.Interval = offers.DefaultInterval
	}
	runs := make([]*running, 0, len(members))
	for _, member := range members {
		r := &running{member: member, cfg: cfg, wake: make(chan struct{}, 1)}
		reg := member.Registration
		reg.Notify = func() {
			select {
			case r.wake <- struct{}{}:
			default: // it is to be woken already
			}
		}
		var err error
		if r.f, err = m.Register(time.Now(), reg); err != nil {
			for _, r := range runs {
				r.leave()
			}
			return err
		}
		runs = append(runs, r)
	}

	ctx, stop := context.WithCancelCause(ctx)
	var all sync.WaitGroup
	for _, r := range runs {
		all.Go(func() { r.run(ctx) })
	}
	stop(step(ctx, m, cfg.Interval))
	all.Wait()
	errs := []error{context.Cause(ctx)}
	for _, r := range runs {
		errs = append(errs, r.failed)
	}
	return errors.Join(errs...)
}

// step tells the master the time until ctx is done.
func step(ctx context.Context, m *offers.Master, interval time.Duration) error {
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-timer.C:
		}
		if err := m.Step(time.Now()); err != nil {
			return err
		}
		wait := interval
		if next, ok := m.Next(); ok {
			wait = max(0, min(wait, time.Until(next)))
		}
		timer.Reset(wait)
	}
}

// running is a member that runs.
type running struct {
	member Member
	cfg    Config
	f      *offers.Framework
	wake   chan struct{} // holds one if there is news
	failed error         // the first
}

// run passes on the news until ctx is done, or nobody listens any more.
func (r *running) run(ctx context.Context) {
	defer r.leave()
	for {
		select {
		case <-ctx.Done():
			return
		case <-r.wake:
		}
		if ctx.Err() != nil {
			return // both were ready
		}
		news, err := r.f.News(time.Now())
		switch {
		case errors.Is(err, offers.ErrUnregistered):
			return // it has left by itself
		case err != nil:
			r.fail(err)
			return
		}
		if err := r.handle(ctx, news); err != nil {
			r.fail(err)
			r.decline(news)
		}
	}
}

// handle calls the framework, and turns a panic into an error.
func (r *running) handle(ctx context.Context, news offers.News) (err error) {
	defer func() {
		if v := recover(); v != nil {
			err = &PanicError{r.member.Registration.Name, v, debug.Stack()}
		}
	}()
	return r.member.Handle(ctx, r.f, news)
}

// decline declines what came with the news, as far as it is not answered.
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
	// What can not be declined is answered, or has ended.
	_ = r.f.Decline(time.Now(), offers.Span{}, ids...)
}

func (r *running) fail(err error) {
	if r.failed == nil {
		r.failed = err
	}
	if r.cfg.Failed != nil {
		r.cfg.Failed(r.member.Registration.Name, err)
	}
}

// leave disconnects the framework, unless it has left or was replaced.
func (r *running) leave() {
	err := r.f.Disconnect(time.Now())
	if err != nil && !errors.Is(err, offers.ErrUnregistered) && !errors.Is(err, offers.ErrFenced) {
		r.fail(err)
	}
}
