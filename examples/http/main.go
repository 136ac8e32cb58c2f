// Http is a handler behind a pool: each customer waits in a queue of its own, for
// half a second at most, and is told when to come back.
//
//	go run ./examples/http                         # sends itself requests for ten seconds and ends
//	go run ./examples/http -serve localhost:8080   # until Ctrl-C: curl localhost:8080/?customer=a
//
// While it listens it shows its customers at http://localhost:8080/cell/.
package main

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"math"
	"net"
	"net/http"
	"os"
	"os/signal"
	"strconv"
	"sync"
	"time"

	"github.com/cellsched/cellsched/omega"
	"github.com/cellsched/cellsched/omega/pool"
	"github.com/cellsched/cellsched/omega/view"
	"github.com/cellsched/cellsched/resources"
)

const slots = 4 // requests at a time

var one = resources.Vector{1}

// render is the work of a request.
func render(ctx context.Context) {
	select {
	case <-time.After(50 * time.Millisecond):
	case <-ctx.Done():
	}
}

// handler admits a request in its customer's turn.
func handler(p *pool.Pool) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		wait, cancel := context.WithTimeout(r.Context(), 500*time.Millisecond)
		defer cancel()
		lease, err := p.Acquire(wait, "customer "+r.FormValue("customer"), one) // names apart from others
		var busy *pool.WaitError                                                // the queue was too long, or full
		switch {
		case errors.As(err, &busy):
			// The pool knows which requests are ahead, and how long they take.
			seconds := int(math.Ceil(max(1, busy.RetryAfter().Seconds())))
			w.Header().Set("Retry-After", strconv.Itoa(seconds))
			http.Error(w, "busy", http.StatusTooManyRequests)
			return
		case errors.Is(err, pool.ErrTenant):
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		case err != nil:
			http.Error(w, err.Error(), http.StatusServiceUnavailable)
			return
		}
		defer func() { _ = lease.Release() }()
		render(r.Context())
		fmt.Fprintln(w, "done")
	}
}

func main() {
	serve := flag.String("serve", "", "stay up at this address until Ctrl-C")
	flag.Parse()
	if err := run(*serve); err != nil {
		fmt.Fprintln(os.Stderr, "http:", err)
		os.Exit(1)
	}
}

func run(serve string) error {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	p, err := pool.New(pool.Config{Machines: []omega.Machine{{Name: "this server", Capacity: one.Scale(slots)}}})
	if err != nil {
		return err
	}
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", cmp.Or(serve, "localhost:0"))
	if err != nil {
		return err
	}
	mux := http.NewServeMux()
	mux.Handle("/", handler(p))
	mux.Handle("/cell/", view.Handler(view.Config{Pools: map[string]*pool.Pool{"requests": p}}))
	server := &http.Server{Handler: mux, ReadHeaderTimeout: time.Second}
	failed := make(chan error, 1)
	go func() { failed <- server.Serve(listener) }()

	if serve != "" {
		<-ctx.Done()
	} else {
		script(ctx, "http://"+listener.Addr().String())
	}
	end, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	if err := errors.Join(server.Shutdown(end), p.Close(end)); err != nil {
		return err
	}
	if err := <-failed; !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}

// script plays two customers: one with 40 clients, one with two.
func script(ctx context.Context, url string) {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	var mu sync.Mutex
	type tally struct {
		served, refused int
		waited          time.Duration
	}
	tallies := map[string]*tally{"greedy": {}, "modest": {}}
	var clients sync.WaitGroup
	for customer, n := range map[string]int{"greedy": 40, "modest": 2} {
		for range n {
			clients.Go(func() {
				for ctx.Err() == nil {
					began := time.Now()
					status := get(ctx, url+"/?customer="+customer)
					mu.Lock()
					switch t := tallies[customer]; status {
					case http.StatusOK:
						t.served++
						t.waited += time.Since(began)
					case http.StatusTooManyRequests:
						t.refused++
					}
					mu.Unlock()
				}
			})
		}
	}
	clients.Wait()
	for _, customer := range []string{"greedy", "modest"} {
		t := tallies[customer]
		fmt.Printf("%s: %4d served, %4d told to come back, %v each\n", customer, t.served, t.refused,
			(t.waited / time.Duration(max(t.served, 1))).Round(time.Millisecond))
	}
}

// get returns the status of a request, 0 if it failed.
func get(ctx context.Context, url string) int {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return 0
	}
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		return 0
	}
	_ = answer.Body.Close()
	return answer.StatusCode
}
