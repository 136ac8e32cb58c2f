package delay_test

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/cellsched/cellsched/delay"
	"github.com/cellsched/cellsched/locality"
)

// start is when the tests' virtual time begins.
var start = time.Date(2010, time.April, 13, 9, 0, 0, 0, time.UTC)

func at(seconds int) time.Time { return start.Add(time.Duration(seconds) * time.Second) }

// The tests' four nodes: a and b in one rack, c and d in another.
const (
	a locality.Node = iota
	b
	c
	d
)

// queue is a minimal scheduler for the vectors: jobs by the number of their running
// tasks, then by submission. No task ever ends.
type queue struct {
	topology *locality.Topology
	jobs     []*entry
}

type entry struct {
	delay.Job

	name    string
	tasks   [][]locality.Node // the holders of each task's data
	started []bool
	running int
}

func newQueue(t *testing.T, p delay.Policy, names []string, tasks map[string][][]locality.Node) *queue {
	t.Helper()
	topology, err := locality.New(locality.Config{
		Levels: []string{"node", "rack", "off"},
		Nodes:  []string{"r1", "r1", "r2", "r2"},
	})
	require.NoError(t, err)
	q := &queue{topology: topology}
	for _, name := range names {
		job, err := delay.New(p)
		require.NoError(t, err)
		q.jobs = append(q.jobs, &entry{Job: job, name: name, tasks: tasks[name], started: make([]bool, len(tasks[name]))})
	}
	return q
}

// job returns the job of that name.
func (q *queue) job(name string) *entry {
	return q.jobs[slices.IndexFunc(q.jobs, func(e *entry) bool { return e.name == name })]
}

// heartbeat offers one slot of n to the jobs in order and returns the job that took
// it.
func (q *queue) heartbeat(t *testing.T, now time.Time, n locality.Node) string {
	t.Helper()
	order := slices.Clone(q.jobs)
	slices.SortStableFunc(order, func(x, y *entry) int { return cmp.Compare(x.running, y.running) })
	taken := "none"
	for _, e := range order {
		task, level := e.nearest(q.topology, n)
		if task < 0 || taken != "none" {
			require.NoError(t, e.Pause(now)) // not reached: does not age
			continue
		}
		decision, err := e.Offer(now, level)
		require.NoError(t, err)
		if decision.Launch {
			require.Equal(t, level, decision.Level)
			e.started[task] = true
			e.running++
			taken = fmt.Sprintf("%s.t%d %s", e.name, task, q.topology.LevelName(level))
		}
	}
	return taken
}

// nearest returns the pending task nearest to n, the first of several, or -1.
func (e *entry) nearest(topology *locality.Topology, n locality.Node) (task int, level locality.Level) {
	task, level = -1, math.MaxUint8
	for i, holders := range e.tasks {
		if l := topology.Level(n, holders...); !e.started[i] && l < level {
			task, level = i, l
		}
	}
	return task, level
}

// The vectors were worked out by hand and by a reference program from
// Algorithm 2 of the EuroSys 2010 paper. Their "nonlocal" is here rack or off.
func TestJob_CountsSkipsAsAlgorithm2(t *testing.T) {
	type step struct {
		node  locality.Node
		want  string
		skips []int // of each job, afterwards
	}
	tests := map[string]struct {
		skips int
		names []string
		tasks map[string][][]locality.Node
		steps []step
	}{
		"DS-P1 only a local launch resets the count": {
			skips: 2, names: []string{"J"}, tasks: map[string][][]locality.Node{"J": {{a}, {a}, {a}, {a}}},
			steps: []step{
				{b, "none", []int{1}},
				{c, "none", []int{2}},
				{d, "J.t0 off", []int{2}},
				{b, "J.t1 rack", []int{2}},
				{a, "J.t2 node", []int{0}},
				{c, "none", []int{1}},
			},
		},
		"DS-P2 the head of the line is passed over and blocks no job": {
			skips: 3, names: []string{"J1", "J2"}, tasks: map[string][][]locality.Node{"J1": {{a}, {a}}, "J2": {{b}, {c}}},
			steps: []step{
				{b, "J2.t0 node", []int{1, 0}},
				{c, "J2.t1 node", []int{2, 0}},
				{b, "none", []int{3, 0}},
				{d, "J1.t0 off", []int{3, 0}},
				{a, "J1.t1 node", []int{0, 0}},
			},
		},
		"DS-P3 no skips is greedy": {
			skips: 0, names: []string{"J1", "J2"}, tasks: map[string][][]locality.Node{"J1": {{a}}, "J2": {{b}}},
			steps: []step{
				{b, "J1.t0 rack", []int{0, 0}},
				{a, "J2.t0 rack", []int{0, 0}},
			},
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			q := newQueue(t, delay.Policy{Skips: tt.skips}, tt.names, tt.tasks)
			for i, s := range tt.steps {
				require.Equal(t, s.want, q.heartbeat(t, at(i), s.node), "step %d", i)
				for k, skips := range s.skips {
					require.Equal(t, skips, q.jobs[k].Skips(), "step %d, job %d", i, k)
				}
			}
		})
	}
}

