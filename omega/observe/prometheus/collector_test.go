package prometheus_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	prom "github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	"github.com/stretchr/testify/require"

	"github.com/cellsched/cellsched/omega"
	"github.com/cellsched/cellsched/omega/observe"
	"github.com/cellsched/cellsched/omega/observe/prometheus"
	"github.com/cellsched/cellsched/omega/pool"
	"github.com/cellsched/cellsched/resources"
)

func newCell(tb testing.TB) *omega.Cell {
	tb.Helper()
	space, err := resources.NewSpace(resources.CPU())
	require.NoError(tb, err)
	cell, err := omega.NewCell(omega.Config{Space: space, Machines: []omega.Machine{
		{Name: "a", Capacity: resources.Vector{4000}}, {Name: "b", Capacity: resources.Vector{4000}},
	}})
	require.NoError(tb, err)
	return cell
}

func TestCollector_ExportsTheCellAsItIsAtTheScrape(t *testing.T) {
	cell := newCell(t)
	s, err := cell.Register("batch", omega.Limits{})
	require.NoError(t, err)
	a, _ := cell.Machine("a")
	b, _ := cell.Machine("b")
	c := prometheus.New(prometheus.Config{Cell: cell})
	for range 2 {
		var tx omega.Txn
		tx.Claim(omega.Claim{Machine: a, Need: resources.Vector{3000}})
		_, err = s.Commit(&tx)
		require.NoError(t, err)
	}
	require.NoError(t, cell.Drain(b))
	require.NoError(t, testutil.CollectAndCompare(c, strings.NewReader(`
# HELP cellsched_machines Machines of the cell.
# TYPE cellsched_machines gauge
cellsched_machines{condition="draining"} 1
cellsched_machines{condition="ready"} 1
# HELP cellsched_capacity Capacity of all machines, in base units.
# TYPE cellsched_capacity gauge
cellsched_capacity{resource="cpu"} 8000
# HELP cellsched_free Free room of all machines, in base units.
# TYPE cellsched_free gauge
cellsched_free{resource="cpu"} 5000
# HELP cellsched_commits_total Transactions and rounds that were committed.
# TYPE cellsched_commits_total counter
cellsched_commits_total{name="",source="cell"} 0
cellsched_commits_total{name="batch",source="cell"} 2
# HELP cellsched_claims_granted_total Claims that were granted.
# TYPE cellsched_claims_granted_total counter
cellsched_claims_granted_total{name="",source="cell"} 0
cellsched_claims_granted_total{name="batch",source="cell"} 1
# HELP cellsched_claims_refused_total Claims that were refused.
# TYPE cellsched_claims_refused_total counter
cellsched_claims_refused_total{name="batch",reason="conflict",source="cell"} 1
`), "cellsched_machines", "cellsched_capacity", "cellsched_free", "cellsched_commits_total", "cellsched_claims_granted_total", "cellsched_claims_refused_total"))
	problems, err := testutil.CollectAndLint(c)
	require.NoError(t, err)
	require.Empty(t, problems)
}

func TestCollector_HasNoSeriesOfWhatASourceDoesNotCount(t *testing.T) {
	cell := newCell(t)
	_, err := cell.Register("batch", omega.Limits{})
	require.NoError(t, err)
	var master, silent observe.Counts
	master.Counted.Commits, master.Counted.Offers = true, true
	silent.Victims = 3 // more than nothing was counted
	registry := prom.NewPedanticRegistry()
	require.NoError(t, registry.Register(prometheus.New(prometheus.Config{
		Cell: cell, Pools: map[string]*pool.Pool{"p": newPool(t, 2)},
		Sources: map[string]func() observe.Counts{
			"offers/m": func() observe.Counts { return master }, "own/s": func() observe.Counts { return silent },
		},
	})))
	families, err := registry.Gather()
	require.NoError(t, err)
	sources := map[string][]string{}
	for _, f := range families {
		for _, m := range f.GetMetric() {
			if l := m.GetLabel(); len(l) > 1 && l[1].GetName() == "source" {
				sources[f.GetName()] = append(sources[f.GetName()], strings.Trim(l[1].GetValue()+"/"+l[0].GetValue(), "/"))
			}
		}
	}
	everywhere := []string{"cell", "cell/batch", "offers/m", "own/s", "pool/p"}
	for _, all := range sources {
		slices.Sort(all)
	}
	require.Equal(t, map[string][]string{
		"cellsched_commits_total":        {"cell", "cell/batch", "offers/m"},
		"cellsched_retries_total":        {"cell", "cell/batch"},
		"cellsched_victims_total":        {"cell", "cell/batch", "own/s"},
		"cellsched_offers_outstanding":   {"offers/m"},
		"cellsched_claims_granted_total": everywhere,
		"cellsched_preemptions_total":    everywhere,
		"cellsched_waiting":              everywhere,
	}, sources)
}

