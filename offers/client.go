package offers

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/cellsched/cellsched/offers/internal/timers"
	"github.com/cellsched/cellsched/omega"
	"github.com/cellsched/cellsched/omega/observe"
	"github.com/cellsched/cellsched/resources"
)

// client is the part of a master that deals with the cell. It holds the scheduler there,
// the time of the master, and the error once a successor has taken over. All components
// share it.
type client struct {
	mu        sync.Mutex // guards all components
	cell      *omega.Cell
	cfg       Config
	sched     *omega.Scheduler
	epoch     uint32
	now       time.Time // the latest that it was told
	fenced    error
	total     resources.Vector // the capacity of all machines
	timers    timers.Heap
	counts    observe.Counts
	reads     uint64        // how often the cell was asked for what is charged
	journaled bool          // the cell has a journal, for which changes wait
	entry     chan struct{} // holds one while a call is alone, nil where no call waits for a journal
	returning []returning   // releases that the journal of the cell has not brought about yet
}

// at begins a call.
func (c *client) at(now time.Time) error {
	if now.After(c.now) {
		c.now = now
	}
	return c.fenced
}

// remote reports whether a commit may take long. Then only Step and Accept wait for any.
func (c *client) remote() bool { return c.journaled || c.cfg.Store != nil }

// free calls f with the mutex free where f may wait for the journal of the cell.
func (c *client) free(f func()) {
	if c.journaled {
		c.mu.Unlock()
		defer c.mu.Lock()
	}
	f()
}

// alone waits until no other call makes schedulers of frameworks, or has them leave, and keeps
// such calls out until done is called. Where the cell has no journal, the mutex does so. With one
// the mutex is free meanwhile and while those calls wait. So the last deputy of a framework is its
// scheduler, or that of its departure.
func (c *client) alone(ctx context.Context) (done func(), err error) {
	if !c.journaled {
		return func() {}, nil
	}
	c.mu.Unlock()
	defer c.mu.Lock()
	select {
	case c.entry <- struct{}{}:
		return func() { <-c.entry }, nil
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// release releases an allocation, and does not wait for the journal of the cell: what is sent
// afterwards comes behind it.
func (c *client) release(s *omega.Scheduler, id omega.AllocationID) error {
	if !c.journaled {
		return s.Release(id)
	}
	_, err := s.ReleaseLater(id)
	if err == nil && s.Holds(id) {
		c.returning = append(c.returning, returning{s, id})
	}
	return err
}

// releaseAll releases allocations, and returns the error of each. Where the cell has a journal,
// the mutex is free while all wait for that at the same time: one entry may keep them all.
func (c *client) releaseAll(s *omega.Scheduler, ids []omega.AllocationID) []error {
	errs := make([]error, len(ids))
	if !c.journaled {
		for i, id := range ids {
			errs[i] = s.Release(id)
		}
		return errs
	}
	c.free(func() {
		var all sync.WaitGroup
		for i, id := range ids {
			all.Go(func() { errs[i] = s.Release(id) })
		}
		all.Wait()
	})
	return errs
}

// returning is an allocation that is on its way to be released.
type returning struct {
	by *omega.Scheduler
	id omega.AllocationID
}

// settleReturns forgets the releases that have taken effect. The cell has changed by those.
func (c *client) settleReturns() {
	c.returning = slices.DeleteFunc(c.returning, func(r returning) bool { return !r.by.Holds(r.id) })
}

// storeOf returns the store of a scheduler.
func (c *client) storeOf(s *omega.Scheduler) omega.Store {
	if c.cfg.Store != nil {
		return c.cfg.Store(s)
	}
	return omega.Local{Scheduler: s}
}

// deputy returns the scheduler of a framework: a new one, or a successor to the last one. The
// mutex may be free meanwhile.
func (c *client) deputy(framework string) (s *omega.Scheduler, err error) {
	c.free(func() { s, err = c.sched.Deputy(c.cfg.Name+"/"+framework, limits()) })
	c.checkFenced(err)
	return s, err
}

// limits returns the limits of the master's scheduler and its deputies. They do not
// restrict precedence, which is up to the frameworks and the master.
func limits() omega.Limits { return omega.Limits{Lowest: math.MinInt32, Highest: math.MaxInt32} }

// note notes that a successor has taken over, if an error of the master's own scheduler
// reports it.
func (c *client) note(err error) {
	if err = fenced(err); isFenced(err) && c.fenced == nil {
		c.fenced = err
	}
}

// checkFenced is note for an error of a framework's scheduler: that may have been
// replaced alone.
func (c *client) checkFenced(err error) {
	if isOver(err) {
		c.superseded()
	}
}

// superseded reports whether a successor has taken over.
func (c *client) superseded() bool {
	// It names no allocation and fails: the error tells the reason.
	c.note(c.sched.Release(omega.AllocationID{}))
	return c.fenced != nil
}

// usage reads the charges of an account. Changes that are on the way may count by then,
// or not: their outcome is followed by another read, see planner.readsSent.
func (c *client) usage(a omega.Account) (held resources.Vector, err error) {
	c.reads++
	return c.cell.Usage(a)
}

// nameOf returns the name of a machine for people, or its number if it has none or is
// gone.
func (c *client) nameOf(id omega.MachineID) string {
	if st, in := c.cell.State(id); in && st.Name != "" {
		return strconv.Quote(st.Name)
	}
	return fmt.Sprint(id)
}

// format returns an amount in the names and units of the cell.
func (c *client) format(v resources.Vector) string { return c.cell.Space().Format(v) }

// timeout returns how long an offer lasts.
func (c *client) timeout() time.Duration { return c.cfg.Timeout.or(defaultTimeout) }

// askAfter returns the time without a call after which a framework that is expected to
// call is asked whether it is there.
func (c *client) askAfter() time.Duration { return min(c.timeout(), c.liveness()/2) }

// liveness returns how long a framework may make no call before it counts as gone.
func (c *client) liveness() time.Duration {
	return c.cfg.Liveness.or(max(defaultLiveness, multiple(c.timeout(), 20)))
}

// backoff returns for how long a framework of a class does not see room again that it has
// refused, whatever filter it asked for. The time doubles by class, up to 16 intervals.
//
// So the offers to a framework that declines everything at once, with a filter of no time
// at all, are bounded. It gets two for each machine, and then one in an interval that
// doubles up to 16.
func (c *client) backoff(f *member) time.Duration {
	if f.refusalClass < 2 {
		return 0
	}
	return min(min(c.cfg.Interval.or(DefaultInterval), maxRefuse)<<(f.refusalClass-2), maxRefuse)
}
