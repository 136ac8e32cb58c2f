package loop_test

import (
	"context"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/cellsched/cellsched/locality"
	"github.com/cellsched/cellsched/omega"
	"github.com/cellsched/cellsched/omega/loop"
	"github.com/cellsched/cellsched/resources"
)

// think is t_job = 0.1 s and t_task = 5 ms, the defaults of the Omega paper.
func think(_ *loop.Job[string], tasks int) time.Duration {
	return 100*time.Millisecond + time.Duration(tasks)*5*time.Millisecond
}

func TestNew_RefusesWhatMakesNoSense(t *testing.T) {
	store := loop.Local{}
	tests := map[string]struct {
		cfg  loop.Config[string]
		text string
	}{
		"no store":           {loop.Config[string]{}, "Store is nil"},
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

func TestStep_CommitsWhenTheThinkTimeIsOver(t *testing.T) {
	cell := newCell(t, 10)
	r := newRig(t, cell, loop.Config[string]{Think: think})
	r.submit(t, at(1), job("j", 4, 2))
	r.submit(t, at(1), job("k", 1, 1))

	require.Equal(t, at(2.12), r.step(t, at(2)), "t_job + 4 t_task")
	require.Zero(t, r.sched.Usage(), "nothing is claimed while it thinks")
	require.Equal(t, at(2.12), r.step(t, at(2.119)))
	require.Equal(t, at(2.12), r.step(t, at(2.12)))
	require.Equal(t, resources.Vector{8}, r.sched.Usage())
	require.Equal(t, []string{"j submitted", "k submitted", "j placed 4", "j complete"}, r.log())

	r.step(t, at(2.12))
	require.Zero(t, r.settle(t, at(2.225)))
	s := r.Stats()
	require.Equal(t, 225*time.Millisecond, s.Useful)
	require.Equal(t, s.Useful, s.Elapsed)
	require.Equal(t, 1.0, s.Busyness())
	require.Equal(t, (1000+1120)*time.Millisecond/2, s.Start.Mean(), "until the attempt begins")
	require.Equal(t, (1120+1225)*time.Millisecond/2, s.Full.Mean())
}

// What another scheduler takes while this one thinks is a conflict: what still
// fits is kept, the rest is tried again on a fresh snapshot.
func TestStep_PlacesAgainWhatConflicts(t *testing.T) {
	cell := newCell(t, 4, 4)
	r := newRig(t, cell, loop.Config[string]{Think: think, MinDelay: time.Second})
	other := register(t, cell, "other")
	r.submit(t, epoch, job("j", 2, 3))
	r.step(t, epoch) // plans for both machines
	taken := claim(t, other, "m0", cell, 2)

	until := r.settle(t, at(0.11))
	require.Equal(t, []string{"j submitted", "j placed 1", "j backed off"}, r.log())
	require.Equal(t, at(1.11), until)
	s := r.Stats()
	require.EqualValues(t, 1, s.Conflicts)
	require.Equal(t, 110*time.Millisecond, s.Wasted)
	require.Equal(t, 1, s.Waiting)

	require.NoError(t, other.Release(taken))
	require.Equal(t, at(1.215), r.step(t, until), "one task left to think about")
	require.Zero(t, r.settle(t, at(1.215)))
	require.Equal(t, []string{"j placed 1", "j complete"}, r.log())
	s = r.Stats()
	require.Equal(t, 1.0, s.ConflictFraction())
	require.EqualValues(t, 2, s.Attempts)
	require.Equal(t, 110*time.Millisecond, s.First.Max())
	require.Equal(t, 1215*time.Millisecond, s.Full.Max())
	require.NoError(t, cell.Check())
}

func TestStep_CountsEveryChangeAsConflictIfAsked(t *testing.T) {
	cell := newCell(t, 10)
	r := newRig(t, cell, loop.Config[string]{Think: think, Detect: omega.Coarse})
	r.submit(t, epoch, job("j", 1, 1))
	r.step(t, epoch)
	claim(t, register(t, cell, "other"), "m0", cell, 1)
	r.Recheck() // must not refresh the snapshot under the attempt
	r.step(t, at(0.05))
	r.step(t, at(0.105))
	require.Equal(t, []string{"j submitted", "j backed off"}, r.log(), "it fits, but the machine has changed")
}

func TestStep_PlacesAGangWholeOrNotAtAll(t *testing.T) {
	cell := newCell(t, 4, 4)
	r := newRig(t, cell, loop.Config[string]{Think: think})
	gang := job("g", 2, 3)
	gang.Gang = true
	r.submit(t, epoch, gang)
	r.step(t, epoch)
	other := register(t, cell, "other")
	taken := claim(t, other, "m1", cell, 2)
	next := r.settle(t, at(0.11))
	require.ErrorIs(t, r.events[1].Err, omega.ErrConflict, "not that of a claim that only shares the gang's fate")
	require.Equal(t, []string{"g submitted", "g backed off"}, r.log())
	require.Zero(t, r.sched.Usage())
	require.EqualValues(t, 1, r.Stats().Conflicts)

	r.step(t, next) // finds one machine: not sent at all
	r.settle(t, next.Add(time.Second))
	require.EqualValues(t, 1, r.Stats().NoRoom)
	require.Zero(t, r.sched.Usage())

	require.NoError(t, other.Release(taken))
	now := next.Add(time.Minute)
	r.step(t, now)
	r.settle(t, now.Add(time.Minute))
	require.Len(t, r.held["g"], 2)
	require.NoError(t, cell.Check())
}

func TestStep_AbandonsWhenTheAttemptsAreUsedUp(t *testing.T) {
	tests := map[string]struct {
		cfg      loop.Config[string]
		tasks    int
		attempts int
	}{
		"nothing placed, default":     {tasks: 1, attempts: loop.DefaultFruitless},
		"nothing placed":              {cfg: loop.Config[string]{Fruitless: 7}, tasks: 1, attempts: 7},
		"something placed, default":   {tasks: 2, attempts: loop.DefaultAttempts},
		"something placed":            {cfg: loop.Config[string]{Attempts: 5, Fruitless: 3}, tasks: 2, attempts: 5},
		"nothing placed, no fruit":    {cfg: loop.Config[string]{Attempts: 5, Fruitless: -1}, tasks: 1, attempts: 5},
		"the lower limit is the one":  {cfg: loop.Config[string]{Attempts: 5}, tasks: 1, attempts: 5},
		"no limit but that of a test": {cfg: loop.Config[string]{Attempts: -1, Fruitless: -1}, tasks: 1, attempts: 0},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			cell := newCell(t, 4, 4)
			other := register(t, cell, "other")
			claim(t, other, "m0", cell, 4)
			if test.tasks == 1 {
				claim(t, other, "m1", cell, 4)
			}
			r := newRig(t, cell, test.cfg)
			r.submit(t, epoch, job("j", test.tasks, 3))
			next := r.settle(t, epoch)
			for n := 0; !next.IsZero() && n < 2000; n++ {
				next = r.settle(t, next)
			}
			if test.attempts == 0 {
				require.EqualValues(t, 2001, r.Stats().Attempts)
				return
			}
			last := r.events[len(r.events)-1]
			require.Equal(t, loop.Abandoned, last.Kind)
			require.ErrorIs(t, last.Err, loop.ErrAttempts)
			require.ErrorIs(t, last.Err, loop.ErrNoRoom)
			require.Equal(t, test.attempts, last.Attempts)
			require.Len(t, r.held["j"], test.tasks-1, "what was placed stays")
			s := r.Stats()
			require.EqualValues(t, 1, s.Abandoned)
			require.Zero(t, s.Pending)
		})
	}
}