func newPool(tb testing.TB, tenants int) *pool.Pool {
	tb.Helper()
	p, err := pool.New(pool.Config{Machines: []omega.Machine{{Name: "m", Capacity: resources.Vector{int64(10 * tenants)}}}})
	require.NoError(tb, err)
	tb.Cleanup(func() { require.NoError(tb, p.Close(context.Background())) })
	for i := range tenants {
		tenant, err := p.Tenant(fmt.Sprintf("tenant-%05d", i)) // a handle: such tenants are not forgotten
		require.NoError(tb, err)
		for range min(i+1, 3) {
			lease, err := tenant.Acquire(context.Background(), resources.Vector{int64(1 + i%3)})
			require.NoError(tb, err)
			tb.Cleanup(func() { _ = lease.Release() })
		}
	}
	return p
}

func TestCollector_CapsTheSeriesOfTenantsAndSumsTheRest(t *testing.T) {
	p := newPool(t, 6)
	for most, want := range map[int]map[string]float64{
		-1: {"other": 15},
		2:  {"tenant-00005": 3, "tenant-00002": 3, "other": 9},
		0:  {"tenant-00000": 1, "tenant-00001": 2, "tenant-00002": 3, "tenant-00003": 3, "tenant-00004": 3, "tenant-00005": 3},
	} {
		registry := prom.NewPedanticRegistry()
		require.NoError(t, registry.Register(prometheus.New(prometheus.Config{Pools: map[string]*pool.Pool{"p": p}, Tenants: most})))
		families, err := registry.Gather()
		require.NoError(t, err)
		got, sum, tenants := map[string]float64{}, 0.0, 0.0
		for _, f := range families {
			for _, m := range f.GetMetric() {
				switch f.GetName() {
				case "cellsched_tenant_granted_total":
					got[m.GetLabel()[1].GetValue()] = m.GetCounter().GetValue()
				case "cellsched_claims_granted_total":
					sum = m.GetCounter().GetValue()
				case "cellsched_tenants":
					tenants = m.GetGauge().GetValue()
				}
			}
		}
		require.Equal(t, want, got, "at most %d", most)
		require.InDelta(t, 15, sum, 0)
		require.InDelta(t, 6, tenants, 0)
	}
}

func TestCollector_CountsTheTenantsOfAGroupOnce(t *testing.T) {
	p, err := pool.New(pool.Config{Machines: []omega.Machine{{Name: "m", Capacity: resources.Vector{10}}}})
	require.NoError(t, err)
	defer func() { require.NoError(t, p.Close(context.Background())) }()
	group, err := p.Tenant("group")
	require.NoError(t, err)
	for _, name := range []string{"a", "b"} {
		in, err := group.Tenant(name)
		require.NoError(t, err)
		lease, err := in.Acquire(t.Context(), resources.Vector{1})
		require.NoError(t, err)
		defer func() { require.NoError(t, lease.Release()) }()
	}
	c := prometheus.New(prometheus.Config{Pools: map[string]*pool.Pool{"p": p}, Tenants: -1})
	require.NoError(t, testutil.CollectAndCompare(c, strings.NewReader(`
# HELP cellsched_claims_granted_total Claims that were granted.
# TYPE cellsched_claims_granted_total counter
cellsched_claims_granted_total{name="p",source="pool"} 2
# HELP cellsched_tenant_granted_total Leases that were granted.
# TYPE cellsched_tenant_granted_total counter
cellsched_tenant_granted_total{pool="p",tenant="other"} 2
`), "cellsched_claims_granted_total", "cellsched_tenant_granted_total"))
}

func TestCollector_ExportsSourcesAndTheirHistograms(t *testing.T) {
	counts := observe.Counts{Granted: 3, Offers: 2, Waiting: 1}
	counts.Refuse("rescinded", 4)
	counts.Waited.Add(5e9)
	c := prometheus.New(prometheus.Config{Sources: map[string]func() observe.Counts{
		"offers/mesos": func() observe.Counts { return counts },
	}})
	require.NoError(t, testutil.CollectAndCompare(c, strings.NewReader(`
# HELP cellsched_offers_outstanding Offers that were neither answered nor taken back.
# TYPE cellsched_offers_outstanding gauge
cellsched_offers_outstanding{name="mesos",source="offers"} 2
# HELP cellsched_claims_refused_total Claims that were refused.
# TYPE cellsched_claims_refused_total counter
cellsched_claims_refused_total{name="mesos",reason="rescinded",source="offers"} 4
`), "cellsched_offers_outstanding", "cellsched_claims_refused_total"))
	registry := prom.NewPedanticRegistry()
	registry.MustRegister(c)
	families, err := registry.Gather()
	require.NoError(t, err)
	found := false
	for _, f := range families {
		if f.GetName() == "cellsched_wait_seconds" {
			found = true
			h := f.GetMetric()[0].GetHistogram()
			require.EqualValues(t, 1, h.GetSampleCount())
			require.InDelta(t, 5, h.GetSampleSum(), 0)
			for _, b := range h.GetBucket() {
				require.Equal(t, b.GetUpperBound() > 5, b.GetCumulativeCount() == 1)
			}
		}
	}
	require.True(t, found)
}

