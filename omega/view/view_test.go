package view_test

import (
	"bytes"
	"context"
	"encoding/json"
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
	"go.uber.org/goleak"

	"github.com/cellsched/cellsched/omega"
	"github.com/cellsched/cellsched/omega/observe"
	"github.com/cellsched/cellsched/omega/pool"
	"github.com/cellsched/cellsched/omega/view"
	"github.com/cellsched/cellsched/resources"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestHandler_AnswersItsPathsWhereverItIsMounted(t *testing.T) {
	cell, _ := newCell(t, 3)
	h := view.Handler(view.Config{Cell: cell})
	mounts := map[string]struct {
		handler http.Handler
		prefix  string
	}{
		"with its prefix":              {h, "/admin/cell/"},
		"at the root":                  {h, "/"},
		"prefix stripped":              {http.StripPrefix("/admin/cell", h), "/admin/cell/"},
		"prefix stripped with a slash": {http.StripPrefix("/admin/cell/", h), "/admin/cell/"},
	}
	paths := map[string]struct {
		status int
		kind   string
	}{
		"":                       {200, "text/html; charset=utf-8"},
		"?format=html":           {200, "text/html; charset=utf-8"},
		"?format=json":           {200, "application/json"},
		"view.js":                {200, "text/javascript; charset=utf-8"},
		"view.css":               {200, "text/css; charset=utf-8"},
		"machines":               {200, "application/json"},
		"machine?n=2":            {200, "application/json"},
		"machine?n=3":            {404, "text/plain; charset=utf-8"},
		"machine?n=-1":           {400, "text/plain; charset=utf-8"},
		"machine?n=99999999999":  {400, "text/plain; charset=utf-8"},
		"machines?from=x":        {400, "text/plain; charset=utf-8"},
		"?format=xml":            {400, "text/plain; charset=utf-8"},
		"stream?by=nothing":      {400, "text/plain; charset=utf-8"},
		"favicon.ico":            {404, "text/plain; charset=utf-8"},
		"page.html":              {404, "text/plain; charset=utf-8"},
		"..%2f..%2fsecret":       {404, "text/plain; charset=utf-8"},
		"machine/%3Cscript%3E":   {404, "text/plain; charset=utf-8"},
		"view.js?format=ignored": {200, "text/javascript; charset=utf-8"},
	}
	for mount, m := range mounts {
		for path, want := range paths {
			w := ask(m.handler, m.prefix+path)
			require.Equal(t, want.status, w.Code, "%s: %s: %s", mount, path, w.Body)
			require.Equal(t, want.kind, w.Header().Get("Content-Type"), "%s: %s", mount, path)
		}
	}
	for _, target := range []string{"/admin/cell", "/admin/cell?format=json"} {
		w := ask(http.StripPrefix("/admin/cell", h), target)
		require.Equal(t, 301, w.Code)
		require.Equal(t, "./cell/", w.Header().Get("Location"))
	}
}

func TestHandler_AnswersScriptsThatAskForJSON(t *testing.T) {
	cell, _ := newCell(t, 1)
	h := view.Handler(view.Config{Cell: cell})
	browser := "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8"
	for accept, json := range map[string]bool{"application/json": true, "application/json, text/html": true, browser: false, "*/*": false, "": false} {
		w := ask(h, "/", "Accept", accept)
		require.Equal(t, json, w.Header().Get("Content-Type") == "application/json", accept)
		require.Equal(t, "Accept", w.Header().Get("Vary"))
	}
}

func TestHandler_IsReadOnlyAndForItsOwnSite(t *testing.T) {
	cell, _ := newCell(t, 1)
	h := view.Handler(view.Config{Cell: cell})
	for _, method := range []string{"POST", "PUT", "PATCH", "DELETE", "OPTIONS", "CONNECT", "TRACE", "PROPFIND", "get"} {
		w := httptest.NewRecorder()
		h.ServeHTTP(w, httptest.NewRequest(method, "/", strings.NewReader("x")))
		require.Equal(t, http.StatusMethodNotAllowed, w.Code, method)
		require.Equal(t, "GET, HEAD", w.Header().Get("Allow"))
	}
	for _, path := range []string{"/", "/?format=json", "/view.js", "/machine?n=0", "/nothing", "/stream?by=x"} {
		w := ask(h, path)
		policy := w.Header().Get("Content-Security-Policy")
		require.Contains(t, policy, "default-src 'none'")
		require.NotContains(t, policy, "unsafe")
		require.Equal(t, "nosniff", w.Header().Get("X-Content-Type-Options"))
		require.Equal(t, "no-store", w.Header().Get("Cache-Control"))
		for key := range w.Header() {
			require.NotContains(t, key, "Access-Control", path)
		}
	}
	for site, status := range map[string]int{"same-origin": 200, "none": 200, "": 200, "cross-site": 403, "same-site": 403} {
		require.Equal(t, status, ask(h, "/machines", "Sec-Fetch-Site", site, "Sec-Fetch-Mode", "no-cors").Code, site)
	}
	require.Equal(t, 200, ask(h, "/", "Sec-Fetch-Site", "cross-site", "Sec-Fetch-Mode", "navigate").Code, "a link to the page")
}

func TestHandler_AnswersHeadWithoutABody(t *testing.T) {
	cell, _ := newCell(t, 1)
	h := view.Handler(view.Config{Cell: cell})
	for _, path := range []string{"/", "/?format=json", "/view.css", "/machine?n=0", "/machines", "/stream"} {
		w := httptest.NewRecorder()
		h.ServeHTTP(w, httptest.NewRequest(http.MethodHead, path, nil))
		require.Equal(t, 200, w.Code, path)
		require.Zero(t, w.Body.Len(), path)
	}
}

// The page has no script or style of its own: the policy would not let it run.
func TestPage_HasNoInlineScriptOrStyle(t *testing.T) {
	page := ask(view.Handler(view.Config{}), "/").Body.String()
	require.Equal(t, 1, strings.Count(page, "<script"))
	require.Contains(t, page, `<script src="view.js" defer></script>`)
	for _, part := range []string{"style=", "onclick", "onload", "<style", "http:", "https:", `src="/`, `href="/`} {
		require.NotContains(t, page, part)
	}
	script := ask(view.Handler(view.Config{}), "/view.js").Body.String()
	for _, part := range []string{"innerHTML", "outerHTML", "insertAdjacent", "document.write", "eval(", "new Function", "http:", "https:"} {
		require.NotContains(t, script, part)
	}
}

func TestHandler_ShowsNothingOfNothing(t *testing.T) {
	for name, cfg := range map[string]view.Config{
		"zero":          {},
		"zero cell":     {Cell: &omega.Cell{}},
		"no cell now":   {Current: func() *omega.Cell { return nil }},
		"zero pool":     {Pools: map[string]*pool.Pool{"a": nil, "b": {}}},
		"nil loop":      {Loops: map[string]view.Loop{"a": nil}},
		"negative":      {Viewers: -1, Timeout: -1},
		"stream closed": {Events: &observe.Stream{}},
	} {
		h := view.Handler(cfg)
		w := ask(h, "/?format=json")
		require.Equal(t, 200, w.Code, name)
		require.True(t, json.Valid(w.Body.Bytes()), name)
		require.JSONEq(t, `{"machines":[]}`, ask(h, "/machines").Body.String(), name)
		require.Equal(t, 404, ask(h, "/machine?n=0").Code, name)
	}
}

func TestOverview_SaysWhatTheCellAndItsPoolsHold(t *testing.T) {
	cell, s := newCell(t, 4)
	claim(t, s, "m00001", resources.Vector{2000, 1 << 30}, "search")
	p, err := pool.New(pool.Config{
		Space: cell.Space(), Machines: []omega.Machine{{Name: "host", Capacity: resources.Vector{4000, 8 << 30}}},
		Tenants: map[string]pool.Settings{"web": {Weight: 3}, "etl": {}},
	})
	require.NoError(t, err)
	lease, err := p.Acquire(t.Context(), "web", resources.Vector{3000, 1 << 30})
	require.NoError(t, err)
	defer lease.Release()
	h := view.Handler(view.Config{Cell: cell, Pools: map[string]*pool.Pool{"front": p}})
	var o struct {
		Machines, Allocations int
		Capacity, Free        map[string]int64
		Colours               []string
		Pools                 []struct {
			Name    string
			Tenants []struct {
				Name               string
				Weight, Share, Due float64
				Held               map[string]int64
				Leases             int
			}
		}
		Accounts []struct {
			Name  string
			Share float64
		}
	}
	require.NoError(t, json.Unmarshal(ask(h, "/?format=json").Body.Bytes(), &o))
	require.Equal(t, 4, o.Machines)
	require.Equal(t, 1, o.Allocations)
	require.EqualValues(t, 32_000, o.Capacity["cpu"])
	require.EqualValues(t, 30_000, o.Free["cpu"])
	require.Equal(t, []string{"dominant", "cpu", "memory", "owner"}, o.Colours)
	require.Equal(t, "search", o.Accounts[0].Name)
	require.Equal(t, 1.0/16, o.Accounts[0].Share)
	web := o.Pools[0].Tenants[1]
	require.Equal(t, "web", web.Name)
	require.Equal(t, 3.0, web.Weight)
	require.Equal(t, 0.75, web.Share)
	require.InDelta(t, 0.75, web.Due, 1e-9, "the other tenant asks for nothing")
	require.Equal(t, map[string]int64{"cpu": 3000, "memory": 1 << 30}, web.Held)

	var m struct {
		Name, Condition string
		Live            []struct {
			Account, Scheduler string
			Share              float64
		}
	}
	require.NoError(t, json.Unmarshal(ask(h, "/machine?n=1").Body.Bytes(), &m))
	require.Equal(t, "m00001", m.Name)
	require.Equal(t, "ready", m.Condition)
	require.Len(t, m.Live, 1)
	require.Equal(t, "search", m.Live[0].Account)
	require.Equal(t, "batch", m.Live[0].Scheduler)
	require.Equal(t, 0.25, m.Live[0].Share)
}

// A pool without a cell is shown with its own machines.
func TestHandler_ShowsThePoolsMachinesWithoutACell(t *testing.T) {
	space, err := resources.NewSpace(resources.CPU())
	require.NoError(t, err)
	p, err := pool.New(pool.Config{Space: space, Machines: []omega.Machine{{Name: "a", Capacity: resources.Vector{1000}}, {Name: "b", Capacity: resources.Vector{1000}}}})
	require.NoError(t, err)
	lease, err := p.Acquire(t.Context(), "web", resources.Vector{500})
	require.NoError(t, err)
	defer lease.Release()
	require.NoError(t, p.DrainMachine("b", true))
	h := view.Handler(view.Config{Pools: map[string]*pool.Pool{"jobs": p}})
	synctest.Test(t, func(t *testing.T) {
		s, stop := watch(h, "?by=cpu")
		pass(time.Second)
		stop()
		s.read(t)
		require.Equal(t, "Iz", string(s.states))
	})
	require.Contains(t, ask(h, "/machine?n=1").Body.String(), `"name":"b","condition":"draining","pool":"jobs"`)
	require.Equal(t, 404, ask(h, "/machine?n=2").Code)
}

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

// hostile are texts that would do harm if the page or a line of a stream took them for
// more than text.
func hostile() []string {
	return []string{
		`<script>alert(1)</script>`, `"><img src=x onerror=alert(1)>`, "a\nevent: machines\ndata: 1 full z\n\n", "a\r\rb", "\u2028x\u2029",
		strings.Repeat("ß", 128), "bad \xff utf-8", "\x00", `\`, "'; DROP TABLE", "{{.}}", "</td>",
	}
}

func TestNames_AreTextWhateverTheyHold(t *testing.T) {
	for _, text := range hostile() {
		cell, s := newCell(t, 1)
		name := text
		if resources.CheckName(text) != nil {
			name = "harmless" // the cell refuses it: the filter brings it
		}
		m, err := cell.Add(omega.Machine{Name: name, Capacity: resources.Vector{1000}, Attributes: map[string]string{"rack": "r"}})
		require.NoError(t, err)
		_ = m
		claim(t, s, name, resources.Vector{1}, name)
		synctest.Test(t, func(t *testing.T) {
			p, err := pool.New(pool.Config{Machines: []omega.Machine{{Name: "host", Capacity: resources.Vector{1}}}})
			require.NoError(t, err)
			lease, err := p.Acquire(context.Background(), name, resources.Vector{1})
			require.NoError(t, err)
			waiting, cancel := context.WithCancel(context.Background())
			waited := make(chan struct{})
			go func() {
				defer close(waited)
				_ = p.Do(waiting, name, pool.Request{Needs: []resources.Vector{{1}}, Label: name}, func(context.Context, []pool.Lease) error { return nil })
			}()
			cfg := view.Config{Cell: cell, Pools: map[string]*pool.Pool{text: p}, Loops: map[string]view.Loop{}}
			cfg.Filter = func(string, string) string { return text }
			h := view.Handler(cfg)
			w, stop := watch(h, "?by=owner")
			pass(time.Second)
			_, ok := p.TryAcquire(name, resources.Vector{1})
			require.False(t, ok)
			pass(time.Second)
			stop()
			w.read(t) // each event has the form of one
			require.Equal(t, "!\"", string(w.states))
			require.NotEmpty(t, w.events["decisions"])
			for name, all := range w.events {
				for _, data := range all {
					require.True(t, json.Valid([]byte(data)), "%s: %q", name, data)
					require.NotContains(t, data, "<", name)
				}
			}
			for _, path := range []string{"/?format=json", "/machine?n=1", "/machines"} {
				w := ask(h, path)
				require.True(t, json.Valid(w.Body.Bytes()), path)
				require.NotContains(t, w.Body.String(), "<", path)
			}
			cancel()
			<-waited
			require.NoError(t, lease.Release())
			require.NoError(t, p.Close(context.Background()))
		})
	}
}

func TestNames_AreShownThroughTheFilter(t *testing.T) {
	const secret = "s3cret"
	cell, s := newCell(t, 1)
	_, err := cell.Add(omega.Machine{Name: secret + "-machine", Capacity: resources.Vector{1000}, Attributes: map[string]string{secret + "-key": secret + "-value"}})
	require.NoError(t, err)
	claim(t, s, secret+"-machine", resources.Vector{1}, secret+"-account")
	synctest.Test(t, func(t *testing.T) {
		p, err := pool.New(pool.Config{Machines: []omega.Machine{{Name: secret + "-host", Capacity: resources.Vector{1}}}})
		require.NoError(t, err)
		lease, err := p.Acquire(context.Background(), secret, resources.Vector{1})
		require.NoError(t, err)
		waiting, cancel := context.WithCancel(context.Background())
		waited := make(chan struct{})
		go func() {
			defer close(waited)
			_ = p.Do(waiting, secret, pool.Request{Needs: []resources.Vector{{1}}, Label: secret + "-label"}, func(context.Context, []pool.Lease) error { return nil })
		}()
		kinds := map[string]bool{}
		h := view.Handler(view.Config{
			Cell: cell, Pools: map[string]*pool.Pool{secret + "-pool": p},
			Filter: func(kind, text string) string { kinds[kind] = true; return strings.ReplaceAll(text, secret, "x") },
		})
		var all strings.Builder
		w, stop := watch(h, "?by=owner")
		pass(time.Second)
		_, ok := p.TryAcquire(secret, resources.Vector{1})
		require.False(t, ok)
		pass(2 * time.Second)
		stop()
		all.WriteString(w.text.String())
		for _, path := range []string{"/?format=json", "/machine?n=1", "/machines"} {
			all.WriteString(ask(h, path).Body.String())
		}
		require.NotContains(t, all.String(), secret)
		for _, want := range []string{"x-machine", "x-key", "x-value", "x-account", "x-label", "x-pool", "x-host"} {
			require.Contains(t, all.String(), want)
		}
		require.Equal(t, map[string]bool{"machine": true, "attribute": true, "pool": true, "tenant": true, "label": true, "account": true, "scheduler": true, "reason": true}, kinds)
		cancel()
		<-waited
		require.NoError(t, lease.Release())
		require.NoError(t, p.Close(context.Background()))
	})
}
