package loop

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/cellsched/cellsched/omega"
	"github.com/cellsched/cellsched/omega/observe"
	"github.com/cellsched/cellsched/resources"
)

// The limits and times that a zero Config has.
const (
	defaultAttempts  = 1000
	defaultFruitless = 100
	defaultMinDelay  = time.Millisecond
	defaultMaxDelay  = time.Second
	defaultRecheck   = time.Second
	defaultPatience  = 30 * time.Second
)

// Config is the configuration of a loop. Only Store is required. The callbacks are called
// from the steps, one at a time and without a lock held. They may call [Loop.Submit] and
// [Loop.Cancel].
type Config[K any] struct {
	// Store is the cell as the loop's scheduler reads it and commits to it: [omega.Local] of
	// a scheduler that serves this loop alone, or a store of the program's own. Such a store
	// may have further methods of [omega.Scheduler], which the loop then uses:
	//
	//	WaitAny, Pass            Run is woken by changes in the cell
	//	Marked, WaitMark, Holds  allocations that are preempted or lost are events
	//	Limits                   Submit refuses jobs that the limits never allow
	Store omega.Store
	// Order sorts the jobs; nil is a [FIFO]. It serves this loop alone.
	Order Order[K]
	// Policy says which machines tasks are placed on; the zero one is next fit.
	Policy omega.Policy
	// Place, if not nil, places instead of Policy.
	Place Place[K]
	// Detect is the rule for conflicts.
	Detect omega.Detection
	// Think returns how long the decision on that many tasks takes, from the
	// refresh to the commit: t_job + t_task × tasks in the Omega paper, section
	// 4. Nil, and anything below 0, is no time.
	Think func(job *Job[K], tasks int) time.Duration
	// Observe, if not nil, is called with each [Event] of a job, at the end of the step.
	// It may submit, cancel and commit or release with the scheduler.
	Observe func(Event[K])

	// Events, if not nil, is told of tasks that are placed, preempted or refused. A job that
	// backs off counts as refused, and so does one that ends without all its tasks.
	Events *observe.Stream

	// MinDelay and MaxDelay bound the back-off: it begins with MinDelay and doubles with
	// each attempt in a row that places nothing. The defaults are 1 ms and 1 s. A
	// MinDelay above 1 s without a MaxDelay is the MaxDelay, too.
	MinDelay, MaxDelay time.Duration
	// Rand jitters the back-off, which is then anywhere between half of its length and
	// the whole; nil for no jitter. Loops on one cell that back off in step meet again:
	// give each a source of its own.
	Rand *rand.Rand
	// Attempts bounds the attempts of a job, and Fruitless the attempts of a job without a
	// placed task. The job is [Abandoned] beyond them. 0 is the default, 1,000 and 100 as
	// in the Omega paper and its simulator; negative is no limit. With the default
	// back-off a job that finds no room is abandoned after about 90 s, later where it is
	// not the only one. An attempt after a change in the cell counts as well. For jobs that are
	// to wait for room however long, set both to -1.
	Attempts, Fruitless int
	// Patience is how long a job waits before room is reserved for it in the cell: for
	// all tasks of a gang, or for one task of another job. See [omega.Reservation]. It
	// counts from the job's arrival, and from the last time that it placed a task.
	// Attempts count against the limits meanwhile. 0 is 30 s; negative for no
	// reservations.
	//
	// The first reservation lasts 10 patiences at most. More follow on other machines, some
	// of them longer, until one is long enough. With L the longest time of an allocation, and
	// few reservations of others, that takes some 4 L × log2(L/patience).
	Patience time.Duration
	// Recheck is how often the machines are looked at while jobs are parked; 0
	// is 1 s.
	Recheck time.Duration
	// Queue is how many jobs may be pending; 0 for no limit.
	Queue int
}

