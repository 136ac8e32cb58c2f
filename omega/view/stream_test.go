package view_test

import (
	"bytes"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/cellsched/cellsched/omega"
	"github.com/cellsched/cellsched/omega/observe"
	"github.com/cellsched/cellsched/omega/pool"
	"github.com/cellsched/cellsched/omega/view"
	"github.com/cellsched/cellsched/resources"
)

func TestStream_EndsWhenTheServerShutsDown(t *testing.T) {
	cell, _ := newCell(t, 10)
	server := httptest.NewServer(view.Handler(view.Config{Cell: cell}))
	defer server.Close()
	answer, err := http.Get(server.URL + "/stream")
	require.NoError(t, err)
	defer answer.Body.Close()
	first := make([]byte, 6)
	_, err = io.ReadFull(answer.Body, first)
	require.NoError(t, err)
	require.Equal(t, "event:", string(first))
	require.NoError(t, server.Config.Shutdown(t.Context()))
	_, err = io.Copy(io.Discard, answer.Body)
	require.NoError(t, err, "the stream ends in order")
	http.DefaultClient.CloseIdleConnections()
}

// pipes is a listener of connections without a buffer: a write waits for a read.
type pipes struct {
	conns chan net.Conn
	done  chan struct{}
}

func (p *pipes) Accept() (net.Conn, error) {
	select {
	case c := <-p.conns:
		return c, nil
	case <-p.done:
		return nil, net.ErrClosed
	}
}
func (p *pipes) Close() error   { close(p.done); return nil }
func (p *pipes) Addr() net.Addr { return &net.IPAddr{} }

func TestStream_DropsAViewerThatStopsReading(t *testing.T) {
	cell, s := newCell(t, 10)
	synctest.Test(t, func(t *testing.T) {
		h := view.Handler(view.Config{Cell: cell, Viewers: 2, Timeout: 3 * time.Second})
		listener := &pipes{make(chan net.Conn), make(chan struct{})}
		server := &http.Server{Handler: h}
		served := make(chan struct{})
		go func() { defer close(served); _ = server.Serve(listener) }()
		here, there := net.Pipe()
		listener.conns <- there
		_, err := io.WriteString(here, "GET /stream HTTP/1.1\r\nHost: x\r\n\r\n")
		require.NoError(t, err)
		_, err = io.ReadFull(here, make([]byte, 100)) // and then nothing any more
		require.NoError(t, err)
		began := time.Now()

		second, stop := watch(h, "")
		pass(time.Second)
		claim(t, s, "m00003", resources.Vector{8000, 0}, "")
		pass(time.Second)
		second.read(t)
		require.Equal(t, byte('q'), second.states[3], "the other viewer is not held back")
		third, stopThird := watch(h, "")
		synctest.Wait()
		require.Equal(t, 503, third.status)
		stopThird()

		_, err = io.Copy(io.Discard, onlyClosed{here})
		require.Error(t, err)
		pass(3 * time.Second)
		third, stopThird = watch(h, "")
		pass(time.Second)
		third.read(t)
		require.Equal(t, 200, third.status, "its place is free after %v", time.Since(began))
		stopThird()
		stop()
		require.NoError(t, here.Close())
		require.NoError(t, server.Close())
		<-served
	})
}

// onlyClosed is a reader that fails at once.
type onlyClosed struct{ net.Conn }

func (onlyClosed) Read([]byte) (int, error) { return 0, net.ErrClosed }

func TestStream_RefusesViewersBeyondTheBound(t *testing.T) {
	cell, _ := newCell(t, 10)
	synctest.Test(t, func(t *testing.T) {
		h := view.Handler(view.Config{Cell: cell})
		const viewers, bound = 1000, 32
		screens, stops := make([]*screen, viewers), make([]func(), viewers)
		for i := range screens {
			screens[i], stops[i] = watch(h, "")
		}
		pass(time.Second)
		served := 0
		for i, s := range screens {
			if s.status == 200 {
				served++
				continue
			}
			require.Equal(t, 503, s.status)
			require.Equal(t, "view: 32 viewers watch, want 32 at most\n", s.refusal)
			require.NotEmpty(t, s.head.Get("Retry-After"))
			stops[i]()
		}
		require.Equal(t, bound, served)
		for _, stop := range stops {
			stop()
		}
		again, stop := watch(h, "")
		pass(time.Second)
		stop()
		require.Equal(t, 200, again.status, "places are free again")
	})
}

