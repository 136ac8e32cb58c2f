package view

import (
	"cmp"
	"encoding/json"
	"slices"
	"time"

	"github.com/cellsched/cellsched/omega"
	"github.com/cellsched/cellsched/omega/loop"
	"github.com/cellsched/cellsched/omega/pool"
	"github.com/cellsched/cellsched/resources"
)

// overview is the JSON of the page's path.
type overview struct {
	At       time.Time    `json:"at"`
	Viewers  int          `json:"viewers"`
	Colours  []string     `json:"colours"`
	Kinds    []kind       `json:"kinds"`
	Cell     bool         `json:"cell"` // false: machines of the pools
	Machines int          `json:"machines"`
	Draining int          `json:"draining"`
	Live     int          `json:"allocations"`
	Capacity amounts      `json:"capacity"`
	Free     amounts      `json:"free"`
	Reserved amounts      `json:"reserved"`
	Pools    []poolRow    `json:"pools"`
	Accounts []accountRow `json:"accounts"`
	Others   int          `json:"otherAccounts"` // not in Accounts
	Loops    []loopRow    `json:"loops"`
	Engines  []engineRow  `json:"engines"`
	Recent   []decision   `json:"decisions"`
	Dropped  uint64       `json:"decisionsDropped"`
}

// kind describes amounts of a kind.
type kind struct {
	Name   string `json:"name"`
	Unit   int64  `json:"unit"`   // base units in a written unit
	Binary bool   `json:"binary"` // prefixes are powers of 1024
}

// amounts are base units by the name of the kind, without zero amounts.
type amounts map[string]int64

// poolRow is a pool as it is shown.
type poolRow struct {
	Name    string      `json:"name"`
	Leases  int         `json:"leases"`
	Waiting int         `json:"waiting"`
	Total   amounts     `json:"total"`
	Free    amounts     `json:"free"`
	Kinds   []kind      `json:"kinds"`
	Tenants []tenantRow `json:"tenants"`
	Others  *tenantRow  `json:"others,omitempty"` // the sum of further tenants
	Waiters []waiterRow `json:"waiters"`
	More    int         `json:"otherWaiters"`
}

// tenantRow is a tenant as it is shown. Shares are dominant shares of the pool.
type tenantRow struct {
	Name      string  `json:"name"`
	Count     int     `json:"tenants,omitempty"` // of others
	Group     bool    `json:"group,omitempty"`
	Weight    float64 `json:"weight"`
	Share     float64 `json:"share"`
	Due       float64 `json:"due"`
	Held      amounts `json:"held"`
	Leases    int     `json:"leases"`
	Waiting   int     `json:"waiting"`
	Granted   uint64  `json:"granted"`
	Refused   uint64  `json:"refused"`
	Preempted uint64  `json:"preempted"`
}

// waiterRow is a waiter as it is shown.
type waiterRow struct {
	Tenant string  `json:"tenant"`
	Label  string  `json:"label,omitempty"`
	Needs  int     `json:"needs"`
	Need   amounts `json:"need"` // of all needs
	Waited float64 `json:"waitedSeconds"`
	Reason string  `json:"reason"`
}

// accountRow is an account of the cell as it is shown.
type accountRow struct {
	Name  string  `json:"name"`
	Share float64 `json:"share"`
	Held  amounts `json:"held"`
}

// shownLoop is a scheduler loop with its last statistics.
type shownLoop struct {
	name  string
	loop  Loop
	stats loop.Stats
}

// loopRow is a loop as it is shown.
type loopRow struct {
	Name      string  `json:"name"`
	Pending   int     `json:"pending"`
	Parked    int     `json:"parked"`
	Attempts  uint64  `json:"attempts"`
	Placed    uint64  `json:"placed"`
	Conflicts uint64  `json:"conflicts"`
	NoRoom    uint64  `json:"noRoom"`
	Preempted uint64  `json:"preempted"`
	Busy      float64 `json:"busy"`
}

// describe writes the overview of a frame. Called with mu held.
func (s *source) describe(f *frame, cell *omega.Cell, space *resources.Space, now time.Time) {
	if !s.renew && s.last != nil && s.viewers > 0 {
		f.overview = s.last.overview
		return
	}
	s.renew = false
	o := overview{
		At: now, Viewers: s.viewers, Colours: f.colours, Kinds: kindsOf(space, f.kinds), Cell: cell != nil,
		Machines: f.sums.machines, Draining: f.sums.draining, Live: f.sums.allocation,
		Capacity: named(space, &f.sums.capacity), Free: named(space, &f.sums.free), Reserved: named(space, &f.sums.reserved),
		Pools: make([]poolRow, len(s.pools)), Accounts: []accountRow{}, Loops: make([]loopRow, len(s.loops)),
		Recent: f.recent, Dropped: s.droppedDecisions(),
	}
	if o.Recent == nil {
		o.Recent = []decision{}
	}
	o.Engines = s.engineRows()
	for i := range s.pools {
		o.Pools[i] = s.poolRow(&s.pools[i], now)
	}
	if cell != nil {
		o.Accounts, o.Others = s.accountRows(cell, &f.sums.capacity)
	}
	for i := range s.loops {
		l := &s.loops[i]
		o.Loops[i] = loopRow{
			Name: show(s.cfg.Filter, "scheduler", l.name), Pending: l.stats.Pending, Parked: l.stats.Parked,
			Attempts: l.stats.Attempts, Placed: l.stats.Placed, Conflicts: l.stats.Conflicts, NoRoom: l.stats.NoRoom,
			Preempted: l.stats.Preempted, Busy: l.stats.Busyness(),
		}
	}
	body, err := json.Marshal(&o)
	if err != nil { // no value of it can fail
		body = []byte("{}")
	}
	body = append(body, '\n')
	f.overview = body
}