// Prometheus refuses text that is not UTF-8. Names that a filter makes one are summed.
func TestCollector_ShowsNamesAsText(t *testing.T) {
	cell := newCell(t)
	long := strings.Repeat("é", 128)
	for _, name := range []string{"<script>", long} {
		s, err := cell.Register(name, omega.Limits{})
		require.NoError(t, err)
		a, _ := cell.Machine("a")
		var tx omega.Txn
		tx.Claim(omega.Claim{Machine: a, Need: resources.Vector{1}})
		_, err = s.Commit(&tx)
		require.NoError(t, err)
	}
	for name, tt := range map[string]struct {
		filter func(string) string
		want   []string
	}{
		"as they are": {nil, []string{"", "<script>", long}},
		"hidden":      {func(string) string { return "hidden" }, []string{"hidden"}},
		"not UTF-8":   {func(name string) string { return name + "\xff\n" }, []string{"\uFFFD\n", "<script>\uFFFD\n", long + "\uFFFD\n"}},
	} {
		t.Run(name, func(t *testing.T) {
			registry := prom.NewPedanticRegistry()
			registry.MustRegister(prometheus.New(prometheus.Config{Cell: cell, Filter: tt.filter}))
			families, err := registry.Gather()
			require.NoError(t, err)
			var got []string
			commits := 0.0
			for _, f := range families {
				if f.GetName() == "cellsched_commits_total" {
					for _, m := range f.GetMetric() {
						got = append(got, m.GetLabel()[0].GetValue())
						commits += m.GetCounter().GetValue()
					}
				}
			}
			require.ElementsMatch(t, tt.want, got)
			require.InDelta(t, 2, commits, 0)
		})
	}
}

// values returns the values of a metric by its labels, as "a/b". A registry refuses two
// series with the same labels.
func values(tb testing.TB, metric string, collectors ...prom.Collector) map[string]float64 {
	tb.Helper()
	registry := prom.NewPedanticRegistry()
	for i, c := range collectors {
		if len(collectors) > 1 {
			prom.WrapRegistererWith(prom.Labels{"cell": fmt.Sprint(i)}, registry).MustRegister(c)
		} else {
			registry.MustRegister(c)
		}
	}
	families, err := registry.Gather()
	require.NoError(tb, err)
	got := map[string]float64{}
	for _, f := range families {
		for _, m := range f.GetMetric() {
			var labels []string
			for _, l := range m.GetLabel() {
				labels = append(labels, l.GetValue())
			}
			if f.GetName() == "cellsched_"+metric {
				got[strings.Join(labels, "|")] = m.GetCounter().GetValue() + m.GetGauge().GetValue() + float64(m.GetHistogram().GetSampleCount())
			}
		}
	}
	return got
}

func TestCollector_SumsAllThatHasOneName(t *testing.T) {
	cell := newCell(t)
	s, err := cell.Register("a", omega.Limits{})
	require.NoError(t, err)
	node, _ := cell.Machine("a")
	var tx omega.Txn
	tx.Claim(omega.Claim{Machine: node, Need: resources.Vector{1}})
	_, err = s.Commit(&tx)
	require.NoError(t, err)
	counts := func() observe.Counts {
		c := observe.Counts{Granted: 10, Commits: 10, Claims: 11, Waiting: 2}
		c.Refuse("conflict", 1)
		c.Waited.Add(1)
		return c
	}
	p := newPool(t, 2)
	pools := map[string]*pool.Pool{"p": p}
	hide := func(string) string { return "hidden" }
	for name, tt := range map[string]struct {
		cfg  prometheus.Config
		want map[string]float64
	}{
		"sources that a filter makes one": {
			prometheus.Config{Filter: hide, Sources: map[string]func() observe.Counts{"loop/a": counts, "loop/b": counts, "flow/b": counts}},
			map[string]float64{"hidden|loop": 20, "hidden|flow": 10},
		},
		"a source and a scheduler of the cell": {
			prometheus.Config{Cell: cell, Sources: map[string]func() observe.Counts{"cell/a": counts}},
			map[string]float64{"|cell": 0, "a|cell": 11},
		},
		"a source and a pool": {
			prometheus.Config{Pools: pools, Sources: map[string]func() observe.Counts{"pool/p": counts}},
			map[string]float64{"p|pool": 13},
		},
		"a source by its own name": {
			prometheus.Config{Sources: map[string]func() observe.Counts{"loop/": counts, "loop": counts}},
			map[string]float64{"|loop": 20},
		},
	} {
		t.Run(name, func(t *testing.T) {
			c := prometheus.New(tt.cfg)
			for range 2 { // a second scrape begins anew
				require.Equal(t, tt.want, values(t, "claims_granted_total", c))
			}
			for _, metric := range []string{"waiting", "wait_seconds", "claims_refused_total", "tenant_granted_total"} {
				values(t, metric, c)
			}
		})
	}
	waits := values(t, "wait_seconds", prometheus.New(prometheus.Config{Filter: hide, Sources: map[string]func() observe.Counts{"loop/a": counts, "loop/b": counts}}))
	require.Equal(t, map[string]float64{"hidden|loop": 2}, waits)
	two := values(t, "machines", prometheus.New(prometheus.Config{Cell: cell}), prometheus.New(prometheus.Config{Cell: newCell(t)}))
	require.Equal(t, map[string]float64{"0|ready": 2, "0|draining": 0, "1|ready": 2, "1|draining": 0}, two)
}

