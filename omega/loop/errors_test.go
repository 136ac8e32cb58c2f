package loop_test

import (
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cellsched/cellsched/omega"
	"github.com/cellsched/cellsched/omega/loop"
	"github.com/cellsched/cellsched/resources"
)

// raw is a vector as fmt prints it.
var raw = regexp.MustCompile(`\[-?\d+( -?\d+)+\]`)

// readsWell requires that an error names its package once, in front, and no vector by
// position.
func readsWell(t *testing.T, err error) {
	t.Helper()
	text := err.Error()
	front := "loop: "
	if strings.HasPrefix(text, "omega: need ") { // of a search
		front = "omega: "
	}
	require.True(t, strings.HasPrefix(text, front), text)
	for _, name := range []string{"loop: ", "omega: ", "resources: "} {
		require.Equal(t, name == front, strings.Contains(text, name), text)
		require.LessOrEqual(t, strings.Count(text, name), 1, text)
	}
	require.NotRegexp(t, raw, text)
}

func TestErrors_SayTheirPackageAndNoun(t *testing.T) {
	for noun, err := range map[string]error{
		"configuration": loop.ErrConfig, "invalid job": loop.ErrJob, "queue": loop.ErrQueue, "step": loop.ErrBusy,
		"attempts": loop.ErrAttempts, "tasks": loop.ErrPlace, "attempt was": loop.ErrInterrupted,
	} {
		readsWell(t, err)
		require.ErrorContains(t, err, noun)
	}
}

func TestErrors_NameThePackageOnceAndNoRawVector(t *testing.T) {
	space, err := resources.NewSpace(resources.Dimension{Name: "cpu"})
	require.NoError(t, err)
	full := func(t *testing.T, cfg loop.Config[string]) *rig {
		t.Helper()
		cell, err := omega.NewCell(omega.Config{Space: space, Machines: []omega.Machine{{Name: "m0", Capacity: resources.Vector{4}}}})
		require.NoError(t, err)
		other := register(t, cell, "other")
		claim(t, other, "m0", cell, 3)
		s, err := cell.Register("s", omega.Limits{Held: &resources.Vector{9}, Gang: 5})
		require.NoError(t, err)
		cfg.Store = omega.Local{Scheduler: s}
		return newRig(t, cell, cfg)
	}
	submit := func(j loop.Job[string]) func(t *testing.T) error {
		return func(t *testing.T) error {
			t.Helper()
			_, err := full(t, loop.Config[string]{}).Submit(epoch, j)
			return err
		}
	}
	// last is the error of the last event of a job.
	last := func(cfg loop.Config[string], j loop.Job[string]) func(t *testing.T) error {
		return func(t *testing.T) error {
			t.Helper()
			r := full(t, cfg)
			r.submit(t, epoch, j)
			r.settle(t, epoch)
			return r.events[len(r.events)-1].Err
		}
	}
	high, gang := job("j", 1, 1), job("j", 9, 1)
	high.Precedence, gang.Gang = 1, true
	stale := loop.Config[string]{Fruitless: 1, Place: func(s *loop.Search[string]) {
		for m := range s.Snapshot.Machines() {
			s.Txn.Claim(s.Job.Claim(m.ID))
		}
	}}
	tests := map[string]struct {
		err  func(t *testing.T) error
		text string
	}{
		"no tasks":      {submit(job("j", 0, 1)), "loop: invalid job: 0 tasks, want 1 or more"},
		"zero need":     {submit(job("j", 1, 0)), "loop: invalid job: need is zero: invalid quantity"},
		"negative need": {submit(job("j", 1, -1)), "loop: invalid job: need: invalid quantity: kind0=-1"},
		"precedence":    {submit(high), "loop: invalid job: precedence 1, the scheduler may claim at 0 to 0: "},
		"gang":          {submit(gang), "loop: invalid job: gang of 9 tasks, the scheduler may claim 5 at once: "},
		"held":          {submit(job("j", 1, 10)), "loop: invalid job: 1 tasks of kind0=10 at once, the scheduler may hold kind0=9: "},
		"parked":        {last(loop.Config[string]{}, job("j", 1, 9)), "omega: need 1 x cpu=9, missing room for 1 (0 of 1 machines will do, 1 too small in cpu, missing cpu=5 on the nearest): need can never fit"},
		"no room":       {last(loop.Config[string]{}, job("j", 3, 1)), "omega: need 3 x cpu=1, missing room for 2: no room"},
		"used up":       {last(loop.Config[string]{Fruitless: 1}, job("j", 1, 2)), "loop: 1 attempts are used up: last: need 1 x cpu=2, missing room for 1 (0 of 1 machines will do, 1 short of cpu, missing cpu=1 on the nearest): no room"},
		"conflict":      {last(stale, job("j", 1, 2)), `loop: 1 attempts are used up: last: claim on "m0": need cpu=2, free cpu=1: `},
		"configuration": {func(t *testing.T) error {
			t.Helper()
			_, err := loop.New(loop.Config[int]{})
			return err
		}, "loop: invalid configuration: Store is nil"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			err := tt.err(t)
			readsWell(t, err)
			require.ErrorContains(t, err, tt.text)
		})
	}
}
