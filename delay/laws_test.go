package delay_test

import (
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/cellsched/cellsched/delay"
	"github.com/cellsched/cellsched/locality"
)

// The laws of either rule, whatever is offered and when.
func TestJob_KeepsItsLaws(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var p delay.Policy
		if rapid.Bool().Draw(t, "counts") {
			p.Skips = rapid.IntRange(0, 5).Draw(t, "skips")
		} else {
			for l := range rapid.IntRange(0, len(p.Waits)).Draw(t, "levels") {
				p.Waits[l] = time.Duration(rapid.IntRange(0, 6).Draw(t, "wait")) * time.Second
			}
		}
		p.Paper = rapid.Bool().Draw(t, "paper")
		total := time.Duration(0)
		for _, wait := range p.Waits {
			total += wait
		}
		job, err := delay.New(p)
		require.NoError(t, err)

		// The model of Algorithm 3 in the paper's own variables, and of
		// Algorithm 2 in its one.
		var (
			level   int
			wait    time.Duration
			skipped bool
			skips   int
			now     = start
			passed  int // offers since the last launch
			allowed locality.Level

			nearest int
			empty   [256]bool
			starved bool
			since   = []int{0} // the last launch, if none was to be waited for, and idle nodes since
			taken   = true     // whoever could take the last one has
		)
		tick := func(t *rapid.T) {
			step := time.Duration(rapid.IntRange(0, 4000).Draw(t, "ms")) * time.Millisecond
			now = now.Add(step)
			if skipped {
				wait += step
			}
			skipped = false
		}
		takes := func(offered int) bool {
			if starved || offered <= nearest || nearest >= len(p.Waits) {
				return true
			}
			if p.Skips > 0 {
				return skips >= p.Skips
			}
			need := time.Duration(0)
			for l := max(level, nearest); l < min(offered, len(p.Waits)); l++ {
				if !empty[l] {
					need += p.Waits[l]
				}
			}
			return wait >= need
		}

		t.Repeat(map[string]func(*rapid.T){
			"offer": func(t *rapid.T) {
				offered := rapid.OneOf(rapid.IntRange(0, 3), rapid.IntRange(0, 255)).Draw(t, "level")
				marked := skipped
				tick(t)
				want := takes(offered)
				was := job.Allowed(now)
				got, err := job.Offer(now, locality.Level(offered))
				require.NoError(t, err)
				require.Equal(t, want, got.Launch)
				require.Equal(t, want, locality.Level(offered) <= was, "Allowed says what Offer does")
				if want {
					require.EqualValues(t, offered, got.Level)
					if offered <= nearest || nearest >= len(p.Waits) {
						skips = 0
					}
					opens := offered > level && level < len(p.Waits)
					if p.Paper || p.Skips > 0 || opens || slices.Max(since) <= offered {
						level, wait = min(offered, len(p.Waits)), 0
						allowed = 0
					} else {
						skipped = marked
					}
					since, taken, passed = []int{offered}, true, 0
					if opens {
						since[0] = 0
					}
					return
				}
				since, taken = append(since, offered), false
				require.Equal(t, was, got.Level)
				require.Greater(t, offered, nearest, "an offer as near as any is always taken")
				skipped = true
				passed++
				if p.Skips > 0 {
					skips++
				}
			},
			"pause": func(t *rapid.T) {
				tick(t)
				require.NoError(t, job.Pause(now))
			},
			"taken": func(*rapid.T) {
				job.Taken()
				if !taken {
					since, taken = since[:len(since)-1], true
				}
			},
			"nearest": func(t *rapid.T) {
				nearest = rapid.OneOf(rapid.IntRange(0, 3), rapid.Just(255)).Draw(t, "nearest")
				job.SetNearest(locality.Level(nearest))
				allowed = 0
			},
			"empty": func(t *rapid.T) {
				levels := rapid.SliceOfN(rapid.OneOf(rapid.IntRange(0, 3), rapid.IntRange(0, 255)), 0, 3).Draw(t, "empty")
				clear(empty[:])
				told := make([]locality.Level, len(levels))
				for i, l := range levels {
					empty[l], told[i] = true, locality.Level(l)
				}
				job.SetEmpty(told...)
				allowed = 0
			},
			"starved": func(t *rapid.T) {
				starved = rapid.Bool().Draw(t, "starved")
				job.SetStarved(starved)
				allowed = 0
			},
			"": func(t *rapid.T) {
				require.Equal(t, skips, job.Skips())
				require.LessOrEqual(t, job.Skips(), p.Skips)
				require.Equal(t, wait, job.Waited(now))

				if starved || nearest >= len(p.Waits) {
					require.EqualValues(t, 255, job.Allowed(now))
				}

				// Levels only open until a launch ends the wait, or the job changes.
				require.GreaterOrEqual(t, job.Allowed(now), allowed)
				allowed = job.Allowed(now)

				// Nobody waits for ever: D offers, or the waits together.
				if p == (delay.Policy{}) {
					require.Zero(t, passed)
				}
				if p.Skips > 0 {
					require.LessOrEqual(t, passed, p.Skips)
				} else if skipped {
					require.EqualValues(t, 255, job.Allowed(now.Add(total)))
				}

				if relax, ok := job.NextRelax(now); ok {
					require.True(t, relax.After(now))
					require.Equal(t, allowed, job.Allowed(relax.Add(-1)), "not a moment before")
					require.Greater(t, job.Allowed(relax), allowed)
				} else if p.Skips == 0 && skipped {
					require.EqualValues(t, 255, allowed)
				}
			},
		})
	})
}
