package delay_test

import (
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

		r := reference{waits: p.Waits, paper: p.Paper}
		var (
			s       slots
			skips   int
			now     = start
			passed  int // offers since the last launch
			allowed locality.Level
			called  bool
			taken   = true // by another job, or there was no offer to take
		)
		tick := func(t *rapid.T) time.Duration {
			step := time.Duration(rapid.IntRange(0, 4000).Draw(t, "ms")) * time.Millisecond
			now = now.Add(step)
			if !called { // before its first call a job knows no time
				called = true
				return 0
			}
			r.tick(step)
			return step
		}
		t.Repeat(map[string]func(*rapid.T){
			"offer": func(t *rapid.T) {
				offered := rapid.OneOf(rapid.IntRange(0, 3), rapid.IntRange(0, 255)).Draw(t, "level")
				marked := r.skipped
				s.pass(tick(t), total)
				want := r.takes(offered)
				if p.Skips > 0 {
					want = r.starved || offered <= r.nearest || r.nearest >= len(p.Waits) || skips >= p.Skips
				}
				was := job.Allowed(now)
				got, err := job.Offer(now, locality.Level(offered))
				require.NoError(t, err)
				require.Equal(t, want, got.Launch)
				require.Equal(t, want, locality.Level(offered) <= was, "Allowed says what Offer does")
				if want {
					require.EqualValues(t, offered, got.Level)
					if offered <= r.nearest || r.nearest >= len(p.Waits) {
						skips = 0
					}
					if p.Skips == 0 {
						r.launch(offered, marked, &s)
					}
					passed, taken, allowed = 0, true, 0
					return
				}
				taken = false
				s.idle++
				require.Equal(t, was, got.Level)
				require.Greater(t, offered, r.nearest, "an offer as near as any is always taken")
				r.skipped = true
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
					s.idle--
					s.taken++
					taken = true
				}
			},
			"told": func(t *rapid.T) {
				tasks := rapid.IntRange(-1, 9).Draw(t, "tasks")
				job.SetPending(tasks)
				r.told = max(r.told, tasks, 1)
			},
			"nearest": func(t *rapid.T) {
				r.nearest = rapid.OneOf(rapid.IntRange(0, 3), rapid.Just(255)).Draw(t, "nearest")
				job.SetNearest(locality.Level(r.nearest))
				allowed = 0
			},
			"empty": func(t *rapid.T) {
				levels := rapid.SliceOfN(rapid.OneOf(rapid.IntRange(0, 3), rapid.IntRange(0, 255)), 0, 3).Draw(t, "empty")
				clear(r.empty[:])
				told := make([]locality.Level, len(levels))
				for i, l := range levels {
					r.empty[l], told[i] = true, locality.Level(l)
				}
				job.SetEmpty(told...)
				allowed = 0
			},
			"starved": func(t *rapid.T) {
				r.starved = rapid.Bool().Draw(t, "starved")
				job.SetStarved(r.starved)
				allowed = 0
			},
			"": func(t *rapid.T) {
				require.Equal(t, skips, job.Skips())
				require.LessOrEqual(t, job.Skips(), p.Skips)
				require.Equal(t, r.wait, job.Waited(now))
				if p.Skips == 0 {
					require.Equal(t, r.allowed(), job.Allowed(now))
				}

				// Levels only open until a launch ends the wait, or the job changes.
				require.GreaterOrEqual(t, job.Allowed(now), allowed)
				allowed = job.Allowed(now)

				// No job waits for ever: D offers, or the waits together.
				if p == (delay.Policy{}) {
					require.Zero(t, passed)
				}
				if p.Skips > 0 {
					require.LessOrEqual(t, passed, p.Skips)
				} else if r.skipped {
					require.EqualValues(t, 255, job.Allowed(now.Add(total)))
				}

				if relax, ok := job.NextRelax(now); ok {
					require.True(t, relax.After(now))
					require.Equal(t, allowed, job.Allowed(relax.Add(-1)), "not a moment before")
					require.Greater(t, job.Allowed(relax), allowed)
				} else if p.Skips == 0 && r.skipped {
					require.EqualValues(t, 255, allowed)
				}
			},
		})
	})
}
