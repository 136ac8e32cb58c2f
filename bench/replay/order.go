package main

import (
	"fmt"

	"github.com/cellsched/cellsched/resources"
)

// order decides which job's task is next. Each has a file of its own.
type order interface {
	// begin begins a round: room has been freed or time has passed.
	begin()
	// push brings in a job with tasks to start, in a round before next is
	// called; drop takes it out when there are none left.
	push(j *job) error
	drop(j *job) error
	// next returns the first job in order for which fits says yes, or nil. A job that
	// was refused stays refused for the round.
	next(fits func(*job) bool) *job
	// charge and credit note the resources that a job's sharer has got and given back.
	charge(j *job, v resources.Vector) error
	credit(j *job, v resources.Vector) error
}

func newOrder(name string, total resources.Vector) (order, error) {
	switch name {
	case "fifo":
		return &queue{}, nil
	case "priority":
		return &queue{priority: true}, nil
	case "drf":
		return newDRF(total)
	case "pools":
		return newPools(total)
	}
	return nil, fmt.Errorf("order %q, want drf, fifo, priority or pools", name)
}
