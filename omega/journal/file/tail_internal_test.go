package file

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cellsched/cellsched/omega/journal"
)

// filled returns a disk with entries of a size.
func filled(t *testing.T, entries, size int) (*memory, *content) {
	t.Helper()
	disk := newMemory()
	s, err := open(disk, segmentSize)
	require.NoError(t, err)
	for i := range entries {
		require.NoError(t, s.Append(t.Context(), bytes.Repeat([]byte{byte(i + 1)}, size)))
	}
	return disk, disk.files[segmentName(1)]
}

// One append at a time is not synced: what is behind its frame was synced. So a damaged tail of
// more than a frame is refused, and the last frame unless a sector of it is missing.
func TestOpen_DropsOneTornFrameAtMost(t *testing.T) {
	const size = 700
	frame := frameSize + size
	flip := func(b []byte, at int) { b[at] ^= 4 }
	for name, test := range map[string]struct {
		damage func(b []byte) []byte
		kept   int // entries, or -1 for damage
	}{
		"whole":                        {func(b []byte) []byte { return b }, 5},
		"last frame short":             {func(b []byte) []byte { return b[:len(b)-1] }, 4},
		"head of the last frame short": {func(b []byte) []byte { return b[:len(b)-frame+5] }, 4},
		"last sector missing":          {func(b []byte) []byte { clear(b[len(b)/sector*sector:]); return b }, 4},
		"sector missing, short":        {func(b []byte) []byte { clear(b[6*sector : 3300]); return b[:3300] }, 4},
		"length of the last frame":     {func(b []byte) []byte { flip(b, len(b)-frame); return b }, -1},
		"place of the last frame":      {func(b []byte) []byte { flip(b, len(b)-frame+4); return b }, -1},
		"data of the last frame":       {func(b []byte) []byte { flip(b, len(b)-1); return b }, -1},
		"checksum of the last frame":   {func(b []byte) []byte { flip(b, len(b)-frame+8); return b }, -1},
		"data of the last two":         {func(b []byte) []byte { flip(b, len(b)-1); flip(b, len(b)-1-frame); return b }, -1},
		"data of all": {func(b []byte) []byte {
			for i := range 5 {
				flip(b, len(b)-1-i*frame)
			}
			return b
		}, -1},
		"data of the last two, one short":  {func(b []byte) []byte { flip(b, len(b)-1-frame); return b[:len(b)-3] }, -1},
		"heads of the last two":            {func(b []byte) []byte { flip(b, len(b)-frame); flip(b, len(b)-2*frame); return b }, -1},
		"zeros behind the last":            {func(b []byte) []byte { return append(b, make([]byte, 600)...) }, 5},
		"bytes behind the last":            {func(b []byte) []byte { return append(b, bytes.Repeat([]byte{7}, 600)...) }, -1},
		"header of the segment":            {func(b []byte) []byte { flip(b, 1); return b }, -1},
		"header of the segment, no frames": {func(b []byte) []byte { flip(b, 9); return b[:headerSize] }, -1},
		"header missing":                   {func(b []byte) []byte { clear(b[:headerSize]); return b[:headerSize] }, 0},
		"header short":                     {func(b []byte) []byte { return b[:headerSize-1] }, 0},
	} {
		t.Run(name, func(t *testing.T) {
			disk, segment := filled(t, 5, size)
			segment.now = test.damage(bytes.Clone(segment.now))
			s, err := open(disk, segmentSize)
			if test.kept < 0 {
				require.ErrorIs(t, err, journal.ErrDamaged)
				return
			}
			require.NoError(t, err)
			require.Equal(t, journal.Position(test.kept+1), s.next)
		})
	}
}

// A process that was killed may have written what it did not sync. What the next one finds is
// durable before it is read.
func TestOpen_MakesDurableWhatItFinds(t *testing.T) {
	disk, segment := filled(t, 2, 100)
	segment.synced = bytes.Clone(segment.now[:headerSize])
	_, err := open(disk, segmentSize)
	require.NoError(t, err)
	require.Equal(t, segment.now, segment.synced)

	segment.now = segment.now[:len(segment.now)-1] // torn, and found so
	s, err := open(disk, segmentSize)
	require.NoError(t, err)
	require.Equal(t, journal.Position(2), s.next)
	require.Equal(t, segment.now, segment.synced)
	require.Len(t, segment.synced, headerSize+frameSize+100)

	disk.fault = func(call string) error {
		if call == "sync" {
			return errCrash
		}
		return nil
	}
	_, err = open(disk, segmentSize)
	require.ErrorIs(t, err, errCrash)
}

// A new segment that may not be durable is not tried again.
func TestAppend_FailsForGoodWithoutANewSegment(t *testing.T) {
	for _, failing := range []string{"open", "write", "sync", "sync names"} {
		disk := newMemory()
		s, err := open(disk, segmentSize)
		require.NoError(t, err)
		require.NoError(t, s.Append(t.Context(), make([]byte, segmentSize)))
		disk.fault = func(call string) error {
			if call == failing {
				return errCrash
			}
			return nil
		}
		err = s.Append(t.Context(), []byte("next"))
		require.ErrorIs(t, err, errCrash, failing)
		require.ErrorIs(t, err, journal.ErrFailed, failing)
		disk.fault = func(string) error { return nil }
		require.ErrorIs(t, s.Append(t.Context(), []byte("next")), journal.ErrFailed, failing)
		require.Equal(t, journal.Position(2), s.next)
	}
}

