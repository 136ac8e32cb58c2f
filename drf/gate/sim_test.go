package gate_test

import (
	"container/heap"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/cellsched/cellsched/drf/gate"
	"github.com/cellsched/cellsched/resources"
)

// event is something that happens in a simulated cell.
type event struct {
	at   int64 // microseconds
	what func()
}

type agenda []event

func (a agenda) Len() int           { return len(a) }
func (a agenda) Less(i, j int) bool { return a[i].at < a[j].at }
func (a agenda) Swap(i, j int)      { a[i], a[j] = a[j], a[i] }
func (a *agenda) Push(x any)        { *a = append(*a, x.(event)) }
func (a *agenda) Pop() (x any)      { x, *a = (*a)[len(*a)-1], (*a)[:len(*a)-1]; return x }

// greedy simulates schedulers of different speed in one full cell: each thinks for
// a while, asks, looks, and takes as much as it may. It returns the share of each,
// averaged over time, and the used part of the cell's scarcest kind.
func greedy(t *testing.T, seed uint64, gated bool) (shares []float64, used float64) {
	t.Helper()
	const seats, end = 16, 8_000_000
	rng := rand.New(rand.NewPCG(seed, 7))
	total := resources.Vector{1600, 3200}
	g, err := gate.New(total, 20*time.Millisecond)
	require.NoError(t, err)
	var (
		todo   agenda
		now    int64
		free   = total
		held   = make([]float64, seats) // share, times microseconds
		since  = make([]int64, seats)
		before = make([]float64, seats)
		busy   float64
	)
	later := func(d int64, what func()) { heap.Push(&todo, event{now + d, what}) }
	note := func(i int, s *gate.Seat) {
		held[i] += before[i] * float64(now-since[i])
		since[i], before[i] = now, s.Share()
	}
	for i := range seats {
		s, err := g.Join(1)
		require.NoError(t, err)
		need := resources.Vector{1 + rng.Int64N(4), 1 + rng.Int64N(4)}
		think := int64(100 * (1 + i)) // the slowest takes 16 times as long as the fastest
		var act func()
		act = func() {
			later(think+rng.Int64N(think), act)
			if !ask(t, s, need, time.UnixMicro(now)) {
				return
			}
			if !gated {
				defer s.Rest() // so that it holds no other seat back
			}
			left, ok := free.Sub(need)
			if !ok {
				_, err := s.Miss(need, time.UnixMicro(now))
				require.NoError(t, err)
				return
			}
			s.Keep()
			free = left
			note(i, s)
			later(100_000+rng.Int64N(1_000_000), func() {
				free = free.Add(need)
				require.NoError(t, s.Return(need))
				note(i, s)
			})
		}
		later(rng.Int64N(think), act)
	}
	for now < end {
		e := heap.Pop(&todo).(event)
		busy += float64(e.at-now) * (1 - min(float64(free[0])/float64(total[0]), float64(free[1])/float64(total[1])))
		now = e.at
		e.what()
	}
	for i := range held {
		held[i] /= end
	}
	return held, busy / end
}

func jain(shares []float64) float64 {
	sum, squares := 0.0, 0.0
	for _, s := range shares {
		sum += s
		squares += s * s
	}
	return sum * sum / squares / float64(len(shares))
}

func TestGate_GreedySchedulersOfAnySpeedGetEvenShares(t *testing.T) {
	for seed := range uint64(2) {
		free, _ := greedy(t, seed, false)
		gated, used := greedy(t, seed, true)
		t.Logf("seed %d: Jain's index %.4f without the gate, %.4f with it; the scarcest kind is in use to %.1f %%",
			seed, jain(free), jain(gated), 100*used)
		require.Less(t, jain(free), 0.95, "else there is nothing to even out")
		require.GreaterOrEqual(t, jain(gated), 0.99)
		require.Greater(t, used, 0.9)
	}
}
