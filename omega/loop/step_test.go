package loop_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/cellsched/cellsched/omega"
	"github.com/cellsched/cellsched/omega/loop"
	"github.com/cellsched/cellsched/resources"
)

// think is t_job = 0.1 s and t_task = 5 ms, the defaults of the Omega paper.
func think(_ *loop.Job[string], tasks int) time.Duration {
	return 100*time.Millisecond + time.Duration(tasks)*5*time.Millisecond
}

func TestNew_RefusesWhatMakesNoSense(t *testing.T) {
	store := omega.Local{Scheduler: register(t, newCell(t, 1), "s")}
	tests := map[string]struct {
		cfg  loop.Config[string]
		text string
	}{
		"no store":           {loop.Config[string]{}, "Store is nil"},
		"an empty store":     {loop.Config[string]{Store: omega.Local{}}, "Scheduler is nil"},
		"an empty pointer":   {loop.Config[string]{Store: &omega.Local{}}, "Scheduler is nil"},
		"a nil pointer":      {loop.Config[string]{Store: (*omega.Local)(nil)}, "Scheduler is nil"},
		"negative delay":     {loop.Config[string]{Store: store, MinDelay: -1}, "MinDelay -1ns"},
		"delays out of turn": {loop.Config[string]{Store: store, MinDelay: 2, MaxDelay: 1}, "MinDelay 2ns, MaxDelay 1ns"},
		"negative recheck":   {loop.Config[string]{Store: store, Recheck: -1}, "Recheck -1ns"},
		"negative queue":     {loop.Config[string]{Store: store, Queue: -1}, "Queue -1"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			_, err := loop.New(test.cfg)
			require.ErrorIs(t, err, loop.ErrConfig)
			require.ErrorContains(t, err, test.text)
		})
	}
}

func TestSubmit_RefusesWhatMakesNoSense(t *testing.T) {
	r := newRig(t, newCell(t, 4), loop.Config[string]{Queue: 1})
	_, err := r.Submit(epoch, job("none", 0, 1))
	require.ErrorIs(t, err, loop.ErrJob)
	_, err = r.Submit(epoch, job("zero", 1, 0))
	require.ErrorIs(t, err, loop.ErrJob)
	require.ErrorIs(t, err, resources.ErrQuantity)
	require.ErrorContains(t, err, "need is zero")
	_, err = r.Submit(epoch, job("negative", 1, -1))
	require.ErrorIs(t, err, loop.ErrJob)
	require.ErrorIs(t, err, resources.ErrQuantity)

	r.submit(t, epoch, job("first", 1, 1))
	_, err = r.Submit(epoch, job("second", 1, 1))
	require.ErrorIs(t, err, loop.ErrQueue)
	r.settle(t, epoch)
	r.submit(t, epoch, job("second", 1, 1))
	require.EqualValues(t, 2, r.Stats().Submitted, "refused jobs were not submitted")
}

