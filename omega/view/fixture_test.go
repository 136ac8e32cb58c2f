package view_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/cellsched/cellsched/omega"
	"github.com/cellsched/cellsched/resources"
)

var errGone = errors.New("the reader has gone")

// screen is a viewer of a stream: a response writer that decodes what it is sent. Tests
// use it in a bubble, where time is exact.
type screen struct {
	mu       sync.Mutex
	head     http.Header
	status   int
	text     bytes.Buffer // of the events that are not decoded yet
	refusal  string
	states   []byte
	epoch    string
	fulls    int
	diffs    int
	events   map[string][]string // data of others, by name
	deadline time.Time
}

func newScreen() *screen {
	return &screen{head: http.Header{}, events: map[string][]string{}}
}

func (s *screen) Header() http.Header { return s.head }

func (s *screen) WriteHeader(status int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.status = status
}

func (s *screen) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.status == 0 {
		s.status = http.StatusOK
	}
	if s.status != http.StatusOK {
		s.refusal += string(p)
		return len(p), nil
	}
	if time.Now().After(s.deadline) {
		return 0, errGone
	}
	s.text.Write(p)
	return len(p), nil
}

func (s *screen) FlushError() error { return nil }

func (s *screen) SetWriteDeadline(at time.Time) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.deadline = at
	return nil
}

// read decodes what was sent.
func (s *screen) read(t *testing.T) {
	t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	text := s.text.String()
	s.text.Reset()
	for event := range strings.SplitSeq(strings.TrimSuffix(text, "\n\n"), "\n\n") {
		if event == "" || event == ":" {
			continue
		}
		lines := strings.Split(event, "\n")
		require.Len(t, lines, 2, "%q", event)
		name, ok := strings.CutPrefix(lines[0], "event: ")
		require.True(t, ok, "%q", event)
		data, ok := strings.CutPrefix(lines[1], "data: ")
		require.True(t, ok, "%q", event)
		if name != "machines" {
			s.events[name] = append(s.events[name], data)
			continue
		}
		parts := strings.SplitN(data, " ", 3)
		require.Len(t, parts, 3)
		s.epoch = parts[0]
		if parts[1] == "full" {
			s.fulls++
			s.states = []byte(parts[2])
			continue
		}
		require.Equal(t, "diff", parts[1])
		s.diffs++
		s.states = patch(t, s.states, parts[2])
	}
}

// patch applies a diff as the package comment describes it.
func patch(t *testing.T, states []byte, diff string) []byte {
	t.Helper()
	states = bytes.Clone(states)
	at := 0
	for len(diff) > 0 {
		gap, place := 0, 1
		for {
			require.NotEmpty(t, diff)
			digit := int(diff[0] - '!')
			diff = diff[1:]
			gap += digit % 46 * place
			place *= 46
			if digit < 46 {
				break
			}
		}
		require.NotEmpty(t, diff)
		at += gap
		require.Less(t, at, len(states))
		states[at] = diff[0]
		diff = diff[1:]
		at++
	}
	return states
}

// watch opens a stream in the background. The stream ends with stop.
func watch(h http.Handler, query string) (s *screen, stop func()) {
	s = newScreen()
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		h.ServeHTTP(s, httptest.NewRequestWithContext(ctx, http.MethodGet, "/cell/stream"+query, nil))
	}()
	return s, func() { cancel(); <-ended }
}

// ask returns the answer to a request.
func ask(h http.Handler, target string, headers ...string) *httptest.ResponseRecorder {
	r := httptest.NewRequest(http.MethodGet, target, nil)
	for i := 0; i < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w
}

// pass lets time pass in a bubble, until all viewers wait for their next frames.
func pass(d time.Duration) {
	<-time.After(d)
	synctest.Wait()
}

func newCell(t testing.TB, machines int) (*omega.Cell, *omega.Scheduler) {
	t.Helper()
	space, err := resources.NewSpace(resources.CPU(), resources.Memory())
	require.NoError(t, err)
	all := make([]omega.Machine, machines)
	for i := range all {
		all[i] = omega.Machine{Name: fmt.Sprintf("m%05d", i), Capacity: resources.Vector{8000, 64 << 30}}
	}
	cell, err := omega.NewCell(omega.Config{Space: space, Machines: all})
	require.NoError(t, err)
	s, err := cell.Register("batch", omega.Limits{})
	require.NoError(t, err)
	return cell, s
}

// claim is granted a need on a machine.
func claim(t testing.TB, s *omega.Scheduler, machine string, need resources.Vector, account string) omega.AllocationID {
	t.Helper()
	m, ok := s.Cell().Machine(machine)
	require.True(t, ok)
	var a omega.Account
	if account != "" {
		var err error
		a, err = s.Cell().Account(t.Context(), account)
		require.NoError(t, err)
	}
	var tx omega.Txn
	tx.Claim(omega.Claim{Machine: m, Need: need, Account: a})
	granted, err := s.Commit(&tx)
	require.NoError(t, err)
	require.Equal(t, 1, granted)
	id, ok := tx.Allocation(0)
	require.True(t, ok)
	return id
}
