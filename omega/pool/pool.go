package pool

import (
	"maps"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/cellsched/cellsched/drf"
	"github.com/cellsched/cellsched/locality"
	"github.com/cellsched/cellsched/omega/observe"
	"github.com/cellsched/cellsched/resources"
)

// Pool shares out resources among tenants. Make one with [New]: the methods of a nil
// or zero Pool fail with [resources.ErrNil], or return nothing.
//
// It is safe for concurrent use. One mutex guards all of it; no call holds it while it
// waits. Goroutines of its own run tasks, or take room back for a guarantee; they end
// when there is nothing left to do.
type Pool struct {
	granter   // with the books and their indexes
	restoring restorer
	serving   dispatcher
	crew      crew
	admission admission
	life      lifecycle
	commits   *committer // nil without a cell
}

// core is the part of a pool that all of its components share.
type core struct {
	space  *resources.Space
	events *observe.Stream
	base   time.Time // times of the order count from here

	mu       sync.Mutex    // guards the fields below, and all components
	at       time.Duration // now, as of tick
	draining bool          // no more requests are taken
	books    books
	tenants  tenantBook
	waits    waitlist
	leases   leaseTable
	lend     *lender   // nil without a cell
	replicas *replicas // nil without a board

	next  func() // serves the requests that can be placed, and starts the ready ones
	ended func() // looks whether a pool that drains is done
}

// connect gives each component the components that it uses.
func (p *Pool) connect() {
	c := &p.core
	p.books.core, p.tenants.core, p.tenants.pool = c, c, p
	p.placement.core = c
	p.leases.core, p.leases.placement, p.leases.pool = c, &p.placement, p
	p.search.core, p.search.placement = c, &p.placement
	p.promises.core, p.promises.search = c, &p.search
	p.reserving.core, p.reserving.placement, p.reserving.promises = c, &p.placement, &p.promises
	p.graces.core, p.graces.search = c, &p.search
	p.restoring = restorer{
		core: c, placement: &p.placement, search: &p.search, promises: &p.promises, reserving: &p.reserving, graces: &p.graces,
		granting: &p.granter,
	}
	p.serving = dispatcher{
		core: c, placement: &p.placement, promises: &p.promises, reserving: &p.reserving, granting: &p.granter,
		restoring: &p.restoring,
	}
	p.crew.core, p.crew.drop = c, p.drop
	p.admission = admission{c, &p.placement, &p.granter}
	p.life.core, p.life.graces, p.life.granting, p.life.crew = c, &p.graces, &p.granter, &p.crew
	p.next = func() {
		p.serving.dispatch()
		p.crew.launch()
	}
	p.ended = p.life.endIfDone
	p.serving.canServe = p.serving.turn
	p.graces.over = p.restoring.endGraces
	p.placement.relaxed = func() {
		if p.lend != nil {
			p.lend.kick()
		}
		p.next()
	}
}

// New returns a pool. Errors wrap [ErrConfig] and name the field.
func New(cfg Config) (*Pool, error) {
	if err := cfg.complete(); err != nil {
		return nil, err
	}
	p := &Pool{granter: granter{core: core{space: cfg.Space, events: cfg.Events, base: time.Now()}}}
	if p.events == nil {
		p.events = new(observe.Stream)
	}
	if cfg.Cell != nil {
		p.lend, p.commits = new(lender), new(committer)
	}
	p.connect()
	p.tenants.byName, p.tenants.sweepAt = make(map[string]*Tenant), sweepMin
	p.waits.spare.New = func() any { return new(waiter) }
	p.placement.topology, p.placement.policy = cfg.Topology, cfg.Delay
	p.leases.onLeak, p.crew.onError = cfg.OnLeak, cfg.OnError
	p.reserving.reserved, p.reserving.processors = cfg.Reserved, runtime.GOMAXPROCS(0)
	p.reserving.patience, p.reserving.adaptive = cfg.Patience, cfg.Patience == 0
	if p.reserving.adaptive {
		p.reserving.patience = mostPatience
	}
	p.graces.span = cfg.Grace
	p.life.drained = make(chan struct{})
	p.books.byName = make(map[string]locality.Node, len(cfg.Machines))
	for i := range cfg.Machines {
		if _, err := p.books.add(&cfg.Machines[i]); err != nil {
			return nil, because(ErrConfig, "Machines", err)
		}
	}
	if cfg.Replicas != nil {
		p.replicas = newReplicas(&p.core, &cfg)
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
	if p.tenants.fair, err = drf.NewFairQueue(p.books.total); err != nil {
		return nil, because(ErrConfig, "Machines", err)
	}
	p.tenants.fair.ByHeld(cfg.Order == Instant, 0)
	for _, name := range slices.Sorted(maps.Keys(cfg.Tenants)) {
		if _, err := p.Tenant(name, cfg.Tenants[name]); err != nil {
			return nil, because(ErrConfig, "Tenants", err)
		}
	}
	if p.lend != nil {
		p.commits.begin()
	}
	if p.replicas != nil {
		p.replicas.lost = p.commits.disown
		p.replicas.begin()
	}
	return p, nil
}

// none reports whether p is nil, or not made by [New].
func (p *Pool) none() bool { return p == nil || p.tenants.byName == nil }

// Space returns the space of the pool, in which needs are parsed and printed.
func (p *Pool) Space() *resources.Space {
	if p.none() {
		return nil
	}
	return p.space
}

// Subscribe returns a subscription to the events of the pool, of Config.Events where
// that is set, that holds up to size of them: those of the given kinds, or all. The pool
// never waits for it: an event that finds it full is dropped and counted. Without
// subscriptions events cost nothing. The channel stays open when the pool is closed: close the subscription to
// end a range over it.
//
// Granted and Refused tell the label of a [Request].
func (p *Pool) Subscribe(size int, kinds ...observe.Kind) *observe.Subscription {
	if p.none() {
		return nil
	}
	return p.events.Subscribe(size, kinds...)
}

// tick reads the clock, once for each call that depends on the time. Called with
// mu held.
func (c *core) tick() { c.at = time.Since(c.base) }

// tellRefused sends the event of a request that failed. Events are made out of
// line: see Pool.drop.
//
//go:noinline
func (c *core) tellRefused(t *Tenant, need *resources.Vector, label string, err error) {
	c.events.Tell(observe.Event{
		Kind: observe.Refused, At: time.Now(), Source: "pool", Tenant: t.name, Label: label, Need: *need, Err: err,
	})
}

// amount formats an amount of one kind.
func (c *core) amount(k int, q int64) string {
	var one resources.Vector
	one[k] = q
	_, text, ok := strings.Cut(c.space.Format(one), "=")
	if !ok {
		return "0"
	}
	return text
}

// formatLimit formats a limit without the kinds that have no bound.
func (c *core) formatLimit(limit resources.Vector) string {
	for k, most := range limit {
		if most == resources.MaxQuantity {
			limit[k] = 0
		}
	}
	return c.space.Format(limit)
}

func (c *core) formatAll(needs []resources.Vector) string {
	texts := make([]string, len(needs))
	for i, need := range needs {
		texts[i] = c.space.Format(need)
	}
	return strings.Join(texts, " + ")
}
