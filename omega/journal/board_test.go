package journal_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/cellsched/cellsched/omega"
	"github.com/cellsched/cellsched/omega/journal"
	"github.com/cellsched/cellsched/omega/journal/journaltest"
	"github.com/cellsched/cellsched/resources"
)

func board(t *testing.T, cell *journal.Cell) *journal.Board {
	t.Helper()
	b, err := cell.Board(t.Context(), "service")
	require.NoError(t, err)
	return b
}

// tallies returns what a board has now.
func tallies(t *testing.T, cell *journal.Cell, b *journal.Board) map[string]journal.Tally {
	t.Helper()
	require.NoError(t, cell.Sync(t.Context()))
	now, stop := context.WithCancel(t.Context())
	stop()
	list, _, err := b.Next(now, 0)
	if err != nil {
		require.ErrorIs(t, err, context.Canceled, "it never had a note")
	}
	all := make(map[string]journal.Tally)
	for _, one := range list {
		all[one.Key] = one
	}
	return all
}

func unit(q int64) resources.Vector { return resources.Vector{q} }

// The sum of bounded amounts never exceeds the bound, in a store that loses, doubles and delays
// appends. What each process reads is what all have written. A copy from a checkpoint reads
// the same.
func TestBoard_HoldsASumBelowABound(t *testing.T) {
	for seed := range uint64(20) {
		synctest.Test(t, func(t *testing.T) {
			const most, processes = 20, 4
			faults := journaltest.Faults{Lost: 0.1, Unknown: 0.1, Duplicate: 0.1, Delay: 20 * time.Millisecond}
			sim := journaltest.NewSim(faults, rand.New(rand.NewPCG(seed, 1)))
			cfg := expiring(1)
			if seed%2 == 0 {
				cfg.Checkpoint = 700
			}
			cells, boards := make([]*journal.Cell, processes), make([]*journal.Board, processes)
			for i := range cells {
				cells[i] = open(t, sim.Client(), cfg)
			}
			for i := range cells {
				boards[i] = board(t, cells[i])
			}
			done := make(chan error)
			for i, b := range boards {
				rng := rand.New(rand.NewPCG(seed, uint64(i)))
				go func() {
					var err error
					for range 30 {
						var notes []journal.Note
						for key := range 1 + rng.IntN(3) {
							n := journal.Note{Key: fmt.Sprint("t", key), Amount: unit(rng.Int64N(12)), Need: unit(rng.Int64N(3)), Most: unit(most), Bounded: key > 0}
							notes = append(notes, n)
						}
						if e := b.Post(context.Background(), notes...); e != nil {
							err = e
						}
						time.Sleep(time.Duration(rng.IntN(50)) * time.Millisecond)
					}
					done <- err
				}()
			}
			for left := processes; left > 0; {
				all := tallies(t, cells[0], boards[0])
				for _, key := range []string{"t1", "t2"} {
					require.LessOrEqual(t, all[key].Own[0]+all[key].Others[0], int64(most))
				}
				select {
				case err := <-done:
					require.NoError(t, err)
					left--
				case <-time.After(5 * time.Millisecond):
				}
			}
			var sum, others resources.Vector
			for i, cell := range cells {
				one := tallies(t, cell, boards[i])["t1"]
				sum = sum.Add(one.Own)
				others = one.Own.Add(one.Others)
			}
			require.Equal(t, sum, others)
			require.NoError(t, cells[0].Checkpoint(t.Context()))
			late := open(t, sim.Client(), cfg)
			require.Equal(t, sum, tallies(t, late, board(t, late))["t1"].Others)
			var saved [][]byte
			for _, cell := range append(cells, late) {
				require.NoError(t, cell.Checkpoint(t.Context()))
				_, r, err := sim.Client().Checkpoint(t.Context())
				require.NoError(t, err)
				var b bytes.Buffer
				_, err = b.ReadFrom(r)
				require.NoError(t, err)
				saved = append(saved, b.Bytes())
			}
			for _, one := range saved[1:] {
				require.Equal(t, notesOf(t, saved[0]), notesOf(t, one), "the notes of all copies are the same")
			}
			closeAll(t, append(cells, late)...)
		})
	}
}

// notesOf returns the notes in a checkpoint of version 3.
func notesOf(t *testing.T, b []byte) []byte {
	t.Helper()
	const before = 8 + 1 + 8 + 4 + 4
	require.Equal(t, byte(3), b[8])
	b = b[before+4+24*int(binary.LittleEndian.Uint32(b[before:]))+4:]
	n := binary.LittleEndian.Uint32(b)
	require.Positive(t, n)
	return b[4 : 4+n]
}

