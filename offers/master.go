package offers

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/cellsched/cellsched/drf"
	"github.com/cellsched/cellsched/internal/fault"
	"github.com/cellsched/cellsched/omega"
	"github.com/cellsched/cellsched/resources"
)

// What is used where a [Config] or [Registration] leaves it open.
const (
	DefaultName     = "offers"
	DefaultTimeout  = 30 * time.Second // of an offer
	DefaultRefuse   = 5 * time.Second  // of a decline
	DefaultInterval = time.Second
	DefaultRecovery = 10 * time.Minute
	DefaultGrace    = 30 * time.Second // of a revocation
	DefaultLiveness = 10 * time.Minute
	// MaxRefuse is the longest that a decline hides room: 365 days.
	MaxRefuse = 365 * 24 * time.Hour
)

// Config is how a master works. The zero Config shares a cell by dominant
// resource fairness, with offers that last for 30 s.
type Config struct {
	// Name is that of the master's scheduler in the cell, by which a successor
	// finds what it has offered; "" is [DefaultName]. The schedulers of its
	// frameworks are called Name/framework.
	Name string
	// Order is that of the frameworks of a role, and Roles that of roles; nil is
	// [DRF]. Frameworks of one role are ordered by Order alone.
	Order, Roles Order
	// Timeout is how long an offer lasts, if it is not answered; the default is
	// 30 s. By [Never] it lasts until it is.
	Timeout Span
	// Interval is the shortest time for which a decline hides room, unless that
	// is for no time at all, and the unit of back-off; the default is 1 s.
	Interval Span
	// Recovery is how long a new master leaves alone the tasks of frameworks that
	// it finds in the cell and that have not registered; the default is 10 min.
	Recovery Span
	// Grace is how long before they are preempted frameworks are told of tasks that
	// are revoked; the default is 30 s.
	Grace Span
	// Liveness is how long a framework may make no call before it is taken for gone; the
	// default is the longer one of 10 min and 20 times Timeout, so never where offers do
	// not expire. Of such a framework
	//   - nothing is kept if it has no tasks: it ends as by [Framework.Unregister],
	//   - tasks last as by [Framework.Disconnect] if its Registration sets Failover,
	//   - other tasks go on until the framework is evicted: see [Master.Evict].
	//
	// Its next call registers it anew, as it was, unless another one has its name by then.
	// A framework that is suppressed, waits for no answer and has no Notify is exempt: it
	// has no reason to call.
	//
	// Two Timeouts without a call are enough for a framework to be silent. Its offers are
	// taken back. It is offered nothing, its requests wait, and its weight does not count
	// where it is shared what frameworks are offered at once (Registration.Outstanding).
	// Its next call ends that, and is offered what there is. One that comes back within four
	// Timeouts is slow: it is silent after twice as long as it was away. Where all that
	// want offers are silent each is treated as if it were not.
	//
	// A framework is notified halfway, after one Timeout or half of Liveness. The second
	// half begins with the [Master.Step] that does so, so a program that was suspended
	// gives its frameworks time. Bound: frameworks that vanish, however many, keep room
	// that they have not accepted from others for two Timeouts; for eight if they were slow.
	Liveness Span
	// Smallest is the least that a machine must have free to be offered, of all
	// kinds: less is left to add up until a large task may fit.
	Smallest resources.Vector
	// Terms say which part of the cell is offered, and how, until
	// [Master.SetTerms] changes them.
	Terms Terms
	// Store returns the store through which a scheduler, the master's or that of a
	// framework, refreshes and commits; nil is for [omega.Local], whose commits do not wait.
	// With a store that may wait, [Master.StepContext] alone makes offers and answers
	// requests, and [Framework.AcceptContext] waits for its own commit. No other call waits.
	Store func(*omega.Scheduler) omega.Store
	// LongOnMachine and LongInCell are the most, in per cent of each kind, that
	// long tasks may hold of a machine and of the cell; 0 is no cap. See [Task] and
	// Offer.Long.
	LongOnMachine, LongInCell int
}

func (c *Config) check() error {
	if c.Name != "" {
		if err := checkName("master", c.Name); err != nil {
			return err
		}
	}
	for _, p := range []int{c.LongOnMachine, c.LongInCell} {
		if p < 0 || p > 100 {
			return fmt.Errorf("%w: %d per cent for long tasks: want 0 to 100", ErrFraction, p)
		}
	}
	if err := c.Smallest.Check(); err != nil {
		return fault.New("offers", "smallest offer", err)
	}
	return errors.Join(
		c.Terms.check(),
		c.Timeout.check("offer timeout", 1),
		c.Interval.check("interval", 1),
		c.Recovery.check("recovery", 0),
		c.Grace.check("grace", 0),
		c.Liveness.check("liveness", 1),
	)
}

// Master offers what is free in a cell to frameworks, one at a time for each
// piece of room.
//
// It starts no goroutine: it offers where something happens, in the call that
// makes it happen, and [Master.Step] does what time and others bring about.
// It is safe for concurrent use; a mutex is held for the length of a call, which
// waits for nobody.
//
// What it knows is in the cell, or told by frameworks when they register, but for
// who has declined what: see [New].
//
// Costs of O(log n) for an offer include the move of a framework in the order of its role.
// In a role of up to about a thousand frameworks the order is a slice, and a move shifts
// the places between, of 32 bytes each. In a longer one it is a tree. Frameworks that
// share an account move together: O(frameworks of their roles).
type Master struct {
	*client
	registry   *registry
	inbox      *inbox
	accounts   *accountBook
	queue      *queue
	floor      *floor
	caps       *caps
	ledger     *ledger
	planner    *planner
	accepts    *accepts
	guarantees *guarantees
	gangs      *gangs
	rounds     *rounds
	sessions   *sessions

	next   time.Time     // when the last call ended something was due then; zero if nothing was
	sooner chan struct{} // closed when that becomes earlier; nil if nobody has asked
}

