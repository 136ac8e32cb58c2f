package omega_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/iotest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/cellsched/cellsched/omega"
	"github.com/cellsched/cellsched/resources"
)

func TestRestore_ReturnsTheWholeCell(t *testing.T) {
	cell, schedulers := fullCell(t)
	restored, err := omega.Restore(iotest.OneByteReader(bytes.NewReader(save(t, cell))), cell.Space())
	require.NoError(t, err)
	require.Same(t, cell.Space(), restored.Space())
	batch, service := schedulers[0], schedulers[1]
	successors := requireAlike(t, cell, restored, schedulers)
	require.NotEmpty(t, slices.Collect(successors[0].Marked()))

	// Numbers are given out in the same order.
	for i := range 3 {
		m := omega.Machine{Name: fmt.Sprint("new ", i)}
		want, err := cell.Add(m)
		require.NoError(t, err)
		got, err := restored.Add(m)
		require.NoError(t, err)
		require.Equal(t, want, got)
	}
	// Limits hold: batch has two of three jobs, and its mask and precedence.
	require.NoError(t, successors[0].BeginJob())
	require.ErrorIs(t, successors[0].BeginJob(), omega.ErrLimit)
	for name, c := range map[string]omega.Claim{
		"precedence": {Machine: machineAt(cell, 1), Need: resources.Vector{1}, Precedence: 6}, "machine": {Machine: machineAt(cell, 5), Need: resources.Vector{1}}, "held": {Machine: machineAt(cell, 1), Need: resources.Vector{25000}},
	} {
		var tx omega.Txn
		tx.Claim(c)
		_, err := successors[0].Commit(&tx)
		require.NoError(t, err)
		want := omega.ErrForbidden
		if name == "held" {
			want = omega.ErrLimit
		}
		require.ErrorIs(t, tx.Err(0), want, name)
	}
	var wide omega.Txn
	wide.Gang = true
	for range 101 {
		wide.Claim(claim(machineAt(cell, 1), 1))
	}
	_, err = successors[0].Commit(&wide)
	require.ErrorIs(t, err, omega.ErrLimit)
	var tx omega.Txn
	tx.Claim(claim(machineAt(cell, 1), 1))
	_, err = successors[2].Commit(&tx)
	require.NoError(t, err)
	require.ErrorIs(t, tx.Err(0), omega.ErrForbidden, "an empty mask is not no mask")

	// What takes the place of what is leaving waits for it in both.
	var ready [2]time.Time
	for i, s := range []*omega.Scheduler{service, successors[1]} {
		next := omega.Txn{Now: time.Date(2013, 4, 15, 12, 0, 1, 0, time.UTC)}
		next.Claim(claim(machineAt(cell, 1), 6000)) // all that batch does not hold
		for a := range s.Allocations() {
			next.Release(a.ID)
		}
		granted, err := s.Commit(&next)
		require.NoError(t, err)
		require.Equal(t, 1, granted)
		a, _ := next.Allocation(0)
		ready[i], err = []*omega.Cell{cell, restored}[i].ReadyAt(a)
		require.NoError(t, err)
	}
	require.NotZero(t, ready[0])
	require.Equal(t, ready[0], ready[1])

	// The grantee may take what it was offered, and what was preempted lets
	// go of what took its place.
	for a := range restored.Allocations() {
		if a.Machine == machineAt(cell, 0) && a.Need[0] == 1000 {
			var accept omega.Txn
			accept.Exchange([]omega.AllocationID{a.ID}, omega.Claim{Machine: a.Machine, Need: a.Need})
			granted, err := successors[1].Commit(&accept)
			require.NoError(t, err)
			require.Equal(t, 1, granted, "%v", accept.Err(0))
		}
	}
	for m := range successors[0].Marked() {
		require.NoError(t, successors[0].Release(m.Allocation.ID))
	}
	for a := range restored.Allocations() {
		at, err := restored.ReadyAt(a.ID)
		require.NoError(t, err)
		require.Zero(t, at)
	}
	for a := range restored.Allocations() {
		s := successors[slices.IndexFunc(successors, func(s *omega.Scheduler) bool { return s.Name() == a.Scheduler })]
		require.NoError(t, s.Release(a.ID))
	}
	for m := range restored.Machines() {
		require.Equal(t, m.Capacity, m.Free)
	}
	require.Zero(t, successors[0].Usage())
	require.NoError(t, restored.Check())
	require.NotZero(t, batch.Usage(), "the saved cell is another one")
	require.NotZero(t, service.Usage())
}

