package journal

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/cellsched/cellsched/omega"
	"github.com/cellsched/cellsched/resources"
)

// Config says how a cell is kept. The zero Config is for a cell that begins without
// machines.
type Config struct {
	// First is the state of the cell if the store is empty. Otherwise it is ignored, but
	// for Space: see [omega.Restore].
	First omega.Config
	// Checkpoint is how many bytes of entries are applied between checkpoints, 0 for 64 MiB.
	Checkpoint int64
	// Retry is the longest wait before an append with an unknown outcome is sent again,
	// 0 for a second. The first wait is a thousandth of that, and each is twice the one before.
	Retry time.Duration
}

// maxEntry is the size beyond which a batch takes no further operation.
const maxEntry = 256 << 10

// Cell is a cell that is kept in a journal. Its changes, and those of its schedulers, wait
// until the store keeps them. All else is as in memory.
//
// Cells are made by [Open]. A Cell is safe for concurrent use.
type Cell struct {
	*omega.Cell
	store Store
	cfg   Config

	life    context.Context //nolint:containedctx // of the goroutines, which end with it
	stop    context.CancelCauseFunc
	running sync.WaitGroup // the applier, and checkpoints
	ending  sync.WaitGroup // the batcher
	wake    chan struct{}  // of capacity 1: there is something to send
	applied chan struct{}  // of capacity 1: the entry in flight was applied

	state state // of the applier

	unsaved int64 // bytes of entries since the last checkpoint

	saving chan struct{} // of capacity 1: has a token while a checkpoint is written

	mu      sync.Mutex // guards what follows
	queue   []sending
	flight  []sending // in the entry that is being appended
	session Position  // 0 until the begin of the session was applied
	number  uint64    // of the entry in flight, or the last one
	checked check     // the last position that was applied, with its checks
	closing bool      // no more is taken
	err     error     // why nothing more is sent
}

// sending is an operation, a call of Sync or one of Checkpoint, on its way.
type sending struct {
	op    *omega.Operation
	done  chan error // of capacity 1, for all but operations
	saves bool
	since time.Time
}

// Open returns the cell that a store keeps, as it is at the end of its entries. An empty
// store gets one as in cfg.First. The cell is kept until Close, or until its journal
// fails: see [Cell.Err]. One process at a time uses a store unless the store says otherwise.
//
// It begins a session in the store, by which the store's entries of this process are told
// from others. Cost: that of [omega.Restore], and that of the operations behind the
// last checkpoint. Errors: [ErrDamaged], [ErrForked], [ErrDiverged], [ErrVersion]; those
// of the store, of [omega.Restore] and of [omega.NewCell]; the cause of ctx.
func Open(ctx context.Context, store Store, cfg Config) (*Cell, error) {
	if store == nil {
		return nil, fmt.Errorf("journal: store: %w", resources.ErrNil)
	}
	if cfg.Checkpoint <= 0 {
		cfg.Checkpoint = 64 << 20
	}
	if cfg.Retry <= 0 {
		cfg.Retry = time.Second
	}
	for {
		c, err := open(ctx, store, cfg)
		if errors.Is(err, ErrTrimmed) && ctx.Err() == nil {
			continue // another process has written a checkpoint since this one read the last
		}
		return c, err
	}
}

// open is Open with the defaults of cfg.
func open(ctx context.Context, store Store, cfg Config) (*Cell, error) {
	c := &Cell{
		store: store, cfg: cfg, wake: make(chan struct{}, 1), applied: make(chan struct{}, 1), saving: make(chan struct{}, 1),
		state: state{sessions: make(map[Position]uint64)},
	}
	if err := c.load(ctx); err != nil {
		return nil, err
	}
	running, stop := context.WithCancelCause(context.WithoutCancel(ctx))
	c.stop, c.life = stop, running
	nonce, err := c.begin(ctx)
	if err != nil {
		return nil, err
	}
	began := make(chan error, 1)
	c.running.Go(func() { c.read(running, nonce, began) })
	select {
	case err = <-began:
	case <-ctx.Done():
		err = context.Cause(ctx)
	}
	if err != nil {
		stop(ErrClosed)
		c.running.Wait()
		return nil, err
	}
	c.Cell = c.state.cell
	c.ending.Go(func() { c.send(running) })
	return c, nil
}

// load restores the last checkpoint.
func (c *Cell) load(ctx context.Context) error {
	at, r, err := c.store.Checkpoint(ctx)
	if err != nil || r == nil {
		return err
	}
	s, err := restore(r, at, c.cfg.First.Space)
	if err = errors.Join(err, r.Close()); err != nil {
		return err
	}
	c.state = *s
	return c.state.cell.SetJournal((*batcher)(c))
}

// begin appends the entry that begins the session, and returns its nonce.
func (c *Cell) begin(ctx context.Context) (nonce []byte, err error) {
	nonce = make([]byte, nonceSize)
	if _, err := rand.Read(nonce); err != nil {
		return nil, err
	}
	body := bytes.NewBuffer(bytes.Clone(nonce))
	if c.state.cell == nil {
		// Of several processes that begin at the same time, the first one's state is taken.
		cell, err := omega.NewCell(c.cfg.First)
		if err == nil {
			err = save(cell, body)
		}
		if err != nil {
			return nil, err
		}
	}
	e := entry{kind: beginEntry, applied: c.state.at, log: c.state.log, state: c.state.digest, body: body.Bytes()}
	_, err = c.append(ctx, e.encode(nil))
	return nonce, err
}

// save writes a new cell, as a cell with a journal is saved.
func save(cell *omega.Cell, w io.Writer) error {
	if err := cell.SetJournal(new(batcher)); err != nil {
		return err
	}
	return cell.Save(w)
}

// nonceSize is the size of the number that tells an entry that begins a session from others.
const nonceSize = 16
