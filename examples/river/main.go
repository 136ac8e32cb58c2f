// River runs the jobs of River in the turns of their tenants.
//
//	DATABASE_URL=postgres://localhost/test go -C examples/river run .
//
// One tenant floods the queue with 400 jobs; another inserts ten. It prints how long
// the ten waited, without the middleware and with it. All is in a schema of its own,
// which is dropped at the end. With -processes 2 two processes work the jobs, and share the
// slots.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"os"
	"slices"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/riverqueue/river"
	"github.com/riverqueue/river/riverdriver/riverpgxv5"
	"github.com/riverqueue/river/rivermigrate"
	"github.com/riverqueue/river/rivertype"

	"github.com/cellsched/cellsched/examples/internal/serve"
	"github.com/cellsched/cellsched/omega"
	"github.com/cellsched/cellsched/omega/pool"
	"github.com/cellsched/cellsched/omega/pool/poolriver"
	"github.com/cellsched/cellsched/omega/view"
	"github.com/cellsched/cellsched/resources"
)

const (
	slots  = 4                     // jobs at a time
	work   = 20 * time.Millisecond // time that a job takes
	flood  = 400
	small  = 10
	schema = "cellsched_example"
)

func main() {
	url := os.Getenv("DATABASE_URL")
	if url == "" {
		fmt.Println("river: DATABASE_URL names no PostgreSQL, such as postgres://localhost/test; nothing is done")
		return
	}
	processes := flag.Int("processes", 1, "worker processes; several share the slots, and serve no page")
	ctx := context.Background()
	page, err := serve.Start(ctx)
	switch {
	case err != nil:
	case os.Getenv(asWorker) != "":
		err = worker(ctx, url, os.Stdin, os.Stdout)
	case *processes > 1:
		_, _, err = share(ctx, url, *processes, os.Stdout)
	default:
		err = play(ctx, url, page, os.Stdout)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "river:", err)
		os.Exit(1)
	}
	page.Stay(ctx)
}

// play runs both ways one after the other and prints the waits of the small tenant.
func play(ctx context.Context, url string, page *serve.Page, out io.Writer) error {
	fmt.Fprintf(out, "%d jobs of one tenant, then %d of another: wait of these, half / longest\n", flood, small)
	for _, turns := range []bool{false, true} {
		waits, _, err := run(ctx, url, page, turns)
		if err != nil {
			return err
		}
		slices.Sort(waits)
		name := "River alone"
		if turns {
			name = "with turns"
		}
		fmt.Fprintf(out, "%-11s  %5dms / %5dms\n", name, waits[len(waits)/2].Milliseconds(), waits[len(waits)-1].Milliseconds())
	}
	return nil
}

// job is the arguments of a job. Its tenant is in the metadata.
type job struct {
	Inserted time.Time `json:"inserted"`
}

func (job) Kind() string { return "cellsched_example" }

// ask returns the tenant of a job and its need, one slot. A job that has waited for a
// second gives its worker to another one, and comes again.
//
//added:begin
func ask(row *rivertype.JobRow) (string, pool.Request, error) {
	var about struct{ Tenant string }
	err := json.Unmarshal(row.Metadata, &about)
	return about.Tenant, pool.Request{Needs: []resources.Vector{{1}}, MaxWait: time.Second}, err
}

//added:end

// run returns the waits of the small tenant, and how many jobs of the other began
// while it waited.
func run(ctx context.Context, url string, page *serve.Page, turns bool) (_ []time.Duration, between int64, err error) {
	db, err := open(ctx, url)
	if err != nil {
		return nil, 0, err
	}
	defer func() { err = errors.Join(err, drop(ctx, db)) }()

	waits := make(chan time.Duration, small)
	var begun atomic.Int64 // jobs of the other tenant
	workers := river.NewWorkers()
	river.AddWorker(workers, river.WorkFunc(func(ctx context.Context, j *river.Job[job]) error {
		if !j.Args.Inserted.IsZero() {
			waits <- time.Since(j.Args.Inserted)
		} else {
			begun.Add(1)
		}
		select {
		case <-time.After(work):
		case <-ctx.Done():
		}
		return ctx.Err()
	}))
	cfg := &river.Config{
		Schema:  schema,
		Logger:  slog.New(slog.DiscardHandler),
		Queues:  map[string]river.QueueConfig{river.QueueDefault: {MaxWorkers: slots}},
		Workers: workers,
		// River then has a job for each worker that is free; by default it looks ten
		// times a second.
		FetchCooldown: 5 * time.Millisecond, FetchPollInterval: 20 * time.Millisecond,
	}
	if turns {
		// This, ask and imports are all that a program adds.
		//added:begin
		p, err := pool.New(pool.Config{Machines: []omega.Machine{{Name: "slots", Capacity: resources.Vector{slots}}}})
		if err != nil {
			return nil, 0, err
		}
		m, err := poolriver.New(poolriver.Config{Pool: p, Ask: ask, Workers: 1000})
		if err != nil {
			return nil, 0, err
		}
		m.Configure(cfg)
		//added:end
		page.Show("/cell/", view.Config{Pools: map[string]*pool.Pool{"slots": p}})
	}
	client, err := river.NewClient(riverpgxv5.New(db), cfg)
	if err != nil {
		return nil, 0, err
	}
	if err := insert(ctx, client, "flood", flood, time.Time{}); err != nil {
		return nil, 0, err
	}
	if err := client.Start(ctx); err != nil {
		return nil, 0, err
	}
	if err := insert(ctx, client, "small", small, time.Now()); err != nil {
		return nil, 0, err
	}
	before := begun.Load()
	var list []time.Duration
	for range small {
		list = append(list, <-waits)
	}
	return list, begun.Load() - before, client.StopAndCancel(ctx)
}

// insert adds jobs of a tenant.
func insert(ctx context.Context, client *river.Client[pgx.Tx], tenant string, n int, inserted time.Time) error {
	list := make([]river.InsertManyParams, n)
	for i := range list {
		list[i] = river.InsertManyParams{
			Args: job{inserted}, InsertOpts: &river.InsertOpts{Metadata: fmt.Appendf(nil, `{"tenant": %q}`, tenant)},
		}
	}
	_, err := client.InsertManyFast(ctx, list)
	return err
}

// drop drops the schema of the example.
func drop(ctx context.Context, db *pgxpool.Pool) error {
	defer db.Close()
	_, err := db.Exec(context.WithoutCancel(ctx), "DROP SCHEMA "+schema+" CASCADE")
	return err
}

// open returns a database with the tables of River in a new schema.
func open(ctx context.Context, url string) (*pgxpool.Pool, error) {
	db, err := pgxpool.New(ctx, url)
	if err != nil {
		return nil, err
	}
	if _, err := db.Exec(ctx, "DROP SCHEMA IF EXISTS "+schema+" CASCADE; CREATE SCHEMA "+schema); err != nil {
		db.Close()
		return nil, err
	}
	m, err := rivermigrate.New(riverpgxv5.New(db), &rivermigrate.Config{Schema: schema, Logger: slog.New(slog.DiscardHandler)})
	if err == nil {
		_, err = m.Migrate(ctx, rivermigrate.DirectionUp, nil)
	}
	if err != nil {
		db.Close()
		return nil, err
	}
	return db, nil
}
