package loop

import (
	"context"
	"runtime/debug"
	"slices"
	"time"

	"github.com/cellsched/cellsched/resources"
)

// Run steps the loop by the clock until ctx is done, and returns its cause.
//
// It sleeps while there is nothing to do. Where the [omega.Store] has WaitAny, it is
// woken when room appears for a job that waits for it. For a gang the loop wakes when
// there may be room for all of its tasks. Where the Store has WaitMark, Run is woken
// when an allocation is preempted or lost.
//
// It returns the error of a Step; a callback that panics is returned as a [PanicError].
// In each case the loop is in order, and Run may be called again. An event has reported
// each claim of the loop, but for claims with an unknown outcome, which are reported
// later. The goroutines that Run starts to wait have ended when it returns.
func (l *Loop[K]) Run(ctx context.Context) error {
	if l.none() {
		return absent("receiver")
	}
	if w, ok := l.cfg.Store.(waiter); ok {
		defer w.Pass()
	}
	if l.marker != nil {
		defer l.awaitMarks(ctx)()
	}
	for {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		next, ok, err := l.live(ctx)
		if err != nil {
			return err
		}
		if d := time.Until(next); !ok || d > 0 {
			l.sleep(ctx, d, ok)
		}
	}
}

// live is Step now. It measures the time of the step, and turns a panic into an
// error: outside of a step no callback runs that could panic.
func (l *Loop[K]) live(ctx context.Context) (next time.Time, ok bool, err error) {
	start := time.Now()
	l.running, l.attempt.ended = true, false
	defer func() {
		l.running = false
		if l.attempt.ended {
			now := time.Now()
			l.meter.spent(now.Sub(start), l.attempt.useful)
			l.meter.took(l.attempt.took + now.Sub(start))
			l.meter.tick(now)
		}
		if r := recover(); r != nil {
			e := &PanicError{Value: r, Stack: debug.Stack()}
			if l.handing != nil {
				e.Allocations = l.handing.Allocations
				l.handing = nil
			}
			next, ok, err = time.Time{}, false, e
		}
	}()
	return l.Step(ctx, start)
}

// sleep waits for d, if there is an end, or until something is new.
func (l *Loop[K]) sleep(ctx context.Context, d time.Duration, ends bool) {
	var timer <-chan time.Time
	if ends {
		t := time.NewTimer(d)
		defer t.Stop()
		timer = t.C
	}
	room, stop := l.awaitRoom(ctx)
	defer stop()
	select {
	case <-ctx.Done():
	case <-timer:
	case <-l.wake:
	case err := <-room:
		if err == nil {
			l.ask(recheckRoom)
		} else {
			// It cannot wait, so the timer has to do.
			select {
			case <-ctx.Done():
			case <-timer:
			case <-l.wake:
			}
		}
	}
}

// awaitMarks starts a goroutine that waits for marks and requests a step for each.
// Stop ends the goroutine and waits for it. If the store cannot wait, each step reads
// the marks.
func (l *Loop[K]) awaitMarks(ctx context.Context) (stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	done := make(chan struct{})
	l.watched.Store(true)
	l.ask(recheckMarks)
	go func() {
		defer close(done)
		defer l.watched.Store(false)
		for l.marker.WaitMark(ctx) == nil {
			l.ask(recheckMarks)
			l.signal()
		}
	}()
	return func() { cancel(); <-done }
}

// awaitRoom starts to wait for room for the least that any job waits for. Stop
// ends that and returns when it has ended.
func (l *Loop[K]) awaitRoom(ctx context.Context) (room <-chan error, stop func()) {
	w, ok := l.cfg.Store.(waiter)
	if !ok || l.attempt.p != nil {
		return nil, func() {}
	}
	gangs := l.least()
	if len(gangs) == 0 {
		w.Pass()
		return nil, func() {}
	}
	ctx, cancel := context.WithCancel(ctx)
	told, done := make(chan error, 1), make(chan struct{})
	go func() {
		defer close(done)
		told <- w.WaitAny(ctx, gangs...)
	}()
	return told, func() { cancel(); <-done }
}

// least returns lower bounds of the needs of the jobs that wait for room. Jobs that
// need the same kinds count as one gang. Its number of tasks, and its need of each
// kind, are the minima over these jobs.
func (l *Loop[K]) least() (gangs [][]resources.Vector) {
	type gang struct {
		need  resources.Vector
		tasks int
	}
	var all []gang
	place := make(map[uint]int)
	for _, t := range l.backoffs.list {
		p := t.p
		if !p.searching {
			continue
		}
		kinds := uint(0)
		for k, q := range p.job.Need {
			if q > 0 {
				kinds |= 1 << k
			}
		}
		i, known := place[kinds]
		if !known {
			i = len(all)
			place[kinds] = i
			all = append(all, gang{p.job.Need, p.atOnce()})
		}
		all[i] = gang{all[i].need.Min(p.job.Need), min(all[i].tasks, p.atOnce())}
	}
	if l.held { // for anything to be released
		for k, one := range l.kinds {
			if one > 0 {
				need := resources.Vector{}
				need[k] = 1
				all = append(all, gang{need, 1})
			}
		}
	}
	for _, g := range all {
		gangs = append(gangs, slices.Repeat([]resources.Vector{g.need}, g.tasks))
	}
	return gangs
}
