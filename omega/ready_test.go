package omega_test

import (
	"bytes"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/cellsched/cellsched/omega"
	"github.com/cellsched/cellsched/resources"
)

// A commit that does not say what time it is may come after a deadline: what
// waited for that may be running in full by then.
func TestReadyAt_GrowingAgainAtAnUnknownTime(t *testing.T) {
	cell, ids := newCell(t, 1, resources.Vector{12, 9})
	low, high := ranked(t, cell, "low"), ranked(t, cell, "high")
	first := held(t, low, ids[0], 0, resources.Vector{3})[0]
	grows := held(t, low, ids[0], 0, resources.Vector{4})[0]
	second := held(t, low, ids[0], 0, resources.Vector{4})[0]
	commitAt := func(s *omega.Scheduler, now time.Time, fill func(*omega.Txn)) omega.AllocationID {
		tx := omega.Txn{Now: now}
		if fill(&tx); !now.IsZero() {
			tx.Grace = time.Minute
		}
		granted, err := s.Commit(&tx)
		require.NoError(t, err)
		require.Equal(t, 1, granted)
		a, _ := tx.Allocation(0)
		return a
	}
	preempt := func(victim omega.AllocationID) func(*omega.Txn) {
		return func(tx *omega.Txn) {
			tx.Claim(omega.Claim{Machine: ids[0], Need: resources.Vector{0, 1}, Precedence: 1, Victims: []omega.AllocationID{victim}})
		}
	}
	ready := func(a omega.AllocationID) time.Time {
		at, err := cell.ReadyAt(a)
		require.NoError(t, err)
		return at
	}
	start := time.Unix(1000, 0).UTC()
	commitAt(high, start, preempt(first))
	grows = commitAt(low, start, func(tx *omega.Txn) { tx.Resize(grows, resources.Vector{6}) })
	require.Equal(t, start.Add(time.Minute), ready(grows))

	// Two minutes later it runs with six, beside four that begin to leave.
	later := start.Add(2 * time.Minute)
	commitAt(high, later, preempt(second))
	grows = commitAt(low, time.Time{}, func(tx *omega.Txn) { tx.Resize(grows, resources.Vector{9}) })
	require.Equal(t, later.Add(time.Minute), ready(grows))
	beside := commitAt(high, later, func(tx *omega.Txn) { tx.Claim(claim(ids[0], 3)) })
	require.Equal(t, later.Add(time.Minute), ready(beside), "only two are idle")
}

// timed is a cell of one machine in which schedulers commit at given times.
type timed struct {
	t         *testing.T
	cell      *omega.Cell
	machine   omega.MachineID
	low, high *omega.Scheduler
}

func newTimed(t *testing.T, capacity ...int64) *timed {
	t.Helper()
	var v resources.Vector
	copy(v[:], capacity)
	cell, ids := newCell(t, 1, v)
	return &timed{t, cell, ids[0], ranked(t, cell, "low"), ranked(t, cell, "high")}
}

// commit commits what fill adds, with a grace of a minute, and returns what its
// first claim was granted.
func (c *timed) commit(s *omega.Scheduler, now time.Time, fill func(*omega.Txn)) omega.AllocationID {
	c.t.Helper()
	tx := omega.Txn{Now: now, Grace: time.Minute}
	fill(&tx)
	granted, err := s.Commit(&tx)
	require.NoError(c.t, err)
	require.Equal(c.t, tx.Len(), granted)
	a, _ := tx.Allocation(0)
	return a
}

// preempt has high claim need in place of a victim.
func (c *timed) preempt(now time.Time, need resources.Vector, victim omega.AllocationID) omega.AllocationID {
	c.t.Helper()
	return c.commit(c.high, now, func(tx *omega.Txn) {
		tx.Claim(omega.Claim{Machine: c.machine, Need: need, Precedence: 1, Victims: []omega.AllocationID{victim}})
	})
}

func (c *timed) resize(s *omega.Scheduler, now time.Time, a omega.AllocationID, need int64) omega.AllocationID {
	c.t.Helper()
	return c.commit(s, now, func(tx *omega.Txn) { tx.Resize(a, resources.Vector{need}) })
}

