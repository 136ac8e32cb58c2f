package journal_test

import (
	"context"
	"iter"
	"sync"

	"github.com/cellsched/cellsched/omega/journal"
)

// gate is a store in which new calls wait while it is shut.
type gate struct {
	journal.Store
	mu   sync.Mutex
	shut chan struct{} // nil while it is open
}

func (g *gate) set(shut bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if shut {
		g.shut = make(chan struct{})
	} else {
		close(g.shut)
		g.shut = nil
	}
}

func (g *gate) pass(ctx context.Context) {
	g.mu.Lock()
	shut := g.shut
	g.mu.Unlock()
	if shut != nil {
		select {
		case <-shut:
		case <-ctx.Done():
		}
	}
}

func (g *gate) Append(ctx context.Context, entry []byte) error {
	g.pass(ctx)
	return g.Store.Append(ctx, entry)
}

func (g *gate) Read(ctx context.Context, after journal.Position) iter.Seq2[journal.Entry, error] {
	return func(yield func(journal.Entry, error) bool) {
		for e, err := range g.Store.Read(ctx, after) {
			if g.pass(ctx); !yield(e, err) {
				return
			}
		}
	}
}