// A process that ends within Replace leaves a part of a checkpoint, or the one before. The next
// one removes both.
func TestOpen_RemovesWhatAReplaceHasLeft(t *testing.T) {
	disk, _ := filled(t, 5, 10)
	s, err := open(disk, segmentSize)
	require.NoError(t, err)
	text := func(w io.Writer) error {
		_, err := io.WriteString(w, "checkpoint")
		return err
	}
	require.NoError(t, s.Replace(t.Context(), 3, text))
	old := disk.files[checkpointName(3)]
	require.NoError(t, s.Replace(t.Context(), 5, text))
	disk.files[checkpointName(3)], disk.files[temporary] = old, old
	_, err = open(disk, segmentSize)
	require.NoError(t, err)
	names, _ := disk.list()
	require.Equal(t, []string{checkpointName(5), segmentName(1)}, names)
}

// A write that fails leaves nothing behind, also where the machine fails before the next sync.
func TestAppend_LeavesNothingOfAFailedWrite(t *testing.T) {
	disk, segment := filled(t, 1, 10)
	s, err := open(disk, segmentSize)
	require.NoError(t, err)
	disk.fault = func(call string) error {
		if call == "write" {
			return errCrash
		}
		segment.synced = segment.now // the kernel writes when it likes to
		return nil
	}
	require.ErrorIs(t, s.Append(t.Context(), make([]byte, 100)), errCrash)
	require.Equal(t, segment.now, segment.synced)
	require.Len(t, segment.synced, headerSize+frameSize+10)
}

// The names of new folders are durable before there is anything in them.
func TestMakeFolder_SyncsEachNameThatItMakes(t *testing.T) {
	top := t.TempDir()
	path := filepath.Join(top, "a", "b", "c")
	var synced []string
	sync := func(path string) error {
		name, err := filepath.Rel(top, path)
		synced = append(synced, filepath.ToSlash(name))
		return err
	}
	require.NoError(t, makeFolder(path, sync))
	require.DirExists(t, path)
	require.Equal(t, []string{"..", ".", "a", "a/b"}, synced)

	synced = nil
	require.NoError(t, makeFolder(path, sync)) // killed before its first segment
	require.Equal(t, []string{"a/b"}, synced)

	synced = nil
	require.NoError(t, os.WriteFile(filepath.Join(path, segmentName(1)), nil, 0o600))
	require.NoError(t, makeFolder(path, sync))
	require.Empty(t, synced)

	failing := errors.New("failing")
	require.ErrorIs(t, makeFolder(filepath.Join(top, "d"), func(string) error { return failing }), failing)
	forbidden := func(p string) error {
		if p == filepath.Dir(top) {
			return fmt.Errorf("%s: %w", p, fs.ErrPermission)
		}
		return nil
	}
	require.NoError(t, makeFolder(filepath.Join(top, "e"), forbidden))
}

// A checkpoint that cannot be written leaves the one before, and the entries: a disk that is full
// or broken for a while costs nothing but room.
func TestReplace_LeavesTheCheckpointBeforeWhereItFails(t *testing.T) {
	text := func(text string) func(io.Writer) error {
		return func(w io.Writer) error {
			_, err := io.WriteString(w, text)
			return err
		}
	}
	for _, failing := range []string{"open", "write", "truncate", "sync", "sync names"} {
		disk, _ := filled(t, 9, 10)
		s, err := open(disk, segmentSize)
		require.NoError(t, err)
		require.NoError(t, s.Replace(t.Context(), 3, text("three")))
		disk.fault = func(call string) error {
			if call == failing {
				return errCrash
			}
			return nil
		}
		err = s.Replace(t.Context(), 6, text("six"))
		require.ErrorIs(t, err, errCrash, failing)
		require.NotErrorIs(t, err, journal.ErrFailed, failing)
		disk.fault = func(string) error { return nil }
		at, r, err := s.Checkpoint(t.Context())
		require.NoError(t, err)
		require.Equal(t, journal.Position(3), at, failing)
		b, err := io.ReadAll(r)
		require.NoError(t, err)
		require.Equal(t, "three", string(b), failing)
		require.NoError(t, s.Append(t.Context(), []byte("ten")))
		require.NoError(t, s.Replace(t.Context(), 9, text("nine")))
		s, err = open(disk, segmentSize)
		require.NoError(t, err)
		at, _, err = s.Checkpoint(t.Context())
		require.NoError(t, err)
		require.Equal(t, journal.Position(9), at, failing)
		require.Equal(t, journal.Position(11), s.next)
		names, _ := disk.list()
		require.Equal(t, []string{checkpointName(9), segmentName(1)}, names, failing)
	}
}
