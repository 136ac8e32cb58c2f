package pool

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"

	"github.com/cellsched/cellsched/delay"
	"github.com/cellsched/cellsched/drf"
	"github.com/cellsched/cellsched/locality"
	"github.com/cellsched/cellsched/omega"
	"github.com/cellsched/cellsched/resources"
)

// Config says what a pool shares out. The zero Config is one machine, this
// process, with what [resources.Host] says it may use of CPU and memory.
type Config struct {
	// Space names the kinds of resource. Nil means that of [resources.Host].
	Space *resources.Space
	// Machines are what there is to share, numbered from 0 in this order:
	// machine i is [locality.Node] i. None means one machine, the host, with
	// amounts for those kinds of Space that are called cpu and memory.
	Machines []omega.Machine
	// Topology says which machines are near each other, by node number; those
	// that it does not know are far from all. Nil: a machine is near itself
	// only.
	Topology *locality.Topology
	// Delay says how long an Acquire waits for a machine that it prefers, by
	// time; a count of skips means little where nobody makes offers, and a
	// Learner where nobody says how long tasks run: both are refused. The zero Policy takes the nearest machine with room at once.
	Delay delay.Policy
	// Weights of tenants; 1 for those not named. See [Pool.SetWeight].
	Weights map[string]float64
	// OnLeak is called for each lease that was garbage collected before it was
	// released, with a lease in its place. What it holds stays taken until
	// that one is released: that the old one was dropped does not say that
	// the work it was for has ended. OnLeak runs on a goroutine of the
	// runtime's, without any lock held, and must neither block nor panic. Nil:
	// leases are not watched.
	OnLeak func(*Lease)
}

// Pool shares out resources among tenants. Make one with [New]. It is safe for
// concurrent use, and has no goroutine of its own.
type Pool struct {
	space    *resources.Space
	topology *locality.Topology
	policy   delay.Policy
	onLeak   func(*Lease)
	cell     *omega.Cell
	machines []omega.MachineID // by node number, as is capacity
	capacity []resources.Vector
	total    resources.Vector

	mu      sync.Mutex // guards what follows; never held across a wait
	sched   *omega.Scheduler
	tx      omega.Txn
	heap    *drf.Heap[*tenant]
	tenants map[string]*tenant
	sweepAt int // number of tenants at which idle ones are forgotten
	waiting int // waiters in all queues
	leases  int
	held    []resources.Vector       // by node: what is kept back for waiters in their turn
	holding bool                     // whether anything is, in this dispatch
	count   []int                    // by node: leases
	epoch   uint64                   // releases so far
	freed   locality.Node            // by the last of them
	wanted  resources.Vector         // what find looks for,
	fits    func(locality.Node) bool // and whether a node has room for it
	closed  bool
	drained chan struct{} // closed once the pool is closed and no lease is left
}

// New returns a pool. Errors wrap [ErrConfig] and say what is wrong with which
// field.
func New(cfg Config) (*Pool, error) {
	if err := cfg.complete(); err != nil {
		return nil, err
	}
	p := &Pool{
		space: cfg.Space, topology: cfg.Topology, policy: cfg.Delay, onLeak: cfg.OnLeak,
		tenants: make(map[string]*tenant), sweepAt: sweepMin, drained: make(chan struct{}),
	}
	if _, err := delay.New(cfg.Delay); err != nil {
		return nil, refuse(ErrConfig, err, "Delay")
	}
	if cfg.Delay.Skips != 0 {
		return nil, fmt.Errorf("%w: Delay: %d skips, want waits", ErrConfig, cfg.Delay.Skips)
	}
	if cfg.Delay.Learn != nil {
		return nil, fmt.Errorf("%w: Delay: a Learner, want waits", ErrConfig)
	}
	var err error
	if p.cell, err = omega.NewCell(omega.Config{Space: cfg.Space, Machines: cfg.Machines}); err != nil {
		return nil, refuse(ErrConfig, err, "Machines")
	}
	for m := range p.cell.Machines() {
		p.machines, p.capacity = append(p.machines, m.ID), append(p.capacity, m.Capacity)
		for k := range p.total {
			if p.total[k] > resources.MaxQuantity-m.Capacity[k] {
				return nil, fmt.Errorf("%w: Machines: kind %d adds up to more than 2^62", ErrConfig, k)
			}
		}
		p.total = p.total.Add(m.Capacity)
	}
	p.fits = func(node locality.Node) bool { return p.wanted.Fits(p.room(node)) }
	p.held, p.count = make([]resources.Vector, len(p.machines)), make([]int, len(p.machines))
	if p.heap, err = drf.New[*tenant](p.total); err != nil {
		return nil, refuse(ErrConfig, err, "Machines")
	}
	p.heap.SetPatience(-1) // room is held back on one machine, here
	if p.sched, err = p.cell.Register("pool", omega.Limits{}); err != nil {
		return nil, err // not possible: the cell is new
	}
	for _, name := range slices.Sorted(maps.Keys(cfg.Weights)) {
		if err := p.SetWeight(name, cfg.Weights[name]); err != nil {
			return nil, refuse(ErrConfig, err, "Weights")
		}
	}
	return p, nil
}

// complete fills in what cfg leaves open.
func (cfg *Config) complete() error {
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
		return refuse(ErrConfig, err, "no Machines, and the host")
	}
	for k := range host.Vector {
		d, _ := host.Space.Dimension(resources.Kind(k))
		if _, ok := cfg.Space.Kind(d.Name); !ok {
			host.Vector[k] = 0
		}
	}
	capacity, err := host.In(cfg.Space)
	if err != nil {
		return refuse(ErrConfig, err, "no Machines, and the host")
	}
	cfg.Machines = []omega.Machine{{Name: "host", Capacity: capacity}}
	return nil
}

// Space returns the space of the pool, with which needs are parsed and
// printed.
func (p *Pool) Space() *resources.Space { return p.space }

// Close stops the pool: every waiting and every later Acquire fails with
// [ErrClosed]. It then waits until all leases are released, or until ctx ends,
// and fails with that context's cause. Closing a closed pool waits again.
func (p *Pool) Close(ctx context.Context) error {
	p.mu.Lock()
	if !p.closed {
		p.closed = true
		for _, t := range p.tenants {
			for w := range t.waiters() {
				p.leave(w)
				w.err = ErrClosed
				w.finish()
			}
		}
		p.closeIfDrained()
	}
	leases := p.leases
	p.mu.Unlock()
	if leases == 0 {
		return nil
	}
	select {
	case <-p.drained:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("pool: closing, leases are still held: %w", context.Cause(ctx))
	}
}

// closeIfDrained tells Close that nothing is left. Called with mu held.
func (p *Pool) closeIfDrained() {
	if p.closed && p.leases == 0 {
		close(p.drained)
	}
}
