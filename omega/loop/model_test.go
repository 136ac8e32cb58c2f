package loop_test

import (
	"context"
	"math/rand/v2"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/cellsched/cellsched/delay"
	"github.com/cellsched/cellsched/drf/pools"
	"github.com/cellsched/cellsched/locality"
	"github.com/cellsched/cellsched/omega"
	"github.com/cellsched/cellsched/omega/loop"
	"github.com/cellsched/cellsched/resources"
)

// world is a loop, another scheduler that comes between, and books kept from
// the log alone.
type world struct {
	cell  *omega.Cell
	store *faulty
	loop  *loop.Loop[string]
	other *omega.Scheduler
	now   time.Time

	jobs  map[string]*demand
	names []string
	held  []omega.AllocationID // by the loop, as its log says
	taken []omega.AllocationID // by the other
	// Of the loop's that the other has preempted: those that are not released, and those
	// that the log tells of.
	marked []omega.AllocationID
	told   map[omega.AllocationID]bool
	panic  bool // of the next Placed event's hook
	added  int
}

// demand is the log of one job.
type demand struct {
	pending           *loop.Pending[string]
	tasks, placed     int
	gang              bool
	deadline          time.Time
	submitted, parked bool
	end               loop.Kind
}

func (w *world) observe(t *rapid.T, e loop.Event[string]) {
	d := w.jobs[e.Pending.Job().Key]
	if e.Kind == loop.Preempted {
		a := e.Mark.Allocation.ID
		require.Contains(t, w.marked, a)
		require.False(t, w.told[a], "told twice")
		require.True(t, d.submitted)
		w.told[a] = true
		return
	}
	require.Zero(t, d.end, "%v after the end", e.Kind)
	require.Equal(t, e.Kind == loop.Submitted, !d.submitted, "%v", e.Kind)
	d.submitted = true
	require.Equal(t, e.Kind == loop.Placed, len(e.Allocations) > 0)
	d.placed += len(e.Allocations)
	require.LessOrEqual(t, d.placed, d.tasks)
	if d.gang && len(e.Allocations) > 0 {
		require.Len(t, e.Allocations, d.tasks)
	}
	for _, a := range e.Allocations {
		require.NotContains(t, w.held, a, "handed over twice")
	}
	w.held = append(w.held, e.Allocations...)
	switch e.Kind {
	case loop.BackedOff, loop.PassedUp, loop.InDoubt:
		require.True(t, e.Until.After(e.At))
	case loop.Parked, loop.Unparked:
		require.Equal(t, e.Kind == loop.Unparked, d.parked)
		d.parked = !d.parked
	case loop.Complete:
		require.Equal(t, d.tasks, d.placed)
		d.end = e.Kind
	case loop.Abandoned, loop.Cancelled, loop.Expired:
		require.Less(t, d.placed, d.tasks)
		if e.Kind == loop.Expired {
			require.False(t, e.At.Before(d.deadline))
		}
		d.end = e.Kind
	case loop.Placed:
		if w.panic {
			w.panic = false
			panic("hook")
		}
	}
}

// step does one step at now. A panic of the hook is the only one there is.
func (w *world) step(t *rapid.T) (next time.Time, ok bool) {
	defer func() {
		if r := recover(); r != nil {
			require.Equal(t, "hook", r)
			next, ok = w.now, true
		}
	}()
	next, ok, err := w.loop.Step(context.Background(), w.now)
	if err != nil {
		require.ErrorIs(t, err, errStore)
	}
	require.False(t, ok && next.Before(w.now), "%v is before %v", next, w.now)
	return next, ok
}

