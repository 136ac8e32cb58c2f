package main

import (
	"errors"
	"fmt"
	"slices"

	"github.com/cellsched/cellsched/bench/trace"
	"github.com/cellsched/cellsched/resources"
)

// errTooLarge: a job that no amount of waiting would bring to its end.
var errTooLarge = errors.New("too large for the cell")

// maxTasks bounds what is kept of a job that has begun: where the data of each
// task is.
const maxTasks = 1 << 24

// maxPlaces bounds it for how many places there are, of all tasks together.
const maxPlaces = 1 << 28

// maxReplicas bounds the nodes that are drawn for a block.
const maxReplicas = 100

// check refuses jobs that have too many tasks or places, or a task that fits on
// no empty machine.
func (r *replay) check(j *trace.Job) error {
	if n := j.Count(); n > maxTasks {
		return &trace.Error{
			File: r.cfg.file, Line: j.Line, Reason: errTooLarge,
			Detail: fmt.Sprintf("job %q has %d tasks, want %d or fewer", j.ID, n, maxTasks),
		}
	}
	places := 0
	for i := range j.Work {
		w := &j.Work[i]
		each := len(w.Places)
		if w.Input != "" {
			each = min(r.cfg.replicas, len(r.cfg.machines))
		}
		if places += w.Count * each; places > maxPlaces {
			return &trace.Error{
				File: r.cfg.file, Line: w.Line, Reason: errTooLarge,
				Detail: fmt.Sprintf("the tasks of job %q have their data in more than %d places", j.ID, maxPlaces),
			}
		}
	}
	for i := range j.Work {
		if err := r.checkFits(j, &j.Work[i]); err != nil {
			return err
		}
	}
	return nil
}

func (r *replay) checkFits(j *trace.Job, w *trace.Tasks) error {
	k := key(w.Models)
	sizes, ok := r.largest[k]
	if !ok {
		mask := make([]bool, len(r.cfg.machines))
		for i, m := range r.cfg.machines {
			if len(w.Models) == 0 || slices.Contains(w.Models, m.Model) {
				mask[i] = true
				sizes = frontier(sizes, m.Capacity)
			}
		}
		r.largest[k] = sizes
		if len(w.Models) > 0 {
			r.models[k] = mask
		}
	}
	if slices.ContainsFunc(sizes, w.Need.Fits) {
		return nil
	}
	text := "no machine is of one of its models"
	if len(sizes) > 0 {
		var most resources.Vector
		for _, size := range sizes {
			most = most.Max(size)
		}
		text = "no machine has that, want at most what one has, of each kind " + r.cell.Space().Format(most) + " or less"
	}
	if len(w.Models) > 0 {
		text = fmt.Sprintf("machines of models %q: %s", k, text)
	}
	return &trace.Error{
		File: r.cfg.file, Line: w.Line, Reason: errTooLarge,
		Detail: fmt.Sprintf("a task of job %q needs %s: %s", j.ID, r.cell.Space().Format(w.Need), text),
	}
}

// frontier adds a size to those that no other one is as large as in all kinds.
func frontier(sizes []resources.Vector, size resources.Vector) []resources.Vector {
	kept := sizes[:0]
	for _, s := range sizes {
		if size.Fits(s) {
			return sizes
		}
		if !s.Fits(size) {
			kept = append(kept, s)
		}
	}
	return append(kept, size)
}
