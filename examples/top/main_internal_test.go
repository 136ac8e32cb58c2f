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

func TestShow_PrintsThePage(t *testing.T) {
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
	ours, err := cell.Register("ours", omega.Limits{})
	require.NoError(t, err)
	a, _ := cell.Machine("a")
	for range 2 {
		var tx omega.Txn
		tx.Claim(omega.Claim{Machine: a, Need: resources.Vector{3000}})
		_, err = ours.Commit(&tx)
		require.NoError(t, err)
	}
	var out strings.Builder
	screens := 0
	require.NoError(t, watch(t.Context(), server.URL+"/", func(o *overview) bool {
		out.Reset()
		show(&out, o)
		if screens++; screens == 1 {
			_, ok := p.TryAcquire("adhoc", resources.Vector{1000})
			require.False(t, ok)
		}
		return len(o.Decisions) == 0 && screens < 100
	}))
	require.Regexp(t, `refused +`+`\\x1b\[2J\\nadhoc`, out.String(), "what happened while it watched")
	require.Regexp(t, `ours +2 +1 +0 +0 +0 +0 +0 +1 conflict`, out.String())
	require.Contains(t, out.String(), "1 machines, 0 draining, 1 allocations; cpu 3 of 4")
	require.Contains(t, out.String(), "front: 1 leases, 0 waiting")
	require.Regexp(t, `\\x1b\[2J\\nweb +1 +100.0% +100.0% +1`, out.String())
	require.NotContains(t, out.String(), "\x1b", "a name does not steer the terminal")
}

func TestWatch_RefusesOtherPages(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/gone/stream" {
			http.NotFound(w, r)
			return
		}
		_, _ = w.Write([]byte("<html>"))
	}))
	defer server.Close()
	never := func(*overview) bool { return false }
	require.ErrorContains(t, watch(t.Context(), server.URL+"/", never), "is not a page of package view")
	require.ErrorContains(t, watch(t.Context(), server.URL+"/gone/", never), "404")
}

func TestPlain_LeavesOutControlSequences(t *testing.T) {
	for text, want := range map[string]string{
		"web": "web", `a"b`: `a"b`, "größe": "größe", "a\nb": `a\nb`, "\x1b]0;x\a": `\x1b]0;x\a`, "": "",
		strings.Repeat("ß", 100): strings.Repeat("ß", 59) + "…",
	} {
		require.Equal(t, want, plain(text))
	}
}
