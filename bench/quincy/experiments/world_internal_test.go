package experiments

import (
	"context"
	"errors"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/cellsched/cellsched/locality"
	"github.com/cellsched/cellsched/locality/quincy"
)

// script is a policy that does as it is told.
type script struct {
	rounds func(w *world) error
}

func (s *script) add(*world, *live) error                 { return nil }
func (s *script) ended(*world, *live, int) error          { return nil }
func (s *script) round(_ context.Context, w *world) error { return s.rounds(w) }

// first starts the first waiting tasks on the first free slots.
func first(w *world) error {
	return w.eachFree(func(n locality.Node) (bool, error) {
		for _, l := range w.jobs {
			for i := range l.state {
				if l.state[i].phase == waits {
					return true, w.start(l, i, n)
				}
			}
		}
		return false, nil
	})
}

// twoRacks is a cell of machines 0 and 1 in a rack, 2 and 3 in another.
func twoRacks(t testing.TB) *cell {
	t.Helper()
	c, err := even(2, 2, 1, 100, 50)
	require.NoError(t, err)
	return c
}

func on(bytes int64, nodes ...locality.Node) quincy.Block {
	return quincy.Block{Bytes: bytes, Nodes: nodes}
}

func TestCell_CountsFarBytes(t *testing.T) {
	c := twoRacks(t)
	in := []quincy.Block{on(1, 0), on(10, 1, 2), on(100, 3)}
	for n, want := range [][2]int64{{10, 100}, {1, 100}, {100, 1}, {10, 1}} {
		rack, core := c.far(in, locality.Node(n))
		require.Equal(t, want, [2]int64{rack, core}, "machine %d", n)
		require.Equal(t, beyond, c.level(in, locality.Node(n)))
	}
	require.Equal(t, inRack, c.level(in[:2], 1))
	require.Equal(t, onNode, c.level(in[:1], 0))
	require.Equal(t, onNode, c.level(nil, 3), "who reads nothing is near everywhere")
}

// A task fetches the data in its rack, then the data beyond, and runs.
func TestSimulate_FetchesThenRuns(t *testing.T) {
	w := newWorld(twoRacks(t), &script{first}, time.Second)
	jobs := []*job{{at: 1500 * time.Millisecond, tasks: []task{
		{input: []quincy.Block{on(200, 1), on(100, 3)}, run: 4 * time.Second},
	}}}
	w.policy = &script{func(w *world) error { return w.start(w.jobs[0], 0, 0) }}
	require.NoError(t, w.simulate(t.Context(), jobs))
	// From the round at 2 s on: 2 s for 200 bytes at 100 a second, 2 s for 100 at 50.
	require.Equal(t, (500*time.Millisecond)+(2+2+4)*time.Second, w.tally.finished[0].took)
	require.Equal(t, int64(200), w.tally.rack)
	require.Equal(t, int64(100), w.tally.core)
	require.Equal(t, 8*time.Second, w.tally.useful)
	require.Equal(t, [3]int{0, 0, 1}, w.tally.levels)
	require.Equal(t, 8500*time.Millisecond, w.tally.finished[0].due, "all that it has tasks for, since it came")
}

// A stopped task has moved a part of its data, and begins anew.
func TestStop_LosesFinishedWork(t *testing.T) {
	for name, tt := range map[string]struct {
		at         int // the round in which it is stopped
		rack, core int64
		lost       time.Duration
	}{
		"in its rack": {at: 1, rack: 100, lost: time.Second},
		"beyond":      {at: 3, rack: 200, core: 50, lost: 3 * time.Second},
		"when it ran": {at: 5, rack: 200, core: 100, lost: 5 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			round := -1
			w := newWorld(twoRacks(t), &script{func(w *world) error {
				if round++; round == tt.at {
					if err := w.stop(w.jobs[0], 0); err != nil {
						return err
					}
				}
				w.changed = true // so that there are rounds while it runs
				if w.jobs[0].waiting > 0 {
					return w.start(w.jobs[0], 0, 0)
				}
				return nil
			}}, time.Second)
			jobs := []*job{{at: 10 * time.Second, tasks: []task{{input: []quincy.Block{on(200, 1), on(100, 3)}, run: 4 * time.Second}}}}
			require.NoError(t, w.simulate(t.Context(), jobs))
			require.Equal(t, 200+tt.rack, w.tally.rack)
			require.Equal(t, 100+tt.core, w.tally.core)
			require.Equal(t, tt.rack+tt.core, w.tally.wasted)
			require.Equal(t, tt.lost, w.tally.lost)
			require.Equal(t, tt.lost+8*time.Second, w.tally.finished[0].took)
			require.Equal(t, tt.lost+8*time.Second, w.tally.finished[0].held)
			require.Equal(t, 1, w.tally.stops)
		})
	}
}

