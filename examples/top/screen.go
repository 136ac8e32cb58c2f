package main

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"
	"unicode/utf8"
)

// overview is the part of a program's overview that is shown.
type overview struct {
	At          time.Time        `json:"at"`
	Machines    int              `json:"machines"`
	Draining    int              `json:"draining"`
	Allocations int              `json:"allocations"`
	Kinds       []kind           `json:"kinds"`
	Capacity    map[string]int64 `json:"capacity"`
	Free        map[string]int64 `json:"free"`
	Pools       []poolRow        `json:"pools"`
	Accounts    []struct {
		Name  string  `json:"name"`
		Share float64 `json:"share"`
	} `json:"accounts"`
	Loops []struct {
		Name      string `json:"name"`
		Pending   int    `json:"pending"`
		Placed    uint64 `json:"placed"`
		Conflicts uint64 `json:"conflicts"`
		Busy      float64
	} `json:"loops"`
	Engines []struct {
		Name                                          string
		Waiting, Offers                               int
		Commits, Granted, Retries, Preempted, Victims uint64
		Refused                                       map[string]uint64
	} `json:"engines"`
	Decisions []struct {
		At                   time.Time
		Kind, Tenant, Reason string
	} `json:"decisions"`
}

type kind struct {
	Name string `json:"name"`
	Unit int64  `json:"unit"`
}

type poolRow struct {
	Name    string      `json:"name"`
	Leases  int         `json:"leases"`
	Waiting int         `json:"waiting"`
	Tenants []tenantRow `json:"tenants"`
	Waiters []struct {
		Tenant, Label, Reason string
		Waited                float64 `json:"waitedSeconds"`
	} `json:"waiters"`
	Rest   *tenantRow `json:"others"` // the sum of further tenants
	Others int        `json:"otherWaiters"`
}

type tenantRow struct {
	Name                        string
	Count                       int `json:"tenants"` // of a sum
	Weight, Share, Due          float64
	Leases, Waiting             int
	Granted, Refused, Preempted uint64
}

// waiters is how many waiters of a pool are shown.
const waiters = 10

// show prints one screen.
func show(to io.Writer, o *overview) {
	fmt.Fprintf(to, "%s  %d machines, %d draining, %d allocations", o.At.Format(time.TimeOnly), o.Machines, o.Draining, o.Allocations)
	for _, k := range o.Kinds {
		if all := o.Capacity[k.Name]; all > 0 {
			unit := float64(max(k.Unit, 1))
			fmt.Fprintf(to, "; %s %.4g of %.4g", plain(k.Name), float64(all-o.Free[k.Name])/unit, float64(all)/unit)
		}
	}
	fmt.Fprintln(to)
	table := tabwriter.NewWriter(to, 0, 0, 2, ' ', 0)
	defer func() { _ = table.Flush() }() // a screen that cannot be written is not shown
	for _, p := range o.Pools {
		fmt.Fprintf(table, "\n%s: %d leases, %d waiting\n", plain(p.Name), p.Leases, p.Waiting)
		slices.SortStableFunc(p.Tenants, func(a, b tenantRow) int { return cmp.Compare(b.Share, a.Share) })
		if p.Rest != nil {
			p.Rest.Name = fmt.Sprintf("%d more", p.Rest.Count)
			p.Tenants = append(p.Tenants, *p.Rest)
		}
		fmt.Fprintln(table, "tenant\tweight\tholds\tdue\tleases\twaiting\tgranted\trefused\tpreempted\t")
		for _, t := range p.Tenants {
			fmt.Fprintf(table, "%s\t%.4g\t%.1f%%\t%.1f%%\t%d\t%d\t%d\t%d\t%d\t\n", plain(t.Name), t.Weight, 100*t.Share, 100*t.Due, t.Leases, t.Waiting, t.Granted, t.Refused, t.Preempted)
		}
		for i, w := range p.Waiters[:min(len(p.Waiters), waiters)] {
			if i == 0 {
				fmt.Fprintln(table, "\nwaits\tlabel\tfor\tbecause")
			}
			fmt.Fprintf(table, "%s\t%s\t%.1fs\t%s\n", plain(w.Tenant), plain(w.Label), w.Waited, plain(w.Reason))
		}
		if more := len(p.Waiters) + p.Others - waiters; more > 0 {
			fmt.Fprintf(table, "and %d more\n", more)
		}
	}
	if len(o.Accounts) > 0 {
		fmt.Fprintln(table, "\naccount\tholds\t")
		for _, a := range o.Accounts {
			fmt.Fprintf(table, "%s\t%.1f%%\t\n", plain(a.Name), 100*a.Share)
		}
	}
	if len(o.Loops) > 0 {
		fmt.Fprintln(table, "\nloop\tpending\tplaced\tconflicts\tbusy\t")
		for _, l := range o.Loops {
			fmt.Fprintf(table, "%s\t%d\t%d\t%d\t%.0f%%\t\n", plain(l.Name), l.Pending, l.Placed, l.Conflicts, 100*l.Busy)
		}
	}
	for i, e := range o.Engines {
		if i == 0 {
			fmt.Fprintln(table, "\nscheduler\tcommits\tgranted\tretries\tpreempted\tvictims\twaiting\toffers\trefused")
		}
		fmt.Fprintf(table, "%s\t%d\t%d\t%d\t%d\t%d\t%d\t%d\t%s\n", plain(e.Name), e.Commits, e.Granted, e.Retries, e.Preempted, e.Victims, e.Waiting, e.Offers, reasons(e.Refused))
	}
	for i, d := range o.Decisions[max(len(o.Decisions)-5, 0):] {
		if i == 0 {
			fmt.Fprintln(table)
		}
		fmt.Fprintf(table, "%s\t%s\t%s\t%s\n", d.At.Format(time.TimeOnly), plain(d.Kind), plain(d.Tenant), plain(d.Reason))
	}
}

// reasons returns how many claims were refused for which reason, the most first.
func reasons(of map[string]uint64) string {
	names := slices.SortedFunc(maps.Keys(of), func(a, b string) int { return cmp.Or(cmp.Compare(of[b], of[a]), cmp.Compare(a, b)) })
	for i, name := range names {
		names[i] = fmt.Sprintf("%d %s", of[name], plain(name))
	}
	return cmp.Or(strings.Join(names, ", "), "0")
}

// plain returns a text without the codes that steer a terminal, 60 characters of it.
func plain(text string) string {
	quoted := strconv.Quote(text)
	text = strings.ReplaceAll(quoted[1:len(quoted)-1], `\"`, `"`)
	if utf8.RuneCountInString(text) > 60 {
		return string([]rune(text)[:59]) + "…"
	}
	return text
}
