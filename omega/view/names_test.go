package view_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/cellsched/cellsched/omega"
	"github.com/cellsched/cellsched/omega/pool"
	"github.com/cellsched/cellsched/omega/view"
	"github.com/cellsched/cellsched/resources"
)

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

// A name of any length takes no more than its place on the page.
func TestNames_AreCutWhereTheyAreLong(t *testing.T) {
	cell, _ := newCell(t, 1)
	for text, want := range map[string]string{
		strings.Repeat("a", 256):    strings.Repeat("a", 256),
		strings.Repeat("a", 257):    strings.Repeat("a", 253) + "…",
		strings.Repeat("ß", 10_000): strings.Repeat("ß", 126) + "…",
		"":                          "",
	} {
		h := view.Handler(view.Config{Cell: cell, Filter: func(string, string) string { return text }})
		var m struct{ Name string }
		require.NoError(t, json.Unmarshal(ask(h, "/machine?n=0").Body.Bytes(), &m))
		require.Equal(t, want, m.Name)
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
