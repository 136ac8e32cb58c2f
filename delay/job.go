package delay

import (
	"math"
	"time"

	"github.com/cellsched/cellsched/locality"
)

// anyLevel is the level of a job without a wait left: it takes every level.
const anyLevel locality.Level = math.MaxUint8

// Job is one job's side of delay scheduling: it turns offers of nodes into launches
// or further waiting.
//
// The zero Job never waits. A Job is a plain value without goroutine, clock or
// lock. It is not safe for concurrent use. A copy is independent of the original,
// except for a shared [Learner]. None of its methods allocates, except for an
// error.
type Job struct {
	skipLimit int
	paper     bool
	priced    bool // launches end waits, but for their price

	// opensAfter holds at index l the sum of the waits below level l, so that
	// the way from level k to level l takes opensAfter[l] - opensAfter[k]. There
	// are so many waits: levels beyond open with the last.
	opensAfter [locality.MaxLevels]time.Duration
	waits      int

	skips int            // offers passed up since the last local launch
	level locality.Level // of the last launch, 0 before; below MaxLevels
	aged  time.Duration  // waited since that launch, up to last; more if nodes idled, see bill

	bill
	tally tally // of the offers that came by Offer
	idles bool  // the job passed up the last of them, and no other was said to take it

	nearest locality.Level // waits below it are skipped; below MaxLevels
	empty   uint16         // bit l: the wait for level l is skipped
	starved bool           // skips all waits

	// waiting says that the last offer was passed up: the time since last
	// counts as waited. It is the paper's mark on a skipped job.
	waiting bool
	started bool // there was an offer, so last means something
	last    time.Time

	line  *Line  // the last one that offered it a node
	round uint64 // that offer's number

	initial Waits // the policy's

	pending int // tasks that prefer nodes, 0 if never set

	// The following fields are for a job that learns its waits; its level is 0.
	learner  *Learner
	explores bool          // takes any node next
	told     time.Duration // how much of aged the learner knows of
}

// Decision is the outcome of an offer.
type Decision struct {
	// Launch reports that a task of the job starts on the node, now.
	Launch bool

	// Level is the level of the launch, or the farthest one that would have been
	// taken.
	Level locality.Level
}

// New returns a job that waits as p says. [ErrPolicy] reports a negative number of
// skips or wait, waits that overflow together, and fields that exclude each other.
func New(p Policy) (Job, error) {
	if err := p.check(); err != nil {
		return Job{}, err
	}
	j := Job{skipLimit: p.Skips, paper: p.Paper, learner: p.Learn, initial: p.Waits}
	for l, wait := range p.Waits {
		if wait > 0 {
			j.waits = l + 1
		}
	}
	j.setWaits()
	j.whole = j.opensAfter[j.waits]
	j.priced = j.waits > 0 && j.learner == nil && !j.paper
	return j, nil
}

// Offer decides about one free node at the given instant. Level is that of the
// job's nearest pending task ([locality.Topology.Level]).
//
// It launches exactly if level is at most [Job.Allowed], so always at level 0. The
// launch counts as done. An offer not taken counts as a skip, and from then until
// the next offer the job ages.
//
// With a count of skips, a launch at level 0 resets the count. With waits, each
// launch ends the wait, and the job waits again from the level of the launch on.
// The part of the wait for which slots have idled stays, until the job has repaid
// it. [Policy].Waits has the bound that follows.
//
// A slot idles for the job if the job has passed it up and no other job has taken
// it ([Job.Taken]).
//
// With [Policy].Paper, each launch ends the wait in full. With [Policy].Learn, no
// launch ends it, but each shortens it, see [Learner].
//
// Call it only for an offer that the job could use: a job without pending tasks has
// nothing to decide. Cost: O(levels). An instant before that of an earlier call
// fails with [ErrTime] and changes nothing. EuroSys 2010, Algorithms 2 and 3.
func (j *Job) Offer(now time.Time, level locality.Level) (Decision, error) {
	if j == nil {
		return Decision{}, absent("job")
	}
	waited := j.waiting
	since, err := j.advance("offer", now)
	if err != nil {
		return Decision{}, err
	}
	if j.tally.idle+j.tally.taken > 0 {
		j.tally.pass(since, j.whole)
	}
	d := j.decide(level, waited, since, &j.tally)
	if j.idles = j.priced && !d.Launch; j.idles {
		j.tally.idle++
	}
	return d, nil
}

