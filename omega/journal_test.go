package omega_test

import (
	"bytes"
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/cellsched/cellsched/omega"
	"github.com/cellsched/cellsched/resources"
)

// tape is a journal that applies each operation at once and keeps its bytes, with the
// digest of its outcome.
type tape struct {
	ops     [][]byte
	digests []uint64
}

func (j *tape) Append(op *omega.Operation) {
	j.ops = append(j.ops, bytes.Clone(op.Bytes()))
	j.digests = append(j.digests, op.Apply())
}

// newTaped returns a cell whose changes are kept on a tape, and the state it began with.
func newTaped(t require.TestingT, cfg omega.Config) (*omega.Cell, *tape, []byte) {
	cell, err := omega.NewCell(cfg)
	require.NoError(t, err)
	j := new(tape)
	require.NoError(t, cell.SetJournal(j))
	return cell, j, saved(t, cell)
}

func saved(t require.TestingT, cell *omega.Cell) []byte {
	var b bytes.Buffer
	require.NoError(t, cell.Save(&b))
	return b.Bytes()
}

// copyOf returns a copy of a cell that applies operations.
func copyOf(t require.TestingT, saved []byte) *omega.Cell {
	cell, err := omega.Restore(bytes.NewReader(saved), nil)
	require.NoError(t, err)
	require.NoError(t, cell.SetJournal(new(tape)))
	return cell
}

// play applies operations to a copy.
func (j *tape) play(t require.TestingT, cell *omega.Cell, from, to int) {
	for i := from; i < to; i++ {
		digest, err := cell.Apply(j.ops[i])
		require.NoError(t, err)
		require.Equal(t, j.digests[i], digest, "operation %d: %x", i, j.ops[i])
	}
}

// Copies that are fed the same operations are the same to the byte, wherever in the log
// they were restored. All kinds of operations are among them, refused ones and those of
// replaced schedulers and of schedulers that have left too.
func TestJournal_CopiesFedTheSameLogAreEqual(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		cell, log, first := newTaped(t, omega.Config{})
		w := &journalWorld{cell: cell, now: time.Unix(1e9, 0)}
		copies, at := []*omega.Cell{copyOf(t, first)}, []int{0}
		for range rapid.IntRange(1, 4).Draw(t, "parts") {
			for range rapid.IntRange(1, 60).Draw(t, "operations") {
				w.step(t)
			}
			want := saved(t, cell)
			for i, one := range copies {
				log.play(t, one, at[i], len(log.ops))
				at[i] = len(log.ops)
				require.True(t, bytes.Equal(want, saved(t, one)), "copy %d after %d operations", i, at[i])
				require.NoError(t, one.Check())
			}
			copies, at = append(copies, copyOf(t, want)), append(at, len(log.ops))
			require.Equal(t, hex.EncodeToString(want), hex.EncodeToString(saved(t, copies[len(copies)-1])))
		}
	})
}

