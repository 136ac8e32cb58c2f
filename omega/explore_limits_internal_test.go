//go:build explore

package omega

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/cellsched/cellsched/omega/internal/explore"
	"github.com/cellsched/cellsched/resources"
)

// watched explores threads beside one that checks, at some moment, that usage is not
// below the amount allocated and limits are not exceeded.
func watched(t *testing.T, preemptions int, build func() plan, check func() error) {
	t.Helper()
	exploreAll(t, preemptions, func(r *explore.Run) {
		p := build()
		for i, ops := range p.threads {
			r.Go(fmt.Sprint(i), func() {
				for _, op := range ops {
					op()
				}
			})
		}
		var wrong error
		r.Go("watch", func() { wrong = bounded(p.cell) })
		r.Check(func() error {
			if err := errors.Join(wrong, check()); err != nil {
				return err
			}
			return exact(p.cell)
		})
	})
}

// nothing is the check of a plan if the cell's books say enough.
func nothing() error { return nil }

// limitedTo returns a scheduler that may hold so many units.
func limitedTo(c *Cell, units int64) *Scheduler {
	held := resources.Vector{units}
	return must(c.Register("limited", Limits{Held: &held, Highest: 1}))
}

// Whatever a scheduler claims and releases at the same time, its limit is not exceeded at
// any moment. Usage counts its allocations at each moment.
func TestExplore_LimitAgainstClaimsAndReleases(t *testing.T) {
	tests := map[string]struct {
		preemptions int
		build       func() plan
	}{
		"two claims and a release": {3, func() plan {
			c := newCell(2, 2)
			s := limitedTo(c, 2)
			held, _ := grantOf(s, claiming(1, 0, 0))
			return plan{c, [][]func(){
				{func() { must(s.Commit(claiming(1, 0, 0))) }, func() { must(s.Commit(claiming(1, 0, 1))) }},
				{func() { must(0, s.Release(held)) }},
			}}
		}},
		"a transaction that releases what it claims again": {3, func() plan {
			c := newCell(2, 2)
			s := limitedTo(c, 2)
			a, _ := grantOf(s, claiming(1, 0, 0))
			b, _ := grantOf(s, claiming(1, 0, 1))
			return plan{c, [][]func(){
				{func() {
					tx := claiming(2, 0, 0)
					tx.Release(a)
					tx.Release(b)
					must(s.Commit(tx))
				}},
				{func() {
					if err := s.Release(b); err != nil && !errors.Is(err, ErrReleased) {
						panic(err)
					}
				}},
			}}
		}},
		"a transaction that moves what it holds": {3, func() plan {
			c := newCell(2, 2)
			s := limitedTo(c, 2)
			a, _ := grantOf(s, claiming(1, 0, 0))
			b, _ := grantOf(s, claiming(1, 0, 1))
			return plan{c, [][]func(){{func() {
				tx := claiming(2, 0, 1)
				tx.Claim(Claim{Machine: c.machine(0, 0), Need: resources.Vector{1}})
				tx.Release(a)
				tx.Release(b)
				must(s.Commit(tx))
			}}}}
		}},
		"a transaction of one release": {3, func() plan {
			c := newCell(2, 2)
			s := limitedTo(c, 2)
			a, _ := grantOf(s, claiming(1, 0, 0))
			b, _ := grantOf(s, claiming(1, 0, 0))
			return plan{c, [][]func(){
				{func() {
					tx := &Txn{}
					tx.Release(a)
					must(s.Commit(tx))
				}},
				{func() { must(0, s.Release(b)) }},
			}}
		}},
		"a gang and a release": {3, func() plan {
			c := newCell(2, 2)
			s := limitedTo(c, 2)
			held, _ := grantOf(s, claiming(1, 0, 0))
			return plan{c, [][]func(){
				{func() { must(s.Commit(claiming(1, 0, 0, 1))) }},
				{func() { must(0, s.Release(held)) }},
			}}
		}},
		"a claim, its preemption and another claim": {2, func() plan {
			c := newCell(1, 2)
			s, high := limitedTo(c, 1), must(c.Register("high", Limits{Highest: 2}))
			held, _ := grantOf(s, claiming(1, 0, 0))
			return plan{c, [][]func(){
				{func() { grantOf(high, takingFrom(2, 2, held)) }},
				{func() { must(s.Commit(claiming(1, 0, 0))) }},
				{func() { must(0, s.Release(held)) }},
			}}
		}},
		"a claim of a scheduler and one of its successor": {2, func() plan {
			c := newCell(2, 2)
			s := limitedTo(c, 1)
			return plan{c, [][]func(){
				{func() { mayBeSuperseded(s.Commit(claiming(1, 0, 0))) }},
				{func() { must(must(c.Replace("limited")).Commit(claiming(1, 0, 1))) }},
			}}
		}},
		"a removal and a claim": {2, func() plan {
			c := newCell(2, 2)
			s := limitedTo(c, 2)
			held, _ := grantOf(s, claiming(2, 0, 0))
			return plan{c, [][]func(){
				{func() { must(c.Remove(c.machine(0, 0))) }},
				{func() { must(s.Commit(claiming(1, 0, 1))) }},
				{func() { must(0, s.Release(held)) }},
			}}
		}},
		"an exchange to and fro": {3, func() plan {
			c := newCell(1, 2)
			s := limitedTo(c, 2)
			held, _ := grantOf(s, claiming(1, 0, 0))
			other, _ := grantOf(s, claiming(1, 1, 0)) // so that both precedences are known
			must(0, s.Release(other))
			return plan{c, [][]func(){{func() {
				for _, p := range []Precedence{1, 0} {
					tx := &Txn{}
					tx.Exchange([]AllocationID{held}, Claim{Machine: c.machine(0, 0), Need: resources.Vector{1}, Precedence: p})
					held, _ = grantOf(s, tx)
				}
			}}}}
		}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) { watched(t, tt.preemptions, tt.build, nothing) })
	}
}

