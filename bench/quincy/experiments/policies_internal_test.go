package experiments

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/cellsched/cellsched/locality"
	"github.com/cellsched/cellsched/locality/quincy"
)

// at runs a round of p a second after the jobs have come.
func at(t *testing.T, c *cell, p policy, jobs ...*job) *world {
	t.Helper()
	w := newWorld(c, p, time.Second)
	for i, j := range jobs {
		l := &live{job: j, number: i}
		l.enter(c)
		w.jobs = append(w.jobs, l)
		require.NoError(t, p.add(w, l))
	}
	w.now = time.Second
	again(t, w)
	return w
}

// again runs another round.
func again(t *testing.T, w *world) {
	t.Helper()
	require.NoError(t, w.divide())
	require.NoError(t, w.policy.round(t.Context(), w))
}

// where lists the machines of a job's tasks, -1 for those that wait.
func where(w *world, j int) (nodes []int) {
	for _, a := range w.jobs[j].state {
		if a.phase == waits {
			nodes = append(nodes, -1)
		} else {
			nodes = append(nodes, int(a.node))
		}
	}
	return nodes
}

// reading is a job of tasks that have a block each on the nodes.
func reading(nodes ...locality.Node) *job {
	j := &job{}
	for _, n := range nodes {
		j.tasks = append(j.tasks, task{input: []quincy.Block{on(100*mib, n)}, run: 10 * time.Second})
	}
	return j
}

func TestGreedy_TakesTheNearestBeforeTheFirst(t *testing.T) {
	w := at(t, twoRacks(t), &greedy{}, reading(0, 0, 0), reading(2, 3))
	require.Equal(t, []int{2, 3}, where(w, 1), "they are at their data")
	require.Equal(t, []int{0, 1, -1}, where(w, 0))
}

func TestGreedy_OfEqualsTheFirst(t *testing.T) {
	w := at(t, twoRacks(t), &greedy{}, reading(0), reading(0), reading(1, 1, 1))
	require.Equal(t, []int{0}, where(w, 0))
	require.Equal(t, 1, w.jobs[2].waiting+w.jobs[1].waiting)
}

func TestGreedy_KeepsJobsToTheirShareIfFair(t *testing.T) {
	w := at(t, twoRacks(t), &greedy{fair: true}, reading(0, 1, 2, 3), reading(0, 1, 2, 3))
	require.Equal(t, 2, w.jobs[0].running)
	require.Equal(t, 2, w.jobs[1].running)
	w = at(t, twoRacks(t), &greedy{}, reading(0, 1, 2, 3), reading(0, 1, 2, 3))
	require.Equal(t, 4, w.jobs[0].running)
}

func TestGreedy_StopsTheYoungestOfTheLargestJob(t *testing.T) {
	for _, preempts := range []bool{false, true} {
		g := &greedy{fair: true, preempts: preempts}
		w := at(t, twoRacks(t), g, reading(0, 1, 2, 3))
		w.jobs[0].state[1].begun = 0 // the others are younger
		w.jobs[0].state[2].begun = 0
		late := &live{job: reading(0, 3), number: 1}
		late.enter(w.cell)
		w.jobs = append(w.jobs, late)
		again(t, w)
		if !preempts {
			require.Equal(t, []int{0, 1, 2, 3}, where(w, 0))
			continue
		}
		require.Equal(t, []int{-1, 1, 2, -1}, where(w, 0))
		require.Equal(t, []int{0, 3}, where(w, 1))
		require.Equal(t, 2, w.tally.stops)
		again(t, w)
		require.Equal(t, 2, w.tally.stops, "all have their shares")
	}
}

func TestGreedy_StopsNoMoreThanOthersLack(t *testing.T) {
	w := at(t, twoRacks(t), &greedy{fair: true, preempts: true}, reading(0, 1, 2))
	late := &live{job: reading(0, 3), number: 1}
	late.enter(w.cell)
	w.jobs = append(w.jobs, late)
	again(t, w)
	require.Equal(t, 1, w.tally.stops, "one slot was free")
	require.Equal(t, 2, w.jobs[0].running)
	require.Equal(t, 2, late.running)
}

