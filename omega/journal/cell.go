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

	"github.com/cellsched/cellsched/internal/fault"
	"github.com/cellsched/cellsched/omega"
	"github.com/cellsched/cellsched/resources"
)

// Config says how a cell is kept. The zero Config is for a cell that begins without
// machines.
type Config struct {
	// First is the state of the cell if the store is empty. Otherwise it is ignored, but
	// for Space: see [omega.Restore].
	First omega.Config
	// TTL is how long this process may be silent before other processes end its session. In a
	// third of it the process writes an entry if it has no changes to write. It should be at
	// least ten times as long as an append takes. 0 means that the session does not expire, and
	// that this process ends none.
	//
	// In a journal that processes of an earlier release have begun, sessions expire once each
	// of those has ended, or was silent for a TTL. Such a process then fails with [ErrVersion].
	TTL time.Duration
	// Share is the largest part of the cell, as a dominant share, that is released of expired
	// sessions within ten TTLs, 0 to 1. 0 means a half. The rest waits, or for [Cell.Reap]: where
	// most processes seem to be gone the network may be. One allocation is always released.
	Share float64
	// Checkpoint is how many bytes of entries are applied between checkpoints, 0 for 64 MiB.
	Checkpoint int64
}

// longestWait is the longest wait before an append with an unknown outcome is sent again, or a
// walk is begun again. Waits double, from a thousandth of it.
const longestWait = time.Second

// maxEntry bounds the operations of an entry, unless it is of one operation, which may be
// larger. See [Cell.resize] for a store that takes smaller ones.
const maxEntry = 256 << 10

// Cell is a cell that is kept in a journal. Its changes, and its schedulers' changes, wait
// until the store keeps them. In all other respects it behaves like a cell in memory.
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

	state   state // of the applier
	unsaved int64 // bytes of entries since the last checkpoint was begun

	saving chan struct{} // of capacity 1: has a token while a checkpoint is written

	mu      sync.Mutex // guards the fields below
	opening opening    // the channels are not guarded
	saved   Position   // of the last checkpoint
	unsaid  error      // of a checkpoint since
	tending tending
	began   Position // of the session; stays when it ends
	queue   []sending
	flight  []sending // in the entry that is being appended
	session Position  // 0 until the begin of the session was applied
	number  uint64    // of the entry in flight, or the last one
	largest int       // bounds the operations of an entry: see maxEntry
	unsent  error     // of the last append, nil if it succeeded
	unread  error     // of the last walk, nil once it has read on
	checked check     // the last position that was applied, with its checks
	closing bool      // no more changes are taken
	err     error     // why nothing more is sent
}

// sending is an operation, a call of Sync or one of Checkpoint, on its way.
type sending struct {
	op    *omega.Operation
	done  chan error // of capacity 1, for all but operations
	saves bool
	keeps keeping // its action, 0 for none
	since time.Time
}

// Open returns the cell that a store keeps, as it is at the end of its entries. An empty
// store gets one as in cfg.First. The cell is kept until Close, or until its journal
// fails: see [Cell.Err]. One process at a time uses a store unless the store says otherwise.
//
// It reads all entries, and then begins a session in the store, by which the store's entries of
// this process are told from others. It appends nothing to a store that it refuses. Cost: that of [omega.Restore], and that of the operations behind the
// last checkpoint. Errors: [ErrDamaged], [ErrForked], [ErrDiverged], [ErrVersion]; those
// of the store, of [omega.Restore] and of [omega.NewCell]; the cause of ctx.
func Open(ctx context.Context, store Store, cfg Config) (*Cell, error) {
	if store == nil {
		return nil, fault.New("journal", "store", resources.ErrNil)
	}
	if cfg.Checkpoint <= 0 {
		cfg.Checkpoint = 64 << 20
	}
	switch {
	case cfg.TTL < 0 || cfg.TTL > 0 && cfg.TTL < shortestTTL:
		return nil, fault.Newf("journal", resources.ErrQuantity, "TTL of %v, want 0, or %v and more", cfg.TTL, shortestTTL)
	case !(cfg.Share >= 0 && cfg.Share <= 1):
		return nil, fault.Newf("journal", resources.ErrQuantity, "Share of %v, want 0 to 1", cfg.Share)
	case cfg.Share == 0:
		cfg.Share = 0.5
	}
	c, from, err := open(ctx, store, cfg)
	for again := true; again && errors.Is(err, ErrTrimmed) && ctx.Err() == nil; {
		// Another process may have written a checkpoint since this one read the last. If there is no later
		// one the next time, the store lacks entries. The loop ends: checkpoints have positions of entries.
		before := from
		c, from, err = open(ctx, store, cfg)
		again = from > before
	}
	return c, err
}