func TestRestore_TakesTheSpaceOfTheFileOrItsEqual(t *testing.T) {
	cell, _ := fullCell(t)
	file := save(t, cell)
	restored, err := omega.Restore(bytes.NewReader(file), nil)
	require.NoError(t, err)
	require.Equal(t, cell.Space(), restored.Space())

	other := func(dims ...resources.Dimension) *resources.Space {
		space, err := resources.NewSpace(dims...)
		require.NoError(t, err)
		return space
	}
	for name, space := range map[string]*resources.Space{
		"fewer":      other(resources.CPU()),
		"more":       other(resources.CPU(), resources.Memory(), resources.Dimension{Name: "gpu"}),
		"order":      other(resources.Memory(), resources.CPU()),
		"other unit": other(resources.Dimension{Name: "cpu"}, resources.Memory()),
	} {
		_, err := omega.Restore(bytes.NewReader(file), space)
		require.ErrorIs(t, err, omega.ErrSpace, name)
	}
	nameless, _ := newCell(t, 1, resources.Vector{1})
	restored, err = omega.Restore(bytes.NewReader(save(t, nameless)), nil)
	require.NoError(t, err)
	require.Nil(t, restored.Space())
	_, err = omega.Restore(bytes.NewReader(save(t, nameless)), cell.Space())
	require.ErrorIs(t, err, omega.ErrSpace)
}

func TestRestore_RefusesDamage(t *testing.T) {
	cell, _ := fullCell(t)
	file := save(t, cell)
	for n := range file {
		restored, err := omega.Restore(bytes.NewReader(file[:n]), cell.Space())
		require.ErrorIs(t, err, omega.ErrDamaged, "cut off at %d", n)
		require.Nil(t, restored)
	}
	for n := range file {
		for bit := range 8 {
			flipped := slices.Clone(file)
			flipped[n] ^= 1 << bit
			restored, err := omega.Restore(bytes.NewReader(flipped), cell.Space())
			require.ErrorIs(t, err, omega.ErrDamaged, "bit %d of byte %d", bit, n)
			require.Nil(t, restored)
		}
	}
	_, err := omega.Restore(bytes.NewReader(append(file, 0)), cell.Space())
	require.ErrorIs(t, err, omega.ErrDamaged)
	require.ErrorContains(t, err, "goes on")

	later := binary.LittleEndian.AppendUint32([]byte("OmegaCel"), 4)
	later = binary.LittleEndian.AppendUint32(later, crc32.Checksum(later, crc32.MakeTable(crc32.Castagnoli)))
	_, err = omega.Restore(bytes.NewReader(later), nil)
	require.ErrorIs(t, err, omega.ErrVersion)
}

// A length that was made up takes no memory before there is that much.
func TestRestore_TakesNoMoreMemoryThanThereIsInput(t *testing.T) {
	for name, file := range map[string][]byte{
		"frame":   append(inFrames(nil)[:16], 0xff, 0xff, 0xff, 0x7f),
		"text":    inFrames(content(0, 0, 1, uint64(1<<62))),
		"mask":    inFrames(content(0, 0, 0, 1, "s", 0, 0, 0, 0, 0, 0, 0, 1, uint64(1<<62))),
		"leaving": inFrames(content(0, 0, 0, 0, 1, "m", 0, 0, 0, 0, 1, 0, 0, uint64(1<<62))),
	} {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		_, err := omega.Restore(bytes.NewReader(file), nil)
		runtime.ReadMemStats(&after)
		require.ErrorIs(t, err, omega.ErrDamaged, name)
		require.Less(t, after.TotalAlloc-before.TotalAlloc, uint64(1<<20), name)
	}
}

func TestSave_ReportsWhatItsWriterDoes(t *testing.T) {
	cell, _ := fullCell(t)
	full := errors.New("disk full")
	for n := range len(save(t, cell)) {
		require.ErrorIs(t, cell.Save(&limitedWriter{n, full}), full)
		require.ErrorIs(t, cell.Save(&limitedWriter{n, nil}), io.ErrShortWrite)
	}
	for n := range len(dump(t, cell)) {
		require.ErrorIs(t, cell.Dump(&limitedWriter{n, full}), full)
	}
	_, err := omega.Restore(iotest.ErrReader(full), nil)
	require.ErrorIs(t, err, full)
	require.NotErrorIs(t, err, omega.ErrDamaged)
	_, err = omega.Restore(io.MultiReader(bytes.NewReader(save(t, cell)), iotest.ErrReader(full)), nil)
	require.ErrorIs(t, err, full)
}

