package journal_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"hash/crc32"
	"io"
	"iter"
	"math/rand/v2"
	"regexp"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/cellsched/cellsched/omega"
	"github.com/cellsched/cellsched/omega/journal"
	"github.com/cellsched/cellsched/omega/journal/journaltest"
	"github.com/cellsched/cellsched/resources"
)

func newSim(seed uint64) *journaltest.Sim {
	return journaltest.NewSim(journaltest.Faults{}, rand.New(rand.NewPCG(seed, 1)))
}

// raw is the parts of an entry: see the type entry.
type raw struct {
	version, kind byte
	numbers       [3]uint64 // the session, the number, the position applied
	log, state    uint32
	body          []byte
}

func parse(t *testing.T, data []byte) (r raw) {
	t.Helper()
	r.version, r.kind = data[0], data[1]
	rest := data[2:]
	for i := range r.numbers {
		x, n := binary.Uvarint(rest)
		require.Positive(t, n)
		r.numbers[i], rest = x, rest[n:]
	}
	r.log, r.state, r.body = binary.LittleEndian.Uint32(rest), binary.LittleEndian.Uint32(rest[4:]), rest[8:len(rest)-4]
	return r
}

func (r raw) bytes() []byte {
	b := []byte{r.version, r.kind}
	for _, x := range r.numbers {
		b = binary.AppendUvarint(b, x)
	}
	b = binary.LittleEndian.AppendUint32(b, r.log)
	b = append(binary.LittleEndian.AppendUint32(b, r.state), r.body...)
	return binary.LittleEndian.AppendUint32(b, crc32.Checksum(b, crc32.MakeTable(crc32.Castagnoli)))
}

// edited is a store with an entry that was edited.
func edited(t *testing.T, store journal.Store, at journal.Position, edit func(r *raw)) journal.Store {
	t.Helper()
	return &altered{store, at, func(data []byte) []byte {
		if data == nil {
			return nil // the end
		}
		r := parse(t, data)
		edit(&r)
		return r.bytes()
	}}
}

// written returns a store that a process has written entries to, the fourth of a change.
func written(t *testing.T) *journaltest.Sim {
	t.Helper()
	sim := newSim(1)
	cell := open(t, sim.Client(), first(2))
	m, _ := cell.Machine("m0")
	for range 3 {
		require.NoError(t, cell.Drain(m))
		require.NoError(t, cell.Resume(m))
	}
	require.NoError(t, cell.Close(t.Context()))
	return sim
}

// A store that cannot be read is refused, and nothing is appended to it: the program that wrote
// it goes on with it.
func TestOpen_AppendsNothingToAStoreThatItRefuses(t *testing.T) {
	for name, test := range map[string]struct {
		edit func(r *raw)
		want error
	}{
		"later version":                     {func(r *raw) { r.version += 3 }, journal.ErrVersion},
		"another history":                   {func(r *raw) { r.log++ }, journal.ErrForked},
		"other outcomes":                    {func(r *raw) { r.state++ }, journal.ErrDiverged},
		"writer that had read itself":       {func(r *raw) { r.numbers[2]++ }, journal.ErrForked},
		"writer that had read a later one":  {func(r *raw) { r.numbers[2] = 1 << 40 }, journal.ErrForked},
		"number behind a gap":               {func(r *raw) { r.numbers[1]++ }, journal.ErrForked},
		"other outcome of an earlier entry": {func(r *raw) { r.numbers[2], r.state = r.numbers[2]-1, 9 }, journal.ErrForked},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				sim := written(t)
				before := len(sim.Entries()) // the last one is edited: no later one shows it
				_, err := journal.Open(t.Context(), edited(t, sim.Client(), journal.Position(before), test.edit), first(2))
				require.ErrorIs(t, err, test.want)
				onePackage(t, err)
				require.Len(t, sim.Entries(), before)
				cell := open(t, sim.Client(), first(2))
				require.NoError(t, cell.Close(t.Context()))
			})
		})
	}
}

// A checkpoint of another version is refused.
func TestOpen_RefusesACheckpointOfAnotherVersion(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		sim := newSim(1)
		cell := open(t, sim.Client(), first(1))
		require.NoError(t, cell.Checkpoint(t.Context()))
		require.NoError(t, cell.Close(t.Context()))
		_, r, err := sim.Client().Checkpoint(t.Context())
		require.NoError(t, err)
		whole, err := io.ReadAll(r)
		require.NoError(t, err)
		const version, header = 8, 8 + 1 + 8 + 4 + 4 + 4 + 16
		for at := range header + 4 {
			bad := bytes.Clone(whole)
			bad[at]++
			_, err := journal.Open(t.Context(), &stale{Store: sim.Client(), at: 2, checkpoint: bad, times: 1}, first(1))
			require.ErrorIs(t, err, journal.ErrDamaged, "byte %d", at)
			onePackage(t, err)
		}
		bad := bytes.Clone(whole)
		bad[version] += 3
		binary.LittleEndian.PutUint32(bad[header:], crc32.Checksum(bad[:header], crc32.MakeTable(crc32.Castagnoli)))
		_, err = journal.Open(t.Context(), &stale{Store: sim.Client(), at: 2, checkpoint: bad, times: 1}, first(1))
		require.ErrorIs(t, err, journal.ErrVersion)
	})
}

