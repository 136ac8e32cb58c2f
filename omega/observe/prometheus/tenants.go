package prometheus

import (
	"cmp"
	"iter"
	"slices"
	"strings"

	"github.com/cellsched/cellsched/omega/observe"
	"github.com/cellsched/cellsched/omega/pool"
	"github.com/cellsched/cellsched/resources"
)

// other is the tenant that the tenants without series of their own are summed as.
const other = "other"

// pool sends the tenants of a pool, and their sum as the counts of the pool.
func (s *scrape) pool(name string, p *pool.Pool) {
	stats := p.Stats()
	names := kinds(p.Space(), &stats.Total)
	sum := observe.Counts{Name: name}
	top := topmost(stats.Tenants)
	shown := s.tenants(name, &stats, top)
	for i := range shown {
		t := &shown[i]
		if t.tenants == 1 && t.counts.Name != other { // shares by weight have no sum
			s.send(all.tenantShare, t.share, name, t.counts.Name)
		}
		s.send(all.tenantWaiting, float64(t.counts.Waiting), name, t.counts.Name)
		s.send(all.tenantGranted, float64(t.counts.Granted), name, t.counts.Name)
		s.send(all.tenantPreempted, float64(t.counts.Preempted), name, t.counts.Name)
		for _, r := range t.counts.Refused {
			s.send(all.tenantRefused, float64(r.Count), name, t.counts.Name, r.Reason)
		}
		for kind, resource := range names {
			s.send(all.tenantHeld, float64(t.held[kind]), name, t.counts.Name, resource)
		}
	}
	if top == nil { // the tenants that are shown are all, and none is in another
		for i := range shown {
			sum.Add(&shown[i].counts)
		}
	} else {
		for i := range stats.Tenants {
			if top[i] {
				counts := stats.Tenants[i].Counts()
				sum.Add(&counts)
			}
		}
		forgotten := stats.Forgotten.Counts()
		sum.Add(&forgotten)
	}
	s.send(all.tenants, float64(len(stats.Tenants)), name)
	s.counts("pool", name, &sum)
}

// tenant is the sum of the tenants that are shown by one name.
type tenant struct {
	counts  observe.Counts
	tenants int
	share   float64 // of the last of them
	held    resources.Vector
}

// topmost reports which of some tenants are in no group that is among them. A group has the
// numbers of its tenants, too. Nil is all.
func topmost(of []pool.TenantStats) []bool {
	if !slices.ContainsFunc(of, func(t pool.TenantStats) bool { return strings.Contains(t.Name, "/") }) {
		return nil
	}
	names := make(map[string]bool, len(of))
	for i := range of {
		names[of[i].Name] = true
	}
	top := make([]bool, len(of))
	for i := range of {
		top[i] = true
		for name := of[i].Name; top[i]; {
			cut := strings.LastIndexByte(name, '/')
			if cut < 0 {
				break
			}
			name = name[:cut]
			top[i] = !names[name]
		}
	}
	return top
}

// unnamed reports which tenants make up the others: each tenant counts once, by itself or in
// a group. A group with a series has those of its tenants, and one with a named tenant is
// counted by its other tenants.
func unnamed(of []pool.TenantStats, named, top []bool) []bool {
	beyond := make([]bool, len(of))
	if top == nil {
		for i := range of {
			beyond[i] = !named[i]
		}
		return beyond
	}
	const is, has = 1, 2 // a series; a tenant within that has one
	marks, all := make(map[string]int, len(of)), make(map[string]bool, len(of))
	for i := range of {
		all[of[i].Name] = true
		if named[i] {
			marks[of[i].Name] |= is
			for group := range groups(of[i].Name) {
				marks[group] |= has
			}
		}
	}
	for i := range of {
		beyond[i] = marks[of[i].Name] == 0
		for group := range groups(of[i].Name) {
			if all[group] && marks[group] != has { // counted with the group
				beyond[i] = false
			}
		}
	}
	return beyond
}

// groups walks the groups that a name may be in.
func groups(name string) iter.Seq[string] {
	return func(yield func(string) bool) {
		for cut := strings.LastIndexByte(name, '/'); cut >= 0; cut = strings.LastIndexByte(name, '/') {
			if name = name[:cut]; !yield(name) {
				return
			}
		}
	}
}

// first returns the numbers of the tenants to show by name, in order: active ones, then the
// idle ones. Of both those that had series come first, then those with the most requests
// waiting, and then those with the largest shares. So a tenant loses its series only while
// it is idle and an active one needs the place.
func (s *scrape) first(of []pool.TenantStats, had map[string]bool) []int {
	rank := func(t *pool.TenantStats) (n int) {
		if t.Waiting == 0 && t.Share == 0 {
			n = 2
		}
		if !had[t.Name] {
			n++
		}
		return n
	}
	before := func(i, j int) int {
		a, b := &of[i], &of[j]
		return cmp.Or(cmp.Compare(rank(a), rank(b)), cmp.Compare(b.Waiting, a.Waiting), cmp.Compare(b.Share, a.Share), cmp.Compare(b.Granted, a.Granted), cmp.Compare(a.Name, b.Name))
	}
	var first []int
	for i := range of {
		if len(first) == s.cfg.Tenants {
			if len(first) == 0 || before(i, first[len(first)-1]) > 0 {
				continue
			}
			first = first[:len(first)-1]
		}
		at, _ := slices.BinarySearchFunc(first, i, before)
		first = slices.Insert(first, at, i)
	}
	return first
}

// tenants returns the tenants to show by name, and the sum of the others.
func (s *scrape) tenants(name string, stats *pool.Stats, top []bool) []tenant {
	of := stats.Tenants
	shown := make([]tenant, 0, min(len(of), s.cfg.Tenants)+1)
	at := make(map[string]int, cap(shown))
	add := func(name string, t *pool.TenantStats) {
		n, found := at[name]
		if !found {
			n = len(shown)
			at[name] = n
			shown = append(shown, tenant{counts: observe.Counts{Name: name}})
		}
		counts := t.Counts()
		shown[n].counts.Add(&counts)
		shown[n].tenants++
		shown[n].share = t.Share
		shown[n].held = shown[n].held.Add(t.Held)
	}
	named, group := make([]bool, len(of)), "pool/"+name
	had, now := s.by.had(group), make(map[string]bool, min(len(of), s.cfg.Tenants))
	for _, i := range s.first(of, had) {
		named[i], now[of[i].Name] = true, true
		add(s.shown(of[i].Name), &of[i])
	}
	s.by.has(group, now)
	beyond := unnamed(of, named, top)
	for i := range of {
		if beyond[i] {
			add(other, &of[i])
		}
	}
	if stats.Forgotten.Counts().Claims > 0 {
		add(other, &stats.Forgotten)
	}
	return shown
}
