package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"slices"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/riverqueue/river"
	"github.com/riverqueue/river/riverdriver/riverpgxv5"

	"github.com/cellsched/cellsched/omega"
	"github.com/cellsched/cellsched/omega/journal"
	"github.com/cellsched/cellsched/omega/journal/postgres"
	"github.com/cellsched/cellsched/omega/pool"
	"github.com/cellsched/cellsched/omega/pool/poolriver"
	"github.com/cellsched/cellsched/resources"
)

// asWorker is the variable of the environment by which a process is a worker of share.
const asWorker = "CELLSCHED_EXAMPLE_WORKER"

// span is when a job ran, by the clock of the machine.
type span struct {
	inserted, start, end int64 // Unix nanoseconds; inserted is 0 for a job of the flood
	process              int
}

// share runs the jobs in several processes that share the slots. It prints and returns how many
// jobs each has run, and how many ran at a time in all of them.
func share(ctx context.Context, url string, n int, out io.Writer) (ran []int, most int, err error) {
	db, err := open(ctx, url)
	if err != nil {
		return nil, 0, err
	}
	defer func() { err = errors.Join(err, drop(ctx, db)) }()
	client, err := river.NewClient(riverpgxv5.New(db), &river.Config{Schema: schema, Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		return nil, 0, err
	}
	if err := insert(ctx, client, "flood", flood, time.Time{}); err != nil {
		return nil, 0, err
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel() // ends the processes that still run
	told := make(chan span)
	var ends []func() error
	for i := range n {
		end, err := startWorker(ctx, url, i, told)
		if err != nil {
			return nil, 0, err
		}
		ends = append(ends, end)
	}
	var spans []span
	ran = make([]int, n)
	for len(spans) < flood+small {
		select {
		case s := <-told:
			if spans = append(spans, s); len(spans) == slots*n { // all processes are on their way
				err = insert(ctx, client, "small", small, time.Now())
			}
			ran[s.process]++
		case <-ctx.Done():
			err = context.Cause(ctx)
		}
		if err != nil {
			return nil, 0, err
		}
	}
	for _, end := range ends {
		err = errors.Join(err, end())
	}
	most, waits := overlap(spans)
	fmt.Fprintf(out, "jobs of %d processes %v, at a time %d; wait of the small tenant, half / longest %dms / %dms\n",
		n, ran, most, waits[len(waits)/2].Milliseconds(), waits[len(waits)-1].Milliseconds())
	return ran, most, err
}

// overlap returns how many jobs ran at a time, and the waits of the small tenant in order.
func overlap(spans []span) (most int, waits []time.Duration) {
	for _, s := range spans {
		at := 0 // when s began
		for _, o := range spans {
			if o.start <= s.start && s.start < o.end {
				at++
			}
		}
		most = max(most, at)
		if s.inserted > 0 {
			waits = append(waits, time.Duration(s.start-s.inserted))
		}
	}
	slices.Sort(waits)
	return most, waits
}

// startWorker starts a process that works jobs and tells of each. It returns the function that
// has the process end.
func startWorker(ctx context.Context, url string, i int, told chan<- span) (end func() error, err error) {
	program, err := os.Executable()
	if err != nil {
		return nil, err
	}
	cmd := exec.CommandContext(ctx, program)
	cmd.Env, cmd.Stderr = append(os.Environ(), "DATABASE_URL="+url, asWorker+"=1"), os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	lines, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	read := make(chan struct{})
	go func() {
		defer close(read)
		for scan := bufio.NewScanner(lines); scan.Scan(); {
			s := span{process: i}
			if _, err := fmt.Sscan(scan.Text(), &s.inserted, &s.start, &s.end); err != nil {
				return
			}
			select {
			case told <- s:
			case <-ctx.Done():
			}
		}
	}()
	return func() error {
		err := in.Close()
		<-read
		return errors.Join(err, cmd.Wait())
	}, nil
}

// worker is a process that works jobs until in ends. It prints each that has ended.
func worker(ctx context.Context, url string, in io.Reader, out io.Writer) (err error) {
	cfg, err := pgxpool.ParseConfig(url)
	if err != nil {
		return err
	}
	cfg.ConnConfig.RuntimeParams["search_path"] = schema
	db, err := pgxpool.NewWithConfig(ctx, cfg)
	if err != nil {
		return err
	}
	defer db.Close()

	// The slots are a cell in a journal, and each process has a pool on it.
	store, err := postgres.Open(ctx, db, "slots")
	if err != nil {
		return err
	}
	cell, err := journal.Open(ctx, store, journal.Config{
		First: omega.Config{Machines: []omega.Machine{{Name: "slots", Capacity: resources.Vector{slots}}}}, TTL: 10 * time.Second,
	})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, cell.Close(ctx)) }()
	s, err := cell.Ephemeral(ctx, "workers", omega.Limits{Divisible: true})
	if err != nil {
		return err
	}
	board, err := cell.Board(ctx, "workers")
	if err != nil {
		return err
	}
	p, err := pool.New(pool.Config{Cell: cell.Cell, Scheduler: s, Replicas: board, Chunk: 1})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, p.Close(ctx)) }()
	m, err := poolriver.New(poolriver.Config{Pool: p, Ask: ask, Workers: 1000})
	if err != nil {
		return err
	}

	ended := make(chan string)
	workers := river.NewWorkers()
	river.AddWorker(workers, river.WorkFunc(func(ctx context.Context, j *river.Job[job]) error {
		var inserted int64
		if !j.Args.Inserted.IsZero() {
			inserted = j.Args.Inserted.UnixNano()
		}
		start := time.Now()
		select {
		case <-time.After(work):
		case <-ctx.Done():
			return ctx.Err()
		}
		ended <- fmt.Sprint(inserted, " ", start.UnixNano(), " ", time.Now().UnixNano())
		return nil
	}))
	client := &river.Config{
		Schema: schema, Logger: slog.New(slog.DiscardHandler), Workers: workers,
		Queues:        map[string]river.QueueConfig{river.QueueDefault: {}},
		FetchCooldown: 5 * time.Millisecond, FetchPollInterval: 20 * time.Millisecond,
	}
	m.Configure(client)
	c, err := river.NewClient(riverpgxv5.New(db), client)
	if err != nil {
		return err
	}
	if err := c.Start(ctx); err != nil {
		return err
	}
	stop := make(chan struct{})
	go func() {
		defer close(stop)
		_, _ = io.Copy(io.Discard, in)
	}()
	for {
		select {
		case line := <-ended:
			fmt.Fprintln(out, line)
		case <-stop:
			return c.StopAndCancel(ctx)
		}
	}
}
