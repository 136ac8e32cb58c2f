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

// Reader reads what a Writer has written. After an error it reads
// nothing, and what it returns is zero.
type Reader struct {
	r     io.Reader
	left  []byte // of the frame's content
	frame []byte // scratch
	at    int64  // of the file, read so far
	table *crc32.Table
	crc   uint32
	Err   error // the first one

	Version uint32 // of the format
}

// NewReader returns a reader that has read the header.
func NewReader(r io.Reader) Reader {
	f := Reader{r: r, table: castagnoli()}
	header := f.read(len(magic) + 4)
	if f.Err != nil {
		return f
	}
	if got := string(header[:len(magic)]); got != magic {
		f.Damaged("begins with %q, want %q", got, magic)
		return f
	}
	f.Version = binary.LittleEndian.Uint32(header[len(magic):])
	f.check()
	if f.Err == nil && (f.Version < Version || f.Version > Journaled) {
		f.Err = fmt.Errorf("%w: version %d, want %d to %d", ErrVersion, f.Version, Version, Journaled)
	}
	return f
}

// Damaged makes the error, unless there is one, and says what is wrong.
func (f *Reader) Damaged(format string, args ...any) {
	if f.Err == nil {
		f.Err = fmt.Errorf("%w: before byte %d: %s", ErrDamaged, f.at-int64(len(f.left)), fmt.Sprintf(format, args...))
	}
}

// read returns the next n bytes of the file, which it adds to the checksum.
// They are good until the next call.
func (f *Reader) read(n int) []byte {
	f.frame = slices.Grow(f.frame[:0], n)[:n]
	f.fill(f.frame)
	f.crc = crc32.Update(f.crc, f.table, f.frame)
	return f.frame
}

func (f *Reader) fill(b []byte) {
	if f.Err != nil {
		return
	}
	n, err := io.ReadFull(f.r, b)
	f.at += int64(n)
	switch {
	case err == io.EOF || err == io.ErrUnexpectedEOF: // of ReadFull itself: a broken connection wraps one
		f.Damaged("the file ends, want %d bytes more", len(b)-n)
	case err != nil:
		f.Err = fmt.Errorf("omega: restoring a cell: after byte %d: %w", f.at, err)
	}
}

// check reads a checksum.
func (f *Reader) check() {
	var sum [4]byte
	f.fill(sum[:])
	if got := binary.LittleEndian.Uint32(sum[:]); f.Err == nil && got != f.crc {
		f.Damaged("checksum is %08x, want %08x", got, f.crc)
	}
}

// next reads a frame and returns its length.
func (f *Reader) next() int {
	header := f.read(4)
	if f.Err != nil {
		return 0
	}
	size := binary.LittleEndian.Uint32(header)
	if size > maxFrame {
		f.Damaged("frame of %d bytes, want at most %d", size, maxFrame)
		return 0
	}
	content := f.read(int(size))
	f.check()
	if f.Err != nil {
		return 0
	}
	f.left = content
	return int(size)
}

// more makes sure that there is content left.
func (f *Reader) more() bool {
	if f.Err == nil && len(f.left) == 0 && f.next() == 0 {
		f.Damaged("last frame, want more content")
	}
	return f.Err == nil
}

// End reads the last frame, behind which nothing may be.
func (f *Reader) End() {
	if f.Err == nil && (len(f.left) > 0 || f.next() > 0) {
		f.Damaged("%d bytes of content left, want none", len(f.left))
	}
	if f.Err != nil {
		return
	}
	switch _, err := io.ReadFull(f.r, make([]byte, 1)); {
	case err == nil:
		f.Damaged("the file goes on behind its last frame, want its end")
	case !errors.Is(err, io.EOF):
		f.Err = fmt.Errorf("omega: restoring a cell: after byte %d: %w", f.at, err)
	}
}

// ReadByte returns the next byte of content.
func (f *Reader) ReadByte() (byte, error) {
	if !f.more() {
		return 0, f.Err
	}
	b := f.left[0]
	f.left = f.left[1:]
	return b, nil
}

// Uvarint reads a number.
func (f *Reader) Uvarint() uint64 {
	if x, n := binary.Uvarint(f.left); n > 0 && f.Err == nil {
		f.left = f.left[n:]
		return x
	}
	x, err := binary.ReadUvarint(f) // over the end of a frame
	if err != nil {
		f.Damaged("number of more than 64 bits")
		return 0
	}
	return x
}

// Below reads a number and refuses it unless it is less than limit.
func (f *Reader) Below(limit uint64, what string) uint64 {
	x := f.Uvarint()
	if x >= limit {
		f.Damaged("%s is %d, want less than %d", what, x, limit)
		return 0
	}
	return x
}

// Varint reads a number that may be negative.
func (f *Reader) Varint() int64 {
	x := f.Uvarint()
	return int64(x>>1) ^ -int64(x&1)
}

// Bool reads a bit; what names the value in errors.
func (f *Reader) Bool(what string) bool { return f.Below(2, what) == 1 }

// Text takes as much memory as there is text, whatever its length claims.
func (f *Reader) Text() string {
	var s []byte
	for n := f.Uvarint(); n > 0 && f.more(); {
		part := f.left[:min(n, uint64(len(f.left)))]
		s = append(s, part...)
		f.left, n = f.left[len(part):], n-uint64(len(part))
	}
	return string(s)
}

// Vector reads a vector; what names the value in errors.
func (f *Reader) Vector(what string) (v resources.Vector) {
	kinds := f.Below(1<<resources.MaxKinds, what)
	for k := range v {
		if kinds>>k&1 == 0 {
			continue
		}
		q := f.Uvarint()
		if q == 0 || q > uint64(resources.MaxQuantity) {
			f.Damaged("%s: kind %d is %d, want 1 to 2^62", what, k, q)
			return resources.Vector{}
		}
		v[k] = int64(q)
	}
	return v
}
