package main

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cellsched/cellsched/omega"
	"github.com/cellsched/cellsched/omega/pool"
	"github.com/cellsched/cellsched/omega/view"
	"github.com/cellsched/cellsched/resources"
)

func TestShow_PrintsWhatThePageShows(t *testing.T) {
	space, err := resources.NewSpace(resources.CPU())
	require.NoError(t, err)
	cell, err := omega.NewCell(omega.Config{Space: space, Machines: []omega.Machine{{Name: "a", Capacity: resources.Vector{4000}}}})
	require.NoError(t, err)
	p, err := pool.New(pool.Config{Space: space, Machines: []omega.Machine{{Name: "host", Capacity: resources.Vector{1000}}}})
	require.NoError(t, err)
	lease, err := p.Acquire(context.Background(), "web", resources.Vector{1000})
	require.NoError(t, err)
	defer lease.Release()
	server := httptest.NewServer(view.Handler(view.Config{
		Cell: cell, Pools: map[string]*pool.Pool{"front": p},
		Filter: func(kind, text string) string {
			if kind == "tenant" {
				return "\x1b[2J\n" + text
			}
			return text
		},
	}))
	defer server.Close()
	o, err := get(t.Context(), server.URL+"/")
	require.NoError(t, err)
	var out strings.Builder
	show(&out, o)
	require.Contains(t, out.String(), "1 machines, 0 draining, 0 allocations; cpu 0 of 4")
	require.Contains(t, out.String(), "front: 1 leases, 0 waiting")
	require.Contains(t, out.String(), `\x1b[2J\nweb  1       100.0%  100.0%  1`)
	require.NotContains(t, out.String(), "\x1b", "a name does not steer the terminal")
}

func TestGet_RefusesWhatIsNoPage(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/gone/" {
			http.NotFound(w, r)
			return
		}
		_, _ = w.Write([]byte("<html>"))
	}))
	defer server.Close()
	_, err := get(t.Context(), server.URL+"/")
	require.ErrorContains(t, err, "is not a page of package view")
	_, err = get(t.Context(), server.URL+"/gone/")
	require.ErrorContains(t, err, "404")
}

func TestPlain_LeavesOutWhatSteersATerminal(t *testing.T) {
	for text, want := range map[string]string{
		"web": "web", `a"b`: `a"b`, "größe": "größe", "a\nb": `a\nb`, "\x1b]0;x\a": `\x1b]0;x\a`, "": "",
		strings.Repeat("ß", 100): strings.Repeat("ß", 59) + "…",
	} {
		require.Equal(t, want, plain(text))
	}
}
