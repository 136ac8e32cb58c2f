package omega

import (
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/cellsched/cellsched/resources"
)

// largeCell returns a cell of which most machines are stamped.
func largeCell(tb testing.TB, machines uint32) *Cell {
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
func sees(t require.TestingT, snap *Snapshot) {
	snap.catchUpAll()
	for node := range snap.cell.nodes.Load() {
		want := load(snap.cell.words.at(node)).free()
		if load(snap.cell.words.at(node)).cond != Ready {
			want = closed
		}
		if snap.free[node] != want {
			require.Equal(t, want, snap.free[node], "machine %d", node)
		}
	}
}

// While others commit, singly and in gangs, a large cell's snapshot misses
// nothing that was over when it was refreshed.
func TestRefresh_MissesNothingInALargeCell(t *testing.T) {
	const writers = 4
	machines := unstamped + 3*stampBlock + 5
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
						tx.Claim(Claim{Machine: cell.machine(unstamped-10+rng.Uint32N(machines-unstamped+10), 0), Need: resources.Vector{1}})
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
	node := unstamped + stampBlock + 2
	cell := largeCell(t, unstamped+4*stampBlock)
	s, err := cell.Register("s", Limits{})
	require.NoError(t, err)
	other, err := cell.Register("other", Limits{})
	require.NoError(t, err)
	snap := s.Snapshot()
	neighbor := func() {
		var tx Txn
		tx.Claim(Claim{Machine: cell.machine(node+1, 0), Need: resources.Vector{1}})
		_, err := other.Commit(&tx)
		require.NoError(t, err)
		require.Equal(t, 1, snap.Refresh(time.Time{}))
		sees(t, snap)
	}
	w := cell.words.at(node)
	raw, old := settle(w)
	next := cell.nextVersion(old, 0)
	next.V.room[0]--

	cell.opening(node)
	require.Zero(t, snap.Refresh(time.Time{}))
	neighbor()
	require.True(t, w.CompareAndSwap(raw, next)) // and stalls again
	require.Equal(t, 1, snap.Refresh(time.Time{}))
	sees(t, snap)
	neighbor()
	cell.closed(node)
	require.Zero(t, snap.Refresh(time.Time{}))
	neighbor()

	// What was taken and not committed comes back there too.
	snap.take(int(node), &resources.Vector{5})
	require.Zero(t, snap.Refresh(time.Time{}))
	sees(t, snap)
}

// Whatever happens in a large cell, and wherever writers stall, a refreshed
// snapshot is what going through all machines finds, and it copies as many as
// have changed.
func TestRefresh_OfALargeCellIsWhatTheCellIs(t *testing.T) {
	const machines = 20_000
	cell := largeCell(t, machines)
	reader, err := cell.Register("reader", Limits{})
	require.NoError(t, err)
	writer, err := cell.Register("writer", Limits{})
	require.NoError(t, err)
	snap := reader.Snapshot()
	rapid.Check(t, func(t *rapid.T) {
		changed := map[uint32]bool{}
		var open []uint32
		node := func(t *rapid.T) uint32 {
			return rapid.OneOf(
				rapid.Uint32Range(0, machines-1),
				rapid.Uint32Range(unstamped-2, unstamped+2*stampBlock), // where they meet
				rapid.Uint32Range(machines-2, machines-1),
			).Draw(t, "machine")
		}
		refresh := func(t *rapid.T) {
			require.Equal(t, len(changed), snap.Refresh(time.Time{}))
			clear(changed)
			sees(t, snap)
		}
		snap.Refresh(time.Time{})
		defer func() {
			for _, n := range open {
				cell.closed(n)
			}
		}()
		t.Repeat(map[string]func(*rapid.T){
			"commit": func(t *rapid.T) {
				tx := Txn{Gang: rapid.Bool().Draw(t, "gang")}
				for range rapid.IntRange(1, 4).Draw(t, "claims") {
					n := node(t)
					if load(cell.words.at(n)).cond == Ready {
						tx.Claim(Claim{Machine: cell.machine(n, 0), Need: resources.Vector{1}})
						changed[n] = true
					}
				}
				if tx.Len() > 0 {
					n, err := writer.Commit(&tx)
					require.NoError(t, err)
					require.Equal(t, tx.Len(), n)
				}
			},
			"drain or resume": func(t *rapid.T) {
				n := node(t)
				if load(cell.words.at(n)).cond == Ready {
					require.NoError(t, cell.Drain(cell.machine(n, 0)))
				} else {
					require.NoError(t, cell.Resume(cell.machine(n, 0)))
				}
				changed[n] = true
			},
			"take": func(t *rapid.T) { snap.Take(cell.machine(node(t), 0), resources.Vector{1}) },
			"stall": func(t *rapid.T) {
				n := node(t)
				cell.opening(n)
				open = append(open, n)
			},
			"go on": func(*rapid.T) {
				if len(open) > 0 {
					cell.closed(open[0])
					open = open[1:]
				}
			},
			"refresh": refresh,
		})
		refresh(t)
	})
}

// A gang that was not decided when its machines were copied is seen once it is,
// although its words do not move then and its scheduler is stalled still.
func TestRefresh_SeesAStalledGangDecided(t *testing.T) {
	nodes := []uint32{1, unstamped, unstamped + stampBlock + 1}
	cell := largeCell(t, unstamped+2*stampBlock)
	s, err := cell.Register("s", Limits{})
	require.NoError(t, err)
	snap := s.Snapshot()
	g := &gang{}
	var steps []step
	for _, node := range nodes {
		w := cell.words.at(node)
		old := load(w)
		next := cell.nextVersion(old, 0)
		next.V.room[0] -= 3
		next.V.op = g
		next.V.prev.Store(w.Keep())
		steps = append(steps, step{word: w, expect: w.Keep(), next: next})
		cell.opening(node)
	}
	g.steps.Store(&steps)
	for i := range steps {
		require.True(t, g.install(&steps[i], 0))
		require.Equal(t, i+1, snap.Refresh(time.Time{}), "what is undecided is looked at every time")
		sees(t, snap)
	}
	g.help()
	require.Equal(t, len(nodes), snap.Refresh(time.Time{}))
	sees(t, snap)
	snap.catchUpAll()
	for _, node := range nodes {
		require.Equal(t, int64(1<<40-3), snap.free[node][0])
		cell.closed(node)
	}
	require.Zero(t, snap.Refresh(time.Time{}))
}

// A block is at rest again however often it has changed: the count may come
// round.
func TestStamp_ComesRound(t *testing.T) {
	cell := largeCell(t, unstamped+1)
	stamp := cell.stamps.at(0)
	before := stamp.Load()
	for range 3 {
		cell.opening(unstamped)
		require.False(t, atRest(stamp.Load()))
		cell.opening(unstamped)
		cell.closed(unstamped)
		require.False(t, atRest(stamp.Load()))
		cell.closed(unstamped)
		require.True(t, atRest(stamp.Load()))
		require.NotEqual(t, before, stamp.Load())
		stamp.Store(^uint64(stampChanges)) // as many changes as can be counted, all ended
		require.True(t, atRest(stamp.Load()))
	}
}