// The bytes of operations are part of the journal's format, and stay.
func TestOperation_HasTheBytesThatJournalsKeep(t *testing.T) {
	cell, log, _ := newTaped(t, omega.Config{})
	m, err := cell.Add(omega.Machine{Name: "m", Capacity: resources.Vector{8000, 0, 64}, Attributes: map[string]string{"z": "1", "a": ""}})
	require.NoError(t, err)
	tenant, err := cell.Account(t.Context(), "tenant")
	require.NoError(t, err)
	s, err := cell.Take(t.Context(), "s", omega.Limits{Held: &resources.Vector{9000, 0, 90}, Jobs: 2, Highest: 5, Machines: omega.Mask{3}})
	require.NoError(t, err)
	require.NoError(t, s.BeginJob())
	tx := omega.Txn{Now: time.Unix(1e9, 5), Grace: time.Second, Gang: true}
	tx.Claim(omega.Claim{Machine: m, Account: tenant, Need: resources.Vector{500, 0, 1}})
	tx.Claim(omega.Claim{Machine: m, Account: tenant, Need: resources.Vector{500, 0, 1}})
	tx.Claim(omega.Claim{Machine: m, Account: tenant, Need: resources.Vector{1}, Precedence: 2})
	granted, err := s.Commit(&tx)
	require.NoError(t, err)
	require.Equal(t, 3, granted)
	a, _ := tx.Allocation(0)
	b, _ := tx.Allocation(1)
	tx = omega.Txn{Detect: omega.Coarse}
	s.Snapshot().Refresh(time.Unix(1e9, 6))
	tx.Resize(a, resources.Vector{400})
	tx.Exchange([]omega.AllocationID{b}, omega.Claim{Machine: m, Need: resources.Vector{7}, Grantee: s})
	tx.Reserve(time.Unix(2e9, 0), omega.Claim{Machine: m, Need: resources.Vector{8000}})
	_, err = s.Commit(&tx)
	require.NoError(t, err)
	require.NoError(t, s.Restrict(t.Context(), nil))
	d, err := s.Deputy("d", omega.Limits{})
	require.NoError(t, err)
	require.NoError(t, d.Leave())
	require.NoError(t, s.EndJob())
	require.NoError(t, cell.Drain(m))
	require.NoError(t, cell.Resume(m))
	require.NoError(t, cell.SetCapacity(m, resources.Vector{9000, 0, 64}))
	require.NoError(t, cell.SetAttributes(m, nil))
	require.Error(t, s.Release(a))
	_, err = cell.Replace("s")
	require.NoError(t, err)
	_, err = cell.Register("s", omega.Limits{})
	require.ErrorIs(t, err, omega.ErrName)
	_, err = cell.Remove(m)
	require.NoError(t, err)
	var got strings.Builder
	for _, op := range log.ops {
		got.WriteString(hex.EncodeToString(op) + "\n")
	}
	require.Equal(t, journalGolden, got.String())
}

// Bytes that no Operation has are refused and change nothing.
func TestApply_RefusesBytesThatAreNoOperation(t *testing.T) {
	cell, log, first := newTaped(t, omega.Config{})
	w := &journalWorld{cell: cell, now: time.Unix(1e9, 0)}
	rapid.Check(t, func(t *rapid.T) { w.step(t) })
	for _, op := range log.ops {
		for _, bad := range [][]byte{op[:len(op)-1], append(bytes.Clone(op), 0), append([]byte{0}, op...), append([]byte{200}, op...), nil} {
			one := copyOf(t, first)
			_, err := one.Apply(bad)
			if err == nil {
				continue // shorter by the end of a number, it may be another operation
			}
			require.ErrorIs(t, err, omega.ErrDamaged)
			require.True(t, bytes.Equal(saved(t, copyOf(t, first)), saved(t, one)))
		}
	}
	_, err := cell.Apply(nil)
	require.ErrorIs(t, err, omega.ErrDamaged)
}

// A claim that belongs to an exchange comes behind the first claim of that.
func TestApply_RefusesAnExchangeWithoutItsFirstClaim(t *testing.T) {
	cell, log, first := newTaped(t, omega.Config{Machines: []omega.Machine{{Name: "m", Capacity: resources.Vector{9}}}})
	s, err := cell.Take(t.Context(), "s", omega.Limits{})
	require.NoError(t, err)
	m, _ := cell.Machine("m")
	var tx omega.Txn
	tx.Exchange(nil, claim(m, 1), claim(m, 2))
	commit(t, s, &tx)
	op := log.ops[len(log.ops)-1]
	refused := 0
	for i := range op {
		for kind := range byte(4) {
			bad := bytes.Clone(op)
			bad[i] = bad[i]&0x3f | kind<<6 // the kind of an item, if this is one
			one := copyOf(t, first)
			log.play(t, one, 0, len(log.ops)-1)
			if _, err := one.Apply(bad); err != nil {
				require.ErrorIs(t, err, omega.ErrDamaged)
				refused++
			}
			require.NoError(t, one.Check())
		}
	}
	require.Positive(t, refused)
}

