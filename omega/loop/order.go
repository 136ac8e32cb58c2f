package loop

import "time"

// Order says who is next: the sorting that a scheduler is made with. It is
// called from the steps of one loop only.
//
// Push brings in a job: for the first time, again after its back-off, and again when
// there may be room for it before the back-off ends. Next takes out the job whose turn
// it is, and returns nil if there is none, or none may go now; it is asked again at
// the next step. A job that ended meanwhile may be returned; it is skipped. So is a
// job for which there is no room after all: the next one has its turn. A Push that
// panics loses the job.
type Order[K any] interface {
	Push(*Pending[K])
	Next() *Pending[K]
}

// Advancer is what an [Order] may be besides, so that it knows the time. Advance is
// called at the beginning of each step, before any Push and Next of the step. An order
// that wraps an Advancer passes the call on.
type Advancer interface {
	Advance(now time.Time)
}

// mover is an order that is told of each change of the state of a job.
type mover[K any] interface {
	moved(p *Pending[K], from, to state)
}

// FIFO is an [Order] by time of entry: a job that was backed off goes to the
// end, as in the simulator that Google published with the Omega paper. The
// zero FIFO is empty and ready to use. Cost: O(1) amortised.
type FIFO[K any] struct {
	ring  []*Pending[K] // a power of two in length
	first int
	n     int
}

// Push puts a job at the end.
func (f *FIFO[K]) Push(p *Pending[K]) {
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
func (f *FIFO[K]) Next() *Pending[K] {
	if f.n == 0 {
		return nil
	}
	p := f.ring[f.first]
	f.ring[f.first] = nil
	f.first = (f.first + 1) & (len(f.ring) - 1)
	f.n--
	return p
}
