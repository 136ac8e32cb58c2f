package frames

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"slices"

	"github.com/cellsched/cellsched/resources"
)

const (
	magic    = "OmegaCel"
	maxFrame = 64 << 10
)

// The versions of the format. Reserving has a last part about reservations. It is written
// of a cell that has ever had one, or has a share of its own for them. Journaled has both, and
// behind the schedulers the numbers by which operations of a journal name them.
const (
	Version   = 1
	Reserving = 2
	Journaled = 3
)

// ErrDamaged is for bytes that no [Writer] has written.
var ErrDamaged = errors.New("omega: saved cell is damaged")

// ErrVersion is for a version that is not known.
var ErrVersion = errors.New("omega: saved cell is of an unknown version")

// castagnoli returns the table of the checksums.
func castagnoli() *crc32.Table { return crc32.MakeTable(crc32.Castagnoli) }

// Writer writes values into frames. After an error it writes nothing.
type Writer struct {
	w       io.Writer
	content []byte // not yet written
	frame   []byte // scratch
	table   *crc32.Table
	crc     uint32
	Err     error // the first one
}

// NewWriter returns a writer that has written the header.
func NewWriter(w io.Writer, version uint32) Writer {
	f := Writer{w: w, table: castagnoli()}
	f.write(binary.LittleEndian.AppendUint32([]byte(magic), version))
	return f
}

// write writes b and the checksum.
func (f *Writer) write(b []byte) {
	if f.Err != nil {
		return
	}
	f.crc = crc32.Update(f.crc, f.table, b)
	b = binary.LittleEndian.AppendUint32(b, f.crc)
	n, err := f.w.Write(b)
	if err == nil && n < len(b) {
		err = io.ErrShortWrite
	}
	if err != nil {
		f.Err = fmt.Errorf("omega: saving a cell: %w", err)
	}
}

// flush writes the content there is as frames.
func (f *Writer) flush() {
	for part := range slices.Chunk(f.content, maxFrame) {
		f.frame = append(binary.LittleEndian.AppendUint32(f.frame[:0], uint32(len(part))), part...)
		f.write(f.frame)
	}
	f.content = f.content[:0]
}

// End writes the last frame.
func (f *Writer) End() error {
	f.flush()
	f.write(make([]byte, 4))
	return f.Err
}

// Uvarint writes a number.
func (f *Writer) Uvarint(x uint64) {
	f.content = binary.AppendUvarint(f.content, x)
	if len(f.content) >= maxFrame {
		f.flush()
	}
}

// Varint writes a number that may be negative.
func (f *Writer) Varint(x int64) { f.Uvarint(uint64(x)<<1 ^ uint64(x>>63)) }

// Bool writes a bit.
func (f *Writer) Bool(b bool) {
	if b {
		f.Uvarint(1)
	} else {
		f.Uvarint(0)
	}
}

// Text writes a text and its length.
func (f *Writer) Text(s string) {
	f.Uvarint(uint64(len(s)))
	f.content = append(f.content, s...)
}

// Vector writes which kinds are not zero, and those.
func (f *Writer) Vector(v *resources.Vector) {
	kinds := uint64(0)
	for k, q := range v {
		if q != 0 {
			kinds |= 1 << k
		}
	}
	f.Uvarint(kinds)
	for _, q := range v {
		if q != 0 {
			f.Uvarint(uint64(q))
		}
	}
}
