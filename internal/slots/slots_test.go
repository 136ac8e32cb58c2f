package slots_test

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/cellsched/cellsched/internal/mcf"
	"github.com/cellsched/cellsched/internal/slots"
)

// world is a net and what the test needs to change it.
type world struct {
	costs  *rapid.Generator[int64]
	net    *slots.Net
	leaves []slots.Loc
	spots  []slots.Loc // leaves and groups
	waits  []slots.Loc
	tasks  []int32
	places map[int32]slots.Loc // by the last solution
	now    int64
}

func drawWorld(t *rapid.T) *world {
	w := &world{net: slots.New(), places: map[int32]slots.Loc{}}
	// Few costs, so that most are equal, or many.
	spread := rapid.SampledFrom([]int64{0, 1, 12, 1 << 36}).Draw(t, "spread")
	w.costs = rapid.Int64Range(-spread, spread)
	looks := rapid.SampledFrom([]int64{0, 1, 3, 1000})
	w.net.SetLooks(looks.Draw(t, "warm"), looks.Draw(t, "cold"), 1)
	if rapid.Bool().Draw(t, "cluster") {
		cluster := w.net.AddGroup(slots.Sink)
		w.spots = append(w.spots, cluster)
		for range rapid.IntRange(1, 3).Draw(t, "racks") {
			rack := w.net.AddGroup(cluster)
			w.spots = append(w.spots, rack)
			for range rapid.IntRange(1, 4).Draw(t, "machines") {
				w.addLeaf(t, rack)
			}
		}
	} else {
		for range rapid.IntRange(1, 4).Draw(t, "machines") {
			w.addLeaf(t, slots.Sink)
		}
	}
	for range rapid.IntRange(0, 3).Draw(t, "jobs") {
		v := w.net.AddLeaf(slots.Sink)
		w.waits = append(w.waits, v)
		w.net.SetLeaf(v, 0, rapid.IntRange(0, 5).Draw(t, "wait"))
	}
	return w
}

func (w *world) addLeaf(t *rapid.T, parent slots.Loc) {
	v := w.net.AddLeaf(parent)
	w.leaves, w.spots = append(w.leaves, v), append(w.spots, v)
	w.net.SetLeaf(v, 0, rapid.IntRange(0, 4).Draw(t, "slots"))
}

// drop removes a leaf, and tasks that can go nowhere else.
func (w *world) drop(v slots.Loc) {
	var leading []int32
	w.net.Leading(v, func(task int32) { leading = append(leading, task) })
	for _, task := range leading {
		options := slices.DeleteFunc(w.net.Options(nil, task), func(o slots.Option) bool { return o.At == v })
		if len(options) > 0 {
			w.net.SetOptions(task, options)
			continue
		}
		w.net.Remove(task)
		delete(w.places, task)
		w.tasks = slices.DeleteFunc(w.tasks, func(other int32) bool { return other == task })
	}
	w.net.Drop(v)
	is := func(other slots.Loc) bool { return other == v }
	w.leaves, w.spots = slices.DeleteFunc(w.leaves, is), slices.DeleteFunc(w.spots, is)
}

func (w *world) options(t *rapid.T) []slots.Option {
	slope := rapid.SampledFrom([]int32{0, 0, 1, -1})
	picked := map[slots.Loc]bool{}
	var out []slots.Option
	add := func(v slots.Loc) {
		if !picked[v] {
			picked[v] = true
			out = append(out, slots.Option{Base: w.costs.Draw(t, "cost"), Slope: slope.Draw(t, "slope"), At: v})
		}
	}
	least := 1
	if len(w.waits) > 0 {
		least = 0
	}
	for range rapid.IntRange(least, 4).Draw(t, "options") {
		add(rapid.SampledFrom(w.spots).Draw(t, "spot"))
	}
	if len(w.waits) > 0 {
		add(rapid.SampledFrom(w.waits).Draw(t, "job"))
	}
	return out
}

// check solves w and compares it with the oracle.
func (w *world) check(t require.TestingT) {
	err := w.net.Solve(context.Background(), w.now)
	want, oracle := w.net.Graph(w.now).Solve(context.Background())
	if oracle != nil {
		require.ErrorIs(t, oracle, mcf.ErrInfeasible)
		require.ErrorIs(t, err, slots.ErrInfeasible)
		return
	}
	require.NoError(t, err)
	require.NoError(t, w.net.Verify())
	require.Zero(t, w.net.Overstated())
	require.Equal(t, want.Cost, w.net.Cost())

	// A task that sits elsewhere than before has been touched.
	for _, task := range w.tasks {
		at, _, ok := w.net.At(task)
		require.True(t, ok)
		if was, known := w.places[task]; !known || was != at {
			require.Contains(t, w.net.Touched(), task)
		}
		w.places[task] = at
	}
	w.net.Forget()
}

// fragile is a context that is cancelled once it has been looked at so often.
type fragile struct{ left int }

func (f *fragile) Deadline() (time.Time, bool) { return time.Time{}, false }
func (f *fragile) Done() <-chan struct{}       { return nil }
func (f *fragile) Value(any) any               { return nil }

func (f *fragile) Err() error {
	if f.left--; f.left < 0 {
		return context.Canceled
	}
	return nil
}

