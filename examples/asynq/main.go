// Asynq runs the tasks of Asynq in the turns of their tenants.
//
//	REDIS_ADDR=localhost:6379 go -C examples/asynq run .
//
// One tenant floods the queue with 400 tasks; another enqueues ten. It prints how long
// the ten waited, without the middleware and with it. The tasks are in a queue of their
// own, which is deleted at the end.
package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/hibiken/asynq"

	"github.com/cellsched/cellsched/examples/internal/serve"
	"github.com/cellsched/cellsched/omega"
	"github.com/cellsched/cellsched/omega/pool"
	"github.com/cellsched/cellsched/omega/pool/poolasynq"
	"github.com/cellsched/cellsched/omega/view"
	"github.com/cellsched/cellsched/resources"
)

const (
	slots = 4                     // tasks at a time
	work  = 20 * time.Millisecond // time that a task takes
	flood = 400
	small = 10
	queue = "cellsched_example"
)

func main() {
	addr := os.Getenv("REDIS_ADDR")
	if addr == "" {
		fmt.Println("asynq: REDIS_ADDR names no Redis, such as localhost:6379; nothing is done")
		return
	}
	ctx := context.Background()
	page, err := serve.Start(ctx)
	if err == nil {
		err = play(addr, page, os.Stdout)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "asynq:", err)
		os.Exit(1)
	}
	page.Stay(ctx)
}

// play runs both ways one after the other and prints the waits of the small tenant.
func play(addr string, page *serve.Page, out io.Writer) error {
	redis := asynq.RedisClientOpt{Addr: addr}
	if strings.HasPrefix(addr, "/") {
		redis.Network = "unix"
	}
	fmt.Fprintf(out, "%d tasks of one tenant, then %d of another: wait of these, half / longest\n", flood, small)
	for _, turns := range []bool{false, true} {
		waits, _, err := run(redis, page, turns)
		if err != nil {
			return err
		}
		slices.Sort(waits)
		name := "Asynq alone"
		if turns {
			name = "with turns"
		}
		fmt.Fprintf(out, "%-11s  %5dms / %5dms\n", name, waits[len(waits)/2].Milliseconds(), waits[len(waits)-1].Milliseconds())
	}
	return nil
}

// ask returns the tenant of a task, its type, and its need, one slot. A task that has
// waited for a second gives its worker to another one, and comes again.
//
//added:begin
func ask(_ context.Context, task *asynq.Task) (string, pool.Request, error) {
	return task.Type(), pool.Request{Needs: []resources.Vector{{1}}, MaxWait: time.Second}, nil
}

//added:end

// run returns the waits of the small tenant, and how many tasks of the other began
// while it waited.
func run(redis asynq.RedisClientOpt, page *serve.Page, turns bool) (_ []time.Duration, between int64, err error) {
	inspector := asynq.NewInspector(redis)
	defer func() {
		if e := inspector.DeleteQueue(queue, true); err == nil {
			err = e
		}
		_ = inspector.Close()
	}()
	client := asynq.NewClient(redis)
	defer func() { _ = client.Close() }()
	enqueue := func(tenant string, n int, enqueued time.Time) error {
		payload, err := enqueued.MarshalText()
		if err != nil {
			return err
		}
		for range n {
			if _, err := client.Enqueue(asynq.NewTask(tenant, payload), asynq.Queue(queue)); err != nil {
				return err
			}
		}
		return nil
	}

	waits := make(chan time.Duration, small)
	var begun atomic.Int64 // tasks of the other tenant
	var handler asynq.Handler = asynq.HandlerFunc(func(ctx context.Context, task *asynq.Task) error {
		if task.Type() == "small" {
			var enqueued time.Time
			if err := enqueued.UnmarshalText(task.Payload()); err != nil {
				return err
			}
			waits <- time.Since(enqueued)
		} else {
			begun.Add(1)
		}
		select {
		case <-time.After(work):
		case <-ctx.Done():
		}
		return ctx.Err()
	})
	cfg := asynq.Config{
		Concurrency: slots, Queues: map[string]int{queue: 1}, LogLevel: asynq.FatalLevel,
		TaskCheckInterval: 20 * time.Millisecond, ShutdownTimeout: 100 * time.Millisecond,
	}
	if turns {
		// This, ask and imports are all that a program adds.
		//added:begin
		p, err := pool.New(pool.Config{Machines: []omega.Machine{{Name: "slots", Capacity: resources.Vector{slots}}}})
		if err != nil {
			return nil, 0, err
		}
		m, err := poolasynq.New(poolasynq.Config{Pool: p, Ask: ask, Workers: 1000})
		if err != nil {
			return nil, 0, err
		}
		m.Configure(&cfg)
		handler = m.Handler(handler)
		//added:end
		page.Show("/cell/", view.Config{Pools: map[string]*pool.Pool{"slots": p}})
	}
	if err := enqueue("flood", flood, time.Time{}); err != nil {
		return nil, 0, err
	}
	server := asynq.NewServer(redis, cfg)
	if err := server.Start(handler); err != nil {
		return nil, 0, err
	}
	defer server.Shutdown()
	if err := enqueue("small", small, time.Now()); err != nil {
		return nil, 0, err
	}
	before := begun.Load()
	var list []time.Duration
	for range small {
		list = append(list, <-waits)
	}
	return list, begun.Load() - before, nil
}
