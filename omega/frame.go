package omega

import (
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"io"
	"slices"

	"github.com/cellsched/cellsched/resources"
)

// A saved cell is a header and then frames. The header is the magic, the
// version of the format and a checksum; a frame is its length, that many bytes
// of content, and a checksum. A frame of length 0 is the last. Integers are
// little-endian, 4 bytes each. Every checksum is the CRC-32C of all bytes
// before it, checksums left out, so a frame that is missing or out of place is
// found too. Content is looked at only once its checksum is right, so damage
// is found before anything is made of it.
const (
	saveMagic = "OmegaCel"
	maxFrame  = 64 << 10

	// The versions of the format. The second has a last part about reservations, and is
	// written of a cell that has ever had one, or has a share of its own for them.
	saveVersion    = 1
	reserveVersion = 2

	saveHeld, saveDivisible = 1, 2 // what the flags of limits say
)

func castagnoli() *crc32.Table { return crc32.MakeTable(crc32.Castagnoli) }

// frameWriter writes values into frames. After an error it writes nothing.
type frameWriter struct {
	w       io.Writer
	content []byte // not yet written
	frame   []byte // scratch
	table   *crc32.Table
	crc     uint32
	err     error
}

func newFrameWriter(w io.Writer, version uint32) frameWriter {
	f := frameWriter{w: w, table: castagnoli()}
	f.write(binary.LittleEndian.AppendUint32([]byte(saveMagic), version))
	return f
}

// write writes b and the checksum.
func (f *frameWriter) write(b []byte) {
	if f.err != nil {
		return
	}
	f.crc = crc32.Update(f.crc, f.table, b)
	b = binary.LittleEndian.AppendUint32(b, f.crc)
	n, err := f.w.Write(b)
	if err == nil && n < len(b) {
		err = io.ErrShortWrite
	}
	if err != nil {
		f.err = fmt.Errorf("omega: saving a cell: %w", err)
	}
}

// flush writes the content there is as frames.
func (f *frameWriter) flush() {
	for part := range slices.Chunk(f.content, maxFrame) {
		f.frame = append(binary.LittleEndian.AppendUint32(f.frame[:0], uint32(len(part))), part...)
		f.write(f.frame)
	}
	f.content = f.content[:0]
}

// end writes the last frame.
func (f *frameWriter) end() error {
	f.flush()
	f.write(make([]byte, 4))
	return f.err
}

func (f *frameWriter) uvarint(x uint64) {
	f.content = binary.AppendUvarint(f.content, x)
	if len(f.content) >= maxFrame {
		f.flush()
	}
}

func (f *frameWriter) varint(x int64) { f.uvarint(uint64(x)<<1 ^ uint64(x>>63)) }

func (f *frameWriter) bool(b bool) {
	if b {
		f.uvarint(1)
	} else {
		f.uvarint(0)
	}
}

func (f *frameWriter) text(s string) {
	f.uvarint(uint64(len(s)))
	f.content = append(f.content, s...)
}

// vector writes which kinds are not zero, and those.
func (f *frameWriter) vector(v *resources.Vector) {
	kinds := uint64(0)
	for k, q := range v {
		if q != 0 {
			kinds |= 1 << k
		}
	}
	f.uvarint(kinds)
	for _, q := range v {
		if q != 0 {
			f.uvarint(uint64(q))
		}
	}
}
