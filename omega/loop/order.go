package loop

import "time"

// Order sorts the jobs of one loop, and is called from its steps only.
//
// Push brings in a job: for the first time, again after its back-off, and again when
// there may be room for it before the back-off ends. A Push that panics loses the job.
//
// Next takes out the job that has its turn. It returns nil if there is none, or none may
// go now; it is asked again at the next step. Next may return a job that ended
// meanwhile; the loop skips it. The loop also skips a job for which there is no room after
// all: the next one has its turn.
//
// An order may have two further methods:
//
//	Advance(now time.Time)
//	Held(now time.Time, wake func()) (until time.Time, held bool)
//
// Advance is called at the beginning of each step, before any Push and Next of the step.
//
// Held is for an order that holds jobs back by a rule of its own: a limit, or the turn of
// another scheduler. It is called after a Next that has returned nothing, and reports
// whether jobs are held back. Without it there might be no next step. While jobs are held
// back, Next is asked again:
//
//   - at until, if that is not zero, and every [Config.Recheck];
//   - when wake was called, which is safe for concurrent use at any time;
//   - when room is freed in the cell, in Run if the [omega.Store] has WaitAny;
//   - in each other step.
//
// Held reads anew all that may have changed since the order was asked. A job that may go
// by then counts as held until now. An order around another one passes both calls on.
type Order[K any] interface {
	Push(*Pending[K])
	Next() *Pending[K]
}

// advancer is an order that needs the time: see [Order].
type advancer interface {
	Advance(now time.Time)
}

// holder is an order that holds jobs back: see [Order].
type holder interface {
	Held(now time.Time, wake func()) (until time.Time, held bool)
}

// mover is an order that is told of each change of the state of a job.
type mover[K any] interface {
	moved(p *Pending[K], from, to state)
}

// settler is an order that learns the result of each attempt before the job moves:
// the number of tasks for which the Place has found room, and the outcome.
type settler[K any] interface {
	settled(p *Pending[K], found int, o *outcome)
}

// hold asks the order whether it holds jobs back.
func (l *Loop[K]) hold(now time.Time) {
	if l.holder == nil {
		return
	}
	until, held := l.holder.Held(now, l.wakeUp)
	l.held, l.heldUntil = held, now.Add(l.cfg.Recheck)
	if !until.IsZero() && until.Before(l.heldUntil) {
		l.heldUntil = until
	}
}

// FIFO returns an [Order] by time of entry: a job that was backed off goes to the
// end, as in the simulator that Google published with the Omega paper. Cost of a Push or
// Next: O(1) amortised.
func FIFO[K any]() Order[K] { return new(fifo[K]) }

type fifo[K any] struct {
	ring  []*Pending[K] // a power of two in length
	first int
	n     int
}

// Push puts a job at the end.
func (f *fifo[K]) Push(p *Pending[K]) {
	if f.n == len(f.ring) {
		bigger := make([]*Pending[K], max(16, 2*f.n))
		copied := copy(bigger, f.ring[f.first:])
		copy(bigger[copied:], f.ring[:f.first])
		f.ring, f.first = bigger, 0
	}
	f.ring[(f.first+f.n)&(len(f.ring)-1)] = p
	f.n++
}

// Next takes out the first.
func (f *fifo[K]) Next() *Pending[K] {
	if f.n == 0 {
		return nil
	}
	p := f.ring[f.first]
	f.ring[f.first] = nil
	f.first = (f.first + 1) & (len(f.ring) - 1)
	f.n--
	return p
}
