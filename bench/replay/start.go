package main

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/cellsched/cellsched/bench/trace"
	"github.com/cellsched/cellsched/locality"
	"github.com/cellsched/cellsched/omega"
	"github.com/cellsched/cellsched/resources"
)

// start starts a task of j where the last search has found room for it.
func (r *replay) start(j *job) error {
	b, m := j.found, j.machine
	if !r.snap.Take(m, b.need) {
		return fmt.Errorf("machine %v has no room for %v: %w", m, b.need, errLeft)
	}
	task := b.tasks - b.left
	if b.near != nil {
		var level locality.Level
		task, level = b.near.find(m.Node())
		r.result.Locality[level]++
		b.near.take(task)
		if d, err := b.delay.Offer(r.now, level); err != nil || !d.Launch {
			return errors.Join(err, fmt.Errorf("a launch at level %d was refused: %w", level, errLeft))
		}
	}
	if err := r.order.charge(j, b.need); err != nil {
		return err
	}
	r.claims.Txn.Claim(omega.Claim{Machine: m, Account: j.who.account, Need: b.need})
	w := &b.groups[b.group(task)]
	at := r.now.Add(w.Duration)
	after := at.Sub(origin())
	if after == math.MaxInt64 { // the result of Sub for all that is longer
		return &trace.Error{File: r.cfg.file, Line: w.Line, Column: int(w.At.Duration), Reason: trace.ErrValue, Detail: fmt.Sprintf(
			"a task of job %q that starts at %v would end %v later, want all to end within %v of the first submission",
			clip(j.ID), r.now.Sub(origin()), w.Duration, time.Duration(math.MaxInt64))}
	}
	if b.ending == nil || b.ending.round != r.round || !b.ending.at.Equal(at) {
		b.ending = &ending{at: at, round: r.round, b: b}
		r.endings.Push(after, b.ending)
	}
	r.launched = append(r.launched, b.ending)
	wait := r.now.Sub(b.since)
	r.result.taskWaits.Add(wait)
	if !j.placed {
		j.placed = true
		r.result.jobWaits.Add(wait)
	}
	r.meter.change(r, j.who, b.need, 1)
	j.running++
	if b.left--; b.left > 0 {
		return nil
	}
	if b.near != nil {
		if !b.near.all() {
			return fmt.Errorf("of %d tasks of job %q one was started twice: %w", b.tasks, j.ID, errLeft)
		}
		b.near.free()
	}
	j.found, b.near = nil, nil
	if i := slices.Index(j.bundles, b); i == 0 { // as a rule
		j.bundles[0], j.bundles = nil, j.bundles[1:]
	} else {
		j.bundles = slices.Delete(j.bundles, i, i+1)
	}
	if len(j.bundles) > 0 {
		return nil
	}
	return r.order.drop(j)
}

// times returns n times v, which is held and so within bounds.
func times(v resources.Vector, n int) resources.Vector {
	for k := range v {
		v[k] *= int64(n)
	}
	return v
}
