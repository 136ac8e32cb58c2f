package late_test

import (
	"fmt"
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/cellsched/cellsched/delay/late"
	"github.com/cellsched/cellsched/locality"
)

var zero = time.Date(2008, time.December, 8, 9, 0, 0, 0, time.UTC)

func at(seconds float64) time.Time {
	return zero.Add(time.Duration(seconds * float64(time.Second)))
}

func book(t testing.TB, nodes, slots int) *late.Book {
	t.Helper()
	b, err := late.NewBook(late.Config{Nodes: nodes, Slots: slots})
	require.NoError(t, err)
	return b
}

// task is an attempt as the vectors write it: started on a node, with its
// progress when the slot is asked for.
type task struct {
	id       string
	node     locality.Node
	start    float64
	progress float64
}

// run starts the tasks, in the order of their starts, and reports at now.
func run(t testing.TB, job *late.Job, now float64, tasks []task) map[string]late.Attempt {
	t.Helper()
	attempts := map[string]late.Attempt{}
	for _, task := range tasks {
		a, err := job.Start(at(task.start), task.node)
		require.NoError(t, err)
		attempts[task.id] = a
	}
	for _, task := range tasks {
		require.NoError(t, job.Report(at(now), attempts[task.id], task.progress))
	}
	return attempts
}

// LA-P1, the worked example of the paper, section 4.4: the task to copy is not
// the one that has run longest but the one that ends last.
func TestEstimate_TheTaskThatEndsLastIsNotTheOldest(t *testing.T) {
	job, err := late.New(late.Policy{}, 2, book(t, 2, 4))
	require.NoError(t, err)
	attempts := run(t, job, 120, []task{{"X", 0, 0, 0.6666667}, {"Y", 1, 114, 0.0526316}})
	left := func(id string) float64 {
		e, err := job.Estimate(at(120), attempts[id])
		require.NoError(t, err)
		return e.Left.Seconds()
	}
	require.InDelta(t, 60, left("X"), 0.01)
	require.InDelta(t, 108, left("Y"), 0.01)
}

// tasksP2 are those of LA-P2; nodes n1 to n8 are 1 to 8.
func tasksP2() []task {
	tasks := []task{{"T10", 3, 100, 0.90}}
	for i := range 9 {
		tasks = append(tasks, task{fmt.Sprintf("T%d", i), locality.Node(i%8 + 1), 300, 0.9})
	}
	return append(tasks, task{"T9", 2, 300, 0.30}, task{"T11", 8, 480, 0.06})
}

// bookP2 knows the nodes by their total progress.
func bookP2(t testing.TB) *late.Book {
	t.Helper()
	b := book(t, 9, 60)
	for i, progress := range []float64{9.1, 8.7, 8.8, 2.0, 9.0, 8.9, 9.2, 8.9} {
		work := time.Duration(progress * float64(time.Hour))
		require.NoError(t, b.Observe(at(0), locality.Node(i+1), work, 9*time.Hour))
	}
	return b
}

// occupy has that many copies of other tasks running.
func occupy(t testing.TB, b *late.Book, copies int) {
	t.Helper()
	other, err := late.New(late.Policy{}, copies+1, b)
	require.NoError(t, err)
	for range copies {
		a, err := other.Start(at(0), 0)
		require.NoError(t, err)
		_, err = other.Copy(at(0), a, 1)
		require.NoError(t, err)
	}
}

// LA-P2 and LA-P3.
func TestPick_LATE(t *testing.T) {
	tests := map[string]struct {
		node   locality.Node
		copied string // has a copy already
		others int    // copies of other jobs
		young  bool   // T11 is 55 s old
		want   string // no task: why
	}{
		"ends last":             {node: 1, want: "T11"},
		"has a copy already":    {node: 1, copied: "T11", want: "T9"},
		"runs there itself":     {node: 8, want: "T9"},
		"slow node":             {node: 4, want: "slow node"},
		"cap":                   {node: 1, others: 6, want: "at cap"},
		"one below the cap":     {node: 1, others: 5, want: "T11"},
		"younger than a minute": {node: 1, young: true, want: "T9"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			b := bookP2(t)
			occupy(t, b, tt.others)
			job, err := late.New(late.Policy{}, 12, b)
			require.NoError(t, err)
			tasks := tasksP2()
			if tt.young {
				last := &tasks[len(tasks)-1]
				last.start, last.progress = 545, 0.001
			}
			attempts := run(t, job, 600, tasks)
			if tt.copied != "" {
				_, err := job.Copy(at(600), attempts[tt.copied], 5)
				require.NoError(t, err)
			}
			choice, err := job.Pick(at(600), tt.node)
			require.NoError(t, err)
			if of, ok := attempts[tt.want]; ok {
				require.Equal(t, late.Chosen, choice.Why)
				require.Equal(t, of, choice.Of)
				return
			}
			require.Equal(t, tt.want, choice.Why.String())
			require.Zero(t, choice.Of)
		})
	}
}

