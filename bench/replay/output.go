package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
)

// output is a file to be written at the end.
type output struct {
	path   string
	mode   fs.FileMode
	direct bool // it is no regular file, and cannot be replaced
}

// newOutput finds out whether a file can be written, before there is anything to
// write, and changes nothing.
func newOutput(path string) (*output, error) {
	o := &output{path: path, mode: 0o644}
	_, err := os.Lstat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return o, o.try()
	}
	if err != nil {
		return nil, err
	}
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if info.IsDir() {
		return nil, fmt.Errorf("%s: a folder, want a file", path)
	}
	if o.direct = !info.Mode().IsRegular(); o.direct {
		return o, nil // /dev/stdout can be opened where the pipe behind it has no name
	}
	if o.path, err = filepath.EvalSymlinks(path); err != nil {
		return nil, err
	}
	o.mode = info.Mode().Perm()
	return o, o.try()
}

// try makes a file where write does, and removes it.
func (o *output) try() error {
	f, err := o.partial()
	if err != nil {
		return err
	}
	return errors.Join(f.Close(), os.Remove(f.Name()))
}

func (o *output) partial() (*os.File, error) {
	return os.CreateTemp(filepath.Dir(o.path), filepath.Base(o.path)+".*.partial")
}

// write makes a file of the output of content, whole or not at all. It is written
// beside it, under another name, and moved in its place with the mode of the former
// file. A target that is no regular file, such as a pipe, is written to as it is.
func (o *output) write(content func(io.Writer) error) (err error) {
	if o.direct {
		f, err := os.OpenFile(o.path, os.O_WRONLY, 0)
		if err != nil {
			return err
		}
		return errors.Join(fill(f, content), f.Close())
	}
	f, err := o.partial()
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, os.Remove(f.Name()))
		}
	}()
	if err = fill(f, content); err == nil {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err != nil {
		return err
	}
	if err = os.Chmod(f.Name(), o.mode); err != nil {
		return err
	}
	return os.Rename(f.Name(), o.path)
}

func fill(f *os.File, content func(io.Writer) error) error {
	w := bufio.NewWriter(f)
	return errors.Join(content(w), w.Flush())
}
