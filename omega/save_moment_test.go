package omega_test

import (
	"bytes"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/cellsched/cellsched/omega"
	"github.com/cellsched/cellsched/resources"
)

// interruptedWriter calls between after each write, with its number from 0.
type interruptedWriter struct {
	bytes.Buffer
	writes  int
	between func(write int)
}

func (w *interruptedWriter) Write(b []byte) (int, error) {
	n, err := w.Buffer.Write(b)
	w.between(w.writes)
	w.writes++
	return n, err
}

// leavingCell is a cell in which two preempted allocations keep others waiting.
type leavingCell struct {
	cell      *omega.Cell
	low, high *omega.Scheduler
	victims   []omega.AllocationID // of low, preempted
	lost      omega.AllocationID   // of low, with the machine that was removed
	kept      omega.AllocationID   // of low
}

// newLeavingCell returns such a cell. Its account names make a file that is
// longer by pad bytes.
func newLeavingCell(t *testing.T, pad int) *leavingCell {
	t.Helper()
	cell, ids := newCell(t, 2, resources.Vector{4})
	account := func(name string) {
		_, err := cell.Account(t.Context(), name)
		require.NoError(t, err)
	}
	for i := range pad / 100 {
		account(fmt.Sprintf("%099d", i)) // and one byte of each is its length
	}
	account(fmt.Sprintf("%0*d", 5+pad%100, pad/100))
	l := &leavingCell{cell: cell, low: ranked(t, cell, "low"), high: ranked(t, cell, "high")}
	commit := func(s *omega.Scheduler, tx *omega.Txn) {
		granted, err := s.Commit(tx)
		require.NoError(t, err)
		require.Equal(t, tx.Len(), granted, "%v", tx.Err(0))
	}
	var held, own omega.Txn
	for _, m := range []omega.MachineID{ids[0], ids[0], ids[0], ids[1]} {
		held.Claim(claim(m, 1))
	}
	commit(l.low, &held)
	for i := range 2 {
		a, _ := held.Allocation(i)
		l.victims = append(l.victims, a)
	}
	l.kept, _ = held.Allocation(2)
	l.lost, _ = held.Allocation(3)
	own.Claim(claim(ids[0], 1))
	commit(l.high, &own)
	running, _ := own.Allocation(0)

	// One allocation waits for both victims, and another one to grow.
	preempting := omega.Txn{Now: time.Unix(1e9, 5).UTC(), Grace: time.Hour}
	c := claim(ids[0], 1)
	c.Precedence, c.Victims = 1, l.victims
	preempting.Claim(c)
	commit(l.high, &preempting)
	growing := omega.Txn{Now: time.Unix(1e9, 6).UTC()}
	growing.Resize(running, resources.Vector{2})
	commit(l.high, &growing)
	_, err := cell.Remove(ids[1])
	require.NoError(t, err)
	return l
}

// A saved cell is that of the cut, wherever in the file its writer has got to
// when an allocation that others wait for, or that was lost, is released.
func TestSave_IsNotChangedByReleasesWhileItWrites(t *testing.T) {
	const frame = 64 << 10
	for pad := frame - 300; pad <= frame; pad++ {
		l := newLeavingCell(t, pad)
		want := save(t, l.cell)
		file := &interruptedWriter{between: func(write int) {
			if write == 1 { // the first frame; the header was written before
				for _, a := range append(l.victims, l.lost) {
					require.NoError(t, l.low.Release(a))
				}
			}
		}}
		require.NoError(t, l.cell.Save(file))
		_, err := omega.Restore(bytes.NewReader(file.Bytes()), nil)
		require.NoError(t, err, "pad %d", pad)
		require.True(t, bytes.Equal(want, file.Bytes()), "pad %d: the file is another one", pad)
		require.False(t, bytes.Equal(want, save(t, l.cell)), "pad %d: nothing was released", pad)
	}
}

// The same of a dump.
func TestDump_IsNotChangedByReleasesWhileItWrites(t *testing.T) {
	for at := 0; ; at++ {
		l := newLeavingCell(t, 0)
		want := dump(t, l.cell)
		text := &interruptedWriter{between: func(write int) {
			if write == at {
				for _, a := range append(slices.Clone(l.victims), l.lost, l.kept) {
					require.NoError(t, l.low.Release(a))
				}
			}
		}}
		require.NoError(t, l.cell.Dump(text))
		require.Equal(t, want, text.String(), "released after write %d", at)
		if at >= text.writes {
			return
		}
	}
}

// A cell is saved while allocations are preempted with grace and released. At whatever
// moment that is, it is restored. A preempted allocation is then marked, or released
// and waited for no longer.
func TestSave_IsRestoredWhilePreemptedAllocationsAreReleased(t *testing.T) {
	saves := 2000
	if testing.Short() {
		saves = 200
	}
	const slots = 4
	cell, ids := newCell(t, 1, resources.Vector{slots})
	low, high := ranked(t, cell, "low"), ranked(t, cell, "high")
	var done atomic.Bool
	var wg sync.WaitGroup
	var errs [2]error
	defer wg.Wait()
	defer done.Store(true)
	wg.Go(func() { // low takes what there is and lets go of what it lost
		for !done.Load() {
			var tx omega.Txn
			tx.Claim(claim(ids[0], 1))
			if _, err := low.Commit(&tx); err != nil {
				errs[0] = err
				return
			}
			for m := range low.Marked() {
				if err := low.Release(m.Allocation.ID); err != nil {
					errs[0] = err
					return
				}
			}
			runtime.Gosched()
		}
	})
	wg.Go(func() { // high preempts, resizes and releases
		for n := int64(0); !done.Load(); n++ {
			victims, _ := cell.Victims(ids[0], resources.Vector{2}, 1)
			tx := omega.Txn{Now: time.Unix(1e9+n, 0).UTC(), Grace: time.Hour}
			c := claim(ids[0], 2)
			c.Precedence, c.Victims = 1, victims
			tx.Claim(c)
			if _, err := high.Commit(&tx); err != nil {
				errs[1] = err
				return
			}
			a, ok := tx.Allocation(0)
			if !ok {
				continue
			}
			smaller := omega.Txn{Now: tx.Now}
			smaller.Resize(a, resources.Vector{1})
			if _, err := high.Commit(&smaller); err != nil {
				errs[1] = err
				return
			}
			runtime.Gosched()
			if b, ok := smaller.Allocation(0); ok {
				a = b
			}
			if errs[1] = high.Release(a); errs[1] != nil {
				return
			}
		}
	})
	for range saves {
		restored, err := omega.Restore(bytes.NewReader(save(t, cell)), nil)
		require.NoError(t, err)
		require.NoError(t, restored.Check())
		s, err := restored.Replace("low")
		require.NoError(t, err)
		marked := slices.Collect(s.Marked())
		for a := range restored.Allocations() {
			at, err := restored.ReadyAt(a.ID)
			require.NoError(t, err)
			require.True(t, at.IsZero() || len(marked) > 0, "%v waits, and nothing is leaving", a)
		}
		for _, m := range marked {
			require.NoError(t, s.Release(m.Allocation.ID))
		}
	}
	done.Store(true)
	wg.Wait()
	require.NoError(t, errors.Join(errs[:]...))
	require.NoError(t, cell.Check())
}
