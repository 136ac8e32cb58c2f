package view

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"path"
	"strings"
	"time"

	"github.com/cellsched/cellsched/omega"
	"github.com/cellsched/cellsched/omega/loop"
	"github.com/cellsched/cellsched/omega/observe"
	"github.com/cellsched/cellsched/omega/pool"
)

//go:embed page.html
var page string

//go:embed view.js
var script string

//go:embed view.css
var style string

// Config lists the engines that a handler shows. The zero Config shows nothing.
type Config struct {
	// Cell is shown as a map of its machines. Nil: the map has the machines of Pools.
	Cell *omega.Cell
	// Current, if not nil, returns the cell to show in place of Cell, for a program that
	// restores one. It must not block.
	Current func() *omega.Cell
	// Pools are shown with their tenants and waiters, by name.
	Pools map[string]*pool.Pool
	// Loops are schedulers to show with their statistics, by name.
	Loops map[string]Loop
	// Sources are other engines to show with their counts, by name: the Stats method of a
	// master of offers or of a flow scheduler. The schedulers of the cell are shown anyway.
	// A call runs in a goroutine of its own, one at a time for each source. While it waits,
	// the last answer is shown.
	Sources map[string]func() observe.Counts
	// Events adds the events of a stream to the events of Pools, such as the Events of a
	// [loop.Config], flow.Config or offers.Config. A cell has none. Nil: the page shows each
	// second how many claims of each scheduler of the cell were refused, by reason, and how
	// many of its allocations were preempted.
	Events *observe.Stream
	// Filter, if not nil, returns the text to show in place of a name, for example a hash
	// or nothing at all. Kind is "machine", "attribute", "pool", "tenant", "label",
	// "account", "scheduler", or "reason" for the texts of waits and errors, which quote names. It
	// must not block and is called from one goroutine at a time.
	Filter func(kind, text string) string
	// Viewers is how many streams may be open at a time; one more is refused with status
	// 503. 0 means 32.
	Viewers int
	// Timeout is how long the viewer of a stream may take nothing before it is dropped, and
	// how long the client of any other answer may take for all of it. It holds in place of
	// the server's WriteTimeout. 0 means ten seconds.
	Timeout time.Duration
}

// Loop is a scheduler with statistics, as [loop.Loop] is.
type Loop interface {
	Stats() loop.Stats
}

// Limits of frames and answers.
const (
	every       = 250 * time.Millisecond // a frame
	overviews   = time.Second            // tenants, waiters and loops
	maxViewers  = 32
	maxAnswers  = 64 // in progress at a time, without streams
	writeWithin = 10 * time.Second
	maxRows     = 50   // tenants, accounts or waiters of the overview
	maxListed   = 1000 // machines or allocations of an answer
	maxText     = 256  // bytes of a name
	maxReason   = 1024 // bytes of a reason
)

// Handler returns a handler that shows the engines of cfg: see the package comment for
// its paths. It is safe for concurrent use.
//
// Cost with viewers: four frames a second, however many viewers there are, and never more
// than a tenth of one CPU. A frame is O(machines changed), and one byte a machine for
// each kind of resource. Pools are asked for their [pool.Pool.Stats] and
// [pool.Pool.Waiters] once a second, and less often where that takes long.
func Handler(cfg Config) http.Handler {
	if cfg.Viewers <= 0 {
		cfg.Viewers = maxViewers
	}
	if cfg.Timeout <= 0 {
		cfg.Timeout = writeWithin
	}
	return &handler{cfg: cfg, source: newSource(cfg), ending: make(map[*http.Server]chan struct{})}
}

// policy lets the page load from this handler only.
const policy = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src data:; " +
	"base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

// ServeHTTP answers one request.
func (h *handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	head := w.Header()
	head.Set("Content-Security-Policy", policy)
	head.Set("X-Content-Type-Options", "nosniff")
	head.Set("Referrer-Policy", "no-referrer")
	head.Set("Cross-Origin-Resource-Policy", "same-origin")
	head.Set("Cache-Control", "no-store")
	name := r.URL.Path[strings.LastIndexByte(r.URL.Path, '/')+1:]
	if name == "stream" {
		h.answer(w, r, name) // it bounds itself
		return
	}
	defer h.answers.Add(-1)
	full := h.answers.Add(1) > maxAnswers
	t := timed{w, http.NewResponseController(w), h.cfg.Timeout}
	t.extend() // also for an answer without a body; the server lifts the deadline afterwards
	if full {
		head.Set("Retry-After", "5")
		refuse(t, http.StatusServiceUnavailable, "%d answers in progress, want %d at most", maxAnswers, maxAnswers)
		return
	}
	h.answer(t, r, name)
}