func (c *Config[K]) complete() error {
	switch {
	case c.Store == nil:
		return fmt.Errorf("%w: Store is nil", ErrConfig)
	case isEmpty(c.Store):
		return fmt.Errorf("%w: Store is a Local whose Scheduler is nil", ErrConfig)
	case c.MinDelay < 0 || c.MaxDelay < 0 || c.MaxDelay > 0 && c.MaxDelay < c.MinDelay:
		return fmt.Errorf("%w: MinDelay %v, MaxDelay %v: want 0 <= MinDelay <= MaxDelay", ErrConfig, c.MinDelay, c.MaxDelay)
	case c.Recheck < 0:
		return fmt.Errorf("%w: Recheck %v: want 0 or more", ErrConfig, c.Recheck)
	case c.Queue < 0:
		return fmt.Errorf("%w: Queue %d: want 0 or more", ErrConfig, c.Queue)
	}
	if c.MinDelay == 0 {
		c.MinDelay = defaultMinDelay
		if c.MaxDelay > 0 {
			c.MinDelay = min(c.MinDelay, c.MaxDelay)
		}
	}
	if c.MaxDelay == 0 {
		c.MaxDelay = max(defaultMaxDelay, c.MinDelay)
	}
	if c.Attempts == 0 {
		c.Attempts = defaultAttempts
	}
	if c.Fruitless == 0 {
		c.Fruitless = defaultFruitless
	}
	if c.Patience == 0 {
		c.Patience = defaultPatience
	}
	if c.Recheck == 0 {
		c.Recheck = defaultRecheck
	}
	if c.Order == nil {
		c.Order = FIFO[K]()
	}
	if o, ok := c.Order.(interface{ made() bool }); ok && !o.made() {
		return fmt.Errorf("%w: Order is a %T that no constructor has made", ErrConfig, c.Order)
	}
	if c.Place == nil {
		c.Place = PlaceBy[K](c.Policy)
	}
	return nil
}

// isEmpty reports whether a store is a Local without a scheduler.
func isEmpty(s omega.Store) bool {
	switch local := s.(type) {
	case omega.Local:
		return local.Scheduler == nil
	case *omega.Local:
		return local == nil || local.Scheduler == nil
	}
	return false
}

// Loop is one scheduler at work: one attempt at a time, as in the Omega paper.
// Loops are made by [New]. The methods of a nil or zero Loop fail with
// [resources.ErrNil], or do nothing.
//
// Submit, Cancel, Recheck and Stats are safe for concurrent use. Step and Run
// belong to one goroutine at a time.
type Loop[K any] struct {
	cfg      Config[K]
	stepping atomic.Bool
	wake     chan struct{} // has room for one; told that there is something new
	meter    meter

	mu      sync.Mutex // guards the fields up to inbox
	pending int
	seq     uint64
	recheck recheck
	inbox   []message[K]

	// watched says that Run waits for marks and asks for them to be looked at. Else
	// each step looks.
	watched atomic.Bool

	// The rest belongs to the step.
	marker    marker     // the store, or nil
	advancer  advancer   // the order, or nil
	mover     mover[K]   // the order, or nil
	settler   settler[K] // the order, or nil
	holder    holder     // the order, or nil
	wakeUp    func()     // for the holder: makes Run ask it again
	ledger    ledger[K]
	backoffs  timeline[K]
	deadlines timeline[K]
	parked    []*Pending[K] // in the order of parking
	machines  machines
	recheckAt time.Time // while anything is parked
	held      bool      // the order holds jobs back
	heldUntil time.Time
	kinds     resources.Vector // the kinds that jobs have needed, as ones
	attempt   attempt[K]
	running   bool // a step of Run is in progress, which measures itself
	engine    omega.Attempt
	backoff   omega.Backoff
	unwanted  []omega.ReservationID // to be ended
	ending    int                   // how many of unwanted the transaction ends
	read      []message[K]          // the other buffer of the inbox
	taken     int                   // of read

	events  []Event[K]
	sent    int       // of events
	handing *Event[K] // being observed
}

// message is a job that comes, or is cancelled.
type message[K any] struct {
	p      *Pending[K]
	cancel bool
}

// New returns a loop without jobs. Errors: [ErrConfig].
func New[K any](cfg Config[K]) (*Loop[K], error) {
	if err := cfg.complete(); err != nil {
		return nil, err
	}
	l := &Loop[K]{
		cfg: cfg, wake: make(chan struct{}, 1),
		engine:   omega.Attempt{Store: cfg.Store, Txn: omega.Txn{Detect: cfg.Detect}},
		backoff:  omega.Backoff{Min: cfg.MinDelay, Max: cfg.MaxDelay, Rand: cfg.Rand},
		backoffs: timeline[K]{alarm: backoffAlarm}, deadlines: timeline[K]{alarm: deadlineAlarm},
	}
	l.marker, _ = cfg.Store.(marker)
	l.advancer, _ = cfg.Order.(advancer)
	l.mover, _ = cfg.Order.(mover[K])
	l.settler, _ = cfg.Order.(settler[K])
	l.holder, _ = cfg.Order.(holder)
	l.wakeUp = func() {
		l.ask(recheckRoom)
		l.signal()
	}
	return l, nil
}

