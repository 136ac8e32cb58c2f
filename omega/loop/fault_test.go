package loop_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/cellsched/cellsched/omega"
	"github.com/cellsched/cellsched/omega/loop"
	"github.com/cellsched/cellsched/resources"
)

var errStore = errors.New("store is away")

// faulty is a store that fails as it is told.
type faulty struct {
	omega.Local
	refresh error
	commit  error
	// unsure is how often the outcome of a commit is unknown; lost says that
	// it was not applied the first time.
	unsure  int
	lost    bool
	applied *omega.Txn
	granted int
}

func (f *faulty) Refresh(ctx context.Context, now time.Time, visit func(omega.MachineState)) (*omega.Snapshot, error) {
	if f.refresh != nil {
		return nil, f.refresh
	}
	return f.Local.Refresh(ctx, now, visit)
}

func (f *faulty) Commit(ctx context.Context, tx *omega.Txn) (int, error) {
	if f.commit != nil {
		return 0, f.commit
	}
	if f.applied == nil && !f.lost {
		f.granted, _ = f.Local.Commit(ctx, tx)
		f.applied = tx
	}
	if f.unsure > 0 {
		f.unsure--
		return 0, errors.Join(errStore, omega.ErrOutcome)
	}
	if f.applied == nil {
		return f.Local.Commit(ctx, tx)
	}
	f.applied = nil
	return f.granted, nil
}

func newFaulty(t *testing.T, cell *omega.Cell, cfg loop.Config[string]) (*faulty, *rig) {
	t.Helper()
	f := &faulty{Local: omega.Local{Scheduler: register(t, cell, "faulty")}}
	cfg.Store = f
	return f, newRig(t, cell, cfg)
}

func TestStep_AsksForAnUnknownOutcomeUntilItIsKnown(t *testing.T) {
	for name, lost := range map[string]bool{"it was applied": false, "it was not": true} {
		t.Run(name, func(t *testing.T) {
			cell := newCell(t, 8)
			f, r := newFaulty(t, cell, loop.Config[string]{MinDelay: time.Second, MaxDelay: time.Minute})
			f.unsure, f.lost = 2, lost
			p := r.submit(t, epoch, job("j", 3, 1))
			r.submit(t, epoch, job("k", 1, 1))
			require.Equal(t, at(1), r.settle(t, epoch))
			r.Cancel(p) // too late to drop it
			require.Equal(t, at(3), r.settle(t, at(1)))
			require.Equal(t, []string{"j submitted", "k submitted", "j in doubt", "j in doubt"}, r.log(),
				"nothing else is committed in between")
			r.settle(t, at(3))
			require.Equal(t, []string{"j placed 3", "j complete", "k placed 1", "k complete"}, r.log())
			require.Equal(t, resources.Vector{4}, f.Scheduler.Usage())
			require.NoError(t, cell.Check())
		})
	}
}

// A journal that has failed for good never tells the outcome: the loop ends with its error, and
// asks no more.
func TestStep_ReturnsAnOutcomeThatIsNeverKnown(t *testing.T) {
	f, r := newFaulty(t, newCell(t, 8), loop.Config[string]{})
	r.submit(t, epoch, job("j", 3, 1))
	r.submit(t, epoch, job("k", 1, 1))
	f.commit = fmt.Errorf("%w: %w", omega.ErrOutcome, omega.ErrJournal)
	for range 3 {
		_, _, err := r.Step(t.Context(), epoch)
		require.ErrorIs(t, err, omega.ErrJournal)
	}
	require.ErrorIs(t, r.Run(t.Context()), omega.ErrJournal)
	require.Equal(t, []string{"j submitted", "k submitted"}, r.log(), "one attempt, and no back-off")
}

func TestStep_CancelsAfterAnUnknownOutcomeWhatIsNotComplete(t *testing.T) {
	cell := newCell(t, 2)
	f, r := newFaulty(t, cell, loop.Config[string]{})
	f.unsure = 1
	p := r.submit(t, epoch, job("j", 3, 1))
	next := r.settle(t, epoch)
	r.Cancel(p)
	r.settle(t, next)
	require.Equal(t, []string{"j submitted", "j in doubt", "j placed 2", "j cancelled"}, r.log())
	require.Len(t, r.held["j"], 2)
}

func TestStep_CancelsWhatTurnsOutNotToHaveBeenCommitted(t *testing.T) {
	f, r := newFaulty(t, newCell(t, 2), loop.Config[string]{})
	f.unsure, f.lost = 1, true
	p := r.submit(t, epoch, job("j", 1, 1))
	next := r.settle(t, epoch)
	r.Cancel(p)
	f.commit = errStore
	_, _, err := r.Step(t.Context(), next)
	require.ErrorIs(t, err, errStore)
	require.Equal(t, []string{"j submitted", "j in doubt", "j cancelled"}, r.log())
}