func (c *timed) readyAt(a omega.AllocationID) time.Time {
	c.t.Helper()
	at, err := c.cell.ReadyAt(a)
	require.NoError(c.t, err)
	return at
}

// What takes the place of an allocation that waits takes over its wait, although
// it needs no more room.
func TestReadyAt_OfWhatAWaitingAllocationWasExchangedFor(t *testing.T) {
	c := newTimed(t, 10)
	start := time.Unix(1000, 0).UTC()
	victim := held(t, c.low, c.machine, 0, resources.Vector{10})[0]
	waits := c.preempt(start, resources.Vector{8}, victim)
	require.Equal(t, start.Add(time.Minute), c.readyAt(waits))

	tx := omega.Txn{Now: start}
	tx.Exchange([]omega.AllocationID{waits}, claim(c.machine, 3), claim(c.machine, 4))
	granted, err := c.high.Commit(&tx)
	require.NoError(t, err)
	require.Equal(t, 2, granted)
	for i := range 2 {
		part, _ := tx.Allocation(i)
		require.Equal(t, start.Add(time.Minute), c.readyAt(part), "part %d", i)
	}
	require.NoError(t, c.low.Release(victim))
	for i := range 2 {
		part, _ := tx.Allocation(i)
		require.Zero(t, c.readyAt(part), "part %d", i)
	}
}

// A commit of a scheduler with a clock ahead ends no wait of the others.
func TestReadyAt_IsNotMovedByAClockAhead(t *testing.T) {
	c := newTimed(t, 10, 9)
	start := time.Unix(1000, 0).UTC()
	first := held(t, c.low, c.machine, 0, resources.Vector{4})[0]
	second := held(t, c.low, c.machine, 0, resources.Vector{6})[0]
	waits := c.commit(c.high, start.Add(time.Hour), func(tx *omega.Txn) {
		tx.Claim(omega.Claim{Machine: c.machine, Need: resources.Vector{4}, Precedence: 1, Victims: []omega.AllocationID{first}})
	})
	c.commit(c.high, start.Add(2*time.Hour), func(tx *omega.Txn) { tx.Claim(claim(c.machine, 0, 1)) })
	c.preempt(start, resources.Vector{0, 1}, second)
	grown := c.resize(c.high, start, waits, 6)
	require.Equal(t, start.Add(time.Hour+time.Minute), c.readyAt(grown), "first may still run")
}

// What grows twice while it waits runs with what it had at first, so the rest of
// its first growth is not in use.
func TestReadyAt_GrowingTwiceBeforeTheFirstIsReady(t *testing.T) {
	c := newTimed(t, 12, 1)
	start := time.Unix(1000, 0).UTC()
	victim := held(t, c.low, c.machine, 0, resources.Vector{3})[0]
	grows := held(t, c.low, c.machine, 0, resources.Vector{4})[0]
	c.preempt(start, resources.Vector{0, 1}, victim)
	for _, need := range []int64{10, 11} {
		grows = c.resize(c.low, start, grows, need)
		require.Equal(t, start.Add(time.Minute), c.readyAt(grows), "to %d", need)
	}
	beside := c.commit(c.high, start, func(tx *omega.Txn) { tx.Claim(claim(c.machine, 1)) })
	require.Zero(t, c.readyAt(beside), "4 and 3 of 12 are in use")
}

// What shrinks while it waits to grow runs with no more than it has now, and is
// saved like that.
func TestReadyAt_ShrinkingBeforeTheGrowthIsReady(t *testing.T) {
	c := newTimed(t, 12, 1)
	start := time.Unix(1000, 0).UTC()
	victim := held(t, c.low, c.machine, 0, resources.Vector{3})[0]
	grows := held(t, c.low, c.machine, 0, resources.Vector{4})[0]
	c.preempt(start, resources.Vector{0, 1}, victim)
	grows = c.resize(c.low, start, grows, 10)
	shrunk := c.resize(c.low, start, grows, 2)
	require.Equal(t, start.Add(time.Minute), c.readyAt(shrunk))

	restored, err := omega.Restore(bytes.NewReader(save(t, c.cell)), nil)
	require.NoError(t, err)
	requireAlike(t, c.cell, restored, []*omega.Scheduler{c.low, c.high})
}

