package view

import (
	"bytes"
	"encoding/json"
	"net/http"
	"slices"
	"strconv"
	"time"
)

// idle is the longest silence of a stream: then it sends a comment, by which it finds out
// whether the viewer is still there.
const idle = 15 * time.Second

// stream sends frames to a viewer until it goes, takes nothing for the timeout, or the
// server shuts down.
func (h *handler) stream(w http.ResponseWriter, r *http.Request) {
	by := r.URL.Query().Get("by")
	f := h.source.frame()
	colour := f.colour(by)
	if colour < 0 {
		refuse(w, http.StatusBadRequest, "by %.40q, want one of %q", by, f.colours)
		return
	}
	w.Header().Set("Content-Type", "text/event-stream")
	w.Header().Set("X-Accel-Buffering", "no") // of a proxy
	if r.Method == http.MethodHead {
		return
	}
	c := http.NewResponseController(w)
	if err := c.SetWriteDeadline(time.Now().Add(h.cfg.Timeout)); err != nil {
		// One that stops reading would hold its place for ever.
		w.Header().Del("Content-Type")
		refuse(w, http.StatusNotImplemented, "the server sets no time limit for writes: %v", err)
		return
	}
	leave, ok := h.source.enter(by == "owner")
	if !ok {
		w.Header().Del("Content-Type")
		w.Header().Set("Retry-After", "5")
		refuse(w, http.StatusServiceUnavailable, "%d viewers watch, want %d at most", h.cfg.Viewers, h.cfg.Viewers)
		return
	}
	defer leave()
	ending := h.endOf(r)
	tick := time.NewTicker(every)
	defer tick.Stop()
	v := viewer{by: by}
	var buf []byte
	for wrote := time.Now(); ; {
		now := time.Now()
		if buf = v.append(buf[:0], h.source.frame()); len(buf) == 0 && now.Sub(wrote) >= idle {
			buf = append(buf, ":\n\n"...)
		}
		if len(buf) > 0 {
			wrote = now
			if c.SetWriteDeadline(now.Add(h.cfg.Timeout)) != nil {
				return
			}
			if _, err := w.Write(buf); err != nil {
				return
			}
			if err := c.Flush(); err != nil {
				return
			}
		}
		select {
		case <-tick.C:
		case <-r.Context().Done():
			return
		case <-ending:
			return
		}
	}
}

// endOf returns a channel that is closed when the server of a request shuts down: it would
// wait for streams. Nil: the server is not known.
func (h *handler) endOf(r *http.Request) <-chan struct{} {
	server, ok := r.Context().Value(http.ServerContextKey).(*http.Server)
	if !ok || server == nil {
		return nil
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.ending[server] == nil {
		end := make(chan struct{})
		h.ending[server] = end
		server.RegisterOnShutdown(func() { h.end(server, end) })
	}
	return h.ending[server]
}

// end ends the streams of a server.
func (h *handler) end(server *http.Server, ending chan struct{}) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.ending[server] == ending {
		close(ending)
		closed := make(chan struct{})
		close(closed)
		h.ending[server] = closed // of streams that come yet, and of a second Shutdown
	}
}

// viewer keeps the state that a stream has sent. A slow viewer skips frames: it gets the
// last one when it reads.
type viewer struct {
	by       string
	epoch    uint64
	states   []byte
	owners   int
	overview []byte
	told     uint64
	begun    bool
}

// append appends the differences between a frame and the last one.
func (v *viewer) append(to []byte, f *frame) []byte {
	var now []byte
	if colour := f.colour(v.by); colour >= 0 { // another cell may have other kinds
		now = f.states[colour]
	}
	fresh := !v.begun || v.epoch != f.epoch
	if fresh || len(v.states) != len(now) {
		to = appendHead(to, f.epoch, " full ")
		to = append(to, now...)
		to = append(to, '\n', '\n')
	} else if len(now) > 0 && &v.states[0] != &now[0] {
		mark := len(to)
		to = appendHead(to, f.epoch, " diff ")
		head := len(to)
		var ok bool
		to, ok = appendDiff(to, v.states, now, len(now))
		if !ok {
			to = append(appendHead(to[:mark], f.epoch, " full "), now...)
		}
		if ok && len(to) == head {
			to = to[:mark]
		} else {
			to = append(to, '\n', '\n')
		}
	}
	if v.by == "owner" && (fresh || v.owners != len(f.owners)) {
		v.owners = len(f.owners)
		to = appendEvent(to, "owners", append([]string{}, f.owners...))
	}
	if fresh || !bytes.Equal(v.overview, f.overview) {
		to = append(to, "event: overview\ndata: "...)
		to = append(to, f.overview...) // with a line end
		to = append(to, '\n')
	}
	if n := f.told - v.told; v.begun && n > 0 {
		to = appendEvent(to, "decisions", f.recent[max(len(f.recent)-int(min(n, keptDecisions)), 0):])
	}
	v.begun, v.epoch, v.states, v.overview, v.told = true, f.epoch, now, f.overview, f.told
	return to
}

// appendHead appends the beginning of an event with states.
func appendHead(to []byte, epoch uint64, form string) []byte {
	to = append(to, "event: machines\ndata: "...)
	to = strconv.AppendUint(to, epoch, 10)
	return append(to, form...)
}

// appendEvent appends an event with JSON, which has no line ends.
func appendEvent(to []byte, name string, v any) []byte {
	body, err := json.Marshal(v)
	if err != nil { // no value of it can fail
		return to
	}
	to = slices.Concat(to, []byte("event: "), []byte(name), []byte("\ndata: "), body)
	return append(to, '\n', '\n')
}
