package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"time"

	"github.com/cellsched/cellsched/bench/trace"
	"github.com/cellsched/cellsched/delay"
	"github.com/cellsched/cellsched/locality"
	"github.com/cellsched/cellsched/omega"
	"github.com/cellsched/cellsched/resources"
)

// errLeft: a fault of the replay's own.
var errLeft = errors.New("the books do not balance")

// config is the settings of a replay.
type config struct {
	file     string // name of the trace in errors
	jobs     iter.Seq2[trace.Job, error]
	machines []trace.Machine
	order    string
	by       string // the kind of sharer: user, class or job
	weights  map[string]float64
	policy   omega.Policy
	waits    delay.Waits
	replicas int
	seed     uint64
	sample   time.Duration
	leaveOut bool           // jobs that are too large for the cell
	progress func(jobs int) // nil, or called now and then
}

// replay runs a trace in virtual time: one scheduler on one cell. All events of
// one moment make a round. Ended tasks are released in one transaction. Then tasks are
// started one by one, each in the turn of its job, until none fits, and committed in
// another.
type replay struct {
	cfg   config
	cell  *omega.Cell
	sched *omega.Scheduler
	snap  *omega.Snapshot
	total resources.Vector
	kinds int
	sites sites
	order order

	models  map[string][]bool // machines of each list of models
	largest map[string][]resources.Vector
	sharers map[string]*sharer
	all     []*sharer

	now      time.Time
	round    int
	endings  endings
	releases omega.Attempt
	claims   omega.Attempt
	launched []*ending // of each claim
	wake     time.Time // when the next job waits no longer, zero for none
	freed    []locality.Node
	dropped  int // nodes that were in freed before its first
	failed   []resources.Vector
	least    resources.Vector // no task has ever needed less of any kind
	full     bool             // no job has a task that fits
	offered  omega.Policy

	result result
	meter  meter
}

func newReplay(cfg config) (*replay, error) {
	if len(cfg.machines) == 0 {
		return nil, errors.New("no machines, want 1 or more")
	}
	r := &replay{
		cfg: cfg, offered: omega.FirstFit(nil),
		models: map[string][]bool{}, largest: map[string][]resources.Vector{}, sharers: map[string]*sharer{}, least: everything(),
	}
	fleet := omega.Config{Space: trace.Space()}
	for _, m := range cfg.machines {
		one := omega.Machine{Name: m.Name, Capacity: m.Capacity}
		if m.Rack != "" {
			one.Attributes = map[string]string{"rack": m.Rack}
		}
		fleet.Machines = append(fleet.Machines, one)
		r.total = r.total.Add(m.Capacity)
	}
	var err error
	if r.cell, err = omega.NewCell(fleet); err != nil {
		return nil, err
	}
	if r.sched, err = r.cell.Register("replay", omega.Limits{}); err != nil {
		return nil, err
	}
	store := omega.Local{Scheduler: r.sched}
	r.snap, r.releases.Store, r.claims.Store = r.sched.Snapshot(), store, store
	r.kinds = r.cell.Space().Kinds()
	if err := r.locate(); err != nil {
		return nil, err
	}
	if _, err := delay.New(delay.Policy{Waits: cfg.waits}); err != nil {
		return nil, err
	}
	r.order, err = newOrder(cfg.order, r.total)
	return r, err
}

// locate has the cell tell the topology: a node, its rack, and anywhere.
func (r *replay) locate() (err error) {
	s := &r.sites
	s.byName, s.replicas, s.seed = map[string]locality.Node{}, r.cfg.replicas, mix(r.cfg.seed)
	if s.topology, err = r.cell.Topology("rack"); err != nil {
		return err
	}
	for m := range r.cell.Machines() {
		rack := int32(s.topology.Group(m.ID.Node(), 1)) // below 0 for none
		s.byName[m.Name], s.rack = m.ID.Node(), append(s.rack, rack)
		s.racks = max(s.racks, int(rack)+1)
	}
	return nil
}

// origin is the time of the first submission.
func origin() time.Time { return time.Unix(0, 0).UTC() }

// run replays all jobs, to the end of the last task.
func (r *replay) run() (*result, error) {
	next, stop := iter.Pull2(r.cfg.jobs)
	defer stop()
	job, err, more := next()
	start := origin()
	first := job.Submit
	r.now = start
	r.meter.start(r, start)
	for err == nil {
		at, ok := r.upNext(start.Add(job.Submit-first), more)
		if !ok {
			break
		}
		r.meter.advance(r, at)
		r.now = at
		if err := r.begin(); err != nil {
			return nil, err
		}
		for more && err == nil && !start.Add(job.Submit-first).After(at) {
			if err := r.submit(job); err != nil {
				return nil, err
			}
			job, err, more = next()
		}
		if err != nil {
			return nil, err
		}
		if err := r.dispatch(); err != nil {
			return nil, err
		}
		r.meter.settle(r)
	}
	if err != nil {
		return nil, err
	}
	return r.finish(start)
}

