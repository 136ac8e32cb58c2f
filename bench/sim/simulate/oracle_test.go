package simulate_test

import (
	"cmp"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/cellsched/cellsched/bench/sim/simulate"
	"github.com/cellsched/cellsched/resources"
)

// oracle is the schedulers of Google's simulator on one machine of so many CPUs, for
// tasks of one CPU: which machine is picked plays no part. A monolithic scheduler
// reads and places when its decision ends. A scheduler of the shared state reads and
// places when its decision begins, and commits when it ends.
type oracle struct {
	jobs  []simulate.Job
	free  int
	early bool // reads when the decision begins
	of    func(simulate.Class) *oracleScheduler

	now    time.Duration
	events []oracleEvent
	pushed int
	state  []oracleJob
	got    [simulate.Classes]oracleOutcome
}

type oracleScheduler struct {
	think [simulate.Classes]simulate.Think
	queue []int
	busy  bool
}

type oracleJob struct {
	left            int
	started         bool
	enqueued, spent time.Duration
}

type oracleEvent struct {
	at  time.Duration
	seq int
	do  func()
}

type oracleOutcome struct {
	Wait, Full, Queued, Useful, Wasted        time.Duration
	Started, Placed, Granted, Refused, NoRoom int
}

func (o *oracle) push(at time.Duration, do func()) {
	o.events = append(o.events, oracleEvent{at, o.pushed, do})
	o.pushed++
}

func (o *oracle) run() {
	o.state = make([]oracleJob, len(o.jobs))
	for i := range o.jobs {
		o.state[i].left = o.jobs[i].Tasks
		o.push(o.jobs[i].Submit, func() { o.enqueue(i) })
	}
	for len(o.events) > 0 {
		first := slices.MinFunc(o.events, func(a, b oracleEvent) int {
			return cmp.Or(cmp.Compare(a.at, b.at), cmp.Compare(a.seq, b.seq))
		})
		o.events = slices.DeleteFunc(o.events, func(e oracleEvent) bool { return e.seq == first.seq })
		o.now = first.at
		first.do()
	}
}

func (o *oracle) enqueue(job int) {
	s := o.of(o.jobs[job].Class)
	o.state[job].enqueued = o.now
	s.queue = append(s.queue, job)
	o.begin(s)
}

func (o *oracle) begin(s *oracleScheduler) {
	if s.busy || len(s.queue) == 0 {
		return
	}
	s.busy = true
	job := s.queue[0]
	s.queue = s.queue[1:]
	j, state := &o.jobs[job], &o.state[job]
	state.spent += o.now - state.enqueued
	began, seen := o.now, o.free
	takes := s.think[j.Class].Job + s.think[j.Class].Task*time.Duration(state.left)
	o.push(o.now+takes, func() {
		if !o.early {
			seen = o.free
		}
		o.finish(job, began, min(state.left, seen))
		s.busy = false
		o.begin(s)
	})
}

func (o *oracle) finish(job int, began time.Duration, claims int) {
	j, state := &o.jobs[job], &o.state[job]
	got := &o.got[j.Class]
	if !state.started {
		state.started = true
		got.Started++
		got.Wait += began - j.Submit
	}
	granted := min(claims, o.free)
	if o.free -= granted; granted > 0 {
		o.push(o.now+j.Duration, func() { o.free += granted })
	}
	state.left -= granted
	got.Granted += granted
	got.Refused += claims - granted
	if claims == 0 {
		got.NoRoom++
	}
	if claims > 0 && granted == claims {
		got.Useful += o.now - began
	} else {
		got.Wasted += o.now - began
	}
	if state.left > 0 {
		o.push(o.now+time.Second, func() { o.enqueue(job) })
		return
	}
	got.Placed++
	got.Full += began - j.Submit
	got.Queued += state.spent
}

// crowd is jobs that keep one machine of so many CPUs full for most of the time.
// Times are to the nanosecond, so that no two things happen at one time.
func crowd(seed uint64, cpus, jobs int) []simulate.Job {
	r := rand.New(rand.NewPCG(seed, 0))
	within := func(d time.Duration) time.Duration { return time.Duration(r.Int64N(int64(d))) }
	all := make([]simulate.Job, jobs)
	at := time.Duration(0)
	for i := range all {
		at += within(8 * time.Second)
		all[i] = simulate.Job{
			Class: simulate.Class(r.IntN(2)), Submit: at, Tasks: 1 + r.IntN(cpus),
			Duration: within(12 * time.Second), Need: resources.Vector{1},
		}
	}
	return all
}

