package journal

import (
	"bufio"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"io"
	"maps"
	"slices"
	"time"

	"github.com/cellsched/cellsched/internal/fault"
	"github.com/cellsched/cellsched/omega"
	"github.com/cellsched/cellsched/resources"
)

// remembered is how many positions back the checks of an entry can be compared.
const remembered = 1 << 10

// state is a copy of a journaled cell at a position.
type state struct {
	cell    *omega.Cell
	at      Position
	log     uint32 // checksum of the entries so far
	digest  uint32 // of their outcomes
	skipped uint64 // operations and entries that could not be decoded
	checks  [remembered]check

	// The applier alone changes these, with the mutex of the Cell held.
	version  byte                 // of the latest entries
	sessions map[Position]session // by the position of the entry that began each
	expired  []Position           // that may have left schedulers, in the order in which they ended
	boards   map[string]*table    // by name; Board.Next adds empty ones, also with the mutex held
}

// check holds the checks at a position.
type check struct {
	at          Position
	log, digest uint32
}

// follow adds an entry to the checks, before it is applied. It leaves out the entry's own
// checksum: a checksum of bytes with their checksum depends on their number alone.
func (s *state) follow(e Entry) {
	s.at, s.log = e.At, crc32.Update(s.log, castagnoli(), e.Data[:max(0, len(e.Data)-4)])
}

// settle remembers the checks at the present position.
func (s *state) settle() { s.checks[s.at%remembered] = check{s.at, s.log, s.digest} }

// outcome adds the digest of an outcome.
func (s *state) outcome(d uint64) {
	var b [8]byte
	binary.LittleEndian.PutUint64(b[:], d)
	s.digest = crc32.Update(s.digest, castagnoli(), b[:])
}

// compare compares the checks of the next entry with this copy's, if it still has them.
func (s *state) compare(e *entry) error {
	have := s.checks[e.applied%remembered]
	switch {
	case e.applied > s.at:
		return fmt.Errorf("%w: the writer of position %d had applied position %d, want one before its own", ErrForked, s.at+1, e.applied)
	case have.at != e.applied || e.applied == 0:
		return nil
	case have.log != e.log:
		return fmt.Errorf("%w: at position %d its checksum is %08x, the writer of %d saw %08x", ErrForked, e.applied, have.log, s.at+1, e.log)
	case have.digest != e.state:
		return fmt.Errorf("%w: at position %d the outcomes are %08x, those of the writer of %d %08x", ErrDiverged, e.applied, have.digest, s.at+1, e.state)
	}
	return nil
}

// A checkpoint is a header and then a saved cell. The header is the magic, the version of
// the journal, the position, the checks, the number of sessions and, in order, each with its
// last number, and a checksum. From version 2 on a session has its TTL besides, and those
// that have expired follow, with the number 0. From version 3 on the notes of boards come
// behind them: their size, they themselves and a checksum.
const magic = "OmegaJnl"

// sessionSize is the size of a session in a header of a version.
func sessionSize(version byte) int {
	if version == oldest {
		return 16
	}
	return 24
}

// header returns the header of a checkpoint.
func (s *state) header() []byte {
	gone := s.expired
	if s.version == oldest {
		gone = nil
	}
	b := append([]byte(magic), s.version)
	b = binary.LittleEndian.AppendUint64(b, uint64(s.at))
	b = binary.LittleEndian.AppendUint32(b, s.log)
	b = binary.LittleEndian.AppendUint32(b, s.digest)
	b = binary.LittleEndian.AppendUint32(b, uint32(len(s.sessions)+len(gone)))
	for _, at := range append(slices.Sorted(maps.Keys(s.sessions)), gone...) {
		one := s.sessions[at]
		b = binary.LittleEndian.AppendUint64(b, uint64(at))
		b = binary.LittleEndian.AppendUint64(b, one.number)
		if s.version > oldest {
			b = binary.LittleEndian.AppendUint64(b, uint64(one.ttl))
		}
	}
	b = binary.LittleEndian.AppendUint32(b, crc32.Checksum(b, castagnoli()))
	if s.version < boarded {
		return b
	}
	notes := s.saveBoards()
	b = append(binary.LittleEndian.AppendUint32(b, uint32(len(notes))), notes...)
	return binary.LittleEndian.AppendUint32(b, crc32.Checksum(notes, castagnoli()))
}

