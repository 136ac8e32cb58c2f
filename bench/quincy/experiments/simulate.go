package experiments

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"time"

	"github.com/cellsched/cellsched/internal/cputime"
	"github.com/cellsched/cellsched/locality"
)

type event struct {
	kind  kind
	count uint32 // of starts of the task: an event of a start that was stopped is void
	task  int
	l     *live
	node  locality.Node
}

type kind uint8

const (
	goesOn kind = iota // a task
	comes              // a job
	decide             // the policy
	leaves             // a task that others had running in a slot
	wants              // others, a slot
)

// stalled is for how long nothing may run while tasks wait.
const stalled = 24 * time.Hour

var errStalled = errors.New("nothing runs")

// simulate has the jobs run, which are in order of their coming, to the end of
// them all. A cancelled ctx ends it with its cause.
func (w *world) simulate(ctx context.Context, jobs []*job) error {
	runtime.LockOSThread() // the policy's time is this thread's
	defer runtime.UnlockOSThread()
	if w.others != nil {
		w.others.begin(w)
	}
	if len(jobs) > 0 {
		w.tally.first = jobs[0].at
	}
	for number, j := range jobs {
		l := &live{job: j, number: number, since: j.at}
		w.events.Push(j.at, event{kind: comes, l: l})
	}
	for i := 0; w.tally.jobs() < len(jobs); i++ {
		if i%1024 == 0 && ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if err := w.step(ctx); err != nil {
			return fmt.Errorf("at %v: %w", w.now, err)
		}
	}
	return w.check(jobs)
}

// step has the next thing happen.
func (w *world) step(ctx context.Context) error {
	next, some := w.events.Next()
	if at, flow, ok := w.core.next(); ok && (!some || at <= next) {
		p := w.over[flow]
		if err := w.advance(at); err != nil {
			return err
		}
		return w.next(p.l, p.task)
	}
	at, e, ok := w.events.Pop()
	if !ok {
		return errStalled
	}
	if err := w.advance(at); err != nil {
		return err
	}
	switch e.kind {
	case goesOn:
		if a := &e.l.state[e.task]; a.count == e.count && a.phase != waits {
			return w.next(e.l, e.task)
		}
	case comes:
		if len(w.jobs) == 0 {
			wait := (w.every - at%w.every) % w.every
			w.events.Push(at+wait, event{kind: decide})
		}
		e.l.enter(w.cell)
		w.jobs = append(w.jobs, e.l)
		w.changed = true
		return w.policy.add(w, e.l)
	case decide:
		return w.round(ctx)
	case leaves:
		w.others.leaves(w, e.node)
	case wants:
		w.others.wants(w, e.node)
	}
	return nil
}

// advance has it be later.
func (w *world) advance(to time.Duration) error {
	if to < w.now {
		return fmt.Errorf("something happens at %v: %w", to, errBalance)
	}
	w.now = to
	return nil
}

// round has the policy decide, and comes again as long as there are jobs.
func (w *world) round(ctx context.Context) error {
	if len(w.jobs) == 0 {
		return nil
	}
	w.events.Push(w.now+w.every, event{kind: decide})
	if err := w.divide(); err != nil {
		return err
	}
	waiting, running := 0, 0
	for _, l := range w.jobs {
		l.accrue(w.now)
		waiting += l.waiting
		running += l.running
	}
	if running > 0 {
		w.ran = w.now
	} else if w.now-w.ran > stalled && w.now-w.jobs[0].at > stalled {
		return fmt.Errorf("%d tasks wait since %v: %w", waiting, w.ran, errStalled)
	}
	if waiting == 0 && !w.changed {
		return nil
	}
	w.changed = false
	w.tally.present += len(w.jobs)
	for _, l := range w.jobs {
		w.tally.forced += max(0, l.running-l.share)
	}
	before := cputime.OfThread()
	err := w.policy.round(ctx, w)
	w.tally.decided(cputime.OfThread() - before)
	return err
}

// ended is for a task that is over.
func (w *world) ended(l *live, task int) error {
	t := &l.tasks[task]
	a := &l.state[task]
	w.leave(l, a, ended)
	w.tally.task(t.bytes(), w.level(t.input, a.node), w.now-a.begun)
	w.tally.expected += a.moved
	if err := w.policy.ended(w, l, task); err != nil {
		return err
	}
	if l.waiting+l.running > 0 {
		return nil
	}
	l.accrue(w.now)
	w.tally.job(l, w.now, w.slots*len(w.free))
	w.jobs = slices.DeleteFunc(w.jobs, func(one *live) bool { return one == l })
	return nil
}

// accrue notes the slot time due to the job until now, by the share that it has.
func (l *live) accrue(now time.Duration) {
	l.due += time.Duration(l.share) * (now - l.since)
	l.since = now
}
