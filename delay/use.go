package delay

import (
	"errors"
	"sync/atomic"
)

// ErrConcurrent reports that a [Queue] or [Line] is called while another call of
// it goes on: by another goroutine, or by the order that a Line walks. The call
// that fails so changes nothing.
var ErrConcurrent = errors.New("delay: queue or line in use by another call")

// use detects concurrent calls. It does not make them wait: the order of two offers
// decides about both, so the caller has to choose it.
type use struct {
	busy atomic.Bool // from enter to leave; the swap that sets it lets one call in
}

func (u *use) enter(what string) error {
	if !u.busy.CompareAndSwap(false, true) {
		return refuse(ErrConcurrent, "%s: another call is under way", what)
	}
	return nil
}

func (u *use) leave() { u.busy.Store(false) }
