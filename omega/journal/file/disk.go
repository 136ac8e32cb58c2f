package file

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/cellsched/cellsched/omega/journal"
)

const (
	segmentPrefix    = "journal-"
	checkpointPrefix = "checkpoint-"
	temporary        = "checkpoint.new"
	lockName         = "lock"
)

func segmentName(first journal.Position) string { return fmt.Sprintf("%s%020d", segmentPrefix, first) }

func checkpointName(at journal.Position) string { return fmt.Sprintf("%s%020d", checkpointPrefix, at) }

// positionOf returns the position in the name of a file, if it is one with that prefix.
func positionOf(name, prefix string) (journal.Position, bool) {
	digits, ok := strings.CutPrefix(name, prefix)
	at, err := strconv.ParseUint(digits, 10, 63)
	return journal.Position(at), ok && err == nil && len(digits) == 20
}

// disk is the folder of a store.
type disk interface {
	list() ([]string, error)
	open(name string) (handle, error) // for reading and writing, an empty one if there is none
	rename(from, to string) error
	remove(name string) error
	sync() error // makes names durable
	close() error
}

// handle is an open file.
type handle interface {
	io.ReaderAt
	io.WriterAt
	io.Closer
	Truncate(size int64) error
	Sync() error // makes the content durable
	size() (int64, error)
}

// folder is a disk of the operating system.
type folder struct {
	path string
	lock *os.File
}

// openFolder locks a folder.
func openFolder(path string) (*folder, error) {
	if err := makeFolder(path, syncFolder); err != nil {
		return nil, err
	}
	f, err := os.OpenFile(filepath.Join(path, lockName), os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	if err := lock(f); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return &folder{path, f}, nil
}

// makeFolder makes a folder where there is none, with those above it, and makes its name
// durable. One that has no segment yet may be of a process that was killed before that.
func makeFolder(path string, sync func(path string) error) error {
	path, err := filepath.Abs(path)
	if err != nil {
		return err
	}
	if files, err := os.ReadDir(path); err == nil && slices.ContainsFunc(files, func(f os.DirEntry) bool { return strings.HasPrefix(f.Name(), segmentPrefix) }) {
		return nil
	}
	return makeName(path, sync)
}

// makeName is makeFolder for one that has no segment. The folder above is durable before it is
// made: so at most the last one is not where a process was killed.
func makeName(path string, sync func(path string) error) error {
	above := filepath.Dir(path)
	switch _, err := os.Stat(path); {
	case err == nil:
		if err := sync(above); !errors.Is(err, fs.ErrPermission) {
			return err
		}
		return nil // it was made for this process, by another one
	case !errors.Is(err, fs.ErrNotExist) || above == path:
		return err
	}
	if err := makeName(above, sync); err != nil {
		return err
	}
	if err := os.Mkdir(path, 0o700); err != nil {
		return err
	}
	return sync(above)
}

func (d *folder) list() (names []string, err error) {
	entries, err := os.ReadDir(d.path)
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names, err
}

func (d *folder) open(name string) (handle, error) {
	f, err := os.OpenFile(filepath.Join(d.path, name), os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	return osFile{f}, nil
}

func (d *folder) rename(from, to string) error {
	return os.Rename(filepath.Join(d.path, from), filepath.Join(d.path, to))
}

func (d *folder) remove(name string) error { return os.Remove(filepath.Join(d.path, name)) }
func (d *folder) sync() error              { return syncFolder(d.path) }
func (d *folder) close() error             { return d.lock.Close() }

// osFile is a file of the operating system.
type osFile struct{ *os.File }

func (f osFile) Sync() error { return syncData(f.File) }

func (f osFile) size() (int64, error) {
	info, err := f.Stat()
	if err != nil {
		return 0, err
	}
	return info.Size(), nil
}
