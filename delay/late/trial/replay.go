package trial

import (
	"cmp"
	"slices"
	"time"

	"github.com/cellsched/cellsched/delay/late"
	"github.com/cellsched/cellsched/locality"
)

// replay is a [Setup] that runs.
type replay struct {
	Setup
	policy  late.Policy
	book    *late.Book
	now     time.Duration
	coming  []*replayJob   // by submission, the first one last
	served  []*replayJob   // submitted and not finished, in the order of the trial
	slots   [][]*replayRun // by node; nil is free
	outcome Outcome
}

// replayJob is a job of a trial and its present stage.
type replayJob struct {
	*late.Job
	number  int
	load    Load
	stage   int
	next    int // task to start
	left    int // tasks that are not finished
	running map[late.Attempt]*replayRun
}

// replayRun is an attempt in a slot. It is nil there once it has ended.
type replayRun struct {
	job     *replayJob
	in      *late.Job // of the stage
	id      late.Attempt
	task    int
	work    time.Duration
	done    float64 // nanoseconds at speed 1
	start   time.Duration
	until   time.Duration // time up to which done counts
	copy    bool
	stopped bool
}

// instant returns a time of the trial as a time.Time.
func instant(t time.Duration) time.Time { return time.Unix(0, 0).Add(t) }

func newReplay(t Setup, p late.Policy) (*replay, error) {
	book, err := late.NewBook(late.Config{Nodes: len(t.Speeds), Slots: len(t.Speeds) * t.Slots})
	if err != nil {
		return nil, err
	}
	r := &replay{Setup: t, policy: p, book: book, slots: make([][]*replayRun, len(t.Speeds))}
	r.outcome.Took = make([]time.Duration, len(t.Jobs))
	for i := range r.slots {
		r.slots[i] = make([]*replayRun, t.Slots)
	}
	for i, load := range t.Jobs {
		job := &replayJob{number: i, load: load, running: map[late.Attempt]*replayRun{}}
		if err := r.begin(job, 0); err != nil {
			return nil, err
		}
		r.coming = append(r.coming, job)
	}
	slices.SortStableFunc(r.coming, func(a, b *replayJob) int { return cmp.Compare(b.load.Submit, a.load.Submit) })
	return r, nil
}

// begin makes a stage the present one of a job.
func (r *replay) begin(job *replayJob, stage int) (err error) {
	job.stage, job.next, job.left = stage, 0, len(job.load.Stages[stage].Work)
	job.Job, err = late.New(r.policy, job.left, r.book)
	return err
}

// run runs heartbeats of all nodes until no job is left.
func (r *replay) run() error {
	for {
		if len(r.served) == 0 {
			if len(r.coming) == 0 {
				return nil
			}
			if wait := r.coming[len(r.coming)-1].load.Submit - r.now; wait > 0 {
				r.now += (wait + r.Heartbeat - 1).Truncate(r.Heartbeat)
			}
		}
		r.submit()
		for n := range r.slots {
			if err := r.heartbeat(locality.Node(n)); err != nil {
				return err
			}
		}
		r.now += r.Heartbeat
	}
}

// submit serves the jobs that are due.
func (r *replay) submit() {
	for last := len(r.coming) - 1; last >= 0 && r.coming[last].load.Submit <= r.now; last-- {
		job := r.coming[last]
		r.coming = r.coming[:last]
		i, _ := slices.BinarySearchFunc(r.served, job, (*replayJob).compare)
		r.served = slices.Insert(r.served, i, job)
	}
}

func (j *replayJob) compare(k *replayJob) int { return cmp.Compare(j.number, k.number) }

