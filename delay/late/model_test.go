package late_test

import (
	"math"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/cellsched/cellsched/delay/late"
	"github.com/cellsched/cellsched/locality"
)

// modelTask is a task as the paper has it: rate and end are worked out anew
// whenever they are needed.
type modelTask struct {
	id          late.Attempt
	node        locality.Node
	start, last int // seconds
	progress    float64
	copied      bool
	twin        late.Attempt
}

func (m *modelTask) rate() float64 { return m.progress / max(1e-9, float64(m.last-m.start)) }

func (m *modelTask) end() float64 {
	if m.progress == 0 {
		return 1e9 - float64(m.start) // later than any other here; of several, the oldest last
	}
	return float64(m.start) + max(1e-9, float64(m.last-m.start))/m.progress
}

// slow returns a predicate of slow tasks at that time, for sure or perhaps: rates
// within 1/64 are equal, and averages are of rounded numbers. Other rules are
// tested elsewhere.
func slow(rule late.Rule, tasks []*modelTask, finished []float64, now int) func(*modelTask) (surely, perhaps bool) {
	rates, progress := slices.Clone(finished), float64(len(finished))
	for _, m := range tasks {
		progress += m.progress
		if now-m.start >= 60 {
			rates = append(rates, m.rate())
		}
	}
	slices.Sort(rates)
	return func(m *modelTask) (surely, perhaps bool) {
		switch rule {
		case late.LATE:
			threshold := rates[max(1, int(math.Ceil(0.25*float64(len(rates)))))-1]
			return m.rate() < threshold*(1-1.0/32), m.rate() < threshold
		case late.Hadoop:
			most := progress/float64(len(tasks)+len(finished)) - 0.2
			return m.progress < most-1e-6, m.progress < most+1e-6
		default:
			return false, true
		}
	}
}

// Whatever happens, the choice is one that the rule makes, and the cap holds.
func TestJob_ChoosesAsTheRuleSays(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		const nodes, slots = 4, 30
		b, err := late.NewBook(late.Config{Nodes: nodes, Slots: slots})
		require.NoError(t, err)
		rule := rapid.SampledFrom([]late.Rule{late.LATE, late.Hadoop, late.MapReduce2, late.Spark}).Draw(t, "rule")
		job, err := late.New(late.Policy{Rule: rule, SlowNode: late.None, Cap: 0.1, Quantile: 0.1}, 50, b)
		require.NoError(t, err)
		minAge := 60
		if rule == late.Spark {
			minAge = 1 // 100 ms, but the model counts seconds
		}
		var tasks []*modelTask
		var finished []float64
		now, copies := 0, 0
		node := rapid.Custom(func(t *rapid.T) locality.Node { return locality.Node(rapid.IntRange(0, nodes-1).Draw(t, "node")) })
		some := func(t *rapid.T) *modelTask {
			if len(tasks) == 0 {
				t.Skip("nothing runs")
			}
			now += rapid.IntRange(0, 40).Draw(t, "seconds")
			return rapid.SampledFrom(tasks).Draw(t, "task")
		}
		gone := func(m *modelTask) {
			tasks = slices.DeleteFunc(tasks, func(o *modelTask) bool { return o == m })
			if m.copied {
				copies--
			}
		}
		var losers []late.Attempt
		t.Repeat(map[string]func(*rapid.T){
			"start": func(t *rapid.T) {
				n := node.Draw(t, "node")
				id, err := job.Start(at(float64(now)), n)
				require.NoError(t, err)
				tasks = append(tasks, &modelTask{id: id, node: n, start: now, last: now})
			},
			"report": func(t *rapid.T) {
				m := some(t)
				part := float64(rapid.IntRange(0, 1000).Draw(t, "of the rest")) / 1000
				m.progress = min(1, m.progress+(1-m.progress)*part) // rounded, the sum may be more
				m.last = now
				require.NoError(t, job.Report(at(float64(now)), m.id, m.progress))
			},
			"report of a copy": func(t *rapid.T) {
				m := some(t)
				if m.copied {
					require.NoError(t, job.Report(at(float64(now)), m.twin, rapid.Float64Range(0, 1).Draw(t, "progress")))
					gone(m) // the model follows copies no further
					loser, _, err := job.Finish(at(float64(now)), m.id)
					require.NoError(t, err)
					_, _, err = job.Fail(at(float64(now)), loser)
					require.NoError(t, err)
					finished = append(finished, 1/max(1e-9, float64(now-m.start)))
				}
			},
			"finish": func(t *rapid.T) {
				m := some(t)
				loser, raced, err := job.Finish(at(float64(now)), m.id)
				require.NoError(t, err)
				require.Equal(t, m.copied, raced)
				require.Equal(t, m.twin, loser)
				gone(m)
				if raced {
					losers = append(losers, loser)
					copies++ // it runs until it is said to have ended
				}
				finished = append(finished, 1/max(1e-9, float64(now-m.start)))
			},
			"end a loser": func(t *rapid.T) {
				if len(losers) == 0 {
					t.Skip("none")
				}
				i := rapid.IntRange(0, len(losers)-1).Draw(t, "loser")
				require.ErrorIs(t, job.Report(at(float64(now)), losers[i], 1), late.ErrAttempt)
				for range 2 {
					_, _, err := job.Finish(at(float64(now)), losers[i])
					require.ErrorIs(t, err, late.ErrAttempt)
				}
				_, ok, err := job.Fail(at(float64(now)), losers[i])
				require.NoError(t, err)
				require.False(t, ok)
				_, _, err = job.Fail(at(float64(now)), losers[i])
				require.ErrorIs(t, err, late.ErrAttempt)
				losers = slices.Delete(losers, i, i+1)
				copies--
			},
			"fail": func(t *rapid.T) {
				m := some(t)
				id := m.id
				if m.copied {
					id = m.twin
				}
				survivor, ok, err := job.Fail(at(float64(now)), id)
				require.NoError(t, err)
				require.Equal(t, m.copied, ok)
				if ok {
					require.Equal(t, m.id, survivor)
					m.copied, m.twin = false, late.Attempt{}
					copies--
					return
				}
				gone(m)
			},
			"pick": func(t *rapid.T) {
				now += rapid.IntRange(0, 40).Draw(t, "seconds")
				n := node.Draw(t, "node")
				choice, err := job.Pick(at(float64(now)), n)
				require.NoError(t, err)
				if choice.Why == late.AtCap {
					require.Equal(t, slots/10, copies)
					return
				}
				judge := slow(rule, tasks, finished, now)
				var chosen *modelTask
				latest := -1.0 // of those that are slow for sure
				for _, m := range tasks {
					if m.copied || m.node == n || now-m.start < minAge {
						continue
					}
					surely, perhaps := judge(m)
					if surely {
						latest = max(latest, m.end())
					}
					if m.id == choice.Of && perhaps {
						chosen = m
					}
				}
				if choice.Why != late.Chosen {
					require.Negative(t, latest, "%v", choice.Why)
					return
				}
				require.NotNil(t, chosen, "has a copy, is young, runs on the node, or is not slow")
				if rule == late.LATE {
					require.GreaterOrEqual(t, chosen.end(), latest*(1-1e-9))
				}
				chosen.twin, err = job.Copy(at(float64(now)), choice.Of, n)
				require.NoError(t, err)
				chosen.copied = true
				copies++
			},
			"": func(t *rapid.T) {
				require.Equal(t, copies, b.Copies())
				require.LessOrEqual(t, copies, slots/10)
			},
		})
	})
}
