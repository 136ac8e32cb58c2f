package file

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cellsched/cellsched/omega/journal"
)

// memory is a disk that keeps unsynced writes apart.
type memory struct {
	files   map[string]*content // by the names that a program sees
	durable map[string]*content // by the names that are synced
	fault   func(call string) error
}

// content is a file: as a program sees it, and as it was synced.
type content struct{ now, synced []byte }

func newMemory() *memory {
	return &memory{files: map[string]*content{}, durable: map[string]*content{}, fault: func(string) error { return nil }}
}

func (m *memory) list() ([]string, error) { return slices.Sorted(maps.Keys(m.files)), nil }
func (m *memory) close() error            { return nil }

func (m *memory) open(name string) (handle, error) {
	if err := m.fault("open"); err != nil {
		return nil, err
	}
	if m.files[name] == nil {
		m.files[name] = &content{}
	}
	return &opened{m, m.files[name]}, nil
}

func (m *memory) rename(from, to string) error {
	m.files[to] = m.files[from]
	delete(m.files, from)
	return nil
}

func (m *memory) remove(name string) error {
	if err := m.fault("remove"); err != nil {
		return err
	}
	delete(m.files, name)
	return nil
}

func (m *memory) sync() error {
	if err := m.fault("sync names"); err != nil {
		return err
	}
	m.durable = maps.Clone(m.files)
	return nil
}

// crash returns a state that the disk may have after a crash: of each unsynced sector the old
// or the new content, and a size between. So it has, for each name by itself, the old or the
// new file.
func (m *memory) crash(rng *rand.Rand) *memory {
	after := newMemory()
	names := maps.Clone(m.durable)
	for _, name := range slices.Sorted(maps.Keys(names)) {
		if m.files[name] != m.durable[name] && rng.IntN(2) == 0 {
			delete(names, name) // removed, or renamed
		}
	}
	for _, name := range slices.Sorted(maps.Keys(m.files)) {
		if m.files[name] != m.durable[name] && rng.IntN(2) == 0 {
			names[name] = m.files[name]
		}
	}
	for _, name := range slices.Sorted(maps.Keys(names)) {
		c := names[name]
		size := len(c.synced)
		if more := len(c.now) - size; more > 0 {
			size += rng.IntN(more + 1)
		} else if more < 0 && rng.IntN(2) == 0 {
			size = len(c.now)
		}
		kept := make([]byte, size)
		for at := 0; at < size; at += sector {
			from := c.synced
			if rng.IntN(2) == 0 {
				from = c.now
			}
			if at < len(from) {
				copy(kept[at:min(at+sector, size)], from[at:])
			}
		}
		after.files[name] = &content{now: kept, synced: bytes.Clone(kept)}
	}
	after.durable = maps.Clone(after.files)
	return after
}

// opened is an open file.
type opened struct {
	disk *memory
	*content
}

func (f *opened) ReadAt(b []byte, at int64) (int, error) {
	if at >= int64(len(f.now)) {
		return 0, io.EOF
	}
	n := copy(b, f.now[at:])
	if n < len(b) {
		return n, io.EOF
	}
	return n, nil
}

func (f *opened) WriteAt(b []byte, at int64) (int, error) {
	err := f.disk.fault("write")
	if err != nil {
		b = b[:len(b)/2]
	}
	if need := int(at) + len(b); need > len(f.now) {
		f.now = append(bytes.Clone(f.now), make([]byte, need-len(f.now))...)
	} else {
		f.now = bytes.Clone(f.now)
	}
	copy(f.now[at:], b)
	return len(b), err
}

func (f *opened) Truncate(size int64) error {
	if err := f.disk.fault("truncate"); err != nil {
		return err
	}
	f.now = bytes.Clone(f.now[:min(int(size), len(f.now))])
	return nil
}