// A context that ends while an outcome is unknown must not lead to a second
// placement of what may have been placed.
func TestStep_KeepsTheDoubtWhenItsContextEnds(t *testing.T) {
	cell := newCell(t, 8)
	f, r := newFaulty(t, cell, loop.Config[string]{})
	f.unsure = 1
	r.submit(t, epoch, job("j", 1, 1))
	next := r.settle(t, epoch)

	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	f.commit = context.Canceled
	_, _, err := r.Step(ctx, next)
	require.ErrorIs(t, err, context.Canceled)
	f.commit = nil
	require.Zero(t, r.settle(t, next))
	require.Equal(t, []string{"j submitted", "j in doubt", "j placed 1", "j complete"}, r.log())
	require.Equal(t, resources.Vector{1}, f.Scheduler.Usage())
}

func TestStep_KeepsTheJobWhenTheStoreFails(t *testing.T) {
	tests := map[string]func(*faulty) *error{
		"refresh": func(f *faulty) *error { return &f.refresh },
		"commit":  func(f *faulty) *error { return &f.commit },
	}
	for name, which := range tests {
		t.Run(name, func(t *testing.T) {
			cell := newCell(t, 8)
			f, r := newFaulty(t, cell, loop.Config[string]{Fruitless: 1})
			*which(f) = errStore
			r.submit(t, epoch, job("j", 1, 1))
			for range 3 {
				_, _, err := r.Step(t.Context(), epoch)
				require.ErrorIs(t, err, errStore)
			}
			*which(f) = nil
			require.Zero(t, r.settle(t, epoch))
			require.Equal(t, 1, r.events[1].Attempts, "what never was committed is no attempt")
			require.Equal(t, []string{"j submitted", "j placed 1", "j complete"}, r.log())
		})
	}
}

func TestStep_GoesOnAfterACallbackPanicked(t *testing.T) {
	cell := newCell(t, 8)
	bad := 2
	r := newRig(t, cell, loop.Config[string]{Place: func(s *loop.Search[string]) {
		m, _ := s.Snapshot.Find(s.Job.Query(), omega.NextFit())
		s.Claim(m)
		if bad--; bad >= 0 {
			panic("place")
		}
	}})
	r.submit(t, epoch, job("j", 1, 1))
	require.PanicsWithValue(t, "place", func() { r.step(t, epoch) })
	next := r.settle(t, epoch)
	require.ErrorIs(t, r.events[1].Err, loop.ErrInterrupted)
	r.Recheck()
	require.Equal(t, next, r.settle(t, epoch), "room is not what it waits for")
	require.PanicsWithValue(t, "place", func() { r.step(t, next) })
	r.settle(t, r.settle(t, next))
	require.Equal(t, []string{"j submitted", "j backed off", "j backed off", "j placed 1", "j complete"}, r.log())
	require.Equal(t, resources.Vector{1}, r.sched.Usage(), "what was half placed is not claimed")
}

// A hook that panics has had its event; the others come with the next step.
func TestStep_HandsOverEachEventOnce(t *testing.T) {
	cell := newCell(t, 8)
	r := newRig(t, cell, loop.Config[string]{Observe: func(e loop.Event[string]) {
		if e.Kind == loop.Placed {
			panic("hook")
		}
	}})
	r.submit(t, epoch, job("j", 2, 1))
	require.PanicsWithValue(t, "hook", func() { r.step(t, epoch) })
	require.Equal(t, []string{"j submitted", "j placed 2"}, r.log())
	require.Zero(t, r.settle(t, epoch))
	require.Equal(t, []string{"j complete"}, r.log())
	require.Len(t, r.held["j"], 2)
}

// touchy is an order that panics at one Push.
type touchy struct {
	loop.Order[string]
	at string
}

func (o *touchy) Push(p *loop.Pending[string]) {
	if p.Job().Key == o.at {
		panic("push")
	}
	o.Order.Push(p)
}

func TestStep_LosesNoOtherJobToAnOrderThatPanics(t *testing.T) {
	r := newRig(t, newCell(t, 8), loop.Config[string]{Order: &touchy{Order: loop.FIFO[string](), at: "b"}})
	for _, key := range []string{"a", "b", "c"} {
		r.submit(t, epoch, job(key, 1, 1))
	}
	require.PanicsWithValue(t, "push", func() { r.step(t, epoch) })
	r.settle(t, epoch)
	require.Equal(t, []string{
		"a submitted", "b submitted", "c submitted", "a placed 1", "a complete", "c placed 1", "c complete",
	}, r.log())
}

// stutter is an order that returns each job twice.
type stutter struct{ loop.Order[string] }

func (o *stutter) Push(p *loop.Pending[string]) {
	o.Order.Push(p)
	o.Order.Push(p)
}

func TestStep_TakesAJobOnceFromAnOrderThatStutters(t *testing.T) {
	r := newRig(t, newCell(t, 8), loop.Config[string]{Order: &stutter{loop.FIFO[string]()}})
	r.submit(t, epoch, job("j", 10, 1))
	require.Equal(t, epoch.Add(time.Millisecond), r.settle(t, epoch))
	require.Equal(t, []string{"j submitted", "j placed 8", "j backed off"}, r.log())
}