// upNext returns when the next round is, given when the next job is submitted, if
// there are more; false if nothing can happen any more.
func (r *replay) upNext(submit time.Time, more bool) (at time.Time, ok bool) {
	sooner := func(t time.Time) {
		if !ok || t.Before(at) {
			at, ok = t, true
		}
	}
	if more {
		sooner(submit)
	}
	if after, left := r.endings.Next(); left {
		sooner(origin().Add(after))
	}
	if !r.wake.IsZero() {
		sooner(r.wake)
	}
	return at, ok
}

// begin begins a round: ended tasks give their room back.
func (r *replay) begin() error {
	r.round++
	r.wake = time.Time{}
	r.releases.Txn.Reset()
	first := len(r.freed)
	var stages []*job
	for {
		if after, left := r.endings.Next(); !left || after > r.now.Sub(origin()) {
			break
		}
		_, e, _ := r.endings.Pop()
		for _, id := range e.ids {
			r.releases.Txn.Release(id)
			r.freed = append(r.freed, id.Node())
		}
		j, n := e.b.job, len(e.ids)
		if err := r.order.credit(j, times(e.b.need, n)); err != nil {
			return err
		}
		r.result.Ended += n
		r.meter.change(r, j.who, e.b.need, -n)
		if j.running -= n; j.running == 0 && len(j.bundles) == 0 {
			stages = append(stages, j)
		}
	}
	if r.releases.Txn.Len() > 0 {
		if _, err := r.releases.Commit(context.Background(), r.now); err != nil {
			return err
		}
		for i := range r.releases.Txn.Len() {
			if err := r.releases.Txn.Err(i); err != nil {
				return err
			}
		}
	}
	if len(r.freed) > first {
		r.full, r.failed = false, r.failed[:0]
	}
	if most := 2 * len(r.cfg.machines); len(r.freed) > 2*most {
		r.dropped += len(r.freed) - most
		r.freed = append(r.freed[:0], r.freed[len(r.freed)-most:]...)
	}
	r.order.begin()
	for _, j := range stages {
		if len(j.rest) > 0 {
			if err := r.stage(j); err != nil {
				return err
			}
		} else {
			r.result.JobsEnded++
		}
	}
	return nil
}

// submit brings in a job.
func (r *replay) submit(t trace.Job) error {
	if err := r.check(&t); err != nil {
		if r.cfg.leaveOut {
			r.result.LeftOut++
			return nil
		}
		return err
	}
	who := t.User
	switch r.cfg.by {
	case "class":
		who = t.Class
	case "job":
		who = t.ID
	}
	s := r.sharers[who]
	if s == nil {
		account, err := r.cell.Account(context.Background(), who)
		if err != nil {
			return fmt.Errorf("job %s: %w", t.ID, err)
		}
		s = &sharer{name: who, account: account, weight: 1, since: r.now}
		if r.cfg.by == "user" {
			s.weight = cmp.Or(r.cfg.weights[who], 1)
		}
		r.sharers[who] = s
		r.all = append(r.all, s)
	}
	j := &job{Job: t, who: s, seq: r.result.Jobs, rest: t.Work}
	j.Work = nil
	r.result.Jobs++
	r.result.Tasks += t.Count()
	if r.cfg.progress != nil {
		r.cfg.progress(r.result.Jobs)
	}
	return r.stage(j)
}

// stage makes the tasks of the next stage of a job candidates.
func (r *replay) stage(j *job) (err error) {
	j.bundles, j.rest = bundles(&r.sites, j.rest)
	for _, b := range j.bundles {
		b.job, b.since = j, r.now
		b.models = r.models[key(b.groups[0].Models)]
		b.near = newNear(&r.sites, b)
		if b.delay, err = delay.New(delay.Policy{Waits: r.cfg.waits}); err != nil {
			return err
		}
		r.least = r.least.Min(b.need)
	}
	r.full = false
	return r.order.push(j)
}

// dispatch starts tasks until none fits.
func (r *replay) dispatch() error {
	r.claims.Txn.Reset()
	r.launched = r.launched[:0]
	for !r.full {
		j := r.order.next(r.fits)
		if j == nil {
			break
		}
		if err := r.start(j); err != nil {
			return err
		}
	}
	if r.claims.Txn.Len() == 0 {
		return nil
	}
	granted, err := r.claims.Commit(context.Background(), r.now)
	if err != nil {
		return err
	}
	if granted != r.claims.Txn.Len() {
		return fmt.Errorf("%d of %d claims were granted to the only scheduler: %w", granted, r.claims.Txn.Len(), errLeft)
	}
	for i, e := range r.launched {
		id, _ := r.claims.Txn.Allocation(i)
		e.ids = append(e.ids, id)
	}
	return nil
}