func TestWorld_RefusesImpossibleSettings(t *testing.T) {
	for name, act := range map[string]func(w *world, l *live) error{
		"no slot":     func(w *world, l *live) error { return errors.Join(w.start(l, 0, 2), w.start(l, 1, 2)) },
		"runs":        func(w *world, l *live) error { return errors.Join(w.start(l, 0, 2), w.start(l, 0, 1)) },
		"does not":    func(w *world, l *live) error { return w.stop(l, 1) },
		"stops twice": func(w *world, l *live) error { return errors.Join(w.start(l, 0, 0), w.stop(l, 0), w.stop(l, 0)) },
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(twoRacks(t), &script{func(w *world) error { return act(w, w.jobs[0]) }}, time.Second)
			jobs := []*job{{tasks: []task{{run: time.Second}, {run: time.Second}}}}
			require.ErrorIs(t, w.simulate(t.Context(), jobs), errPolicy)
		})
	}
}

func TestSimulate_EndsWhereNothingRuns(t *testing.T) {
	jobs := []*job{{tasks: []task{{run: time.Second}}}}
	idle := newWorld(twoRacks(t), &script{func(*world) error { return nil }}, time.Minute)
	require.ErrorIs(t, idle.simulate(t.Context(), jobs), errStalled)

	cause := errors.New("enough")
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(cause)
	require.ErrorIs(t, newWorld(twoRacks(t), &script{first}, time.Second).simulate(ctx, jobs), cause)
}

// The share of the Quincy paper: no job has more than it has tasks for. The job that came
// first has one more where it does not come out even.
func TestDivide_GivesOutSlotsOneByOne(t *testing.T) {
	c, err := even(1, 10, 1, 1, 1)
	require.NoError(t, err)
	for _, tt := range []struct{ tasks, want []int }{
		{[]int{2, 100, 100, 5}, []int{2, 3, 3, 2}},
		{[]int{1, 2, 3}, []int{1, 2, 3}},
		{[]int{9, 9, 9}, []int{4, 3, 3}},
		{[]int{5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5}, []int{1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 0, 0}},
		{nil, nil},
	} {
		w := newWorld(c, nil, time.Second)
		for i, n := range tt.tasks {
			w.jobs = append(w.jobs, &live{number: i, waiting: n - n/2, running: n / 2})
		}
		require.NoError(t, w.divide())
		var got []int
		for _, l := range w.jobs {
			got = append(got, l.share)
		}
		require.Equal(t, tt.want, got)
		w.ours = 0
		require.NoError(t, w.divide())
		for _, l := range w.jobs {
			require.Zero(t, l.share)
		}
	}
}

// draw returns a small cell and some jobs.
func draw(t *rapid.T) (*cell, []*job) {
	c, err := even(rapid.IntRange(1, 3).Draw(t, "racks"), rapid.IntRange(1, 4).Draw(t, "machines"), rapid.IntRange(1, 2).Draw(t, "slots"), 100, 150)
	require.NoError(t, err)
	random := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 1))
	d := newDisks(c, random)
	var jobs []*job
	at := time.Duration(0)
	for range rapid.IntRange(0, 8).Draw(t, "jobs") {
		at += time.Duration(random.IntN(9000)) * time.Millisecond
		j := &job{at: at}
		for range 1 + random.IntN(9) {
			one := task{run: time.Duration(1+random.IntN(9_000_000)) * time.Microsecond}
			for range random.IntN(3) {
				one.input = append(one.input, d.block(int64(1+random.IntN(900))))
			}
			j.tasks = append(j.tasks, one)
		}
		jobs = append(jobs, j)
	}
	return c, jobs
}

// For any draw, each policy brings everything to its end, twice in the same
// way, and all adds up, which simulate checks.
func TestPolicies_BringEverythingToItsEnd(t *testing.T) {
	for _, plan := range policies() {
		t.Run(plan.name, func(t *testing.T) {
			rapid.Check(t, func(t *rapid.T) {
				c, jobs := draw(t)
				busy := rapid.Bool().Draw(t, "others")
				run := func() *tally {
					s := &setting{cell: c, jobs: jobs, task: 5 * time.Second, costs: costs(2)}
					p, err := plan.make(s)
					require.NoError(t, err)
					w := newWorld(c, p, every)
					if busy {
						w.others = &others{
							load: func() time.Duration { return 3 * time.Second },
							gap:  func() time.Duration { return 2 * time.Second },
						}
					}
					require.NoError(t, w.simulate(t.Context(), jobs))
					w.tally.spent, w.tally.worst = 0, 0
					return &w.tally
				}
				once := run()
				require.Equal(t, once, run())
			})
		})
	}
}
