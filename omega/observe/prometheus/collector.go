package prometheus

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	prom "github.com/prometheus/client_golang/prometheus"

	"github.com/cellsched/cellsched/omega"
	"github.com/cellsched/cellsched/omega/observe"
	"github.com/cellsched/cellsched/omega/pool"
	"github.com/cellsched/cellsched/resources"
)

// DefaultTenants is the number of tenants of a pool that have series of their own.
const DefaultTenants = 100

// Config describes what a collector exports. The zero Config exports nothing.
type Config struct {
	// Cell is exported with its machines and schedulers.
	Cell *omega.Cell
	// Pools are exported with their tenants, by name.
	Pools map[string]*pool.Pool
	// Sources are other engines, by "source/name": the Stats method of a master of offers
	// or of a flow scheduler, or the Counts of the Stats of a loop.
	Sources map[string]func() observe.Counts
	// Tenants is how many tenants of each pool, and how many schedulers of the cell, have
	// series of their own. 0 is [DefaultTenants]; negative is none.
	Tenants int
	// Filter, if not nil, returns the text to show for the name of a tenant or scheduler. Names
	// for which it returns the same text are summed. It must not block, and is called
	// by all scrapes at once.
	Filter func(name string) string
}

// Collector is a [prom.Collector] of the statistics that its Config names. It is made by
// [New] and safe for concurrent use. Several cells need a collector each, and a label each
// that tells their series apart: see [prom.WrapRegistererWith].
//
// Cost of a scrape: O(machines + schedulers + tenants).
type Collector struct {
	cfg Config

	mu sync.Mutex // guards the field below
	// named has, by pool and for the schedulers, the names with series of their own in the
	// last scrape. The inner maps are replaced, never written.
	named map[string]map[string]bool
}

// New returns a collector. Its Config must not be changed afterwards.
func New(cfg Config) *Collector {
	switch {
	case cfg.Tenants == 0:
		cfg.Tenants = DefaultTenants
	case cfg.Tenants < 0:
		cfg.Tenants = 0
	}
	return &Collector{cfg: cfg, named: make(map[string]map[string]bool)}
}

// had returns the names of a group that had series in the last scrape.
func (c *Collector) had(group string) map[string]bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.named[group]
}

// has sets the names of a group that have series in this scrape.
func (c *Collector) has(group string, names map[string]bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.named[group] = names
}

// metric is a description of the metrics of one name.
type metric struct {
	desc *prom.Desc
	kind prom.ValueType
}

func newMetric(kind prom.ValueType, name, help string, labels ...string) metric {
	return metric{prom.NewDesc("cellsched_"+name, help, labels, nil), kind}
}

// metrics are all that there are.
type metrics struct {
	machines, capacity, free                        metric
	commits, granted, refused, retries              metric
	preempted, victims                              metric
	waiting, offers, waited, placed                 metric
	tenants, tenantShare, tenantHeld, tenantWaiting metric
	tenantGranted, tenantRefused, tenantPreempted   metric
}

var all = metrics{ //nolint:gochecknoglobals // descriptions, which nothing changes
	machines:  newMetric(prom.GaugeValue, "machines", "Machines of the cell.", "condition"),
	capacity:  newMetric(prom.GaugeValue, "capacity", "Capacity of all machines, in base units.", "resource"),
	free:      newMetric(prom.GaugeValue, "free", "Free room of all machines, in base units.", "resource"),
	commits:   newMetric(prom.CounterValue, "commits_total", "Transactions and rounds that were committed.", "source", "name"),
	granted:   newMetric(prom.CounterValue, "claims_granted_total", "Claims that were granted.", "source", "name"),
	refused:   newMetric(prom.CounterValue, "claims_refused_total", "Claims that were refused.", "source", "name", "reason"),
	retries:   newMetric(prom.CounterValue, "retries_total", "Claims judged again after a lost race for a machine.", "source", "name"),
	preempted: newMetric(prom.CounterValue, "preemptions_total", "Allocations of the source that were preempted.", "source", "name"),
	victims:   newMetric(prom.CounterValue, "victims_total", "Allocations of others that were preempted for its claims.", "source", "name"),
	waiting:   newMetric(prom.GaugeValue, "waiting", "Requests that wait now.", "source", "name"),
	offers:    newMetric(prom.GaugeValue, "offers_outstanding", "Offers that were neither answered nor taken back.", "source", "name"),
	waited:    newMetric(prom.UntypedValue, "wait_seconds", "Time from a request to its grant.", "source", "name"),
	placed:    newMetric(prom.UntypedValue, "placement_seconds", "Time of an attempt or a round.", "source", "name"),

	tenants:         newMetric(prom.GaugeValue, "tenants", "Tenants, also those without series.", "pool"),
	tenantShare:     newMetric(prom.GaugeValue, "tenant_share", "Dominant share, divided by the weight.", "pool", "tenant"),
	tenantHeld:      newMetric(prom.GaugeValue, "tenant_held", "Resources held, in base units.", "pool", "tenant", "resource"),
	tenantWaiting:   newMetric(prom.GaugeValue, "tenant_waiting", "Requests that wait now.", "pool", "tenant"),
	tenantGranted:   newMetric(prom.CounterValue, "tenant_granted_total", "Leases that were granted.", "pool", "tenant"),
	tenantRefused:   newMetric(prom.CounterValue, "tenant_refused_total", "Requests that were refused.", "pool", "tenant", "reason"),
	tenantPreempted: newMetric(prom.CounterValue, "tenant_preempted_total", "Leases that a guarantee has taken back.", "pool", "tenant"),
}

