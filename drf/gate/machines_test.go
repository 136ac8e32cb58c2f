package gate_test

import (
	"container/heap"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/cellsched/cellsched/drf/gate"
	"github.com/cellsched/cellsched/resources"
)

// yard is a simulated cell of equal machines of one kind of resource, full of
// tasks.
type yard struct {
	*testing.T
	rng    *rand.Rand
	gate   *gate.Gate
	free   []int64 // by machine
	each   int64
	taken  int64
	tasks  int64 // how long they take: from this on, to eleven times as long
	now    int64
	todo   agenda
	takers []*taker
	used   float64 // summed over time

	by *taker // that has reserved machine on, or nil
	on int
}

// taker asks, looks for room, and takes, as often as it can.
type taker struct {
	*gate.Seat
	need        int64
	think, look int64 // about so long before a question, and after a yes
	reserves    bool  // a machine, when it is passed over too often
	held        float64
}

func newYard(t *testing.T, seed uint64, machines, each int64, patience time.Duration) *yard {
	t.Helper()
	g, err := gate.New(resources.Vector{machines * each}, patience)
	require.NoError(t, err)
	y := &yard{T: t, rng: rand.New(rand.NewPCG(seed, 7)), gate: g, free: make([]int64, machines), each: each, tasks: 100_000}
	for i := range y.free {
		y.free[i] = each
	}
	return y
}

func (y *yard) later(d int64, what func()) { heap.Push(&y.todo, event{y.now + d, what}) }

func (y *yard) join(k taker, start int64) *taker {
	var err error
	k.Seat, err = y.gate.Join(1)
	require.NoError(y, err)
	y.takers = append(y.takers, &k)
	y.later(start+y.rng.Int64N(k.think), func() { y.ask(&k) })
	return &k
}

func (y *yard) ask(k *taker) {
	again := func() { y.later(k.think/2+y.rng.Int64N(k.think), func() { y.ask(k) }) }
	if !ask(y, k.Seat, resources.Vector{k.need}, time.UnixMicro(y.now)) {
		again()
		return
	}
	y.later(k.look, func() {
		y.place(k)
		again()
	})
}

func (y *yard) place(k *taker) {
	need, now := resources.Vector{k.need}, time.UnixMicro(y.now)
	best, first := -1, y.rng.IntN(len(y.free))
	for i := range y.free {
		i = (first + i) % len(y.free)
		switch {
		case y.by != nil && y.by != k && i == y.on: // reserved
		case y.free[i] >= k.need:
			y.take(k, i)
			return
		case best < 0 || y.free[i] > y.free[best]:
			best = i
		}
	}
	if passed := miss(y, k.Seat, need, now); k.reserves && passed > 20 && k.need <= y.each && (y.by == nil || y.by == k) {
		y.by, y.on = k, best
	}
}

func (y *yard) take(k *taker, machine int) {
	k.Keep()
	if y.by == k {
		y.by = nil
	}
	y.free[machine] -= k.need
	y.taken += k.need
	y.later(y.tasks+y.rng.Int64N(10*y.tasks), func() {
		y.free[machine] += k.need
		y.taken -= k.need
		require.NoError(y, k.Return(resources.Vector{k.need}))
	})
}

// run simulates until end, and returns how much of the cell was in use from begin
// on. The part of the takers is in held.
func (y *yard) run(begin, end int64) (used float64) {
	for y.now < end {
		e := heap.Pop(&y.todo).(event)
		if passed := float64(e.at - max(y.now, begin)); passed > 0 {
			y.used += passed * float64(y.taken)
			for _, k := range y.takers {
				k.held += passed * k.Share()
			}
		}
		y.now = e.at
		e.what()
	}
	for _, k := range y.takers {
		k.held /= float64(end - begin)
	}
	return y.used / float64(end-begin) / float64(y.each) / float64(len(y.free))
}

// Four seats take all there is. A fifth one waits for room that never comes,
// however often it asks and however long it looks.
func TestGate_ASeatWithAnImpossibleNeedDoesNotBlock(t *testing.T) {
	for _, c := range []struct {
		machines, each, need int64
		patience             time.Duration
		every, look          int64
	}{
		{1, 1000, 1001, 20 * time.Millisecond, 2000, 0},
		{1, 1000, 1001, 20 * time.Millisecond, 13_000, 0},
		{100, 10, 11, 20 * time.Millisecond, 5000, 0},
		{100, 10, 11, 20 * time.Millisecond, 5000, 5000},
		{100, 10, 11, 20 * time.Millisecond, 13_000, 13_000},
		{100, 10, 11, 20 * time.Millisecond, 40_000, 0},
		{100, 10, 11, time.Second, 13_000, 0},
	} {
		t.Run(fmt.Sprintf("need=%d/patience=%v/every=%d/look=%d", c.need, c.patience, c.every, c.look), func(t *testing.T) {
			y := newYard(t, 1, c.machines, c.each, c.patience)
			for range 4 {
				y.join(taker{need: 1, think: 1000}, 0)
			}
			y.join(taker{need: c.need, think: c.every, look: c.look}, 0)
			used := y.run(2_000_000, 7_000_000)
			t.Logf("in use to %.1f %%", 100*used)
			require.Greater(t, used, 0.95)
		})
	}
}

// One scheduler with tasks of a whole machine, and four with small ones.
func TestGate_LargeTasksGetTheirShare(t *testing.T) {
	tests := map[string]struct {
		reserves bool
		start    int64
		share    float64
	}{
		"from the beginning":             {share: 0.15},
		"from the beginning, reserves":   {reserves: true, share: 0.16},
		"comes to a full cell, reserves": {reserves: true, start: 1_500_000, share: 0.1},
	}
	for name, c := range tests {
		t.Run(name, func(t *testing.T) {
			const seeds = 2
			used, share := 0.0, 0.0
			for seed := range uint64(seeds) {
				y := newYard(t, seed, 100, 10, 20*time.Millisecond)
				for range 4 {
					y.join(taker{need: 1, think: 1000}, 0)
				}
				large := y.join(taker{need: 10, think: 5000, reserves: c.reserves}, c.start)
				used += y.run(2_000_000, 8_000_000) / seeds
				share += large.held / seeds
			}
			t.Logf("it gets %.3f; in use to %.1f %%", share, 100*used)
			require.Greater(t, share, c.share)
		})
	}
}
