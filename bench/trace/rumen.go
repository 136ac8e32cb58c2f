package trace

import (
	"encoding/json"
	"errors"
	"io"
	"iter"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/cellsched/cellsched/resources"
)

// maxMillis is the latest time in milliseconds that a [time.Duration] can hold.
const maxMillis = int64(math.MaxInt64 / time.Millisecond)

// Rumen reads the output of Hadoop's Rumen from job history. It is one JSON object for
// each job, one after the other, in the order in which jobs ended or in any other, so
// that [Sorted] is needed.
//
// Map tasks are of stage 0, reduce tasks of stage 1; set-up and clean-up are left
// out. Each task is a [Tasks] of its own. It has the places of its block, as far as they
// are known, and the time of the attempt that succeeded, or else of the last one that
// has times. A task without such an attempt never ran and is left out, and
// so is a job without tasks. Each needs one core and the memory of the job's
// heap. Priority is 2 for VERY_HIGH down to -2 for VERY_LOW; Submit counts from
// 1970. Positions are where a value ends.
func Rumen(file string, r io.Reader) iter.Seq2[Job, error] {
	return func(yield func(Job, error) bool) {
		t := newTokens(file, r)
		some := false
		for t.dec.More() {
			j, err := t.rumenJob()
			if err != nil {
				yield(Job{}, err)
				return
			}
			if len(j.Work) == 0 {
				continue
			}
			some = true
			if !yield(j, nil) {
				return
			}
		}
		err := t.end()
		if err == nil && !some {
			err = t.fail(ErrCut, "the end, want a job with tasks that ran")
		}
		if err != nil {
			yield(Job{}, err)
		}
	}
}

func (t *tokens) rumenJob() (j Job, err error) {
	if err := t.open("a job"); err != nil {
		return Job{}, err
	}
	j.UserAt = t.position()
	j.Submit, j.Line = -1, j.UserAt.Line
	need := resources.Vector{CPU: 1000, Memory: 1 << 30}
	var maps, reduces []Tasks
	err = t.object("a job", func(name string) (err error) {
		switch name {
		case "jobID":
			j.ID, err = t.text(name)
		case "user":
			j.User, err = t.text(name)
			j.UserAt = t.position()
		case "jobtype":
			j.Class, err = t.text(name)
		case "priority":
			j.Priority, err = t.priority()
		case "submitTime":
			var ms int64
			ms, err = t.integer(name, 0, maxMillis)
			j.Submit, j.SubmitAt = time.Duration(ms)*time.Millisecond, t.position()
		case "heapMegabytes":
			var mib int64
			if mib, err = t.integer(name, -1, 1<<32); mib > 0 { // -1 is unknown
				need[Memory] = mib << 20
			}
		case "mapTasks":
			maps, err = t.rumenTasks(name, 0)
		case "reduceTasks":
			reduces, err = t.rumenTasks(name, 1)
		default:
			err = t.skip(name)
		}
		return err
	})
	switch {
	case err != nil:
		return Job{}, err
	case j.ID == "":
		return Job{}, t.fail(ErrColumns, "a job without jobID, want its name")
	case j.Submit < 0:
		return Job{}, t.fail(ErrColumns, "job %q without submitTime, want milliseconds since 1970", j.ID)
	}
	j.Work = slices.Concat(maps, reduces)
	for i := range j.Work {
		j.Work[i].Need = need
	}
	return j, nil
}

// open reads the brace that begins an object.
func (t *tokens) open(what string) error {
	token, err := t.next(what)
	if err == nil && token != json.Delim('{') {
		err = t.fail(ErrSyntax, "%v, want an object: %s", token, what)
	}
	return err
}

func (t *tokens) priority() (int64, error) {
	text, err := t.text("priority")
	if err != nil {
		return 0, err
	}
	switch text {
	case "VERY_HIGH":
		return 2, nil
	case "HIGH":
		return 1, nil
	case "NORMAL", "":
		return 0, nil
	case "LOW":
		return -1, nil
	case "VERY_LOW":
		return -2, nil
	}
	return 0, t.fail(ErrValue, "priority is %q, want VERY_HIGH, HIGH, NORMAL, LOW or VERY_LOW", text)
}

func (t *tokens) rumenTasks(what string, stage int) (all []Tasks, err error) {
	return all, t.array(what, func() error {
		at := t.position()
		w := Tasks{Count: 1, Stage: stage, Line: at.Line, At: marked(int32(at.Column))}
		ran := false
		err := t.object(what, func(name string) (err error) {
			switch name {
			case "attempts":
				w.Duration, ran, err = t.attempts()
			case "preferredLocations":
				w.Places, err = t.places()
			default:
				err = t.skip(name)
			}
			return err
		})
		if err != nil || !ran {
			return err
		}
		if len(all) == t.most {
			return t.fail(ErrLong, "more than %d of %s", t.most, what)
		}
		all = append(all, w)
		return nil
	})
}