// timed is the writer of an answer that the client has to take in time. A server that
// sets no time limit for writes leaves that to the bound of answers.
type timed struct {
	http.ResponseWriter
	control *http.ResponseController
	within  time.Duration
}

// Write writes with a deadline of its own: the time to make the answer does not count.
func (t timed) Write(p []byte) (int, error) {
	t.extend()
	return t.ResponseWriter.Write(p)
}

// extend sets the deadline anew.
func (t timed) extend() { _ = t.control.SetWriteDeadline(time.Now().Add(t.within)) }

// Unwrap is for [http.ResponseController].
func (t timed) Unwrap() http.ResponseWriter { return t.ResponseWriter }

// answer answers a request for a path.
func (h *handler) answer(w http.ResponseWriter, r *http.Request, name string) {
	head := w.Header()
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		head.Set("Allow", "GET, HEAD")
		refuse(w, http.StatusMethodNotAllowed, "method %s, want GET or HEAD", r.Method)
		return
	}
	// A page of another site cannot read an answer. But its requests could take the
	// places of viewers.
	if site := r.Header.Get("Sec-Fetch-Site"); (site == "cross-site" || site == "same-site") && r.Header.Get("Sec-Fetch-Mode") != "navigate" {
		refuse(w, http.StatusForbidden, "a request of another site")
		return
	}
	switch {
	case r.URL.Path == "" && !strings.HasSuffix(asked(r), "/"):
		// StripPrefix has left nothing. Without a slash relative URLs would lead astray.
		head.Set("Location", "./"+url.PathEscape(path.Base(asked(r)))+"/")
		w.WriteHeader(http.StatusMovedPermanently)
	case name == "":
		h.index(w, r)
	case name == "view.js":
		serve(w, r, "text/javascript; charset=utf-8", script)
	case name == "view.css":
		serve(w, r, "text/css; charset=utf-8", style)
	case name == "machines":
		h.machines(w, r)
	case name == "machine":
		h.machine(w, r)
	case name == "stream":
		h.stream(w, r)
	default:
		refuse(w, http.StatusNotFound, "no path of that name, want machines, machine or stream")
	}
}

// asked returns the path as the client has written it.
func asked(r *http.Request) string {
	u, err := url.ParseRequestURI(r.RequestURI)
	if err != nil {
		return "/"
	}
	return u.Path
}

// index serves the page, or the overview as JSON.
func (h *handler) index(w http.ResponseWriter, r *http.Request) {
	w.Header().Add("Vary", "Accept")
	format := r.URL.Query().Get("format")
	switch {
	case format == "json", format == "" && wantsJSON(r.Header.Get("Accept")):
		serve(w, r, jsonType, string(h.source.frame().overview))
	case format == "", format == "html":
		serve(w, r, "text/html; charset=utf-8", page)
	default:
		refuse(w, http.StatusBadRequest, "format %.20q, want json or html", format)
	}
}

// wantsJSON reports whether a header names JSON, and HTML not before it.
func wantsJSON(accept string) bool {
	json := strings.Index(accept, "application/json")
	html := strings.Index(accept, "text/html")
	return json >= 0 && (html < 0 || json < html)
}

const jsonType = "application/json"

// serve writes a body, of a HEAD request its length alone.
func serve(w http.ResponseWriter, r *http.Request, kind, body string) {
	w.Header().Set("Content-Type", kind)
	w.Header().Set("Content-Length", fmt.Sprint(len(body)))
	if r.Method == http.MethodHead {
		return
	}
	_, _ = w.Write([]byte(body)) // the viewer has gone
}

// serveJSON writes a value.
func serveJSON(w http.ResponseWriter, r *http.Request, v any) {
	body, err := json.Marshal(v)
	if err != nil {
		refuse(w, http.StatusInternalServerError, "%v", err)
		return
	}
	serve(w, r, jsonType, string(body)+"\n")
}

// refuse answers with a status and the reason.
func refuse(w http.ResponseWriter, status int, format string, args ...any) {
	http.Error(w, fmt.Sprintf("view: "+format, args...), status)
}