// New returns the master of a cell. Room that an earlier one of the same name had
// offered is free again, which fences that one; tasks go on, and wait for their
// frameworks to register again, for as long as Config.Recovery says.
//
// Cost: O(machines + allocations). Errors: [ErrEmpty] for a nil cell, [ErrName], [ErrFraction], [ErrSpan],
// [resources.ErrQuantity] for what the Config says.
func New(cell *omega.Cell, cfg Config, now time.Time) (*Master, error) {
	if cell == nil {
		return nil, missing("cell is nil")
	}
	if err := cfg.check(); err != nil {
		return nil, err
	}
	if cfg.Name == "" {
		cfg.Name = DefaultName
	}
	if cfg.Order == nil {
		cfg.Order = DRF{}
	}
	if cfg.Roles == nil {
		cfg.Roles = DRF{}
	}
	cfg.Terms.Machines = slices.Clone(cfg.Terms.Machines)
	sched, err := enroll(cell, cfg.Name)
	if err != nil {
		return nil, fault.Newf("offers", err, "master %s", fault.Quote(cfg.Name))
	}
	c := &client{cell: cell, cfg: cfg, sched: sched, epoch: uint32(sched.Epoch()), now: now}
	m := newMaster(c)
	m.sessions.recover()
	for st := range sched.Snapshot().Machines() {
		m.see(&st)
	}
	for _, n := range m.floor.nodes {
		n.known = false // nothing is offered before the next call
	}
	m.queue.stale = false
	m.next, _ = m.due()
	return m, nil
}

// newMaster makes the components of a master, each with those that it builds on.
func newMaster(c *client) *Master {
	m := &Master{client: c}
	m.registry, m.accounts = newRegistry(c), newAccountBook(c)
	m.inbox = &inbox{client: c, registry: m.registry}
	m.queue = newQueue(c, m.registry, m.accounts, m.inbox)
	m.floor = &floor{client: c, registry: m.registry, queue: m.queue, words: omega.Mask{}}
	m.caps = &caps{client: c, floor: m.floor, longs: make(map[omega.AllocationID]longTask)}
	m.ledger = &ledger{client: c, registry: m.registry, inbox: m.inbox, queue: m.queue, floor: m.floor, caps: m.caps}
	m.planner = newPlanner(c, m.unlock)
	m.accepts = &accepts{
		client: c, registry: m.registry, accounts: m.accounts, queue: m.queue, floor: m.floor, caps: m.caps,
		ledger: m.ledger, planner: m.planner,
	}
	m.guarantees = &guarantees{
		client: c, registry: m.registry, inbox: m.inbox, queue: m.queue, floor: m.floor, accepts: m.accepts,
	}
	m.gangs = newGangs(&gangs{
		client: c, registry: m.registry, inbox: m.inbox, queue: m.queue, floor: m.floor, caps: m.caps,
		ledger: m.ledger, planner: m.planner, accepts: m.accepts, guarantees: m.guarantees,
	})
	m.rounds = newRounds(&rounds{
		client: c, registry: m.registry, queue: m.queue, floor: m.floor, ledger: m.ledger, planner: m.planner, gangs: m.gangs,
	})
	m.sessions = &sessions{
		client: c, registry: m.registry, inbox: m.inbox, accounts: m.accounts, queue: m.queue, floor: m.floor, caps: m.caps,
		ledger: m.ledger, planner: m.planner, accepts: m.accepts, guarantees: m.guarantees, gangs: m.gangs,
	}
	return m
}

// enroll returns the scheduler of that name, a new one or a successor.
func enroll(cell *omega.Cell, name string) (*omega.Scheduler, error) {
	s, err := cell.Register(name, limits())
	if errors.Is(err, omega.ErrName) {
		return cell.Replace(name)
	}
	return s, err
}

// SetRoleWeight changes what a role counts beside others, from [drf.MinWeight] to
// [drf.MaxWeight]; it is 1 until then. Cost: O(frameworks). Errors: [ErrWeight].
func (m *Master) SetRoleWeight(name string, weight float64) error {
	if err := m.check(); err != nil {
		return err
	}
	if err := checkWeight(weight); err != nil {
		return fault.Newf("offers", err, "role %s", fault.Quote(name))
	}
	if name != "" {
		if err := resources.CheckName(name); err != nil {
			return fault.New("offers", "role", err, ErrName)
		}
	}
	m.mu.Lock()
	defer m.unlock()
	r := m.queue.role(name)
	r.weight = weight
	m.queue.rerank(r, false)
	m.queue.forgetRole(r)
	m.queue.reshare()
	return m.fenced
}

// checkWeight keeps weights where shares divided by them, and their sums, stay
// finite.
func checkWeight(w float64) error {
	if w >= drf.MinWeight && w <= drf.MaxWeight { // false for NaN
		return nil
	}
	return fmt.Errorf("%w: %v: want %v to %v", ErrWeight, w, drf.MinWeight, drf.MaxWeight)
}
