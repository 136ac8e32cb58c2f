package trace

import (
	"time"

	"github.com/cellsched/cellsched/resources"
)

// The kinds of resource that the readers of other people's formats speak of, in
// the order of [Space].
const (
	CPU    resources.Kind = iota // millicores
	Memory                       // bytes
	GPU                          // thousandths of a device
)

// Space names the kinds: cpu, memory and gpu.
func Space() *resources.Space {
	s, err := resources.NewSpace(resources.CPU(), resources.Memory(), resources.Dimension{Name: "gpu", PerUnit: 1000})
	if err != nil {
		panic(err) // these three are valid
	}
	return s
}

// Job is a submission of a user at one time. Its strings and slices are the
// caller's to keep.
type Job struct {
	ID       string
	User     string // "" where the trace does not say
	Class    string
	Priority int64         // the larger the sooner
	Submit   time.Duration // since the time that the trace counts from
	Work     []Tasks       // at least one, by stage
	Line     int           // of the file, where the job begins

	UserAt, SubmitAt Position
}

// Position is the place of a value in the file: the line and the column, from 1, of
// bytes. Where the file does not have the value, it is the place of its owner.
type Position struct{ Line, Column int }

// Tasks are tasks of one job that are alike.
type Tasks struct {
	Count    int // at least 1
	Stage    int // they start when the tasks of all lower stages have ended
	Need     resources.Vector
	Duration time.Duration
	// Input is the file that task i reads block i of; Places are where the data
	// of each of them is. A trace knows one of the two, or neither.
	Input  string
	Places []Place
	// Models are the models of machine that will do; none is all.
	Models []string
	Line   int // of the file
	At     Columns
}

// Columns are the places in the line of the values of [Tasks] or, where the line does
// not have them, of their owners. Rumen has an object for each task, of any number
// of lines: there, all are the place where it begins.
type Columns struct {
	Count, Duration, Data, Models int32
	Need                          [resources.MaxKinds]int32
}

// Place is a node that holds data, and its rack where that is known.
type Place struct {
	Rack, Node string
}

// marked returns columns that are all the same.
func marked(column int32) Columns {
	at := Columns{Count: column, Duration: column, Data: column, Models: column}
	for k := range at.Need {
		at.Need[k] = column
	}
	return at
}

// Machine is a machine that tasks ran on.
type Machine struct {
	Name     string
	Rack     string // "" where the file does not say
	Model    string // "" for none
	Capacity resources.Vector
	Line     int // of the file, and where in it the name is
	Column   int
}

// Count returns how many tasks the job has.
func (j *Job) Count() (n int) {
	for i := range j.Work {
		n += j.Work[i].Count
	}
	return n
}
