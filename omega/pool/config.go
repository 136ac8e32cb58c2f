package pool

import (
	"context"
	"fmt"
	"time"

	"github.com/cellsched/cellsched/delay"
	"github.com/cellsched/cellsched/locality"
	"github.com/cellsched/cellsched/omega"
	"github.com/cellsched/cellsched/omega/journal"
	"github.com/cellsched/cellsched/omega/observe"
	"github.com/cellsched/cellsched/omega/pool/internal/blocks"
	"github.com/cellsched/cellsched/resources"
)

// Order is the rule by which tenants take turns.
type Order uint8

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
	//
	// The pool ends once its Scheduler is replaced or the journal of the Cell has failed, see
	// [omega.ErrJournal]. Requests fail with [ErrClosed] then, and contexts of leases end.
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
	// Replicas is the board of a journal by which pools of several processes on one Cell
	// serve as one: see "Replicas" in the package documentation. All of them have the same
	// Tenants, and schedulers of their own. Nil: the pool is fair among its own requests.
	Replicas *journal.Board
	// Topology tells which machines are near each other, by node number.
	// Machines that it does not know are far from all. Nil: a machine is near
	// itself only.
	Topology *locality.Topology
	// Events gets the pool's events; several pools may share it. Nil: the pool has a
	// stream of its own. See [Pool.Subscribe].
	Events *observe.Stream
	// Delay is how long a request waits for a machine that it prefers, by time. A Policy
	// with Skips or a Learner is refused: the pool makes no offers and receives no run
	// times. The zero Policy takes the nearest machine with room at once.
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

// defaultGrace is the time that Kubernetes and most process managers give.
const defaultGrace = 10 * time.Second

// maxGrace is as good as no end, and can be added to a time.
const maxGrace = 100 * 365 * 24 * time.Hour

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
	if cfg.Scheduler != nil || cfg.Store != nil || cfg.Chunk != 0 || cfg.Account != "" || cfg.Replicas != nil {
		return refuse(ErrConfig, "Scheduler, Store, Chunk, Account or Replicas without a Cell")
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

// completeCell checks and fills in the fields of a pool on a cell.
func (cfg *Config) completeCell() error {
	switch {
	case len(cfg.Machines) > 0:
		return refuse(ErrConfig, fmt.Sprintf("Machines: %d beside a Cell, want none", len(cfg.Machines)))
	case cfg.Space != nil && cfg.Space != cfg.Cell.Space():
		return refuse(ErrConfig, "Space: not that of the Cell")
	case cfg.Chunk < 0:
		return refuse(ErrConfig, fmt.Sprintf("Chunk: %d, want 0 or more", cfg.Chunk))
	case cfg.Scheduler != nil && cfg.Scheduler.Cell() != cfg.Cell:
		return refuse(ErrConfig, "Scheduler: not one of the Cell")
	case cfg.Scheduler != nil && !cfg.Scheduler.Limits().Divisible:
		return refuse(ErrConfig, fmt.Sprintf("Scheduler: %q is not Divisible: a claim would take a whole block", cfg.Scheduler.Name()))
	case cfg.Scheduler != nil && cfg.Scheduler.Limits().Jobs > 0:
		return refuse(ErrConfig, fmt.Sprintf("Scheduler: %q has a limit of jobs, and a pool has none", cfg.Scheduler.Name()))
	}
	cfg.Space = cfg.Cell.Space()
	if cfg.Chunk == 0 {
		cfg.Chunk = defaultChunk
	}
	if cfg.Scheduler == nil {
		s, err := cfg.Cell.Register("pool", omega.Limits{Divisible: true})
		if err != nil {
			return because(ErrConfig, "Scheduler", err)
		}
		cfg.Scheduler = s
	}
	if cfg.Account == "" {
		cfg.Account = cfg.Scheduler.Name()
	}
	return nil
}

// borrow makes the machines of a cell those of the pool.
func (p *Pool) borrow(cfg *Config) error {
	account, err := cfg.Cell.Account(context.Background(), cfg.Account)
	if err != nil {
		return because(ErrConfig, "Account", err)
	}
	limits := cfg.Scheduler.Limits()
	l := p.lend
	*l = lender{
		core: &p.core, scheduler: cfg.Scheduler, chunk: int64(cfg.Chunk), account: account,
		lowest: limits.Lowest, highest: limits.Highest, byCharge: make(map[blocks.Charge]uint32),
	}
	l.number(blocks.Charge{Account: account, Precedence: limits.Lowest})
	cm := p.commits
	*cm = committer{
		core: &p.core, placement: &p.placement,
		search: &p.search, promises: &p.promises, reserving: &p.reserving, graces: &p.graces, serving: &p.serving,
		crew: &p.crew, life: &p.life, retotal: p.retotal, tryNow: p.tryNow, blocks: blocks.New(cfg.Scheduler, cfg.Store),
	}
	ctx := context.Background()
	_, err = cm.blocks.Sync(ctx, p.base)
	if err == nil {
		err = cm.blocks.Unreserve(ctx, cm.blocks.Reserved()) // of a predecessor
	}
	if err == nil {
		_, err = cm.blocks.Sync(ctx, p.base)
	}
	if err != nil {
		return because(ErrConfig, "Scheduler", err)
	}
	for node := range cm.blocks.Len() {
		cm.learn(locality.Node(node))
		cm.adopt(locality.Node(node))
	}
	return nil
}

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