// heartbeat reports the progress of a node's attempts, and refills its slots.
func (r *replay) heartbeat(n locality.Node) error {
	slots := r.slots[n]
	others := -1.0
	for _, run := range slots {
		if run != nil {
			others++
		}
	}
	pace := 1 / (1 + r.Sharing*max(0, others))
	for i, run := range slots {
		switch {
		case run == nil:
			continue
		case run.stopped:
			slots[i] = nil
			if _, _, err := run.in.Fail(instant(r.now), run.id); err != nil {
				return err
			}
			continue
		}
		r.advance(n, run, pace)
		if run.done >= float64(run.work) {
			slots[i] = nil
			if err := r.finish(run); err != nil {
				return err
			}
			continue
		}
		progress := run.job.load.Stages[run.job.stage].progress(run.done / float64(run.work))
		if err := run.job.Report(instant(r.now), run.id, progress); err != nil {
			return err
		}
	}
	for i, run := range slots {
		if run != nil {
			continue
		}
		var err error
		if slots[i], err = r.next(n); err != nil {
			return err
		}
	}
	return nil
}

// advance moves an attempt on to now, period by period.
func (r *replay) advance(n locality.Node, run *replayRun, pace float64) {
	for run.until < r.now {
		period, end := 0, r.now
		if last := len(r.Speeds[n]) - 1; last > 0 {
			if period = int(run.until / r.Period); period < last {
				end = min(end, time.Duration(period+1)*r.Period)
			}
			period = min(period, last)
		}
		run.done += float64(end-run.until) * r.Speeds[n][period] * pace
		run.until = end
	}
}

// finish ends an attempt, and with it its task, and perhaps a stage and a job.
func (r *replay) finish(run *replayRun) error {
	job := run.job
	loser, raced, err := job.Finish(instant(r.now), run.id)
	if err != nil {
		return err
	}
	delete(job.running, run.id)
	if raced {
		lost := job.running[loser]
		delete(job.running, loser)
		lost.stopped = true
		r.outcome.Wasted += r.now - lost.start
		if run.copy {
			r.outcome.Won++
		}
	}
	if job.left--; job.left > 0 {
		return nil
	}
	if job.stage+1 < len(job.load.Stages) {
		return r.begin(job, job.stage+1)
	}
	r.outcome.Took[job.number] = r.now - job.load.Submit
	i, _ := slices.BinarySearchFunc(r.served, job, (*replayJob).compare)
	r.served = slices.Delete(r.served, i, i+1)
	return nil
}

// next returns the attempt that a free slot of a node runs: an original, a copy or
// nil.
func (r *replay) next(n locality.Node) (*replayRun, error) {
	for _, job := range r.served {
		work := job.load.Stages[job.stage].Work
		if job.next == len(work) {
			continue
		}
		id, err := job.Start(instant(r.now), n)
		if err != nil {
			return nil, err
		}
		job.next++
		return r.start(job, replayRun{id: id, task: job.next - 1, work: work[job.next-1]}), nil
	}
	for _, job := range r.served {
		choice, err := job.Pick(instant(r.now), n)
		if err != nil {
			return nil, err
		}
		if choice.Why != late.Chosen {
			continue
		}
		id, err := job.Copy(instant(r.now), choice.Of, n)
		if err != nil {
			return nil, err
		}
		r.outcome.Copies++
		task := job.running[choice.Of].task
		return r.start(job, replayRun{id: id, task: task, work: job.load.Stages[job.stage].again(task), copy: true}), nil
	}
	return nil, nil
}

func (r *replay) start(job *replayJob, run replayRun) *replayRun {
	run.job, run.in, run.start, run.until = job, job.Job, r.now, r.now
	job.running[run.id] = &run
	return &run
}

// again returns the time that a copy of a task takes at speed 1.
func (s *Stage) again(task int) time.Duration {
	if s.Again == nil {
		return s.Work[task]
	}
	return s.Again[task]
}

// progress returns the progress of a task that has done a share of its work.
func (s *Stage) progress(done float64) float64 {
	if len(s.Parts) == 0 {
		return done
	}
	all := 0.0
	for _, part := range s.Parts {
		all += part
	}
	done *= all
	for i, part := range s.Parts {
		if done < part {
			return (float64(i) + done/part) / float64(len(s.Parts))
		}
		done -= part
	}
	return 1
}
