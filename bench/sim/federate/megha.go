package federate

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/cellsched/cellsched/bench/internal/queue"
	"github.com/cellsched/cellsched/omega"
	"github.com/cellsched/cellsched/omega/federation"
	"github.com/cellsched/cellsched/resources"
)

// Megha runs the jobs through package federation. Job i is submitted to global master
// i modulo their number. Errors: [ErrConfig]; the context's cause.
func Megha(ctx context.Context, c Cluster, jobs []Job) (*Result, error) {
	if err := c.check(jobs); err != nil {
		return nil, err
	}
	m := &megha{cfg: c, meter: newMeter(jobs), names: map[string]int{}, start: time.Unix(0, 0)}
	if err := m.build(); err != nil {
		return nil, err
	}
	if err := m.run(ctx); err != nil {
		return nil, err
	}
	for _, g := range m.globals {
		s := g.master.Stats()
		m.meter.result.Sent += s.Sent
		m.meter.result.Refused += s.Refused
		m.meter.result.Borrowed += s.Borrowed
	}
	for i, cell := range m.cells {
		if err := cell.Check(); err != nil {
			return nil, fmt.Errorf("federate: cell %d: %w", i, err)
		}
	}
	return m.meter.done()
}

type megha struct {
	cfg     Cluster
	meter   *meter
	start   time.Time
	now     time.Duration
	queue   queue.Queue[happening]
	cells   []*omega.Cell
	globals []*global
	sites   []*site // by local master, then global master
	locals  []string
	names   map[string]int // of jobs
	running int
	warm    time.Duration // all masters know each other before the first job
}

type global struct {
	master *federation.Global
	due    time.Duration
}

type site struct {
	verifier *federation.Verifier
	due      time.Duration
}

// happening is a message that arrives, a task that ends, or a time that a master asked
// for.
type happening struct {
	message federation.Message
	global  int32 // of a message or a time, -1 for none
	site    int32
	run     federation.Event
	ends    bool
}

func (m *megha) build() error {
	var fronts []string
	for i := range m.cfg.Globals {
		fronts = append(fronts, fmt.Sprint("global-", i))
	}
	for i := range m.cfg.Locals {
		m.locals = append(m.locals, fmt.Sprint("local-", i))
	}
	for i, name := range fronts {
		g, err := federation.New(federation.Config{
			Name: name, Locals: m.locals, Rand: rand.New(rand.NewPCG(m.cfg.Seed, uint64(i))), Timeout: time.Minute,
		})
		if err != nil {
			return err
		}
		m.globals = append(m.globals, &global{master: g})
	}
	for i, name := range m.locals {
		machines := m.cfg.Workers*(i+1)/m.cfg.Locals - m.cfg.Workers*i/m.cfg.Locals
		var cfg omega.Config
		for n := range machines {
			cfg.Machines = append(cfg.Machines, omega.Machine{Name: fmt.Sprint("w", n), Capacity: resources.Vector{1}})
		}
		cell, err := omega.NewCell(cfg)
		if err != nil {
			return err
		}
		m.cells = append(m.cells, cell)
		parts := federation.Split(machines, fronts...)
		for _, front := range fronts {
			s, err := cell.Register(front, omega.Limits{})
			if err != nil {
				return err
			}
			at := int32(len(m.sites))
			v, err := federation.NewVerifier(federation.Local{
				Name: name, Scheduler: s, Partitions: parts, Heartbeat: m.cfg.Heartbeat,
				Notify: func(e federation.Event) { m.heard(at, e) },
			})
			if err != nil {
				return err
			}
			m.sites = append(m.sites, &site{verifier: v})
		}
	}
	return nil
}

// heard follows the start of a task.
func (m *megha) heard(at int32, e federation.Event) {
	if e.Kind != federation.Started {
		return
	}
	job := m.names[e.Task.Job]
	m.meter.started(job, m.now-m.warm)
	m.queue.Push(m.now+m.meter.jobs[job].Lengths[e.Task.Index], happening{site: at, run: e, ends: true})
}

func (m *megha) run(ctx context.Context) error {
	for i := range m.globals {
		m.stepGlobal(int32(i))
	}
	m.warm = 10*m.cfg.Delay + time.Millisecond
	jobs, next, left := m.meter.jobs, 0, len(m.meter.jobs)
	m.running = 0
	for i := range jobs {
		m.running += len(jobs[i].Lengths)
	}
	for m.running > 0 {
		at, ok := m.queue.Next()
		if left > 0 && (!ok || jobs[next].Submit+m.warm <= at) {
			m.now = jobs[next].Submit + m.warm
			if err := m.submit(next); err != nil {
				return err
			}
			next++
			left--
			continue
		}
		if !ok {
			return fmt.Errorf("federate: %d tasks do not start", m.running)
		}
		if m.meter.result.Processed++; m.meter.result.Processed%4096 == 0 && ctx.Err() != nil {
			return context.Cause(ctx)
		}
		_, h, _ := m.queue.Pop()
		m.now = at
		if err := m.follow(ctx, &h); err != nil {
			return err
		}
	}
	return nil
}

func (m *megha) submit(job int) error {
	name := fmt.Sprint("job-", job)
	m.names[name] = job
	front := int32(job % len(m.globals))
	err := m.globals[front].master.Submit(federation.Job{
		Name: name, User: fmt.Sprint("user-", front), Tasks: len(m.meter.jobs[job].Lengths), Need: resources.Vector{1},
	})
	m.stepGlobal(front)
	return err
}

func (m *megha) follow(ctx context.Context, h *happening) error {
	switch {
	case h.ends:
		job := m.names[h.run.Task.Job]
		m.running--
		m.meter.ended(job, m.now-m.warm)
		if err := m.sites[h.site].verifier.Done(h.run, true); err != nil {
			return err
		}
		return m.stepSite(ctx, h.site)
	case h.message.From == "" && h.site >= 0:
		return m.stepSite(ctx, h.site)
	case h.message.From == "":
		m.stepGlobal(h.global)
		return nil
	case h.site >= 0:
		if err := m.sites[h.site].verifier.Receive(h.message); err != nil {
			return err
		}
		return m.stepSite(ctx, h.site)
	}
	if err := m.globals[h.global].master.Receive(h.message); err != nil {
		return err
	}
	m.stepGlobal(h.global)
	return nil
}

func (m *megha) stepGlobal(i int32) {
	g := m.globals[i]
	out, next := g.master.Step(m.start.Add(m.now))
	for _, message := range out {
		local := slices.Index(m.locals, message.To)
		m.queue.Push(m.now+m.cfg.Delay, happening{message: message, global: -1, site: int32(local*len(m.globals)) + i})
	}
	if due := next.Sub(m.start); !next.IsZero() && (g.due <= m.now || due < g.due) {
		g.due = due
		m.queue.Push(due, happening{global: i, site: -1})
	}
}

func (m *megha) stepSite(ctx context.Context, i int32) error {
	s := m.sites[i]
	out, next, err := s.verifier.Step(ctx, m.start.Add(m.now))
	if err != nil {
		return err
	}
	for _, message := range out {
		m.queue.Push(m.now+m.cfg.Delay, happening{message: message, global: i % int32(len(m.globals)), site: -1})
	}
	if due := next.Sub(m.start); due != s.due {
		s.due = due
		m.queue.Push(due, happening{global: -1, site: i})
	}
	return nil
}
