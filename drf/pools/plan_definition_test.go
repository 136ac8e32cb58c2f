package pools_test

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/cellsched/cellsched/drf/allot"
)

// Kueue #3779, #7101 and #14543: users that preempt each other for ever. Jobs ask
// in any order: each step leads further up, none ends below its share, and fair
// shares stay.
func TestPreempt_NeverGoesInCircles(t *testing.T) {
	preempted := 0
	for range 10 { // few draws may have none
		rapid.Check(t, func(t *rapid.T) {
			w := woods().Draw(t, "wood")
			rng := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 1))
			first := w.standings()
			for moved := true; moved; {
				moved = false
				type turn struct{ job, task int }
				var turns []turn
				for j := range w.waiting {
					for n := range w.waiting[j] {
						turns = append(turns, turn{j, n})
					}
				}
				rng.Shuffle(len(turns), func(i, j int) { turns[i], turns[j] = turns[j], turns[i] })
				for _, next := range turns {
					demand := w.waiting[next.job][next.task]
					p := w.ask(t, next.job, demand)
					if p.Verdict != allot.Yields && p.Verdict != fitsAlready {
						continue
					}
					before := w.heights(w.standings())
					if p.Verdict == allot.Yields {
						w.check(t, p, next.job, demand)
						preempted++
					}
					w.carryOut(p, next.job, next.task)
					now := w.standings()
					for i := range now {
						require.Equal(t, first[i].Wants, now[i].Wants)
						require.Equal(t, first[i].Fair, now[i].Fair)
					}
					d := slices.Compare(w.heights(now), before)
					require.True(t, d > 0 || d == 0 && p.Verdict == fitsAlready, "%v: heights went from %v to %v", p, before, w.heights(now))
					moved = true
					break
				}
			}
		})
		if preempted > 0 {
			break
		}
	}
	require.NotZero(t, preempted)
}

// Each of three has all of one kind for its own, and tasks with a kind of one of
// the others. They would take from each other in a circle if scarce kinds were not
// protected.
func TestPreempt_DoesNotGoRound(t *testing.T) {
	w := plant(t, -1, 0, 0, 0)
	w.machines(vec{1, 2, 2})
	w.trees[1].low, w.waiting[1] = vec{0, 0, 2}, []vec{{1, 0, 1}, {1, 0, 1}}
	w.trees[2].low, w.waiting[2] = vec{1}, []vec{{1, 2}}
	w.trees[3].low, w.waiting[3] = vec{0, 2}, []vec{{0, 2, 2}}
	rest := 0
	for step := 0; rest < 3; step++ {
		require.Less(t, step, 20, "it goes on and on: %v", w.running)
		job := []int{3, 1, 2}[step%3]
		rest++
		if len(w.waiting[job]) == 0 {
			continue
		}
		if p := w.ask(t, job, w.waiting[job][0]); p.Verdict == allot.Yields || p.Verdict == fitsAlready {
			w.carryOut(p, job, 0)
			rest = 0
		}
	}
}

func TestPreempt_AgreesWithTheDefinition(t *testing.T) {
	verdicts := make(map[allot.Verdict]int)
	for range 10 { // few draws may have none
		rapid.Check(t, func(t *rapid.T) {
			w := woods().Draw(t, "wood")
			job := rapid.IntRange(0, len(w.trees)-1).Draw(t, "job")
			if len(w.waiting[job]) == 0 {
				t.Skip("wants nothing")
			}
			demand := w.waiting[job][0]
			s, free, running := w.standings(), slices.Clone(w.free), slices.Clone(w.running)
			got, err := preempt(s, w.trees[job].node, demand, free, running)
			require.NoError(t, err)
			require.Equal(t, w.standings(), s)
			require.Equal(t, w.free, free)
			require.Equal(t, w.running, running)
			verdicts[got.Verdict]++

			if m := slices.IndexFunc(w.free, demand.Fits); m >= 0 {
				require.Equal(t, plan{Verdict: fitsAlready, Machine: m}, got)
				return
			}
			// must is the number of tasks where a plan of that size has to be
			// found: one, or all with some of a missing kind.
			must, some := 0, false
			for m := range w.free {
				var useful []int
				for i, r := range w.running {
					for k := range demand {
						if r.Machine == m && demand[k] > w.free[m][k] && r.Need[k] > 0 && !slices.Contains(useful, i) && w.fair(s, job, demand, m, []int{i}) {
							useful = append(useful, i)
						}
					}
				}
				for mask := 1; mask < 1<<min(len(useful), 10); mask++ {
					var set []int
					for b, i := range useful {
						if mask>>b&1 == 1 {
							set = append(set, i)
						}
					}
					if w.fits(demand, m, set) && w.fair(s, job, demand, m, set) {
						some = true
						if len(set) == 1 || len(set) == len(useful) && must == 0 {
							must = len(set)
						}
					}
				}
			}
			if got.Verdict != allot.Yields {
				require.Zero(t, must, "%v", got.Verdict)
				require.Empty(t, got.Tasks)
				require.Zero(t, got.Machine)
				return
			}
			require.True(t, some)
			w.check(t, got, job, demand)
		})
		if verdicts[allot.Yields] > 0 {
			break
		}
	}
	require.NotZero(t, verdicts[allot.Yields]) // each of the others is in the table below, too
}
