package late

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"sync"
)

// ErrLost is the cause that cancels the contexts of a race's other attempts after
// one has won.
var ErrLost = errors.New("late: another attempt has won")

// ErrOver reports a race that is over: an attempt has won it, or all of its
// attempts have left.
var ErrOver = errors.New("late: the race is over")

// Race takes the result of the first of several attempts at a task. It cancels the
// others, and releases the resources of each attempt once.
//
// The zero Race waits for its first attempt. It ends when one attempt wins or the
// last one in it fails. A task that is to be tried again has a new Race. All
// methods are safe for concurrent use. No mutex is held while the caller's
// functions run. A Race must not be copied.
type Race[T any] struct {
	mu     sync.Mutex
	over   bool
	in     []*Entry[T]
	won    bool
	value  T
	failed []error
	done   chan struct{} // closed when over, for Wait
}

// Entry is one attempt's part in a race. The zero Entry is in none: its methods do
// nothing. They are safe for concurrent use; the first call of Finish or Fail counts,
// the others do nothing.
type Entry[T any] struct {
	race    *Race[T]
	cancel  context.CancelCauseFunc
	release func()
	left    bool // under race.mu
}

// Enter adds an attempt. Its work goes on under the context returned, which is
// cancelled with [ErrLost] when another attempt wins.
//
// Release, if not nil, releases the resources of the attempt, such as its claim. It
// runs once, when the attempt leaves by [Entry.Finish] or [Entry.Fail]: a loser
// holds its claim until it has stopped.
//
// Errors, after which nothing is released: [ErrOver] for a race that is over,
// [resources.ErrNil] without a context.
func (r *Race[T]) Enter(ctx context.Context, release func()) (context.Context, *Entry[T], error) {
	switch {
	case r == nil:
		return nil, nil, absent("race")
	case ctx == nil:
		return nil, nil, absent("context")
	}
	ctx, cancel := context.WithCancelCause(ctx)
	e := &Entry[T]{race: r, cancel: cancel, release: release}
	r.mu.Lock()
	over := r.over
	if !over {
		r.in = append(r.in, e)
	}
	r.mu.Unlock()
	if over {
		cancel(ErrOver)
		return nil, nil, ErrOver
	}
	return ctx, e, nil
}

// Finish offers the attempt's result and leaves the race. It reports whether this
// is the first result, which is taken. If so, the contexts of the others are
// cancelled before Finish returns. The linearization point is inside; it does not
// wait for the others.
func (e *Entry[T]) Finish(value T) (won bool) {
	if e == nil || e.race == nil {
		return false
	}
	r := e.race
	r.mu.Lock()
	if e.left {
		r.mu.Unlock()
		return false
	}
	e.left = true
	var losers []*Entry[T]
	if !r.over {
		won = true
		r.won, r.value = true, value
		losers = r.end()
	}
	r.mu.Unlock()
	for _, l := range losers {
		if l != e {
			l.cancel(ErrLost)
		}
	}
	e.leave()
	return won
}

// Fail leaves the race without a result. The others go on; if there are none, the
// race is over. An attempt that has lost leaves by Fail too, and its error is
// ignored.
func (e *Entry[T]) Fail(err error) {
	if e == nil || e.race == nil {
		return
	}
	if err == nil {
		err = errors.New("late: an attempt failed")
	}
	r := e.race
	r.mu.Lock()
	if e.left {
		r.mu.Unlock()
		return
	}
	e.left = true
	if !r.over {
		r.failed = append(r.failed, err)
		if len(r.failed) == len(r.in) {
			r.end()
		}
	}
	r.mu.Unlock()
	e.leave()
}

// Run enters the race, does the work in the calling goroutine and leaves the race:
// by [Entry.Finish] if the error is nil, else by [Entry.Fail]. It reports whether
// the result was taken.
//
// Errors: the work's error, [ErrOver], or [resources.ErrNil] without a context or
// work. Release runs once in each of these cases. A panic of the work counts as its
// failure and is returned as an error with the stack.
func (r *Race[T]) Run(ctx context.Context, release func(), work func(context.Context) (T, error)) (won bool, err error) {
	var e *Entry[T]
	if work == nil && r != nil && !r.ended() {
		err = absent("work of an attempt")
	} else {
		ctx, e, err = r.Enter(ctx, release)
	}
	if err != nil {
		if release != nil {
			release()
		}
		return false, err
	}
	returned := false
	defer func() {
		if !returned { // a panic, or runtime.Goexit, which recover passes by
			err = fmt.Errorf("late: the work panicked: %v\n%s", recover(), debug.Stack())
			e.Fail(err)
		}
	}()
	value, err := work(ctx)
	returned = true
	if err != nil {
		e.Fail(err)
		return false, err
	}
	return e.Finish(value), nil
}

// Wait blocks until the race is over and returns the winner's result, or the
// errors of all attempts, joined in the order in which they failed. A cancelled
// context returns its cause, and the race goes on; no context is
// [resources.ErrNil].
func (r *Race[T]) Wait(ctx context.Context) (T, error) {
	var zero T
	switch {
	case r == nil:
		return zero, absent("race")
	case ctx == nil:
		return zero, absent("context")
	}
	r.mu.Lock()
	over := r.over
	if !over && r.done == nil {
		r.done = make(chan struct{})
	}
	done := r.done
	r.mu.Unlock()
	if !over {
		select {
		case <-done:
		case <-ctx.Done():
			return zero, context.Cause(ctx)
		}
	}
	// The fields below were written before the race was over and not since.
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.won {
		return r.value, nil
	}
	return r.value, errors.Join(r.failed...)
}

// ended reports whether the race is over. It does not begin again.
func (r *Race[T]) ended() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.over
}

// end ends the race, with r.mu held, and returns its attempts.
func (r *Race[T]) end() []*Entry[T] {
	in := r.in
	r.over, r.in = true, nil
	if r.done != nil {
		close(r.done)
	}
	return in
}

// leave releases the resources of the attempt. Only the call that set left gets
// here.
func (e *Entry[T]) leave() {
	e.cancel(context.Canceled)
	if e.release != nil {
		e.release()
	}
}
