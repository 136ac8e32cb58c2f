//go:build explore

package explore

import (
	"fmt"
	"runtime/debug"

	"github.com/cellsched/cellsched/omega/internal/atomics"
)

// Run is one run of a scenario, in one schedule.
type Run struct {
	explorer *explorer
	threads  []*thread
	check    func() error
	history  []Operation
	clock    int64

	turn        *thread // goes on; nil when none can, or none should
	options     []*thread
	steps       int
	preemptions int
	err         error

	pending []pending      // by decision
	touched map[any]*touch // by object
	trace   *trace         // nil in most runs
}

// thread is one of a run.
type thread struct {
	name string
	on   *coroutine

	begun, ended bool
	op           string // the operation that it stands before, or did last
	object       any
	ready        func() bool // says whether it can be done; nil: it can
	calling      int         // the operation of the history that it has begun without a step yet, plus one
}

func (t *thread) runnable() bool { return !t.ended && (t.ready == nil || t.ready()) }

// Go adds a thread. The scenario calls it, before the run begins. Code of the body
// before the first atomic operation runs in one step with it; code after an
// operation runs in one step with that operation. The body must not end its
// goroutine, as require does in a test: the check judges its results.
func (r *Run) Go(name string, body func()) {
	t := &thread{name: name, on: r.explorer.coroutine(len(r.threads))}
	t.on.body = func() {
		defer func() {
			t.ended = true
			if p := recover(); p != nil && p != (abandoned{}) && r.err == nil {
				r.err = fmt.Errorf("explore: thread %s panics: %v\n%s", t.name, p, debug.Stack())
			}
		}()
		body()
	}
	r.threads = append(r.threads, t)
}

// Check sets what is to hold when all threads have ended.
func (r *Run) Check(check func() error) { r.check = check }

// run runs the scenario in the schedule that is next.
func (x *explorer) run(scenario func(*Run), traced bool) *Run {
	r := &Run{explorer: x, touched: x.touched, pending: x.pending[:0]}
	clear(r.touched)
	if traced {
		r.trace = &trace{}
	}
	defer func() {
		atomics.SetHook(nil)
		for _, t := range r.threads {
			if t.begun && !t.ended {
				t.on.abandon()
			}
		}
		x.pending = r.pending
	}()
	scenario(r)
	hook := &atomics.Hook{Step: r.step, Result: r.result, Choose: r.choose}
	for r.turn = r.pick(nil); r.turn != nil; {
		t := r.turn
		atomics.SetHook(hook)
		t.on.resume()
		atomics.SetHook(nil)
		if t.ended {
			r.turn = r.pick(nil)
		}
	}
	x.learn(r)
	if n := len(r.pending); r.err == nil && n < len(x.path) {
		r.err = fmt.Errorf("%w: it ended after %d decisions of %d", ErrNotRepeatable, n, len(x.path))
	}
	if r.err == nil && r.check != nil {
		r.err = r.check()
	}
	return r
}

// step is called in the thread that has the turn, before an operation, and
// returns when it is its turn to do it.
func (r *Run) step(op string, object any, ready func() bool) {
	t := r.turn
	first := !t.begun
	t.begun, t.op, t.object, t.ready = true, op, object, ready
	// The turn is given for an operation. Whatever came before the first was no
	// step, and no reason to decide again.
	if !first || !t.runnable() {
		if r.turn = r.pick(t); r.turn != t {
			t.on.pause()
		}
	}
	t.ready = nil
	r.steps++
	r.touch(t)
	r.stamp(t)
	if r.trace != nil {
		r.trace.add(t)
	}
}

func (r *Run) result(ok bool) {
	if r.trace != nil && !ok {
		r.trace.steps[len(r.trace.steps)-1].Failed = true
	}
}

// pick returns the thread that goes on. Cur is the one that had the turn,
// unless it has ended.
func (r *Run) pick(cur *thread) *thread {
	if r.err == nil && r.steps >= r.explorer.steps {
		r.err = fmt.Errorf("%w of %d", ErrLivelock, r.explorer.steps)
	}
	if r.err != nil {
		return nil
	}
	r.options = r.options[:0]
	goesOn := cur != nil && cur.runnable()
	if goesOn {
		r.options = append(r.options, cur)
	}
	for _, t := range r.threads {
		if t != cur && t.runnable() {
			r.options = append(r.options, t)
		}
	}
	n := len(r.options)
	if n == 0 {
		r.err = r.deadlock()
		return nil
	}
	d := decision{options: n, limit: n, preempts: goesOn}
	if goesOn && r.preemptions == r.explorer.bound {
		d.limit = 1
	}
	i := r.decide(d, cur)
	if r.err != nil {
		return nil
	}
	if goesOn && i > 0 {
		r.preemptions++
		if r.trace != nil {
			r.trace.preempted = cur.name
		}
	}
	return r.options[i]
}

// deadlock returns nil if all threads have ended.
func (r *Run) deadlock() error {
	var err error
	for _, t := range r.threads {
		if t.ended {
			continue
		}
		if err == nil {
			err = ErrDeadlock
		}
		err = fmt.Errorf("%w; %s: %s %s", err, t.name, t.op, typeName(t.object))
	}
	return err
}

// choose decides what chance would have.
func (r *Run) choose(n int) int { return r.decide(decision{options: n, limit: n}, nil) }

// decide takes a decision, before an operation of cur if it preempts that.
func (r *Run) decide(d decision, cur *thread) int {
	if d.options == 1 {
		return 0
	}
	i, err := r.explorer.decide(len(r.pending), d)
	if err != nil {
		r.err = err
	}
	var p pending
	if d.preempts {
		p = pending{cur.object, cur.ready != nil || cur.calling > 0}
	}
	r.pending = append(r.pending, p)
	return i
}