func TestNearest_LooksForHalfOfTheInput(t *testing.T) {
	c := twoRacks(t)
	l := &live{job: &job{tasks: []task{
		{input: []quincy.Block{on(10, 0), on(90, 2)}},
		{input: []quincy.Block{on(40, 0, 1), on(40, 0)}},
		{},
	}}}
	l.enter(c)
	nearest := func(n locality.Node) [2]int {
		task, level, ok := l.nearest(c, n)
		require.True(t, ok)
		return [2]int{task, int(level)}
	}
	require.Equal(t, [2]int{1, int(onNode)}, nearest(0))
	require.Equal(t, [2]int{0, int(onNode)}, nearest(2))
	require.Equal(t, [2]int{1, int(onNode)}, nearest(1), "it has half")
	require.Equal(t, [2]int{2, int(onNode)}, nearest(3), "it is near anywhere")
	l.state[2].phase = runs
	require.Equal(t, [2]int{0, int(inRack)}, nearest(3))
	l.state[0].phase = runs
	require.Equal(t, [2]int{1, int(beyond)}, nearest(3))
	l.state[1].phase = ended
	_, _, ok := l.nearest(c, 0)
	require.False(t, ok)
	l.state[1].phase = waits
	l.wait(c, 1)
	require.Equal(t, [2]int{1, int(onNode)}, nearest(0), "it waits again")
}

func TestDelayed_WaitsForDataAndServesTheSmallestShare(t *testing.T) {
	c := twoRacks(t)
	p, err := newDelayed(4, 3*time.Second)
	require.NoError(t, err)
	w := at(t, c, p, reading(0, 0), reading(0, 1, 1))
	require.Equal(t, []int{0, -1}, where(w, 0), "there is one slot at its data")
	require.Equal(t, []int{-1, 1, -1}, where(w, 1))
	for range 2 {
		w.now += time.Second
		again(t, w)
	}
	require.Equal(t, 2, w.vacant, "both wait")
	w.now += time.Second
	require.NoError(t, w.stop(w.jobs[1], 1)) // for no reason
	require.NoError(t, p.order.Credit(p.jobs[1].user, [8]int64{1}))
	again(t, w)
	require.Equal(t, []int{0, -1}, where(w, 0), "rack 1 is too far for another 3 s")
	require.Equal(t, 1, w.jobs[1].running, "it had none, so it was asked first")
	require.Equal(t, 2, w.vacant)
	for range 2 { // for its rack, then for any
		w.now += 3 * time.Second
		again(t, w)
	}
	require.Zero(t, w.vacant, "any slot will do")
}

func TestPlanned_HasTheLimitsOfItsPolicy(t *testing.T) {
	l := &live{share: 5, running: 7, waiting: 20}
	for _, tt := range []struct {
		fair, preempts bool
		want           bounds
	}{
		{false, false, bounds{0, 27}},
		{false, true, bounds{1, 27}},
		{true, false, bounds{0, 7}},
		{true, true, bounds{5, 5}},
	} {
		p := &planned{fair: tt.fair, preempts: tt.preempts}
		require.Equal(t, tt.want, p.limits(l))
	}
	l.share = 0
	require.Equal(t, bounds{0, 27}, (&planned{preempts: true}).limits(l), "there may be more jobs than slots")
	l.share, l.running = 5, 2
	require.Equal(t, bounds{0, 5}, (&planned{fair: true}).limits(l))
}

func TestPlanned_StopsOnlyIfItMay(t *testing.T) {
	for _, preempts := range []bool{false, true} {
		c := twoRacks(t)
		p, err := newPlanned(c, costs(2), true, preempts, true)
		require.NoError(t, err)
		w := at(t, c, p, reading(0, 1, 2, 3))
		require.Equal(t, []int{0, 1, 2, 3}, where(w, 0))
		w.now += 10 * time.Second
		late := &live{job: reading(3, 0), number: 1}
		late.enter(c)
		w.jobs = append(w.jobs, late)
		require.NoError(t, p.add(w, late))
		again(t, w)
		if preempts {
			require.Equal(t, []int{3, 0}, where(w, 1))
			require.Equal(t, []int{-1, 1, 2, -1}, where(w, 0))
		} else {
			require.Equal(t, []int{0, 1, 2, 3}, where(w, 0))
		}
	}
}

