//go:build explore

package omega

import (
	"fmt"
	"testing"

	"github.com/cellsched/cellsched/omega/internal/explore"
	"github.com/cellsched/cellsched/resources"
)

// A cut that has a machine has all that happened before the machine was added. A cut that
// has a claim on it has the releases before the claim.
func TestExplore_CutAgainstAdd(t *testing.T) {
	exploreAll(t, 2, func(r *explore.Run) {
		st := newStage(r, 1)
		s := st.register("s")
		held, _ := grantOf(s, one(0))
		r.Go("move", func() {
			must(0, s.Release(held))
			m := must(st.cell.Add(Machine{Name: "new", Capacity: resources.Vector{1}}))
			tx := &Txn{}
			tx.Claim(Claim{Machine: m, Need: resources.Vector{1}})
			must(s.Commit(tx))
		})
		var cut *Cut
		r.Go("cut", func() { cut = st.cell.Cut() })
		r.Check(func() error {
			live := map[string]int{}
			for m, allocations := range cut.Machines() {
				live[m.Name] = len(allocations)
			}
			if n, added := live["new"]; added && live["0"]+n > 1 || added && live["0"] > 0 {
				return fmt.Errorf("a cut with the new machine, with %d allocations, and %d on the old one", n, live["0"])
			}
			return st.sound(0)
		})
	})
}
