package omega_test

import (
	"fmt"
	"iter"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/cellsched/cellsched/omega"
	"github.com/cellsched/cellsched/resources"
)

var (
	clock = time.Unix(1000, 0)
	later = clock.Add(time.Hour)
)

// reserved commits a reservation and returns its ID.
func reserved(t require.TestingT, s *omega.Scheduler, until time.Time, claims ...omega.Claim) omega.ReservationID {
	id, err := reserve(t, s, until, claims...)
	require.NoError(t, err)
	return id
}

func reserve(t require.TestingT, s *omega.Scheduler, until time.Time, claims ...omega.Claim) (omega.ReservationID, error) {
	var tx omega.Txn
	i := tx.Reserve(until, claims...)
	_, err := s.Commit(&tx)
	require.NoError(t, err)
	return tx.Reservation(i)
}

// unreserve commits the end of a reservation.
func unreserve(t require.TestingT, s *omega.Scheduler, now time.Time, id omega.ReservationID) error {
	tx := omega.Txn{Now: now}
	i := tx.Unreserve(id)
	_, err := s.Commit(&tx)
	require.NoError(t, err)
	_, err = tx.Reservation(i)
	return err
}

// send commits claims as a gang and returns what they were granted, or why not.
func send(t require.TestingT, s *omega.Scheduler, claims ...omega.Claim) ([]omega.AllocationID, error) {
	return sendAt(t, s, time.Time{}, claims...)
}

func sendAt(t require.TestingT, s *omega.Scheduler, now time.Time, claims ...omega.Claim) (ids []omega.AllocationID, err error) {
	tx := omega.Txn{Gang: true, Now: now, Grace: omega.AtOnce}
	for _, c := range claims {
		tx.Claim(c)
	}
	_, err = s.Commit(&tx)
	require.NoError(t, err)
	for i := range claims {
		id, ok := tx.Allocation(i)
		if !ok {
			return nil, tx.Err(i)
		}
		ids = append(ids, id)
	}
	return ids, nil
}

// shown returns the reservations that a scheduler sees in a fresh snapshot.
func shown(s *omega.Scheduler, now time.Time) (all []omega.Reservation) {
	s.Snapshot().Refresh(now)
	for r := range s.Snapshot().Reservations() {
		all = append(all, r)
	}
	return all
}

func first[T any](walk iter.Seq[T]) (v T, ok bool) {
	for v = range walk {
		return v, true
	}
	return v, false
}

// A machine has 4 units. A scheduler has each unit run for four rounds and refills the
// free room. A task of 3 starts within one length of an allocation.
func TestReservation_StartsALargeTaskBesideASchedulerThatRefills(t *testing.T) {
	const length, rounds = 4, 200
	for _, reserving := range []bool{false, true} {
		cell, ids := newCell(t, 1, resources.Vector{4})
		small, large := register(t, cell, "small"), register(t, cell, "large")
		ends := map[int][]omega.AllocationID{}
		task, started := claim(ids[0], 3), -1
		for round := range rounds {
			for _, id := range ends[round] {
				require.NoError(t, small.Release(id))
			}
			for {
				got, err := send(t, small, claim(ids[0], 1))
				if err != nil {
					break
				}
				ends[round+length] = append(ends[round+length], got...)
			}
			switch {
			case started >= 0:
			case round == 1 && reserving:
				task.Reservation = reserved(t, large, later, task)
			case round > 1:
				if _, err := send(t, large, task); err == nil {
					started = round
				}
			}
		}
		if !reserving {
			require.Equal(t, -1, started, "without a reservation it starves")
			continue
		}
		require.GreaterOrEqual(t, started, 2)
		require.LessOrEqual(t, started, 1+length)
		require.Empty(t, shown(large, clock))
		require.NoError(t, cell.Check())
	}
}

