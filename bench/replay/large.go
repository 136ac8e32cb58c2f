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

// maxTasks bounds the memory of a job that has begun: the places of the data of each
// task.
const maxTasks = 1 << 24

// maxPlaces bounds it for how many places there are, of all tasks together.
const maxPlaces = 1 << 28

// maxReplicas bounds the nodes that are drawn for a block.
const maxReplicas = 100

// check refuses jobs that have too many tasks or places, or a task that fits on
// no empty machine.
func (r *replay) check(j *trace.Job) error {
	tasks, places := int64(0), int64(0)
	for i := range j.Work {
		w := &j.Work[i]
		if tasks += int64(w.Count); tasks > maxTasks {
			return r.tooLarge(w, w.At.Count, "job %q has %d tasks up to here, want %d or fewer", clip(j.ID), tasks, maxTasks)
		}
		each := len(w.Places)
		if w.Input != "" {
			each = min(r.cfg.replicas, len(r.cfg.machines))
		}
		if places += int64(w.Count) * int64(each); places > maxPlaces {
			return r.tooLarge(w, w.At.Data, "job %q has data in %d places up to here, want %d or fewer", clip(j.ID), places, maxPlaces)
		}
		if err := r.checkFits(j, w); err != nil {
			return err
		}
	}
	return nil
}

// tooLarge returns an error about a column of the line of w.
func (r *replay) tooLarge(w *trace.Tasks, column int32, format string, args ...any) error {
	return &trace.Error{
		File: r.cfg.file, Line: w.Line, Column: int(column), Reason: errTooLarge, Detail: fmt.Sprintf(format, args...),
	}
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
	text, column := "no machine is of one of its models", w.At.Models
	if len(sizes) > 0 {
		var most resources.Vector
		for _, size := range sizes {
			most = most.Max(size)
		}
		text = "no machine has that, want at most what one has, of each kind " + r.cell.Space().Format(most) + " or less"
		column = w.At.Need[excess(w.Need, most)]
	}
	if len(w.Models) > 0 {
		text = fmt.Sprintf("machines of models %q: %s", clip(k), text)
	}
	return r.tooLarge(w, column, "a task of job %q needs %s: %s", clip(j.ID), r.cell.Space().Format(w.Need), text)
}

// clip shortens a name that an error cites.
func clip(name string) string {
	if len(name) > 64 {
		return name[:64] + "…"
	}
	return name
}

// excess returns the first kind of which need has more than most or, where there
// is none, the first of which it has any.
func excess(need, most resources.Vector) int {
	for k := range need {
		if need[k] > most[k] {
			return k
		}
	}
	return slices.IndexFunc(need[:], func(q int64) bool { return q > 0 })
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
