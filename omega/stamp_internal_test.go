package omega

import (
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/cellsched/cellsched/resources"
)

// largeCell returns a cell of which most machines are stamped.
func largeCell(tb testing.TB, machines int) *Cell {
	tb.Helper()
	cfg := Config{Machines: make([]Machine, machines)}
	for i := range cfg.Machines {
		cfg.Machines[i] = Machine{Name: fmt.Sprint(i), Capacity: resources.Vector{1 << 40}}
	}
	cell, err := NewCell(cfg)
	require.NoError(tb, err)
	return cell
}

// sees requires that the snapshot is as the cell is.
func sees(t *testing.T, snap *Snapshot) {
	t.Helper()
	for node := range snap.cell.nodes.Load() {
		require.Equal(t, load(snap.cell.words.at(node)).free, snap.free[node], "machine %d", node)
	}
}

// While others commit, singly and in gangs, a large cell's snapshot misses
// nothing that was over when it was refreshed.
func TestRefresh_MissesNothingInALargeCell(t *testing.T) {
	const machines, writers = unstamped + 3*stampBlock + 5, 4
	cell := largeCell(t, machines)
	reader, err := cell.Register("reader", Limits{})
	require.NoError(t, err)
	snap := reader.Snapshot()
	for round := range 30 {
		var wg sync.WaitGroup
		for i := range writers {
			s, err := cell.Register(fmt.Sprint(round, "/", i), Limits{})
			require.NoError(t, err)
			rng := rand.New(rand.NewPCG(uint64(round), uint64(i)))
			wg.Go(func() {
				for range 200 {
					tx := Txn{Gang: rng.IntN(2) == 0}
					for range 1 + rng.IntN(3) {
						tx.Claim(Claim{Machine: machineID(unstamped-10+uint32(rng.IntN(machines-unstamped+10)), 0), Need: resources.Vector{1}})
					}
					if _, err := s.Commit(&tx); err != nil {
						panic(err)
					}
					if a, ok := tx.Allocation(0); ok && rng.IntN(2) == 0 {
						_ = s.Release(a)
					}
				}
			})
		}
		for range 20 {
			snap.Refresh(time.Time{})
		}
		wg.Wait()
		snap.Refresh(time.Time{})
		sees(t, snap)
		require.Zero(t, snap.Refresh(time.Time{}))
	}
	_, err = cell.Add(Machine{Name: "one more", Capacity: resources.Vector{7}})
	require.NoError(t, err)
	require.Equal(t, 1, snap.Refresh(time.Time{}))
	sees(t, snap)
	require.NoError(t, cell.Check())
}

// A writer that stalls before, between or after its swap hides no machine of
// its block, its own included.
func TestRefresh_SeesPastAStalledWriter(t *testing.T) {
	const node = unstamped + stampBlock + 2
	cell := largeCell(t, unstamped+4*stampBlock)
	s, err := cell.Register("s", Limits{})
	require.NoError(t, err)
	other, err := cell.Register("other", Limits{})
	require.NoError(t, err)
	snap := s.Snapshot()
	neighbor := func() {
		var tx Txn
		tx.Claim(Claim{Machine: machineID(node+1, 0), Need: resources.Vector{1}})
		_, err := other.Commit(&tx)
		require.NoError(t, err)
		require.Equal(t, 1, snap.Refresh(time.Time{}))
		sees(t, snap)
	}
	w := cell.words.at(node)
	old := load(w)
	next := cell.succeed(old, 0)
	next.free[0]--

	cell.opening(node)
	require.Zero(t, snap.Refresh(time.Time{}))
	neighbor()
	require.True(t, w.CompareAndSwap(old, next)) // and stalls again
	require.Equal(t, 1, snap.Refresh(time.Time{}))
	sees(t, snap)
	neighbor()
	cell.closed(node)
	require.Zero(t, snap.Refresh(time.Time{}))
	neighbor()

	// What was taken and not committed comes back there too.
	snap.take(node, &resources.Vector{5})
	require.Zero(t, snap.Refresh(time.Time{}))
	sees(t, snap)
}
