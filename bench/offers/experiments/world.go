package experiments

import (
	"context"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/cellsched/cellsched/bench/internal/queue"
	"github.com/cellsched/cellsched/locality"
	"github.com/cellsched/cellsched/offers"
	"github.com/cellsched/cellsched/omega"
	"github.com/cellsched/cellsched/resources"
)

// epoch is when virtual time begins.
var epoch = time.Unix(0, 0)

// world is a cell, its master and the future events, in virtual time.
type world struct {
	cell   *omega.Cell
	nodes  []omega.MachineID
	master *offers.Master
	seed   uint64
	now    time.Duration
	events queue.Queue[func() error]
	told   []*framework // have news, in the order in which they were told
	ended  bool
}

func newWorld(seed uint64, machines []omega.Machine, cfg offers.Config) (*world, error) {
	for i := range machines {
		machines[i].Name = fmt.Sprint("node-", i)
	}
	cell, err := omega.NewCell(omega.Config{Machines: machines})
	if err != nil {
		return nil, err
	}
	w := &world{cell: cell, seed: seed}
	for m := range cell.Machines() {
		w.nodes = append(w.nodes, m.ID)
	}
	w.master, err = offers.New(cell, cfg, w.time())
	return w, err
}

// alike returns n machines of the same capacity.
func alike(n int, capacity resources.Vector) []omega.Machine {
	machines := make([]omega.Machine, n)
	for i := range machines {
		machines[i].Capacity = capacity
	}
	return machines
}

// mask returns the machines from number first on up to before.
func (w *world) mask(first, before int) omega.Mask {
	return omega.NewMask(func(yield func(locality.Node) bool) {
		for _, m := range w.nodes[first:before] {
			if !yield(m.Node()) {
				return
			}
		}
	})
}

// time returns the instant that is now.
func (w *world) time() time.Time { return epoch.Add(w.now) }

// after has do called in so much time.
func (w *world) after(d time.Duration, do func() error) { w.events.Push(w.now+d, do) }

// end ends the run after this event.
func (w *world) end() error {
	w.ended = true
	return nil
}

// run runs events until none is left, end is called, one fails or ctx ends. It steps
// the master whenever the master has something to do in time.
func (w *world) run(ctx context.Context) error {
	if err := w.settle(); err != nil { // for frameworks that have registered before
		return err
	}
	for !w.ended {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		more, err := w.step()
		if err != nil {
			return err
		}
		if !more {
			break
		}
	}
	return w.cell.Check()
}

// step lets the next thing happen, and returns false if nothing is left to.
func (w *world) step() (more bool, err error) {
	at, ok := w.events.Next()
	if !ok {
		return false, nil
	}
	do := func() error { return w.master.Step(w.time()) }
	if due, is := w.master.Next(); is && due.Before(epoch.Add(at)) {
		w.now = max(w.now, due.Sub(epoch))
	} else {
		w.now, do, _ = w.events.Pop()
	}
	if err = do(); err == nil {
		err = w.settle()
	}
	if err != nil {
		return false, fmt.Errorf("after %v: %w", w.now, err)
	}
	return true, nil
}

// settle lets frameworks read until there is no news.
func (w *world) settle() error {
	for len(w.told) > 0 && !w.ended {
		f := w.told[0]
		w.told = w.told[1:]
		if err := f.read(); err != nil {
			return fmt.Errorf("%s: %w", f.Name(), err)
		}
	}
	return nil
}

// stream is one source of chance, so that the draws of one framework are the same
// however others fare.
type stream struct{ *rand.Rand }

// stream returns the source of that number.
func (w *world) stream(n uint64) stream { return stream{rand.New(rand.NewPCG(w.seed, n))} }

// exponential draws a time of that mean.
func (s stream) exponential(mean time.Duration) time.Duration {
	return time.Duration(s.ExpFloat64() * float64(mean))
}

// within draws a time below one.
func (s stream) within(d time.Duration) time.Duration { return time.Duration(s.Int64N(int64(d))) }
