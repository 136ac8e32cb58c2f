package journaltest

import (
	"bytes"
	"context"
	"errors"
	"io"
	"iter"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"github.com/cellsched/cellsched/internal/fault"
	"github.com/cellsched/cellsched/omega/journal"
)

// errUnknown is the error of an append with an unknown outcome.
var errUnknown = errors.New("journaltest: outcome of the append is unknown")

var errCrashed = errors.New("journaltest: client has crashed")

// Faults are the faults of a store: probabilities, and bounds. The zero Faults are none.
type Faults struct {
	Lost      float64       // the entry is not kept, and the answer is an error
	Unknown   float64       // the entry is kept, and the answer is an error
	Duplicate float64       // the entry is kept twice
	Broken    float64       // of an entry that is read: the walk ends with an error
	Delay     time.Duration // the longest time that an append takes
	Largest   int           // size of the largest entry that the store takes, 0 for any
}

// Sim is a store in memory with faults. Its clients are the processes that use it. It is safe
// for concurrent use.
type Sim struct {
	faults Faults

	mu         sync.Mutex // guards what follows
	rng        *rand.Rand
	first      journal.Position // of entries
	entries    [][]byte
	checkpoint []byte // nil for none
	saved      journal.Position
	grown      chan struct{} // closed when an entry is added
}

// NewSim returns an empty store. It draws faults from rng, which is its own from then on.
func NewSim(faults Faults, rng *rand.Rand) *Sim {
	return &Sim{faults: faults, rng: rng, first: 1, grown: make(chan struct{})}
}

// Entries returns the entries that the store has.
func (s *Sim) Entries() (all []journal.Entry) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for i, data := range s.entries {
		all = append(all, journal.Entry{At: s.first + journal.Position(i), Data: data})
	}
	return all
}

// Client returns a client of the store.
func (s *Sim) Client() *Client { return &Client{sim: s, crashed: make(chan struct{})} }

// Client is a [journal.Store]: a process's access to a Sim.
type Client struct {
	sim     *Sim
	once    sync.Once
	crashed chan struct{}
}

// Close ends the client, as a crash of its process does: calls in progress and later ones fail
// with [journal.ErrFailed]. Appends in progress may be kept.
func (c *Client) Close() error {
	c.once.Do(func() { close(c.crashed) })
	return nil
}

func (c *Client) err() error {
	select {
	case <-c.crashed:
		return fault.New("journaltest", fault.Bare(journal.ErrFailed), errCrashed, journal.ErrFailed)
	default:
		return nil
	}
}

// wait waits for d, and fails if the client crashes or ctx ends.
func (c *Client) wait(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return c.err()
	case <-c.crashed:
		return c.err()
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// Append implements [journal.Store].
func (c *Client) Append(ctx context.Context, entry []byte) error {
	s := c.sim
	s.mu.Lock()
	f := &s.faults
	before, after := time.Duration(0), time.Duration(0)
	if f.Delay > 0 {
		before, after = time.Duration(s.rng.Int64N(int64(f.Delay))), time.Duration(s.rng.Int64N(int64(f.Delay)))
	}
	lost, unknown, twice := s.rng.Float64() < f.Lost, s.rng.Float64() < f.Unknown, s.rng.Float64() < f.Duplicate
	s.mu.Unlock()
	if len(entry) == 0 || f.Largest > 0 && len(entry) > f.Largest {
		return fault.Newf("journaltest", journal.ErrSize, "entry of %d bytes, want 1 to %d", len(entry), f.Largest)
	}
	if err := c.wait(ctx, before); err != nil {
		return err
	}
	if lost {
		return errUnknown
	}
	s.mu.Lock()
	for range 1 + map[bool]int{true: 1}[twice] {
		s.entries = append(s.entries, bytes.Clone(entry))
	}
	close(s.grown)
	s.grown = make(chan struct{})
	s.mu.Unlock()
	if err := c.wait(ctx, after); err != nil {
		return err
	}
	if unknown {
		return errUnknown
	}
	return nil
}

// Read implements [journal.Store].
func (c *Client) Read(ctx context.Context, after journal.Position) iter.Seq2[journal.Entry, error] {
	return func(yield func(journal.Entry, error) bool) {
		s := c.sim
		for at := after + 1; ; {
			s.mu.Lock()
			grown, broken := s.grown, s.faults.Broken > 0 && s.rng.Float64() < s.faults.Broken
			var entries [][]byte
			trimmed := at < s.first
			if i := int(at) - int(s.first); !trimmed && i < len(s.entries) {
				entries = slices.Clone(s.entries[i:])
			}
			s.mu.Unlock()
			err := c.err()
			switch {
			case err == nil && trimmed:
				err = journal.ErrTrimmed
			case err == nil && broken:
				err = errUnknown
			}
			if err != nil {
				yield(journal.Entry{}, err)
				return
			}
			for _, data := range entries {
				if !yield(journal.Entry{At: at, Data: data}, nil) {
					return
				}
				at++
			}
			if len(entries) > 0 {
				continue
			}
			if !yield(journal.Entry{At: at - 1}, nil) {
				return
			}
			select {
			case <-grown:
			case <-c.crashed:
			case <-ctx.Done():
				yield(journal.Entry{}, context.Cause(ctx))
				return
			}
		}
	}
}

// Checkpoint implements [journal.Store].
func (c *Client) Checkpoint(context.Context) (journal.Position, io.ReadCloser, error) {
	s := c.sim
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := c.err(); err != nil || s.checkpoint == nil {
		return 0, nil, err
	}
	return s.saved, io.NopCloser(bytes.NewReader(s.checkpoint)), nil
}

// Replace implements [journal.Store].
func (c *Client) Replace(ctx context.Context, at journal.Position, save func(io.Writer) error) error {
	if err := c.err(); err != nil {
		return err
	}
	var b bytes.Buffer
	if err := save(&b); err != nil {
		return err
	}
	s := c.sim
	s.mu.Lock()
	delay := time.Duration(0)
	if s.faults.Delay > 0 {
		delay = time.Duration(s.rng.Int64N(int64(s.faults.Delay)))
	}
	s.mu.Unlock()
	if err := c.wait(ctx, delay); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.checkpoint != nil && at <= s.saved {
		return nil
	}
	s.checkpoint, s.saved = b.Bytes(), at
	if n := int(at) + 1 - int(s.first); n > 0 {
		s.entries, s.first = s.entries[n:], at+1
	}
	return nil
}
