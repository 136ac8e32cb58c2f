package omega

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"slices"

	"github.com/cellsched/cellsched/resources"
)

// frameReader reads what a frameWriter has written. After an error it reads
// nothing, and what it returns is zero.
type frameReader struct {
	r     io.Reader
	left  []byte // of the frame's content
	frame []byte // scratch
	at    int64  // of the file, read so far
	table *crc32.Table
	crc   uint32
	err   error

	version uint32 // of the format
}

func newFrameReader(r io.Reader) frameReader {
	f := frameReader{r: r, table: castagnoli()}
	header := f.read(len(saveMagic) + 4)
	if f.err != nil {
		return f
	}
	if magic := string(header[:len(saveMagic)]); magic != saveMagic {
		f.damaged("begins with %q, want %q", magic, saveMagic)
		return f
	}
	f.version = binary.LittleEndian.Uint32(header[len(saveMagic):])
	f.check()
	if f.err == nil && f.version != saveVersion && f.version != reserveVersion {
		f.err = fmt.Errorf("%w: version %d, want %d or %d", ErrVersion, f.version, saveVersion, reserveVersion)
	}
	return f
}

// damaged makes the error, unless there is one, and says what is wrong.
func (f *frameReader) damaged(format string, args ...any) {
	if f.err == nil {
		f.err = fmt.Errorf("%w: before byte %d: %s", ErrDamaged, f.at-int64(len(f.left)), fmt.Sprintf(format, args...))
	}
}

// read returns the next n bytes of the file, which it adds to the checksum.
// They are good until the next call.
func (f *frameReader) read(n int) []byte {
	f.frame = slices.Grow(f.frame[:0], n)[:n]
	f.fill(f.frame)
	f.crc = crc32.Update(f.crc, f.table, f.frame)
	return f.frame
}

func (f *frameReader) fill(b []byte) {
	if f.err != nil {
		return
	}
	n, err := io.ReadFull(f.r, b)
	f.at += int64(n)
	switch {
	case errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF):
		f.damaged("the file ends, want %d bytes more", len(b)-n)
	case err != nil:
		f.err = fmt.Errorf("omega: restoring a cell: after byte %d: %w", f.at, err)
	}
}

// check reads a checksum.
func (f *frameReader) check() {
	var sum [4]byte
	f.fill(sum[:])
	if got := binary.LittleEndian.Uint32(sum[:]); f.err == nil && got != f.crc {
		f.damaged("checksum is %08x, want %08x", got, f.crc)
	}
}

// next reads a frame and returns its length.
func (f *frameReader) next() int {
	header := f.read(4)
	if f.err != nil {
		return 0
	}
	size := binary.LittleEndian.Uint32(header)
	if size > maxFrame {
		f.damaged("frame of %d bytes, want at most %d", size, maxFrame)
		return 0
	}
	content := f.read(int(size))
	f.check()
	if f.err != nil {
		return 0
	}
	f.left = content
	return int(size)
}

// more makes sure that there is content left.
func (f *frameReader) more() bool {
	if f.err == nil && len(f.left) == 0 && f.next() == 0 {
		f.damaged("last frame, want more content")
	}
	return f.err == nil
}

// end reads the last frame, behind which nothing may be.
func (f *frameReader) end() {
	if f.err == nil && (len(f.left) > 0 || f.next() > 0) {
		f.damaged("%d bytes of content left, want none", len(f.left))
	}
	if f.err != nil {
		return
	}
	switch _, err := io.ReadFull(f.r, make([]byte, 1)); {
	case err == nil:
		f.damaged("the file goes on behind its last frame, want its end")
	case !errors.Is(err, io.EOF):
		f.err = fmt.Errorf("omega: restoring a cell: after byte %d: %w", f.at, err)
	}
}

// ReadByte returns the next byte of content.
func (f *frameReader) ReadByte() (byte, error) {
	if !f.more() {
		return 0, f.err
	}
	b := f.left[0]
	f.left = f.left[1:]
	return b, nil
}

func (f *frameReader) uvarint() uint64 {
	if x, n := binary.Uvarint(f.left); n > 0 && f.err == nil {
		f.left = f.left[n:]
		return x
	}
	x, err := binary.ReadUvarint(f) // over the end of a frame
	if err != nil {
		f.damaged("number of more than 64 bits")
		return 0
	}
	return x
}

// below reads a number and refuses it unless it is less than limit.
func (f *frameReader) below(limit uint64, what string) uint64 {
	x := f.uvarint()
	if x >= limit {
		f.damaged("%s is %d, want less than %d", what, x, limit)
		return 0
	}
	return x
}

func (f *frameReader) varint() int64 {
	x := f.uvarint()
	return int64(x>>1) ^ -int64(x&1)
}

func (f *frameReader) bool(what string) bool { return f.below(2, what) == 1 }

// text takes as much memory as there is text, whatever its length claims.
func (f *frameReader) text() string {
	var s []byte
	for n := f.uvarint(); n > 0 && f.more(); {
		part := f.left[:min(n, uint64(len(f.left)))]
		s = append(s, part...)
		f.left, n = f.left[len(part):], n-uint64(len(part))
	}
	return string(s)
}

func (f *frameReader) vector(what string) (v resources.Vector) {
	kinds := f.below(1<<resources.MaxKinds, what)
	for k := range v {
		if kinds>>k&1 == 0 {
			continue
		}
		q := f.uvarint()
		if q == 0 || q > uint64(resources.MaxQuantity) {
			f.damaged("%s: kind %d is %d, want 1 to 2^62", what, k, q)
			return resources.Vector{}
		}
		v[k] = int64(q)
	}
	return v
}
