//go:build explore

package omega

import (
	"bytes"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/cellsched/cellsched/omega/internal/explore"
	"github.com/cellsched/cellsched/resources"
)

// units is a claim of so many units on a machine.
func units(n int64, machine uint32) Claim {
	return Claim{Machine: explored(machine), Need: resources.Vector{n}}
}

// reserveFor reserves and returns the claims, which name the reservation.
func reserveFor(s *Scheduler, claims ...Claim) []Claim {
	tx := &Txn{Now: time.Unix(1, 0)}
	tx.Reserve(time.Unix(5, 0), claims...)
	must(s.Commit(tx))
	id := must(tx.Reservation(0))
	for i := range claims {
		claims[i].Reservation = id
	}
	return claims
}

// together commits claims as a gang and returns the allocations granted.
func together(s *Scheduler, claims []Claim) (ids []AllocationID) {
	tx := &Txn{Gang: len(claims) > 1}
	for _, c := range claims {
		tx.Claim(c)
	}
	if must(s.Commit(tx)) == len(claims) {
		for i := range claims {
			id, _ := tx.Allocation(i)
			ids = append(ids, id)
		}
	}
	return ids
}

// await commits claims until they are granted, and sleeps in between.
func await(t *testing.T, s *Scheduler, claims []Claim) (ids []AllocationID) {
	t.Helper()
	var needs []resources.Vector
	for _, c := range claims {
		needs = append(needs, c.Need)
	}
	for {
		if ids = together(s, claims); ids != nil {
			return ids
		}
		must(0, s.Wait(t.Context(), needs...))
	}
}

// unreserved returns an error if there is a reservation, or a machine keeps room for one.
func (st *stage) unreserved() error {
	if line := st.cell.reserved(); len(line) > 0 {
		return fmt.Errorf("%d reservations in the line", len(line))
	}
	for m := range uint32(exploreMachines) {
		if val := load(st.cell.words.at(m)); val.keeps || val.rare != nil {
			return fmt.Errorf("machine %d keeps room: %v", m, val.reserved())
		}
	}
	return errors.Join(st.idle(), st.cell.Check())
}

// A scheduler that refills each unit gets none once a commit has reserved the machine,
// and the release of its allocation wakes the owner.
func TestExplore_ReservationAgainstRefilling(t *testing.T) {
	exploreAll(t, 2, func(r *explore.Run) {
		st := newStage(r, 2)
		large, small := st.register("large"), st.register("small")
		held, _ := grantOf(small, one(0))
		var reserved, stolen bool
		r.Go("large", func() {
			claims := reserveFor(large, units(2, 0))
			reserved = true
			await(t, large, claims)
		})
		r.Go("small", func() {
			for range 2 {
				must(0, small.Release(held))
				before, ok := reserved, false
				if held, ok = grantOf(small, one(0)); !ok {
					return
				}
				stolen = stolen || before
			}
			must(0, small.Release(held))
		})
		r.Check(func() error {
			if stolen {
				return errors.New("room that was reserved was granted to another")
			}
			return st.unreserved()
		})
	})
}

// Two gangs reserve the same machines in opposite orders: none waits for the other for
// ever, whichever is the older.
func TestExplore_ReservationsOfTwoGangs(t *testing.T) {
	exploreAll(t, 1, func(r *explore.Run) {
		st := newStage(r, 1)
		st.cell.share = 1
		holder := st.register("holder")
		held := must(grantOf2(holder, on(1)))
		for i, claims := range [][]Claim{{units(1, 0), units(1, 1)}, {units(1, 1), units(1, 0)}} {
			s := st.register(fmt.Sprint("gang ", i))
			r.Go(s.Name(), func() {
				for _, id := range await(t, s, reserveFor(s, claims...)) {
					must(0, s.Release(id))
				}
			})
		}
		r.Go("holder", func() { must(0, holder.Release(held)) })
		r.Check(st.unreserved)
	})
}

// Beyond the share a reservation waits in line. Nothing of it is left once its claim was
// granted, be that before its turn, while that comes, or after.
func TestExplore_ReservationsInLine(t *testing.T) {
	exploreAll(t, 2, func(r *explore.Run) {
		st := newStage(r, 1)
		for i := range uint32(2) {
			s := st.register(fmt.Sprint(i))
			r.Go(s.Name(), func() {
				for _, id := range await(t, s, reserveFor(s, units(1, i))) {
					must(0, s.Release(id))
				}
			})
		}
		r.Check(st.unreserved)
	})
}

// A gang takes the room reserved for it while another scheduler's commit ends the
// reservation, its time being over. Nothing stays reserved, and nothing is granted twice.
func TestExplore_ReservationGrantedAgainstOver(t *testing.T) {
	for name, other := range map[string]func(s *Scheduler, id ReservationID){
		"met": func(s *Scheduler, _ ReservationID) {
			tx := &Txn{Now: time.Unix(9, 0)}
			tx.Claim(units(1, 0))
			must(s.Commit(tx))
		},
		"unreserved": func(s *Scheduler, id ReservationID) {
			tx := &Txn{Now: time.Unix(9, 0)}
			tx.Unreserve(id)
			must(s.Commit(tx))
		},
		"removed": func(s *Scheduler, _ ReservationID) { must(s.cell.Remove(explored(0))) },
		"drained": func(s *Scheduler, _ ReservationID) { must(0, s.cell.Drain(explored(0))) },
	} {
		t.Run(name, func(t *testing.T) {
			exploreAll(t, 2, func(r *explore.Run) {
				st := newStage(r, 1)
				owner, s := st.register("owner"), st.register("other")
				claims := reserveFor(owner, units(1, 0), units(1, 1))
				granted := 0
				r.Go("granted", func() { granted = len(together(owner, claims)) })
				r.Go("over", func() { other(s, claims[0].Reservation) })
				r.Check(func() error {
					live := load(st.cell.words.at(1)).live
					if n := live.count(); n != granted/2 {
						return fmt.Errorf("%d claims granted, %d live on a machine of theirs", granted, n)
					}
					return st.unreserved()
				})
			})
		})
	}
}

// A cut has both parts of a reservation or none, and can be restored, whatever
// reservations and grants come meanwhile.
func TestExplore_ReservationAgainstSave(t *testing.T) {
	exploreAll(t, 1, func(r *explore.Run) {
		st := newStage(r, 1)
		owner := st.register("owner")
		var saved bytes.Buffer
		r.Go("reserve", func() { together(owner, reserveFor(owner, units(1, 0), units(1, 1))) })
		r.Go("save", func() { must(0, st.cell.Save(&saved)) })
		r.Check(func() error {
			copied, err := Restore(&saved, nil)
			if err != nil {
				return err
			}
			first, second := load(copied.words.at(0)), load(copied.words.at(1))
			if first.live.count() != second.live.count() || first.keeps != second.keeps {
				return fmt.Errorf("%d and %d live, %v and %v reserved",
					first.live.count(), second.live.count(), first.reserved(), second.reserved())
			}
			return errors.Join(st.unreserved(), copied.Check())
		})
	})
}