func TestCollector_KeepsTheCountsOfTenantsThatThePoolForgets(t *testing.T) {
	p, err := pool.New(pool.Config{Machines: []omega.Machine{{Name: "m", Capacity: resources.Vector{10}}}})
	require.NoError(t, err)
	c := prometheus.New(prometheus.Config{Pools: map[string]*pool.Pool{"p": p}, Tenants: -1})
	for i := range 5000 {
		lease, err := p.Acquire(t.Context(), fmt.Sprint("tenant-", i), resources.Vector{1})
		require.NoError(t, err)
		require.NoError(t, lease.Release())
		if i%499 == 0 || i == 4999 {
			require.Equal(t, map[string]float64{"p|pool": float64(i + 1)}, values(t, "claims_granted_total", c))
			require.Equal(t, map[string]float64{"p|other": float64(i + 1)}, values(t, "tenant_granted_total", c))
		}
	}
	require.NoError(t, p.Close(t.Context()))
}

func TestCollector_TakesWhatIsNilOrNoText(t *testing.T) {
	counts := func() observe.Counts {
		c := observe.Counts{Granted: 1}
		c.Refuse("a\xff", 1)
		c.Refuse("a\xfe", 2)
		return c
	}
	p := newPool(t, 1)
	c := prometheus.New(prometheus.Config{
		Pools:   map[string]*pool.Pool{"p\xff": p, "none": nil},
		Sources: map[string]func() observe.Counts{"loop\xff/a\xff": counts, "none": nil, "loop\xfe/a\xfe": counts},
	})
	require.Equal(t, map[string]float64{"a\uFFFD|loop\uFFFD": 2, "p\uFFFD|pool": 1}, values(t, "claims_granted_total", c))
	require.Equal(t, map[string]float64{"a\uFFFD|a\uFFFD|loop\uFFFD": 6}, values(t, "claims_refused_total", c))
	require.Equal(t, map[string]float64{"p\uFFFD|tenant-00000": 1}, values(t, "tenant_granted_total", c))
}

// Tenants have series, or groups do: series that do not contain each other share no lease.
func TestCollector_CountsNestedTenantsOnceWithTheOthers(t *testing.T) {
	p, err := pool.New(pool.Config{Machines: []omega.Machine{{Name: "m", Capacity: resources.Vector{100}}}})
	require.NoError(t, err)
	group, err := p.Tenant("g", pool.Settings{Weight: 100})
	require.NoError(t, err)
	inner, err := group.Tenant("h")
	require.NoError(t, err)
	for i, in := range []*pool.Tenant{group, inner, inner, nil} {
		name := fmt.Sprint("t", i)
		tenant, err := p.Tenant("beside")
		if in != nil {
			tenant, err = in.Tenant(name)
		}
		require.NoError(t, err)
		lease, err := tenant.Acquire(t.Context(), resources.Vector{int64(10 + i)})
		require.NoError(t, err)
		defer func() { require.NoError(t, lease.Release()) }()
	}
	for most := range 8 {
		n := most
		if n == 0 {
			n = -1
		}
		got := values(t, "tenant_granted_total", prometheus.New(prometheus.Config{Pools: map[string]*pool.Pool{"p": p}, Tenants: n}))
		sum := 0.0
		for name, leases := range got {
			for outer := range got {
				if strings.HasPrefix(name, outer+"/") {
					leases = 0
				}
			}
			sum += leases
		}
		require.InDelta(t, 4, sum, 0, "%v", got)
	}
}