func TestStream_RefusesAServerWithoutWriteDeadlines(t *testing.T) {
	cell, _ := newCell(t, 1)
	w := ask(view.Handler(view.Config{Cell: cell}), "/stream")
	require.Equal(t, http.StatusNotImplemented, w.Code)
	require.Contains(t, w.Body.String(), "time limit for writes")
}

// A viewer gets four frames a second at most, however fast the cell changes.
func TestStream_SendsFourFramesASecond(t *testing.T) {
	cell, s := newCell(t, 10)
	synctest.Test(t, func(t *testing.T) {
		viewer, stop := watch(view.Handler(view.Config{Cell: cell}), "")
		pass(time.Millisecond)
		for range 1000 { // ten seconds
			claim(t, s, "m00001", resources.Vector{1}, "")
			pass(5 * time.Millisecond)
			claim(t, s, "m00002", resources.Vector{8}, "")
			pass(5 * time.Millisecond)
		}
		stop()
		viewer.read(t)
		require.Equal(t, 1, viewer.fulls)
		require.LessOrEqual(t, viewer.diffs, 40)
		require.Positive(t, viewer.diffs)
	})
}

func TestStream_WorksOnlyWhileThereIsAViewer(t *testing.T) {
	cell, s := newCell(t, 10)
	synctest.Test(t, func(t *testing.T) {
		var own, shared observe.Stream
		p, err := pool.New(pool.Config{Cell: cell, Events: &own})
		require.NoError(t, err)
		q, err := pool.New(pool.Config{Machines: []omega.Machine{{Name: "a", Capacity: resources.Vector{1}}}, Events: &own})
		require.NoError(t, err)
		var asked atomic.Int64
		h := view.Handler(view.Config{
			Cell: cell, Pools: map[string]*pool.Pool{"p": p, "q": q}, Events: &shared,
			Current: func() *omega.Cell { asked.Add(1); return cell },
		})
		require.False(t, own.Active() || shared.Active())
		first, stop := watch(h, "")
		second, stopSecond := watch(h, "")
		pass(time.Second)
		require.True(t, own.Active() && shared.Active())
		require.LessOrEqual(t, asked.Load(), int64(6), "viewers share frames")
		claim(t, s, "m00001", resources.Vector{1}, "")
		_, ok := q.TryAcquire("late", resources.Vector{2})
		require.False(t, ok)
		pass(2 * time.Second)
		stop()
		require.True(t, own.Active())
		stopSecond()
		require.False(t, own.Active() || shared.Active())
		first.read(t)
		second.read(t)
		require.Equal(t, first.events["decisions"], second.events["decisions"])
		require.Len(t, first.events["decisions"], 1)
		require.Equal(t, 1, strings.Count(first.events["decisions"][0], `"kind":"refused"`), "pools that share a stream tell once")
		was := asked.Load()
		pass(time.Hour)
		require.Equal(t, was, asked.Load())
		require.NoError(t, p.Close(t.Context()))
		require.NoError(t, q.Close(t.Context()))
	})
}

// A viewer sees the cell that is the present one, with the machines that it has.
func TestStream_FollowsACellThatGrowsShrinksAndIsRestored(t *testing.T) {
	cell, s := newCell(t, 5)
	claim(t, s, "m00002", resources.Vector{8000, 0}, "")
	var saved bytes.Buffer
	require.NoError(t, cell.Save(&saved))
	var current atomic.Pointer[omega.Cell]
	current.Store(cell)
	synctest.Test(t, func(t *testing.T) {
		h := view.Handler(view.Config{Current: current.Load})
		w, stop := watch(h, "")
		defer stop()
		see := func() string {
			pass(time.Second)
			w.read(t)
			return string(w.states)
		}
		require.Equal(t, "!!q!!", see())
		_, err := cell.Add(omega.Machine{Name: "new", Capacity: resources.Vector{1}})
		require.NoError(t, err)
		require.Equal(t, "!!q!!!", see())
		for _, name := range []string{"m00002", "m00004"} {
			m, _ := cell.Machine(name)
			require.NoError(t, cell.Drain(m))
			if name == "m00004" {
				require.Equal(t, "!!{!z!", see())
			}
			_, err = cell.Remove(m)
			require.NoError(t, err)
		}
		require.Equal(t, "!!{!{!", see())
		_, err = cell.Add(omega.Machine{Name: "in its place", Capacity: resources.Vector{0, 1}})
		require.NoError(t, err)
		require.Equal(t, 1, strings.Count(see(), "{"))
		epoch := w.epoch
		restored, err := omega.Restore(bytes.NewReader(saved.Bytes()), cell.Space())
		require.NoError(t, err)
		current.Store(restored)
		require.Equal(t, "!!q!!", see())
		require.NotEqual(t, epoch, w.epoch)
		current.Store(nil)
		require.Empty(t, see())
		space, err := resources.NewSpace(resources.Dimension{Name: "slots"})
		require.NoError(t, err)
		other, err := omega.NewCell(omega.Config{Space: space, Machines: []omega.Machine{{Name: "a", Capacity: resources.Vector{1}}}})
		require.NoError(t, err)
		current.Store(other)
		require.Equal(t, "!", see())
		require.Contains(t, w.events["overview"][len(w.events["overview"])-1], `"colours":["dominant","slots","owner"]`)
	})
}

