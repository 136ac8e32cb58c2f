//go:build explore

package explore

// Operation is one call of a history, to be checked for linearizability. Calls
// and returns are stamped by a clock that never says the same twice: one that
// returned before another was called came before it.
type Operation struct {
	Thread        int // in the order of Run.Go, from 0; -1: the scenario or its check
	Input, Output any
	Call, Return  int64
}

// Do calls f and adds what it returns to the history. It counts as called at
// its first atomic operation, and as returned after its last.
func (r *Run) Do(input any, f func() any) {
	i := len(r.history)
	r.history = append(r.history, Operation{Thread: -1, Input: input})
	t := r.turn
	if t == nil {
		r.history[i].Call = r.tick()
	} else {
		for n := range r.threads {
			if r.threads[n] == t {
				r.history[i].Thread = n
			}
		}
		t.calling = i + 1
	}
	output := f()
	if t != nil {
		r.stamp(t) // if it had no step
	}
	op := &r.history[i]
	op.Output, op.Return = output, r.tick()
}

// History returns the operations so far, in no particular order. The result
// must not be changed.
func (r *Run) History() []Operation { return r.history }

func (r *Run) tick() int64 {
	r.clock++
	return r.clock
}

// stamp says that the call which the thread has begun is now.
func (r *Run) stamp(t *thread) {
	if t.calling > 0 {
		r.history[t.calling-1].Call = r.tick()
		t.calling = 0
	}
}
