package journal

import (
	"encoding/binary"
	"fmt"
	"hash/crc32"
)

// The versions of what entries do. An entry of a later one is not applied. A journal has the
// version of its latest entries: see [Cell.tend] for when it gets the next one.
const (
	oldest   = 1
	expiring = 2 // sessions expire
	boarded  = 3 // boards
	latest   = boarded
)

// The kinds of entries.
const (
	beginEntry = iota + 1 // begins a session: a nonce, and the first state of the cell, if any
	opsEntry              // operations of a session
	endEntry              // ends a session
	keepEntry             // keeps a session, or ends another one; from version 2 on
)

// entry is the content of an Entry:
//
//	version, kind             1 byte each
//	session, number, applied  uvarints
//	log, state                4 bytes each, little-endian
//	body                      operations, each behind its length; a nonce of 16 bytes and a saved cell
//	checksum                  4 bytes, CRC-32C of all before
//
// applied is the last position that the writer has applied. log is the checksum of the
// entries up to there, and state a digest of their outcomes.
type entry struct {
	version    byte
	kind       byte
	session    Position // of the entry that began it; 0 in that entry
	number     uint64   // of the session's entries, from 1
	applied    Position
	log, state uint32
	body       []byte
}

func castagnoli() *crc32.Table { return crc32.MakeTable(crc32.Castagnoli) }

// encode appends e to b, which is empty.
func (e *entry) encode(b []byte) []byte {
	b = append(b, e.version, e.kind)
	b = binary.AppendUvarint(b, uint64(e.session))
	b = binary.AppendUvarint(b, e.number)
	b = binary.AppendUvarint(b, uint64(e.applied))
	b = binary.LittleEndian.AppendUint32(b, e.log)
	b = binary.LittleEndian.AppendUint32(b, e.state)
	b = append(b, e.body...)
	return binary.LittleEndian.AppendUint32(b, crc32.Checksum(b, castagnoli()))
}

// decodeEntry returns an entry that refers to data.
func decodeEntry(data []byte) (e entry, err error) {
	n := len(data) - 4
	if n < 2 || crc32.Checksum(data[:n], castagnoli()) != binary.LittleEndian.Uint32(data[n:]) {
		return e, fmt.Errorf("%w: entry of %d bytes, want one with its checksum", ErrDamaged, len(data))
	}
	if data[0] < oldest || data[0] > latest {
		return e, fmt.Errorf("%w: entry of version %d, want %d to %d", ErrVersion, data[0], oldest, latest)
	}
	e.version, e.kind = data[0], data[1]
	rest := data[2:n]
	var numbers [3]uint64
	for i := range numbers {
		x, size := binary.Uvarint(rest)
		if size <= 0 {
			return e, fmt.Errorf("%w: entry of %d bytes, want its number", ErrDamaged, len(data))
		}
		numbers[i], rest = x, rest[size:]
	}
	if len(rest) < 8 {
		return e, fmt.Errorf("%w: entry of %d bytes, want its checks", ErrDamaged, len(data))
	}
	e.session, e.number, e.applied = Position(numbers[0]), numbers[1], Position(numbers[2])
	e.log, e.state = binary.LittleEndian.Uint32(rest), binary.LittleEndian.Uint32(rest[4:])
	e.body = rest[8:]
	return e, nil
}

// nextOp splits the first operation off the body of an entry.
func nextOp(body []byte) (op, rest []byte, err error) {
	size, n := binary.Uvarint(body)
	if n <= 0 || size > uint64(len(body)-n) {
		return nil, nil, fmt.Errorf("%w: operation of %d bytes in %d", ErrDamaged, size, len(body))
	}
	body = body[n:]
	return body[:size], body[size:], nil
}
