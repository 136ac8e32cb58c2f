// Twolevel runs two frameworks of different temperament on one cell. The batch is
// offered workers and takes any of them. Queries do not ask: they look at the
// cell and take a free worker, and look again if another was faster.
//
// It does so twice. First all of the cell is offered, and queries find the room that the
// batch has left. Then half of each worker is offered until the queries are over,
// and the border moves while the batch runs.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"slices"
	"sync"
	"text/tabwriter"
	"time"

	"github.com/cellsched/cellsched/examples/internal/serve"
	"github.com/cellsched/cellsched/offers"
	"github.com/cellsched/cellsched/offers/live"
	"github.com/cellsched/cellsched/omega"
	"github.com/cellsched/cellsched/omega/observe"
	"github.com/cellsched/cellsched/omega/view"
	"github.com/cellsched/cellsched/resources"
)

const (
	workers = 4
	slots   = 4 // of each worker; a task takes one
	pieces  = 400
	clients = 2
	queries = 30 // of each client
	every   = 10 * time.Millisecond
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	page, err := serve.Start(ctx)
	if err == nil {
		err = twolevel(ctx, page)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "twolevel:", err)
		os.Exit(1)
	}
	page.Stay(ctx)
}

func twolevel(ctx context.Context, page *serve.Page) error {
	want, wantQueries := 0, 0
	for i := range pieces {
		n := count(i)
		want += n
		if i < queries {
			wantQueries += clients * n
		}
	}
	fmt.Printf("%d primes, counted one piece after the other\n\n", want)
	table := tabwriter.NewWriter(os.Stdout, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(table, "offered\tbatch took\tqueries waited, p50\tp99\tconflicts\t")
	for _, percent := range []int{100, 50} {
		r, err := run(ctx, page, percent)
		if err != nil {
			return err
		}
		if r.primes != want || r.answers != wantQueries {
			return fmt.Errorf("the batch has counted %d primes, and queries %d: want %d and %d", r.primes, r.answers, want, wantQueries)
		}
		slices.Sort(r.waited)
		fmt.Fprintf(table, "%d %%\t%v\t%v\t%v\t%d\t\n", percent, r.took.Round(time.Millisecond),
			r.waited[len(r.waited)/2].Round(time.Microsecond), r.waited[len(r.waited)*99/100].Round(time.Microsecond), r.conflicts)
	}
	return table.Flush()
}

// result is the outcome of a run.
type result struct {
	primes    int           // that the batch has counted
	answers   int           // that all queries have
	took      time.Duration // by the batch
	waited    []time.Duration
	conflicts int
}

// run runs both at once, with so much of each worker offered as long as there are
// queries.
func run(ctx context.Context, page *serve.Page, percent int) (result, error) {
	var machines []omega.Machine
	for i := range workers {
		machines = append(machines, omega.Machine{Name: fmt.Sprint("worker-", i), Capacity: resources.Vector{slots}})
	}
	cell, err := omega.NewCell(omega.Config{Machines: machines})
	if err != nil {
		return result{}, err
	}
	master, err := offers.New(cell, offers.Config{Terms: offers.Terms{Percent: percent}}, time.Now())
	if err != nil {
		return result{}, err
	}
	page.Show("/cell/", view.Config{Cell: cell, Sources: map[string]func() observe.Counts{"offers": master.Stats}})
	ctx, fail := context.WithCancelCause(ctx)
	defer fail(nil)
	begin := time.Now()
	all := make([]client, clients)
	var asking sync.WaitGroup
	for i := range all {
		asking.Go(func() {
			if err := all[i].run(ctx, cell, i, begin); err != nil {
				fail(err)
			}
		})
	}
	var border sync.WaitGroup
	border.Go(func() { // it moves, and no task is lost
		asking.Wait()
		if err := master.SetTerms(time.Now(), offers.Terms{}); err != nil {
			fail(err)
		}
	})

	batchCtx, end := context.WithCancelCause(ctx)
	defer end(nil)
	b := batch{end: end}
	err = live.Run(batchCtx, master, live.Config{Interval: every}, live.Member{
		Registration: offers.Registration{Name: "batch"}, Handle: b.handle,
	})
	took := time.Since(begin)
	if !errors.Is(err, errDone) {
		fail(err)
	}
	b.running.Wait()
	border.Wait()
	if ctx.Err() != nil {
		return result{}, context.Cause(ctx)
	}
	r := result{primes: b.primes, took: took}
	for i := range all {
		r.waited = append(r.waited, all[i].waited...)
		r.conflicts += all[i].conflicts
		r.answers += all[i].primes
	}
	return r, cell.Check()
}

// count counts the primes of a piece: the work.
func count(piece int) (primes int) {
	const first, numbers = 1_000_000, 10_000
	for n := first + piece*numbers; n < first+(piece+1)*numbers; n++ {
		prime := n%2 == 1
		for d := 3; prime && d*d <= n; d += 2 {
			prime = n%d != 0
		}
		if prime {
			primes++
		}
	}
	return primes
}
