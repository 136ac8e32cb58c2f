//go:build explore

package omega

import (
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/cellsched/cellsched/omega/internal/explore"
)

// Once a scheduler was replaced nothing is granted to its deputies any more, alone or as
// a gang. Earlier grants stay.
func TestExplore_ReplacementAgainstADeputysClaim(t *testing.T) {
	for _, gang := range []bool{false, true} {
		exploreAll(t, 3, func(r *explore.Run) {
			st := newStage(r, 2)
			d := must(st.register("chief").Deputy("d", Limits{}))
			tx := one(0)
			if tx.Gang = gang; gang {
				tx.Claim(Claim{Machine: st.cell.machine(1, 0), Need: tx.items[0].claim.Need})
			}
			granted := 0
			var err error
			r.Go("claim", func() { granted, err = d.Commit(tx) })
			var then []Allocation
			r.Go("replace", func() {
				must(st.cell.Replace("chief"))
				then = slices.Collect(st.cell.Allocations())
			})
			r.Check(func() error {
				now := slices.Collect(st.cell.Allocations())
				switch {
				case !slices.Equal(then, now):
					return fmt.Errorf("%v when it was replaced, %v now", then, now)
				case granted != len(now) || granted > 0 && granted < tx.Len():
					return fmt.Errorf("%d granted of %d, %v in the cell", granted, tx.Len(), now)
				case granted == 0 && err == nil && !errors.Is(tx.Err(0), ErrSuperseded), err != nil && !errors.Is(err, ErrSuperseded):
					return fmt.Errorf("refused with %w, %w", err, tx.Err(0))
				case d.Usage() != tx.items[0].claim.Need.Scale(int64(granted)):
					return fmt.Errorf("%d granted, charged %v", granted, d.Usage())
				}
				return st.sound(len(st.cell.liveIn(load(st.cell.words.at(0)))))
			})
		})
	}
}

// Once a scheduler was replaced, neither it nor its deputy begins or ends a job.
func TestExplore_ReplacementAgainstJobs(t *testing.T) {
	for _, deputy := range []bool{false, true} {
		for _, end := range []bool{false, true} {
			exploreAll(t, 3, func(r *explore.Run) {
				st := newStage(r, 1)
				s := st.register("chief")
				if deputy {
					s = must(s.Deputy("d", Limits{}))
				}
				must(0, s.BeginJob())
				change := s.BeginJob
				if end {
					change = s.EndJob
				}
				var err error
				r.Go("job", func() { err = change() })
				var then int64
				r.Go("replace", func() {
					must(st.cell.Replace("chief"))
					then = s.owner.jobs.Load().count()
				})
				r.Check(func() error {
					switch now := s.owner.jobs.Load().count(); {
					case now != then:
						return fmt.Errorf("%d jobs when it was replaced, %d now", then, now)
					case err == nil && now == 1, err != nil && now != 1, err != nil && !errors.Is(err, ErrSuperseded):
						return fmt.Errorf("%w, and %d jobs", err, now)
					}
					return nil
				})
			})
		}
	}
}

// A scheduler that is being replaced takes no deputy from its successor.
func TestExplore_ReplacementAgainstDeputy(t *testing.T) {
	exploreAll(t, 3, func(r *explore.Run) {
		st := newStage(r, 1)
		chief := st.register("chief")
		r.Go("old", func() {
			if _, err := chief.Deputy("d", Limits{}); err != nil && !errors.Is(err, ErrSuperseded) {
				panic(err)
			}
		})
		granted := false
		r.Go("successor", func() {
			d := must(must(st.cell.Replace("chief")).Deputy("d", Limits{}))
			_, granted = grantOf(d, one(0))
		})
		r.Check(func() error {
			if !granted {
				return errors.New("the successor's deputy is superseded")
			}
			return st.sound(1)
		})
	})
}

// No scheduler leaves before its allocation was released, whether or not it was preempted
// meanwhile, and a scheduler that has left is charged nothing.
func TestExplore_LeaveAgainstReleaseAndPreemption(t *testing.T) {
	exploreAll(t, 2, func(r *explore.Run) {
		st := newStage(r, 1)
		low, high := st.register("low"), must(st.cell.Register("high", Limits{Highest: 1}))
		victim, _ := grantOf(low, one(0))
		released := make(chan struct{}, 1) // the explorer runs one thread at a time
		var early, late error
		r.Go("leave", func() {
			early = low.Leave()
			if early == nil && len(released) == 0 && st.cell.holds(victim) {
				panic("it holds what it has left")
			}
		})
		r.Go("release", func() {
			if err := low.Release(victim); err != nil {
				panic(err)
			}
			released <- struct{}{}
			if late = low.Leave(); errors.Is(late, ErrBusy) {
				late = nil // the other one is about to
			}
		})
		preempted := false
		r.Go("preempt", func() { _, preempted = grantOf(high, one(1, victim)) })
		r.Check(func() error {
			if err := low.Leave(); !errors.Is(err, ErrLeft) && err != nil {
				return err
			}
			if late != nil && !errors.Is(late, ErrLeft) {
				return fmt.Errorf("%w after all was released", late)
			}
			live := 0
			if preempted {
				live = 1
			}
			switch used := must(st.cell.Usage(0)); {
			case st.cell.owners["low"] != nil:
				return errors.New("it is there still")
			case used[0] != int64(live):
				return fmt.Errorf("%d live, %v charged", live, used)
			}
			return st.sound(live)
		})
	})
}
