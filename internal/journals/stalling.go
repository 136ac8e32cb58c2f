package journals

import (
	"sync"

	"github.com/cellsched/cellsched/omega"
)

// flood is the number of operations that a stalled journal keeps at most. A test sends a few: one
// that sends more sends one again and again, and would never end.
const flood = 1000

// Stalling is a journal in memory that applies operations at once. While it is stalled it keeps
// them. It can fail or refuse operations. The zero Stalling is ready for use.
//
// Its methods are safe for concurrent use. Operations are applied with its lock held: their
// callers go on after the call that applies them.
type Stalling struct {
	mu      sync.Mutex // guards what follows; held while operations are applied
	stalled bool
	refuses error
	passes  int  // operations to be taken before refuses holds
	once    bool // refuses holds for one operation
	queue   []*omega.Operation
	most    int // operations that were kept at once
}

// Append implements [omega.Journal]. It panics for operation 1,001 that the journal would keep.
func (j *Stalling) Append(op *omega.Operation) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.refuses != nil {
		if j.passes == 0 {
			op.Fail(j.refuses)
			if j.once {
				j.refuses = nil
			}
			return
		}
		j.passes--
	}
	j.queue = append(j.queue, op)
	j.flush()
	if j.most = max(j.most, len(j.queue)); len(j.queue) > flood {
		panic("journals: a stalled journal is sent more than 1,000 operations")
	}
}

// Stall has the journal keep operations from now on, or apply those that it keeps and go on.
func (j *Stalling) Stall(on bool) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.stalled = on
	j.flush()
}

// Refuse has the journal fail each later operation with err, except the first after of them. A
// nil err has it take all again. Operations that it keeps stay.
func (j *Stalling) Refuse(err error, after int) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.refuses, j.passes, j.once = err, after, false
}

// RefuseOne is Refuse of one operation: the journal takes those behind it.
func (j *Stalling) RefuseOne(err error, after int) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.refuses, j.passes, j.once = err, after, true
}

// One applies the first operation that the journal keeps. It returns false if there is none.
func (j *Stalling) One() bool {
	j.mu.Lock()
	defer j.mu.Unlock()
	if len(j.queue) == 0 {
		return false
	}
	j.first().Apply()
	return true
}

// Fail fails the first operation that the journal keeps. It returns false if there is none.
func (j *Stalling) Fail(err error) bool {
	j.mu.Lock()
	defer j.mu.Unlock()
	if len(j.queue) == 0 {
		return false
	}
	j.first().Fail(err)
	return true
}

// Len returns the number of operations that the journal keeps.
func (j *Stalling) Len() int {
	j.mu.Lock()
	defer j.mu.Unlock()
	return len(j.queue)
}

// Most returns the largest number of operations that the journal has kept at once.
func (j *Stalling) Most() int {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.most
}

func (j *Stalling) flush() {
	for !j.stalled && len(j.queue) > 0 {
		j.first().Apply()
	}
}

// first takes the first operation out of the queue.
func (j *Stalling) first() *omega.Operation {
	op := j.queue[0]
	j.queue = j.queue[1:]
	return op
}
