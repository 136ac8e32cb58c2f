package composition_test

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/cellsched/cellsched/omega"
	"github.com/cellsched/cellsched/omega/loop"
	"github.com/cellsched/cellsched/resources"
)

// apart is how far the mean dominant share of an account may be from that of another, as a part
// of it.
const apart = 0.03

// Three accounts have more work than there is room for: in two loops, in a pool where each
// lease counts, and as frameworks of a master of offers. A flow scheduler runs tasks of one of
// them alone. All three have the same share of the cell, whichever part has placed their tasks.
func TestParts_ServeAccountsAlike(t *testing.T) {
	for seed := *from; seed < *from+(*seeds+2)/3; seed++ {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { runFair(t, seed) })
		})
	}
}

func runFair(t *testing.T, seed uint64) {
	t.Helper()
	w := newWorld(t, seed)
	for _, name := range []string{"batch", "service"} {
		w.addLoop(name, omega.Limits{}, loopOrder(w), nil, time.Hour)
		p := w.parts[len(w.parts)-1].(*loopPart)
		p.again = func(a omega.Account) {
			p.n++
			_, err := p.loop.Submit(time.Now(), loop.Job[string]{
				Key: fmt.Sprint("backlog ", p.n), Account: a, Need: smallNeed(p.ran), Tasks: 1 + p.ran.IntN(3),
			})
			if err != nil {
				t.Error(err)
			}
		}
		for n := range 60 {
			p.again(w.accounts[n%len(w.accounts)])
		}
	}
	w.addFrameworks()
	w.addFlow()
	w.parts[len(w.parts)-1].(*flowPart).only = 1
	w.addPool(1)
	watch := w.watch()

	ctx, cancel := context.WithCancel(t.Context())
	failed := make(chan error, len(w.parts))
	for _, p := range w.parts {
		go func() { failed <- p.run(ctx) }()
	}
	total, looks := w.total(), 0
	shares := make([]float64, len(w.accounts))
	for time.Since(w.begin) < 3*longest && !t.Failed() {
		time.Sleep(look)
		synctest.Wait()
		watch.look()
		if time.Since(w.begin) <= longest {
			continue // shares are not even yet
		}
		looks++
		for i, a := range w.accounts {
			used, err := w.cell.Usage(a)
			require.NoError(t, err)
			shares[i] += dominant(used, total)
		}
	}
	for i, share := range shares {
		shares[i] = share / float64(looks)
	}
	t.Logf("mean dominant shares %.3f of %v", shares, tenants)
	for i, one := range shares {
		for j, other := range shares {
			if one > other*(1+apart) {
				t.Errorf("%s has a mean share of %.3f, %s one of %.3f", tenants[i], one, tenants[j], other)
			}
		}
	}
	w.over.Store(true)
	cancel()
	for range w.parts {
		require.NoError(t, <-failed)
	}
	time.Sleep(2 * longest)
}

// dominant returns the largest part of a total that is used, of all kinds.
func dominant(used, total resources.Vector) (share float64) {
	for k, q := range used {
		if q > 0 {
			share = max(share, float64(q)/float64(total[k]))
		}
	}
	return share
}
