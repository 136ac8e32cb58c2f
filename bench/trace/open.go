package trace

import (
	"bufio"
	"compress/gzip"
	"errors"
	"io"
	"os"
)

// File is a file that is being read, unpacked where it is compressed by gzip.
type File struct {
	io.Reader
	file   *os.File
	offset int64
}

// Open opens a file to be read. The caller closes it. A file that begins as gzip
// does and does not go on so is an [Error].
func Open(path string) (*File, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	f := &File{file: file}
	r := bufio.NewReader(counted{f})
	f.Reader = r
	if magic, _ := r.Peek(2); string(magic) != "\x1f\x8b" { // an error comes again when it is read
		return f, nil
	}
	z, err := gzip.NewReader(r)
	if err != nil {
		if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
			err = ErrCut
		}
		err = &Error{File: path, Line: 1, Column: 1, Detail: "begins as gzip does, and has no header of gzip", Reason: err}
		return nil, errors.Join(err, file.Close())
	}
	f.Reader = z
	return f, nil
}

// Offset returns how many bytes of the file, as it is on the disk, have been
// read.
func (f *File) Offset() int64 { return f.offset }

// Close closes the file.
func (f *File) Close() error { return f.file.Close() }

// counted reads the file itself.
type counted struct{ f *File }

func (c counted) Read(p []byte) (int, error) {
	n, err := c.f.file.Read(p)
	c.f.offset += int64(n)
	return n, err
}