// What takes the place of something waits until that is gone, and so does what
// takes the place of the first before it has started: memory is never promised
// twice.
func TestReadyAt_WaitsForAllThatMayStillRun(t *testing.T) {
	cell, ids := newCell(t, 1, resources.Vector{10})
	levels := make([]*omega.Scheduler, 4)
	for i := range levels {
		s, err := cell.Register(fmt.Sprint(i), omega.Limits{Highest: omega.Precedence(i)})
		require.NoError(t, err)
		levels[i] = s
	}
	start := time.Unix(1000, 0)
	place := func(level int, now time.Time, need int64, victims ...omega.AllocationID) omega.AllocationID {
		tx := omega.Txn{Now: now, Grace: 10 * time.Second}
		tx.Claim(omega.Claim{
			Machine: ids[0], Need: resources.Vector{need},
			Precedence: omega.Precedence(level), Victims: victims,
		})
		_, err := levels[level].Commit(&tx)
		require.NoError(t, err)
		require.NoError(t, tx.Err(0))
		a, _ := tx.Allocation(0)
		return a
	}
	readyAt := func(a omega.AllocationID) time.Time {
		at, err := cell.ReadyAt(a)
		require.NoError(t, err)
		return at
	}
	running := place(0, start, 6)
	small := place(0, start, 2)
	require.True(t, readyAt(running).IsZero())

	second := place(1, start, 6, running)
	require.Equal(t, start.Add(10*time.Second), readyAt(second))
	beside := place(0, start, 2)
	require.True(t, readyAt(beside).IsZero(), "the two that were free are nobody's")

	third := place(2, start.Add(time.Second), 6, second)
	require.Equal(t, start.Add(11*time.Second), readyAt(third))
	require.NoError(t, levels[1].Release(second), "it never started")
	require.Equal(t, start.Add(10*time.Second), readyAt(third), "the first is still running")

	require.NoError(t, levels[2].Release(third))
	fourth := place(0, start.Add(2*time.Second), 3)
	require.Equal(t, start.Add(10*time.Second), readyAt(fourth), "the room that was given back is not empty yet")
	late := place(0, start.Add(10*time.Second), 3)
	require.True(t, readyAt(late).IsZero(), "past the deadline it is")

	require.NoError(t, levels[0].Release(running))
	require.True(t, readyAt(fourth).IsZero())
	require.True(t, readyAt(small).IsZero())
	require.NoError(t, cell.Check())
}

// What was resized runs on with what it had while it waits for the rest, so
// that is not room for others.
func TestReadyAt_CountsWhatAResizedAllocationRunsWith(t *testing.T) {
	cell, ids := newCell(t, 1, resources.Vector{10})
	low, high := ranked(t, cell, "low"), ranked(t, cell, "high")
	a := held(t, low, ids[0], 0, resources.Vector{4})[0]
	victim := held(t, low, ids[0], 0, resources.Vector{6})[0]
	start := time.Unix(1, 0)
	preempting := omega.Txn{Now: start, Grace: time.Minute}
	preempting.Claim(omega.Claim{Machine: ids[0], Need: resources.Vector{2}, Precedence: 1, Victims: []omega.AllocationID{victim}})
	_, err := high.Commit(&preempting)
	require.NoError(t, err)
	require.NoError(t, preempting.Err(0))
	b, _ := preempting.Allocation(0)

	resize := omega.Txn{Now: start}
	resize.Resize(a, resources.Vector{8})
	_, err = low.Commit(&resize)
	require.NoError(t, err)
	require.NoError(t, resize.Err(0))
	larger, _ := resize.Allocation(0)
	at, err := cell.ReadyAt(larger)
	require.NoError(t, err)
	require.Equal(t, start.Add(time.Minute), at)

	require.NoError(t, high.Release(b))
	tx := omega.Txn{Now: start}
	require.Equal(t, 1, commit(t, high, &tx, claim(ids[0], 2)))
	c, _ := tx.Allocation(0)
	at, err = cell.ReadyAt(c)
	require.NoError(t, err)
	require.Equal(t, start.Add(time.Minute), at, "4 and 6 of 10 are still in use")
	require.NoError(t, low.Release(victim))
	at, err = cell.ReadyAt(c)
	require.NoError(t, err)
	require.True(t, at.IsZero())
}
