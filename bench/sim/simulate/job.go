package simulate

import (
	"fmt"
	"math"
	"time"

	"github.com/cellsched/cellsched/resources"
)

// Class is the kind of work of a job: Omega paper, section 2.1.
type Class uint8

// The classes.
const (
	Batch   Class = iota // computes something and ends
	Service              // is to run for long
	Classes              // how many there are
)

// String returns the class in lower case.
func (c Class) String() string {
	switch c {
	case Batch:
		return "batch"
	case Service:
		return "service"
	}
	return fmt.Sprintf("class %d", uint8(c))
}

// The kinds of resources of simulated machines, in millicores and bytes.
const (
	CPU = iota
	Memory
)

// Job is a number of tasks that are alike, as the schedulers come to know it.
type Job struct {
	Class    Class
	Submit   time.Duration // since the beginning
	Tasks    int
	Duration time.Duration // of each task, from the commit that placed it
	Need     resources.Vector
}

func (j *Job) check(c *Cell) error {
	switch {
	case j.Class >= Classes:
		return fmt.Errorf("%v: want %v or %v", j.Class, Batch, Service)
	case j.Submit < 0 || j.Submit > maxTime:
		return fmt.Errorf("submitted at %v: want 0 or later, up to %v", j.Submit, maxTime)
	case j.Tasks < 1 || j.Tasks > math.MaxInt32:
		return fmt.Errorf("%d tasks: want 1 or more, up to %d", j.Tasks, math.MaxInt32)
	case j.Duration < 0 || j.Duration > maxTime:
		return fmt.Errorf("duration %v: want 0 or more, up to %v", j.Duration, maxTime)
	}
	if err := j.Need.CheckNeed(); err != nil {
		return fmt.Errorf("need: %w", err)
	}
	if j.Need == (resources.Vector{}) {
		return fmt.Errorf("need %v: want more than nothing, as of every claim", j.Need)
	}
	if room := c.holds(&j.Need); j.Tasks > room {
		return fmt.Errorf("%d tasks of %v: want at most the %d that %d empty machines of %v hold",
			j.Tasks, j.Need, room, c.Machines, c.Capacity)
	}
	return nil
}

// Cell is the machines of a simulation, all alike.
type Cell struct {
	Machines int
	Capacity resources.Vector // of each
	// Prefill is the share of all CPU that is taken from the beginning to the
	// end, by tasks of PrefillNeed on machines picked at random.
	Prefill     float64
	PrefillNeed resources.Vector
}

// maxMachines is the most machines of a cell of the library.
const maxMachines = 1 << 20

func (c *Cell) check() error {
	switch {
	case c.Machines < 1 || c.Machines > maxMachines:
		return fmt.Errorf("%d machines: want 1 or more, up to %d", c.Machines, maxMachines)
	case c.Capacity[CPU] < 1:
		return fmt.Errorf("capacity %v: want some CPU (kind %d)", c.Capacity, CPU)
	case !(c.Prefill >= 0 && c.Prefill <= 1):
		return fmt.Errorf("prefill of %v: want a share from 0 to 1", c.Prefill)
	case c.Prefill > 0 && c.PrefillNeed[CPU] < 1:
		return fmt.Errorf("prefill by tasks of %v: want some CPU (kind %d)", c.PrefillNeed, CPU)
	}
	if err := c.Capacity.Check(); err != nil {
		return fmt.Errorf("capacity: %w", err)
	}
	if err := c.PrefillNeed.Check(); err != nil {
		return fmt.Errorf("need of the prefill: %w", err)
	}
	if n, room := c.prefilled(), c.holds(&c.PrefillNeed); n > room {
		return fmt.Errorf("prefill of %v by %d tasks of %v: want at most %d", c.Prefill, n, c.PrefillNeed, room)
	}
	return nil
}

// prefilled returns the number of tasks that are there from the beginning.
func (c *Cell) prefilled() int {
	if c.Prefill == 0 {
		return 0
	}
	return int(c.Prefill * float64(c.Machines) * float64(c.Capacity[CPU]) / float64(c.PrefillNeed[CPU]))
}

// holds returns how many tasks of a need the empty cell holds.
func (c *Cell) holds(need *resources.Vector) int {
	n := int64(1) << 31
	for k, q := range need {
		if q > 0 {
			n = min(n, c.Capacity[k]/q)
		}
	}
	return int(n) * c.Machines
}