func TestStep_BacksOffLongerAndWithJitter(t *testing.T) {
	delays := func(rng *rand.Rand) (all []time.Duration) {
		cell := newCell(t, 4)
		claim(t, register(t, cell, "other"), "m0", cell, 4)
		r := newRig(t, cell, loop.Config[string]{MinDelay: 8, MaxDelay: 100, Rand: rng})
		r.submit(t, epoch, job("j", 1, 3))
		now := epoch
		for range 7 {
			next := r.settle(t, now)
			all = append(all, next.Sub(now))
			now = next
		}
		return all
	}
	full := delays(nil)
	require.Equal(t, []time.Duration{8, 16, 32, 64, 100, 100, 100}, full)
	jittered := delays(rand.New(rand.NewPCG(1, 2)))
	require.NotEqual(t, full, jittered)
	for i, d := range jittered {
		require.GreaterOrEqual(t, d, full[i]/2)
		require.LessOrEqual(t, d, full[i])
	}
	require.Equal(t, jittered, delays(rand.New(rand.NewPCG(1, 2))), "a seed repeats a run")
}

func TestStep_BacksOffAnewOnceSomethingWasPlaced(t *testing.T) {
	cell := newCell(t, 4)
	other := register(t, cell, "other")
	taken := claim(t, other, "m0", cell, 2)
	claim(t, other, "m0", cell, 2)
	r := newRig(t, cell, loop.Config[string]{MinDelay: time.Second, MaxDelay: time.Minute})
	r.submit(t, epoch, job("a", 2, 2))
	r.submit(t, epoch, job("b", 2, 2))
	require.Equal(t, at(1), r.settle(t, epoch))
	require.Equal(t, at(3), r.settle(t, at(1)))
	r.log()
	require.NoError(t, other.Release(taken))
	require.Equal(t, at(4), r.settle(t, at(3)), "a begins again, b goes on to 4 s")
	require.Equal(t, []string{"a placed 1", "a backed off", "b backed off"}, r.log(), "in the order of arrival")
}

