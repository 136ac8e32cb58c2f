package delay

import (
	"time"

	"github.com/cellsched/cellsched/internal/fault"
	"github.com/cellsched/cellsched/internal/keys"
	"github.com/cellsched/cellsched/locality"
)

// Queue keeps jobs in line, first come, first served, and gives a free node to the
// first that takes it. J is the caller's key of a job.
//
// It decides as a [Line] in the order of arrival, but does not go from job to job.
// It finds jobs by the nodes that they prefer, and many age at once.
//
// A Queue is not safe for concurrent use: a call during another one fails with
// [ErrConcurrent] and changes nothing. The zero Queue refuses all calls, see
// [NewQueue]. It groups nodes by the topology when it first meets a node, see
// [Queue.Regroup]. For other orders than first come, first served see [Line].
type Queue[J comparable] struct {
	use     use
	fresh   Job // a job as it begins
	places  places
	jobs    map[J]*queued
	buckets map[place]*bucket

	// slots has the jobs in order. tree has at the same index the negated rest of
	// the job's wait, below 0 until the wait is over.
	slots []slot[J]
	tree  tree
	added int64 // to any number of the tree at most, since it was built
	next  uint64

	// The jobs in slots before marked have passed up the last offer, and age.
	marked  int
	started bool
	last    time.Time     // of the last offer
	clock   time.Duration // from the first offer to the last
	tally   tally
}

// slot is a job's place in line, with no job once that has left.
type slot[J comparable] struct {
	*queued
	key J
}

// limit is more than any wait: 36 years. Adding up a few of them does not overflow.
const limit = 1 << 60

// queued is a job in the queue.
type queued struct {
	// job has the fields that do not change as the queue goes on. Its wait or
	// skips, the waiting mark and idle time change.
	job       Job
	number    uint64 // the order of arrival
	slot      int
	threshold int64 // its wait or its skips are threshold + tree[slot]
	allowed   locality.Level

	clock, waited time.Duration // of the queue and of job, when job was stored

	spots   [][]*spot // by level
	free    *spot     // tasks without preference
	started []bool
	pending int
}

// Launch is the task that starts on a taken offer.
type Launch[J comparable] struct {
	Job   J
	Task  int            // its index among the job's
	Level locality.Level // how far the node is from its data
}

// NewQueue returns an empty queue of jobs that all wait as p says, in a topology;
// nil is for nodes without groups. Errors: as [New], and [ErrPolicy] for waits of
// more than 36 years.
func NewQueue[J comparable](p Policy, topology *locality.Topology) (*Queue[J], error) {
	fresh, err := New(p)
	if err != nil {
		return nil, err
	}
	if sum := fresh.need(locality.MaxLevels - 1); sum >= limit {
		return nil, refuse(ErrPolicy, "queue: waits of %v in all, want less than %v", sum, time.Duration(limit))
	}
	if int64(p.Skips) >= limit {
		return nil, refuse(ErrPolicy, "queue: skips = %d, want less than %d", p.Skips, int64(limit))
	}
	return &Queue[J]{
		fresh:   fresh,
		places:  newPlaces(topology),
		jobs:    make(map[J]*queued),
		buckets: make(map[place]*bucket),
		tree:    newTree(1),
	}, nil
}

// Len returns the number of jobs in the queue.
func (q *Queue[J]) Len() int {
	if q == nil {
		return 0
	}
	return len(q.jobs)
}

// Add puts a job at the end. Tasks are the nodes on which each task is local; a
// task without any is local on all. The job leaves when all its tasks are launched.
// The slices are read and not kept.
//
// [ErrJob] reports a job that is in the queue, has no tasks, or has a key that a Go
// map cannot find again, such as NaN. Cost: O(preferred nodes × levels), and O(log
// jobs) for each group among them.
func (q *Queue[J]) Add(job J, tasks ...[]locality.Node) error {
	if err := q.enter("add a job"); err != nil {
		return err
	}
	defer q.use.leave()
	if !keys.Findable(job) {
		return refuse(ErrJob, "add job %s: want a key equal to itself", fault.Key(job))
	}
	if _, ok := q.jobs[job]; ok {
		return refuse(ErrJob, "add job %s: it is in the queue", fault.Key(job))
	}
	if len(tasks) == 0 {
		return refuse(ErrJob, "add job %s: it has no tasks, want one or more", fault.Key(job))
	}
	e := &queued{job: q.fresh, number: q.next, started: make([]bool, len(tasks)), pending: len(tasks)}
	q.next++
	e.job.SetPending(q.spot(e, tasks))
	e.job.cost = q.tally.cost
	q.jobs[job] = e
	q.append(e, job)
	q.list(e, 0)
	q.store(e, e.job)
	return nil
}

// Remove takes a job out, with all of its pending tasks. It fails with [ErrJob] if
// the job is not in the queue.
func (q *Queue[J]) Remove(job J) error {
	if err := q.enter("remove a job"); err != nil {
		return err
	}
	defer q.use.leave()
	e, err := q.find("remove", job)
	if err != nil {
		return err
	}
	q.leave(e)
	return nil
}