// decide is Offer after the job has aged up to now. Waited reports whether it
// waited before, and since is the time since the last offer.
func (j *Job) decide(level locality.Level, waited bool, since time.Duration, t *tally) Decision {
	if !j.open(level, j.aged) {
		allowed := j.allowed(j.aged)
		j.waiting = true
		if j.skipLimit > 0 {
			j.skips++
		}
		return Decision{Level: allowed}
	}
	j.launch(level, waited, since, t)
	return Decision{Launch: true, Level: level}
}

// launch applies a launch to the wait of a job. Waited reports whether it waited,
// and since is the time since the last offer. If the job now takes all nodes, t
// counts no slot as idle.
func (j *Job) launch(level locality.Level, waited bool, since time.Duration, t *tally) {
	at := min(level, locality.MaxLevels-1)
	switch {
	case j.learner != nil:
		if waited {
			since = 0 // it has aged by that
		}
		j.waiting = waited
		j.learn(at, since)
	case j.skipLimit > 0:
		// Algorithm 2: only a local launch resets the count.
		if at <= j.nearest {
			j.skips = 0
		}
		j.level = at
	case !j.priced: // Algorithm 3 as it stands, or no waits
		j.level, j.aged = at, 0
	case at <= j.nearest && j.debt == 0 && j.aged == j.settled:
		// There is no wait and no debt: the same as settle, faster.
		j.level, j.aged, j.settled, j.rested, j.cost = at, 0, 0, 0, t.cost
		j.waiting = waited && t.idle > 0
	default:
		open := at > j.nearest && j.open(anyLevel, j.aged) // before the wait ends
		j.settle(at, t)
		if open {
			t.take()
		}
		j.waiting = waited && t.idle > 0
	}
}

// Taken notes that another job has taken the node of the offer that this job has
// just passed up. So that node does not idle for the job's wait. The job has passed
// it up all the same: it ages, and the skip counts.
//
// Without the call the job assumes that a node idles after it passed it up. The
// call does nothing after a launch, or the second time.
func (j *Job) Taken() {
	if j == nil {
		return
	}
	if j.idles {
		j.tally.idle--
		j.tally.taken++
	}
	j.idles = false
}

// SetNearest sets the nearest level at which any node at all could run one of the
// job's pending tasks. The waits for levels below are skipped, since they would
// gain nothing. 255 is for a job without preference, which takes any node. A job
// starts with 0.
//
// The wait so far counts for the levels that are left. A task without preference
// among others needs no call: its level is 0 on every node.
func (j *Job) SetNearest(level locality.Level) {
	if j != nil {
		j.nearest = min(level, locality.MaxLevels-1)
	}
}

// SetEmpty sets the levels, beyond the nearest one, at which no node could run one
// of the job's pending tasks: the job does not wait for them. Suppose that all
// nodes of a rack have the data. Then level 1 is empty, and the job goes from its
// nodes to anywhere after the first of its waits. Levels of an earlier call that
// are not in this one are no longer empty.
//
// The wait so far counts for the levels that are left. For a count of skips it
// makes no difference.
func (j *Job) SetEmpty(levels ...locality.Level) {
	if j == nil {
		return
	}
	j.empty = 0
	for _, l := range levels {
		j.empty |= 1 << l // no bit for a level without a wait
	}
	j.setWaits()
}

// setWaits adds up the waits.
func (j *Job) setWaits() {
	if j.learner != nil {
		j.learnedWaits()
		return
	}
	for l := range j.waits {
		wait := j.initial[l]
		if j.empty>>l&1 != 0 {
			wait = 0
		}
		j.opensAfter[l+1] = j.opensAfter[l] + wait
	}
}

// SetStarved marks the job as running less than its share, for longer than it
// should. A starved job takes any node, after any wait: a job that waits for its
// fair share is not to wait for locality too.
func (j *Job) SetStarved(starved bool) {
	if j != nil {
		j.starved = starved
	}
}

