package loop_test

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/cellsched/cellsched/omega"
	"github.com/cellsched/cellsched/omega/loop"
	"github.com/cellsched/cellsched/resources"
)

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
			require.ErrorIs(t, last.Err, omega.ErrNoRoom)
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
