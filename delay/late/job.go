package late

import (
	"time"

	"github.com/cellsched/cellsched/internal/fault"
	"github.com/cellsched/cellsched/locality"
	"github.com/cellsched/cellsched/resources"
)

// Job is the running tasks of one kind, of one job: such as the maps, or the
// reduces. Its caller reports their progress and ends, and it chooses the one to
// copy.
//
// The zero Job has no book: its methods fail with [resources.ErrNil]. A Job is not
// safe for concurrent use; jobs that share a [Book] may belong to different
// goroutines. It has no clock: instants are arguments, and none may be before that
// of an earlier call ([ErrCall]). It keeps some 90 bytes for each of the most
// attempts that ever ran at a time.
type Job struct {
	policy Policy
	book   *Book
	tasks  int

	started bool
	epoch   time.Time     // instant of the first call; times are since then
	base    time.Duration // the same since 1970
	now     time.Duration // of the last call

	attempts []attempt
	free     []uint32
	order    order // the originals, by start

	rates     ranks  // of originals that are settled, and of finished tasks
	waiting   ends   // settled originals without copy
	durations median // of finished tasks, for Spark's rule

	running  int   // originals
	copies   int   // that run
	lost     int   // attempts that run though their twins have finished
	progress int64 // of all originals, in 1/one
	finished int
	took     float64 // nanoseconds, by all finished attempts together

	made, spent float64 // progress by all attempts, and the time it took
}

// New returns a job with the given number of tasks, which follows policy p and
// shares book b.
//
// Errors:
//   - [ErrPolicy]: a field of p is out of range;
//   - [ErrSize]: fewer than 1 task, or more than 2^30;
//   - [resources.ErrNil] and ErrSize: there is no book.
func New(p Policy, tasks int, b *Book) (*Job, error) {
	p, err := p.resolved()
	if err != nil {
		return nil, err
	}
	if tasks < 1 || tasks > 1<<30 {
		return nil, refuse(ErrSize, "new job: %d tasks, want 1 to %d", tasks, 1<<30)
	}
	if b == nil {
		return nil, fault.New("late", "new job: book", resources.ErrNil, ErrSize)
	}
	return &Job{policy: p, book: b, tasks: tasks, order: empty}, nil
}

// none reports whether j is nil, or not made by [New].
func (j *Job) none() bool { return j == nil || j.book == nil }

// Start records that the original of a task starts on a node. An unknown node fails
// with [ErrCall]. Cost: O(1).
func (j *Job) Start(now time.Time, node locality.Node) (Attempt, error) {
	if j.none() {
		return Attempt{}, absent("job")
	}
	if err := j.book.check("start", node); err != nil {
		return Attempt{}, err
	}
	if err := j.advance("start", now); err != nil {
		return Attempt{}, err
	}
	slot := j.begin(node, alone)
	j.order.append(j.attempts, slot)
	j.running++
	return j.handle(slot), nil
}

// Copy records that a copy of an original starts on a node, normally the choice of
// [Job.Pick]. Cost: O(log tasks). Errors:
//
//   - [ErrCall]: an attempt that no longer runs, or is a copy itself;
//   - [ErrCall]: a task with a copy;
//   - [ErrCall]: an unknown node, or that of the original;
//   - [ErrCap]: between Pick and Copy other jobs have started all copies that the
//     policy allows.
func (j *Job) Copy(now time.Time, of Attempt, node locality.Node) (Attempt, error) {
	if j.none() {
		return Attempt{}, absent("job")
	}
	a, err := j.find("copy", of)
	if err != nil {
		return Attempt{}, err
	}
	if err := j.book.check("copy", node); err != nil {
		return Attempt{}, err
	}
	switch {
	case a.role == duplicate:
		return Attempt{}, refuse(errAttempt, "copy attempt %d: it is a copy, want the original", of.slot)
	case a.role == original:
		return Attempt{}, refuse(errCopied, "copy attempt %d: it has a copy on node %d", of.slot, j.attempts[a.twin].node)
	case a.node == node:
		return Attempt{}, refuse(errNode, "copy attempt %d: node %d runs the original, want another", of.slot, node)
	}
	if err := j.inTime("copy", now); err != nil {
		return Attempt{}, err
	}
	if err := j.book.take(j.policy.Cap); err != nil {
		return Attempt{}, err
	}
	j.move(now)
	if a.settled {
		j.waiting.drop(a.key, of.slot)
	}
	slot := j.begin(node, duplicate)
	a = &j.attempts[of.slot] // begin may have moved it
	a.role, a.twin = original, slot
	j.attempts[slot].twin = of.slot
	j.copies++
	return j.handle(slot), nil
}

