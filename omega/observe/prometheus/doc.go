// Package prometheus exports the statistics of cells, schedulers and pools to Prometheus.
//
//	registry.MustRegister(prometheus.New(prometheus.Config{Cell: cell, Pools: pools}))
//
//	cell, pools ◀── asked at each scrape ── Collector ──▶ registry ──▶ /metrics
//
// Nothing is counted twice: a [Collector] asks for the statistics that the packages keep
// anyway, when it is scraped. Between scrapes it does nothing.
//
// # Metrics
//
//	cellsched_machines{condition}                          machines, by "ready" or "draining"
//	cellsched_capacity{resource}, cellsched_free{resource} of all machines, in base units
//	cellsched_commits_total{source,name}                   transactions, and rounds
//	cellsched_claims_granted_total{source,name}
//	cellsched_claims_refused_total{source,name,reason}
//	cellsched_retries_total{source,name}                   lost races for a machine
//	cellsched_preemptions_total{source,name}               allocations that the source has lost
//	cellsched_victims_total{source,name}                   of others, preempted for its claims
//	cellsched_waiting{source,name}                         requests that wait now
//	cellsched_offers_outstanding{source,name}
//	cellsched_wait_seconds{source,name}                    histogram: from a request to its grant
//	cellsched_placement_seconds{source,name}               histogram: time of an attempt or round
//	cellsched_tenant_share{pool,tenant}                    dominant share by weight; of no sum
//	cellsched_tenant_held{pool,tenant,resource}            in base units
//	cellsched_tenant_waiting{pool,tenant}
//	cellsched_tenant_granted_total{pool,tenant}
//	cellsched_tenant_refused_total{pool,tenant,reason}
//	cellsched_tenant_preempted_total{pool,tenant}
//	cellsched_tenants{pool}                                tenants, also those without series
//
// Source is "cell", "pool", or the key in [Config.Sources] up to a slash. A pool has series
// for [Config.Tenants] tenants: those with the most requests that wait, then those with the
// largest shares. A tenant keeps its series until it is idle and another one needs the
// place. All others are summed as tenant "other". A tenant that leaves this sum looks like a
// counter that was reset. What a source does not count has no series: see
// [observe.Counts]. A group counts its tenants, too. The schedulers of a cell have
// series likewise: a scheduler keeps its series until it leaves.
//
// The file dashboard.json is a dashboard for Grafana. Its first panels answer five questions:
// which tenants wait, for how long, why, which of them hold how much, and is it fair.
package prometheus
