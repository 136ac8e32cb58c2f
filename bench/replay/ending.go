package main

import (
	"time"

	events "github.com/cellsched/cellsched/bench/internal/queue"
	"github.com/cellsched/cellsched/omega"
)

// ending is when tasks of one bundle end that started together.
type ending struct {
	at    time.Time
	round int // in which they started
	b     *bundle
	ids   []omega.AllocationID
}

// endings are by the time from the first submission; among equals, the tasks that
// started first end first.
type endings = events.Queue[*ending]