func TestReservation_TakesWhatIsFreeAndIsShown(t *testing.T) {
	cell, ids := newCell(t, 2, resources.Vector{4, 10})
	holder, owner, other := register(t, cell, "holder"), register(t, cell, "owner"), register(t, cell, "other")
	busy, err := send(t, holder, claim(ids[0], 3, 2))
	require.NoError(t, err)
	_, err = send(t, holder, claim(ids[1], 4))
	require.NoError(t, err)
	id := reserved(t, owner, later, claim(ids[0], 2, 5))

	for _, s := range []*omega.Scheduler{owner, other} {
		all := shown(s, clock)
		require.Equal(t, []omega.Reservation{{
			ID: id, Scheduler: "owner", Until: later,
			Claims: []omega.Claim{{Machine: ids[0], Need: resources.Vector{2, 5}, Reservation: id}},
		}}, all)
		free, ok := s.Snapshot().Free(ids[0])
		require.True(t, ok)
		require.Equal(t, resources.Vector{0, 3}, free, "of the first kind it has all that is free, of the second its need")
		_, ok = s.Snapshot().Find(omega.Query{Need: resources.Vector{1}}, omega.FirstFit(nil))
		require.False(t, ok)
		m, _ := first(s.Snapshot().Machines())
		require.Equal(t, free, m.Free)
	}
	state, _ := cell.State(ids[0])
	require.Equal(t, resources.Vector{0, 3}, state.Free)
	require.Equal(t, resources.Vector{1, 5}, state.Reserved, "nothing is granted")
	require.Zero(t, owner.Usage())

	_, err = send(t, other, claim(ids[0], 1))
	require.ErrorIs(t, err, omega.ErrConflict)
	var why *omega.RefusalError
	require.ErrorAs(t, err, &why)
	require.Equal(t, resources.Vector{0, 3}, why.Free)
	_, err = send(t, owner, claim(ids[0], 1))
	require.ErrorIs(t, err, omega.ErrConflict, "the owner's other claims have to leave it room, too")
	_, err = send(t, other, claim(ids[0], 0, 4))
	require.ErrorIs(t, err, omega.ErrConflict)
	_, err = send(t, other, claim(ids[0], 0, 3))
	require.NoError(t, err, "what it does not need is free")

	require.NoError(t, holder.Release(busy[0]))
	r := shown(owner, clock)[0]
	require.True(t, r.Ready)
	for s, want := range map[*omega.Scheduler]int64{owner: 4, other: 2} {
		s.Snapshot().Refresh(clock)
		free, ok := s.Snapshot().FreeFor(ids[0], id)
		require.True(t, ok)
		require.Equal(t, want, free[0])
	}
	stolen := r.Claims[0]
	_, err = send(t, other, stolen)
	require.ErrorIs(t, err, omega.ErrConflict, "another scheduler that names it has no right to it")
	_, err = send(t, owner, r.Claims...)
	require.NoError(t, err)
	require.Empty(t, shown(other, clock))
	_, err = send(t, other, claim(ids[0], 2))
	require.NoError(t, err, "what is left is free again")
	require.NoError(t, cell.Check())
}

func TestReservation_HasWhatTheSameTransactionReleases(t *testing.T) {
	cell, ids := newCell(t, 1, resources.Vector{4})
	owner, other := register(t, cell, "owner"), register(t, cell, "other")
	held, err := send(t, other, claim(ids[0], 4))
	require.NoError(t, err)
	reserved(t, owner, later, claim(ids[0], 3))
	var tx omega.Txn
	tx.Release(held[0])
	i := tx.Claim(claim(ids[0], 2))
	_, err = other.Commit(&tx)
	require.NoError(t, err)
	require.ErrorIs(t, tx.Err(i), omega.ErrConflict)
	_, err = send(t, other, claim(ids[0], 1))
	require.NoError(t, err)
}

func TestReservation_LeavesWhatIsExchangedToItsClaims(t *testing.T) {
	cell, ids := newCell(t, 1, resources.Vector{4})
	owner, other := register(t, cell, "owner"), register(t, cell, "other")
	held, err := send(t, other, claim(ids[0], 3))
	require.NoError(t, err)
	reserved(t, owner, later, claim(ids[0], 3))
	var tx omega.Txn
	more := tx.Resize(held[0], resources.Vector{4})
	_, err = other.Commit(&tx)
	require.NoError(t, err)
	require.ErrorIs(t, tx.Err(more), omega.ErrConflict, "it grows into what is reserved")
	tx.Reset()
	tx.Exchange(held, claim(ids[0], 1), claim(ids[0], 2))
	granted, err := other.Commit(&tx)
	require.NoError(t, err)
	require.Equal(t, 2, granted)
}

