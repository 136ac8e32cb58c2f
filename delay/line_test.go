package delay_test

import (
	"fmt"
	"iter"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/cellsched/cellsched/delay"
	"github.com/cellsched/cellsched/locality"
)

// upTo walks jobs in an order, with the level of each, and counts the steps.
func upTo(jobs []*delay.Job, order []int, levels []locality.Level, steps *int) iter.Seq2[*delay.Job, locality.Level] {
	return func(yield func(*delay.Job, locality.Level) bool) {
		for _, i := range order {
			*steps++
			if !yield(jobs[i], levels[i]) {
				return
			}
		}
	}
}

// In any order, with any jobs left out of it, jobs stand as if each had been told
// of each offer.
func TestLine_DecidesAsIfItToldEachJob(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := delay.Policy{Paper: rapid.Bool().Draw(t, "paper")}
		for l := range 2 {
			p.Waits[l] = time.Duration(rapid.IntRange(0, 6).Draw(t, "wait")) * time.Second
		}
		const n = 5
		var (
			line         delay.Line
			jobs, models []*delay.Job
			levels       = make([]locality.Level, n)
			now          = start
			last         = now
			references   = make([]reference, n)
			met          = make([]bool, n)
			cell         slots
			window       time.Duration
		)
		for i := range references {
			references[i] = reference{waits: p.Waits}
		}
		modelled := p
		if !p.Paper && rapid.Bool().Draw(t, "learns") {
			p.Learn, modelled.Learn = new(delay.Learner), new(delay.Learner)
			for range 8 {
				for level := range locality.Level(3) {
					ran(t, time.Duration(1+9*level)*time.Second, level, p.Learn, modelled.Learn)
				}
			}
		}
		byCost := !p.Paper && p.Learn == nil
		for range n {
			job, err := delay.New(p)
			require.NoError(t, err)
			model, err := delay.New(modelled)
			require.NoError(t, err)
			require.NoError(t, job.Pause(now))
			require.NoError(t, model.Pause(now)) // as one that the last offer did not reach
			jobs, models = append(jobs, &job), append(models, &model)
		}
		_, err := line.Offer(now, func(func(*delay.Job, locality.Level) bool) {})
		require.NoError(t, err)
		all := []int{0, 1, 2, 3, 4}
		for range rapid.IntRange(1, 40).Draw(t, "offers") {
			now = now.Add(time.Duration(rapid.IntRange(0, 3000).Draw(t, "ms")) * time.Millisecond)
			order := rapid.Permutation(all).Draw(t, "order")
			order = order[:rapid.IntRange(0, n).Draw(t, "pending")]
			for i := range levels {
				levels[i] = locality.Level(rapid.IntRange(0, 2).Draw(t, "level"))
			}

			want, walked, reached := -1, 0, make(map[int]bool)
			since := now.Sub(last)
			last = now
			cell.pass(since, window)
			marked := make([]bool, n)
			for _, i := range order {
				walked++
				reached[i] = true
				if byCost {
					window = p.Waits[0] + p.Waits[1]
					marked[i] = references[i].skipped
					if !met[i] {
						met[i], references[i].price = true, cell.price
					}
					references[i].tick(since)
					if !references[i].takes(int(levels[i])) {
						references[i].skipped = true
						continue
					}
					references[i].launch(int(levels[i]), marked[i], &cell)
					want = i
					break
				}
				got, err := models[i].Offer(now, levels[i])
				require.NoError(t, err)
				if got.Launch {
					want = i
					break
				}
			}
			switch {
			case want >= 0:
				cell.taken++
			case walked > 0:
				cell.idle++
			}
			for i, model := range models {
				if reached[i] {
					continue
				}
				goesOn := references[i].skipped && cell.many()
				references[i].tick(since)
				references[i].skipped = goesOn
				require.NoError(t, model.Pause(now))
			}

			steps := 0
			got, err := line.Offer(now, upTo(jobs, order, levels, &steps))
			require.NoError(t, err)
			require.Equal(t, walked, steps)
			require.Equal(t, modelled.Learn, p.Learn)
			if want < 0 {
				require.Nil(t, got)
			} else {
				require.Same(t, jobs[want], got)
			}
			for i, model := range models {
				later := now.Add(time.Second)
				if byCost {
					wait := references[i].wait
					if references[i].skipped {
						wait += time.Second
					}
					require.Equal(t, wait, jobs[i].Waited(later), "job %d", i)
					require.Equal(t, references[i].allowed(), jobs[i].Allowed(now), "job %d", i)
					continue
				}
				require.Equal(t, model.Waited(later), jobs[i].Waited(later), "job %d", i)
				require.Equal(t, model.Allowed(later), jobs[i].Allowed(later), "job %d", i)
			}
		}
	})
}

