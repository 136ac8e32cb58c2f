// Package serve lets an example show what it does on a page.
//
// An example that is started with -serve ADDRESS shows its page there, under /cell/, and
// stays up after its script until Ctrl-C. Without it an example ends by itself.
package serve

import (
	"context"
	"flag"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/signal"
	"strings"
	"sync"
	"time"

	"github.com/cellsched/cellsched/omega/view"
)

// Page is a server of pages, by path. A nil Page shows nothing. It is safe for concurrent
// use.
type Page struct {
	server *http.Server
	served chan struct{} // closed when server has ended
	out    io.Writer

	mu    sync.Mutex // guards the field below
	pages map[string]http.Handler
}

// Start defines the flag -serve, parses the program's flags, and serves the pages at the
// address of that flag. It returns nil if there is none.
func Start(ctx context.Context) (*Page, error) {
	addr := flag.String("serve", "", "stay up at this address until Ctrl-C, with a page under /cell/")
	flag.Parse()
	if *addr == "" {
		return nil, nil
	}
	return start(ctx, *addr, os.Stderr)
}

// start serves the pages, and writes where.
func start(ctx context.Context, addr string, out io.Writer) (*Page, error) {
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", addr)
	if err != nil {
		return nil, err
	}
	p := &Page{served: make(chan struct{}), out: out, pages: make(map[string]http.Handler)}
	p.server = &http.Server{Handler: p, ReadHeaderTimeout: time.Second}
	go func() {
		defer close(p.served)
		_ = p.server.Serve(listener) // until Stay closes it
	}()
	_, err = fmt.Fprintf(out, "http://%s/cell/\n", listener.Addr())
	return p, err
}

// Show shows what cfg describes at a path such as "/cell/", in place of what was there.
func (p *Page) Show(path string, cfg view.Config) {
	if p == nil {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.pages[path] = view.Handler(cfg)
}

// ServeHTTP serves the page of a path's folder.
func (p *Page) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	p.mu.Lock()
	page := p.pages[r.URL.Path[:strings.LastIndexByte(r.URL.Path, '/')+1]]
	p.mu.Unlock()
	if page == nil {
		http.NotFound(w, r)
		return
	}
	page.ServeHTTP(w, r)
}

// Stay keeps the pages up until Ctrl-C, or until ctx ends, and closes them.
func (p *Page) Stay(ctx context.Context) {
	if p == nil {
		return
	}
	ctx, stop := signal.NotifyContext(ctx, os.Interrupt)
	defer stop()
	_, _ = fmt.Fprintln(p.out, "the script is over; Ctrl-C ends the program")
	<-ctx.Done()
	_ = p.server.Close()
	<-p.served
}