func TestStep_ParksAgainstTheMachinesThatThereAre(t *testing.T) {
	cell := newCell(t, 4, 4)
	r := newRig(t, cell, loop.Config[string]{})
	for tasks, name := range []string{"", "", "two", "three"} {
		if name == "" {
			continue
		}
		gang := job(name, tasks, 3)
		gang.Gang = true
		claimed := name == "two"
		if claimed {
			claim(t, register(t, cell, "other"), "m0", cell, 4)
		}
		r.submit(t, epoch, gang)
		r.settle(t, epoch)
	}
	require.Equal(t, []string{"two submitted", "two backed off", "three submitted", "three parked"}, r.log())
	m, _ := cell.Machine("m1")
	_, err := cell.Remove(m)
	require.NoError(t, err)
	next := r.settle(t, epoch)
	r.settle(t, next)
	require.Equal(t, []string{"two parked"}, r.log())
}

func TestStep_ParkedJobsCostNothingWhileTheMachinesAreTheSame(t *testing.T) {
	cell, asked := newCell(t, 4), 0
	r := newRig(t, cell, loop.Config[string]{})
	picky := job("j", 1, 1)
	picky.Allow = func(locality.Node) bool { asked++; return false }
	r.submit(t, epoch, picky)
	next := r.settle(t, epoch)
	asked = 0
	r.settle(t, next)
	require.Zero(t, asked)
	_, err := cell.Add(omega.Machine{Name: "more"})
	require.NoError(t, err)
	r.settle(t, at(9))
	require.NotZero(t, asked)
}