// check checks the invariants of every step.
func (w *world) check(t *rapid.T) {
	require.NoError(t, w.cell.Check())
	var owned int
	for a := range w.store.Scheduler.Allocations() {
		owned++
		// An outcome that is not known yet has not been told of.
		require.True(t, slices.Contains(w.held, a.ID) || w.store.applied != nil, "allocation %v was lost", a.ID)
	}
	if w.store.applied == nil {
		require.Len(t, w.held, owned)
	}
	s := w.loop.Stats()
	require.EqualValues(t, len(w.told), s.Preempted)
	require.EqualValues(t, len(w.jobs), s.Submitted)
	ended := s.Complete + s.Abandoned + s.Expired + s.Cancelled
	require.Equal(t, s.Submitted, ended+uint64(s.Pending))
	require.GreaterOrEqual(t, s.Pending, s.Queued+s.Waiting+s.Parked)
	require.GreaterOrEqual(t, s.Attempts, s.Succeeded+s.Conflicts+s.NoRoom)
	require.LessOrEqual(t, s.Useful+s.Wasted, s.Elapsed)
	require.Equal(t, s.Complete, s.Full.Count())
}

func (w *world) release(t *rapid.T, s *omega.Scheduler, from *[]omega.AllocationID) {
	if len(*from) == 0 {
		t.Skip("nothing held")
	}
	i := rapid.IntRange(0, len(*from)-1).Draw(t, "which")
	require.NoError(t, s.Release((*from)[i]))
	*from = slices.Delete(*from, i, i+1)
}

// anyOrder returns one of the orders that the package has.
func anyOrder(t *rapid.T, cell *omega.Cell, s *omega.Scheduler) loop.Order[string] {
	total := resources.Vector{1000}
	shares, err := loop.NewByShare[string](total, cell.Usage)
	require.NoError(t, err)
	service, err := loop.NewByService[string](total, cell.Usage)
	require.NoError(t, err)
	tree, err := pools.New[string](total, nil)
	require.NoError(t, err)
	leaf, err := tree.AddJob(tree.Root(), "leaf", pools.Config{})
	require.NoError(t, err)
	byPools, err := loop.NewByPools[string](tree, cell.Usage)
	require.NoError(t, err)
	require.NoError(t, byPools.SetLeaf(0, leaf))
	gate, err := loop.NewGate(total, time.Second)
	require.NoError(t, err)
	turn, err := loop.NewByTurn[string](gate, 1, s.Usage, nil)
	require.NoError(t, err)
	turnOfPools, err := loop.NewByTurn[string](gate, 1, s.Usage, byPools)
	require.NoError(t, err)
	return []loop.Order[string]{
		nil, loop.ByPrecedence[string](), loop.ByDeadline[string](), shares, service, byPools, turn, turnOfPools,
	}[rapid.IntRange(0, 7).Draw(t, "order")]
}

// anyPlace returns a place: next fit, or by delay scheduling.
func anyPlace(t *rapid.T) loop.Place[string] {
	near, err := loop.NewNear(delay.Policy{Waits: delay.Waits{5 * time.Millisecond}}, nil, omega.NextFit(),
		func(_ *loop.Job[string], task int) []locality.Node {
			return []locality.Node{locality.Node(task)}[:min(task, 1)]
		})
	require.NoError(t, err)
	return []loop.Place[string]{nil, near.Place}[rapid.IntRange(0, 1).Draw(t, "place")]
}

