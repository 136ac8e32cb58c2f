package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"runtime/debug"
	"strings"
	"time"

	"github.com/cellsched/cellsched/bench/internal/program"
	"github.com/cellsched/cellsched/bench/trace"
	"github.com/cellsched/cellsched/delay"
	"github.com/cellsched/cellsched/omega"
	"github.com/cellsched/cellsched/resources"
)

func main() {
	// A replay holds little memory, and allocates much.
	debug.SetGCPercent(400)
	program.ExitOn("replay", run(os.Args[1:], os.Stdout, os.Stderr))
}

// options are the values of the flags besides source and config.
type options struct {
	place, wait, size, taskNeed string
	json                        bool
	out                         string
}

func run(args []string, out, progress io.Writer) error {
	var s source
	var cfg config
	var o options
	f := flag.NewFlagSet("replay", flag.ContinueOnError)
	f.SetOutput(progress)
	f.StringVar(&s.trace, "trace", "", "file to replay, may be packed by gzip")
	f.StringVar(&s.format, "format", "csv", "what the file is: alibaba, swim, rumen or csv")
	f.StringVar(&s.nodes, "nodes", "", "file of machines, in the node format that belongs to -format")
	f.IntVar(&s.machines, "machines", 0, "how many machines of -size, where there is no -nodes")
	f.StringVar(&o.size, "size", "cpu=8,memory=32Gi", "what a machine has")
	f.IntVar(&s.rackSize, "racks-of", 40, "machines in a rack, where there is no -nodes; 0 for no racks")
	f.StringVar(&s.users, "users", "", "table of users and their weights, with -by user; jobs of others are an error")
	f.IntVar(&s.spread, "spread", 0, "give jobs of which the trace does not say whose they are to so many users in turn")
	f.IntVar(&s.window, "window", 1024, "how many jobs are held back to put them in order of submission")
	f.IntVar(&s.compress, "compress", 1, "divide the times of submission by this, and nothing else: a cell that is not full has no use for an order")
	f.Int64Var(&s.mapReduce.Block, "block", 0, "swim: bytes that a map task reads (default 128 MiB)")
	f.Int64Var(&s.mapReduce.Reduce, "reduce", 0, "swim: bytes that a reduce task fetches at most (default 1 GiB)")
	f.Int64Var(&s.mapReduce.Rate, "rate", 0, "swim: bytes a second that a task gets through (default 16 MiB)")
	f.DurationVar(&s.mapReduce.Startup, "startup", time.Second, "swim: how long a task takes besides")
	f.StringVar(&o.taskNeed, "task", "cpu=1,memory=1Gi", "swim: what a task needs")
	f.StringVar(&cfg.order, "order", "drf", "whose task is next: drf, fifo, priority or pools")
	f.StringVar(&cfg.by, "by", "user", "whom shares are over: user, class or job")
	f.StringVar(&o.place, "place", "next", "which machine is picked: next, first, best, worst, or best-of, the best of 8 at random")
	f.StringVar(&o.wait, "wait", "", "how long a job waits for a node with its data and then for the rack, such as 5s or 5s,10s")
	f.IntVar(&cfg.replicas, "replicas", 3, "copies of a block of an input file")
	f.Uint64Var(&cfg.seed, "seed", 1, "of where blocks are, and of -place best-of")
	f.DurationVar(&cfg.sample, "sample", 10*time.Minute, "time between samples of shares, doubled where there would be too many; 0 for none")
	f.BoolVar(&cfg.leaveOut, "leave-out", false, "leave out, and count, jobs that are too large for the cell")
	f.BoolVar(&o.json, "json", false, "write JSON instead of a table")
	f.StringVar(&o.out, "o", "", "write to this file instead of the standard output")
	if err := f.Parse(args); err != nil {
		return err
	}
	if f.NArg() > 0 {
		return fmt.Errorf("argument %q, want flags only", f.Arg(0))
	}
	if err := o.apply(&s, &cfg); err != nil {
		return err
	}
	var to *output
	if o.out != "" {
		var err error
		if to, err = newOutput(o.out); err != nil {
			return err
		}
	}
	res, err := measure(&s, cfg, progress)
	if err != nil {
		return err
	}
	write := res.writeTable
	if o.json {
		write = res.writeJSON
	}
	if to == nil {
		return write(out)
	}
	return to.write(write)
}

