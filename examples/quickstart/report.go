package main

import (
	"cmp"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"text/tabwriter"
	"time"
)

// newProgress returns a function to call for each of total steps. It draws a
// bar on a terminal, else it prints a line now and then.
func newProgress(what string, total int) func() {
	var mu sync.Mutex
	info, err := os.Stdout.Stat()
	terminal := err == nil && info.Mode()&os.ModeCharDevice != 0
	done, shown := 0, 0
	return func() {
		mu.Lock()
		defer mu.Unlock()
		done++
		switch percent := 100 * done / total; {
		case terminal && percent > shown:
			shown = percent
			fmt.Printf("\r%-16s %-25s %3d%%", what, strings.Repeat("#", percent/4), percent)
		case !terminal && percent >= shown+25:
			shown = percent
			fmt.Printf("%-16s %3d%%\n", what, percent)
		}
		if terminal && done == total {
			fmt.Println()
		}
	}
}

func report(dir string, read []*parsed, want []*tenant) {
	var bad []string
	for _, p := range read {
		bad = append(bad, p.bad...)
	}
	slices.Sort(bad)
	short := func(s string) string { return strings.Replace(s, dir+string(filepath.Separator), "", 1) }
	fmt.Printf("\n%s: %d files do not parse and were skipped\n", dir, len(bad))
	for _, path := range bad {
		fmt.Println("  ", short(path))
	}
	for i, title := range []string{"most complex functions", "most frequent identifiers", "uses of symbols"} {
		fmt.Println(title)
		c := want[i].answer
		most := slices.SortedFunc(maps.Keys(c), func(a, b string) int { return cmp.Or(c[b]-c[a], cmp.Compare(a, b)) })
		for _, k := range most[:min(10, len(most))] {
			fmt.Printf("%10d %s\n", c[k], short(k))
		}
	}
}

type table struct{ *tabwriter.Writer }

func newTable() table {
	w := table{tabwriter.NewWriter(os.Stdout, 0, 0, 2, ' ', tabwriter.AlignRight)}
	fmt.Fprintln(w, "\trun\ttenant\ttasks\tshare\tnode\track\tany\tconflicts/commits\twait p50\twait p99\t")
	return w
}

func (w table) add(run string, all []*tenant, span time.Duration) {
	least, most, local, tasks := 1.0, 0.0, 0, 0
	for _, t := range all {
		n, share := len(t.waits), t.held/max(span.Seconds(), 1e-9)
		least, most, local, tasks = min(least, share), max(most, share), local+t.levels[0], tasks+n
		slices.Sort(t.waits)
		fmt.Fprintf(w, "\t%s\t%s\t%d\t%.3f\t%.1f%%\t%.1f%%\t%.1f%%\t%d/%d\t%v\t%v\t\n", run, t.name, n, share,
			part(t.levels[0], n), part(t.levels[1], n), part(t.levels[2], n), t.conflicts, t.commits,
			t.waits[(n-1)/2].Round(time.Millisecond), t.waits[(n-1)*99/100].Round(time.Millisecond))
	}
	fmt.Fprintf(w, "\t%s\tall\t%d\tmin/max %.2f\t%.1f%%\t\t\t\t\t\t\n", run, tasks, least/most, part(local, tasks))
}

func part(n, of int) float64 { return 100 * float64(n) / float64(of) }

func (w table) print() error {
	fmt.Print("\nEach run gave the answers of the sequential run. share: dominant share, averaged over the time\n" +
		"in which all tenants had tasks to launch; node, rack, any: where tasks ran, seen from their data.\n\n")
	return w.Flush()
}
