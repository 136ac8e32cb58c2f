package delay_test

import (
	"math"
	"runtime"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/cellsched/cellsched/delay"
	"github.com/cellsched/cellsched/locality"
	"github.com/cellsched/cellsched/resources"
)

// twoRacks is the topology of the tests' four nodes.
func twoRacks(t require.TestingT) *locality.Topology {
	topology, err := locality.New(locality.Config{
		Levels: []string{"node", "rack", "off"},
		Nodes:  []string{"r1", "r1", "r2", "r2"},
	})
	require.NoError(t, err)
	return topology
}

// loop is the definition of a Queue: a Line in the order of arrival.
type loop struct {
	delay.Line

	topology *locality.Topology
	jobs     []*looped
}

type looped struct {
	delay.Job

	key     int
	tasks   [][]locality.Node
	started []bool
}

// nearest returns the first of the tasks that are nearest to n.
func (j *looped) nearest(topology *locality.Topology, n locality.Node) (task int, level locality.Level) {
	e := entry{tasks: j.tasks, started: j.started}
	return e.nearest(topology, n)
}

func (l *loop) offer(t require.TestingT, now time.Time, n locality.Node) (launch delay.Launch[int], ok bool) {
	got, err := l.Offer(now, func(yield func(*delay.Job, locality.Level) bool) {
		for _, j := range l.jobs {
			if _, level := j.nearest(l.topology, n); !yield(&j.Job, level) {
				return
			}
		}
	})
	require.NoError(t, err)
	for _, j := range l.jobs {
		if got == &j.Job {
			task, level := j.nearest(l.topology, n)
			launch, ok = delay.Launch[int]{Job: j.key, Task: task, Level: level}, true
			j.started[task] = true
		}
	}
	l.jobs = slices.DeleteFunc(l.jobs, func(j *looped) bool { return !slices.Contains(j.started, false) })
	return launch, ok
}

// ran tells learners how long a task has run.
func ran(t require.TestingT, run time.Duration, level locality.Level, learners ...*delay.Learner) {
	for _, l := range learners {
		require.NoError(t, l.Ran(level, run))
	}
}