// The notes of a process end with its session: by Close at once, and otherwise within the TTL
// and a second. Others are told.
func TestBoard_EndsNotesWithTheirSession(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		sim := newSim(1)
		dies := sim.Client()
		cells := []*journal.Cell{open(t, sim.Client(), expiring(1)), open(t, sim.Client(), expiring(1)), open(t, dies, expiring(1))}
		var boards []*journal.Board
		for _, cell := range cells {
			boards = append(boards, board(t, cell))
		}
		for i, b := range boards {
			require.NoError(t, b.Post(t.Context(), journal.Note{Key: "t", Amount: unit(int64(i + 1)), Need: unit(3 - int64(i)), Most: unit(6), Bounded: true}))
		}
		all := tallies(t, cells[0], boards[0])
		require.Equal(t, journal.Tally{Key: "t", Own: unit(1), Others: unit(5), Need: unit(1), Least: unit(2), Waits: true}, all["t"])
		require.NoError(t, boards[0].Post(t.Context(), journal.Note{Key: "t", Amount: unit(2), Most: unit(6), Bounded: true}))
		require.Equal(t, unit(1), tallies(t, cells[0], boards[0])["t"].Own, "it would be 7 in all")

		_, version, err := boards[0].Next(t.Context(), 0)
		require.NoError(t, err)
		closeAll(t, cells[1])
		list, version, err := boards[0].Next(t.Context(), version)
		require.NoError(t, err)
		require.Equal(t, []journal.Tally{{Key: "t", Own: unit(1), Others: unit(3), Need: unit(1), Least: unit(3), Waits: true}}, list)

		start := time.Now()
		require.NoError(t, dies.Close())
		list, _, err = boards[0].Next(t.Context(), version)
		require.NoError(t, err)
		require.LessOrEqual(t, time.Since(start), ttl+time.Second)
		require.Equal(t, []journal.Tally{{Key: "t", Own: unit(1)}}, list)
		require.NoError(t, boards[0].Post(t.Context(), journal.Note{Key: "t"}))
		require.Empty(t, tallies(t, cells[0], boards[0]))
		_ = cells[2].Close(t.Context())
		closeAll(t, cells[0])
		_, _, err = boards[0].Next(context.Background(), 1<<60)
		require.ErrorIs(t, err, journal.ErrClosed)
	})
}

// Boards wait until no process is left that reads version 2 alone. Its session ends by order.
func TestBoard_WaitsForProcessesThatDoNotKnowIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		sim := newSim(1)
		one := open(t, sim.Client(), expiring(1))
		// The log as version 2 would have it from here on: an old process beside.
		client := sim.Client()
		send := func(r raw) int {
			r.version = 2
			require.NoError(t, client.Append(t.Context(), r.bytes()))
			return len(sim.Entries())
		}
		began := send(raw{kind: 1, body: make([]byte, 16)})
		keep := binary.AppendUvarint([]byte{1}, uint64(ttl))
		for number := range uint64(20) {
			send(raw{kind: 4, numbers: [3]uint64{uint64(began), number + 2}, body: keep})
			time.Sleep(ttl / 4)
		}
		for _, e := range sim.Entries() {
			require.LessOrEqual(t, e.Data[0], byte(2))
		}
		closing, cancel := context.WithTimeout(t.Context(), time.Second)
		_, err := one.Board(closing, "service")
		require.ErrorIs(t, err, context.DeadlineExceeded)
		cancel()
		_, err = one.Ephemeral(t.Context(), "leases", omega.Limits{})
		require.NoError(t, err, "version 2 has these")
		start := time.Now()
		board(t, one)
		require.LessOrEqual(t, time.Since(start), ttl+time.Second)
		for i, e := range sim.Entries() {
			if e.Data[0] == 3 {
				require.Equal(t, byte(2), parse(t, sim.Entries()[i-1].Data).body[0], "the old session is ended before")
				break
			}
		}
		closeAll(t, one)
	})
}

func TestBoard_RefusesWhatNoNoteIs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		sim := newSim(1)
		cell := open(t, sim.Client(), first(1))
		_, err := cell.Board(t.Context(), "service")
		require.ErrorIs(t, err, resources.ErrQuantity, "no TTL")
		closeAll(t, cell)
		cell = open(t, sim.Client(), expiring(1))
		_, err = cell.Board(t.Context(), "")
		require.ErrorIs(t, err, resources.ErrName)
		b := board(t, cell)
		before := len(sim.Entries())
		for _, n := range []journal.Note{{}, {Key: "t", Amount: unit(-1)}, {Key: "t", Need: unit(1<<62 + 1)}, {Key: "t", Most: unit(-1)}} {
			require.Error(t, b.Post(t.Context(), n))
		}
		require.Len(t, sim.Entries(), before)
		many := make([]journal.Note, 1000)
		for i := range many {
			many[i] = journal.Note{Key: fmt.Sprint("t", i), Amount: unit(1)}
		}
		require.NoError(t, b.Post(t.Context(), many...))
		require.Len(t, tallies(t, cell, b), 1000)
		closeAll(t, cell)
	})
}

// A checkpoint may be written while boards are asked for the first time.
func TestBoard_IsAskedForDuringACheckpoint(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cell := open(t, newSim(1).Client(), expiring(1))
		b := board(t, cell)
		require.NoError(t, b.Post(t.Context(), journal.Note{Key: "t", Amount: unit(1), Most: unit(6)}))
		now, stop := context.WithCancel(t.Context())
		stop()
		asked := make(chan error, 1)
		go func() {
			for i := range 3_000 {
				b, err := cell.Board(t.Context(), fmt.Sprint("board-", i))
				if err == nil {
					_, _, err = b.Next(now, 0)
				}
				if !errors.Is(err, context.Canceled) {
					asked <- err
					return
				}
			}
			asked <- nil
		}()
		for range 20 {
			require.NoError(t, cell.Checkpoint(t.Context()))
		}
		require.NoError(t, <-asked)
		closeAll(t, cell)
	})
}