// Each architecture reads the state of the cell, places and commits when that of the
// paper does. That decides which job gets the room that comes and goes meanwhile.
func TestRun_ReadsTheCellWhenGooglesSimulatorDoes(t *testing.T) {
	const cpus = 8
	batch := simulate.Think{Job: 300*time.Millisecond + 1, Task: 70*time.Millisecond + 3}
	service := simulate.Think{Job: 2*time.Second + 5, Task: 110*time.Millisecond + 7}
	both := [simulate.Classes]simulate.Think{batch, service}
	tests := map[string]struct {
		architecture simulate.Architecture
		early        bool
		schedulers   []*oracleScheduler // of batch, and of services
	}{
		"single path": {simulate.SinglePath(service), false, []*oracleScheduler{{think: [simulate.Classes]simulate.Think{service, service}}}},
		"multi-path":  {simulate.MultiPath(batch, service), false, []*oracleScheduler{{think: both}}},
		"omega":       {simulate.SharedState(batch, service, 1), true, []*oracleScheduler{{think: both}, {think: both}}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			for seed := range uint64(40) {
				jobs := crowd(seed, cpus, 60)
				schedulers := make([]oracleScheduler, len(tt.schedulers))
				for i, s := range tt.schedulers {
					schedulers[i] = *s
				}
				o := oracle{jobs: jobs, free: cpus, early: tt.early, of: func(c simulate.Class) *oracleScheduler {
					return &schedulers[int(c)%len(schedulers)]
				}}
				o.run()
				m, err := simulate.Run(t.Context(), simulate.Config{
					Cell: simulate.Cell{Machines: 1, Capacity: resources.Vector{cpus}}, Jobs: jobs, Architecture: tt.architecture,
				})
				require.NoError(t, err)
				for c := range simulate.Classes {
					require.Equal(t, o.got[c], outcomeOf(&m.Classes[c], &o.got[c]), "seed %d, %v", seed, c)
				}
				require.Positive(t, o.got[simulate.Service].NoRoom+o.got[simulate.Service].Refused)
			}
		})
	}
}

// outcomeOf returns the measurements of a run. Means are rounded: where they are that of
// the wanted sum, it is that.
func outcomeOf(c *simulate.ClassMetrics, want *oracleOutcome) oracleOutcome {
	sum := func(s simulate.Summary, want time.Duration) time.Duration {
		if mean := time.Duration(s.Count) * s.Mean; (mean - want).Abs() <= time.Duration(s.Count) {
			return want
		}
		return time.Duration(s.Count) * s.Mean
	}
	return oracleOutcome{
		Wait: sum(c.Wait, want.Wait), Full: sum(c.WaitFull, want.Full), Queued: sum(c.QueuedFull, want.Queued),
		Useful: c.Useful, Wasted: c.Wasted,
		Started: c.Started, Placed: c.Full, Granted: c.Granted, Refused: c.Refused, NoRoom: c.NoRoom,
	}
}

// Schedulers of a partitioned cell are monolithic ones, each on machines of its own.
func TestPartitioned_IsAMonolithicSchedulerForEachPart(t *testing.T) {
	const cpus = 8
	batch := simulate.Think{Job: 700*time.Millisecond + 1, Task: 70*time.Millisecond + 3}
	service := simulate.Think{Job: 2*time.Second + 5, Task: 110*time.Millisecond + 7}
	for seed := range uint64(20) {
		jobs := crowd(seed, cpus, 120)
		m, err := simulate.Run(t.Context(), simulate.Config{
			Cell: simulate.Cell{Machines: 2, Capacity: resources.Vector{cpus}}, Jobs: jobs,
			Architecture: simulate.Partitioned(batch, service, 0.5),
		})
		require.NoError(t, err)
		for c := range simulate.Classes {
			s := oracleScheduler{think: [simulate.Classes]simulate.Think{batch, service}}
			o := oracle{free: cpus, of: func(simulate.Class) *oracleScheduler { return &s }}
			o.jobs = slices.DeleteFunc(slices.Clone(jobs), func(j simulate.Job) bool { return j.Class != c })
			o.run()
			require.Equal(t, o.got[c], outcomeOf(&m.Classes[c], &o.got[c]), "seed %d, %v", seed, c)
		}
	}
}