func TestSubmit_RefusesWhatLimitsNeverAllow(t *testing.T) {
	cell := newCell(t, 8, 8)
	s, err := cell.Register("s", omega.Limits{Lowest: -2, Highest: 3, Gang: 3, Held: &resources.Vector{8}})
	require.NoError(t, err)
	at := func(j loop.Job[string], p omega.Precedence) loop.Job[string] { j.Precedence = p; return j }
	gang := func(j loop.Job[string]) loop.Job[string] { j.Gang = true; return j }
	other := job("j", 1, 1)
	other.Need[1] = 1
	tests := map[string]struct {
		job  loop.Job[string]
		err  error
		text string
	}{
		"the highest precedence":     {job: at(job("j", 1, 1), 3)},
		"the lowest precedence":      {job: at(job("j", 1, 1), -2)},
		"precedence above":           {at(job("j", 1, 1), 4), omega.ErrForbidden, "precedence 4, the scheduler may claim at -2 to 3"},
		"precedence below":           {at(job("j", 1, 1), -3), omega.ErrForbidden, "precedence -3, the scheduler may claim at -2 to 3"},
		"as much as it may hold":     {job: job("j", 1, 8)},
		"more in all, one by one":    {job: job("j", 9, 1)},
		"more than it may hold":      {job("j", 1, 9), omega.ErrLimit, "1 tasks of kind0=9 at once, the scheduler may hold kind0=8"},
		"of what it may not hold":    {other, omega.ErrLimit, "1 tasks of kind1=1 at once, the scheduler may hold kind1=0"},
		"a gang of what it may hold": {job: gang(job("j", 2, 4))},
		"a gang of more":             {gang(job("j", 3, 3)), omega.ErrLimit, "3 tasks of kind0=3 at once, the scheduler may hold kind0=8"},
		"a gang that is too wide":    {gang(job("j", 4, 1)), omega.ErrLimit, "gang of 4 tasks, the scheduler may claim 3 at once"},
		"many that are no gang":      {job: job("j", 4, 1)},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, newCell(t, 8, 8), loop.Config[string]{Store: omega.Local{Scheduler: s}})
			_, err := r.Submit(epoch, test.job)
			if test.err == nil {
				require.NoError(t, err)
				return
			}
			require.ErrorIs(t, err, loop.ErrJob)
			require.ErrorIs(t, err, test.err)
			require.ErrorContains(t, err, test.text)
			require.Zero(t, r.Stats().Submitted)
		})
	}
	r := newRig(t, cell, loop.Config[string]{Store: omega.Local{Scheduler: register(t, cell, "unlimited")}})
	r.submit(t, epoch, gang(job("j", 3, 9)))
	r.settle(t, epoch)
	require.Equal(t, []string{"j submitted", "j parked"}, r.log(), "what no machine holds may fit later")
}

func TestCancel_EndsAJobWhereverItIs(t *testing.T) {
	cell := newCell(t, 4)
	r := newRig(t, cell, loop.Config[string]{Think: think})
	claim(t, register(t, cell, "other"), "m0", cell, 2)
	pending := map[string]*loop.Pending[string]{}
	for _, j := range []loop.Job[string]{job("parked", 1, 5), job("waiting", 1, 3), job("thinking", 1, 1), job("queued", 1, 1)} {
		pending[j.Key] = r.submit(t, epoch, j)
	}
	r.step(t, epoch)
	r.step(t, at(0.105)) // parked
	r.step(t, at(0.105))
	r.step(t, at(0.21)) // waiting
	r.step(t, at(0.2101))
	pending["arriving"] = r.submit(t, at(0.22), job("arriving", 1, 1))
	r.log()

	for _, name := range []string{"parked", "waiting", "thinking", "queued", "arriving"} {
		r.Cancel(pending[name])
		r.Cancel(pending[name]) // twice is once
	}
	require.Zero(t, r.settle(t, at(0.22)))
	require.Equal(t, []string{
		"arriving submitted", "parked cancelled", "waiting cancelled", "thinking cancelled", "queued cancelled", "arriving cancelled",
	}, r.log())
	s := r.Stats()
	require.EqualValues(t, 5, s.Cancelled)
	require.Zero(t, s.Pending+s.Queued+s.Waiting+s.Parked)
	require.Zero(t, r.sched.Usage(), "the attempt in progress was dropped")
	require.True(t, pending["queued"].Done())
}