// apply puts the values that are written in words into s and cfg.
func (o *options) apply(s *source, cfg *config) (err error) {
	space := trace.Space()
	if s.size, err = space.Parse(o.size); err != nil {
		return fmt.Errorf("size: %w", err)
	}
	if s.size == (resources.Vector{}) {
		return fmt.Errorf("size %q, want some of a kind", o.size)
	}
	if s.mapReduce.Need, err = space.Parse(o.taskNeed); err != nil {
		return fmt.Errorf("task: %w", err)
	}
	if s.mapReduce.Need == (resources.Vector{}) {
		return fmt.Errorf("task %q, want some of a kind", o.taskNeed)
	}
	if s.trace == "" {
		return errors.New("no trace, want -trace FILE")
	}
	switch cfg.by {
	case "user", "class", "job":
	default:
		return fmt.Errorf("by %q, want user, class or job", cfg.by)
	}
	if s.users != "" && cfg.by != "user" {
		return fmt.Errorf("by %q with a table of users, whose weights are of users: want -by user, or no -users", cfg.by)
	}
	if s.nodes != "" && s.machines != 0 {
		return fmt.Errorf("machines %d and nodes %q, want one of the two", s.machines, s.nodes)
	}
	if s.compress < 1 {
		return fmt.Errorf("compress %d, want 1 or more", s.compress)
	}
	if cfg.replicas > maxReplicas {
		return fmt.Errorf("replicas %d, want %d or fewer", cfg.replicas, maxReplicas)
	}
	for _, v := range []struct {
		name  string
		value int64
	}{
		{"spread", int64(s.spread)},
		{"window", int64(s.window)},
		{"racks-of", int64(s.rackSize)},
		{"replicas", int64(cfg.replicas)},
		{"sample", int64(cfg.sample)},
		{"machines", int64(s.machines)},
	} {
		if v.value < 0 {
			return fmt.Errorf("%s %d, want 0 or more", v.name, v.value)
		}
	}
	switch o.place {
	case "next":
		cfg.policy = omega.NextFit()
	case "first":
		cfg.policy = omega.FirstFit(nil)
	case "best":
		cfg.policy = omega.BestFit()
	case "worst":
		cfg.policy = omega.WorstFit()
	case "best-of":
		cfg.policy = omega.BestOf(8, nil, rand.New(rand.NewPCG(cfg.seed, 1)))
	default:
		return fmt.Errorf("place %q, want next, first, best, worst or best-of", o.place)
	}
	cfg.waits, err = parseWaits(o.wait)
	return err
}

// parseWaits reads the waits for a node and for a rack.
func parseWaits(text string) (waits delay.Waits, err error) {
	if text == "" {
		return waits, nil
	}
	parts := strings.Split(text, ",")
	if len(parts) > 2 {
		return waits, fmt.Errorf("wait %q, want one for a node and one for a rack", text)
	}
	for i, part := range parts {
		if waits[i], err = time.ParseDuration(part); err != nil || waits[i] < 0 {
			return delay.Waits{}, fmt.Errorf("wait %q, want durations of 0 or more, such as 5s or 5s,10s", text)
		}
	}
	return waits, nil
}

// measure replays a source.
func measure(s *source, cfg config, progress io.Writer) (_ *result, err error) {
	if cfg.weights, err = s.weights(); err != nil {
		return nil, err
	}
	if cfg.machines, err = s.fleet(); err != nil {
		return nil, err
	}
	f, err := trace.Open(s.trace)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	info, err := os.Stat(s.trace)
	if err != nil {
		return nil, err
	}
	cfg.file = s.trace
	if cfg.jobs, err = s.jobs(f, cfg.weights); err != nil {
		return nil, err
	}
	if b := newBar(progress, info.Size(), f.Offset); b != nil {
		cfg.progress = func(jobs int) { b.draw(time.Now(), jobs) }
		defer b.clear()
	}
	start := time.Now()
	r, err := newReplay(cfg)
	if err != nil {
		return nil, err
	}
	res, err := r.run()
	if err != nil {
		return nil, err
	}
	res.timed(time.Since(start))
	return res, nil
}
