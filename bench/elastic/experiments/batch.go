package experiments

import (
	"context"
	"math"
	"time"

	"github.com/cellsched/cellsched/omega"
)

// at is virtual time as the library wants it.
func at(d time.Duration) time.Time { return time.Unix(0, 0).Add(d) }

// place commits up to k claims of the ordinary kind where there is room.
func place(s *omega.Scheduler, k int) ([]omega.AllocationID, error) {
	attempt := omega.Attempt{Store: omega.Local{Scheduler: s}}
	snap, err := attempt.Begin(context.Background(), time.Time{})
	if err != nil {
		return nil, err
	}
	snap.Place(omega.Query{Need: need()}, omega.NextFit(), k, func(m omega.MachineID, tasks int) {
		for range tasks {
			attempt.Txn.Claim(omega.Claim{Machine: m, Need: need(), Precedence: ordinary})
		}
	})
	_, err = attempt.Commit(context.Background(), time.Time{})
	return attempt.Outcome().Granted, err
}

// arrive is a batch that comes.
func (r *run) arrive(b Batch) error {
	r.waiting = append(r.waiting, &b)
	if err := r.serve(); err != nil {
		return err
	}
	r.result.Waited += b.Tasks // the tasks that are left of them
	return nil
}

// serve starts the tasks that wait, first come, first served: where there is
// room, else in the place of extra workers.
func (r *run) serve() error {
	for len(r.waiting) > 0 {
		b := r.waiting[0]
		started, err := place(r.batch, b.Tasks)
		if err != nil {
			return err
		}
		if more := b.Tasks - len(started); more > 0 {
			preempted, err := r.preempt(more)
			if err != nil {
				return err
			}
			started = append(started, preempted...)
		}
		b.Tasks -= len(started)
		r.tasks += len(started)
		if len(started) > 0 {
			r.at(r.now+min(b.Runs, math.MaxInt64-r.now), func() error { return r.end(started) })
		}
		if b.Tasks > 0 {
			return nil
		}
		r.waiting = r.waiting[1:]
	}
	return nil
}

// end is tasks that end.
func (r *run) end(tasks []omega.AllocationID) error {
	for _, id := range tasks {
		if err := r.batch.Release(id); err != nil {
			return err
		}
	}
	r.tasks -= len(tasks)
	return r.serve()
}

// preempt starts up to k tasks, each in the place of an extra worker of the
// youngest job that has one.
func (r *run) preempt(k int) ([]omega.AllocationID, error) {
	var started []omega.AllocationID
	for range k {
		victim, ok := r.youngest()
		if !ok {
			break
		}
		attempt := omega.Attempt{Store: omega.Local{Scheduler: r.batch}, Txn: omega.Txn{Grace: omega.AtOnce}}
		attempt.Txn.Claim(omega.Claim{
			Machine: r.machines[victim.Node()],
			Need:    need(), Precedence: ordinary, Victims: []omega.AllocationID{victim},
		})
		if _, err := attempt.Commit(context.Background(), at(r.now)); err != nil {
			return nil, err
		}
		id, ok := attempt.Txn.Allocation(0)
		if !ok {
			return nil, attempt.Txn.Err(0)
		}
		started = append(started, id)
		if err := r.acknowledge(); err != nil {
			return nil, err
		}
	}
	return started, nil
}

// youngest returns the last extra worker of the youngest job that has any.
func (r *run) youngest() (last omega.AllocationID, ok bool) {
	for i := len(r.running) - 1; i >= 0; i-- {
		if team := r.running[i].team; team.Extra() > 0 {
			for id := range team.Workers() {
				last = id
			}
			return last, true
		}
	}
	return last, false
}

// acknowledge lets jobs go on without their preempted workers.
func (r *run) acknowledge() error {
	for mark := range r.mapreduce.Marked() {
		for _, j := range r.running {
			before := j.team.Len()
			if !j.team.Drop(mark.Allocation.ID) {
				continue
			}
			// Until now it had one more.
			j.left = j.left.After(before, r.now-j.since)
			j.since = r.now
			r.wake(j)
			break
		}
		r.result.Preempted++
		if err := r.mapreduce.Release(mark.Allocation.ID); err != nil {
			return err
		}
	}
	return nil
}
