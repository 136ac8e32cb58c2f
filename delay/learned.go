package delay

import (
	"time"

	"github.com/cellsched/cellsched/locality"
)

// SetPending sets the number of pending tasks that prefer nodes, for a job that
// learns its waits ([Policy].Learn). With more tasks, the last of them has to wait
// longer. Less than 1 counts as 1, and a job starts with 1. A launch subtracts one.
// The call applies the waits learned so far.
//
// A job with fixed waits ([Policy].Waits) may be told, too. Then each launch near
// the data repays a part of its wait, and more of its tasks get there. The largest
// number counts. Cost: O(levels).
func (j *Job) SetPending(tasks int) {
	if j == nil {
		return
	}
	j.pending = max(tasks, 1)
	j.expected = max(j.expected, j.pending)
	if j.learner != nil {
		j.explore()
		j.learnedWaits()
	}
}

// explore makes the job take any node next, if that is due. A job without a known
// number of pending tasks may have none: then the next one does, too.
func (j *Job) explore() {
	j.explores = j.explores || j.learner.due
	j.learner.due = j.learner.due && j.pending == 0
}

// learnedWaits sets the waits to the learned ones, or to none.
func (j *Job) learnedWaits() {
	j.waits = max(j.waits, j.learner.known)
	sum := time.Duration(0)
	for i := range j.waits {
		wait := j.initial[i]
		switch s := &j.learner.splits[i]; {
		case j.explores || j.empty>>i&1 != 0:
			wait = 0
		case i < j.learner.known && s.ok() && s.clear(j.tasks()):
			wait = s.wait(j.tasks())
		}
		sum += min(wait, limit-1-sum)
		j.opensAfter[i+1] = sum
	}
}

// learn is launch for a job that learns its waits. It adds the job's observations
// to the learner and sets the waits. The time since the last offer counts too if
// the job did not wait.
func (j *Job) learn(at locality.Level, since time.Duration) {
	l, tasks := j.learner, j.tasks()
	for i := j.nearest; int(i) < l.known; i++ {
		if j.empty>>i&1 != 0 {
			continue // it would not have waited
		}
		opens := j.need(i)
		if j.aged < opens && !j.starved {
			break // the job took no such nodes, so nothing is known of them
		}
		waited := max(0, j.aged-max(j.told, opens)) + since
		if waited < longest/time.Duration(tasks) {
			waited *= time.Duration(tasks)
		} else {
			waited = longest
		}
		l.splits[i].demands[size(tasks)].met(waited, at <= i)
	}
	if int(at) < l.known && l.splits[at].ok() {
		paid := l.splits[at].gain() / time.Duration(tasks)
		j.aged = max(j.aged-paid, min(j.aged, max(0, j.need(at))))
	}
	j.told = j.aged
	l.due = l.due && !j.explores
	l.launches++
	if l.launches%explore == 0 || l.launches%early == 0 && l.launches < explore && !l.knows(j.waits) {
		l.due = true
	}
	j.explores = false
	if j.pending != 1 { // or it has no more
		j.explore()
	}
	if j.pending > 1 {
		j.pending--
	}
	j.learnedWaits()
}

// tasks returns the number of pending tasks, 1 for a job without a known number.
func (j *Job) tasks() int { return max(j.pending, 1) }
