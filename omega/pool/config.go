package pool

import (
	"fmt"
	"maps"
	"runtime"
	"slices"
	"sync"
	"time"

	"github.com/cellsched/cellsched/delay"
	"github.com/cellsched/cellsched/drf"
	"github.com/cellsched/cellsched/locality"
	"github.com/cellsched/cellsched/omega"
	"github.com/cellsched/cellsched/omega/observe"
	"github.com/cellsched/cellsched/resources"
)

// Order is the rule by which tenants take turns.
type Order uint8

const (
	// OverTime serves the tenant that has received the least service for its
	// weight: see [drf.FairQueue]. Slot time follows the weights, however many
	// tenants there are for each slot and however long their tasks run.
	OverTime Order = iota
	// Instant serves the tenant that holds the least dominant share for its
	// weight at this moment (Ghodsi et al., NSDI 2011). It suits leases without
	// end. Where tenants outnumber slots a waiting tenant holds nothing, so
	// weights have no effect.
	Instant
)

// String returns the name of the order.
func (o Order) String() string {
	switch o {
	case OverTime:
		return "over time"
	case Instant:
		return "instant"
	}
	return fmt.Sprintf("order %d", uint8(o))
}

// Config describes a pool. The zero Config is one machine, this process, with
// the CPU and memory that [resources.Host] says it may use.
type Config struct {
	// Space names the kinds of resource. Nil means that of [resources.Host].
	Space *resources.Space
	// Machines are shared out, numbered from 0 in this order: machine i is
	// [locality.Node] i. None means one machine, the host, with amounts for
	// those kinds of Space that are called cpu and memory. Names are unique.
	Machines []omega.Machine
	// Cell lends the pool its machines, which the pool shares with the other schedulers
	// of the cell. Space and Machines are those of the cell then, by node number. Nil:
	// the pool has its machines to itself.
	//
	// On each machine the pool holds blocks: one allocation for each class of tenants, as
	// the precedence, and room in stock at the lowest precedence of the Scheduler. Leases
	// come out of the blocks. The stock of a machine goes back when the machine has had
	// no lease for a second or two, and while another scheduler waits for room.
	//
	// A claim of another scheduler that preempts takes a part of a block. Leases that do
	// not fit in the rest are preempted: first those of the lowest class. Their grace is
	// that of the claim. A pool with a Cell has two goroutines until it is closed.
	Cell *omega.Cell
	// Scheduler is the pool's own in the Cell, with limits that are [omega.Limits]
	// Divisible. The pool alone may use it. Classes are cut to the precedences that it
	// may claim. Allocations that it has are the pool's first blocks. Nil: New registers
	// one of the name "pool".
	Scheduler *omega.Scheduler
	// Store is the way in which the Scheduler's snapshot is refreshed and changes are
	// committed. Nil means the Cell itself. No other call waits for it: while a commit
	// takes long, leases are granted in the room that the pool has.
	Store omega.Store
	// Account is the account in the Cell to which blocks are charged. Empty means the
	// name of the Scheduler.
	Account string
	// Chunk is by how many leases a block grows and shrinks at a time. 0 means 16. 1
	// means that a block is no larger than its leases, and that each tenant is charged in
	// an account of its name. Usage by tenant is in the cell then. Each lease costs a
	// commit unless a lease of the tenant makes room for it.
	Chunk int
	// Topology tells which machines are near each other, by node number.
	// Machines that it does not know are far from all. Nil: a machine is near
	// itself only.
	Topology *locality.Topology
	// Events gets the pool's events; several pools may share it. Nil: the pool has a
	// stream of its own. See [Pool.Subscribe].
	Events *observe.Stream
	// Delay is how long a request waits for a machine that it prefers, by time.
	// Skips and a Learner are refused: the pool makes no offers and is told no
	// run times. The zero Policy takes the nearest machine with room at once.
	Delay delay.Policy
	// Order is the rule by which tenants take turns.
	Order Order
	// Tenants are made when the pool is, by name. Others are made on first use,
	// with zero Settings. See [Pool.Tenant]. A name with a slash makes no group: see
	// [Tenant.Tenant].
	Tenants map[string]Settings
	// Patience is how long a request that fits on no machine waits before room
	// is reserved for it. 0 means ten times as long as leases last of late, 0.1 ms to
	// one second; a negative Patience reserves never. Where it is longer than some ten
	// tasks, tenants with large requests get less than their share by weight.
	Patience time.Duration
	// Reserved is the largest part of the machines that reservations may be on
	// at a time, 0 to 1, but for one machine, which is always allowed. 0 means a
	// half.
	Reserved float64
	// Grace is how long the holder of a preempted lease may take to release it
	// before [Pool.Overdue] names it and other leases are preempted in its place. 0
	// means ten seconds.
	Grace time.Duration
	// OnError is called with each error of a task of [Tenant.Go], on the
	// goroutine of the task and without a lock held. Nil: errors are returned by
	// [Pool.Shutdown] only.
	OnError func(*Tenant, error)
	// OnLeak is called for each lease that was garbage collected before it was
	// released, with a copy of that lease. Its room stays taken until the copy is
	// released: a dropped lease does not prove that its work has ended. OnLeak
	// runs on a goroutine of the runtime, without a lock held, and must neither
	// block nor panic. Nil: leases are not watched, and cost no allocation.
	OnLeak func(Lease)
}

