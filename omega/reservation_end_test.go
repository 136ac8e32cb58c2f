package omega_test

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/cellsched/cellsched/omega"
	"github.com/cellsched/cellsched/resources"
)

func TestReservation_EndsByTheTimesOfOthers(t *testing.T) {
	cell, ids := newCell(t, 2, resources.Vector{4})
	owner, other := register(t, cell, "owner"), register(t, cell, "other")
	other.Snapshot()
	id := reserved(t, owner, later, claim(ids[0], 4), claim(ids[1], 4))
	_, err := sendAt(t, other, later.Add(-1), claim(ids[0], 1))
	require.ErrorIs(t, err, omega.ErrConflict)
	require.ErrorIs(t, unreserve(t, other, later.Add(-1), id), omega.ErrNotOwner)

	visited := 0
	other.Snapshot().RefreshEach(clock, func(omega.MachineState) { visited++ })
	require.Equal(t, 2, visited)
	other.Snapshot().RefreshEach(later, func(m omega.MachineState) {
		require.Equal(t, resources.Vector{4}, m.Free)
		visited++
	})
	require.Equal(t, 4, visited, "what it kept is free by then")
	m, ok := other.Snapshot().Find(omega.Query{Need: resources.Vector{3}}, omega.FirstFit(nil))
	require.True(t, ok)
	_, err = send(t, other, claim(m, 3)) // without a time
	require.NoError(t, err, "what the snapshot has shown is free")
	require.Empty(t, shown(owner, clock), "it has ended as a whole")
	for i, want := range []int64{1, 4} {
		free, _ := owner.Snapshot().Free(ids[(int(m.Node())+i)%2])
		require.Equal(t, want, free[0])
	}
	require.ErrorIs(t, unreserve(t, owner, clock, id), omega.ErrReleased)

	id = reserved(t, owner, later, claim(ids[0], 1))
	require.NoError(t, unreserve(t, other, later, id), "of what is over, any scheduler's")
	require.NoError(t, cell.Check())
}

func TestReservation_EndsWithAMachineThatCannotHaveIt(t *testing.T) {
	for name, change := range map[string]func(cell *omega.Cell, m omega.MachineID) error{
		"removed":  func(cell *omega.Cell, m omega.MachineID) error { _, err := cell.Remove(m); return err },
		"draining": (*omega.Cell).Drain,
		"shrunk":   func(cell *omega.Cell, m omega.MachineID) error { return cell.SetCapacity(m, resources.Vector{3}) },
	} {
		t.Run(name, func(t *testing.T) {
			cell, ids := newCell(t, 3, resources.Vector{4})
			s, other := register(t, cell, "s"), register(t, cell, "other")
			reserved(t, s, later, claim(ids[0], 4), claim(ids[1], 4))
			require.NoError(t, cell.SetCapacity(ids[1], resources.Vector{5}))
			require.Len(t, shown(s, clock), 1)
			require.NoError(t, change(cell, ids[0]))
			require.Empty(t, shown(s, clock))
			_, err := send(t, other, claim(ids[1], 5))
			require.NoError(t, err)
			_, err = reserve(t, s, later, claim(ids[0], 4))
			require.Error(t, err)
			_, err = reserve(t, s, later, claim(ids[2], 4))
			require.NoError(t, err)
			require.NoError(t, cell.Check())
		})
	}
}

func TestReservation_IsItsSchedulers(t *testing.T) {
	cell, ids := newCell(t, 1, resources.Vector{4})
	s, other := register(t, cell, "s"), register(t, cell, "other")
	id := reserved(t, s, later, claim(ids[0], 4))
	successor, err := cell.Replace("s")
	require.NoError(t, err)
	var tx omega.Txn
	tx.Reserve(later, claim(ids[0], 1))
	_, err = s.Commit(&tx)
	require.ErrorIs(t, err, omega.ErrSuperseded)
	all := shown(successor, clock)
	require.Equal(t, id, all[0].ID)
	got, err := send(t, successor, all[0].Claims...)
	require.NoError(t, err)
	require.NoError(t, successor.Release(got[0]))

	reserved(t, successor, later, claim(ids[0], 4))
	require.NoError(t, successor.Leave())
	require.Empty(t, shown(other, clock))
	_, err = send(t, other, claim(ids[0], 4))
	require.NoError(t, err)
	require.NoError(t, cell.Check())
}

