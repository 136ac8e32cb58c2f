package main

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/cellsched/cellsched/delay"
	"github.com/cellsched/cellsched/locality"
)

// counted is a scheduler that sees to it that no node runs more than it has
// slots for.
type counted struct {
	*fifo
	t       require.TestingT
	slots   int
	running map[locality.Node]int
	where   map[[2]int]locality.Node
}

func (c *counted) offer(now time.Duration, n locality.Node) (delay.Launch[int], bool, error) {
	l, ok, err := c.fifo.offer(now, n)
	if ok {
		c.running[n]++
		require.LessOrEqual(c.t, c.running[n], c.slots)
		c.where[[2]int{l.Job, l.Task}] = n
	}
	return l, ok, err
}

func (c *counted) ended(l delay.Launch[int], one *task) error {
	c.running[c.where[[2]int{l.Job, l.Task}]]--
	return c.fifo.ended(l, one)
}

func TestSimulate_RunsEachTaskOnceWhereThereIsRoom(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		random := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 1))
		c := cell{
			nodes: rapid.IntRange(1, 5).Draw(t, "nodes"), slots: rapid.IntRange(1, 3).Draw(t, "slots"),
			backlog: rapid.IntRange(0, 2).Draw(t, "backlog"), beat: time.Second, late: rapid.Bool().Draw(t, "late"),
		}
		if rapid.Bool().Draw(t, "load") {
			c.load = func() time.Duration { return between(random, time.Second, 9*time.Second) }
			c.gap = func() time.Duration { return between(random, 0, 3*time.Second) }
		}
		var jobs []*job
		tasks, at := 0, time.Duration(0)
		for range rapid.IntRange(0, 5).Draw(t, "jobs") {
			at += between(random, 0, 20*time.Second)
			j := &job{at: at}
			for range rapid.IntRange(1, 6).Draw(t, "tasks") {
				j.tasks = append(j.tasks, task{
					holders: spread(random, c.nodes, random.IntN(3)),
					near:    between(random, 1, 5*time.Second), far: between(random, 1, 9*time.Second),
				})
				tasks++
			}
			jobs = append(jobs, j)
		}
		inner, err := newFIFO(delay.Policy{Waits: delay.Waits{2 * time.Second}}, nil)
		require.NoError(t, err)
		s := &counted{inner, t, c.slots, make(map[locality.Node]int), make(map[[2]int]locality.Node)}
		out, err := c.simulate(t.Context(), s, slices.Values(jobs), math.MaxInt)
		require.NoError(t, err)
		require.Len(t, out.launches, tasks)
		require.Len(t, s.where, tasks)
		for i, done := range out.jobs {
			require.Zero(t, done.left)
			least := time.Duration(math.MaxInt64)
			for _, one := range jobs[i].tasks {
				least = min(least, one.near, one.far)
			}
			require.GreaterOrEqual(t, done.took, least)
		}
	})
}

func TestOutcome_CountsRequestedFigures(t *testing.T) {
	o := outcome{
		launches: []launch{
			{job: 0, local: true, choosy: true},
			{job: 1, choosy: true},
			{job: 1, local: true}, // as it is anywhere
			{job: 2, local: true, choosy: true},
			{job: 2, local: true, choosy: true},
		},
		jobs: []completion{{took: 2 * time.Second}, {took: 4 * time.Second}, {took: 99 * time.Second, left: 1}},
	}
	local, mean := o.of(anyJob, 0)
	require.InDelta(t, 0.75, local, 1e-9)
	require.InDelta(t, 3, mean, 1e-9, "of those that have ended")
	local, mean = o.of(func(job int) bool { return job > 0 }, 2)
	require.InDelta(t, 1, local, 1e-9)
	require.InDelta(t, 4, mean, 1e-9)
	local, mean = o.of(anyJob, 9)
	require.Zero(t, local)
	require.InDelta(t, 3, mean, 1e-9)
}

// A slot that was idle when there was no job is not there for one that comes
// when something else has taken it.
func TestSimulate_DoesNotOfferBusySlots(t *testing.T) {
	c := cell{
		nodes: 1, slots: 1, beat: time.Second,
		load: func() time.Duration { return 10 * time.Second },
		gap:  func() time.Duration { return 2 * time.Second },
	}
	s, err := newFIFO(delay.Policy{}, nil)
	require.NoError(t, err)
	one := &job{at: 15 * time.Second, tasks: []task{{near: time.Second}}}
	out, err := c.simulate(t.Context(), s, slices.Values([]*job{one}), math.MaxInt)
	require.NoError(t, err)
	require.Equal(t, 8*time.Second, out.jobs[0].took, "free at 10 s and taken at 12, free again at 22")
}

func TestSimulate_HearsNodesOneAfterTheOther(t *testing.T) {
	r := simulation{cell: cell{nodes: 4, slots: 2, beat: 8 * time.Second}}
	for slot, want := range []time.Duration{8, 8, 2, 2, 4, 4, 6, 6} {
		require.Equal(t, want*time.Second, r.nextBeat(int32(slot), 0))
		require.Equal(t, (want+8)*time.Second, r.nextBeat(int32(slot), want*time.Second))
	}
}