func TestQueue_DecidesAsIfItWentFromJobToJob(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := delay.Policy{Paper: rapid.Bool().Draw(t, "paper")}
		if rapid.Bool().Draw(t, "counts") {
			p.Skips = rapid.IntRange(0, 6).Draw(t, "skips")
		} else {
			for l := range rapid.IntRange(0, 3).Draw(t, "levels") {
				p.Waits[l] = time.Duration(rapid.IntRange(0, 6).Draw(t, "wait")) * time.Second
			}
		}
		modelled, fewest := p, 0
		if p.Skips == 0 && !p.Paper && rapid.Bool().Draw(t, "learns") {
			p.Learn, modelled.Learn = new(delay.Learner), new(delay.Learner)
			fewest = 1 // holders: the loop does not tell tasks without preference from local ones
			for range 8 * rapid.IntRange(0, 1).Draw(t, "knows") {
				for level := range locality.Level(3) {
					ran(t, time.Duration(1+9*level)*time.Second, level, p.Learn, modelled.Learn)
				}
			}
		}
		model := loop{topology: twoRacks(t)}
		q, err := delay.NewQueue[int](p, model.topology)
		require.NoError(t, err)
		node := rapid.Custom(func(t *rapid.T) locality.Node {
			return locality.Node(rapid.IntRange(0, 5).Draw(t, "node")) // 4 and 5 are in no rack
		})
		now, next, offered := start, 0, false
		some := func(t *rapid.T) *looped {
			if len(model.jobs) == 0 {
				t.Skip("no job")
			}
			return rapid.SampledFrom(model.jobs).Draw(t, "job")
		}
		add := func(t *rapid.T) {
			tasks := rapid.SliceOfN(rapid.SliceOfN(node, fewest, 3), 1, 4).Draw(t, "tasks")
			job, err := delay.New(modelled)
			require.NoError(t, err)
			choosy := 0
			for _, holders := range tasks {
				choosy += min(len(holders), 1)
			}
			job.SetPending(choosy)
			if offered {
				require.NoError(t, job.Pause(now)) // not reached by the last offer
			}
			j := &looped{Job: job, key: next, tasks: tasks, started: make([]bool, len(tasks))}
			delay.Adopt(&model.Line, &j.Job)
			model.jobs = append(model.jobs, j)
			require.NoError(t, q.Add(next, tasks...))
			require.ErrorIs(t, q.Add(next, tasks...), delay.ErrJob)
			next++
		}
		offer := func(t *rapid.T) {
			now = now.Add(time.Duration(rapid.IntRange(0, 3000).Draw(t, "ms")) * time.Millisecond)
			n := node.Draw(t, "free")
			offered = true
			want, launched := model.offer(t, now, n)
			got, ok, err := q.Offer(now, n)
			require.NoError(t, err)
			require.Equal(t, launched, ok)
			require.Equal(t, want, got)
			if ok && p.Learn != nil {
				ran(t, time.Duration(rapid.IntRange(0, 20).Draw(t, "run"))*time.Second, got.Level, p.Learn, modelled.Learn)
			}
		}
		t.Repeat(map[string]func(*rapid.T){
			"add":         add,
			"offer":       offer,
			"offer again": offer,
			"offer more":  offer,
			"remove": func(t *rapid.T) {
				j := some(t)
				require.NoError(t, q.Remove(j.key))
				require.ErrorIs(t, q.Remove(j.key), delay.ErrJob)
				model.jobs = slices.DeleteFunc(model.jobs, func(other *looped) bool { return j == other })
			},
			"move": func(t *rapid.T) {
				groups := rapid.SampledFrom([][]string{{}, {"r1"}, {"r2"}, {"r3"}}).Draw(t, "groups")
				require.NoError(t, model.topology.Add(node.Draw(t, "moved"), groups...))
				require.NoError(t, q.Regroup())
			},
			"starved": func(t *rapid.T) {
				j, starved := some(t), rapid.Bool().Draw(t, "starved")
				j.SetStarved(starved)
				require.NoError(t, q.Update(j.key, func(j *delay.Job) { j.SetStarved(starved) }))
			},
			"nearest": func(t *rapid.T) {
				j, nearest := some(t), rapid.SampledFrom([]locality.Level{0, 1, 2, 255}).Draw(t, "level")
				j.SetNearest(nearest)
				require.NoError(t, q.Update(j.key, func(j *delay.Job) { j.SetNearest(nearest) }))
			},
			"empty": func(t *rapid.T) {
				j := some(t)
				empty := rapid.SliceOfN(rapid.SampledFrom([]locality.Level{0, 1, 2}), 0, 2).Draw(t, "empty")
				j.SetEmpty(empty...)
				require.NoError(t, q.Update(j.key, func(j *delay.Job) { j.SetEmpty(empty...) }))
			},
			"": func(t *rapid.T) {
				require.Equal(t, len(model.jobs), q.Len())
				require.Equal(t, modelled.Learn, p.Learn)
				var relax time.Time
				for _, want := range model.jobs {
					got, err := q.Job(want.key)
					require.NoError(t, err)
					require.Equal(t, want.Skips(), got.Skips(), "job %d", want.key)
					require.LessOrEqual(t, got.Skips(), p.Skips)
					later := now.Add(time.Second)
					if p.Skips == 0 {
						require.Equal(t, want.Waited(later), got.Waited(later), "job %d", want.key)
					}
					require.Equal(t, want.Allowed(later), got.Allowed(later), "job %d", want.key)
					if at, ok := want.NextRelax(now); ok && (relax.IsZero() || at.Before(relax)) {
						relax = at
					}
				}
				at, ok := q.NextRelax()
				require.Equal(t, !relax.IsZero(), ok)
				require.True(t, !ok || at.Equal(relax), "relaxes at %v, want %v", at, relax)
			},
		})
	})
}

