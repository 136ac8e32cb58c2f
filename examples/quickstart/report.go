package main

import (
	"cmp"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"text/tabwriter"
	"time"
)

// progress shows how much of total is done until stop is called: a bar on a
// terminal, else a line now and then.
func progress(what string, done *atomic.Int64, total int) (stop func()) {
	info, err := os.Stdout.Stat()
	every, end := 2*time.Second, "\n"
	if err == nil && info.Mode()&os.ModeCharDevice != 0 {
		every, end = 100*time.Millisecond, "\r"
	}
	show := func(end string) {
		n := int(done.Load()) * 20 / total
		fmt.Printf("%-16s[%-20s] %d of %d%s", what, strings.Repeat("#", n), done.Load(), total, end)
	}
	tick, quit, gone := time.NewTicker(every), make(chan struct{}), make(chan struct{})
	go func() {
		defer close(gone)
		for {
			select {
			case <-tick.C:
				show(end)
			case <-quit:
				show("\n")
				return
			}
		}
	}()
	return func() { tick.Stop(); close(quit); <-gone }
}

// report prints the answers.
func report(dir string, read []*parsed, want []*tenant) {
	var bad []string
	for _, p := range read {
		bad = append(bad, p.bad...)
	}
	slices.Sort(bad)
	fmt.Printf("\n%d files do not parse and were skipped:\n", len(bad))
	for _, path := range bad {
		rel, _ := filepath.Rel(dir, path)
		fmt.Println("  ", rel)
	}
	for i, title := range []string{"most complex functions", "most frequent identifiers", "uses of symbols"} {
		fmt.Println(title)
		answer := want[i].answer
		byCount := func(a, b string) int { return cmp.Or(answer[b]-answer[a], cmp.Compare(a, b)) }
		keys := slices.SortedFunc(maps.Keys(answer), byCount)
		for _, k := range keys[:min(10, len(keys))] {
			fmt.Printf("%10d %s\n", answer[k], strings.Replace(k, dir+string(filepath.Separator), "", 1))
		}
	}
}

type table struct{ *tabwriter.Writer }

func newTable() table {
	t := table{tabwriter.NewWriter(os.Stdout, 0, 0, 2, ' ', tabwriter.AlignRight)}
	fmt.Fprintln(t, "\trun\ttenant\ttasks\tshare\tnode\track\tany\tconflicts/commits\twait p50\twait p99\t")
	return t
}

func (w table) add(name string, all []*tenant, span time.Duration) {
	least, most, local, tasks := 1.0, 0.0, 0, 0
	percent := func(n, of int) string { return fmt.Sprintf("%.1f%%", 100*float64(n)/float64(of)) }
	for _, t := range all {
		n, share := len(t.waits), t.held/max(span.Seconds(), 1e-9)
		least, most, local, tasks = min(least, share), max(most, share), local+t.levels[0], tasks+n
		slices.Sort(t.waits)
		at := func(p int) time.Duration { return t.waits[(n-1)*p/100].Round(time.Millisecond) }
		fmt.Fprintf(w, "\t%s\t%s\t%d\t%.3f\t%s\t%s\t%s\t%d/%d\t%v\t%v\t\n", name, t.name, n, share,
			percent(t.levels[0], n), percent(t.levels[1], n), percent(t.levels[2], n), t.conflicts, t.commits, at(50), at(99))
	}
	fmt.Fprintf(w, "\t%s\tall\t%d\tmin/max %.2f\t%s\t\t\t\t\t\t\n", name, tasks, least/most, percent(local, tasks))
}

func (w table) print() error {
	fmt.Print("\nEach run gave the answers of the sequential run. share: dominant share, averaged over the time\n" +
		"in which all tenants had tasks to launch; node, rack, any: where tasks ran, seen from their data.\n\n")
	return w.Flush()
}