func TestReservation_HasWhatIsPreemptedAtItsPrecedence(t *testing.T) {
	cell, ids := newCell(t, 1, resources.Vector{4})
	low := register(t, cell, "low")
	both, err := cell.Register("both", omega.Limits{Highest: 2})
	require.NoError(t, err)
	s := make([]*omega.Scheduler, 3)
	for i := range s {
		s[i], err = cell.Register(fmt.Sprint(i), omega.Limits{Lowest: omega.Precedence(i), Highest: omega.Precedence(i)})
		require.NoError(t, err)
	}
	victims, err := send(t, low, claim(ids[0], 2))
	require.NoError(t, err)
	at := func(p omega.Precedence, need int64, victims ...omega.AllocationID) omega.Claim {
		return omega.Claim{Machine: ids[0], Need: resources.Vector{need}, Precedence: p, Victims: victims}
	}
	reserved(t, s[1], later, at(1, 3))

	_, err = sendAt(t, s[1], clock, at(1, 2, victims...))
	require.ErrorIs(t, err, omega.ErrConflict)
	var mixed omega.Txn
	i := mixed.Exchange(nil, at(2, 1), at(1, 1))
	_, err = both.Commit(&mixed)
	require.NoError(t, err)
	require.ErrorIs(t, mixed.Err(i), omega.ErrConflict, "claims that are granted together are as the lowest of them")
	proposed, ok := cell.Victims(ids[0], resources.Vector{2}, 1)
	require.False(t, ok, "%v", proposed)
	proposed, ok = cell.Victims(ids[0], resources.Vector{2}, 2)
	require.True(t, ok)
	require.Empty(t, proposed, "a higher precedence takes the room that is reserved")
	for i, want := range []int64{0, 0, 2} {
		s[i].Snapshot().Refresh(clock)
		free, _ := s[i].Snapshot().Free(ids[0])
		require.Equal(t, want, free[0], "scheduler at %d", i)
	}
	_, err = send(t, s[2], at(2, 2))
	require.NoError(t, err)
	require.Len(t, shown(s[1], clock), 1, "it waits on")
	_, err = sendAt(t, s[1], clock, at(1, 1, victims...))
	require.ErrorIs(t, err, omega.ErrConflict, "for a claim that names no reservation")
	whole := shown(s[1], clock)[0].Claims[0]
	whole.Need, whole.Victims = resources.Vector{2}, victims
	_, err = sendAt(t, s[1], clock, whole)
	require.NoError(t, err, "for one that names it")
	require.Equal(t, resources.Vector{1}, shown(s[1], clock)[0].Claims[0].Need, "the rest stays reserved")
}

func TestReservations_AreInOneOrder(t *testing.T) {
	cell, err := omega.NewCell(omega.Config{Reserved: 1, Machines: []omega.Machine{{Name: "m", Capacity: resources.Vector{10}}}})
	require.NoError(t, err)
	m, _ := cell.Machine("m")
	s, err := cell.Register("s", omega.Limits{Highest: 1})
	require.NoError(t, err)
	held, err := send(t, s, claim(m, 6), claim(m, 2))
	require.NoError(t, err)
	at := func(p omega.Precedence, need int64) omega.Claim {
		return omega.Claim{Machine: m, Need: resources.Vector{need}, Precedence: p}
	}
	older := reserved(t, s, later, at(0, 3))
	younger := reserved(t, s, later, at(0, 4))
	higher := reserved(t, s, later, at(1, 3))
	order := func() (ids []omega.ReservationID, ready []bool) {
		for _, r := range shown(s, clock) {
			ids, ready = append(ids, r.ID), append(ready, r.Ready)
		}
		return ids, ready
	}
	ids, ready := order()
	require.Equal(t, []omega.ReservationID{higher, older, younger}, ids)
	require.Equal(t, []bool{false, false, false}, ready)
	require.NoError(t, s.Release(held[1])) // 4 are free
	_, ready = order()
	require.Equal(t, []bool{true, false, false}, ready)
	require.NoError(t, s.Release(held[0])) // all are
	_, ready = order()
	require.Equal(t, []bool{true, true, true}, ready)
	c := at(0, 4)
	c.Reservation = younger
	_, err = send(t, s, c)
	require.NoError(t, err, "the last takes what the others leave")
	c = at(0, 3)
	c.Reservation = older
	_, err = send(t, s, c)
	require.NoError(t, err)
	ids, _ = order()
	require.Equal(t, []omega.ReservationID{higher}, ids)
	require.NoError(t, cell.Check())
}