// No job starves: the first in line launches within D offers, or as many as come
// while the waits last, whatever the jobs behind it take.
func TestQueue_LaunchesWithinABoundedNumberOfOffers(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := delay.Policy{Paper: rapid.Bool().Draw(t, "paper")}
		const every = time.Second
		bound := 0
		if rapid.Bool().Draw(t, "counts") {
			p.Skips = rapid.IntRange(0, 8).Draw(t, "skips")
			bound = p.Skips
		} else {
			for l := range 2 {
				seconds := rapid.IntRange(0, 5).Draw(t, "wait")
				p.Waits[l] = time.Duration(seconds) * every
				bound += seconds
			}
			if !p.Paper && rapid.Bool().Draw(t, "learns") {
				p.Learn = new(delay.Learner)
			}
		}
		q, err := delay.NewQueue[int](p, twoRacks(t))
		require.NoError(t, err)
		node := rapid.Custom(func(t *rapid.T) locality.Node { return locality.Node(rapid.IntRange(0, 5).Draw(t, "node")) })
		jobs := rapid.IntRange(1, 12).Draw(t, "jobs")
		for i := range jobs {
			require.NoError(t, q.Add(i, rapid.SliceOfN(rapid.SliceOfN(node, 0, 3), 1, 4).Draw(t, "tasks")...))
		}
		passed, now := make([]int, jobs), start // offers since the last launch, while first
		for first := 0; first < jobs; {
			launch, launched, err := q.Offer(now, node.Draw(t, "free"))
			require.NoError(t, err)
			if passed[first]++; launched {
				passed[launch.Job] = 0
			}
			require.LessOrEqual(t, passed[first], bound, "job %d", first)
			for ; first < jobs; first++ {
				if _, err := q.Job(first); err == nil {
					break
				}
			}
			now = now.Add(every)
		}
	})
}

// A node that idled before a job came did not idle for it.
func TestQueue_EarlierIdleTimeDoesNotCount(t *testing.T) {
	q, err := delay.NewQueue[string](delay.Policy{Waits: delay.Waits{5 * time.Second}}, twoRacks(t))
	require.NoError(t, err)
	require.NoError(t, q.Add("before", []locality.Node{d}))
	_, ok, err := q.Offer(at(0), c)
	require.NoError(t, err)
	require.False(t, ok)
	require.NoError(t, q.Add("new", []locality.Node{a}, []locality.Node{a}))
	require.NoError(t, q.Add("last", []locality.Node{b}))
	for i, want := range []struct {
		node locality.Node
		job  string
	}{{b, "last"}, {a, "new"}} {
		got, _, err := q.Offer(at(1+i), want.node)
		require.NoError(t, err)
		require.Equal(t, want.job, got.Job)
		job, err := q.Job("new")
		require.NoError(t, err)
		require.Zero(t, job.Waited(at(1+i)), "what others took is no reason to go on waiting")
	}
}

// The vectors of the paper's rules with jobs in the order of submission: the jobs
// have equally few running tasks, or there are few of them.
func TestQueue_PassesOverTheHeadOfTheLine(t *testing.T) {
	q, err := delay.NewQueue[string](delay.Policy{Waits: delay.Waits{4 * time.Second, 100 * time.Second}}, twoRacks(t))
	require.NoError(t, err)
	anywhere := []locality.Node{a, b, c, d}
	require.NoError(t, q.Add("J1", anywhere, anywhere, anywhere))
	require.NoError(t, q.Add("J2", []locality.Node{a}))
	require.NoError(t, q.Add("J3", []locality.Node{c}))
	for _, step := range []struct {
		at   int
		node locality.Node
		want delay.Launch[string]
		wait int // of J2
	}{
		{0, b, delay.Launch[string]{Job: "J1", Task: 0}, 0},
		{5, c, delay.Launch[string]{Job: "J1", Task: 1}, 0},
		{6, d, delay.Launch[string]{Job: "J1", Task: 2}, 0},
		{7, c, delay.Launch[string]{Job: "J3"}, 0},
		{8, c, delay.Launch[string]{}, 1},
		{10, b, delay.Launch[string]{}, 3},
	} {
		got, ok, err := q.Offer(at(step.at), step.node)
		require.NoError(t, err)
		require.Equal(t, step.want.Job != "", ok)
		require.Equal(t, step.want, got, "at %d s", step.at)
		job, err := q.Job("J2")
		require.NoError(t, err)
		require.Equal(t, time.Duration(step.wait)*time.Second, job.Waited(at(step.at)), "at %d s", step.at)
	}
	relax, ok := q.NextRelax()
	require.True(t, ok)
	require.Equal(t, at(11), relax)
	got, ok, err := q.Offer(relax, b)
	require.NoError(t, err)
	require.True(t, ok)
	require.Equal(t, delay.Launch[string]{Job: "J2", Level: 1}, got)
	require.Zero(t, q.Len())
}

