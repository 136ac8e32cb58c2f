//go:build explore

package explore

import (
	"fmt"
	"path"
	"runtime"
	"strings"
	"text/tabwriter"
)

// Step is one atomic operation of a run.
type Step struct {
	Thread   string
	Op       string // such as "load"
	Object   string // its type, and a number by which it is told from others
	Func     string // what did it
	File     string
	Line     int
	Failed   bool   // a compare and swap, or a wait, was in vain
	Preempts string // the thread that could have gone on instead
}

// A ScheduleError is a schedule in which the scenario fails. It wraps what the
// check returned, [ErrDeadlock], [ErrLivelock] or [ErrNotRepeatable], or says
// how a thread panicked.
type ScheduleError struct {
	Err         error
	Run         int // which one it was, from 1
	Preemptions int
	Schedule    Schedule // for [Replay]
	Trace       []Step
}

// Error returns the failure with its schedule and trace, of many lines.
func (f *ScheduleError) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "explore: run %d, with preemptions: %d: %v\nschedule: %v\n", f.Run, f.Preemptions, f.Err, f.Schedule)
	// A Builder takes everything: nothing here can fail.
	w := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	for i, s := range f.Trace {
		if s.Preempts != "" {
			_, _ = fmt.Fprintf(w, "\t%s\tis preempted\t\t\t\n", s.Preempts)
		}
		op := s.Op
		if s.Failed {
			op += " fails"
		}
		_, _ = fmt.Fprintf(w, "%d\t%s\t%s\t%s\t%s\t%s:%d\n", i+1, s.Thread, op, s.Object, s.Func, s.File, s.Line)
	}
	_ = w.Flush()
	return b.String()
}

func (f *ScheduleError) Unwrap() error { return f.Err }

func (r *Run) failure(number int, schedule Schedule) *ScheduleError {
	return &ScheduleError{Err: r.err, Run: number, Preemptions: r.preemptions, Schedule: schedule, Trace: r.trace.steps}
}

// trace is the list of the steps of a traced run.
type trace struct {
	steps     []Step
	preempted string // could have gone on instead of the next step's thread
	numbers   map[any]int
}

// add adds the operation that the thread is about to do.
func (tr *trace) add(t *thread) {
	s := Step{Thread: t.name, Op: t.op, Preempts: tr.preempted}
	tr.preempted = ""
	if tr.numbers == nil {
		tr.numbers = make(map[any]int)
	}
	if tr.numbers[t.object] == 0 {
		tr.numbers[t.object] = len(tr.numbers) + 1
	}
	s.Object = fmt.Sprintf("%s #%d", typeName(t.object), tr.numbers[t.object])
	s.Func, s.File, s.Line = site()
	tr.steps = append(tr.steps, s)
}

// typeName returns the type of an object of package atomics in short.
func typeName(object any) string {
	name := strings.TrimPrefix(fmt.Sprintf("%T", object), "*atomics.")
	if number, ok := strings.CutPrefix(name, "number["); ok {
		name, _, _ = strings.Cut(number, ",")
	}
	if open := strings.IndexByte(name, '['); open >= 0 {
		name = name[:open+1] + name[strings.LastIndexByte(name, '/')+1:]
	}
	return name
}

// site returns the code that called package atomics, or the like of it in the
// file explored.go of another package.
func site() (function, file string, line int) {
	var pcs [16]uintptr
	frames := runtime.CallersFrames(pcs[:runtime.Callers(2, pcs[:])])
	for {
		f, more := frames.Next()
		dir, base := path.Split(f.File)
		if base != "explored.go" && !strings.Contains(f.Function, "/omega/internal/atomics.") && !strings.Contains(f.Function, "/omega/internal/explore.") {
			return path.Base(f.Function), path.Join(path.Base(dir), base), f.Line
		}
		if !more {
			return "?", "?", 0
		}
	}
}
