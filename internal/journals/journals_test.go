package journals_test

import (
	"errors"
	"flag"
	"runtime"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/cellsched/cellsched/internal/journals"
	"github.com/cellsched/cellsched/omega"
	"github.com/cellsched/cellsched/resources"
)

func newCell(t *testing.T) (*omega.Cell, *journals.Stalling) {
	t.Helper()
	cell, err := omega.NewCell(omega.Config{Machines: []omega.Machine{{Name: "m", Capacity: resources.Vector{1}}}})
	require.NoError(t, err)
	j := new(journals.Stalling)
	require.NoError(t, cell.SetJournal(j))
	return cell, j
}

func TestStalling_AppliesInOrderAndFailsTheFirst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cell, j := newCell(t)
		j.Stall(true)
		outcomes := make([]error, 4)
		for i, name := range []string{"a", "b", "c", "d"} {
			go func() { _, outcomes[i] = cell.Take(t.Context(), name, omega.Limits{}) }()
			synctest.Wait()
		}
		failed, full := errors.New("failed"), errors.New("disk is full")
		require.Equal(t, 4, j.Len())
		require.True(t, j.One())
		require.True(t, j.Fail(failed))
		j.Stall(false)
		synctest.Wait()
		require.Equal(t, []error{nil, failed, nil, nil}, outcomes)
		require.False(t, j.One())
		require.False(t, j.Fail(failed))
		require.Equal(t, 4, j.Most())
		j.Refuse(full, 1)
		_, err := cell.Take(t.Context(), "e", omega.Limits{})
		require.NoError(t, err)
		for range 2 {
			_, err = cell.Take(t.Context(), "f", omega.Limits{})
			require.ErrorIs(t, err, full)
		}
		j.Refuse(nil, 0)
		_, err = cell.Take(t.Context(), "f", omega.Limits{})
		require.NoError(t, err)
	})
}

// Fifty commits of 1 ms each by four schedulers end within the time measured: 13 ms.
func TestTurnover_MeasuresTheCommitsThatItCounts(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("benchmarks there do not use the clock of a bubble")
	}
	benchtime := flag.Lookup("test.benchtime")
	before := benchtime.Value.String()
	require.NoError(t, benchtime.Value.Set("50x"))
	defer func() { require.NoError(t, benchtime.Value.Set(before)) }()
	synctest.Test(t, func(t *testing.T) {
		cell, err := omega.NewCell(omega.Config{Machines: journals.Machines()})
		require.NoError(t, err)
		r := testing.Benchmark(func(b *testing.B) {
			b.Helper()
			journals.Turnover(b, cell, 4, 1, func([]omega.AllocationID, *omega.Txn) error {
				time.Sleep(time.Millisecond)
				return nil
			})
		})
		require.Equal(t, 50, r.N)
		require.Equal(t, 13*time.Millisecond, r.T)
		require.InDelta(t, 1e6, r.Extra["p50-ns"], 0)
	})
}

func TestTurnover_ReleasesEarlierCommits(t *testing.T) {
	cell, err := omega.NewCell(omega.Config{Machines: journals.Machines()})
	require.NoError(t, err)
	benchtime := flag.Lookup("test.benchtime")
	before := benchtime.Value.String()
	require.NoError(t, benchtime.Value.Set("200x"))
	defer func() { require.NoError(t, benchtime.Value.Set(before)) }()
	testing.Benchmark(func(b *testing.B) {
		b.Helper()
		journals.Turnover(b, cell, 1, 2, nil)
	})
	held := 0
	for range cell.Allocations() {
		held++
	}
	require.Equal(t, 2*65, held)
}