// Pool shares out resources among tenants. Make one with [New]: the methods of a nil
// or zero Pool fail with [resources.ErrNil], or return nothing.
//
// It is safe for concurrent use. One mutex guards all of it; no call holds it while it
// waits. Goroutines of its own run tasks, or take room back for a guarantee; they end
// when there is nothing left to do.
type Pool struct {
	space    *resources.Space
	topology *locality.Topology
	policy   delay.Policy
	order    Order
	reserved float64
	onLeak   func(Lease)
	onError  func(*Tenant, error)
	events   *observe.Stream
	grace    time.Duration
	base     time.Time // times of the order count from here

	adaptive bool // the patience follows the lengths of leases

	processors int // that goroutines run on, when the pool was made

	spare sync.Pool // of waiters

	mu            sync.Mutex // guards the fields below
	books         books
	lend          *lender // of the machines, nil without a cell
	fair          *drf.FairQueue
	tenants       map[string]*Tenant
	byUser        []*Tenant // by index of the user in fair
	sweepAt       int       // number of tenants at which settled ones are forgotten
	waiting       int       // waiters of all tenants
	picky         int       // of those, with several needs or required machines
	nesting       int       // of those, of callers that held leases
	queues        int       // tenants with waiters
	leases        int
	records       []record
	vacant        []uint32 // slots of records
	grants        uint64   // so far
	epoch         uint64   // releases so far
	freed         locality.Node
	keepers       int           // machines with a reservation
	reserves      []*waiter     // with one that is not promised
	patience      time.Duration // before room is reserved; negative: it is not
	looked        time.Duration // when reserve was last tried
	at            time.Duration // now, as of tick
	lasting       time.Duration // mean length of the last leases that others waited behind
	found         found         // by the last call of turn that returned true
	canServe      func(drf.User) bool
	ready         taskList // tasks that were granted or dropped
	idle          shelf
	looking       int         // workers that have none of them yet
	workers       int         // goroutines that run tasks
	failures      []error     // of tasks, the first few
	unnamed       int         // and how many there are besides
	revoked       []Lease     // preempted, some of them released, in the order of their graces
	inGrace       int         // of those, how many are in their grace
	graceTimer    *time.Timer // fires when the grace of one of them is over,
	graceSet      bool        // and runs
	guaranteed    []*Tenant
	promised      []*waiter        // that a guarantee takes room back for, in that order
	due           []*waiter        // of those, which have got it
	leastPromised resources.Vector // each of those needs at least this
	promises      uint64           // so far
	ranked        bool             // a tenant has or had a class, or a request a priority, but 0
	indexes       uint64           // made so far
	more          bool             // requests may have room taken back for them, after others
	going         bool             // a goroutine sees to that
	withdrawn     bool             // a promise, or another has got its room, since dispatch served all
	victimIndex   *preemptible     // of what a guarantee may preempt, nil while it is not needed
	draining      bool             // no more requests are taken
	next          func()           // serves the requests that can be placed, and starts what is ready
	ended         func()           // looks whether a pool that drains is done
	relaxed       func()           // has requests tried again that prefer machines
	graceOver     func()           // takes other room back for what late leases keep
	evicted       bool             // contexts of leases have ended
	closed        bool
	drained       chan struct{} // closed once the pool is closed and no lease and no worker is left
}

// The default patience: some tasks end meanwhile, which may make room by themselves.
// For tasks of minutes it is short.
const (
	patienceTasks = 10 // so many of their mean length,
	leastPatience = 100 * time.Microsecond
	mostPatience  = time.Second // also before any length is known
)

// defaultGrace is the time that Kubernetes and most process managers give.
const defaultGrace = 10 * time.Second

// maxGrace is as good as no end, and can be added to a time.
const maxGrace = 100 * 365 * 24 * time.Hour