func TestDeadline_EndsWhatIsNotInAnAttempt(t *testing.T) {
	cell := newCell(t, 4)
	r := newRig(t, cell, loop.Config[string]{Think: think})
	first, second, never := job("first", 1, 1), job("second", 1, 1), job("never", 1, 9)
	first.Deadline, second.Deadline, never.Deadline = at(0.05), at(0.08), at(7)
	r.submit(t, epoch, first)
	r.submit(t, epoch, second)
	r.submit(t, epoch, never)

	require.Equal(t, at(0.05), r.step(t, epoch), "the first deadline comes before the decision")
	require.Equal(t, at(0.08), r.step(t, at(0.05)))
	require.Equal(t, at(0.105), r.step(t, at(0.08)))
	require.Equal(t, "second expired", r.log()[3])
	r.step(t, at(0.105))
	require.Equal(t, []string{"first placed 1", "first complete"}, r.log(), "an attempt that has begun is finished")
	r.step(t, at(0.105))
	next := r.settle(t, at(0.21))
	require.Equal(t, []string{"never parked"}, r.log())
	for next.Before(at(7)) {
		next = r.settle(t, next)
	}
	require.Zero(t, r.settle(t, at(7)))
	require.Equal(t, []string{"never expired"}, r.log())
}

func TestStep_ABadTransactionAbandonsItsJob(t *testing.T) {
	cell := newCell(t, 8)
	s, err := cell.Register("narrow", omega.Limits{Gang: 2})
	require.NoError(t, err)
	r := newRig(t, cell, loop.Config[string]{Store: blind{omega.Local{Scheduler: s}}}) // of which Submit knows no limits
	wide := job("wide", 3, 1)
	wide.Gang = true
	r.submit(t, epoch, wide)
	stranger := job("stranger", 1, 1)
	stranger.Account = 77
	r.submit(t, epoch, stranger)
	r.settle(t, epoch)
	require.Equal(t, []string{"wide submitted", "stranger submitted", "wide abandoned", "stranger abandoned"}, r.log())
}

func TestStep_RefusesAPlaceThatNamesTooMany(t *testing.T) {
	cell := newCell(t, 8)
	r := newRig(t, cell, loop.Config[string]{
		Place: func(s *loop.Search[string]) {
			s.Tasks++
			loop.PlaceBy[string](omega.NextFit())(s)
		},
	})
	r.submit(t, epoch, job("j", 2, 1))
	r.settle(t, epoch)
	require.ErrorIs(t, r.events[1].Err, loop.ErrPlace)
	require.Zero(t, r.sched.Usage())
}

func TestStep_ASupersededSchedulerSaysSo(t *testing.T) {
	cell := newCell(t, 8)
	r := newRig(t, cell, loop.Config[string]{})
	_, err := cell.Replace("loop")
	require.NoError(t, err)
	r.submit(t, epoch, job("j", 1, 1))
	for range 2 {
		_, _, err = r.Step(t.Context(), epoch)
		require.ErrorIs(t, err, omega.ErrSuperseded)
	}
	require.Equal(t, []string{"j submitted"}, r.log())
	require.Equal(t, 1, r.Stats().Pending, "the job is kept")
}

func TestStep_IsNotEnteredTwice(t *testing.T) {
	var inner error
	var r *rig
	r = newRig(t, newCell(t, 1), loop.Config[string]{Observe: func(loop.Event[string]) {
		_, _, inner = r.Step(context.Background(), epoch)
	}})
	r.submit(t, epoch, job("j", 1, 1))
	r.step(t, epoch)
	require.ErrorIs(t, inner, loop.ErrBusy)
}

// A job that the hook submits is seen without another call.
func TestStep_ComesBackForWhatTheHookSubmits(t *testing.T) {
	var r *rig
	r = newRig(t, newCell(t, 8), loop.Config[string]{Observe: func(e loop.Event[string]) {
		if e.Kind == loop.Cancelled {
			_, err := r.Submit(e.At, job("b", 1, 1))
			require.NoError(t, err)
		}
	}})
	a := r.submit(t, epoch, job("a", 1, 9))
	r.settle(t, epoch)
	r.Cancel(a)
	require.Zero(t, r.settle(t, epoch))
	require.Equal(t, []string{
		"a submitted", "a parked", "a cancelled", "b submitted", "b placed 1", "b complete",
	}, r.log())
}
