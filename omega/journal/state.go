package journal

import (
	"bufio"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"io"
	"maps"
	"slices"

	"github.com/cellsched/cellsched/omega"
	"github.com/cellsched/cellsched/resources"
)

// maxSessions is how many sessions a journal remembers. One more ends the oldest.
const maxSessions = 1 << 12

// remembered is how many positions back the checks of an entry can be compared.
const remembered = 1 << 10

// state is a copy of a journaled cell at a position.
type state struct {
	cell     *omega.Cell
	at       Position
	log      uint32              // checksum of the entries so far
	digest   uint32              // of their outcomes
	sessions map[Position]uint64 // the last number of each
	skipped  uint64              // operations and entries that could not be decoded
	checks   [remembered]check
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

// compare compares the checks of the next entry with those of this copy, if it has them still.
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

// begin begins a session, and ends the oldest of too many.
func (s *state) begin(session Position) {
	s.sessions[session] = 1
	if len(s.sessions) > maxSessions {
		delete(s.sessions, slices.Min(slices.Collect(maps.Keys(s.sessions))))
	}
}

// A checkpoint is a header and then a saved cell. The header is the magic, the semantics,
// the position, the checks, the number of sessions and, in order, each with its last
// number, and a checksum.
const magic = "OmegaJnl"

// header returns the header of a checkpoint.
func (s *state) header() []byte {
	b := append([]byte(magic), semantics)
	b = binary.LittleEndian.AppendUint64(b, uint64(s.at))
	b = binary.LittleEndian.AppendUint32(b, s.log)
	b = binary.LittleEndian.AppendUint32(b, s.digest)
	b = binary.LittleEndian.AppendUint32(b, uint32(len(s.sessions)))
	for _, session := range slices.Sorted(maps.Keys(s.sessions)) {
		b = binary.LittleEndian.AppendUint64(b, uint64(session))
		b = binary.LittleEndian.AppendUint64(b, s.sessions[session])
	}
	return binary.LittleEndian.AppendUint32(b, crc32.Checksum(b, castagnoli()))
}

// restore reads a checkpoint.
func restore(r io.Reader, at Position, space *resources.Space) (*state, error) {
	in := bufio.NewReaderSize(r, 1<<16)
	b := make([]byte, len(magic)+1+8+4+4+4)
	if _, err := io.ReadFull(in, b); err != nil {
		return nil, fmt.Errorf("%w: checkpoint: %w", ErrDamaged, err)
	}
	if string(b[:len(magic)]) != magic {
		return nil, fmt.Errorf("%w: checkpoint begins with %q, want %q", ErrDamaged, b[:len(magic)], magic)
	}
	fields := b[len(magic)+1:]
	n := binary.LittleEndian.Uint32(fields[16:])
	if n > maxSessions {
		return nil, fmt.Errorf("%w: checkpoint of %d sessions, want at most %d", ErrDamaged, n, maxSessions)
	}
	table := make([]byte, 16*n+4)
	if _, err := io.ReadFull(in, table); err != nil {
		return nil, fmt.Errorf("%w: sessions of a checkpoint: %w", ErrDamaged, err)
	}
	sum := crc32.Update(crc32.Checksum(b, castagnoli()), castagnoli(), table[:16*n])
	if sum != binary.LittleEndian.Uint32(table[16*n:]) {
		return nil, fmt.Errorf("%w: header of a checkpoint with checksum %08x", ErrDamaged, sum)
	}
	if b[len(magic)] != semantics {
		return nil, fmt.Errorf("%w: checkpoint of version %d, want %d", ErrVersion, b[len(magic)], semantics)
	}
	s := &state{
		at: Position(binary.LittleEndian.Uint64(fields)), log: binary.LittleEndian.Uint32(fields[8:]),
		digest: binary.LittleEndian.Uint32(fields[12:]), sessions: make(map[Position]uint64, n),
	}
	if s.at != at {
		return nil, fmt.Errorf("%w: checkpoint at position %d, the store has it at %d", ErrDamaged, s.at, at)
	}
	for i := range n {
		s.sessions[Position(binary.LittleEndian.Uint64(table[16*i:]))] = binary.LittleEndian.Uint64(table[16*i+8:])
	}
	var err error
	if s.cell, err = omega.Restore(in, space); err != nil {
		return nil, err
	}
	s.settle()
	return s, nil
}