// The vector DS-P7: 1 - (1-p)^D, where one offer in 1/p is local.
func TestJob_IsLocalAsOftenAsDOffersAre(t *testing.T) {
	for skips, want := range map[int]float64{10: 0.6513216, 40: 0.9852191} {
		job, err := delay.New(delay.Policy{Skips: skips})
		require.NoError(t, err)
		const p = 0.1
		local, left := 0.0, 1.0 // chances
		for {
			near := job // a copy goes its own way
			got, err := near.Offer(start, 0)
			require.NoError(t, err)
			require.True(t, got.Launch)
			got, err = job.Offer(start, 1)
			require.NoError(t, err)
			if got.Launch {
				break
			}
			local += left * p
			left *= 1 - p
		}
		require.InDelta(t, want, local, 1e-6)
	}
}

// The vectors were worked out by hand and by a reference program from
// Algorithm 3 of the EuroSys 2010 paper, as its author implemented it.
func TestJob_WaitsAsAlgorithm3(t *testing.T) {
	const off = math.MaxUint8 // the level at which nothing is waited for
	type step struct {
		at    int
		node  locality.Node
		want  string
		level locality.Level // of the watched job, afterwards
		wait  int            // likewise, in seconds
	}
	tests := map[string]struct {
		node, rack time.Duration // W1, W2
		names      []string
		tasks      map[string][][]locality.Node
		before     []step
		watch      string
		steps      []step
	}{
		"DS-P4 levels open one after the other": {
			node: 5, rack: 10, names: []string{"J"}, tasks: map[string][][]locality.Node{"J": {{a}, {a}, {a}}}, watch: "J",
			steps: []step{
				{0, b, "none", 0, 0},
				{3, c, "none", 0, 3},
				{5, b, "J.t0 rack", 1, 0},
				{6, c, "none", 1, 0},
				{10, c, "none", 1, 4},
				{16, c, "J.t1 off", off, 0},
				{17, d, "J.t2 off", off, 0},
			},
		},
		// The vector begins at level 2, wait 0: as after an off-rack launch,
		// which is one task more than it has (so its t0 is t1 here).
		"DS-P5 a better launch lowers the level at once": {
			node: 5, rack: 10, names: []string{"J"}, watch: "J",
			tasks: map[string][][]locality.Node{"J": {{a}, {a}, {a}, {a}, {a}, {a}, {a}}},
			before: []step{
				{-15, c, "none", 0, 0},
				{0, c, "J.t0 off", off, 0},
			},
			steps: []step{
				{0, b, "J.t1 rack", 1, 0},
				{1, c, "none", 1, 0},
				{2, a, "J.t2 node", 0, 0},
				{3, b, "none", 0, 0},
				{8, b, "J.t3 rack", 1, 0},
			},
		},
		"DS-P6 a job that is not reached does not age": {
			node: 4, rack: 100, names: []string{"J1", "J2"}, watch: "J2",
			tasks: map[string][][]locality.Node{"J1": {{a, b, c, d}, {a, b, c, d}, {a, b, c, d}}, "J2": {{a}}},
			steps: []step{
				{0, b, "J1.t0 node", 0, 0},
				{5, c, "J1.t1 node", 0, 0},
				{6, d, "J1.t2 node", 0, 1},
				{10, b, "J2.t0 rack", 1, 0},
			},
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			p := delay.Policy{Waits: delay.Waits{tt.node * time.Second, tt.rack * time.Second}, Paper: true}
			q := newQueue(t, p, tt.names, tt.tasks)
			for _, s := range append(tt.before, tt.steps...) {
				require.Equal(t, s.want, q.heartbeat(t, at(s.at), s.node), "at %d s", s.at)
				job := q.job(tt.watch)
				require.Equal(t, s.level, job.Allowed(at(s.at)), "at %d s", s.at)
				require.Equal(t, time.Duration(s.wait)*time.Second, job.Waited(at(s.at)), "at %d s", s.at)
			}
		})
	}
}

// makespan runs SPARK-18886 in virtual time: 500 tasks that all want one of 100
// nodes. Each node has one slot, and is heard every 3 s while it is free.
func makespan(t *testing.T, p delay.Policy, task time.Duration) time.Duration {
	t.Helper()
	job, err := delay.New(p)
	require.NoError(t, err)
	var (
		free [100]time.Time
		end  time.Time
		left = 500
	)
	for beat := 0; left > 0; beat++ {
		n := beat % len(free)
		now := start.Add(time.Duration(beat) * 3 * time.Second / time.Duration(len(free)))
		if free[n].After(now) {
			continue
		}
		level := locality.Level(2)
		if n == 0 {
			level = 0
		}
		decision, err := job.Offer(now, level)
		require.NoError(t, err)
		if decision.Launch {
			left--
			free[n] = now.Add(task)
			end = free[n]
		}
	}
	return end.Sub(start)
}

// In the literal rule the popular node works alone while 99 idle.
func TestJob_APopularNodeDoesNotHoldTheWholeJob(t *testing.T) {
	waits := delay.Waits{3 * time.Second, 3 * time.Second}
	task := 5 * time.Second

	require.Equal(t, (499*6+5)*time.Second, makespan(t, delay.Policy{Waits: waits, Paper: true}, task))
	require.LessOrEqual(t, makespan(t, delay.Policy{Waits: waits}, task), 40*time.Second)
	require.Less(t, makespan(t, delay.Policy{}, task), 33*time.Second)

	// Nor do slots that come more seldom than the waits last, where the
	// literal rule is merely slow.
	task = 7 * time.Second
	require.Less(t, makespan(t, delay.Policy{Waits: waits}, task), 60*time.Second)
}