func TestStep_ParksWhatCanNeverFitUntilMachinesChange(t *testing.T) {
	only := func(n locality.Node) func(locality.Node) bool {
		return func(m locality.Node) bool { return m == n }
	}
	tests := map[string]struct {
		job    loop.Job[string]
		change func(*testing.T, *omega.Cell)
	}{
		"a machine is added": {job("j", 1, 5), func(t *testing.T, cell *omega.Cell) {
			t.Helper()
			_, err := cell.Add(omega.Machine{Name: "large", Capacity: resources.Vector{5}})
			require.NoError(t, err)
		}},
		"a gang that was too wide": {
			loop.Job[string]{Key: "j", Tasks: 4, Need: resources.Vector{3}, Gang: true},
			func(t *testing.T, cell *omega.Cell) {
				t.Helper()
				for _, name := range []string{"x", "y"} {
					_, err := cell.Add(omega.Machine{Name: name, Capacity: resources.Vector{3}})
					require.NoError(t, err)
				}
			},
		},
		"a machine has grown": {job("j", 1, 5), func(t *testing.T, cell *omega.Cell) {
			t.Helper()
			m, _ := cell.Machine("m1")
			require.NoError(t, cell.SetCapacity(m, resources.Vector{6}))
		}},
		"a machine is back": {
			loop.Job[string]{Key: "j", Tasks: 1, Need: resources.Vector{1}, Allow: only(1)},
			func(t *testing.T, cell *omega.Cell) {
				t.Helper()
				m, _ := cell.Machine("m1")
				require.NoError(t, cell.Resume(m))
			},
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			cell := newCell(t, 4, 4)
			if test.job.Allow != nil {
				m, _ := cell.Machine("m1")
				require.NoError(t, cell.Drain(m))
			}
			r := newRig(t, cell, loop.Config[string]{})
			r.submit(t, epoch, test.job)
			next := r.settle(t, epoch)
			require.Equal(t, at(1), next, "looked at again every second")
			require.ErrorIs(t, r.events[len(r.events)-1].Err, loop.ErrNeverFits)
			require.Equal(t, []string{"j submitted", "j parked"}, r.log())

			claim(t, register(t, cell, "other"), "m0", cell, 1)
			require.Equal(t, at(2), r.settle(t, next), "room is not what it waits for")
			require.Empty(t, r.log())
			require.Equal(t, 1, r.Stats().Parked)
			require.EqualValues(t, 1, r.Stats().Attempts, "parked jobs use up none")

			test.change(t, cell)
			require.Zero(t, r.settle(t, at(2)))
			log := r.log()
			require.Equal(t, "j unparked", log[0])
			require.Equal(t, "j complete", log[len(log)-1])
			require.NoError(t, cell.Check())
		})
	}
}

func TestRecheck_LooksAtOnce(t *testing.T) {
	allowed := false
	cell := newCell(t, 4)
	r := newRig(t, cell, loop.Config[string]{})
	moody := job("moody", 1, 1)
	moody.Allow = func(locality.Node) bool { return allowed }
	r.submit(t, epoch, moody)
	other := register(t, cell, "other")
	taken := claim(t, other, "m0", cell, 3)
	r.submit(t, epoch, job("large", 1, 4))
	r.submit(t, epoch, job("small", 1, 2))
	r.settle(t, epoch)
	require.Equal(t, []string{
		"moody submitted", "large submitted", "small submitted",
		"moody parked", "large backed off", "small backed off",
	}, r.log())

	allowed = true
	require.NoError(t, other.Release(taken))
	r.Recheck()
	r.settle(t, epoch)
	require.Equal(t, []string{
		"moody unparked", "moody placed 1", "moody complete", "large backed off",
	}, r.log(), "there is room for large, which comes first, until moody has its turn")
	r.Recheck()
	r.settle(t, epoch)
	require.Equal(t, []string{"small placed 1", "small complete"}, r.log(), "no attempt is spent on large")
}

func TestRecheck_IsPutOffWhileAnAttemptIsInProgress(t *testing.T) {
	allowed := false
	r := newRig(t, newCell(t, 4), loop.Config[string]{Think: think})
	moody := job("moody", 1, 1)
	moody.Allow = func(locality.Node) bool { return allowed }
	r.submit(t, epoch, moody)
	r.submit(t, epoch, job("j", 1, 1))
	r.step(t, epoch)
	r.step(t, at(0.105))
	r.step(t, at(0.105)) // j is being thought about
	r.log()
	allowed = true
	r.Recheck()
	r.step(t, at(0.15))
	r.step(t, at(0.21))
	require.Equal(t, []string{"j placed 1", "j complete"}, r.log())
	r.step(t, at(0.21))
	require.Equal(t, []string{"moody unparked"}, r.log())
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
	r := newRig(t, cell, loop.Config[string]{Store: loop.Local{Scheduler: s}})
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
		Place: func(snap *omega.Snapshot, j *loop.Job[string], k int, tx *omega.Txn) {
			snap.Place(j.Query(), omega.NextFit(), k+1, func(m omega.MachineID, n int) {
				for range n {
					tx.Claim(j.Claim(m))
				}
			})
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

// What the hook submits is seen without anybody's help.
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