func (f *opened) Sync() error {
	if err := f.disk.fault("sync"); err != nil {
		return err
	}
	f.synced = f.now
	if name := f.name(); f.disk.durable[name] == nil && name != "" {
		f.disk.durable[name] = f.content // fsync of a new file makes its name durable, as ext4 and xfs do
	}
	return nil
}

func (f *opened) name() string {
	for name, c := range f.disk.files {
		if c == f.content {
			return name
		}
	}
	return ""
}

func (f *opened) Close() error         { return nil }
func (f *opened) size() (int64, error) { return int64(len(f.now)), nil }

var errCrash = errors.New("crash")

// Any of the unsynced sectors and names may reach the disk when the machine fails, at any step,
// or some steps after the process was killed. Every
// acknowledged entry is there, in order. There is no entry that was not appended.
func TestStore_LosesNothingAcknowledgedInACrash(t *testing.T) {
	for seed := range uint64(1000) {
		rng := rand.New(rand.NewPCG(seed, 3))
		disk, acked, sent := newMemory(), [][]byte{}, [][]byte{}
		for range 1 + rng.IntN(4) {
			steps := rng.IntN(60)
			fault := func(string) error {
				if steps--; steps < 0 {
					return errCrash
				}
				return nil
			}
			disk.fault = fault
			s, err := open(disk)
			if err == nil {
				disk.fault = func(string) error { return nil }
				acked = verify(t, s, seed, acked, sent)
				disk.fault = fault
				acked, sent = fill(t, s, rng, acked, acked)
			}
			require.NotErrorIs(t, err, journal.ErrDamaged, "seed %d", seed)
			if rng.IntN(2) == 0 {
				continue // the process was killed, and the machine goes on
			}
			disk = disk.crash(rng)
			s, err = open(disk)
			require.NoError(t, err, "seed %d", seed)
			acked = verify(t, s, seed, acked, sent)
			sent = slices.Clone(acked)
		}
	}
}

// fill appends entries and checkpoints until a call fails.
func fill(t *testing.T, s *Store, rng *rand.Rand, acked, sent [][]byte) (_, _ [][]byte) {
	t.Helper()
	for {
		if rng.IntN(8) == 0 {
			at := journal.Position(len(acked))
			if s.Replace(t.Context(), at, func(w io.Writer) error {
				_, err := fmt.Fprintf(w, "at %d", at)
				return err
			}) != nil {
				return acked, sent
			}
		}
		data := bytes.Repeat([]byte{byte(1 + rng.IntN(255))}, 1+rng.IntN(1500))
		sent = append(slices.Clone(acked), data)
		if s.Append(t.Context(), data) != nil {
			return acked, sent
		}
		acked = sent
	}
}

// verify returns the entries of a store, of which those that were acknowledged must be there.
func verify(t *testing.T, s *Store, seed uint64, acked, sent [][]byte) [][]byte {
	t.Helper()
	have := int(s.next) - 1
	require.GreaterOrEqual(t, have, len(acked), "seed %d", seed)
	require.LessOrEqual(t, have, len(sent), "seed %d", seed)
	at, r, err := s.Checkpoint(t.Context())
	require.NoError(t, err)
	if r != nil {
		text, err := io.ReadAll(r)
		require.NoError(t, err)
		require.Equal(t, fmt.Sprint("at ", at), string(text), "seed %d", seed)
	}
	if int(at) < have {
		for e, err := range s.Read(t.Context(), at) {
			require.NoError(t, err, "seed %d", seed)
			if e.Data == nil {
				continue
			}
			require.Equal(t, sent[e.At-1], e.Data, "seed %d: position %d", seed, e.At)
			if int(e.At) == have {
				break
			}
		}
	}
	return sent[:have:have]
}

