package view_test

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/cellsched/cellsched/omega/view"
)

// serve serves a handler over pipes until stop.
func serve(h http.Handler) (dial func(t *testing.T, requests string) net.Conn, stop func()) {
	listener := &pipes{make(chan net.Conn), make(chan struct{})}
	server := &http.Server{Handler: h}
	served := make(chan struct{})
	go func() { defer close(served); _ = server.Serve(listener) }()
	return func(t *testing.T, requests string) net.Conn {
			t.Helper()
			here, there := net.Pipe()
			listener.conns <- there
			go func() { _, _ = io.WriteString(here, requests) }() // pipelined: it may not all be taken
			return here
		}, func() {
			_ = server.Close()
			<-served
		}
}

// A client that asks and reads nothing holds an answer for the timeout, and no more answers
// are held than the bound.
func TestHandler_DropsAClientThatStopsReading(t *testing.T) {
	cell, _ := newCell(t, 100)
	for _, path := range []string{"/machines", "/machine?n=1", "/?format=json", "/", "/view.js", "/nothing"} {
		synctest.Test(t, func(t *testing.T) {
			h := view.Handler(view.Config{Cell: cell, Timeout: 3 * time.Second})
			dial, stop := serve(h)
			request := "GET " + path + " HTTP/1.1\r\nHost: x\r\n\r\n"
			here := dial(t, strings.Repeat(request, 5))
			synctest.Wait()
			pass(4 * time.Second)
			_, err := io.Copy(io.Discard, here)
			require.NoError(t, err, "the server has closed the connection")
			require.NoError(t, here.Close())
			stop()
		})
	}
}

func TestHandler_BoundsAnswersInProgress(t *testing.T) {
	cell, _ := newCell(t, 100)
	synctest.Test(t, func(t *testing.T) {
		h := view.Handler(view.Config{Cell: cell, Timeout: 3 * time.Second})
		dial, stop := serve(h)
		const bound = 64
		conns := make([]net.Conn, bound)
		for i := range conns {
			require.Equal(t, 200, ask(h, "/machines").Code, "%d in progress", i)
			conns[i] = dial(t, "GET /machines HTTP/1.1\r\nHost: x\r\n\r\n")
			synctest.Wait()
		}
		for _, path := range []string{"/machines", "/?format=json", "/"} {
			w := ask(h, path)
			require.Equal(t, 503, w.Code)
			require.Equal(t, fmt.Sprintf("view: %d answers in progress, want %d at most\n", bound, bound), w.Body.String())
			require.NotEmpty(t, w.Header().Get("Retry-After"))
			require.NotEmpty(t, w.Header().Get("Content-Security-Policy"))
		}
		pass(4 * time.Second)
		require.Equal(t, 200, ask(h, "/machines").Code, "their places are free")
		for _, c := range conns {
			require.NoError(t, c.Close())
		}
		stop()
	})
}

// The time limit of one answer is none of what comes next on the connection.
func TestHandler_LeavesAConnectionAsItWas(t *testing.T) {
	cell, _ := newCell(t, 1)
	synctest.Test(t, func(t *testing.T) {
		mux := http.NewServeMux()
		mux.Handle("/cell/", view.Handler(view.Config{Cell: cell, Timeout: time.Second}))
		mux.HandleFunc("/slow", func(w http.ResponseWriter, _ *http.Request) {
			<-time.After(time.Minute)
			_, _ = io.WriteString(w, "done")
		})
		dial, stop := serve(mux)
		here := dial(t, "GET /cell/machines HTTP/1.1\r\nHost: x\r\n\r\nGET /slow HTTP/1.1\r\nHost: x\r\n\r\n")
		from := bufio.NewReader(here)
		for _, want := range []string{`{"machines":[`, "done"} {
			answer, err := http.ReadResponse(from, nil)
			require.NoError(t, err)
			body, err := io.ReadAll(answer.Body)
			require.NoError(t, err)
			require.Contains(t, string(body), want)
		}
		require.NoError(t, here.Close())
		stop()
	})
}