func TestQueue_RefusesBadInput(t *testing.T) {
	for text, p := range map[string]delay.Policy{
		"skips = -1":     {Skips: -1},
		"want less than": {Waits: delay.Waits{math.MaxInt64}},
	} {
		q, err := delay.NewQueue[int](p, nil)
		require.ErrorContains(t, err, text)
		require.Nil(t, q)
	}
	if most := int64(math.MaxInt); most >= 1<<60 { // an int of 32 bits is never too many
		_, err := delay.NewQueue[int](delay.Policy{Skips: math.MaxInt}, nil)
		require.ErrorContains(t, err, "delay: queue: skips = 9223372036854775807, want less than 1152921504606846976")
	}
	q, err := delay.NewQueue[string](delay.Policy{Waits: delay.Waits{time.Second}}, nil)
	require.NoError(t, err)
	require.ErrorContains(t, q.Add("J"), `delay: add job "J": it has no tasks`)
	require.NoError(t, q.Add("J", []locality.Node{a}))
	require.ErrorContains(t, q.Add("J", nil), `delay: add job "J": it is in the queue: wrong job`)
	require.ErrorContains(t, q.Remove("K"), `delay: remove job "K": it is not in the queue`)
	require.ErrorIs(t, q.Update("K", func(j *delay.Job) { j.SetStarved(true) }), delay.ErrJob)
	require.ErrorIs(t, q.Update("J", nil), resources.ErrNil)
	require.NoError(t, q.Update("J", func(*delay.Job) { require.ErrorIs(t, q.Remove("J"), delay.ErrConcurrent) }))
	_, err = q.Job("K")
	require.ErrorIs(t, err, delay.ErrJob)

	_, ok, err := q.Offer(at(10), b)
	require.NoError(t, err)
	require.False(t, ok)
	_, ok, err = q.Offer(at(9), a)
	require.ErrorIs(t, err, delay.ErrTime)
	require.ErrorContains(t, err, "delay: offer of node 0 at 2010-04-13 09:00:09 +0000 UTC")
	require.False(t, ok)
	require.Equal(t, 1, q.Len())
}

// What left is not kept for a node that is never free again.
func TestQueue_ForgetsJobsThatLeft(t *testing.T) {
	q, err := delay.NewQueue[int](delay.Policy{Waits: delay.Waits{time.Second}}, nil)
	require.NoError(t, err)
	heap := func() uint64 {
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return m.HeapAlloc
	}
	tasks := slices.Repeat([][]locality.Node{{a}}, 1000)
	before := heap()
	for i := range 5000 {
		require.NoError(t, q.Add(i, tasks...))
		require.NoError(t, q.Remove(i))
	}
	require.Less(t, heap(), before+2<<20)
	require.Zero(t, q.Len())
}

// Long silences, one after the other, do not overflow what is added up.
func TestQueue_ALongSilenceDoesNotOverflow(t *testing.T) {
	q, err := delay.NewQueue[int](delay.Policy{Waits: delay.Waits{time.Second, 1<<60 - 1 - time.Second}}, twoRacks(t))
	require.NoError(t, err)
	require.NoError(t, q.Add(1, []locality.Node{a}, []locality.Node{a}))
	require.NoError(t, q.Add(2, []locality.Node{a}))
	now := start
	for i := range 5 {
		got, ok, err := q.Offer(now, c)
		require.NoError(t, err)
		require.Equal(t, i == 1 || i == 2 || i == 3, ok, "offer %d: %v", i, got)
		now = now.AddDate(50, 0, 0)
	}
}

// Nor do many of them, in a queue that has no other reason to begin anew.
func TestQueue_ManySilencesDoNotOverflow(t *testing.T) {
	q, err := delay.NewQueue[int](delay.Policy{Waits: delay.Waits{time.Second}}, twoRacks(t))
	require.NoError(t, err)
	for i := range 30 {
		require.NoError(t, q.Add(i, []locality.Node{a}))
	}
	for i := range 30 {
		require.NoError(t, q.Remove(i))
	}
	now := start
	for i := range 20 {
		require.NoError(t, q.Add(i, []locality.Node{a}))
		_, ok, err := q.Offer(now, c)
		require.NoError(t, err)
		require.False(t, ok, "round %d", i)
		now = now.AddDate(50, 0, 0)
		_, ok, err = q.Offer(now, c)
		require.NoError(t, err)
		require.True(t, ok, "round %d", i)
	}
}
