//go:build explore

package omega

import (
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/cellsched/cellsched/omega/internal/explore"
	"github.com/cellsched/cellsched/resources"
)

// A gang on a machine that is removed is granted before, and its owner then learns its
// losses, or it is not granted at all. The machine that comes after it under its number
// has nothing of it.
func TestExplore_RemovalAgainstClaim(t *testing.T) {
	exploreAll(t, 3, func(r *explore.Run) {
		st := newStage(r, 1)
		s := st.register("s")
		var tx Txn
		granted := false
		r.Go("claim", func() {
			tx.Gang = true
			for m := range uint32(2) {
				tx.Claim(Claim{Machine: st.cell.machine(m, 0), Need: resources.Vector{1}})
			}
			granted = must(s.Commit(&tx)) == 2
		})
		var lost []Allocation
		var next MachineID
		r.Go("remove", func() {
			lost = must(st.cell.Remove(st.cell.machine(0, 0)))
			next = must(st.cell.Add(Machine{Name: "next", Capacity: resources.Vector{1}}))
		})
		r.Check(func() error {
			var want []AllocationID
			if id, ok := tx.Allocation(0); ok {
				want = append(want, id)
			}
			var marked, told []AllocationID
			for m := range s.Marked() {
				marked = append(marked, m.Allocation.ID)
			}
			for _, a := range lost {
				told = append(told, a.ID)
			}
			switch other := load(st.cell.words.at(1)); {
			case next != st.cell.machine(0, 1):
				return fmt.Errorf("the next machine is %v", next)
			case !slices.Equal(want, told) || !slices.Equal(want, marked):
				return fmt.Errorf("granted %v, lost %v, marked %v", want, told, marked)
			case granted != (len(want) == 1) || granted != (other.room[0] == 0):
				return fmt.Errorf("granted: %t, with %d of the other machine free", granted, other.room[0])
			case !granted && !errors.Is(tx.Err(0), ErrRemoved):
				return fmt.Errorf("refused with %w", tx.Err(0))
			}
			return st.sound(0)
		})
	})
}

// A change of capacity counts once towards the total of the cell, also if a claim
// makes it try again.
func TestExplore_CapacityAgainstClaim(t *testing.T) {
	exploreAll(t, 3, func(r *explore.Run) {
		st := newStage(r, 1)
		s := st.register("s")
		granted := false
		r.Go("claim", func() { _, granted = grantOf(s, one(0)) })
		r.Go("resize", func() {
			must(0, st.cell.SetCapacity(explored(0), resources.Vector{st.free[0] + 5}))
			must(0, st.cell.SetCapacity(explored(0), resources.Vector{st.free[0]}))
		})
		r.Check(func() error {
			if !granted {
				return errors.New("refused")
			}
			return st.sound(1)
		})
	})
}

// Once a successor is there, its predecessor's commit takes effect no more. Grants before
// that are the successor's.
func TestExplore_SuccessorAgainstGang(t *testing.T) {
	exploreAll(t, 3, func(r *explore.Run) {
		st := newStage(r, 1)
		old := st.register("s")
		tx := Txn{Gang: true}
		for m := range uint32(2) {
			tx.Claim(Claim{Machine: st.cell.machine(m, 0), Need: resources.Vector{1}})
		}
		granted := false
		r.Go("old", func() {
			n, err := old.Commit(&tx)
			if granted = n == 2; err != nil && !errors.Is(err, ErrSuperseded) {
				panic(err)
			}
		})
		var heir *Scheduler
		var left [2]int64
		r.Go("successor", func() {
			heir = must(st.cell.Replace("s"))
			for m := range left {
				left[m] = load(st.cell.words.at(uint32(m))).room[0]
			}
		})
		r.Check(func() error {
			if full := left == [2]int64{}; full != granted || !full && left != [2]int64{1, 1} {
				return fmt.Errorf("granted: %t, with %d free when the successor came", granted, left)
			}
			if !granted {
				return st.sound(0)
			}
			if err := st.sound(1); err != nil {
				return err
			}
			id, _ := tx.Allocation(0)
			return heir.Release(id)
		})
	})
}
