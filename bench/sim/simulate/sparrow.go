package simulate

import (
	"context"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/cellsched/cellsched/bench/internal/queue"
	"github.com/cellsched/cellsched/resources"
)

// SparrowConfig is the settings of Sparrow.
type SparrowConfig struct {
	// Probes is the number of machines that are asked for each task of a job, at most
	// 1,000; 0 is 2.
	Probes int
	// RoundTrip is the time for which a machine with room waits for its task, at most a
	// century; 0 is 1 ms.
	RoundTrip time.Duration
}

// maxProbes bounds the cost of one task.
const maxProbes = 1000

func (c *SparrowConfig) check() error {
	if c.Probes < 0 || c.Probes > maxProbes || c.RoundTrip < 0 || c.RoundTrip > maxTime {
		return fmt.Errorf("%w: sparrow: %d probes, round trip %v: want 0 or more, up to %d and %v",
			ErrConfig, c.Probes, c.RoundTrip, maxProbes, maxTime)
	}
	return nil
}

// Sparrow simulates decentralised scheduling by batch sampling with late
// binding: K. Ousterhout, P. Wendell, M. Zaharia and I. Stoica, "Sparrow:
// distributed, low latency scheduling", SOSP 2013, section 3. It is here for
// comparison and none of the library's. It has no shared state, so there is
// nothing to refresh, to think about or to conflict with, and the architecture
// of cfg is not used.
//
// A job of m tasks puts reservations for one task on the queues of Probes × m
// machines that it draws, of those that could run it beside the prefill. A
// machine that has room for the first of its queue takes the room and asks
// the job. The job gives out the next task or, if there is none left, nothing.
// Wait is here until the first task of a job is given out, WaitFull until the
// last. Errors: [ErrConfig].
func Sparrow(ctx context.Context, cfg Config, how SparrowConfig) (*Metrics, error) {
	cfg.Architecture = monolithic("sparrow", [Classes]Think{})
	if err := cfg.check(); err != nil {
		return nil, err
	}
	if err := how.check(); err != nil {
		return nil, err
	}
	if how.Probes == 0 {
		how.Probes = 2
	}
	if how.RoundTrip == 0 {
		how.RoundTrip = time.Millisecond
	}
	s := newSparrow(&cfg, how)
	if err := s.run(ctx); err != nil {
		return nil, err
	}
	return s.metrics(), nil
}

// sparrow is one run of it.
type sparrow struct {
	cfg     *Config
	how     SparrowConfig
	rand    *rand.Rand
	workers []worker
	fit     []eligible
	given   []int32 // tasks by job
	queue   queue.Queue[reply]
	now     time.Duration
	events  uint64
	jobs    meters
	usage   usage
}

// worker is a machine: its free room, and the jobs for which it has
// reservations, the oldest first.
type worker struct {
	free    resources.Vector
	most    resources.Vector // that can be free, beside the prefill
	waiting []int32
	head    int // of waiting
}

// eligible are the machines that could run a need, in any order.
type eligible struct {
	need    resources.Vector
	workers []int32
}

// reply is a message to a worker: of a task, or that a task has ended.
type reply struct {
	worker, job int32
	ended       bool
}

func newSparrow(cfg *Config, how SparrowConfig) *sparrow {
	s := &sparrow{
		cfg: cfg, how: how, rand: rand.New(rand.NewPCG(cfg.Seed, sparrowStream)),
		workers: make([]worker, cfg.Cell.Machines), given: make([]int32, len(cfg.Jobs)),
		jobs: newMeters(len(cfg.Jobs)),
	}
	for i := range s.workers {
		s.workers[i].free = cfg.Cell.Capacity
	}
	for left := cfg.Cell.prefilled(); left > 0; {
		w := &s.workers[s.rand.IntN(len(s.workers))]
		if rest, ok := w.free.Sub(cfg.Cell.PrefillNeed); ok {
			w.free = rest
			left--
		}
	}
	for i := range s.workers {
		s.workers[i].most = s.workers[i].free
	}
	s.usage.add(cfg.Cell.PrefillNeed, int64(cfg.Cell.prefilled()), 0)
	return s
}