// attempts returns how long the task ran, and false if that is not known.
func (t *tokens) attempts() (run time.Duration, ran bool, err error) {
	succeeded := false
	return run, ran, t.array("attempts", func() error {
		start, finish, result := int64(-1), int64(-1), ""
		err := t.object("an attempt", func(name string) (err error) {
			switch name {
			case "startTime":
				start, err = t.integer(name, -1, maxMillis) // -1 is unknown
			case "finishTime":
				finish, err = t.integer(name, -1, maxMillis)
			case "result":
				result, err = t.text(name)
			default:
				err = t.skip(name)
			}
			return err
		})
		if err != nil || start < 0 || finish < 0 {
			return err
		}
		if finish < start {
			return t.fail(ErrValue, "an attempt from startTime %d to finishTime %d, want it to end after it began", start, finish)
		}
		if result == "SUCCESS" || !succeeded {
			succeeded = succeeded || result == "SUCCESS"
			run, ran = time.Duration(finish-start)*time.Millisecond, true
		}
		return nil
	})
}

// places returns where the replicas of a block are.
func (t *tokens) places() (places []Place, err error) {
	return places, t.array("preferredLocations", func() error {
		return t.object("a location", func(name string) error {
			if name != "layers" {
				return t.skip(name)
			}
			layers, err := t.texts(name)
			if err != nil {
				return err
			}
			if len(layers) != 2 || layers[0] == "" || layers[1] == "" {
				return t.fail(ErrValue, "layers are %q, want a rack and a node", layers)
			}
			if len(places) == maxDepth {
				return t.fail(ErrLong, "more than %d of preferredLocations", maxDepth)
			}
			places = append(places, Place{Rack: plain(layers[0]), Node: plain(layers[1])})
			return nil
		})
	})
}

// texts reads an array of strings, of a few.
func (t *tokens) texts(what string) (all []string, err error) {
	token, err := t.next(what)
	if err == nil && token != json.Delim('[') {
		err = t.fail(ErrSyntax, "%v, want an array: %s", token, what)
	}
	for err == nil {
		token, err = t.next(what)
		switch v := token.(type) {
		case json.Delim:
			if v == ']' {
				return all, nil
			}
			return nil, t.fail(ErrSyntax, "%v, want a string: one of %s", v, what)
		case string:
			if len(all) == maxDepth {
				return nil, t.fail(ErrLong, "more than %d of %s", maxDepth, what)
			}
			all = append(all, v)
		default:
			if err == nil {
				err = t.fail(ErrValue, "%v, want a string: one of %s", v, what)
			}
		}
	}
	return nil, err
}

// plain takes out the backslashes with which Rumen escapes dots.
func plain(name string) string { return strings.ReplaceAll(name, `\`, "") }

// RumenNodes reads the topology that Rumen writes beside a trace. It is a tree with
// nodes as leaves and racks as the next level up. Each machine has the given
// capacity, as the file has none.
func RumenNodes(file string, r io.Reader, capacity resources.Vector) iter.Seq2[Machine, error] {
	return func(yield func(Machine, error) bool) {
		t := newTokens(file, r)
		some := false
		err := t.open("a topology")
		if err == nil {
			err = t.topology("", 0, func(rack, node string) error {
				some = true
				at := t.position()
				if !yield(Machine{Name: node, Rack: rack, Capacity: capacity, Line: at.Line, Column: at.Column}, nil) {
					return errStopped
				}
				return nil
			})
		}
		if err == nil {
			err = t.end()
		}
		if err == nil && !some {
			err = t.fail(ErrCut, "the end, want a machine")
		}
		if err != nil && !errors.Is(err, errStopped) {
			yield(Machine{}, err)
		}
	}
}

// errStopped ends a walk when the caller wants no more.
var errStopped = errors.New("stopped")

// topology walks one node of the tree, after its brace.
func (t *tokens) topology(rack string, depth int, leaf func(rack, node string) error) error {
	if depth > maxDepth {
		return t.fail(ErrLong, "a topology of more than %d levels", maxDepth)
	}
	name, inner := "", false
	err := t.object("a topology", func(member string) (err error) {
		switch member {
		case "name":
			name, err = t.text(member)
			name = plain(name)
		case "children":
			err = t.array(member, func() error {
				if name == "" {
					return t.fail(ErrSyntax, "children before the name, want the name first")
				}
				inner = true
				return t.topology(name, depth+1, leaf)
			})
		default:
			err = t.skip(member)
		}
		return err
	})
	switch {
	case err != nil || inner || depth == 0:
		return err
	case name == "":
		return t.fail(ErrColumns, "a node without a name, want one")
	case depth == 1: // it is in no rack
		return leaf("", name)
	}
	return leaf(rack, name)
}