// A task that has just started goes to where its data is, once there is room.
func TestPlanned_MovesToDataIfItMay(t *testing.T) {
	for _, preempts := range []bool{false, true} {
		c := twoRacks(t)
		p, err := newPlanned(c, costs(2), false, preempts, true)
		require.NoError(t, err)
		w := at(t, c, p, reading(0), reading(0))
		both := [2]int{where(w, 0)[0], where(w, 1)[0]}
		require.ElementsMatch(t, [2]int{0, 1}, both, "at its data, and in its rack")
		for j, n := range both {
			if n == 0 {
				require.NoError(t, w.ended(w.jobs[j], 0))
				break
			}
		}
		w.now += 10 * time.Millisecond
		again(t, w)
		if preempts {
			require.Equal(t, []int{0}, where(w, 0))
		} else {
			require.Equal(t, []int{1}, where(w, 0))
		}
	}
}

func TestPlanned_GivesEachJobOneIfItPreempts(t *testing.T) {
	c := twoRacks(t)
	p, err := newPlanned(c, costs(2), false, true, true)
	require.NoError(t, err)
	w := at(t, c, p, reading(0, 1, 2, 3))
	require.Zero(t, w.vacant)
	w.now += time.Hour
	late := &live{job: reading(0, 1, 2, 3), number: 1}
	late.enter(c)
	w.jobs = append(w.jobs, late)
	require.NoError(t, p.add(w, late))
	again(t, w)
	require.Equal(t, 1, late.running, "E is 1")
	require.Equal(t, 3, w.jobs[0].running, "and an hour of work is worth more than anything else")
}

func TestPlanned_LeavesOthersWhereTheyAre(t *testing.T) {
	c := twoRacks(t)
	p, err := newPlanned(c, costs(2), true, true, true)
	require.NoError(t, err)
	w := newWorld(c, p, time.Second)
	w.others = &others{have: make([]int32, 4), waiting: make([]int32, 4)}
	w.others.count(w, 0, 1)
	w.others.count(w, 3, 1)
	l := &live{job: reading(0, 3, 3)}
	l.enter(c)
	w.jobs = []*live{l}
	require.NoError(t, p.add(w, l))
	again(t, w)
	require.Equal(t, 2, l.running, "on 1 and 2")
	require.ElementsMatch(t, []int{1, 2, -1}, where(w, 0))
	w.others.count(w, 3, -1)
	w.now += 20 * time.Second
	again(t, w)
	require.Equal(t, 3, l.running)
}

func TestOthers_AreBusyForTheirLoadsAndComeAfterGaps(t *testing.T) {
	c := twoRacks(t)
	w := newWorld(c, &script{first}, 100*time.Millisecond)
	w.others = &others{
		load: func() time.Duration { return 9 * time.Second },
		gap:  func() time.Duration { return time.Second },
	}
	w.others.begin(w)
	require.Zero(t, w.vacant)
	require.Zero(t, w.ours)
	for _, tt := range []struct {
		after time.Duration
		ours  int
	}{{8900 * time.Millisecond, 0}, {9500 * time.Millisecond, 4}, {10500 * time.Millisecond, 0}, {19500 * time.Millisecond, 4}} {
		for next, ok := w.events.Next(); ok && next <= tt.after; next, ok = w.events.Next() {
			require.NoError(t, w.step(t.Context()))
		}
		require.Equal(t, tt.ours, w.ours, "after %v", tt.after)
		require.Equal(t, tt.ours, w.vacant, "after %v", tt.after)
	}
	// A task takes a slot, and others come to that machine a gap after it has left.
	l := &live{job: &job{tasks: []task{{run: 3 * time.Second}}}}
	l.enter(c)
	w.jobs = []*live{l}
	w.now = 19500 * time.Millisecond
	require.NoError(t, w.start(l, 0, 2))
	for next, ok := w.events.Next(); ok && next <= 23400*time.Millisecond; next, ok = w.events.Next() {
		require.NoError(t, w.step(t.Context()))
	}
	require.Equal(t, []int32{1, 1, 0, 1}, w.others.have, "it left at 22.5 s")
	require.NoError(t, w.step(t.Context()))
	require.Equal(t, 23500*time.Millisecond, w.now)
	require.Equal(t, []int32{1, 1, 1, 1}, w.others.have)
}
