// Top shows the tenants, waiters and schedulers of a running program in a terminal, once a second,
// as top shows processes. The program has the page of package view mounted somewhere.
//
//	go run ./examples/worker -serve localhost:8080 &
//	go run ./examples/top http://localhost:8080/cell/
//
// Without a URL it starts a small pool of its own, shows it five times, and ends.
package main

import (
	"bufio"
	"cmp"
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
	n := 0
	return watch(ctx, url, func(o *overview) bool {
		fmt.Print(erase)
		show(os.Stdout, o)
		n++
		return n != count
	})
}

// silence is how long a page may send nothing. It sends a comment each 15 s.
const silence = time.Minute

// most is how long an event may be, in bytes.
const most = 16 << 20

// watch shows the overviews that a program sends, one a second, until show returns false.
// A program hears of refusals and preemptions while it has a viewer, so watch stays one.
func watch(ctx context.Context, url string, show func(*overview) bool) error {
	ctx, stop := context.WithCancelCause(ctx)
	silent := time.AfterFunc(silence, func() { stop(fmt.Errorf("%s: no event in %v", url, silence)) })
	defer silent.Stop()
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, url+"stream", nil)
	if err != nil {
		return err
	}
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	if answer.StatusCode != http.StatusOK {
		return fmt.Errorf("%s: %s", url, answer.Status)
	}
	if kind := answer.Header.Get("Content-Type"); kind != "text/event-stream" {
		return fmt.Errorf("%s is not a page of package view: it sends %q", url, kind)
	}
	lines := bufio.NewScanner(answer.Body)
	lines.Buffer(nil, most)
	for event := ""; lines.Scan(); {
		silent.Reset(silence)
		field, value, _ := strings.Cut(lines.Text(), ": ")
		switch {
		case field == "event":
			event = value
		case field == "data" && event == "overview":
			o := &overview{}
			if err := json.Unmarshal([]byte(value), o); err != nil {
				return fmt.Errorf("%s is not a page of package view: %w", url, err)
			}
			if !show(o) {
				return nil
			}
		}
	}
	if cause := context.Cause(ctx); cause != nil {
		return cause
	}
	return cmp.Or(lines.Err(), io.ErrUnexpectedEOF)
}