// Pause stops the job's ageing until it passes up another offer. The wait so far
// still counts.
//
// It is for two cases. In the first the job has no pending task for a while. In the
// second an offer did not come to this job because one before it took the node:
// Algorithm 3 does not count that as waiting. [Line] and [Queue] pause jobs for
// such offers unless many slots idle: many jobs that wait one after the other would
// take too long. An instant before that of an earlier call fails with [ErrTime] and
// changes nothing.
func (j *Job) Pause(now time.Time) error {
	if j == nil {
		return absent("job")
	}
	_, err := j.advance("pause", now)
	return err
}

// Allowed returns the farthest level at which the job would take an offer at the
// given instant: 255 when no wait is left. For an instant before the last call of
// Offer or Pause, it returns the level as of that call. Cost: O(levels).
func (j *Job) Allowed(now time.Time) locality.Level {
	if j == nil {
		return anyLevel
	}
	return j.allowed(j.Waited(now))
}

// NextRelax returns the instant, after now, at which a further level opens if
// no offer comes before: a live caller sets its timer to it. It is false if
// time alone opens nothing: the last offer was not passed up, or the job counts
// skips or takes anything already. Cost: O(levels).
func (j *Job) NextRelax(now time.Time) (at time.Time, ok bool) {
	if j == nil || !j.waiting || j.skipLimit > 0 {
		return time.Time{}, false
	}
	allowed := j.allowed(j.Waited(now))
	if allowed == anyLevel {
		return time.Time{}, false
	}
	return j.last.Add(j.need(allowed+1) - j.aged), true
}

// Waited returns how long the job has waited at the given instant since its last
// launch. It adds up the times from each offer passed up to the call after it, and
// from the last one to now. It includes the rest of earlier waits that launches
// have left, see [Job.Offer] and [Learner].
func (j *Job) Waited(now time.Time) time.Duration {
	if j == nil {
		return 0
	}
	if !j.waiting || now.Before(j.last) {
		return j.aged
	}
	return older(j.aged, now.Sub(j.last))
}

// Skips returns the number of offers that the job has passed up since its last
// launch at level 0, at most [Policy].Skips. It is 0 for a job that waits by time.
func (j *Job) Skips() int {
	if j == nil {
		return 0
	}
	return j.skips
}

// advance adds the time since the last call to the job's wait, if it was waiting,
// and leaves it not waiting. It returns that time.
func (j *Job) advance(what string, now time.Time) (since time.Duration, err error) {
	if j.started {
		since = now.Sub(j.last)
	}
	if since < 0 {
		return 0, j.backwards(what, now)
	}
	if j.waiting {
		j.aged = older(j.aged, since)
	} else {
		j.rested = older(j.rested, since)
	}
	j.last, j.started, j.waiting = now, true, false
	return since, nil
}

// backwards returns the error of a call at an instant before that of the last one. It
// is not inlined, as [absent] is not.
//
//go:noinline
func (j *Job) backwards(what string, now time.Time) error {
	return refuse(ErrTime, "%s at %v: the last call was at %v", what, now, j.last)
}

// older returns the sum of two times waited, at most the largest duration.
func older(aged, by time.Duration) time.Duration { return aged + min(by, math.MaxInt64-aged) }

// open reports whether the job takes nodes at that level after a wait of aged.
func (j *Job) open(level locality.Level, aged time.Duration) bool {
	level = min(level, locality.MaxLevels-1)
	if level <= j.nearest || j.starved {
		return true
	}
	if j.skips < j.skipLimit {
		return false
	}
	return level <= j.level || j.need(level) <= aged
}

// need returns the wait that opens a level beyond the levels without a wait.
func (j *Job) need(level locality.Level) time.Duration {
	return j.opensAfter[min(int(level), j.waits)] - j.opensAfter[min(int(max(j.level, j.nearest)), j.waits)]
}

// allowed returns the farthest level that is open after a wait of aged.
func (j *Job) allowed(aged time.Duration) locality.Level {
	if j.starved {
		return anyLevel
	}
	l := j.nearest
	for l < locality.MaxLevels-1 && j.open(l+1, aged) {
		l++
	}
	if l == locality.MaxLevels-1 {
		return anyLevel
	}
	return l
}
