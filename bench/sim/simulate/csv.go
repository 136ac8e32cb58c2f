package simulate

import (
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/cellsched/cellsched/bench/internal/decimal"
	"github.com/cellsched/cellsched/resources"
)

// columns are those of a workload file.
var columns = [...]string{"workload", "submit_s", "tasks", "duration_s", "cpus_per_task", "mem_per_task"}

// ErrFile reports that a workload file is not as it should be.
var ErrFile = errors.New("simulate: invalid workload file")

// ReadCSV reads jobs from a file with one line for each, by time of
// submission, under a line that names the columns. They are
//
//   - the class ("Batch" or "Service");
//   - the time of submission, in seconds;
//   - the number of tasks and their duration, in seconds;
//   - CPUs and GB of memory for each.
//
// Numbers are decimal, with an exponent or without. Times and amounts are rounded to the
// nearest nanosecond, millicore and byte, and tasks are whole. Every line ends with a
// newline, the last one too: else it may be cut in a number. Name is the name of the
// file in errors. Errors: [ErrFile] with the line, the column, the value there and the
// expected one; those of r.
func ReadCSV(name string, r io.Reader) ([]Job, error) {
	text := &ending{Reader: r}
	in := csv.NewReader(text)
	in.ReuseRecord = true
	in.FieldsPerRecord = -1 // said here, in our words
	head, err := in.Read()
	if err == nil && !slices.Equal(head, columns[:]) {
		return nil, fmt.Errorf("%w: %s:1: columns %q: want %q", ErrFile, name, strings.Join(head, ","), strings.Join(columns[:], ","))
	}
	var jobs []Job
	line := 1
	for err == nil {
		var record []string
		if record, err = in.Read(); err != nil {
			break
		}
		line, _ = in.FieldPos(0)
		if len(record) != len(columns) {
			return nil, fmt.Errorf("%w: %s:%d: %d columns: want %d", ErrFile, name, line, len(record), len(columns))
		}
		p := fields{name: name, in: in, record: record}
		j := Job{
			Class: p.class(0), Submit: Seconds(p.number(1, maxTime.Seconds())), Tasks: p.count(2),
			Duration: Seconds(p.number(3, maxTime.Seconds())),
			Need:     resources.Vector{CPU: p.amount(4, 1e3), Memory: p.amount(5, 1<<30)},
		}
		if p.err == nil && len(jobs) > 0 && j.Submit < jobs[len(jobs)-1].Submit {
			p.fail(1, fmt.Sprintf("%v or later, as in the line before", jobs[len(jobs)-1].Submit.Seconds()))
		}
		if p.err != nil {
			return nil, p.err
		}
		jobs = append(jobs, j)
	}
	switch {
	case errors.Is(err, io.EOF) && head == nil:
		return nil, fmt.Errorf("%w: %s:1: nothing: want %q", ErrFile, name, strings.Join(columns[:], ","))
	case errors.Is(err, io.EOF) && !text.newline:
		return nil, fmt.Errorf("%w: %s:%d: the last line ends without a newline: want one, it may be cut", ErrFile, name, line)
	case errors.Is(err, io.EOF):
		return jobs, nil
	}
	if bad := new(csv.ParseError); errors.As(err, &bad) {
		return nil, fmt.Errorf("%w: %s:%d:%d: %w", ErrFile, name, bad.Line, bad.Column, bad.Err)
	}
	return nil, fmt.Errorf("simulate: %s: %w", name, err)
}

// ending is a reader that knows whether a newline was the last that it read.
type ending struct {
	io.Reader
	newline bool
}

func (e *ending) Read(p []byte) (n int, err error) {
	if n, err = e.Reader.Read(p); n > 0 {
		e.newline = p[n-1] == '\n'
	}
	return n, err
}

// fields takes the columns of one line and keeps the first error.
type fields struct {
	name   string
	in     *csv.Reader
	record []string
	err    error
}

func (f *fields) fail(column int, want string) {
	if f.err == nil {
		line, at := f.in.FieldPos(column)
		f.err = fmt.Errorf("%w: %s:%d:%d: %s %q: want %s", ErrFile, f.name, line, at, columns[column], f.record[column], want)
	}
}

func (f *fields) class(column int) Class {
	for c := range Classes {
		if strings.EqualFold(f.record[column], c.String()) {
			return c
		}
	}
	f.fail(column, "Batch or Service")
	return 0
}

func (f *fields) number(column int, most float64) float64 {
	text := f.record[column]
	v, err := strconv.ParseFloat(text, 64)
	if err != nil || !decimal.Valid(text) || !(v >= 0 && v <= most) {
		f.fail(column, fmt.Sprintf("a number from 0 to %v", most))
		return 0
	}
	return v
}

func (f *fields) count(column int) int {
	n, ok := decimal.Scaled(f.record[column], 0)
	if !ok || n < 1 || n > math.MaxInt32 {
		f.fail(column, fmt.Sprintf("a whole number from 1 to %d", math.MaxInt32))
		return 0
	}
	return int(n)
}

// amount returns a number in base units, of which one is so many.
func (f *fields) amount(column int, one float64) int64 {
	return int64(math.Round(f.number(column, 1<<30) * one))
}
