package trace

import (
	"bufio"
	"compress/gzip"
	"errors"
	"io"
	"os"
)

// Open opens a file to be read, unpacked where it is compressed by gzip. The
// caller closes it.
func Open(path string) (io.ReadCloser, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	r := bufio.NewReader(f)
	if magic, _ := r.Peek(2); string(magic) != "\x1f\x8b" { // an error comes again when it is read
		return opened{r, f}, nil
	}
	z, err := gzip.NewReader(r)
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return opened{z, f}, nil
}

type opened struct {
	io.Reader
	io.Closer
}