func TestSolve_CostMatchesTheOracle(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := drawWorld(t)
		for range rapid.IntRange(0, 25).Draw(t, "tasks") {
			w.tasks = append(w.tasks, w.net.Add(w.options(t)))
		}
		for _, v := range w.waits {
			w.net.SetLeaf(v, rapid.IntRange(0, 2).Draw(t, "demand"), rapid.IntRange(0, 9).Draw(t, "capacity"))
		}
		w.check(t)
	})
}

func TestSolve_GoesOnFromAnyChange(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := drawWorld(t)
		t.Repeat(map[string]func(*rapid.T){
			"add": func(t *rapid.T) {
				for range rapid.IntRange(1, 6).Draw(t, "tasks") {
					w.tasks = append(w.tasks, w.net.Add(w.options(t)))
				}
			},
			"remove": func(t *rapid.T) {
				for range min(len(w.tasks), rapid.IntRange(1, 4).Draw(t, "tasks")) {
					i := rapid.IntRange(0, len(w.tasks)-1).Draw(t, "task")
					w.net.Remove(w.tasks[i])
					delete(w.places, w.tasks[i])
					w.tasks = append(w.tasks[:i], w.tasks[i+1:]...)
				}
			},
			"options": func(t *rapid.T) {
				if len(w.tasks) == 0 {
					t.Skip("nobody there")
				}
				w.net.SetOptions(rapid.SampledFrom(w.tasks).Draw(t, "task"), w.options(t))
			},
			"slots": func(t *rapid.T) {
				w.net.SetLeaf(rapid.SampledFrom(w.leaves).Draw(t, "leaf"), 0, rapid.IntRange(0, 5).Draw(t, "slots"))
			},
			"shares": func(t *rapid.T) {
				if len(w.waits) == 0 {
					t.Skip("no jobs")
				}
				w.net.SetLeaf(rapid.SampledFrom(w.waits).Draw(t, "job"), rapid.IntRange(0, 3).Draw(t, "demand"), rapid.IntRange(0, 9).Draw(t, "capacity"))
			},
			"machine": func(t *rapid.T) {
				if w.spots[0] != w.leaves[0] {
					w.addLeaf(t, w.spots[1])
				}
			},
			"loss": func(t *rapid.T) {
				if len(w.leaves) > 1 {
					w.drop(rapid.SampledFrom(w.leaves[1:]).Draw(t, "leaf"))
				}
			},
			"again": func(t *rapid.T) { // mostly the same
				if len(w.tasks) == 0 {
					t.Skip("nobody there")
				}
				task := rapid.SampledFrom(w.tasks).Draw(t, "task")
				options := rapid.Permutation(w.net.Options(nil, task)).Draw(t, "order")
				options[0].Base += rapid.Int64Range(-1, 1).Draw(t, "more")
				options[0].Slope = rapid.Int32Range(-1, 1).Draw(t, "slope")
				w.net.SetOptions(task, options)
			},
			"time":  func(t *rapid.T) { w.now += rapid.Int64Range(0, 4).Draw(t, "passes") },
			"solve": func(t *rapid.T) { w.check(t) },
			"cancel": func(t *rapid.T) {
				ctx := &fragile{left: rapid.IntRange(0, 60).Draw(t, "steps")}
				if err := w.net.Solve(ctx, w.now); ctx.left < 0 {
					require.ErrorIs(t, err, context.Canceled)
				} else if err == nil {
					require.NoError(t, w.net.Verify())
				}
			},
			"": func(t *rapid.T) {
				require.Equal(t, w.net.Walked(), w.net.Cost())
				options, notes := w.net.Astray()
				require.Zero(t, options)
				require.Zero(t, notes)
			},
		})
		w.check(t)
	})
}

// A number that is free is given to what comes, below whatever it is to be, and
// what was sent down to a leaf that goes is sent elsewhere.
func TestDrop_FreesALocation(t *testing.T) {
	n := slots.New()
	cluster := n.AddGroup(slots.Sink)
	first, rack := n.AddLeaf(cluster), n.AddGroup(cluster)
	n.SetLeaf(first, 0, 2)
	below := n.AddLeaf(rack)
	n.SetLeaf(below, 0, 1)
	n.Add([]slots.Option{{Base: 1, At: cluster}})
	require.NoError(t, n.Solve(t.Context(), 0))
	for range 3 {
		n.Drop(below)
		require.NoError(t, n.Solve(t.Context(), 0))
		require.NoError(t, n.Verify())
		n.Drop(rack)
		require.Equal(t, 3, n.Len())
		below = n.AddLeaf(cluster)
		n.SetLeaf(below, 0, 1)
		require.Equal(t, rack, below)
		n.Drop(first)
		require.NoError(t, n.Solve(t.Context(), 0))
		require.NoError(t, n.Verify())
		require.Equal(t, below, n.Below(0, slots.Sink))
		rack = n.AddGroup(cluster)
		require.Equal(t, first, rack)
		first, below = below, n.AddLeaf(rack)
		n.SetLeaf(below, 0, 1)
		require.Equal(t, 5, n.Len())
		want, err := n.Graph(0).Solve(t.Context())
		require.NoError(t, err)
		require.Equal(t, want.Cost, n.Cost())
	}
}
