package experiments

import (
	"context"
	"time"

	"github.com/cellsched/cellsched/bench/internal/queue"
)

// events is the queue of the functions to call, in order of time. At one time, they
// are in the order in which they were added.
type events struct {
	now   time.Duration
	queue queue.Queue[func() error]
}

// at has do called at the given time, or now if that is past.
func (e *events) at(at time.Duration, do func() error) { e.queue.Push(max(at, e.now), do) }

// run calls them until none is left, one fails or ctx ends; after is called behind
// each.
func (e *events) run(ctx context.Context, after func() error) error {
	for {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		at, do, ok := e.queue.Pop()
		if !ok {
			return nil
		}
		e.now = at
		if err := do(); err != nil {
			return err
		}
		if err := after(); err != nil {
			return err
		}
	}
}
