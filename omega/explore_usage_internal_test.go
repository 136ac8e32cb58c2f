//go:build explore

package omega

import (
	"fmt"
	"testing"

	"github.com/cellsched/cellsched/omega/internal/explore"
	"github.com/cellsched/cellsched/resources"
)

// An amount that is held all the time is always counted. That holds also while it moves
// to a precedence at which nothing was held before, or while another scheduler leaves.
func TestExplore_UsageAgainstWhatMoves(t *testing.T) {
	exploreAll(t, 3, func(r *explore.Run) {
		st := newStage(r, 2)
		s := must(st.cell.Register("s", Limits{Highest: 1}))
		a, _ := grantOf(s, one(0))
		other := st.register("other")
		b, _ := grantOf(other, one(0))
		must(0, other.Release(b))
		r.Go("move", func() {
			tx := &Txn{}
			tx.Exchange([]AllocationID{a}, Claim{Machine: st.cell.machine(0, 0), Need: resources.Vector{1}, Precedence: 1})
			must(s.Commit(tx))
			must(0, other.Leave())
		})
		var used resources.Vector
		r.Go("read", func() { used = must(st.cell.Usage(0)) })
		r.Check(func() error {
			if used[0] < 1 {
				return fmt.Errorf("usage was %v", used)
			}
			return st.sound(1)
		})
	})
}

// An amount that is held all the time is always counted, also while it moves to and fro
// between precedences at which something was held before.
func TestExplore_UsageAgainstMovesToAndFro(t *testing.T) {
	exploreAll(t, 3, func(r *explore.Run) {
		c := newCell(1, 2)
		s := must(c.Register("s", Limits{Highest: 1}))
		held, _ := grantOf(s, claiming(1, 1, 0))
		other, _ := grantOf(s, claiming(1, 0, 0))
		must(0, s.Release(other))
		r.Go("move", func() {
			for _, p := range []Precedence{0, 1} {
				tx := &Txn{}
				tx.Exchange([]AllocationID{held}, Claim{Machine: c.machine(0, 0), Need: resources.Vector{1}, Precedence: p})
				held, _ = grantOf(s, tx)
			}
		})
		var wrong error
		r.Go("read", func() {
			if used := s.Usage(); used[0] < 1 {
				wrong = fmt.Errorf("the scheduler's usage was %v", used)
			}
			if used := must(c.Usage(0)); used[0] < 1 {
				wrong = fmt.Errorf("the account's usage was %v", used)
			}
		})
		r.Check(func() error {
			if wrong != nil {
				return wrong
			}
			return exact(c)
		})
	})
}