// open is Open with the defaults of cfg. It also returns the position of the checkpoint.
func open(ctx context.Context, store Store, cfg Config) (*Cell, Position, error) {
	c := &Cell{
		store: store, cfg: cfg, wake: make(chan struct{}, 1), applied: make(chan struct{}, 1), saving: make(chan struct{}, 1),
		tending: newTending(), largest: maxEntry,
		state: state{version: oldest, sessions: make(map[Position]session)}, opening: opening{tail: make(chan tail, 1), began: make(chan struct{}, 1)},
	}
	if err := c.load(ctx); err != nil {
		return nil, 0, err
	}
	from := c.saved // read before the goroutines start
	c.life, c.stop = context.WithCancelCause(context.WithoutCancel(ctx))
	opened := context.AfterFunc(ctx, func() { c.stop(context.Cause(ctx)) })
	c.running.Go(c.read)
	err := c.begin()
	if !opened() && err == nil {
		err = context.Cause(ctx)
	}
	if err != nil {
		c.stop(ErrClosed)
		_ = until(ctx, &c.running)
		return nil, from, err
	}
	c.Cell = c.state.cell
	c.ending.Go(c.send)
	if c.tends() {
		c.running.Go(c.tendAll)
	}
	return c, from, nil
}

// load restores the last checkpoint.
func (c *Cell) load(ctx context.Context) error {
	at, r, err := c.store.Checkpoint(ctx)
	if err != nil || r == nil {
		return err
	}
	s, err := restore(r, at, c.cfg.First.Space)
	if err = errors.Join(err, r.Close()); err != nil {
		return unrestored(at, err)
	}
	c.state, c.saved = *s, at
	c.tending.rise(0, s.version)
	return c.state.cell.SetJournal((*batcher)(c))
}

// unrestored returns the error of a checkpoint at a position. A damaged cell in it is a damaged
// checkpoint, and a cell of a later format is one of a later version.
func unrestored(at Position, err error) error {
	what := fmt.Sprintf("checkpoint at position %d", at)
	switch {
	case errors.Is(err, omega.ErrDamaged):
		return fault.New("journal", what, err, ErrDamaged)
	case errors.Is(err, omega.ErrVersion):
		return fault.New("journal", what, err, ErrVersion)
	}
	return fault.New("journal", what, err)
}

// opening holds the news of the applier for the goroutine that opens the cell.
type opening struct {
	nonce []byte        // of the session; nil until it is to begin
	tail  chan tail     // of capacity 1: the first end of the entries
	began chan struct{} // of capacity 1: the begin of the session was applied
}

// tail is the end of the entries that a store had when it was opened.
type tail struct {
	check
	version byte
	empty   bool // there is no cell yet
}

// begin begins the session once the entries are applied that the store has: nothing is
// appended to one that cannot be read.
func (c *Cell) begin() error {
	var end tail
	select {
	case end = <-c.opening.tail:
	case <-c.life.Done():
		return errors.Join(context.Cause(c.life), c.Stall())
	}
	nonce := make([]byte, nonceSize)
	if _, err := rand.Read(nonce); err != nil {
		return err
	}
	body := bytes.NewBuffer(bytes.Clone(nonce))
	if end.empty {
		// Of several processes that begin at the same time, the first one's state is taken.
		cell, err := omega.NewCell(c.cfg.First)
		if err == nil {
			err = save(cell, body)
		}
		if err != nil {
			return err
		}
	}
	c.mu.Lock()
	c.opening.nonce = nonce
	c.mu.Unlock()
	e := entry{version: end.version, kind: beginEntry, applied: end.at, log: end.log, state: end.digest, body: body.Bytes()}
	if _, err := c.append(e.encode(nil)); err != nil {
		return err
	}
	select {
	case <-c.opening.began:
	case <-c.life.Done():
		return context.Cause(c.life)
	}
	select {
	case <-c.applied: // the begin was applied
	default:
	}
	return nil
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
