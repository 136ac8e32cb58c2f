// Top shows the tenants and waiters of a running program in a terminal, once a second,
// as top shows processes. The program has the page of package view mounted somewhere.
//
//	go run ./examples/worker -serve localhost:8080 &
//	go run ./examples/top http://localhost:8080/cell/
//
// Without a URL it starts a small pool of its own, shows it five times, and ends.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/signal"
	"strings"
	"time"
)

func main() {
	count := flag.Int("n", 0, "end after so many screens; 0: at Ctrl-C")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := top(ctx, flag.Arg(0), *count); err != nil && !errors.Is(err, context.Canceled) {
		fmt.Fprintln(os.Stderr, "top:", err)
		os.Exit(1)
	}
}

func top(ctx context.Context, url string, count int) error {
	if url == "" {
		own, stop, err := demo(ctx)
		if err != nil {
			return err
		}
		defer stop()
		url, count = own, 5
	}
	if !strings.HasSuffix(url, "/") {
		url += "/"
	}
	erase := ""
	if info, err := os.Stdout.Stat(); err == nil && info.Mode()&os.ModeCharDevice != 0 {
		erase = "\x1b[H\x1b[2J"
	}
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	for n := 1; ; n++ {
		o, err := get(ctx, url)
		if err != nil {
			return err
		}
		fmt.Print(erase)
		show(os.Stdout, o)
		if n == count {
			return nil
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// most is how long an overview may be, in bytes.
const most = 16 << 20

// get asks a program for its overview.
func get(ctx context.Context, url string) (*overview, error) {
	ctx, stop := context.WithTimeout(ctx, 10*time.Second)
	defer stop()
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, url+"?format=json", nil)
	if err != nil {
		return nil, err
	}
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		return nil, err
	}
	defer answer.Body.Close()
	if answer.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("%s: %s", url, answer.Status)
	}
	o := &overview{}
	if err := json.NewDecoder(io.LimitReader(answer.Body, most)).Decode(o); err != nil {
		return nil, fmt.Errorf("%s is not a page of package view: %w", url, err)
	}
	return o, nil
}