// New returns a pool. Errors wrap [ErrConfig] and name the field.
func New(cfg Config) (*Pool, error) {
	if err := cfg.complete(); err != nil {
		return nil, err
	}
	p := &Pool{
		space: cfg.Space, topology: cfg.Topology, policy: cfg.Delay, order: cfg.Order,
		patience: cfg.Patience, adaptive: cfg.Patience == 0, reserved: cfg.Reserved, onLeak: cfg.OnLeak, onError: cfg.OnError, events: cfg.Events, grace: cfg.Grace, base: time.Now(),
		processors: runtime.GOMAXPROCS(0),
		tenants:    make(map[string]*Tenant), sweepAt: sweepMin, drained: make(chan struct{}),
	}
	if p.adaptive {
		p.patience = mostPatience
	}
	if p.events == nil {
		p.events = new(observe.Stream)
	}
	p.canServe = p.turn
	p.next = func() { p.dispatch(); p.launch() }
	p.ended = p.endIfDone
	p.graceOver = p.endGraces
	p.relaxed = func() {
		if p.lend != nil {
			p.lend.kick()
		}
		p.next()
	}
	p.spare.New = func() any { return new(waiter) }
	p.books.byName = make(map[string]locality.Node, len(cfg.Machines))
	for i := range cfg.Machines {
		if _, err := p.addMachine(&cfg.Machines[i]); err != nil {
			return nil, because(ErrConfig, "Machines", err)
		}
	}
	if cfg.Cell != nil {
		if err := p.borrow(&cfg); err != nil {
			return nil, err
		}
	}
	if p.books.total == (resources.Vector{}) {
		return nil, refuse(ErrConfig, "Machines: no capacity, want some of at least one kind")
	}
	var err error
	if p.fair, err = drf.NewFairQueue(p.books.total); err != nil {
		return nil, because(ErrConfig, "Machines", err)
	}
	p.fair.ByHeld(cfg.Order == Instant, 0)
	for _, name := range slices.Sorted(maps.Keys(cfg.Tenants)) {
		if _, err := p.Tenant(name, cfg.Tenants[name]); err != nil {
			return nil, because(ErrConfig, "Tenants", err)
		}
	}
	if p.lend != nil {
		p.lend.start()
	}
	return p, nil
}

// complete fills in the fields that cfg leaves open, and checks the others.
func (cfg *Config) complete() error {
	if _, err := delay.New(cfg.Delay); err != nil {
		return because(ErrConfig, "Delay", err)
	}
	switch {
	case cfg.Delay.Skips != 0:
		return refuse(ErrConfig, fmt.Sprintf("Delay: %d skips, want waits", cfg.Delay.Skips))
	case cfg.Delay.Learn != nil:
		return refuse(ErrConfig, "Delay: a Learner, want waits")
	case cfg.Order > Instant:
		return refuse(ErrConfig, fmt.Sprintf("Order: %v, want OverTime or Instant", cfg.Order))
	case !(cfg.Reserved >= 0 && cfg.Reserved <= 1):
		return refuse(ErrConfig, fmt.Sprintf("Reserved: %v, want 0 to 1", cfg.Reserved))
	}
	if cfg.Grace < 0 {
		return refuse(ErrConfig, fmt.Sprintf("Grace: %v, want 0 or more", cfg.Grace))
	}
	cfg.Grace = min(cfg.Grace, maxGrace)
	if cfg.Grace == 0 {
		cfg.Grace = defaultGrace
	}
	if cfg.Reserved == 0 {
		cfg.Reserved = 0.5
	}
	if cfg.Cell != nil {
		return cfg.completeCell()
	}
	if cfg.Scheduler != nil || cfg.Store != nil || cfg.Chunk != 0 || cfg.Account != "" {
		return refuse(ErrConfig, "Scheduler, Store, Chunk or Account without a Cell")
	}
	if cfg.Space != nil && len(cfg.Machines) > 0 {
		return nil
	}
	host, err := resources.Host()
	if cfg.Space == nil {
		cfg.Space = host.Space
	}
	if len(cfg.Machines) > 0 {
		return nil // the space is known even where the amounts are not
	}
	if err != nil {
		return because(ErrConfig, "no Machines, and the host", err)
	}
	for k := range host.Vector {
		d, _ := host.Space.Dimension(resources.Kind(k))
		if _, ok := cfg.Space.Kind(d.Name); !ok {
			host.Vector[k] = 0
		}
	}
	capacity, err := host.In(cfg.Space)
	if err != nil {
		return because(ErrConfig, "no Machines, and the host", err)
	}
	cfg.Machines = []omega.Machine{{Name: "host", Capacity: capacity}}
	return nil
}

// none reports whether p is nil, or not made by [New].
func (p *Pool) none() bool { return p == nil || p.tenants == nil }

// Space returns the space of the pool, in which needs are parsed and printed.
func (p *Pool) Space() *resources.Space {
	if p.none() {
		return nil
	}
	return p.space
}

// tick reads the clock, once for each call that depends on the time. Called with
// mu held.
func (p *Pool) tick() { p.at = time.Since(p.base) }