func (s *sparrow) run(ctx context.Context) error {
	for job := 0; ; {
		at, ok := s.queue.Next()
		submits := job < len(s.cfg.Jobs) && (!ok || s.cfg.Jobs[job].Submit <= at)
		if submits {
			at, ok = s.cfg.Jobs[job].Submit, true
		}
		if !ok || at > s.cfg.until() {
			s.now = max(s.now, s.cfg.Horizon)
			return s.cfg.outOfTime(ok)
		}
		s.now = at
		if s.events++; s.events%4096 == 0 && ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if submits {
			if err := s.probe(ctx, job); err != nil {
				return err
			}
			job++
			continue
		}
		_, r, _ := s.queue.Pop()
		s.hear(r)
	}
}

// probe puts the reservations of a job on the queues of machines, each once
// before any has two.
func (s *sparrow) probe(ctx context.Context, job int) error {
	j := &s.cfg.Jobs[job]
	s.jobs.submitted(j.Class)
	among := s.eligible(&j.Need)
	if len(among) == 0 {
		return fmt.Errorf("%w: job %d: no machine of %v can run a task of %v beside the prefill: want one", ErrConfig, job, s.cfg.Cell.Capacity, j.Need)
	}
	left := len(among)
	for n := range s.how.Probes * j.Tasks {
		if n%4096 == 4095 && ctx.Err() != nil {
			return context.Cause(ctx)
		}
		i := s.rand.IntN(left)
		left--
		among[i], among[left] = among[left], among[i]
		w := among[left]
		s.workers[w].waiting = append(s.workers[w].waiting, int32(job))
		s.ask(w)
		if left == 0 {
			left = len(among)
		}
	}
	return nil
}

func (s *sparrow) eligible(need *resources.Vector) []int32 {
	for i := range s.fit {
		if s.fit[i].need == *need {
			return s.fit[i].workers
		}
	}
	e := eligible{need: *need}
	for i := range s.workers {
		if resources.Fits(need, &s.workers[i].most) {
			e.workers = append(e.workers, int32(i))
		}
	}
	s.fit = append(s.fit, e)
	return e.workers
}

// ask makes a worker ask for tasks while it has room for the first of its queue.
func (s *sparrow) ask(n int32) {
	w := &s.workers[n]
	for w.head < len(w.waiting) {
		job := w.waiting[w.head]
		rest, ok := w.free.Sub(s.cfg.Jobs[job].Need)
		if !ok {
			return
		}
		w.free = rest
		w.head++
		if w.head >= 64 && w.head > len(w.waiting)/2 {
			w.waiting = append(w.waiting[:0], w.waiting[w.head:]...)
			w.head = 0
		}
		s.queue.Push(s.now+s.how.RoundTrip, reply{worker: n, job: job})
	}
	w.waiting, w.head = w.waiting[:0], 0
}

// hear begins the task that a worker is given, or ends one.
func (s *sparrow) hear(r reply) {
	j := &s.cfg.Jobs[r.job]
	if !r.ended && int(s.given[r.job]) < j.Tasks {
		s.given[r.job]++
		s.jobs.given(j, int(s.given[r.job]), s.now)
		s.usage.add(j.Need, 1, s.now)
		s.queue.Push(s.now+j.Duration, reply{worker: r.worker, job: r.job, ended: true})
		return
	}
	if r.ended {
		s.usage.add(j.Need, -1, s.now)
	}
	s.workers[r.worker].free = s.workers[r.worker].free.Add(j.Need)
	s.ask(r.worker)
}

func (s *sparrow) metrics() *Metrics {
	return &Metrics{
		Name: s.cfg.Architecture.Name, Span: s.now, Events: s.events,
		Classes: s.jobs.metrics(), Utilisation: s.usage.mean(&s.cfg.Cell, s.now),
	}
}
