package file

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cellsched/cellsched/omega/journal"
)

var errCrash = errors.New("crash")

// Any of the unsynced sectors and names may reach the disk when the machine fails, at any step,
// or some steps after the process was killed. Every acknowledged entry is there, in order.
// There is no entry that was not appended. Of half of the seeds the segments have a few entries
// each. In half the sync of a new file does not make its name durable.
func TestStore_LosesNothingAcknowledgedInACrash(t *testing.T) {
	rotated := 0
	for seed := range uint64(1000) {
		rng := rand.New(rand.NewPCG(seed, 3))
		disk, acked, sent := newMemory(), [][]byte{}, [][]byte{}
		disk.strict = seed%4 >= 2
		full := [...]int64{segmentSize, 4 << 10}[seed%2]
		for range 1 + rng.IntN(4) {
			steps := rng.IntN(60)
			fault := func(string) error {
				if steps--; steps < 0 {
					return errCrash
				}
				return nil
			}
			disk.fault = fault
			s, err := open(disk, full)
			if err == nil {
				disk.fault = func(string) error { return nil }
				acked = verify(t, s, seed, acked, sent)
				disk.fault = fault
				began := s.segments[len(s.segments)-1].first
				acked, sent = fill(t, s, rng, acked, acked)
				if s.segments[len(s.segments)-1].first > began {
					rotated++
				}
			}
			require.NotErrorIs(t, err, journal.ErrDamaged, "seed %d", seed)
			if rng.IntN(2) == 0 {
				continue // the process was killed, and the machine goes on
			}
			disk = disk.crash(rng)
			s, err = open(disk, full)
			require.NoError(t, err, "seed %d", seed)
			acked = verify(t, s, seed, acked, sent)
			sent = slices.Clone(acked)
		}
	}
	require.Greater(t, rotated, 100)
}

// fill appends entries and checkpoints until a call fails.
func fill(t *testing.T, s *Store, rng *rand.Rand, acked, sent [][]byte) (_, _ [][]byte) {
	t.Helper()
	for {
		if rng.IntN(8) == 0 {
			at := journal.Position(len(acked) - rng.IntN(1+min(len(acked), 5)))
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
		s, err := open(disk, segmentSize)
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
	s, err := open(disk, segmentSize)
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
	s, err = open(disk, segmentSize)
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
			_, _ = open(disk, segmentSize)
			s, err := open(disk.crash(rand.New(rand.NewPCG(seed, 5))), segmentSize)
			require.NoError(t, err, "seed %d, %d steps", seed, steps)
			verify(t, s, seed, entries, entries)
		}
	}
}

// Of a last frame of six sectors at most any subset of its sectors may have reached the disk, and
// any whole number of them may be its size. The entries before it are there in each of the
// states, and it is there whole or not at all.
func TestOpen_KeepsWhatIsBeforeAnyPartOfTheLastFrame(t *testing.T) {
	for _, length := range []int{1, 480, 500, 512, 1000, 2400, 2500} {
		for _, before := range []int{0, 7, 400, 512} {
			acked := [][]byte{[]byte("one"), bytes.Repeat([]byte{7}, 1+before)}
			sent := append(slices.Clone(acked), bytes.Repeat([]byte{9}, length))
			data := header(1)
			for i, e := range acked {
				data = append(data, appendFrame(nil, journal.Position(i+1), e)...)
			}
			synced := len(data)
			whole := append(bytes.Clone(data), appendFrame(nil, 3, sent[2])...)
			first := synced / sector
			sectors := (len(whole)+sector-1)/sector - first
			require.LessOrEqual(t, sectors, 7)
			for subset := range 1 << sectors {
				for size := first; size <= first+sectors; size++ {
					after := make([]byte, max(synced, min(size*sector, len(whole))))
					copy(after, data)
					for i := range sectors {
						from, to := max((first+i)*sector, synced), min((first+i+1)*sector, len(after))
						if subset>>i&1 == 1 && from < to {
							copy(after[from:to], whole[from:])
						}
					}
					disk := newMemory()
					disk.files[segmentName(1)] = &content{now: after, synced: after}
					require.NoError(t, disk.sync())
					s, err := open(disk, segmentSize)
					require.NoError(t, err, "entry of %d bytes at %d, sectors %b, %d bytes", length, synced, subset, len(after))
					verify(t, s, 0, acked, sent)
					require.Equal(t, bytes.Equal(after, whole), s.next == 4)
				}
			}
		}
	}
}
