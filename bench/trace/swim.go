package trace

import (
	"fmt"
	"io"
	"iter"
	"math"
	"strings"
	"time"

	"github.com/cellsched/cellsched/resources"
)

// MapReduce is a rule by which the bytes of a job become tasks, which a SWIM trace does
// not tell. The zero MapReduce has the defaults named with the fields.
type MapReduce struct {
	// Block is the input of a map task, in bytes: its block of the input. The
	// default is 128 MiB.
	Block int64
	// Reduce is the most that a reduce task fetches; the default is 1 GiB.
	Reduce int64
	// Rate is the throughput of a task, in bytes a second, read and written
	// together; the default is 16 MiB.
	Rate int64
	// Startup is the time that a task takes besides.
	Startup time.Duration
	// Need is the need of each task; the default is one core and 1 GiB.
	Need resources.Vector
}

// SWIM reads the Facebook workloads of 2009 and 2010 that the Statistical
// Workload Injector for MapReduce comes with: FB-*_samples_*.tsv (Y. Chen et al.,
// "The Case for Evaluating MapReduce Performance Using Workload Suites", MASCOTS
// 2011). They have bytes, and neither tasks, times to run nor users.
//
// A job has ceil(input / Block) map tasks, one at least, that share its input
// evenly. Where it shuffles anything it has ceil(shuffle / Reduce) reduce tasks, of
// stage 1, that share the shuffle and write the output. Without reduces the maps
// write it. Class is "maps" or "maps+reduces". Where the file has input paths,
// Input is the path, so that jobs which read the same path read the same blocks.
func SWIM(file string, r io.Reader, m MapReduce) iter.Seq2[Job, error] {
	return func(yield func(Job, error) bool) {
		t := newTable(file, r, '\t')
		m, err := m.defaults()
		each(t, err, t.nextSWIM, "a job", yield, func() (Job, error) { return m.job(t) })
	}
}

// swimColumns are the names of the columns, which have no header. There are six, or
// seven, or nine of which two are empty, on all lines of a file alike.
var swimColumns = [...]string{"job", "submit", "gap", "input", "shuffle", "output", "path", "8th column", "9th column"}

func (t *table) nextSWIM() (bool, error) {
	if t.header != nil {
		return t.next()
	}
	ok, err := t.read()
	if n := len(t.fields); ok && err == nil {
		if n != 6 && n != 7 && n != 9 {
			return false, t.fail(9, ErrColumns, "%d fields, want 6, 7 or 9: %s", n, strings.Join(swimColumns[:7], " "))
		}
		t.header = swimColumns[:n]
	}
	return ok, err
}

func (m *MapReduce) job(t *table) (Job, error) {
	id, err := t.name(0)
	if err != nil {
		return Job{}, err
	}
	var n [6]int64
	for i := 1; i < 6; i++ {
		high := resources.MaxQuantity
		if i < 3 {
			high = maxSeconds - 1
		}
		if n[i], err = t.integer(i, 0, high); err != nil {
			return Job{}, err
		}
	}
	for i := 7; i < len(t.fields); i++ {
		if t.fields[i] != "" {
			return Job{}, t.bad(i, "nothing")
		}
	}
	input, shuffle, output := n[3], n[4], n[5]
	j := Job{ID: id, Class: "maps", Submit: time.Duration(n[1]) * time.Second, Line: t.line}
	j.UserAt, j.SubmitAt = t.position(0), t.position(1)
	maps := Tasks{Line: t.line}
	if len(t.fields) > 6 {
		maps.Input = strings.Clone(t.fields[6])
	}
	reduces := Tasks{Stage: 1, Line: t.line}
	mapWrites, reduceWrites := output, int64(0)
	if shuffle > 0 {
		mapWrites, reduceWrites = 0, output
	}
	if err := m.divide(t, &maps, 3, input, mapWrites, m.Block); err != nil {
		return Job{}, err
	}
	j.Work = append(j.Work, maps)
	if shuffle > 0 {
		j.Class = "maps+reduces"
		if err := m.divide(t, &reduces, 4, shuffle, reduceWrites, m.Reduce); err != nil {
			return Job{}, err
		}
		j.Work = append(j.Work, reduces)
	}
	return j, nil
}

// divide makes tasks of the amount in column i, each of a size at most, that write
// so much together.
func (m *MapReduce) divide(t *table, tasks *Tasks, i int, read, write, size int64) error {
	n := parts(read, size)
	if n > math.MaxInt32 {
		return t.bad(i, fmt.Sprintf("no more than %d tasks of %d bytes", math.MaxInt32, size))
	}
	each := read/n + write/n // each at most 2^62
	run, ok := howLong(each, m.Rate)
	if !ok || run > math.MaxInt64-m.Startup {
		return t.bad(i, fmt.Sprintf("what %d bytes a second get through in 292 years", m.Rate))
	}
	tasks.Count, tasks.Need, tasks.Duration = int(n), m.Need, run+m.Startup
	tasks.At = marked(t.mark(0))
	tasks.At.Count, tasks.At.Duration = t.mark(i), t.mark(i)
	if tasks.Input != "" {
		tasks.At.Data = t.mark(6)
	}
	return nil
}

func (m MapReduce) defaults() (MapReduce, error) {
	for _, v := range []struct {
		name  string
		value *int64
		zero  int64
	}{{"block", &m.Block, 128 << 20}, {"reduce", &m.Reduce, 1 << 30}, {"rate", &m.Rate, 16 << 20}} {
		if *v.value < 0 {
			return m, fmt.Errorf("trace: %s of %d bytes, want more than 0: %w", v.name, *v.value, ErrValue)
		}
		if *v.value == 0 {
			*v.value = v.zero
		}
	}
	if m.Startup < 0 {
		return m, fmt.Errorf("trace: startup %v, want 0 or more: %w", m.Startup, ErrValue)
	}
	if err := m.Need.Check(); err != nil {
		return m, fmt.Errorf("trace: need of a task: %w", err)
	}
	if m.Need == (resources.Vector{}) {
		m.Need[CPU], m.Need[Memory] = 1000, 1<<30
	}
	return m, nil
}