// restore reads a checkpoint.
func restore(r io.Reader, at Position, space *resources.Space) (*state, error) {
	in := bufio.NewReaderSize(r, 1<<16)
	b := make([]byte, len(magic)+1+8+4+4+4)
	if _, err := io.ReadFull(in, b); err != nil {
		return nil, unread("header", err)
	}
	if string(b[:len(magic)]) != magic {
		return nil, fmt.Errorf("%w: checkpoint begins with %q, want %q", ErrDamaged, b[:len(magic)], magic)
	}
	version, fields := b[len(magic)], b[len(magic)+1:]
	if version < oldest || version > latest {
		return nil, fmt.Errorf("%w: checkpoint of version %d, want %d to %d", ErrVersion, version, oldest, latest)
	}
	count, size := binary.LittleEndian.Uint32(fields[16:]), sessionSize(version)
	if count > 2*maxSessions { // before it is an int, which may be negative where it has 32 bits
		return nil, fmt.Errorf("%w: checkpoint of %d sessions, want at most %d", ErrDamaged, count, 2*maxSessions)
	}
	n := int(count)
	table := make([]byte, size*n+4)
	if _, err := io.ReadFull(in, table); err != nil {
		return nil, unread("sessions", err)
	}
	sum := crc32.Update(crc32.Checksum(b, castagnoli()), castagnoli(), table[:size*n])
	if sum != binary.LittleEndian.Uint32(table[size*n:]) {
		return nil, fmt.Errorf("%w: header of a checkpoint with checksum %08x", ErrDamaged, sum)
	}
	s := &state{
		at: Position(binary.LittleEndian.Uint64(fields)), log: binary.LittleEndian.Uint32(fields[8:]),
		digest: binary.LittleEndian.Uint32(fields[12:]), version: version, sessions: make(map[Position]session, n),
	}
	if s.at != at {
		return nil, fmt.Errorf("%w: checkpoint at position %d, the store has it at %d", ErrDamaged, s.at, at)
	}
	for ; n > 0; n, table = n-1, table[size:] {
		began, one := Position(binary.LittleEndian.Uint64(table)), session{number: binary.LittleEndian.Uint64(table[8:])}
		if version > oldest {
			one.ttl = time.Duration(binary.LittleEndian.Uint64(table[16:]))
		}
		if one.number == 0 {
			s.expired = append(s.expired, began)
		} else {
			s.sessions[began] = one
		}
	}
	if version >= boarded {
		if err := s.readBoards(in); err != nil {
			return nil, err
		}
	}
	var err error
	if s.cell, err = omega.Restore(in, space); err != nil {
		return nil, err
	}
	s.settle()
	return s, nil
}

// unread returns the error for a part of a checkpoint that could not be read. A checkpoint
// that ends too early is damaged. Any other error is the store's, and a later try may not have
// it: a connection that breaks wraps an end of its own.
func unread(part string, err error) error {
	if err == io.EOF || err == io.ErrUnexpectedEOF { //nolint:errorlint // of io.ReadFull itself, which wraps none
		return fmt.Errorf("%w: %s of a checkpoint: %w", ErrDamaged, part, err)
	}
	return fault.Newf("journal", err, "reading the %s of a checkpoint", part)
}

// readBoards reads the notes of boards in a checkpoint.
func (s *state) readBoards(in io.Reader) error {
	var size [4]byte
	if _, err := io.ReadFull(in, size[:]); err != nil {
		return unread("boards", err)
	}
	n := int64(binary.LittleEndian.Uint32(size[:]))
	b, err := io.ReadAll(io.LimitReader(in, n+4)) // a damaged size takes no more memory than there are bytes
	if err == nil && int64(len(b)) < n+4 {
		err = io.ErrUnexpectedEOF
	}
	if err != nil {
		return unread("boards", err)
	}
	if sum := crc32.Checksum(b[:n], castagnoli()); sum != binary.LittleEndian.Uint32(b[n:]) {
		return fmt.Errorf("%w: boards of a checkpoint with checksum %08x", ErrDamaged, sum)
	}
	return s.restoreBoards(b[:n])
}