// stale is a store that returns a checkpoint of its own so many times.
type stale struct {
	journal.Store
	at         journal.Position
	checkpoint []byte
	times      int
}

func (s *stale) Checkpoint(ctx context.Context) (journal.Position, io.ReadCloser, error) {
	if s.times--; s.times < 0 {
		return s.Store.Checkpoint(ctx)
	}
	return s.at, io.NopCloser(bytes.NewReader(s.checkpoint)), nil
}

// Another process may write a checkpoint while this one reads the one before: entries behind
// that are gone. Open begins anew. A cell that is open and falls so far behind has failed.
func TestOpen_BeginsAnewWhereEntriesWereTrimmed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		sim := newSim(1)
		cell := open(t, sim.Client(), first(1))
		require.NoError(t, cell.Checkpoint(t.Context()))
		at, err := cell.Saved()
		require.NoError(t, err)
		_, r, err := sim.Client().Checkpoint(t.Context())
		require.NoError(t, err)
		old, err := io.ReadAll(r)
		require.NoError(t, err)
		m, _ := cell.Machine("m0")
		require.NoError(t, cell.Drain(m))
		require.NoError(t, cell.Checkpoint(t.Context()))
		other := open(t, &stale{sim.Client(), at, old, 1}, first(1))
		require.True(t, bytes.Equal(saved(t, cell.Cell), saved(t, other.Cell)))
		require.NoError(t, other.Close(t.Context()))

		behind := &paused{Store: sim.Client(), on: make(chan struct{})}
		other = open(t, behind, first(1))
		behind.hold.Store(true)
		for range 3 {
			require.NoError(t, cell.Resume(m))
		}
		require.NoError(t, cell.Checkpoint(t.Context()))
		close(behind.on)
		time.Sleep(time.Minute) // walks that end are begun again
		require.ErrorIs(t, other.Err(), journal.ErrTrimmed)
		require.ErrorIs(t, other.Err(), journal.ErrFailed)
		onePackage(t, other.Err())
		require.ErrorIs(t, other.Drain(m), journal.ErrTrimmed)
		require.ErrorIs(t, other.Close(t.Context()), journal.ErrTrimmed)
		require.NoError(t, cell.Close(t.Context()))
	})
}

// The session of a process that is away for too long is ended. Its change was not made.
func TestCell_FailsOnceItsSessionHasExpired(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		sim := newSim(1)
		client := sim.Client()
		cell := open(t, client, first(1))
		begin := parse(t, bytes.Clone(sim.Entries()[0].Data))
		for i := range 1 << 12 {
			binary.LittleEndian.PutUint64(begin.body, uint64(i))
			require.NoError(t, client.Append(t.Context(), begin.bytes()))
		}
		synctest.Wait()
		m, _ := cell.Machine("m0")
		err := cell.Drain(m)
		require.ErrorIs(t, err, journal.ErrExpired)
		require.ErrorIs(t, err, omega.ErrJournal)
		onePackage(t, err)
		require.NotErrorIs(t, err, omega.ErrOutcome)
		require.ErrorIs(t, cell.Close(t.Context()), journal.ErrExpired)
		after := open(t, sim.Client(), first(1))
		for m := range after.Machines() {
			require.Equal(t, omega.Ready, m.Condition)
		}
		require.NoError(t, after.Close(t.Context()))
	})
}

// late is a store with appends that are kept and fail.
type late struct {
	journal.Store
	fails atomic.Bool
}

func (l *late) Append(ctx context.Context, entry []byte) error {
	err := l.Store.Append(ctx, entry)
	if l.fails.Load() {
		return errors.Join(journal.ErrFailed, errors.New("no answer"))
	}
	return err
}

