package experiments

import (
	"slices"

	"github.com/cellsched/cellsched/omega"
	"github.com/cellsched/cellsched/omega/elastic"
)

// replan brings all jobs up to now and gives each the workers that the policy
// plans for it, first come, first served, in three rounds. First, jobs with too many
// workers give some back. Then each job gets as many as it asked for, from the
// youngest job's extra workers if there is no other room. Then all get more.
func (r *run) replan() error {
	for _, j := range slices.Clone(r.running) {
		if err := r.advance(j); err != nil {
			return err
		}
	}
	if err := r.serve(); err != nil || len(r.running) == 0 {
		return err
	}
	room, err := r.shrink()
	if err != nil {
		return err
	}
	if room, err = r.grow(elastic.Policy{Times: 1}, room, (*job).lacks); err != nil {
		return err
	}
	if _, err = r.grow(r.policy, room, func(*job) bool { return true }); err != nil {
		return err
	}
	for _, j := range r.running {
		r.wake(j)
	}
	return nil
}

// lacks reports whether a job has fewer workers than it asked for.
func (j *job) lacks() bool { return j.team.Len() < j.Asked }

// look returns the room there is for workers.
func (r *run) look() (elastic.Room, error) {
	r.mapreduce.Snapshot().Refresh(at(r.now))
	return elastic.Look(r.mapreduce.Snapshot(), omega.Query{Need: need()})
}

func (r *run) plan(p elastic.Policy, j *job, room elastic.Room) (int, error) {
	plan, err := p.Plan(elastic.Job{
		Need: need(), Asked: j.Asked, Held: j.team.Len(), Most: j.left.Parallelism(), Model: j.left.Time,
	}, room)
	return plan.Workers, err
}

// shrink takes from jobs the workers above their plan, and those that other jobs
// asked for and lack, the youngest first. It returns the room there is then.
func (r *run) shrink() (elastic.Room, error) {
	room, err := r.look()
	if err != nil {
		return room, err
	}
	lacking := 0
	for _, j := range r.running {
		lacking += max(j.Asked-j.team.Len(), 0)
	}
	for _, j := range slices.Backward(r.running) {
		has := j.team.Len()
		n, err := r.plan(r.policy, j, room)
		if err != nil {
			return room, err
		}
		n = min(n, has)
		n = max(n-max(lacking-room.Workers-(has-n), 0), min(has, j.Asked))
		if n == has {
			continue
		}
		if err := r.resize(j, n); err != nil {
			return room, err
		}
		if room, err = r.look(); err != nil {
			return room, err
		}
	}
	return room, nil
}

// grow gives some jobs the workers that the policy plans for them, and returns the
// room that is left.
func (r *run) grow(p elastic.Policy, room elastic.Room, to func(*job) bool) (elastic.Room, error) {
	for _, j := range r.running {
		if !to(j) {
			continue
		}
		n, err := r.plan(p, j, room)
		if err != nil {
			return room, err
		}
		if has := j.team.Len(); n > has {
			if err := r.resize(j, n); err != nil {
				return room, err
			}
			room = room.Less(need(), j.team.Len()-has)
		}
	}
	return room, nil
}
