//go:build explore

package omega

import (
	"fmt"
	"testing"

	"github.com/cellsched/cellsched/omega/internal/explore"
	"github.com/cellsched/cellsched/resources"
)

// Plain claims want the last room of a machine, one of them after it has taken a slot.
// One is granted, and the others leave neither a slot nor a charge behind. That holds
// also where a scheduler is replaced meanwhile. Usage is never below the amount
// allocated.
func TestExplore_PlainClaimsForTheLastRoom(t *testing.T) {
	for _, replaced := range []bool{false, true} {
		t.Run(fmt.Sprintf("replaced=%t", replaced), func(t *testing.T) {
			exploreAll(t, 2, func(r *explore.Run) {
				cell := newCell(1, 1)
				granted := [2]bool{}
				for i := range granted {
					s := must(cell.Register(fmt.Sprint("scheduler-", i), Limits{}))
					r.Go(fmt.Sprint("claim ", i), func() {
						var tx Txn
						tx.Claim(Claim{Machine: explored(0), Need: resources.Vector{1}})
						n, _ := s.Commit(&tx) // fails for one that was replaced before
						granted[i] = n == 1
					})
				}
				var wrong error
				r.Go("reader", func() { wrong = bounded(cell) })
				if replaced {
					r.Go("replace", func() { must(cell.Replace("scheduler-0")) })
				}
				r.Check(func() error {
					switch {
					case wrong != nil:
						return wrong
					case granted[0] && granted[1]:
						return fmt.Errorf("one unit of room was granted twice")
					case !replaced && !granted[0] && !granted[1]:
						return fmt.Errorf("room was granted to neither of two")
					}
					return exact(cell)
				})
			})
		})
	}
}
