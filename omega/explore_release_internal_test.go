//go:build explore

package omega

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/cellsched/cellsched/omega/internal/explore"
	"github.com/cellsched/cellsched/resources"
)

// register adds a scheduler.
func (st *stage) register(name string) *Scheduler { return must(st.cell.Register(name, Limits{})) }

// one returns a transaction that claims one unit on the first machine.
func one(p Precedence, victims ...AllocationID) *Txn {
	tx := &Txn{Now: time.Unix(1, 0), Grace: AtOnce}
	tx.Claim(Claim{Machine: explored(0), Need: resources.Vector{1}, Precedence: p, Victims: victims})
	return tx
}

// grantOf commits a transaction of one claim and returns its allocation.
func grantOf(s *Scheduler, tx *Txn) (AllocationID, bool) {
	must(s.Commit(tx))
	return tx.Allocation(0)
}

// sound verifies the state at the end, where the first machine has so many live
// allocations of one unit.
func (st *stage) sound(live int) error {
	val := load(st.cell.words.at(0))
	if n, free := val.live.count(), val.room[0]; n != live || free != st.free[0]-int64(live) {
		return fmt.Errorf("%d live allocations, not %d, and %d free", n, live, free)
	}
	return st.cell.Check()
}

// An allocation is released once, however many calls try and whether or not it is
// preempted meanwhile. Its room goes to exactly one claim.
func TestExplore_ReleaseAgainstPreemption(t *testing.T) {
	exploreAll(t, 3, func(r *explore.Run) {
		st := newStage(r, 1)
		low, high := st.register("low"), must(st.cell.Register("high", Limits{Highest: 1}))
		victim, _ := grantOf(low, one(0))
		released, preempted := 0, false
		for _, name := range []string{"release", "again"} {
			r.Go(name, func() {
				if err := low.Release(victim); err == nil {
					released++
				} else if !errors.Is(err, ErrReleased) {
					panic(err)
				}
			})
		}
		var tx *Txn
		r.Go("preempt", func() {
			tx = one(1, victim)
			_, preempted = grantOf(high, tx)
		})
		r.Check(func() error {
			switch marks := slices.Collect(low.Marked()); {
			case released != 1:
				return fmt.Errorf("released %d times", released)
			case len(marks) > 0:
				return fmt.Errorf("still marked: %+v", marks)
			case st.cell.holds(victim):
				return errors.New("the victim was not released")
			case preempted:
				return st.sound(1)
			case !errors.Is(tx.Err(0), ErrReleased):
				return fmt.Errorf("refused with %w", tx.Err(0))
			}
			return st.sound(0)
		})
	})
}

// An ID that is released for the second time does not hit the allocation that has come
// into its slot since.
func TestExplore_StaleHandleAgainstReuseOfItsSlot(t *testing.T) {
	exploreAll(t, 2, func(r *explore.Run) {
		st := newStage(r, 3)
		a, b := st.register("a"), st.register("b")
		old, _ := grantOf(a, one(0))
		released := 0
		release := func() {
			if err := a.Release(old); err == nil {
				released++
			} else if !errors.Is(err, ErrReleased) {
				panic(err)
			}
		}
		var ids []AllocationID
		r.Go("reuse", func() {
			release()
			if id, ok := grantOf(a, one(0)); ok {
				ids = append(ids, id)
			}
		})
		r.Go("stale", release)
		r.Go("other", func() {
			if id, ok := grantOf(b, one(0)); ok {
				ids = append(ids, id)
			}
		})
		r.Check(func() error {
			if released != 1 || len(ids) != 2 || ids[0] == ids[1] || slices.Contains(ids, old) {
				return fmt.Errorf("released %d times; %v, then %v", released, old, ids)
			}
			for _, id := range ids {
				if _, ok := st.cell.record(id); !ok || !load(st.cell.words.at(0)).live.has(id.slot()) {
					return fmt.Errorf("%v is gone", id)
				}
			}
			return st.sound(2)
		})
	})
}

// The ID of an allocation that was released names nothing any more, not even
// while another claim is about to get its slot.
func TestExplore_ReleasedIDAgainstClaim(t *testing.T) {
	for _, gang := range []bool{false, true} {
		exploreAll(t, 3, func(r *explore.Run) {
			st := newStage(r, 2)
			a, b := st.register("a"), st.register("b")
			tx := one(0)
			if tx.Gang = gang; gang {
				tx.Claim(Claim{Machine: st.cell.machine(1, 0), Need: resources.Vector{1}})
			}
			r.Go("claim", func() { must(a.Commit(tx)) })
			var err error
			r.Go("release", func() {
				id, _ := grantOf(b, one(0))
				must(0, b.Release(id))
				if at, ready := st.cell.ReadyAt(id); !errors.Is(ready, ErrReleased) {
					err = fmt.Errorf("%v was released, and may start at %v", id, at)
				}
				if again := b.Release(id); !errors.Is(again, ErrReleased) || errors.Is(again, ErrNotOwner) {
					err = fmt.Errorf("%v was released, and then: %w", id, again)
				}
			})
			r.Check(func() error {
				if err != nil {
					return err
				}
				return st.sound(1)
			})
		})
	}
}
