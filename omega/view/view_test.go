package view_test

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
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

// The totals are those of the machines that the cell has, through all that changes them.
func TestOverview_TotalsFollowTheCell(t *testing.T) {
	cell, s := newCell(t, 4)
	synctest.Test(t, func(t *testing.T) {
		h := view.Handler(view.Config{Cell: cell})
		_, stop := watch(h, "")
		defer stop()
		id := func(name string) omega.MachineID {
			m, ok := cell.Machine(name)
			require.True(t, ok)
			return m
		}
		for _, change := range []func(){
			func() {},
			func() { claim(t, s, "m00001", resources.Vector{2000, 1 << 30}, "") },
			func() { claim(t, s, "m00001", resources.Vector{3000, 1 << 30}, "") },
			func() { require.NoError(t, cell.Drain(id("m00002"))) },
			func() {
				_, err := cell.Remove(id("m00002"))
				require.NoError(t, err)
			},
			func() {
				_, err := cell.Add(omega.Machine{Name: "new", Capacity: resources.Vector{1000, 2 << 30}})
				require.NoError(t, err)
			},
			func() { require.NoError(t, cell.SetCapacity(id("m00003"), resources.Vector{500, 1 << 30})) },
		} {
			change()
			pass(2 * time.Second)
			type totals struct {
				Machines, Draining, Allocations int
				Capacity, Free                  map[string]int64
			}
			want := totals{Capacity: map[string]int64{}, Free: map[string]int64{}}
			for m := range cell.Machines() {
				want.Machines++
				want.Allocations += m.Live
				if m.Condition == omega.Draining {
					want.Draining++
				}
				for k, kind := range []string{"cpu", "memory"} {
					want.Capacity[kind] += m.Capacity[k]
					want.Free[kind] += m.Free[k]
				}
			}
			var got totals
			require.NoError(t, json.Unmarshal(ask(h, "/?format=json").Body.Bytes(), &got))
			require.Equal(t, want, got)
		}
	})
}