func TestReservation_IsWithinTheLimits(t *testing.T) {
	cell, ids := newCell(t, 2, resources.Vector{8})
	s, err := cell.Register("s", omega.Limits{
		Held: &resources.Vector{6}, Gang: 2, Jobs: 1, Highest: 1, Machines: omega.Mask{0b1},
	})
	require.NoError(t, err)
	_, err = reserve(t, s, later, claim(ids[0], 1))
	require.ErrorIs(t, err, omega.ErrLimit, "no job is admitted")
	require.NoError(t, s.BeginJob())
	for name, c := range map[string][]omega.Claim{
		"held":       {claim(ids[0], 7)},
		"gang":       {claim(ids[0], 1), claim(ids[0], 1), claim(ids[0], 1)},
		"machine":    {claim(ids[1], 1)},
		"precedence": {{Machine: ids[0], Need: resources.Vector{1}, Precedence: 2}},
	} {
		_, err := reserve(t, s, later, c...)
		require.True(t, errors.Is(err, omega.ErrLimit) || errors.Is(err, omega.ErrForbidden), "%s: %v", name, err)
	}
	reserved(t, s, later, claim(ids[0], 4))
	_, err = reserve(t, s, later, claim(ids[0], 3))
	require.ErrorIs(t, err, omega.ErrLimit, "two together")
	_, err = reserve(t, s, later, claim(ids[0], 2))
	require.NoError(t, err)
}

func TestReservation_RefusesBadInput(t *testing.T) {
	cell, ids := newCell(t, 2, resources.Vector{8})
	foreign, others := newCell(t, 1, resources.Vector{8})
	_ = foreign
	s := register(t, cell, "s")
	with := func(change func(*omega.Claim)) omega.Claim {
		c := claim(ids[1], 1)
		change(&c)
		return c
	}
	for name, tt := range map[string]struct {
		until  time.Time
		claims []omega.Claim
		want   error
	}{
		"nothing":       {later, nil, omega.ErrReservation},
		"no end":        {time.Time{}, []omega.Claim{claim(ids[0], 1)}, omega.ErrReservation},
		"over":          {clock, []omega.Claim{claim(ids[0], 1)}, omega.ErrReservation},
		"no machine":    {later, []omega.Claim{{Need: resources.Vector{1}}}, omega.ErrUnknown},
		"another cell":  {later, []omega.Claim{claim(others[0], 1)}, omega.ErrUnknown},
		"no need":       {later, []omega.Claim{claim(ids[0])}, resources.ErrQuantity},
		"less than 0":   {later, []omega.Claim{claim(ids[0], -1)}, resources.ErrQuantity},
		"too much":      {later, []omega.Claim{claim(ids[0], resources.MaxQuantity), claim(ids[1], 1)}, resources.ErrQuantity},
		"account":       {later, []omega.Claim{with(func(c *omega.Claim) { c.Account = 7 })}, omega.ErrUnknown},
		"precedences":   {later, []omega.Claim{claim(ids[0], 1), with(func(c *omega.Claim) { c.Precedence = 1 })}, omega.ErrReservation},
		"victims":       {later, []omega.Claim{with(func(c *omega.Claim) { c.Victims = make([]omega.AllocationID, 1) })}, omega.ErrReservation},
		"grantee":       {later, []omega.Claim{with(func(c *omega.Claim) { c.Grantee = s })}, omega.ErrReservation},
		"a reservation": {later, []omega.Claim{with(func(c *omega.Claim) { c.Reservation = 1 })}, omega.ErrReservation},
	} {
		t.Run(name, func(t *testing.T) {
			tx := omega.Txn{Now: clock}
			good := tx.Claim(claim(ids[0], 1))
			i := tx.Reserve(tt.until, tt.claims...)
			_, err := s.Commit(&tx)
			require.ErrorIs(t, err, tt.want)
			require.ErrorIs(t, tx.Err(good), omega.ErrUncommitted, "nothing has changed")
			_, err = tx.Reservation(i)
			require.ErrorIs(t, err, omega.ErrUncommitted)
		})
	}
	_, err := reserve(t, s, later, claim(ids[0], 9))
	require.ErrorIs(t, err, omega.ErrNeverFits)
	require.ErrorIs(t, unreserve(t, s, clock, 1), omega.ErrReleased)
	var tx omega.Txn
	_, err = tx.Reservation(0)
	require.ErrorIs(t, err, omega.ErrUnknown)
	require.Empty(t, shown(s, clock))
	for _, share := range []float64{-1, 1.5, math.NaN()} {
		_, err := omega.NewCell(omega.Config{Reserved: share})
		require.ErrorIs(t, err, omega.ErrReservation)
	}
}

