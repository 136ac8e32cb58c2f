package delay

import (
	"time"

	"github.com/cellsched/cellsched/locality"
)

// SetPending tells a job that learns how long to wait ([Policy].Learn) how many
// of its tasks that prefer nodes are pending: the more, the longer the last of
// them has to wait. Less than 1 is taken as 1, and so is what a job starts with.
// A launch takes one off. Waits are as learned until now from then on.
//
// A job with fixed waits ([Policy].Waits) may be told, too: then each launch near
// the data makes up for a part of its wait, and more of its tasks get there. The
// most that was ever told counts. Cost: O(levels).
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

// explore has the job take any node next, if that is due. One that was never
// told what it has pending may have nothing: then the next one does, too.
func (j *Job) explore() {
	j.explores = j.explores || j.learner.due
	j.learner.due = j.learner.due && j.pending == 0
}

// learnedWaits has the job wait as is known by now, or not at all.
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

// learn does what a launch does to a job that learns how long to wait: it
// passes on what the job has met, and has it wait as known thereafter. What has
// passed since the offer before counts too where the job was not waiting.
func (j *Job) learn(at locality.Level, since time.Duration) {
	l, tasks := j.learner, j.tasks()
	for i := j.nearest; int(i) < l.known; i++ {
		if j.empty>>i&1 != 0 {
			continue // it would not have waited
		}
		opens := j.need(i)
		if j.aged < opens && !j.starved {
			break // the job took no such nodes: nothing is known of those
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

// tasks returns how many tasks are pending, 1 for a job that was never told.
func (j *Job) tasks() int { return max(j.pending, 1) }
