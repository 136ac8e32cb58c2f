//go:build explore

package omega

import (
	"errors"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cellsched/cellsched/omega/internal/explore"
	"github.com/cellsched/cellsched/resources"
)

// Every change that lets a need fit, or ends the right to wait for it, wakes its
// scheduler. A lost wake-up is a deadlock, which the explorer reports.
func TestExplore_WaitAgainstWhatEndsIt(t *testing.T) {
	unit := resources.Vector{1}
	tests := map[string]struct {
		full  []uint32 // machines of one unit each
		start func(c *Cell, s *Scheduler) (end func())
		err   error
	}{
		"its mask has a machine more": {[]uint32{1}, func(_ *Cell, s *Scheduler) func() {
			require.NoError(t, s.Restrict(t.Context(), Mask{2}))
			return func() { require.NoError(t, s.Restrict(t.Context(), nil)) }
		}, nil},
		"a machine is resumed": {[]uint32{1}, func(c *Cell, _ *Scheduler) func() {
			must(0, c.Drain(c.machine(0, 0)))
			return func() { must(0, c.Resume(c.machine(0, 0))) }
		}, nil},
		"a machine is added": {[]uint32{0, 1}, func(c *Cell, _ *Scheduler) func() {
			return func() { must(c.Add(Machine{Name: "new", Capacity: unit})) }
		}, nil},
		"a machine is larger": {[]uint32{0, 1}, func(c *Cell, _ *Scheduler) func() {
			return func() { must(0, c.SetCapacity(c.machine(0, 0), resources.Vector{2})) }
		}, nil},
		"all machines are removed": {[]uint32{0, 1}, func(c *Cell, _ *Scheduler) func() {
			return func() {
				must(c.Remove(c.machine(0, 0)))
				must(c.Remove(c.machine(1, 0)))
			}
		}, ErrNeverFits},
		"a successor comes": {[]uint32{0, 1}, func(c *Cell, _ *Scheduler) func() {
			return func() { must(c.Replace("s")) }
		}, ErrSuperseded},
		"its chief is replaced": {[]uint32{0, 1}, func(c *Cell, _ *Scheduler) func() {
			return func() { must(c.Replace("chief")) }
		}, ErrSuperseded},
		"a transaction releases": {[]uint32{0, 1}, func(c *Cell, s *Scheduler) func() {
			other := must(c.Register("small", Limits{}))
			must(c.Add(Machine{Name: "new", Capacity: unit}))
			held, _ := grantOf(other, claiming(1, 0, 2))
			return func() {
				tx := &Txn{}
				tx.Release(held)
				must(other.Commit(tx))
			}
		}, nil},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			exploreAll(t, 3, func(r *explore.Run) {
				c := newCell(2, 1)
				full := must(c.Register("full", Limits{}))
				for _, m := range tt.full {
					grantOf(full, claiming(1, 0, m))
				}
				s := must(must(c.Register("chief", Limits{})).Deputy("s", Limits{}))
				end := tt.start(c, s)
				var err error
				r.Go("wait", func() { err = s.Wait(t.Context(), unit) })
				r.Go("end", end)
				r.Check(func() error {
					if !errors.Is(err, tt.err) {
						return fmt.Errorf("it waited until: %w", err)
					}
					return errors.Join((&stage{cell: c}).idle(), c.Check())
				})
			})
		})
	}
}
