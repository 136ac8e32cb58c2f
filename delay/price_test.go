package delay_test

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/cellsched/cellsched/delay"
	"github.com/cellsched/cellsched/locality"
)

// A job that waits beside one that takes all other offers pays for the part without
// a taker: one of 9 to 12, in each of four seconds.
func TestLine_PricesAWaitByThePartThatIdles(t *testing.T) {
	var line delay.Line
	job, err := delay.New(delay.Policy{Waits: delay.Waits{100 * time.Second}})
	require.NoError(t, err)
	greedy, err := delay.New(delay.Policy{})
	require.NoError(t, err)
	alone := func(yield func(*delay.Job, locality.Level) bool) { yield(&job, 1) }
	both := func(yield func(*delay.Job, locality.Level) bool) { _ = yield(&job, 1) && yield(&greedy, 1) }
	_, err = line.Offer(at(0), alone)
	require.NoError(t, err)
	for range 7 {
		_, err = line.Offer(at(0), both)
		require.NoError(t, err)
	}
	for second := range 4 {
		_, err = line.Offer(at(second), both)
		require.NoError(t, err)
	}
	got, err := line.Offer(at(4), func(yield func(*delay.Job, locality.Level) bool) { yield(&job, 0) })
	require.NoError(t, err)
	require.Same(t, &job, got)
	require.Equal(t, time.Second/9+time.Second/10+time.Second/11+time.Second/12, job.Waited(at(4)))
}

// Launches near the data are worth 5/4 of the waits together, and no more.
func TestJob_LaunchesNearTheDataMakeUpForABoundedPart(t *testing.T) {
	job, err := delay.New(delay.Policy{Waits: delay.Waits{40 * time.Second}})
	require.NoError(t, err)
	job.SetPending(10)
	offer := func(now int, level locality.Level) bool {
		got, err := job.Offer(at(now), level)
		require.NoError(t, err)
		return got.Launch
	}
	now := 0
	for ; !offer(now, 1); now++ { // a launch makes up for five seconds
		if now%6 == 5 {
			require.True(t, offer(now, 0))
		}
		require.Less(t, now, 200)
	}
	require.Equal(t, 40+5*10, now)
}

// Queue and Line agree over long runs, in which slots idle, jobs make up for
// it, and all that is slow to come about does.
func TestQueue_IsALineInOrderOfArrival(t *testing.T) {
	for seed := range uint64(60) {
		random := rand.New(rand.NewPCG(seed, 1))
		waits := delay.Waits{time.Duration(1+random.IntN(20)) * time.Second, time.Duration(random.IntN(20)) * time.Second}
		model := loop{topology: twoRacks(t)}
		q, err := delay.NewQueue[int](delay.Policy{Waits: waits}, model.topology)
		require.NoError(t, err)
		now, next := start, 0
		hot := locality.Node(random.IntN(6))
		for i := range 500 {
			if len(model.jobs) < 6 && random.IntN(8) == 0 {
				tasks := make([][]locality.Node, 1+random.IntN(30))
				for k := range tasks {
					if tasks[k] = []locality.Node{hot}; random.IntN(4) == 0 {
						tasks[k] = []locality.Node{locality.Node(random.IntN(6))}
					}
				}
				job, err := delay.New(delay.Policy{Waits: waits})
				require.NoError(t, err)
				job.SetPending(len(tasks))
				if i > 0 {
					require.NoError(t, job.Pause(now))
				}
				j := &looped{Job: job, key: next, tasks: tasks, started: make([]bool, len(tasks))}
				delay.Adopt(&model.Line, &j.Job)
				model.jobs = append(model.jobs, j)
				require.NoError(t, q.Add(next, tasks...))
				next++
			}
			now = now.Add(time.Duration(random.IntN(3)*random.IntN(1500)) * time.Millisecond)
			n := locality.Node(random.IntN(6))
			want, launched := model.offer(t, now, n)
			got, ok, err := q.Offer(now, n)
			require.NoError(t, err)
			require.Equal(t, launched, ok, "seed %d, offer %d", seed, i)
			require.Equal(t, want, got, "seed %d, offer %d", seed, i)
			for _, j := range model.jobs {
				copied, err := q.Job(j.key)
				require.NoError(t, err)
				later := now.Add(time.Second)
				require.Equal(t, j.Waited(later), copied.Waited(later), "seed %d, offer %d, job %d", seed, i, j.key)
			}
		}
	}
}

// Likewise a Job and its reference.
func TestJob_AgreesWithItsReferenceInTheLongRun(t *testing.T) {
	for seed := range uint64(60) {
		random := rand.New(rand.NewPCG(seed, 2))
		r := reference{waits: delay.Waits{time.Duration(1+random.IntN(9)) * time.Second, time.Duration(random.IntN(9)) * time.Second}}
		job, err := delay.New(delay.Policy{Waits: r.waits})
		require.NoError(t, err)
		if r.told = random.IntN(6); r.told > 0 {
			job.SetPending(r.told)
		}
		var s slots
		now, busy := start, random.IntN(5)
		require.NoError(t, job.Pause(now))
		for i := range 500 {
			step := time.Duration(random.IntN(1500)) * time.Millisecond
			now = now.Add(step)
			marked, level := r.skipped, random.IntN(3)
			s.pass(step, r.all())
			r.tick(step)
			want := r.takes(level)
			got, err := job.Offer(now, locality.Level(level))
			require.NoError(t, err)
			require.Equal(t, want, got.Launch, "seed %d, offer %d", seed, i)
			if want {
				r.launch(level, marked, &s)
			} else if r.skipped = true; random.IntN(5) < busy {
				s.taken++
				job.Taken()
			} else {
				s.idle++
			}
			require.Equal(t, r.wait, job.Waited(now), "seed %d, offer %d", seed, i)
		}
	}
}
