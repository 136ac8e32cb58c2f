//go:build explore

package explore_test

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/cellsched/cellsched/drf"
	"github.com/cellsched/cellsched/drf/gate"
	"github.com/cellsched/cellsched/omega/internal/atomics"
	"github.com/cellsched/cellsched/omega/internal/explore"
	"github.com/cellsched/cellsched/resources"
)

// exploreGate runs a scenario with a gate over 100 units, in all schedules with
// so many preemptions.
func exploreGate(t *testing.T, seats, preemptions int, scenario func(*explore.Run, *gate.Gate, []*gate.Seat)) {
	t.Helper()
	if testing.Short() {
		preemptions = min(preemptions, 2)
	}
	gate.Explored = atomics.Do
	res, err := explore.Explore(explore.Config{Preemptions: preemptions}, func(r *explore.Run) {
		g := must(gate.New(resources.Vector{100}, patience))
		all := make([]*gate.Seat, seats)
		for i := range all {
			all[i] = must(g.Join(1))
		}
		scenario(r, g, all)
	})
	require.NoError(t, err)
	require.NotZero(t, res.Steps, "the gate's atomics are not explored")
	t.Logf("%d threads, %d preemptions: %d schedules, the longest of %d steps", res.Threads, preemptions, res.Runs, res.Steps)
}

const patience = time.Second

// must is for what cannot fail; the explorer reports it.
func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

// at is the time so many milliseconds after the beginning.
func at(ms int64) time.Time { return time.UnixMilli(1_000_000 + ms) }

func units(n int64) resources.Vector { return resources.Vector{n} }

func asks(s *gate.Seat, n int64, now time.Time) bool { return must(s.Ask(units(n), now)) }

// begins has a seat take something and go on waiting.
func begins(s *gate.Seat, n int64) {
	if !asks(s, n, at(0)) {
		panic("refused before the threads have begun")
	}
	s.Keep()
}

// rests has a seat that holds so much rest.
func rests(s *gate.Seat, n int64) {
	begins(s, n)
	s.Rest()
}

// parks has a seat miss a need of so much.
func parks(s *gate.Seat, n int64) {
	if !asks(s, n, at(0)) {
		panic("refused before the threads have begun")
	}
	must(s.Miss(units(n), at(0)))
}

// A seat that is told yes had no larger share than any other that waits. So its share
// is larger by at most one task of its own, and by one more of a seat that undoes its
// request.
func TestGate_SharesDriftByOneTask(t *testing.T) {
	tests := map[string]struct {
		tasks       []int64 // of each seat
		questions   int
		preemptions int
		undo        bool // the last seat undoes its tasks
	}{
		"two seats":                      {[]int64{1, 2}, 4, 3, false},
		"three seats":                    {[]int64{1, 1, 2}, 2, 3, false},
		"two seats of which one undoes":  {[]int64{1, 2}, 3, 3, true},
		"three seats, of which one does": {[]int64{1, 2, 2}, 2, 3, true},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			exploreGate(t, len(tt.tasks), tt.preemptions, func(r *explore.Run, _ *gate.Gate, seats []*gate.Seat) {
				holds := slices.Clone(tt.tasks)
				last := len(seats) - 1
				for i, s := range seats {
					asks(s, tt.tasks[i], at(0))
					s.Keep()
				}
				var drift error
				for i, s := range seats {
					r.Go(fmt.Sprint(i), func() {
						for range tt.questions {
							if !asks(s, tt.tasks[i], at(0)) {
								continue
							}
							for j, other := range holds {
								if tt.undo && j == last && j != i {
									other += tt.tasks[j]
								}
								if holds[i] > other {
									drift = fmt.Errorf("seat %d is told yes with %d, seat %d has %d", i, holds[i], j, other)
								}
							}
							if tt.undo && i == last {
								must(0, s.Undo(units(tt.tasks[i])))
							} else {
								holds[i] += tt.tasks[i]
								s.Keep()
							}
						}
					})
				}
				r.Check(func() error {
					if drift != nil {
						return drift
					}
					least := slices.Min(holds)
					for i, s := range seats {
						if got := s.Usage(); got != units(holds[i]) {
							return fmt.Errorf("seat %d is charged %v, and has %d", i, got, holds[i])
						}
						if yes := asks(s, tt.tasks[i], at(0)); yes != (holds[i] == least) {
							return fmt.Errorf("with %v the answer to seat %d is %t", holds, i, yes)
						} else if yes {
							must(0, s.Undo(units(tt.tasks[i])))
						}
					}
					return nil
				})
			})
		})
	}
}

