package federate

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/cellsched/cellsched/bench/internal/queue"
	"github.com/cellsched/cellsched/omega"
	"github.com/cellsched/cellsched/resources"
)

// Omega runs the jobs on one cell with a scheduler for each global master. Job i is
// submitted to scheduler i modulo their number. A scheduler sees the cell as it is when it
// searches. Its claims arrive a delay later, and the answer another delay later; then it
// searches again for what was refused. When a task ends, a scheduler that found too little room
// learns of it a delay later, the one that has waited longest. Errors: [ErrConfig]; the
// context's cause.
func Omega(ctx context.Context, c Cluster, jobs []Job) (*Result, error) {
	if err := c.check(jobs); err != nil {
		return nil, err
	}
	s := &shared{delay: c.Delay, meter: newMeter(jobs)}
	if err := s.build(&c); err != nil {
		return nil, err
	}
	for next := 0; ; {
		at, ok := s.queue.Next()
		if next < len(jobs) && (!ok || jobs[next].Submit <= at) {
			s.now = jobs[next].Submit
			f := s.fronts[next%len(s.fronts)]
			for i := range jobs[next].Lengths {
				f.waiting = append(f.waiting, place{job: next, index: i})
			}
			next++
			s.decide(f)
			continue
		}
		if !ok {
			break
		}
		if s.meter.result.Processed++; s.meter.result.Processed%4096 == 0 && ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		var e turn
		s.now, e, _ = s.queue.Pop()
		if err := s.follow(&e); err != nil {
			return nil, err
		}
	}
	if err := s.cell.Check(); err != nil {
		return nil, fmt.Errorf("federate: %w", err)
	}
	return s.meter.done()
}

type shared struct {
	delay  time.Duration
	meter  *meter
	now    time.Duration
	queue  queue.Queue[turn]
	cell   *omega.Cell
	fronts []*front
	idle   []*front // with tasks that found no room, the longest first
}

// front is a scheduler of the cell. It decides about some of its waiting tasks at a time.
type front struct {
	sched    *omega.Scheduler
	snapshot *omega.Snapshot
	policy   omega.Policy
	waiting  []place
	tx       omega.Txn // of the decision
	deciding bool
}

// place is a task that waits.
type place struct{ job, index int }

// turn is an arrival of claims, of their answer or of news, or the end of a task.
type turn struct {
	kind turnKind
	by   *front
	job  int
	held omega.AllocationID
}

type turnKind uint8

const (
	claimed turnKind = iota
	replied
	told
	ended
)

func (s *shared) build(c *Cluster) (err error) {
	machines := make([]omega.Machine, c.Workers)
	for i := range machines {
		machines[i] = omega.Machine{Name: fmt.Sprint("w", i), Capacity: resources.Vector{1}}
	}
	if s.cell, err = omega.NewCell(omega.Config{Machines: machines}); err != nil {
		return err
	}
	for i := range c.Globals {
		sched, err := s.cell.Register(fmt.Sprint("scheduler-", i), omega.Limits{})
		if err != nil {
			return err
		}
		s.fronts = append(s.fronts, &front{
			sched: sched, snapshot: sched.Snapshot(), policy: omega.FirstFit(rand.New(rand.NewPCG(c.Seed, uint64(i)))),
		})
	}
	return nil
}

// decide searches for room for all waiting tasks of a scheduler that is not waiting for an
// answer.
func (s *shared) decide(f *front) {
	if f.deciding || len(f.waiting) == 0 {
		return
	}
	f.snapshot.Refresh(time.Unix(0, 0).Add(s.now))
	f.tx.Reset()
	need := resources.Vector{1}
	f.snapshot.Place(omega.Query{Need: need}, f.policy, len(f.waiting), func(m omega.MachineID, tasks int) {
		for range tasks {
			f.tx.Claim(omega.Claim{Machine: m, Need: need})
		}
	})
	at := slices.Index(s.idle, f)
	if f.tx.Len() == 0 {
		if at < 0 {
			s.idle = append(s.idle, f)
		}
		return
	}
	if at >= 0 {
		s.idle = slices.Delete(s.idle, at, at+1)
	}
	f.deciding = true
	s.queue.Push(s.now+s.delay, turn{kind: claimed, by: f})
}

// tell sends news of free room to the scheduler that has waited longest for it.
func (s *shared) tell() {
	if len(s.idle) > 0 {
		s.queue.Push(s.now+s.delay, turn{kind: told, by: s.idle[0]})
		s.idle = s.idle[1:]
	}
}

func (s *shared) follow(e *turn) error {
	switch f := e.by; e.kind {
	case claimed:
		return s.commit(f)
	case replied:
		f.deciding = false
		s.decide(f)
	case told:
		if f.deciding || len(f.waiting) == 0 {
			s.tell() // it does not need the room
			return nil
		}
		s.decide(f)
	case ended:
		s.meter.ended(e.job, s.now)
		var tx omega.Txn
		tx.Release(e.held)
		if _, err := f.sched.Commit(&tx); err != nil {
			return err
		}
		s.tell()
	}
	return nil
}

// commit grants the claims of a scheduler that still fit. The others' tasks wait on, before
// those that came meanwhile.
func (s *shared) commit(f *front) error {
	if _, err := f.sched.Commit(&f.tx); err != nil {
		return err
	}
	tried := f.waiting[:f.tx.Len()]
	var again []place
	for i, p := range tried {
		held, ok := f.tx.Allocation(i)
		if !ok {
			again = append(again, p)
			continue
		}
		s.meter.started(p.job, s.now)
		s.queue.Push(s.now+s.meter.jobs[p.job].Lengths[p.index], turn{kind: ended, by: f, job: p.job, held: held})
	}
	s.meter.result.Sent += uint64(len(tried))
	s.meter.result.Refused += uint64(len(again))
	f.waiting = append(again, f.waiting[len(tried):]...)
	s.queue.Push(s.now+s.delay, turn{kind: replied, by: f})
	return nil
}