// Equal states are equal bytes, however many schedulers have registered and left
// before.
func TestSave_WritesTheStateAndNotItsHistory(t *testing.T) {
	cell, ids := newCell(t, 2, resources.Vector{1000})
	for i := range 3 {
		require.NoError(t, register(t, cell, fmt.Sprint("gone-", i)).Leave())
	}
	var schedulers []*omega.Scheduler
	for i := range 5 {
		schedulers = append(schedulers, register(t, cell, fmt.Sprint("s", i)))
		require.NoError(t, register(t, cell, "between").Leave())
	}
	for i := range 200 { // many are alike
		held(t, schedulers[i%5], ids[i%2], 0, resources.Vector{int64(1 + i%3)})
	}
	file := save(t, cell)
	restored, err := omega.Restore(bytes.NewReader(file), nil)
	require.NoError(t, err)
	require.Equal(t, file, save(t, restored))
}

// What happens once it has begun to write is not part of what is saved.
func TestSave_IsOfTheMomentOfItsCut(t *testing.T) {
	cell, schedulers := fullCell(t)
	long := make(map[string]string)
	for i := range 1 << 9 { // more than a frame
		long[fmt.Sprint("key-", i)] = strings.Repeat("x", resources.MaxName)
	}
	require.NoError(t, cell.SetAttributes(machineAt(cell, 0), long))
	before := save(t, cell)
	var file bytes.Buffer
	writes := 0
	require.NoError(t, cell.Save(writerFunc(func(b []byte) (int, error) {
		if writes++; writes == 2 { // the first is the header
			preempt(t, cell, schedulers[1], machineAt(cell, 1), 6000) // what was live
			m, err := cell.Add(omega.Machine{Name: "new", Capacity: resources.Vector{1}})
			require.NoError(t, err)
			var tx omega.Txn
			tx.Claim(claim(m, 1))
			granted, err := schedulers[1].Commit(&tx)
			require.NoError(t, err)
			require.Equal(t, 1, granted)
			preempt(t, cell, schedulers[1], m, 1) // what was granted meanwhile
			_, err = cell.Remove(machineAt(cell, 0))
			require.NoError(t, err)
		}
		return file.Write(b)
	})))
	require.Greater(t, writes, 2)
	require.NotEqual(t, before, save(t, cell))
	require.True(t, bytes.Equal(before, file.Bytes()))
}

// What is saved while others commit is one moment: gangs are in it whole.
func TestSave_IsOneMomentWhileOthersCommit(t *testing.T) {
	const pairs, schedulers, saves = 4, 4, 30
	cell, ids := newCell(t, 2*pairs, resources.Vector{8 * schedulers})
	var wg sync.WaitGroup
	stop, errs := make(chan struct{}), make([]error, schedulers)
	for i := range schedulers {
		s := register(t, cell, fmt.Sprint(i))
		wg.Go(func() {
			// It holds as much on one machine of a pair as on the other, and
			// moves from pair to pair.
			var held []omega.AllocationID
			for n := i; errs[i] == nil; n++ {
				select {
				case <-stop:
					return
				default:
				}
				tx := omega.Txn{Gang: true}
				tx.Claim(claim(ids[n%pairs*2], int64(1+n%8)))
				tx.Claim(claim(ids[n%pairs*2+1], int64(1+n%8)))
				for _, a := range held {
					tx.Release(a)
				}
				_, err := s.Commit(&tx)
				errs[i] = errors.Join(err, tx.Err(0))
				a, _ := tx.Allocation(0)
				b, _ := tx.Allocation(1)
				held = []omega.AllocationID{a, b}
			}
		})
	}
	for range saves {
		restored, err := omega.Restore(bytes.NewReader(save(t, cell)), nil)
		require.NoError(t, err)
		require.NoError(t, restored.Check())
		var frees []int64
		for m := range restored.Machines() {
			frees = append(frees, m.Free[0])
		}
		for i := range pairs {
			require.Equal(t, frees[2*i], frees[2*i+1], "half a gang was saved")
		}
	}
	close(stop)
	wg.Wait()
	require.NoError(t, errors.Join(errs...))
}