func FuzzApply(f *testing.F) {
	cell, log, first := newTaped(f, omega.Config{Machines: []omega.Machine{{Name: "m", Capacity: resources.Vector{9}}}})
	s, err := cell.Take(f.Context(), "s", omega.Limits{})
	require.NoError(f, err)
	m, _ := cell.Machine("m")
	var tx omega.Txn
	tx.Claim(claim(m, 1))
	commit(f, s, &tx)
	for _, op := range log.ops {
		f.Add(op)
	}
	f.Fuzz(func(t *testing.T, op []byte) {
		one, other := copyOf(t, first), copyOf(t, first)
		log.play(t, one, 0, len(log.ops))
		log.play(t, other, 0, len(log.ops))
		digest, err := one.Apply(op)
		again, _ := other.Apply(op)
		require.Equal(t, digest, again)
		require.NoError(t, one.Check())
		require.Equal(t, saved(t, one), saved(t, other))
		if err != nil {
			require.ErrorIs(t, err, omega.ErrDamaged)
		}
	})
}

// switched is a journal that applies operations at once, or holds them back.
type switched struct {
	hold bool
	last *omega.Operation
}

func (j *switched) Append(op *omega.Operation) {
	if j.last = op; !j.hold {
		op.Apply()
	}
}

// A commit whose context ends is in doubt. The same transaction again waits for the
// outcome; no other is committed before.
func TestCommitContext_IsInDoubtUntilTheJournalAnswers(t *testing.T) {
	cell, err := omega.NewCell(omega.Config{Machines: []omega.Machine{{Name: "m", Capacity: resources.Vector{9}}}})
	require.NoError(t, err)
	j := new(switched)
	require.NoError(t, cell.SetJournal(j))
	s, err := cell.Take(t.Context(), "s", omega.Limits{})
	require.NoError(t, err)
	j.hold = true
	ended, end := context.WithCancelCause(t.Context())
	gone := errors.New("gone")
	end(gone)
	_, err = cell.Take(ended, "other", omega.Limits{})
	require.ErrorIs(t, err, omega.ErrOutcome)
	require.ErrorIs(t, err, gone)
	m, _ := cell.Machine("m")
	var tx, other omega.Txn
	tx.Claim(claim(m, 1))
	other.Claim(claim(m, 2))
	_, err = s.CommitContext(ended, &tx)
	require.ErrorIs(t, err, omega.ErrOutcome)
	_, err = s.CommitContext(t.Context(), &other)
	require.ErrorIs(t, err, omega.ErrOutcome)
	tx.Reset() // does nothing
	require.ErrorIs(t, tx.Err(0), omega.ErrUncommitted)
	s.Snapshot().Refresh(time.Time{})
	j.last.Apply()
	require.ErrorIs(t, tx.Err(0), omega.ErrUncommitted)
	granted, err := s.CommitContext(ended, &tx)
	require.NoError(t, err)
	require.Equal(t, 1, granted)
	require.NoError(t, tx.Err(0))

	_, err = s.CommitContext(ended, &other)
	require.ErrorIs(t, err, omega.ErrOutcome)
	j.last.Fail(gone)
	_, err = s.CommitContext(t.Context(), &other)
	require.ErrorIs(t, err, gone)
	require.NotErrorIs(t, err, omega.ErrOutcome)

	_, err = s.CommitContext(ended, &other) // it is open again
	require.ErrorIs(t, err, omega.ErrOutcome)
	j.last.Fail(fmt.Errorf("%w: %w", omega.ErrOutcome, gone))
	for range 3 {
		_, err = s.CommitContext(t.Context(), &other)
		require.ErrorIs(t, err, gone)
		require.ErrorIs(t, err, omega.ErrOutcome)
	}
}

// A cell takes a journal once, before it has schedulers.
func TestSetJournal_IsForANewCell(t *testing.T) {
	cell, _, _ := newTaped(t, omega.Config{})
	require.ErrorIs(t, cell.SetJournal(new(tape)), omega.ErrBusy)
	used, err := omega.NewCell(omega.Config{})
	require.NoError(t, err)
	_, err = used.Apply(nil)
	require.ErrorIs(t, err, resources.ErrNil)
	require.ErrorIs(t, used.SetJournal(nil), resources.ErrNil)
	_, err = used.Register("s", omega.Limits{})
	require.NoError(t, err)
	require.ErrorIs(t, used.SetJournal(new(tape)), omega.ErrBusy)
}