// A store that fails may have kept the entry in flight. The caller was told that its outcome is
// unknown. The cell is as the store has it.
func TestCell_AppliesAnEntryThatIsKeptAfterAll(t *testing.T) {
	for _, checkpoint := range []int64{0, 1} {
		synctest.Test(t, func(t *testing.T) {
			sim := newSim(1)
			cfg := first(2)
			cfg.Checkpoint = checkpoint
			store := &late{Store: &paused{Store: sim.Client(), on: make(chan struct{})}}
			cell := open(t, store, cfg)
			s, err := cell.Take(t.Context(), "s", omega.Limits{})
			require.NoError(t, err)
			s.Snapshot().Refresh(time.Time{})
			m, _ := cell.Machine("m0")
			store.Store.(*paused).hold.Store(true)
			store.fails.Store(true)
			var tx omega.Txn
			tx.Claim(omega.Claim{Machine: m, Need: resources.Vector{7}})
			_, err = s.CommitContext(t.Context(), &tx)
			require.ErrorIs(t, err, omega.ErrOutcome)
			require.ErrorIs(t, err, journal.ErrFailed)
			onePackage(t, err)
			close(store.Store.(*paused).on)
			time.Sleep(time.Minute) // a walk that ends is begun again
			s.Snapshot().Refresh(time.Time{})
			free, _ := s.Snapshot().Free(m)
			require.Equal(t, resources.Vector{33}, free)
			_, err = s.CommitContext(t.Context(), &tx)
			require.ErrorIs(t, err, omega.ErrOutcome)
			have := saved(t, cell.Cell)
			require.ErrorIs(t, cell.Close(t.Context()), journal.ErrFailed)
			other := open(t, sim.Client(), cfg)
			require.True(t, bytes.Equal(have, saved(t, other.Cell)))
			require.NoError(t, other.Close(t.Context()))
		})
	}
}

// Close returns with its context, also while a call of the store does not.
func TestClose_ReturnsWithItsContext(t *testing.T) {
	for name, stuck := range map[string]func(*jammed){
		"append":     func(j *jammed) { j.appends.Store(true) },
		"checkpoint": func(j *jammed) { j.replaces.Store(true) },
		"read":       func(j *jammed) { j.reads.Store(true) },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				store := &jammed{Store: newSim(1).Client(), free: make(chan struct{})}
				cell := open(t, store, first(1))
				m, _ := cell.Machine("m0")
				stuck(store)
				go func() { _ = cell.Checkpoint(t.Context()) }()
				synctest.Wait()
				changed := make(chan error, 1)
				go func() { changed <- cell.Drain(m) }()
				synctest.Wait()
				ctx, cancel := context.WithTimeout(t.Context(), time.Second)
				defer cancel()
				require.ErrorIs(t, cell.Close(ctx), context.DeadlineExceeded)
				if !store.replaces.Load() {
					require.ErrorIs(t, <-changed, journal.ErrClosed)
				}
				require.ErrorIs(t, cell.Err(), journal.ErrClosed)
				close(store.free)
			})
		})
	}
}

// jammed is a store with calls that do not return, whatever their context.
type jammed struct {
	journal.Store
	appends, replaces, reads atomic.Bool
	free                     chan struct{}
}

func (j *jammed) Append(ctx context.Context, entry []byte) error {
	if j.appends.Load() {
		<-j.free
	}
	return j.Store.Append(ctx, entry)
}

func (j *jammed) Replace(ctx context.Context, at journal.Position, save func(io.Writer) error) error {
	if j.replaces.Load() {
		<-j.free
	}
	return j.Store.Replace(ctx, at, save)
}

func (j *jammed) Read(ctx context.Context, after journal.Position) iter.Seq2[journal.Entry, error] {
	return func(yield func(journal.Entry, error) bool) {
		for e, err := range j.Store.Read(ctx, after) {
			if j.reads.Load() {
				<-j.free
			}
			if !yield(e, err) {
				return
			}
		}
	}
}

// The error of a checkpoint that was not asked for is kept for Saved, until a later one
// succeeds. The cell goes on.
func TestSaved_TellsOfACheckpointThatHasFailed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := &unsaving{Store: newSim(1).Client()}
		cfg := first(1)
		cfg.Checkpoint = 2000
		cell := open(t, store, cfg)
		at, err := cell.Saved()
		require.NoError(t, err)
		require.Zero(t, at)
		m, _ := cell.Machine("m0")
		full := errors.New("disk is full")
		store.err = full
		changes := func(enough func() bool) (n int) {
			for ; !enough(); n++ {
				require.Less(t, n, 1000)
				require.NoError(t, cell.Drain(m))
				synctest.Wait()
			}
			return n
		}
		first := changes(func() bool {
			_, err = cell.Saved()
			return err != nil
		})
		require.ErrorIs(t, err, full)
		onePackage(t, err)
		require.NoError(t, cell.Err())
		store.err = nil
		again := changes(func() bool {
			at, err = cell.Saved()
			return err == nil
		})
		require.Positive(t, at)
		require.Less(t, again, first/4)
		require.NoError(t, cell.Close(t.Context()))
	})
}

// unsaving is a store with checkpoints that fail.
type unsaving struct {
	journal.Store
	err error
}

func (u *unsaving) Replace(ctx context.Context, at journal.Position, save func(io.Writer) error) error {
	if u.err != nil {
		return u.err
	}
	return u.Store.Replace(ctx, at, save)
}

var packages = regexp.MustCompile(`\b(file|journal|omega|journaltest): `)
