package pool

import "sync"

// waitlist counts the requests that wait, and has the objects that they are made of.
type waitlist struct {
	spare   sync.Pool // of waiters
	waiting int       // waiters of all tenants
	picky   int       // of those, with several needs or required machines
	nesting int       // of those, of callers that held leases
	queues  int       // tenants with waiters
	ready   taskList  // tasks that were granted or dropped
	idle    shelf
}

// recycle takes back a waiter that has left its queue, after its token was received.
func (wl *waitlist) recycle(w *waiter) {
	*w = waiter{ready: w.ready}
	wl.spare.Put(w)
}

// shelf are waiters of tasks that are used again. The pool's mutex guards it.
type shelf struct {
	first *waiter
	n     int
}

// shelved is how many waiters a shelf has at most beyond those that are in use.
const shelved = 256

// take returns a waiter, used before or new.
func (s *shelf) take() *waiter {
	if s.first == nil {
		s.stock()
	}
	w := s.first
	s.first, w.next = w.next, nil
	s.n--
	return w
}

// stock fills an empty shelf. One allocation of many waiters takes a fraction of the
// time of one for each.
//
//go:noinline
func (s *shelf) stock() {
	batch := new([16]waiter)
	for i := range batch[1:] {
		batch[i].next = &batch[i+1]
	}
	s.first, s.n = &batch[0], len(batch)
}

// put takes back the waiter of a task, while so many are in use. There may be very
// many once: a shelf that has grown too long gets shorter.
func (s *shelf) put(w *waiter, used int) {
	if s.n < used+shelved {
		*w = waiter{next: s.first}
		s.first = w
		s.n++
	} else if s.n > used+shelved {
		s.first = s.first.next
		s.n--
	}
}

// taskList is a queue of tasks that were granted or dropped.
type taskList struct{ first, last *waiter }

func (l *taskList) add(w *waiter) {
	if l.first == nil {
		l.first = w
	} else {
		l.last.next = w
	}
	l.last = w
}

func (l *taskList) take() *waiter {
	w := l.first
	if w != nil {
		l.first, w.next = w.next, nil
	}
	return w
}