// The release that makes the last part fit wakes the scheduler of the reservation, and
// not one that waits for as much without.
func TestReservation_WakesItsScheduler(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cell, ids, holder, live := packedCell(t, 2, 2)
		other, owner := register(t, cell, "other"), register(t, cell, "owner")
		ready := wait(t.Context(), other, 1)
		reserved(t, owner, later, claim(ids[0], 2), claim(ids[1], 1))
		gang := &waiting{s: owner}
		go func() {
			need := claim(0, 2, 0).Need
			gang.err = owner.Wait(t.Context(), need, need)
			gang.over = true
		}()
		asleep(t, "all is full", ready, gang)
		require.NoError(t, holder.Release(live[0][0]))
		asleep(t, "half of a part", ready, gang)
		require.NoError(t, holder.Release(live[0][1]))
		asleep(t, "one of two parts", ready, gang)
		require.NoError(t, holder.Release(live[1][0]))
		awake(t, "all parts", gang)
		asleep(t, "room that is reserved", ready)
		_, err := send(t, owner, shown(owner, clock)[0].Claims...)
		require.NoError(t, err)
		reserved(t, owner, later, claim(ids[1], 2))
		require.NoError(t, holder.Release(live[1][1]))
		asleep(t, "reserved again", ready)
		require.NoError(t, unreserve(t, owner, clock, shown(owner, clock)[0].ID))
		awake(t, "what was reserved is free", ready)
	})
}

func TestReservation_IsSavedAndDumped(t *testing.T) {
	cell, err := omega.NewCell(omega.Config{Reserved: 0.5})
	require.NoError(t, err)
	ids := make([]omega.MachineID, 4)
	for i := range ids {
		ids[i], err = cell.Add(omega.Machine{Name: fmt.Sprint(i), Capacity: resources.Vector{4, 4}})
		require.NoError(t, err)
	}
	s, other := register(t, cell, "s"), register(t, cell, "other")
	account := accountOf(cell, "a")
	at := func(i int, need ...int64) omega.Claim {
		c := claim(ids[i], need...)
		c.Account = account
		return c
	}
	gone := reserved(t, other, later, claim(ids[0], 1))
	require.NoError(t, unreserve(t, other, clock, gone))
	gang := reserved(t, s, later.UTC(), at(1, 4, 1), at(2, 4))
	reserved(t, other, later.UTC(), claim(ids[1], 4)) // in line
	used := at(1, 1)
	used.Reservation = gang
	_, err = send(t, s, used)
	require.NoError(t, err)
	want := shown(s, clock)
	require.Len(t, want, 2)

	var saved bytes.Buffer
	require.NoError(t, cell.Save(&saved))
	bytesOf := bytes.Clone(saved.Bytes())
	copied, err := omega.Restore(&saved, nil)
	require.NoError(t, err)
	require.NoError(t, copied.Check())
	again, err := copied.Replace("s")
	require.NoError(t, err)
	require.Equal(t, want, shown(again, clock))
	free, _ := again.Snapshot().Free(ids[1])
	require.Equal(t, resources.Vector{0, 3}, free)
	_, err = send(t, again, want[0].Claims...)
	require.NoError(t, err)
	require.Equal(t, want[1].ID, shown(again, clock)[0].ID)
	require.Equal(t, want[1].ID+1, reserved(t, again, later, claim(ids[0], 1)))

	var text bytes.Buffer
	require.NoError(t, cell.Dump(&text))
	require.Contains(t, text.String(), `"reservations": [`)
	// Whatever byte is damaged, there is an error and no cell.
	for i := range bytesOf {
		bad := bytes.Clone(bytesOf)
		bad[i] ^= 0x41
		_, err := omega.Restore(bytes.NewReader(bad), nil)
		require.Error(t, err, "byte %d", i)
	}
}

// What a transaction unreserves its own claims may have, what it reserves they leave.
func TestReservation_EndsBeforeTheClaimsAndBeginsAfter(t *testing.T) {
	cell, ids := newCell(t, 1, resources.Vector{4})
	s := register(t, cell, "s")
	id := reserved(t, s, later, claim(ids[0], 3))
	var tx omega.Txn
	i := tx.Claim(claim(ids[0], 3))
	begun := tx.Reserve(later, claim(ids[0], 4))
	tx.Unreserve(id)
	_, err := s.Commit(&tx)
	require.NoError(t, err)
	require.NoError(t, tx.Err(i))
	id, err = tx.Reservation(begun)
	require.NoError(t, err)
	require.Equal(t, id, shown(s, clock)[0].ID)
	require.Len(t, shown(s, clock), 1)
}