func mayBeSuperseded(_ int, err error) {
	if err != nil && !errors.Is(err, ErrSuperseded) {
		panic(err)
	}
}

// A resized allocation is there once, with the one need or the other, whether or not it
// is released or preempted at the same time. Its room is not lost.
func TestExplore_ResizeAgainstReleaseAndPreemption(t *testing.T) {
	for _, gang := range []bool{false, true} {
		var s *Scheduler
		var a AllocationID
		var tx *Txn
		released, granted := false, false
		watched(t, 2, func() plan {
			c := newCell(2, 3)
			s = limitedTo(c, 3)
			high := must(c.Register("high", Limits{Highest: 2}))
			a, _ = grantOf(s, claiming(1, 0, 0))
			tx = &Txn{Gang: gang}
			tx.Resize(a, resources.Vector{2})
			if gang {
				tx.Claim(Claim{Machine: c.machine(1, 0), Need: resources.Vector{1}})
			}
			released, granted = false, false
			return plan{c, [][]func(){
				{func() { must(s.Commit(tx)) }},
				{func() {
					err := s.Release(a)
					if released = err == nil; !released && !errors.Is(err, ErrReleased) {
						panic(err)
					}
				}},
				{func() { _, granted = grantOf(high, takingFrom(3, 1, a)) }},
			}}
		}, func() error {
			id, resized := tx.Allocation(0)
			switch {
			case s.cell.holds(a):
				return errors.New("what was released or resized is there still")
			case !resized && !released:
				return errors.New("neither resized nor released")
			case resized && granted || resized != s.cell.holds(id):
				return fmt.Errorf("resized: %t, preempted: %t", resized, granted)
			}
			return nil
		})
	}
}

// Of two schedulers that preempt the same victim one does, and its owner is told once.
func TestExplore_TwoPreemptorsOfOneVictim(t *testing.T) {
	for _, gang := range []bool{false, true} {
		granted := [2]bool{}
		var low *Scheduler
		var victims [2]AllocationID
		var c *Cell
		watched(t, 2, func() plan {
			c = newCell(2, 1)
			low = must(c.Register("low", Limits{}))
			for m := range victims {
				victims[m], _ = grantOf(low, claiming(1, 0, uint32(m)))
			}
			p := plan{cell: c}
			for i, name := range []string{"a", "b"} {
				s := must(c.Register(name, Limits{Highest: 1}))
				p.threads = append(p.threads, []func(){func() {
					tx := takingFrom(1, 1, victims[0])
					if tx.Gang = gang; gang {
						tx.Claim(Claim{Machine: c.machine(1, 0), Need: resources.Vector{1}, Precedence: 1, Victims: victims[1:]})
					}
					_, granted[i] = grantOf(s, tx)
				}})
			}
			return p
		}, func() error {
			marks := 0
			for m := range low.Marked() {
				marks++
				if by := map[string]bool{"a": granted[0], "b": granted[1]}; !by[m.By] {
					return fmt.Errorf("marked by %q", m.By)
				}
			}
			want := 1
			if gang {
				want = 2
			}
			if granted[0] == granted[1] || marks != want {
				return fmt.Errorf("granted %v, %d marks", granted, marks)
			}
			return nil
		})
	}
}

// Marks that several preemptors leave with one owner at the same time are all there until
// they are released. It does not matter whether the owner reads them meanwhile.
func TestExplore_MarksOfOneOwner(t *testing.T) {
	exploreAll(t, 3, func(r *explore.Run) {
		c := newCell(2, 1)
		low := must(c.Register("low", Limits{}))
		var victims [2]AllocationID
		for m := range victims {
			victims[m], _ = grantOf(low, claiming(1, 0, uint32(m)))
		}
		left := Mark{Fate: Preempted, By: "a", Until: time.Unix(61, 0)}
		for m, id := range victims {
			s := must(c.Register(fmt.Sprint(m), Limits{Highest: 1}))
			r.Go(s.Name(), func() {
				tx := &Txn{Now: time.Unix(1, 0), Grace: time.Minute}
				tx.Claim(Claim{Machine: c.machine(uint32(m), 0), Need: resources.Vector{1}, Precedence: 1, Victims: []AllocationID{id}})
				must(s.Commit(tx))
			})
		}
		released := 0
		r.Go("low", func() {
			for m := range low.Marked() {
				if !m.Until.Equal(left.Until) || m.Fate != left.Fate {
					panic(fmt.Sprintf("%+v", m))
				}
				must(0, low.Release(m.Allocation.ID))
				released++
			}
		})
		r.Check(func() error {
			marks := 0
			for range low.Marked() {
				marks++
			}
			if marks+released != len(victims) {
				return fmt.Errorf("%d marks, %d released", marks, released)
			}
			return exact(c)
		})
	})
}

// Of jobs that begin at the same time no more are admitted than the limit allows, and
// each job that ends makes room for one.
func TestExplore_JobsAgainstTheirLimit(t *testing.T) {
	exploreAll(t, 3, func(r *explore.Run) {
		s := must(newCell(1, 1).Register("s", Limits{Jobs: 1}))
		admitted, most := 0, 0
		for i := range 3 {
			r.Go(fmt.Sprint(i), func() {
				if s.BeginJob() == nil {
					admitted++
					most = max(most, admitted)
					admitted--
					must(0, s.EndJob())
				}
			})
		}
		r.Check(func() error {
			if n := s.owner.jobs.Load().count(); most != 1 || n != 0 || s.EndJob() == nil {
				return fmt.Errorf("%d at a time, %d are left", most, n)
			}
			return nil
		})
	})
}
