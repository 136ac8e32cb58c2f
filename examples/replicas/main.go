// Replicas runs three processes of one service that share a limit on PostgreSQL.
//
//	DATABASE_URL=postgres://localhost/test go -C examples/replicas run .
//
// The service may send twelve mails at a time in all its processes. Each of the three has work
// for twelve. The program prints the mean number of mails on their way in each process, kills
// one of the processes (kill -9), and prints on until the other two send twelve. All is in a
// schema of its own, which is dropped at the end.
package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/cellsched/cellsched/omega"
	"github.com/cellsched/cellsched/omega/journal"
	"github.com/cellsched/cellsched/omega/journal/postgres"
	"github.com/cellsched/cellsched/omega/pool"
	"github.com/cellsched/cellsched/resources"
)

const (
	processes = 3
	limit     = 12                    // mails at a time in all processes
	work      = 50 * time.Millisecond // time that a mail takes
	ttl       = time.Second           // of a session
	span      = 500 * time.Millisecond
	schema    = "cellsched_replicas"
)

func main() {
	ctx, url := context.Background(), os.Getenv("DATABASE_URL")
	var err error
	switch {
	case url == "":
		fmt.Println("replicas: DATABASE_URL names no PostgreSQL, such as postgres://localhost/test; nothing is done")
	case os.Getenv("REPLICA") != "":
		err = serve(ctx, url, os.Stdin, os.Stdout)
	default:
		_, _, err = play(ctx, url, os.Stdout)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "replicas:", err)
		os.Exit(1)
	}
}

// serve is one process of the service. It sends mails until in ends, and prints for each span how
// many were on their way in the mean.
func serve(ctx context.Context, url string, in io.Reader, out io.Writer) error {
	db, err := connect(ctx, url)
	if err != nil {
		return err
	}
	defer db.Close()
	store, err := postgres.Open(ctx, db, "mail")
	if err != nil {
		return err
	}
	most := resources.Vector{limit}
	cell, err := journal.Open(ctx, store, journal.Config{
		First: omega.Config{Machines: []omega.Machine{{Name: "provider", Capacity: resources.Vector{100}}}}, TTL: ttl,
	})
	if err != nil {
		return err
	}
	s, err := cell.Ephemeral(ctx, "mail", omega.Limits{Divisible: true})
	if err != nil {
		return err
	}
	board, err := cell.Board(ctx, "mail")
	if err != nil {
		return err
	}
	p, err := pool.New(pool.Config{
		Cell: cell.Cell, Scheduler: s, Replicas: board, Chunk: 1,
		Tenants: map[string]pool.Settings{"mail": {Limited: true, Limit: most}},
	})
	if err != nil {
		return err
	}

	life, stop := context.WithCancel(ctx)
	var busy atomic.Int64 // nanoseconds of mails
	failed := make(chan error, limit)
	for range limit {
		go func() { failed <- sendAll(life, p, &busy) }()
	}
	go func() {
		last := time.Now()
		for now := range time.Tick(span) {
			fmt.Fprintf(out, "%.1f\n", float64(busy.Swap(0))/float64(now.Sub(last)))
			last = now
		}
	}()
	_, _ = io.Copy(io.Discard, in)
	stop()
	for range limit {
		err = errors.Join(err, <-failed)
	}
	return errors.Join(err, p.Close(ctx), cell.Close(ctx))
}

// sendAll sends mails in the turns of the pool until ctx ends.
func sendAll(ctx context.Context, p *pool.Pool, busy *atomic.Int64) error {
	for {
		err := p.Do(ctx, "mail", pool.Request{Needs: []resources.Vector{{1}}}, func(ctx context.Context, _ []pool.Lease) error {
			begin := time.Now()
			defer func() { busy.Add(int64(time.Since(begin))) }()
			return send(ctx)
		})
		switch {
		case ctx.Err() != nil:
			return nil
		case err != nil:
			return err
		}
	}
}