// Submit brings in a job, which the next step sees. Now is when its wait begins. Safe for
// concurrent use. Errors: [ErrJob]; [ErrQueue], and then it is the caller's to come again
// later.
//
// Jobs with demands that cannot be met are refused or parked:
//
//	no tasks, an invalid or zero need        refused: ErrJob
//	a precedence that the scheduler may not  refused: ErrJob and omega.ErrForbidden,
//	claim at                                 where the Store has Limits
//	a need, or a gang, beyond the limits     refused: ErrJob and omega.ErrLimit,
//	of the scheduler                         where the Store has Limits
//	more than the machines could hold        accepted, and parked with omega.ErrNeverFits
//	                                         until machines change
//
// Limits are fixed when a scheduler is registered, so a refused job would wait for
// ever. A job too large for all machines is accepted, since machines come and go.
//
// Where the scheduler's limits count jobs, the caller brackets each with
// [omega.Scheduler.BeginJob] and EndJob: only the caller knows when its tasks are over.
func (l *Loop[K]) Submit(now time.Time, job Job[K]) (*Pending[K], error) {
	if l.none() {
		return nil, absent("receiver")
	}
	if err := job.check(); err != nil {
		return nil, err
	}
	if s, ok := l.cfg.Store.(limiter); ok {
		limits := s.Limits()
		if err := job.allowed(&limits); err != nil {
			return nil, err
		}
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.cfg.Queue > 0 && l.pending >= l.cfg.Queue {
		return nil, fmt.Errorf("%w: %d jobs are pending", ErrQueue, l.pending)
	}
	l.pending++
	l.seq++
	p := &Pending[K]{job: job, submitted: now, since: now, seq: l.seq}
	l.inbox = append(l.inbox, message[K]{p: p})
	l.signal()
	return p, nil
}

// Cancel withdraws a job at the next step, and changes nothing if it has ended by then.
// An attempt that has not been committed is dropped. Allocations that a commit has
// granted are handed over before the job is reported cancelled. For nil it does nothing.
// Safe for concurrent use.
func (l *Loop[K]) Cancel(p *Pending[K]) {
	if l.none() || p == nil {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.inbox = append(l.inbox, message[K]{p: p, cancel: true})
	l.signal()
}

// Recheck makes the next step look at the machines. Jobs that wait for room and would
// find it now, and parked ones that could fit now, take their turn, in the order of
// [Config.Order].
//
// Parked jobs are also checked every [Config.Recheck] for changes of machines, and Run
// checks the jobs that wait for room. So the caller calls it in three cases:
//
//   - room was made for a loop without Run;
//   - a [Job.Allow] has changed its mind;
//   - the scheduler may claim other machines than before.
//
// Safe for concurrent use.
func (l *Loop[K]) Recheck() {
	if l.none() {
		return
	}
	l.ask(recheckRoom | recheckParked)
	l.signal()
}

// Stats returns the counters and times of the loop up to now. Safe for concurrent use. It
// copies some 24 kB.
func (l *Loop[K]) Stats() Stats {
	if l.none() {
		return Stats{}
	}
	l.mu.Lock()
	submitted, pending := l.seq, l.pending
	l.mu.Unlock()
	l.meter.mu.Lock()
	defer l.meter.mu.Unlock()
	s := l.meter.stats
	s.refused.Refused = slices.Clone(s.refused.Refused)
	s.Submitted, s.Pending = submitted, pending
	return s
}

// none reports whether l is nil, or not made by [New].
func (l *Loop[K]) none() bool { return l == nil || l.cfg.Store == nil }

// signal wakes Run if it sleeps.
func (l *Loop[K]) signal() {
	select {
	case l.wake <- struct{}{}:
	default: // it is told already
	}
}
