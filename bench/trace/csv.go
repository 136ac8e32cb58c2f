package trace

import (
	"fmt"
	"io"
	"iter"
	"math"
	"slices"
	"strings"

	"github.com/cellsched/cellsched/bench/internal/decimal"
	"github.com/cellsched/cellsched/resources"
)

// Columns of our own format by their place in names.
const (
	inJob = iota
	inSubmit
	inTasks
	inDuration
	inUser
	inClass
	inPriority
	inStage
	inInput
	inPlaces
	inModels
	columns
)

// CSV reads the format of our own, which the package comment describes. Amounts
// are of the kinds of space.
func CSV(file string, r io.Reader, space *resources.Space) iter.Seq2[Job, error] {
	return func(yield func(Job, error) bool) { newCSV(file, r, space).jobs(yield) }
}

// csv puts the lines of one job together.
type csv struct {
	*table
	space *resources.Space
	at    [columns]int
	kinds []int // column of each kind of the space, -1 for none
	ahead bool  // the table is at the first line of the next job
	most  int   // lines that a job may have
}

func newCSV(file string, r io.Reader, space *resources.Space) *csv {
	return &csv{table: newTable(file, r, ','), space: space, most: maxGroups}
}

func (c *csv) jobs(yield func(Job, error) bool) {
	names := []string{"job", "submit_s", "tasks", "duration_s", "user", "class", "priority", "stage", "input", "places", "models"}
	at, err := c.names(inUser, names...)
	if err == nil {
		copy(c.at[:], at)
		err = c.needs(names)
	}
	each(c.table, err, c.begins, "a job", yield, c.job)
}

// needs finds the columns of needs or capacities, and refuses those that are
// neither that nor one of names.
func (c *csv) needs(names []string) error {
	some := false
	for k := range c.space.Kinds() {
		d, _ := c.space.Dimension(resources.Kind(k))
		i := slices.Index(c.header, d.Name)
		names, some = append(names, d.Name), some || i >= 0
		c.kinds = append(c.kinds, i)
	}
	if err := c.only(names...); err != nil {
		return err
	}
	if !some {
		return c.fail(len(c.fields), ErrColumns, "no column of a kind of resource, want one of %s", strings.Join(names[len(names)-len(c.kinds):], " "))
	}
	return nil
}

// begins reads the line that the next job begins with, unless that is done; false
// at the end.
func (c *csv) begins() (bool, error) {
	if c.ahead {
		return true, nil
	}
	return c.next()
}

// job reads the lines of one job, of which the first has been read, and one more.
func (c *csv) job() (j Job, err error) {
	if j, err = c.first(); err != nil {
		return Job{}, err
	}
	for {
		w, err := c.tasks()
		if err != nil {
			return Job{}, err
		}
		if n := len(j.Work); n > 0 && w.Stage < j.Work[n-1].Stage {
			return Job{}, c.bad(c.at[inStage], fmt.Sprintf("%d or more, as on the line before", j.Work[n-1].Stage))
		}
		if len(j.Work) == c.most {
			return Job{}, c.fail(c.at[inJob], ErrLong, "job %q has more than %d lines", clip(j.ID), c.most)
		}
		j.Work = append(j.Work, w)
		if c.ahead, err = c.next(); err != nil {
			return Job{}, err
		}
		if !c.ahead || c.fields[c.at[inJob]] != j.ID {
			return j, nil
		}
		if err := c.same(&j); err != nil {
			return Job{}, err
		}
	}
}

// maxGroups bounds the sorts of tasks of a job, or of a stage of Rumen's.
const maxGroups = 1 << 20

// first reads the properties of the job on its first line.
func (c *csv) first() (j Job, err error) {
	j.Line = c.line
	if j.ID, err = c.name(c.at[inJob]); err != nil {
		return Job{}, err
	}
	j.User, j.Class = c.optional(inUser), c.optional(inClass)
	j.UserAt, j.SubmitAt = c.position(c.where(inUser)), c.position(c.at[inSubmit])
	var ok bool
	if j.Submit, ok = parseSeconds(c.fields[c.at[inSubmit]]); !ok {
		return Job{}, c.bad(c.at[inSubmit], wantSeconds)
	}
	if c.optional(inPriority) != "" {
		j.Priority, err = c.integer(c.at[inPriority], math.MinInt64, math.MaxInt64)
	}
	return j, err
}

const wantSeconds = "seconds from 0 to 9223372035, with 9 decimals at most"

// maxQuantity bounds the bytes of the text of a quantity.
const maxQuantity = 128

// same refuses a further line of a job that says something else about it.
func (c *csv) same(j *Job) error {
	again := *j
	if c.fields[c.at[inSubmit]] != "" {
		var ok bool
		if again.Submit, ok = parseSeconds(c.fields[c.at[inSubmit]]); !ok {
			return c.bad(c.at[inSubmit], wantSeconds+", or nothing on a further line of a job")
		}
	}
	if c.optional(inPriority) != "" {
		var err error
		if again.Priority, err = c.integer(c.at[inPriority], math.MinInt64, math.MaxInt64); err != nil {
			return err
		}
	}
	for _, v := range []struct {
		column int
		same   bool
	}{
		{inSubmit, again.Submit == j.Submit},
		{inPriority, again.Priority == j.Priority},
		{inUser, c.optional(inUser) == "" || c.optional(inUser) == j.User},
		{inClass, c.optional(inClass) == "" || c.optional(inClass) == j.Class},
	} {
		if !v.same {
			return c.bad(c.at[v.column], fmt.Sprintf("nothing, or the same as on line %d, where job %q begins", j.Line, clip(j.ID)))
		}
	}
	return nil
}

