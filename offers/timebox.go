package offers

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/cellsched/cellsched/omega"
)

// TimeBox lets one of several schedulers at a time claim anything, each for a slice of
// time in turn. This is pessimistic locking of the whole cell, made of schedulers that
// know nothing of each other. A scheduler keeps its allocations, and may release them at
// any time.
//
// A nil or zero TimeBox has no schedulers: it has ended. It is safe for concurrent use.
// Until [TimeBox.Open] ends it, it alone restricts its schedulers: see
// [omega.Scheduler.Restrict].
type TimeBox struct {
	slice    time.Duration
	machines omega.Mask

	moving sync.Mutex // held while restrictions change, which may wait; taken before mu
	loose  bool       // more schedulers than the holder may claim, since an Open has failed

	mu         sync.Mutex // guards what follows
	schedulers []*omega.Scheduler
	turn       int
	until      time.Time
	ended      bool
}

// NewTimeBox returns a box for the given machines, nil for all, which is the
// first scheduler's for the first slice. A slice of more than 100 years is one of 100
// years. Errors: [ErrConfig] for a slice of no
// time, [ErrEmpty] for no scheduler, and those of [omega.Scheduler.Restrict]. After the last
// of these the schedulers may claim on all machines again, so far as the cell takes changes.
func NewTimeBox(now time.Time, slice time.Duration, machines omega.Mask, schedulers ...*omega.Scheduler) (*TimeBox, error) {
	if slice <= 0 {
		return nil, fmt.Errorf("%w: slice %v: want more than 0", errSpan, slice)
	}
	if len(schedulers) == 0 || slices.Contains(schedulers, nil) {
		return nil, missing(fmt.Sprintf("time box of %d schedulers: want one at least, none of them nil", len(schedulers)))
	}
	b := &TimeBox{slice: min(slice, longest), machines: slices.Clone(machines), schedulers: slices.Clone(schedulers)}
	for turn := len(b.schedulers) - 1; turn >= 0; turn-- {
		m := omega.Mask{}
		if turn == 0 {
			m = b.machines
		}
		if err := b.restrict(turn, m); err != nil {
			for ; turn < len(b.schedulers); turn++ { // of this one the outcome may be unknown
				_ = b.restrict(turn, nil)
			}
			return nil, err
		}
	}
	b.until = now.Add(b.slice)
	return b, nil
}

// Step hands the box on if its slice is over. It returns the holder and the end of its
// slice; once the box has ended nil, and the zero time. A commit that has begun before
// may still end after. Where the cell has a journal, handing on waits for that. Another Step
// does not wait, and returns the holder before. A journal that has failed for good
// ([omega.ErrJournal]) ends the box. Cost: O(1).
func (b *TimeBox) Step(now time.Time) (holder *omega.Scheduler, until time.Time) {
	if b == nil {
		return nil, time.Time{}
	}
	holder, until = b.state()
	if holder == nil || now.Before(until) || !b.moving.TryLock() {
		return holder, until
	}
	defer b.moving.Unlock()
	if holder, until = b.state(); holder != nil && !now.Before(until) {
		b.pass(now)
	}
	return b.state()
}

// state returns the holder and the end of its slice, nil for a box that restricts no scheduler.
func (b *TimeBox) state() (holder *omega.Scheduler, until time.Time) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.ended || len(b.schedulers) == 0 {
		return nil, time.Time{}
	}
	return b.schedulers[b.turn], b.until
}

// Yield hands the box on early, if it is that scheduler's, and tells whether it
// was. Another call that hands it on already does so instead.
func (b *TimeBox) Yield(now time.Time, s *omega.Scheduler) bool {
	if b == nil {
		return false
	}
	if s == nil || !b.moving.TryLock() {
		return false
	}
	defer b.moving.Unlock()
	if holder, _ := b.state(); holder != s {
		return false
	}
	b.pass(now)
	return true
}

// Open ends the box for good: all of its schedulers may claim at the same time from then
// on, and conflicts are resolved at commit. Only other restrictions still apply to them.
// Another box may be made of them. Errors: those of [omega.Scheduler.Restrict]. The box
// has not ended then, and Open may be called again. After [omega.ErrJournal] it has ended.
func (b *TimeBox) Open() error {
	if b == nil {
		return nil
	}
	b.moving.Lock()
	defer b.moving.Unlock()
	if holder, _ := b.state(); holder == nil {
		return nil
	}
	for turn := range b.schedulers {
		b.loose = true
		if err := b.restrict(turn, b.machines); err != nil {
			b.endWith(err)
			return err
		}
	}
	b.end()
	return nil
}

// endWith ends the box if the cell's journal has failed for good: no scheduler claims anything
// then.
func (b *TimeBox) endWith(err error) {
	if errors.Is(err, omega.ErrJournal) {
		b.end()
	}
}

func (b *TimeBox) end() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.ended = true
}

// pass restricts the holder before the next one may claim: there is no time at
// which two may begin to. Where the cell's journal fails, the box stays with its holder, or
// with none, and the next Step tries again, unless that lasts. The caller holds moving, so turn
// does not change.
func (b *TimeBox) pass(now time.Time) {
	next := (b.turn + 1) % len(b.schedulers) // only pass writes turn
	for turn := range b.schedulers {
		if turn == b.turn || b.loose && turn != next {
			if err := b.restrict(turn, omega.Mask{}); err != nil {
				b.endWith(err)
				return
			}
		}
	}
	b.loose = false
	if err := b.restrict(next, b.machines); err != nil {
		b.endWith(err)
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.turn, b.until = next, now.Add(b.slice)
}

// restrict changes the machines of a scheduler. One that was replaced or has left claims
// nothing in any case.
func (b *TimeBox) restrict(turn int, m omega.Mask) error {
	err := b.schedulers[turn].Restrict(context.Background(), m)
	if errors.Is(err, omega.ErrSuperseded) || errors.Is(err, omega.ErrLeft) {
		return nil
	}
	return err
}
