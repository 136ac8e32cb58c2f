package journal

import (
	"context"
	"errors"
	"io"
	"iter"

	"github.com/cellsched/cellsched/internal/fault"
	"github.com/cellsched/cellsched/omega"
	"github.com/cellsched/cellsched/resources"
)

// Position is the number of an entry in the order of a [Store], from 1. 0 stands before all
// entries. Positions have no gaps.
type Position uint64

// Entry is one entry of a store. The reader must not change Data, which is good until the
// walk goes on. An Entry without Data marks the end of the entries: see [Store].
type Entry struct {
	At   Position
	Data []byte
}

// Store keeps entries in one order, the same for all that read it. Its methods are safe for
// concurrent use.
type Store interface {
	// Append puts an entry behind the others. When it returns nil the entry is durable. An
	// error leaves open if it is, or will be. It is sent again, unless the error wraps [ErrFailed],
	// [ErrForked] or another error of a store that takes no more entries. An entry that is empty
	// or too large is [ErrSize]; that one is not kept, and later ones are. Append does not
	// keep the slice.
	Append(ctx context.Context, entry []byte) error
	// Read walks the durable entries behind a position, in order and without a gap. At the
	// end it yields an Entry without Data, with the position of the last one, and waits for
	// more until ctx ends. It yields an error once, as the last pair: the cause of ctx,
	// [ErrTrimmed], or that of a damaged store.
	Read(ctx context.Context, after Position) iter.Seq2[Entry, error]
	// Checkpoint returns the last checkpoint and its position, or position 0 and nil.
	Checkpoint(ctx context.Context) (Position, io.ReadCloser, error)
	// Replace makes the bytes that save writes the checkpoint at a position, in one step.
	// Entries up to the position may be dropped afterwards. A checkpoint at an earlier
	// position than the last one has no effect.
	Replace(ctx context.Context, at Position, save func(io.Writer) error) error
}

// The errors of a journal.
var (
	// ErrFailed reports that a store or a journal takes no more changes: open it again. It
	// wraps [omega.ErrJournal].
	ErrFailed = fault.Text("journal: failed, open it again", omega.ErrJournal)
	// ErrClosed reports a change of a cell that was closed. The change was not made, unless
	// the error wraps [omega.ErrOutcome] besides: then it is not known. It wraps
	// [omega.ErrJournal].
	ErrClosed = fault.Text("journal: closed", omega.ErrJournal)
	// ErrSize reports a change whose entry the store does not take, mostly since it is too large. The change was not
	// made, and others are. It wraps [resources.ErrQuantity].
	ErrSize = fault.Text("journal: unusable entry size", resources.ErrQuantity)
	// ErrTrimmed reports that entries behind the asked position were dropped.
	ErrTrimmed = errors.New("journal: entries were trimmed")
	// ErrDamaged reports bytes that no journal has written, or not in this place.
	ErrDamaged = errors.New("journal: damaged")
	// ErrVersion reports an entry or a checkpoint of another version of this package.
	ErrVersion = errors.New("journal: unknown version")
	// ErrForked reports that the store has another history than the writer of an entry saw.
	ErrForked = errors.New("journal: store has another history")
	// ErrDiverged reports that a copy of the cell computes other outcomes than another one.
	ErrDiverged = errors.New("journal: copies of the cell differ")
	// ErrExpired reports that the session of this process was ended by others.
	ErrExpired = errors.New("journal: session has expired")
)