func (s *source) droppedDecisions() (n uint64) {
	for _, sub := range s.subs {
		n += sub.Dropped()
	}
	return n
}

// poolRow returns a pool as it is shown.
func (s *source) poolRow(p *shown, now time.Time) poolRow {
	space := p.pool.Space()
	row := poolRow{
		Name: show(s.cfg.Filter, "pool", p.name), Leases: p.stats.Leases, Waiting: p.stats.Waiting, Kinds: kindsOf(space, space.Kinds()),
		Total: named(space, &p.stats.Total), Free: named(space, &p.stats.Free),
		Tenants: []tenantRow{}, Waiters: []waiterRow{}, More: max(len(p.waiters)-maxRows, 0),
	}
	fair, parents := due(p.stats.Tenants, p.stats.Total), groups(p.stats.Tenants)
	isGroup := make(map[int]bool)
	for _, g := range parents {
		isGroup[g] = true
	}
	order := make([]int, len(p.stats.Tenants))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int {
		x, y := &p.stats.Tenants[a], &p.stats.Tenants[b]
		if x.Waiting > 0 && y.Waiting > 0 { // the first to be looked for is starved
			return cmp.Or(cmp.Compare(heldFraction(x, fair[a]), heldFraction(y, fair[b])), -cmp.Compare(x.Waiting, y.Waiting))
		}
		return cmp.Or(-cmp.Compare(min(x.Waiting, 1), min(y.Waiting, 1)), -cmp.Compare(x.Share*x.Weight, y.Share*y.Weight))
	})
	for n, at := range order {
		t := &p.stats.Tenants[at]
		if n >= maxRows {
			if !isGroup[at] {
				row.Others = row.Others.plus(t, fair[at])
			}
			continue
		}
		one := (*tenantRow)(nil).plus(t, fair[at])
		one.Name, one.Count, one.Weight = show(s.cfg.Filter, "tenant", t.Name), 0, t.Weight
		one.Group, one.Held = isGroup[at], named(space, &t.Held)
		row.Tenants = append(row.Tenants, *one)
	}
	slices.SortFunc(row.Tenants, func(a, b tenantRow) int { return cmp.Compare(a.Name, b.Name) })
	waiters := slices.Clone(p.waiters)
	slices.SortStableFunc(waiters, func(a, b pool.Waiter) int { return a.Since.Compare(b.Since) })
	for _, w := range waiters[:min(len(waiters), maxRows)] {
		var need resources.Vector
		for _, n := range w.Needs {
			need = need.Add(n)
		}
		row.Waiters = append(row.Waiters, waiterRow{
			Tenant: show(s.cfg.Filter, "tenant", w.Tenant), Label: show(s.cfg.Filter, "label", w.Label),
			Needs: len(w.Needs), Need: named(space, &need), Waited: max(now.Sub(w.Since), 0).Seconds(),
			Reason: show(s.cfg.Filter, "reason", w.Reason),
		})
	}
	return row
}

// heldFraction returns the tenant's share divided by its fair share, and 1 if
// nothing is due to it.
func heldFraction(t *pool.TenantStats, fair float64) float64 {
	if fair <= 0 {
		return 1
	}
	return t.Share * t.Weight / fair
}

// plus adds a tenant to a row, which is made for the first one.
func (r *tenantRow) plus(t *pool.TenantStats, fair float64) *tenantRow {
	if r == nil {
		r = &tenantRow{}
	}
	r.Count++
	r.Weight += t.Weight
	r.Share += t.Share * t.Weight
	r.Due += fair
	r.Leases += t.Leases
	r.Waiting += t.Waiting
	r.Granted += t.Granted
	r.Refused += t.NoRoom + t.QueueFull + t.TimedOut + t.Cancelled + t.Closed + t.Never // as in its Counts
	r.Preempted += t.Preempted
	return r
}

// maxAccounts is how many accounts are looked at.
const maxAccounts = 10_000

// accountRows returns the accounts with the largest shares, and the number of other
// accounts in use, up to maxAccounts.
func (s *source) accountRows(cell *omega.Cell, total *resources.Vector) (rows []accountRow, others int) {
	rows = []accountRow{}
	type used struct {
		name  string
		usage resources.Vector
		share float64
	}
	var all []used
	for a := omega.Account(1); a <= maxAccounts; a++ {
		name, ok := cell.AccountName(a)
		if !ok {
			break
		}
		if usage, err := cell.Usage(a); err == nil && usage != (resources.Vector{}) {
			share, _, _ := usage.DominantShare(*total)
			all = append(all, used{name, usage, share})
		}
	}
	slices.SortStableFunc(all, func(a, b used) int { return -cmp.Compare(a.share, b.share) })
	for i := range all[:min(len(all), maxRows)] {
		u := &all[i]
		rows = append(rows, accountRow{show(s.cfg.Filter, "account", u.name), u.share, named(cell.Space(), &u.usage)})
	}
	return rows, len(all) - len(rows)
}

// kindsOf describes the first n kinds of a space, which may name fewer.
func kindsOf(space *resources.Space, n int) []kind {
	all := make([]kind, n)
	for k := range all {
		d, _ := space.Dimension(resources.Kind(k))
		all[k] = kind{kindName(space, k), max(d.PerUnit, 1), d.Binary}
	}
	return all
}

// named returns amounts by the names of their kinds.
func named(space *resources.Space, v *resources.Vector) amounts {
	all := amounts{}
	for k, q := range v {
		if q != 0 {
			all[kindName(space, k)] = q
		}
	}
	return all
}