// Of two gangs that want the same two machines the older has both first, in whichever
// order they name them.
func TestReservation_OfAGangIsGrantedAsAWhole(t *testing.T) {
	cell, err := omega.NewCell(omega.Config{Reserved: 1})
	require.NoError(t, err)
	var ids [2]omega.MachineID
	for i := range ids {
		ids[i], err = cell.Add(omega.Machine{Name: fmt.Sprint(i), Capacity: resources.Vector{4}})
		require.NoError(t, err)
	}
	small, a, b := register(t, cell, "small"), register(t, cell, "a"), register(t, cell, "b")
	held, err := send(t, small, claim(ids[0], 4), claim(ids[1], 4))
	require.NoError(t, err)
	reserved(t, a, later, claim(ids[0], 3), claim(ids[1], 2), claim(ids[1], 1))
	reserved(t, b, later, claim(ids[1], 3), claim(ids[0], 3))
	for i, id := range held {
		require.False(t, shown(a, clock)[0].Ready, "after %d", i)
		require.NoError(t, small.Release(id))
	}
	all := shown(a, clock)
	require.True(t, all[0].Ready)
	require.False(t, all[1].Ready)
	require.Equal(t, resources.Vector{3}, all[0].Claims[1].Need, "for claims on one machine together")
	_, err = send(t, b, shown(b, clock)[1].Claims...)
	require.ErrorIs(t, err, omega.ErrConflict)
	got, err := send(t, a, all[0].Claims...)
	require.NoError(t, err)
	require.Len(t, got, 2)
	for _, id := range got {
		require.NoError(t, a.Release(id))
	}
	all = shown(b, clock)
	require.Len(t, all, 1)
	require.True(t, all[0].Ready)
	_, err = send(t, b, all[0].Claims...)
	require.NoError(t, err)
	require.NoError(t, cell.Check())
}

func TestReservation_IsGrantedClaimByClaim(t *testing.T) {
	cell, ids := newCell(t, 1, resources.Vector{4})
	s, other := register(t, cell, "s"), register(t, cell, "other")
	id := reserved(t, s, later, claim(ids[0], 1), claim(ids[0], 2))
	one := claim(ids[0], 1)
	one.Reservation = id
	for left := int64(3); left > 0; left-- {
		require.Equal(t, resources.Vector{left}, shown(s, clock)[0].Claims[0].Need)
		_, err := send(t, other, claim(ids[0], 2))
		require.ErrorIs(t, err, omega.ErrConflict)
		_, err = send(t, s, one)
		require.NoError(t, err)
	}
	require.Empty(t, shown(s, clock))
	_, err := send(t, s, one)
	require.NoError(t, err, "a claim that names none that is left is any claim")
}

// Beyond their share reservations wait in line, and keep room in their turn.
func TestReservations_KeepNoMoreThanTheirShare(t *testing.T) {
	cell, ids := newCell(t, 4, resources.Vector{8}) // of which they may keep 8
	s, other := register(t, cell, "s"), register(t, cell, "other")
	full := make([]omega.AllocationID, len(ids))
	for i, m := range ids {
		got, err := send(t, other, claim(m, 2))
		require.NoError(t, err)
		full[i] = got[0]
	}
	first := reserved(t, s, later, claim(ids[0], 7))
	second := reserved(t, s, later, claim(ids[1], 7))
	third := reserved(t, s, later, claim(ids[2], 1))
	left := func() (free [4]int64) {
		other.Snapshot().Refresh(clock)
		for i, m := range ids {
			f, _ := other.Snapshot().Free(m)
			free[i] = f[0]
		}
		return free
	}
	require.Equal(t, [4]int64{0, 6, 6, 6}, left(), "none overtakes the second")
	require.NoError(t, unreserve(t, s, clock, first))
	require.Equal(t, [4]int64{6, 0, 5, 6}, left())
	require.NoError(t, other.Release(full[1]))
	all := shown(s, clock)
	require.Equal(t, []omega.ReservationID{second, third}, []omega.ReservationID{all[0].ID, all[1].ID})
	huge := reserved(t, s, later, claim(ids[0], 8), claim(ids[3], 8))
	require.Equal(t, [4]int64{6, 1, 5, 6}, left())
	_, err := send(t, s, all[0].Claims...)
	require.NoError(t, err)
	_, err = send(t, s, all[1].Claims...)
	require.NoError(t, err)
	require.Equal(t, [4]int64{0, 1, 5, 0}, left(), "the first may keep more")
	require.Equal(t, huge, shown(s, clock)[0].ID)
	require.NoError(t, cell.Check())
}