// Report sets the progress of an attempt, from 0 to 1: the score of the paper, for
// tasks with parts that of [Phases].
//
// A silent attempt keeps its rate and its expected end, so report unchanged
// progress too, with each heartbeat. Cost: O(log tasks); no allocation except as
// buckets come into use. Errors, which change nothing: [ErrCall] for a progress
// that is not from 0 to 1, or less than before; [ErrCall] for an attempt that no
// longer runs.
func (j *Job) Report(now time.Time, of Attempt, progress float64) error {
	if j.none() {
		return absent("job")
	}
	a, err := j.find("report", of)
	if err != nil {
		return err
	}
	if !share(progress) || progress < a.progress {
		return refuse(errProgress, "report of attempt %d: progress %v, want %v to 1", of.slot, progress, a.progress)
	}
	if err := j.advance("report", now); err != nil {
		return err
	}
	j.report(of.slot, progress)
	return nil
}

// Finish records that an attempt is the first of its task to end well. If the task
// ran twice, loser is the other attempt, to be stopped. The loser holds its slot,
// and counts towards [Policy].Cap, until [Job.Fail] records its end; no other call
// takes it. Cost: O(log tasks).
func (j *Job) Finish(now time.Time, of Attempt) (loser Attempt, raced bool, err error) {
	if j.none() {
		return Attempt{}, false, absent("job")
	}
	if _, err := j.find("finish", of); err != nil {
		return Attempt{}, false, err
	}
	if err := j.advance("finish", now); err != nil {
		return Attempt{}, false, err
	}
	j.report(of.slot, 1)
	a := &j.attempts[of.slot]
	first := of.slot
	if a.role == duplicate || a.role == original {
		loser, raced = j.handle(a.twin), true
	}
	// Sums of originals count the task under its original, also if the copy has won.
	if a.role == duplicate {
		first = a.twin
	}
	took := float64(max(1, j.now-a.start))
	j.finished++
	j.took += took
	if j.policy.Rule == Spark {
		j.durations.add(max(1, j.now-a.start))
	}
	j.forget(first)
	// A finished task stays in the percentiles, so that the last tasks of a job are
	// compared with all earlier ones.
	j.rates.add(key(float64(time.Second)/took), 1)
	if raced {
		j.lose(loser.slot)
	}
	j.end(of.slot)
	return loser, raced, nil
}

// Fail records that an attempt has ended without a result: it failed, was
// preempted, has lost and was stopped, or its node is lost. If a task that is not
// finished has another attempt, that one is its original from now on, and it may be
// copied in its turn. Cost: O(log tasks), and O(tasks started since the copy) when
// a copy outlives its original.
func (j *Job) Fail(now time.Time, of Attempt) (survivor Attempt, ok bool, err error) {
	if j.none() {
		return Attempt{}, false, absent("job")
	}
	loser := of.job == j && int(of.slot) < len(j.attempts) &&
		j.attempts[of.slot].gen == of.gen && j.attempts[of.slot].role == lost
	if !loser {
		if _, err := j.find("fail", of); err != nil {
			return Attempt{}, false, err
		}
	}
	if err := j.advance("fail", now); err != nil {
		return Attempt{}, false, err
	}
	a := &j.attempts[of.slot]
	switch a.role {
	case duplicate:
		survivor, ok = j.handle(a.twin), true
		o := &j.attempts[a.twin]
		o.role = alone
		if o.settled {
			j.waiting.put(o.key, ending{o.end(), survivor.slot})
		}
	case lost: // its task is finished
	case original:
		survivor, ok = j.handle(a.twin), true
		j.forget(of.slot)
		j.promote(a.twin)
	default:
		j.forget(of.slot)
	}
	j.end(of.slot)
	return survivor, ok, nil
}

// Close ends a job without running attempts. Its copies no longer count in the
// book, and its attempts are no longer valid. Cost: O(attempts).
func (j *Job) Close() {
	if j.none() {
		return
	}
	for slot := range j.attempts {
		a := &j.attempts[slot]
		if a.role == gone {
			continue
		}
		if a.settled {
			j.rates.add(a.key, -1)
		}
		j.end(uint32(slot))
	}
	j.running, j.progress = 0, 0
	j.order, j.waiting = empty, ends{}
}

// advance moves the job's time, and settles the originals that are old enough by
// then.
func (j *Job) advance(op string, now time.Time) error {
	if err := j.inTime(op, now); err != nil {
		return err
	}
	j.move(now)
	return nil
}

func (j *Job) inTime(op string, now time.Time) error {
	if j.started && now.Sub(j.epoch) < j.now {
		return refuse(errTime, "%s at %v: the last call was at %v", op, now, j.epoch.Add(j.now))
	}
	return nil
}

func (j *Job) move(now time.Time) {
	if !j.started {
		j.started, j.epoch, j.base = true, now, sinceEpoch(now)
	}
	j.now = now.Sub(j.epoch)
	for {
		slot, ok := j.order.young()
		if !ok || j.now-j.attempts[slot].start < j.policy.MinAge {
			return
		}
		j.settle(slot)
		j.order.settled(j.attempts, slot)
	}
}