func TestLoop_LosesNothingWhateverHappens(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		cell, err := omega.NewCell(omega.Config{})
		require.NoError(t, err)
		w := &world{cell: cell, now: epoch, jobs: map[string]*demand{}, told: map[omega.AllocationID]bool{}}
		addMachine := func(t *rapid.T) {
			w.added++
			capacity := rapid.Int64Range(1, 8).Draw(t, "capacity")
			_, err := cell.Add(omega.Machine{Name: strconv.Itoa(w.added), Capacity: resources.Vector{capacity}})
			require.NoError(t, err)
		}
		addMachine(t)
		addMachine(t)
		mine, err := cell.Register("loop", omega.Limits{})
		require.NoError(t, err)
		w.other, err = cell.Register("other", omega.Limits{Highest: 1})
		require.NoError(t, err)
		w.store = &faulty{Local: omega.Local{Scheduler: mine}}
		w.loop, err = loop.New(loop.Config[string]{
			Store: w.store, Attempts: 8, Fruitless: 4, Order: anyOrder(t, cell, mine), Place: anyPlace(t),
			Rand:    rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 0)),
			Think:   func(_ *loop.Job[string], tasks int) time.Duration { return time.Duration(tasks%3) * time.Millisecond },
			Observe: func(e loop.Event[string]) { w.observe(t, e) },
		})
		require.NoError(t, err)

		step := func(t *rapid.T) {
			next, ok := w.step(t)
			if ok && rapid.Bool().Draw(t, "wait for it") {
				w.now = next
			}
		}
		t.Repeat(map[string]func(*rapid.T){
			"submit": func(t *rapid.T) {
				d := &demand{tasks: rapid.IntRange(1, 4).Draw(t, "tasks"), gang: rapid.Bool().Draw(t, "gang")}
				j := loop.Job[string]{
					Key: strconv.Itoa(len(w.names)), Tasks: d.tasks, Gang: d.gang,
					Need: resources.Vector{rapid.Int64Range(1, 6).Draw(t, "need")},
				}
				if rapid.IntRange(0, 3).Draw(t, "deadline") == 0 {
					d.deadline = w.now.Add(time.Duration(rapid.IntRange(0, 20).Draw(t, "ms")) * time.Millisecond)
					j.Deadline = d.deadline
				}
				w.names, w.jobs[j.Key] = append(w.names, j.Key), d
				d.pending, err = w.loop.Submit(w.now, j)
				require.NoError(t, err)
			},
			"step":    step,
			"step on": step,
			"cancel": func(t *rapid.T) {
				if len(w.names) > 0 {
					w.loop.Cancel(w.jobs[rapid.SampledFrom(w.names).Draw(t, "job")].pending)
				}
			},
			"recheck":          func(*rapid.T) { w.loop.Recheck() },
			"release":          func(t *rapid.T) { w.release(t, mine, &w.held) },
			"the other leaves": func(t *rapid.T) { w.release(t, w.other, &w.taken) },
			"the other claims": func(t *rapid.T) {
				snap := w.other.Snapshot()
				snap.Refresh(w.now)
				need := resources.Vector{rapid.Int64Range(1, 4).Draw(t, "need")}
				if m, ok := snap.Find(omega.Query{Need: need}, omega.NextFit()); ok {
					var tx omega.Txn
					tx.Claim(omega.Claim{Machine: m, Need: need})
					_, err := w.other.Commit(&tx)
					require.NoError(t, err)
					a, _ := tx.Allocation(0)
					w.taken = append(w.taken, a)
				}
			},
			"the other preempts": func(t *rapid.T) {
				if len(w.held) == 0 {
					t.Skip("nothing held")
				}
				i := rapid.IntRange(0, len(w.held)-1).Draw(t, "which")
				w.taken = append(w.taken, preempt(t, w.other, cell, w.now, w.held[i]))
				w.marked = append(w.marked, w.held[i])
				w.held = slices.Delete(w.held, i, i+1)
			},
			"acknowledge":    func(t *rapid.T) { w.release(t, mine, &w.marked) },
			"add":            addMachine,
			"doubt":          func(*rapid.T) { w.store.unsure = 1 },
			"store is away":  func(*rapid.T) { w.store.refresh = errStore },
			"store is back":  func(*rapid.T) { w.store.refresh = nil },
			"hook will fail": func(*rapid.T) { w.panic = true },
			"":               w.check,
		})

		// Left alone, with all room free, the loop comes to an end.
		w.store.refresh, w.panic, w.store.unsure = nil, false, 0
		for _, a := range w.taken {
			require.NoError(t, w.other.Release(a))
		}
		for n := 0; ; n++ {
			require.Less(t, n, 10_000, "the loop never comes to rest")
			next, ok := w.step(t)
			if !ok || w.loop.Stats().Pending == w.loop.Stats().Parked {
				break
			}
			w.now = next
		}
		w.check(t)
		for _, a := range w.marked {
			require.True(t, w.told[a], "%v was preempted", a)
		}
		for name, d := range w.jobs {
			require.True(t, d.end != 0 || d.parked, "job %s was forgotten", name)
			require.Equal(t, d.end != 0, d.pending.Done())
		}
	})
}