// A seat that misses is woken by what is returned after it was told yes, and by
// nothing else.
func TestGate_NoWakeUpIsLost(t *testing.T) {
	exploreGate(t, 3, 3, func(r *explore.Run, _ *gate.Gate, seats []*gate.Seat) {
		rich, poor, other := seats[0], seats[1], seats[2]
		rests(other, 5)
		begins(rich, 5)
		var asked, begun, returned bool
		before, after := false, false // the return is before the answer, after it
		r.Go("poor", func() {
			before = returned
			asks(poor, 50, at(0))
			asked, after = true, !begun
			must(poor.Miss(units(50), at(0)))
		})
		r.Go("other", func() {
			begun = true
			must(0, other.Return(units(1)))
			returned = true
		})
		r.Go("rich", func() {
			if asks(rich, 1, at(0)) {
				must(0, rich.Undo(units(1)))
			}
		})
		r.Check(func() error {
			waits := !asks(rich, 1, at(0))
			if !asked || before && waits || after && !waits {
				return fmt.Errorf("returned before poor asked: %t, after its answer: %t; it waits: %t", before, after, waits)
			}
			return nil
		})
	})
}

// A seat that misses is woken by what is returned later, whether or not a seat
// leaves meanwhile that returns something late.
func TestGate_NoWakeUpIsLostWhereASeatLeaves(t *testing.T) {
	exploreGate(t, 3, 3, func(r *explore.Run, _ *gate.Gate, seats []*gate.Seat) {
		rich, poor, gone := seats[0], seats[1], seats[2]
		rests(gone, 5)
		begins(rich, 5)
		r.Go("poor", func() { parks(poor, 50) })
		r.Go("leave", func() { gone.Leave() })
		r.Go("return", func() {
			must(0, gone.Return(units(1)))
			must(0, gone.Return(units(1)))
		})
		r.Check(func() error {
			for n := range 3 {
				must(0, rich.Return(units(1)))
				if asks(rich, 1, at(0)) {
					return fmt.Errorf("poor sleeps through return %d", n+1)
				}
				parks(poor, 50)
			}
			return nil
		})
	})
}

// Passed counts what others have begun, even if one of them leaves meanwhile that keeps
// something late.
func TestGate_PassedIsNoMoreThanOthersKept(t *testing.T) {
	exploreGate(t, 2, 3, func(r *explore.Run, _ *gate.Gate, seats []*gate.Seat) {
		gone, poor := seats[0], seats[1]
		asks(gone, 5, at(0))
		asks(poor, 50, at(0))
		r.Go("keep", func() { gone.Keep() })
		r.Go("leave", func() { gone.Leave() })
		passed := 0
		r.Go("miss", func() {
			passed = must(poor.Miss(units(50), at(0)))
			asks(poor, 50, at(0))
			passed = max(passed, must(poor.Miss(units(50), at(0))))
		})
		r.Check(func() error {
			asks(poor, 50, at(0))
			if passed = max(passed, must(poor.Miss(units(50), at(0)))); passed > 1 {
				return fmt.Errorf("%d passed, of one task", passed)
			}
			return nil
		})
	})
}

// A seat that rests, and one that has left, holds back no other seat, whichever thread
// wakes it meanwhile.
func TestGate_RestAndLeaveAreNotUndone(t *testing.T) {
	for _, leaves := range []bool{false, true} {
		exploreGate(t, 3, 3, func(r *explore.Run, _ *gate.Gate, seats []*gate.Seat) {
			rich, poor, other := seats[0], seats[1], seats[2]
			rests(other, 5)
			begins(rich, 10)
			parks(poor, 50)
			must(0, other.Return(units(1)))
			r.Go("rich", func() {
				if asks(rich, 1, at(0)) {
					must(0, rich.Undo(units(1)))
				}
			})
			r.Go("poor", func() {
				if leaves {
					if yes, err := poor.Ask(units(2), at(0)); yes {
						must(0, poor.Return(units(2)))
					} else if err != nil && !errors.Is(err, drf.ErrUser) {
						panic(err)
					}
				} else {
					poor.Rest()
				}
			})
			if leaves {
				r.Go("leave", func() { poor.Leave() })
			}
			r.Check(func() error {
				if !asks(rich, 1, at(0)) {
					return errors.New("it holds others back")
				}
				yes, err := poor.Ask(units(1), at(0))
				if yes == leaves || errors.Is(err, drf.ErrUser) != leaves {
					return fmt.Errorf("leaves: %t, and then it is told %t, %w", leaves, yes, err)
				}
				return nil
			})
		})
	}
}