// send sends a mail.
func send(ctx context.Context) error {
	select {
	case <-time.After(work):
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// play starts the processes, kills the last one, and returns the means before and after that.
func play(ctx context.Context, url string, out io.Writer) (before, after []float64, err error) {
	if err := reset(ctx, url, "CREATE SCHEMA "+schema); err != nil {
		return nil, nil, err
	}
	defer func() { err = errors.Join(err, reset(ctx, url, "")) }()
	fmt.Fprintf(out, "mails at a time in each of %d processes, %d allowed in all\n", processes, limit)
	told := make(chan report)
	var all []*process
	defer func() {
		for _, c := range all {
			err = errors.Join(err, c.end())
		}
	}()
	for i := range processes {
		c, err := start(ctx, url, i, told)
		if err != nil {
			return nil, nil, err
		}
		all = append(all, c)
	}
	if before, err = watch(ctx, out, told, processes); err != nil {
		return nil, nil, err
	}
	fmt.Fprintln(out, "kill -9")
	if err := all[processes-1].kill(); err != nil {
		return nil, nil, err
	}
	after, err = watch(ctx, out, told, processes-1)
	return before, after, err
}

// report is the mean of a process in its last span.
type report struct {
	from int
	mean float64
}

// watch prints the means of the first n processes, until each sends mails and all are close to
// the limit together for four spans in a row. It returns the last ones.
func watch(ctx context.Context, out io.Writer, told <-chan report, n int) ([]float64, error) {
	means := make([]float64, n)
	for full := 0; ; {
		select {
		case r := <-told:
			if r.from >= n {
				continue
			}
			if means[r.from] = r.mean; r.from > 0 {
				continue
			}
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
		sum := 0.0
		for _, mean := range means {
			sum += mean
			fmt.Fprintf(out, "%6.1f", mean)
		}
		fmt.Fprintf(out, "%*s sum %.1f\n", 6*(processes-n), "", sum)
		if full++; sum < limit-1 || slices.Min(means) < 1 {
			full = 0
		}
		if full == 4 {
			return means, nil
		}
	}
}

// process is a process of the service.
type process struct {
	cmd *exec.Cmd
	in  io.Closer
}

// start starts process i of the service, which reports to told.
func start(ctx context.Context, url string, i int, told chan<- report) (*process, error) {
	program, err := os.Executable()
	if err != nil {
		return nil, err
	}
	cmd := exec.CommandContext(ctx, program)
	cmd.Env = append(os.Environ(), "DATABASE_URL="+url, fmt.Sprint("REPLICA=", i))
	cmd.Stderr = os.Stderr
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
	go func() {
		for scan := bufio.NewScanner(lines); scan.Scan(); {
			r := report{from: i}
			if _, err := fmt.Sscan(scan.Text(), &r.mean); err != nil {
				return
			}
			select {
			case told <- r:
			case <-time.After(span): // the watch has ended
			}
		}
	}()
	return &process{cmd, in}, nil
}

// kill ends the process as a crash does.
func (c *process) kill() error {
	err := c.cmd.Process.Kill()
	_ = c.cmd.Wait() // it was killed
	return err
}

// end has the process end by itself, if it was not killed.
func (c *process) end() error {
	if c.cmd.ProcessState != nil {
		return nil
	}
	return errors.Join(c.in.Close(), c.cmd.Wait())
}

// connect returns a database with tables in the schema of the example.
func connect(ctx context.Context, url string) (*pgxpool.Pool, error) {
	cfg, err := pgxpool.ParseConfig(url)
	if err != nil {
		return nil, err
	}
	cfg.ConnConfig.RuntimeParams["search_path"] = schema
	return pgxpool.NewWithConfig(ctx, cfg)
}

// reset drops the schema and runs a statement.
func reset(ctx context.Context, url, statement string) error {
	db, err := connect(ctx, url)
	if err != nil {
		return err
	}
	defer db.Close()
	_, err = db.Exec(ctx, "DROP SCHEMA IF EXISTS "+schema+" CASCADE; "+statement)
	return err
}