// A short write leaves nothing behind and may be tried again. After a failed sync the store
// takes no more entries, nor where the rest of a short write cannot be removed.
func TestStore_FailsForGoodAfterAFailedSync(t *testing.T) {
	full := errors.New("disk is full")
	for failing, lasting := range map[string]bool{"write": false, "sync": true, "write and truncate": true} {
		disk := newMemory()
		s, err := open(disk)
		require.NoError(t, err)
		require.NoError(t, s.Append(context.Background(), []byte("one")))
		disk.fault = func(call string) error {
			if bytes.Contains([]byte(failing), []byte(call)) {
				return full
			}
			return nil
		}
		err = s.Append(t.Context(), []byte("two"))
		require.ErrorIs(t, err, full, failing)
		require.Equal(t, lasting, errors.Is(err, journal.ErrFailed), failing)
		disk.fault = func(string) error { return nil }
		err = s.Append(t.Context(), []byte("three"))
		require.Equal(t, lasting, errors.Is(err, journal.ErrFailed), failing)
		want := []string{"one", "three"}
		if lasting {
			want = want[:1]
		}
		var got []string
		for e, err := range s.Read(t.Context(), 0) {
			if err != nil {
				require.ErrorIs(t, err, journal.ErrFailed)
				break
			}
			if e.Data == nil {
				continue
			}
			if got = append(got, string(e.Data)); len(got) == len(want) && !lasting {
				break
			}
		}
		require.Equal(t, want, got, failing)
	}
}

// A checkpoint is written although what it replaces cannot be removed. The next Open removes
// that.
func TestReplace_SucceedsWhereTheOldFilesCannotBeRemoved(t *testing.T) {
	disk := newMemory()
	s, err := open(disk)
	require.NoError(t, err)
	save := func(w io.Writer) error {
		_, err := io.WriteString(w, "state")
		return err
	}
	full := bytes.Repeat([]byte{1}, segmentSize)
	for at := range journal.Position(2) {
		require.NoError(t, s.Append(t.Context(), full))
		require.NoError(t, s.Append(t.Context(), []byte("small")))
		disk.fault = func(call string) error {
			if call == "remove" {
				return errors.New("not permitted")
			}
			return nil
		}
		require.NoError(t, s.Replace(t.Context(), 2*at+1, save))
	}
	names, _ := disk.list()
	require.Equal(t, []string{checkpointName(1), checkpointName(3), segmentName(1), segmentName(2), segmentName(4)}, names)
	at, r, err := s.Checkpoint(t.Context())
	require.NoError(t, err)
	require.NoError(t, r.Close())
	require.EqualValues(t, 3, at)
	require.NoError(t, s.Close())

	disk.fault = func(string) error { return nil }
	s, err = open(disk)
	require.NoError(t, err)
	names, _ = disk.list()
	require.Equal(t, []string{checkpointName(3), segmentName(4)}, names)
	require.NoError(t, s.Close())
}

// A process was killed before the name of its checkpoint was durable. The machine fails while the
// store is opened again, at any step: the checkpoint is there then, or the entries below it.
func TestOpen_LosesNothingInACrashBehindAKilledCheckpoint(t *testing.T) {
	entries := [][]byte{[]byte("one"), []byte("two")}
	for steps := range 8 {
		for seed := range uint64(40) {
			disk := newMemory()
			for i, e := range entries {
				at := journal.Position(i + 1)
				data := append(header(at), appendFrame(nil, at, e)...)
				disk.files[segmentName(at)] = &content{now: data, synced: data}
			}
			saved := &content{now: []byte("at 1"), synced: []byte("at 1")}
			disk.files[temporary] = saved
			require.NoError(t, disk.sync())
			require.NoError(t, disk.rename(temporary, checkpointName(1)))

			left := steps
			disk.fault = func(string) error {
				if left--; left < 0 {
					return errCrash
				}
				return nil
			}
			_, _ = open(disk)
			s, err := open(disk.crash(rand.New(rand.NewPCG(seed, 5))))
			require.NoError(t, err, "seed %d, %d steps", seed, steps)
			verify(t, s, seed, entries, entries)
		}
	}
}