// LA-P4. Four more tasks make the average of the category 0.75.
func TestPick_Hadoop(t *testing.T) {
	job, err := late.New(late.Policy{Rule: late.Hadoop}, 8, book(t, 9, 60))
	require.NoError(t, err)
	attempts := run(t, job, 600, []task{
		{"D", 1, 0, 0.99},
		{"B", 1, 0, 0.56},
		{"E", 2, 0, 0.9525},
		{"F", 2, 0, 0.9525},
		{"G", 3, 0, 0.9525},
		{"H", 3, 0, 0.9525},
		{"A", 4, 530, 0.54},
		{"C", 4, 541, 0.10},
	})
	choice, err := job.Pick(at(600), 8)
	require.NoError(t, err)
	require.Equal(t, late.Chosen, choice.Why)
	require.Equal(t, attempts["A"], choice.Of)

	_, err = job.Copy(at(600), choice.Of, 8)
	require.NoError(t, err)
	choice, err = job.Pick(at(600), 8)
	require.NoError(t, err)
	require.Equal(t, late.NoneSlow, choice.Why, "B misses the gap, C the age")
}

// LA-P5.
func TestCopy_KeepsToTheCap(t *testing.T) {
	for slots, limit := range map[int]int{60: 6, 1000: 100, 3: 1, 30: 3} {
		b := book(t, 2, slots)
		job, err := late.New(late.Policy{}, slots, b)
		require.NoError(t, err)
		for i := range limit + 1 {
			a, err := job.Start(at(0), 0)
			require.NoError(t, err)
			_, err = job.Copy(at(0), a, 1)
			if i < limit {
				require.NoError(t, err)
				continue
			}
			require.ErrorIs(t, err, late.ErrCap)
			require.ErrorContains(t, err, fmt.Sprintf("late: copy: %d copies run on %d slots, want fewer than %d: too many copies", limit, slots, limit))
		}
		require.Equal(t, limit, b.Copies())
		job.Close()
		require.Zero(t, b.Copies())
	}
}

// Cap 0.29 of 100 slots is 29 although the product in binary is below it.
func TestCopy_RoundsTheCapAsWritten(t *testing.T) {
	b := book(t, 2, 100)
	job, err := late.New(late.Policy{Cap: 0.29}, 100, b)
	require.NoError(t, err)
	for range 29 {
		a, err := job.Start(at(0), 0)
		require.NoError(t, err)
		_, err = job.Copy(at(0), a, 1)
		require.NoError(t, err)
	}
	_, err = job.Copy(at(0), late.Attempt{}, 1)
	require.ErrorIs(t, err, late.ErrAttempt)
	choice, err := job.Pick(at(0), 0)
	require.NoError(t, err)
	require.Equal(t, late.AtCap, choice.Why)
}

func TestPhases(t *testing.T) {
	thirds := late.Phases{1, 1, 1}
	tests := map[string]struct {
		phases late.Phases
		phase  int
		done   float64
		want   float64
		text   string
	}{
		"copying":             {phases: thirds, phase: 0, done: 0.5, want: 1.0 / 6},
		"sorting":             {phases: thirds, phase: 1, done: 0, want: 1.0 / 3},
		"reduced":             {phases: thirds, phase: 2, done: 1, want: 1},
		"own weights":         {phases: late.Phases{1, 0, 3}, phase: 2, done: 0.5, want: 0.625},
		"huge weights":        {phases: late.Phases{math.MaxFloat64, math.MaxFloat64}, phase: 1, want: 0.5},
		"one part":            {done: 0.25, want: 0.25},
		"no such phase":       {phases: thirds, phase: 3, text: "late: phase 3, want 0 to 2: invalid progress"},
		"negative phase":      {phases: thirds, phase: -1, text: "phase -1, want 0 to 2"},
		"share of more":       {phases: thirds, done: 1.5, text: "phase 0: 1.5 of it done, want 0 to 1"},
		"share is no number":  {phases: thirds, done: math.NaN(), text: "NaN of it done"},
		"negative weight":     {phases: late.Phases{1, -1}, text: "phase 1: weight -1"},
		"weight is no number": {phases: late.Phases{1, math.NaN()}, text: "weight"},
		"infinite weight":     {phases: late.Phases{math.Inf(1)}, text: "weight +Inf"},
		"weights of nothing":  {phases: late.Phases{0, 0}, text: "phase 0: weight 0, want 0 or more, finite, and one above 0"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			got, err := tt.phases.Progress(tt.phase, tt.done)
			if tt.text != "" {
				require.ErrorIs(t, err, late.ErrProgress)
				require.ErrorContains(t, err, tt.text)
				return
			}
			require.NoError(t, err)
			require.InDelta(t, tt.want, got, 1e-12)
		})
	}
}