// A seat that has left stays so, whatever call it is in the middle of.
func TestGate_LeaveIsNotUndone(t *testing.T) {
	const asleep = "keeps what it was told while it is left parked"
	calls := map[string]func(s *gate.Seat){
		"rests": func(s *gate.Seat) { s.Rest() },
		"misses": func(s *gate.Seat) {
			if _, err := s.Miss(units(5), at(0)); err != nil && !errors.Is(err, drf.ErrUser) {
				panic(err)
			}
		},
		"asks": func(s *gate.Seat) {
			if _, err := s.Ask(units(1), at(0)); err != nil && !errors.Is(err, drf.ErrUser) {
				panic(err)
			}
		},
		asleep: func(s *gate.Seat) { s.Keep() },
	}
	for name, call := range calls {
		t.Run(name, func(t *testing.T) {
			exploreGate(t, 2, 3, func(r *explore.Run, _ *gate.Gate, seats []*gate.Seat) {
				other, gone := seats[0], seats[1]
				begins(other, 10)
				if name == asleep {
					for n := range int64(38) { // each time others were to wait for half a second
						asks(gone, 50, at(1000*n))
						must(gone.Miss(units(50), at(1000*n+500)))
					}
					asks(gone, 5, at(38_000))
				} else {
					asks(gone, 5, at(0))
				}
				r.Go("call", func() { call(gone) })
				r.Go("leave", func() { gone.Leave() })
				r.Check(func() error {
					if _, err := gone.Ask(units(1), at(0)); !errors.Is(err, drf.ErrUser) {
						return fmt.Errorf("it has left, and is told: %w", errors.Join(errors.New("not gone"), err))
					}
					if !asks(other, 1, at(0)) {
						return errors.New("it holds others back")
					}
					return nil
				})
			})
		})
	}
}

// A seat that stalls anywhere in a call holds others back for its patience, and
// no longer.
func TestGate_AStalledSeatIsWaitedForOnce(t *testing.T) {
	calls := map[string]func(s *gate.Seat){
		"asks": func(s *gate.Seat) { asks(s, 1, at(0)) },
		"misses": func(s *gate.Seat) {
			if asks(s, 50, at(0)) {
				must(s.Miss(units(50), at(0)))
			}
		},
		"undoes": func(s *gate.Seat) {
			if asks(s, 1, at(0)) {
				must(0, s.Undo(units(1)))
			}
		},
		"leaves": func(s *gate.Seat) { s.Leave() },
	}
	for name, call := range calls {
		t.Run(name, func(t *testing.T) {
			exploreGate(t, 3, 2, func(r *explore.Run, _ *gate.Gate, seats []*gate.Seat) {
				rich, stalled, other := seats[0], seats[1], seats[2]
				rests(other, 5)
				begins(rich, 10)
				parks(stalled, 50)
				must(0, other.Return(units(1)))
				r.Go("stalled", func() { call(stalled) })
				told := false
				r.Go("rich", func() {
					for n := range int64(3) {
						told = told || asks(rich, 1, at(n*(patience.Milliseconds()+1)))
					}
				})
				r.Check(func() error {
					if !told {
						return errors.New("refused for longer than the patience, and once more")
					}
					return nil
				})
			})
		})
	}
}

// What is returned at once by several is taken off once each, and what is more
// than the seat has is refused and changes nothing.
func TestGate_ReturnsAddUp(t *testing.T) {
	exploreGate(t, 1, 3, func(r *explore.Run, g *gate.Gate, seats []*gate.Seat) {
		must(0, g.SetTotal(resources.Vector{100, 100}))
		s := seats[0]
		must(s.Ask(resources.Vector{3, 3}, at(0)))
		for i, v := range []resources.Vector{{2, 1}, {1, 2}} {
			r.Go(fmt.Sprint(i), func() { must(0, s.Return(v)) })
		}
		r.Go("too much", func() {
			if err := s.Return(resources.Vector{2, 4}); !errors.Is(err, drf.ErrHeld) {
				panic(err)
			}
		})
		r.Check(func() error {
			if left := s.Usage(); left != (resources.Vector{}) {
				return fmt.Errorf("%v is left", left)
			}
			return nil
		})
	})
}
