package federation_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/cellsched/cellsched/internal/journals"
	"github.com/cellsched/cellsched/omega"
	"github.com/cellsched/cellsched/omega/federation"
	"github.com/cellsched/cellsched/resources"
)

// east is the verifier of a cell with a journal and one machine of 2 units, and its global.
type east struct {
	t       *testing.T
	cell    *omega.Cell
	journal *journals.Stalling
	global  *federation.Global
	local   *federation.Verifier
	started int
}

func newEast(t *testing.T) *east {
	t.Helper()
	e := &east{t: t, journal: new(journals.Stalling)}
	var err error
	e.cell, err = omega.NewCell(omega.Config{Machines: []omega.Machine{{Name: "m", Capacity: resources.Vector{2}}}})
	require.NoError(t, err)
	require.NoError(t, e.cell.SetJournal(e.journal))
	s, err := e.cell.Take(t.Context(), "front", omega.Limits{})
	require.NoError(t, err)
	e.local, err = federation.NewVerifier(federation.Local{Name: "east", Scheduler: s, Notify: func(federation.Event) { e.started++ }})
	require.NoError(t, err)
	e.global, err = federation.New(federation.Config{Name: "front", Locals: []string{"east"}})
	require.NoError(t, err)
	require.NoError(t, e.hand(t.Context())) // the state of the cell
	return e
}

// hand hands over all messages once, and returns the error of the verifier.
func (e *east) hand(ctx context.Context) error {
	e.t.Helper()
	now := time.Unix(0, 0)
	asks, _ := e.global.Step(now)
	for _, m := range asks {
		require.NoError(e.t, e.local.Receive(m))
	}
	reports, _, err := e.local.Step(ctx, now)
	for _, m := range reports {
		require.NoError(e.t, e.global.Receive(m))
	}
	return err
}

// submit submits two tasks that fit.
func (e *east) submit() {
	e.t.Helper()
	require.NoError(e.t, e.global.Submit(federation.Job{Name: "index", User: "search", Tasks: 2, Need: resources.Vector{1}}))
}

// Launches are not refused for a journal that refuses the account of their user, or that has
// failed for good before it has their commit. The verifier keeps them, and returns the error.
func TestVerifier_KeepsLaunchesThatTheJournalRefuses(t *testing.T) {
	full := errors.New("disk is full")
	failed := fmt.Errorf("%w: %w", omega.ErrJournal, full)
	for name, test := range map[string]struct {
		passes  int
		refuses error
	}{
		"an account":                  {0, full},
		"an account, for good":        {0, failed},
		"an account of no outcome":    {0, errors.Join(omega.ErrOutcome, failed)},
		"a commit, for good":          {1, failed},
		"a commit of unknown outcome": {1, errors.Join(omega.ErrOutcome, failed)},
	} {
		t.Run(name, func(t *testing.T) {
			e := newEast(t)
			e.submit()
			e.journal.Refuse(test.refuses, test.passes)
			for range 3 {
				require.ErrorIs(t, e.hand(t.Context()), full)
			}
			require.Zero(t, e.started)
			if test.passes > 0 && errors.Is(test.refuses, omega.ErrOutcome) {
				return // that commit stays in doubt
			}
			e.journal.Refuse(nil, 0)
			require.NoError(t, e.hand(t.Context()))
			require.Equal(t, 2, e.started)
			require.NoError(t, e.cell.Check())
		})
	}
}

// A verifier of a cell with a journal waits for it no longer than the context of a step lasts:
// for the account of a user, too. The launches are not refused then, and started later, once.
func TestVerifier_KeepsLaunchesWhileTheJournalIsStalled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := newEast(t)
		e.submit()
		e.journal.Stall(true)
		waits := 0
		for range 4 {
			ctx, end := context.WithTimeout(t.Context(), time.Second)
			if err := e.hand(ctx); err != nil {
				require.ErrorIs(t, err, omega.ErrOutcome)
				require.ErrorIs(t, err, context.DeadlineExceeded)
				waits++
			}
			end()
		}
		require.Greater(t, waits, 1)
		require.Equal(t, 1, e.journal.Len(), "one account")
		require.Zero(t, e.started)
		require.Zero(t, e.global.Stats().Running)
		e.journal.Stall(false)
		for range 3 {
			require.NoError(t, e.hand(t.Context()))
		}
		require.Equal(t, 2, e.started)
		require.Equal(t, 2, e.global.Stats().Running)
	})
}
