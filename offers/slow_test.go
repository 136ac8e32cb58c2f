package offers_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/cellsched/cellsched/offers"
	"github.com/cellsched/cellsched/omega"
)

// hooks are called in the midst of the commits of a scheduler.
type hooks struct {
	refresh, before, after func(ctx context.Context) error
	commits                int
}

// slow is a store with commits that take long: something else happens before the cell
// applies one, or after. It applies no transaction twice.
type slow struct {
	omega.Local

	all     map[string]*hooks // by the name of the scheduler
	applied bool
	granted int
}

func (s *slow) Refresh(ctx context.Context, now time.Time, visit func(omega.MachineState)) (*omega.Snapshot, error) {
	if h := s.all[s.Scheduler.Name()]; h != nil && h.refresh != nil {
		if err := h.refresh(ctx); err != nil {
			return nil, err
		}
	}
	return s.Local.Refresh(ctx, now, visit)
}

func (s *slow) Commit(ctx context.Context, tx *omega.Txn) (granted int, err error) {
	h := s.all[s.Scheduler.Name()]
	if h == nil {
		return s.Local.Commit(ctx, tx)
	}
	h.commits++
	if !s.applied {
		if h.before != nil {
			if err := h.before(ctx); err != nil {
				return 0, err
			}
		}
		if s.granted, err = s.Local.Commit(ctx, tx); err != nil {
			return 0, err
		}
		s.applied = true
	}
	if h.after != nil {
		if err := h.after(ctx); err != nil {
			return 0, err
		}
	}
	s.applied = false
	return s.granted, nil
}

// newSlow returns a master with hooks in its stores, by the names of their schedulers.
func newSlow(tb testing.TB, cell *omega.Cell, cfg offers.Config) (*offers.Master, map[string]*hooks) {
	tb.Helper()
	all := map[string]*hooks{}
	cfg.Store = func(s *omega.Scheduler) omega.Store { return &slow{Local: omega.Local{Scheduler: s}, all: all} }
	return newMaster(tb, cell, cfg), all
}

var errLine = errors.New("line is down")

// until blocks until a gate is open, or the context is done: then the answer is lost.
func until(gate <-chan struct{}) func(ctx context.Context) error {
	return func(ctx context.Context) error {
		select {
		case <-gate:
			return nil
		case <-ctx.Done():
			return fmt.Errorf("%w: %w", omega.ErrOutcome, context.Cause(ctx))
		}
	}
}

// stalls have a commit hang before or after the cell applies it.
var stalls = map[string]func(h *hooks, gate <-chan struct{}){
	"not applied": func(h *hooks, gate <-chan struct{}) { h.before = until(gate) },
	"applied":     func(h *hooks, gate <-chan struct{}) { h.after = until(gate) },
}