// Update changes the state of a job in place: change calls [Job.SetStarved],
// [Job.SetNearest] and [Job.SetEmpty], and no other method that writes. It must not call
// the queue. Update fails with [ErrJob] if the job is not in the queue. Cost: O(log jobs),
// and as much for each group that the job has tasks for.
func (q *Queue[J]) Update(job J, change func(*Job)) error {
	if err := q.enter("update a job"); err != nil {
		return err
	}
	defer q.use.leave()
	e, err := q.find("update", job)
	if err != nil {
		return err
	}
	if change == nil {
		return absent("change")
	}
	j := q.load(e)
	change(&j)
	q.store(e, j)
	return nil
}

// Regroup reads the topology again. Call it after nodes that the queue may have
// met, or that have data, were added, moved or removed. Waits stay. It fails with
// [ErrConcurrent] only. Cost: as adding all jobs with their pending tasks.
func (q *Queue[J]) Regroup() error {
	if err := q.enter("regroup"); err != nil {
		return err
	}
	defer q.use.leave()
	q.places = newPlaces(q.places.topology)
	clear(q.buckets)
	for _, s := range q.slots {
		if s.queued != nil {
			q.spotAgain(s.queued)
		}
	}
	return nil
}

// enter begins a call.
func (q *Queue[J]) enter(what string) error {
	switch {
	case q == nil:
		return absent("queue")
	case q.jobs == nil:
		return refuse(ErrJob, "%s: the zero queue, want one of NewQueue", what)
	}
	return q.use.enter(what)
}

// Job returns a copy of a job's state. A caller that looks for the best machine for
// a job, instead of a job for a machine, looks no farther than [Job.Allowed]. In a
// queue that counts skips the time waited is unknown. It fails with [ErrJob] if the
// job is not in the queue. Cost: O(log jobs).
func (q *Queue[J]) Job(job J) (Job, error) {
	if err := q.enter("look at a job"); err != nil {
		return Job{}, err
	}
	defer q.use.leave()
	e, err := q.find("look at", job)
	if err != nil {
		return Job{}, err
	}
	return q.load(e), nil
}

// Offer gives a free node to the first job that takes it at the given instant, and
// there to the first of its nearest tasks. It returns false if all jobs would
// rather wait.
//
// Cost: O((levels + waits that end) × log jobs), independent of the jobs that pass
// the node up. When a wait ends, the job is looked up under each group that it has
// tasks for at the new level. An instant before that of an earlier offer fails with
// [ErrTime] and changes nothing. EuroSys 2010, Algorithms 2 and 3.
func (q *Queue[J]) Offer(now time.Time, n locality.Node) (Launch[J], bool, error) {
	if err := q.enter("offer"); err != nil {
		return Launch[J]{}, false, err
	}
	defer q.use.leave()
	if q.started && now.Before(q.last) {
		return Launch[J]{}, false, refuse(ErrTime, "offer of node %d at %v: the last one was at %v", n, now, q.last)
	}
	since := q.age(now)
	s := q.taker(n)
	if s == nil {
		if len(q.jobs) > 0 {
			q.tally.idle++
		}
		q.pass(len(q.slots))
		return Launch[J]{}, false, nil
	}

	e, task := s.job, s.first()
	j := q.load(e)
	waited := j.waiting
	j.waiting = false
	if s == e.free && j.learner != nil {
		j.waiting = waited // a task without preference has nothing to teach
	} else {
		j.launch(s.place.level, waited, since, &q.tally)
	}
	q.tally.taken++
	marked := q.marked
	q.pass(e.slot)
	// Jobs behind the one that launched have not seen the offer. They age on only if
	// many slots idle.
	switch {
	case q.fresh.priced && q.tally.idles():
		q.marked = max(marked, e.slot)
	case j.waiting:
		q.marked = e.slot + 1
	}
	launch := Launch[J]{Job: q.slots[e.slot].key, Task: task, Level: s.place.level}
	e.started[task] = true
	if e.pending--; e.pending == 0 {
		q.leave(e)
	} else {
		q.store(e, j)
	}
	return launch, true, nil
}

// NextRelax returns the instant at which the next of the waits ends, if there is no
// offer before. A caller with idle nodes offers them again then. It returns false
// if time alone ends none, and during another call. Cost: O(log jobs).
func (q *Queue[J]) NextRelax() (at time.Time, ok bool) {
	if q.enter("next relax") != nil {
		return time.Time{}, false
	}
	defer q.use.leave()
	if q.fresh.skipLimit > 0 {
		return time.Time{}, false
	}
	left := -q.tree.maxFirst(q.marked)
	if left >= limit {
		return time.Time{}, false
	}
	return q.last.Add(time.Duration(max(left, 0))), true
}

// find returns a job in the queue.
func (q *Queue[J]) find(what string, job J) (*queued, error) {
	if keys.Findable(job) {
		if e, ok := q.jobs[job]; ok {
			return e, nil
		}
	}
	return nil, refuse(ErrJob, "%s job %s: it is not in the queue", what, fault.Key(job))
}