// Describe sends nothing: the series depend on which tenants and schedulers there are, so
// the collector is unchecked.
func (c *Collector) Describe(chan<- *prom.Desc) {}

// Collect asks for the statistics and sends them.
func (c *Collector) Collect(ch chan<- prom.Metric) {
	s := scrape{cfg: &c.cfg, by: c, at: make(map[key]int)}
	if c.cfg.Cell != nil {
		s.cell(c.cfg.Cell)
	}
	for _, name := range slices.Sorted(maps.Keys(c.cfg.Sources)) {
		if ask := c.cfg.Sources[name]; ask != nil {
			source, of, _ := strings.Cut(name, "/")
			counts := ask()
			s.counts(source, s.shown(cmp.Or(of, counts.Name)), &counts)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(c.cfg.Pools)) {
		if p := c.cfg.Pools[name]; p != nil {
			s.pool(name, p)
		}
	}
	for i := range s.series {
		ch <- s.series[i].metric()
	}
}

// shown returns the text of a name.
func (s *scrape) shown(name string) string {
	if s.cfg.Filter != nil {
		return s.cfg.Filter(name)
	}
	return name
}

// cell sends the machines and the schedulers of a cell.
func (s *scrape) cell(cell *omega.Cell) {
	var machines [omega.Removed]int
	var total, free resources.Vector
	for m := range cell.Machines() {
		if m.Condition < omega.Removed {
			machines[m.Condition]++
			total, free = total.Add(m.Capacity), free.Add(m.Free)
		}
	}
	for condition, n := range machines {
		s.send(all.machines, float64(n), omega.Condition(condition).String())
	}
	for kind, name := range kinds(cell.Space(), &total) {
		s.send(all.capacity, float64(total[kind]), name)
		s.send(all.free, float64(free[kind]), name)
	}
	s.schedulers(cell.Stats())
}

// schedulers sends the counts of schedulers. Some have series of their own: first the ones
// that had them in the last scrape. The others are summed.
func (s *scrape) schedulers(of []observe.Counts) {
	had, now := s.by.had(schedulers), make(map[string]bool)
	for _, again := range []bool{true, false} {
		for i := range of {
			if name := of[i].Name; name != "" && had[name] == again && len(now) < s.cfg.Tenants {
				now[name] = true
			}
		}
	}
	s.by.has(schedulers, now)
	for i := range of {
		name := other
		if of[i].Name == "" || now[of[i].Name] { // the first is the sum of those that have left
			name = s.shown(of[i].Name)
		}
		s.counts("cell", name, &of[i])
	}
}

// schedulers is the group of the schedulers' names. The groups of pools begin otherwise.
const schedulers = "cell"

// counts sends the counts of an engine, without those that it does not count.
func (s *scrape) counts(source, name string, c *observe.Counts) {
	s.counted(c.Counted.Commits, all.commits, float64(c.Commits), source, name)
	s.send(all.granted, float64(c.Granted), source, name)
	s.counted(c.Counted.Retries, all.retries, float64(c.Retries), source, name)
	s.send(all.preempted, float64(c.Preempted), source, name)
	s.counted(c.Counted.Victims, all.victims, float64(c.Victims), source, name)
	s.send(all.waiting, float64(c.Waiting), source, name)
	s.counted(c.Counted.Offers, all.offers, float64(c.Offers), source, name)
	for _, r := range c.Refused {
		s.send(all.refused, float64(r.Count), source, name, r.Reason)
	}
	s.times(all.waited, &c.Waited, source, name)
	s.times(all.placed, &c.Placed, source, name)
}

// kinds returns the names of the kinds of resources that a cell or pool has.
func kinds(space *resources.Space, total *resources.Vector) map[resources.Kind]string {
	names := make(map[resources.Kind]string)
	for k, q := range total {
		if kind := resources.Kind(k); q > 0 {
			names[kind] = fmt.Sprint("kind", k)
			if d, ok := space.Dimension(kind); ok {
				names[kind] = d.Name
			}
		}
	}
	return names
}