// tasks reads the tasks of a line.
func (c *csv) tasks() (w Tasks, err error) {
	w.Line, w.At = c.line, c.marks()
	n, err := c.integer(c.at[inTasks], 1, math.MaxInt32)
	if err != nil {
		return Tasks{}, err
	}
	w.Count = int(n)
	var ok bool
	if w.Duration, ok = parseSeconds(c.fields[c.at[inDuration]]); !ok {
		return Tasks{}, c.bad(c.at[inDuration], wantSeconds)
	}
	if c.optional(inStage) != "" {
		stage, err := c.integer(c.at[inStage], 0, math.MaxInt32)
		if err != nil {
			return Tasks{}, err
		}
		w.Stage = int(stage)
	}
	if w.Need, err = c.amounts(); err != nil {
		return Tasks{}, err
	}
	if w.Need == (resources.Vector{}) {
		return Tasks{}, c.fail(c.kind(), ErrValue, "tasks that need nothing, want some of a kind")
	}
	w.Input = c.optional(inInput)
	if places := c.optional(inPlaces); places != "" {
		if w.Input != "" {
			return Tasks{}, c.bad(c.at[inPlaces], "nothing where there is an input")
		}
		for place := range strings.SplitSeq(places, ";") {
			rack, node, ok := strings.Cut(place, "/")
			if !ok {
				rack, node = "", place
			}
			if node == "" || ok && rack == "" {
				return Tasks{}, c.bad(c.at[inPlaces], "nodes or rack/node, split by ;")
			}
			w.Places = append(w.Places, Place{Rack: rack, Node: node})
		}
	}
	if models := c.optional(inModels); models != "" {
		w.Models = strings.Split(models, "|")
		if slices.Contains(w.Models, "") {
			return Tasks{}, c.bad(c.at[inModels], "models, split by |")
		}
	}
	return w, nil
}

// marks returns where in the line the values of tasks are.
func (c *csv) marks() Columns {
	at := marked(c.mark(c.at[inJob]))
	at.Count, at.Duration = c.mark(c.at[inTasks]), c.mark(c.at[inDuration])
	at.Models, at.Data = c.mark(c.where(inModels)), c.mark(c.where(inInput))
	if c.optional(inInput) == "" {
		at.Data = c.mark(c.where(inPlaces))
	}
	for k, i := range c.kinds {
		if i >= 0 {
			at.Need[k] = c.mark(i)
		}
	}
	return at
}

// where returns the field of a column that may be left out, or the job's name.
func (c *csv) where(column int) int {
	if c.at[column] < 0 {
		return c.at[inJob]
	}
	return c.at[column]
}

// kind returns the field of the first kind that has one.
func (c *csv) kind() int {
	return c.kinds[slices.IndexFunc(c.kinds, func(i int) bool { return i >= 0 })]
}

// optional returns the value of a column that may be left out, to keep.
func (c *csv) optional(column int) string {
	if c.at[column] < 0 {
		return ""
	}
	return strings.Clone(c.fields[c.at[column]])
}

// amounts reads the columns of the kinds.
func (c *csv) amounts() (v resources.Vector, err error) {
	for k, i := range c.kinds {
		if i < 0 || c.fields[i] == "" {
			continue
		}
		text := c.fields[i]
		if plain, ok := decimal.Plain(text, maxQuantity); ok { // which a quantity of text has not
			text = plain
		}
		one, err := c.space.Parse(c.header[i] + "=" + text)
		if err != nil {
			return resources.Vector{}, c.bad(i, "a quantity such as 2, 500m or 4Gi, 0 or more")
		}
		v[k] = one[k]
	}
	return v, nil
}

// CSVNodes reads machines in the format of our own: columns name and, if known,
// rack and model, and one at least of a kind of space.
func CSVNodes(file string, r io.Reader, space *resources.Space) iter.Seq2[Machine, error] {
	return func(yield func(Machine, error) bool) {
		c := newCSV(file, r, space)
		names := []string{"name", "rack", "model"}
		at, err := c.names(1, names...)
		if err == nil {
			err = c.needs(names)
		}
		each(c.table, err, c.next, "a machine", yield, func() (m Machine, err error) {
			if m.Name, err = c.name(at[0]); err != nil {
				return Machine{}, err
			}
			for i, v := range []*string{&m.Rack, &m.Model} {
				if at[1+i] >= 0 {
					*v = strings.Clone(c.fields[at[1+i]])
				}
			}
			m.Line, m.Column = c.line, c.column(at[0])
			if m.Capacity, err = c.amounts(); err != nil {
				return Machine{}, err
			}
			if m.Capacity == (resources.Vector{}) {
				return Machine{}, c.fail(c.kind(), ErrValue, "machine %q has nothing, want some of a kind", clip(m.Name))
			}
			return m, nil
		})
	}
}
