//go:build unix

package main

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
)

func content(text string) func(io.Writer) error {
	return func(w io.Writer) error { _, err := io.WriteString(w, text); return err }
}

func TestOutput_KeepsTheMode(t *testing.T) {
	path := filepath.Join(t.TempDir(), "out")
	require.NoError(t, os.WriteFile(path, []byte("old"), 0o600))
	o, err := newOutput(path)
	require.NoError(t, err)
	require.NoError(t, o.write(content("new")))
	info, err := os.Stat(path)
	require.NoError(t, err)
	require.Equal(t, os.FileMode(0o600), info.Mode())
}

func TestOutput_FollowsLinks(t *testing.T) {
	dir := t.TempDir()
	file, link := filepath.Join(dir, "file"), filepath.Join(dir, "link")
	require.NoError(t, os.WriteFile(file, []byte("old"), 0o600))
	require.NoError(t, os.Symlink("file", link))
	o, err := newOutput(link)
	require.NoError(t, err)
	require.NoError(t, o.write(content("new")))
	info, err := os.Lstat(link)
	require.NoError(t, err)
	require.Equal(t, os.ModeSymlink, info.Mode().Type())
	got, err := os.ReadFile(file)
	require.NoError(t, err)
	require.Equal(t, "new", string(got))

	require.NoError(t, os.Remove(file))
	_, err = newOutput(link) // leads nowhere
	require.ErrorIs(t, err, os.ErrNotExist)
}

func TestOutput_WritesToAPipeAsItIs(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "pipe")
	require.NoError(t, syscall.Mkfifo(path, 0o600))
	o, err := newOutput(path)
	require.NoError(t, err)
	got := make(chan string)
	go func() {
		text, err := os.ReadFile(path)
		if err != nil {
			text = []byte(err.Error())
		}
		got <- string(text)
	}()
	require.NoError(t, o.write(content("all of it")))
	require.Equal(t, "all of it", <-got)
	info, err := os.Lstat(path)
	require.NoError(t, err)
	require.Equal(t, os.ModeNamedPipe, info.Mode().Type())
	left, err := os.ReadDir(dir)
	require.NoError(t, err)
	require.Len(t, left, 1)
}

// A pipe without a name is written to through the link that leads to it.
func TestOutput_WritesThroughALinkToAPipe(t *testing.T) {
	r, w, err := os.Pipe()
	require.NoError(t, err)
	path := fmt.Sprintf("/dev/fd/%d", w.Fd())
	if _, err := os.Stat(path); err != nil {
		t.Skip(err)
	}
	o, err := newOutput(path)
	require.NoError(t, err)
	require.NoError(t, o.write(content("all of it")))
	require.NoError(t, w.Close())
	got, err := io.ReadAll(r)
	require.NoError(t, err)
	require.Equal(t, "all of it", string(got))
	require.NoError(t, r.Close())
}

// Whether there is somewhere to write is known before the replay begins.
func TestOutput_IsTriedBeforeTheReplay(t *testing.T) {
	dir := t.TempDir()
	missing := filepath.Join(dir, "none", "out")
	err := run([]string{"-trace", "none.csv", "-machines", "1", "-o", missing}, io.Discard, io.Discard)
	require.ErrorIs(t, err, os.ErrNotExist)
	require.ErrorContains(t, err, missing) // it is not the trace that is missed first
	require.ErrorContains(t, run(mixed("-o", dir), io.Discard, io.Discard), "a folder, want a file")
	left, err := os.ReadDir(dir)
	require.NoError(t, err)
	require.Empty(t, left)
}