func TestLine_RefusesTimeThatGoesBackwards(t *testing.T) {
	var line delay.Line
	job, err := delay.New(delay.Policy{Waits: delay.Waits{5 * time.Second}})
	require.NoError(t, err)
	jobs, steps := []*delay.Job{&job}, 0
	order := upTo(jobs, []int{0}, []locality.Level{1}, &steps)
	_, err = line.Offer(at(3), order)
	require.NoError(t, err)
	before := job
	_, err = line.Offer(at(2), order)
	require.ErrorIs(t, err, delay.ErrTime)
	require.Equal(t, before, job)
	require.Equal(t, 1, steps)
}

func TestLine_RefusesAnOrderThatIsNone(t *testing.T) {
	for text, bad := range map[string]func(job, other *delay.Job) []*delay.Job{
		"a nil job in the order":   func(job, _ *delay.Job) []*delay.Job { return []*delay.Job{job, nil} },
		"a job twice in the order": func(job, other *delay.Job) []*delay.Job { return []*delay.Job{job, other, job} },
	} {
		t.Run(text, func(t *testing.T) {
			var line delay.Line
			jobs := make([]delay.Job, 2)
			for i := range jobs {
				job, err := delay.New(delay.Policy{Waits: delay.Waits{5 * time.Second}})
				require.NoError(t, err)
				jobs[i] = job
			}
			steps, far := 0, make([]locality.Level, 3)
			for i := range far {
				far[i] = 1
			}
			order := bad(&jobs[0], &jobs[1])
			got, err := line.Offer(at(1), upTo(order, []int{0, 1, 2}[:len(order)], far, &steps))
			require.ErrorContains(t, err, text)
			require.Nil(t, got)

			// No job is lost: the first one goes on as if passed over once.
			got, err = line.Offer(at(6), upTo(order[:1], []int{0}, far, &steps))
			require.NoError(t, err)
			require.Same(t, order[0], got)
		})
	}
}

// Two jobs are in the order of their shares: the one that runs less comes
// first. It waits for its data, and the node goes to the other.
func ExampleLine() {
	var line delay.Line
	jobs := make(map[string]*delay.Job)
	for _, name := range []string{"small", "large"} {
		job, err := delay.New(delay.Policy{Waits: delay.Waits{3 * time.Second}})
		if err != nil {
			panic(err)
		}
		jobs[name] = &job
	}
	byShare := func(yield func(*delay.Job, locality.Level) bool) {
		_ = yield(jobs["small"], 1) && yield(jobs["large"], 0)
	}
	begin := time.Date(2010, time.April, 13, 9, 0, 0, 0, time.UTC)
	for _, after := range []time.Duration{0, 2 * time.Second, 4 * time.Second} {
		job, err := line.Offer(begin.Add(after), byShare)
		if err != nil {
			panic(err)
		}
		for _, name := range []string{"small", "large"} {
			if job == jobs[name] {
				fmt.Println(after, name)
			}
		}
	}
	// Output:
	// 0s large
	// 2s large
	// 4s small
}
