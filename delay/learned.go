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
// Others need not be told. Cost: O(levels).
func (j *Job) SetPending(tasks int) {
	j.pending = max(tasks, 1)
	if j.learner != nil {
		j.learnedWaits(false)
	}
}

// learnedWaits has the job wait as is known by now, or not at all.
func (j *Job) learnedWaits(explore bool) {
	j.waits = max(j.waits, j.learner.known)
	sum := time.Duration(0)
	for i := range j.waits {
		wait := j.initial[i]
		if i < j.learner.known && j.learner.splits[i].ok() {
			wait = 0
			if !explore {
				wait = j.learner.splits[i].wait(j.pending)
			}
		}
		sum += min(wait, limit-1-sum)
		j.opensAfter[i+1] = sum
	}
}

// learn does what a launch does to a job that learns how long to wait: it
// passes on what the job has met, and has it wait as known thereafter. What has
// passed since the offer before counts too where the job was not waiting.
func (j *Job) learn(at locality.Level, since time.Duration) {
	l := j.learner
	for i := j.nearest; int(i) < l.known; i++ {
		opens := j.need(i)
		if j.aged < opens && !j.starved {
			break // the job took no such nodes: nothing is known of those
		}
		waited := max(0, j.aged-max(j.told, opens)) + since
		if waited < longest/time.Duration(j.pending) {
			waited *= time.Duration(j.pending)
		} else {
			waited = longest
		}
		l.splits[i].demands[size(j.pending)].met(waited, at <= i)
	}
	if int(at) < l.known && l.splits[at].ok() {
		paid := l.splits[at].gain() / time.Duration(j.pending)
		j.aged = max(j.aged-paid, min(j.aged, max(0, j.need(at))))
	}
	j.told = j.aged
	j.pending = max(j.pending-1, 1)
	l.launches++
	j.learnedWaits(l.launches%explore == 0)
}