// A cell without a space has as many kinds as its machines.
func TestHandler_ShowsKindsWithoutNames(t *testing.T) {
	cell, err := omega.NewCell(omega.Config{Machines: []omega.Machine{{Name: "a", Capacity: resources.Vector{4, 8}}}})
	require.NoError(t, err)
	synctest.Test(t, func(t *testing.T) {
		w, stop := watch(view.Handler(view.Config{Cell: cell}), "?by=kind1")
		defer stop()
		pass(time.Second)
		w.read(t)
		require.Equal(t, "!", string(w.states))
		require.Contains(t, w.events["overview"][0], `"colours":["dominant","kind0","kind1","owner"],"kinds":[{"name":"kind0","unit":1,"binary":false}`)
		_, err := cell.Add(omega.Machine{Name: "b", Capacity: resources.Vector{2: 1}})
		require.NoError(t, err)
		pass(2 * time.Second)
		w.read(t)
		require.Equal(t, "!|", string(w.states))
		require.Contains(t, w.events["overview"][len(w.events["overview"])-1], `"colours":["dominant","kind0","kind1","kind2","owner"]`)
	})
}

func TestStream_NamesTheOwnersOfMachines(t *testing.T) {
	cell, s := newCell(t, 4)
	claim(t, s, "m00000", resources.Vector{1000, 0}, "search")
	claim(t, s, "m00001", resources.Vector{1000, 0}, "search")
	claim(t, s, "m00001", resources.Vector{0, 32 << 30}, "ads")
	claim(t, s, "m00003", resources.Vector{1000, 0}, "")
	synctest.Test(t, func(t *testing.T) {
		w, stop := watch(view.Handler(view.Config{Cell: cell}), "?by=owner")
		defer stop()
		pass(time.Second)
		w.read(t)
		require.Equal(t, []string{"[]", `["search","ads","batch"]`}[1:], w.events["owners"][len(w.events["owners"])-1:])
		require.Equal(t, "\"#!$", string(w.states))
		claim(t, s, "m00002", resources.Vector{1, 0}, "ads")
		pass(time.Second)
		w.read(t)
		require.Equal(t, "\"##$", string(w.states))
	})
}

// Of owners with the same share of a machine the first by name has it, in each frame.
func TestStream_NamesTheFirstOfEqualOwners(t *testing.T) {
	cell, s := newCell(t, 30)
	for m := range cell.Machines() {
		for _, account := range []string{"c", "b", "a", "d"} {
			claim(t, s, m.Name, resources.Vector{1000, 0}, account)
		}
	}
	synctest.Test(t, func(t *testing.T) {
		w, stop := watch(view.Handler(view.Config{Cell: cell}), "?by=owner")
		defer stop()
		pass(time.Second)
		w.read(t)
		require.Equal(t, []string{`["a"]`}, w.events["owners"][len(w.events["owners"])-1:])
		require.Equal(t, strings.Repeat("\"", 30), string(w.states))
	})
}

// Another cell has other owners, even if there are as many.
func TestStream_NamesTheOwnersOfAnotherCell(t *testing.T) {
	var current atomic.Pointer[omega.Cell]
	cells := map[string]*omega.Cell{}
	for _, name := range []string{"before", "after"} {
		cell, s := newCell(t, 1)
		claim(t, s, "m00000", resources.Vector{1, 0}, name)
		cells[name] = cell
	}
	current.Store(cells["before"])
	synctest.Test(t, func(t *testing.T) {
		w, stop := watch(view.Handler(view.Config{Current: current.Load}), "?by=owner")
		defer stop()
		for _, name := range []string{"before", "after"} {
			current.Store(cells[name])
			pass(2 * time.Second)
			w.read(t)
			require.Equal(t, []string{`["` + name + `"]`}, w.events["owners"][len(w.events["owners"])-1:])
			require.Equal(t, "\"", string(w.states))
		}
	})
}
