package composition_test

import (
	"cmp"
	"context"
	"flag"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/cellsched/cellsched/omega"
	"github.com/cellsched/cellsched/omega/loop"
)

var (
	seeds = flag.Uint64("seeds", 3, "how many worlds the composition test runs")
	from  = flag.Uint64("from", 0, "the seed of the first of them")
)

// Loops of two orders, a master of offers, a flow scheduler, an elastic team and a pool place
// on one cell, and a scheduler that is mostly absent. Its machines come, drain, shrink and fail. Each need gets its room,
// and each allocation has one holder.
func TestParts_ShareACell(t *testing.T) {
	for seed := *from; seed < *from+*seeds; seed++ {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { runWorld(t, seed) })
		})
	}
}

func runWorld(t *testing.T, seed uint64) {
	t.Helper()
	w := newWorld(t, seed)
	w.addLoop("batch", omega.Limits{}, loopOrder(w), nil, 100*time.Millisecond)
	w.addLoop("service", omega.Limits{Highest: 1, Machines: w.most()}, loop.ByPrecedence[string](), preempting(int(seed%2)), 200*time.Millisecond)
	w.addFrameworks()
	w.addFlow()
	w.addTeam()
	w.addPool(1 + 15*int(seed%2))
	w.addAbsent()
	watch := w.watch()

	ctx, cancel := context.WithCancel(t.Context())
	work, stop := context.WithCancel(ctx)
	failed := make(chan error, 1+len(w.parts))
	running := 1 + len(w.parts)
	go func() { failed <- w.operate(work) }()
	for _, p := range w.parts {
		go func() { failed <- p.run(ctx) }()
	}
	for time.Since(w.begin) < 10*arrivals && !t.Failed() {
		time.Sleep(look)
		synctest.Wait()
		watch.look()
		if time.Since(w.begin) > arrivals {
			stop()
			if w.open() == 0 {
				break
			}
		}
	}
	time.Sleep(2 * longest)
	synctest.Wait()
	if !t.Failed() {
		require.Equal(t, w.total(), w.free(), "all tasks have ended")
	}
	for _, p := range w.parts {
		open, done := p.waits()
		slices.SortFunc(done, func(a, b wait) int { return cmp.Compare(b.long, a.long) })
		t.Logf("%T: %d needs, %d wait; longest %v", p, len(done), open, done[:min(len(done), 5)])
		if open > 0 {
			t.Errorf("%T: %d needs have no room", p, open)
		}
	}
	t.Logf("%v", watch)
	stop()
	w.over.Store(true)
	cancel()
	for range running {
		require.NoError(t, <-failed)
	}
	time.Sleep(2 * longest)
}

// preempting returns a place that preempts allocations of lower precedence than p.
func preempting(p int) loop.Place[string] {
	return loop.PlaceOrPreempt(omega.NextFit(), grace, func(*loop.Job[string]) omega.Ranking {
		return omega.RankBelow(omega.Precedence(p))
	})
}

func loopOrder(w *world) loop.Order[string] {
	total := w.total()
	order, err := loop.NewByShare[string](total, w.cell.Usage)
	require.NoError(w.t, err)
	return order
}
