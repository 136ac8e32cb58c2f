package delay_test

import (
	"container/heap"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/cellsched/cellsched/delay"
	"github.com/cellsched/cellsched/locality"
)

// ending is a slot that becomes free.
type ending struct {
	at   time.Time
	node locality.Node
}

type endings []ending

func (e endings) Len() int           { return len(e) }
func (e endings) Less(i, k int) bool { return e[i].at.Before(e[k].at) }
func (e endings) Swap(i, k int)      { e[i], e[k] = e[k], e[i] }
func (e *endings) Push(x any)        { *e = append(*e, x.(ending)) }

func (e *endings) Pop() any {
	last := (*e)[len(*e)-1]
	*e = (*e)[:len(*e)-1]
	return last
}

// localShare runs jobs on 100 busy nodes of 4 slots. There are 3 copies of each
// task's data at random, and tasks of 10 s to 30 s. About 300 tasks are pending at
// any time; a slot that none of them takes is offered again in a second.
func localShare(t *testing.T, p delay.Policy, tasks int, random *rand.Rand) float64 {
	t.Helper()
	const nodes, slots, launches, warm = 100, 4, 10_000, 2_500
	q, err := delay.NewQueue[int](p, nil)
	require.NoError(t, err)
	length := func() time.Duration { return 10*time.Second + time.Duration(random.Int64N(int64(20*time.Second))) }
	var free endings
	for i := range nodes * slots {
		heap.Push(&free, ending{start.Add(length()), locality.Node(i % nodes)})
	}
	local, jobs := 0, 0
	for n := 0; n < warm+launches; {
		for ; q.Len() < max(3, 300/tasks); jobs++ {
			job := make([][]locality.Node, tasks)
			for i := range job {
				for _, holder := range random.Perm(nodes)[:3] {
					job[i] = append(job[i], locality.Node(holder))
				}
			}
			require.NoError(t, q.Add(jobs, job...))
		}
		e := heap.Pop(&free).(ending)
		launch, ok, err := q.Offer(e.at, e.node)
		require.NoError(t, err)
		if !ok {
			heap.Push(&free, ending{e.at.Add(time.Second), e.node})
			continue
		}
		if n++; n > warm && launch.Level == 0 {
			local++
		}
		heap.Push(&free, ending{e.at.Add(length()), e.node})
	}
	return float64(local) / launches
}

func TestLoad_SuggestsPoliciesThatReachTheShare(t *testing.T) {
	const share = 0.95
	for _, tasks := range []int{3, 10, 20, 100} {
		t.Run(fmt.Sprintf("tasks=%d", tasks), func(t *testing.T) {
			load := delay.Load{Tasks: tasks, Nodes: 100, Replicas: 3, Slots: 4, Task: 20 * time.Second}
			skips, wait, err := load.Suggest(share)
			require.NoError(t, err)
			reached := func(p delay.Policy, seed uint64) float64 {
				return localShare(t, p, tasks, rand.New(rand.NewPCG(seed, 1)))
			}
			for seed := range uint64(2) {
				require.GreaterOrEqual(t, reached(delay.Policy{Skips: skips}, seed), share)
				require.GreaterOrEqual(t, reached(delay.Policy{Waits: delay.Waits{wait}, Paper: true}, seed), share)
				require.GreaterOrEqual(t, reached(delay.Policy{Waits: delay.Waits{wait}}, seed), share)
			}

			// Half of it would not do: the suggestion is not just long.
			require.Less(t, reached(delay.Policy{Waits: delay.Waits{wait / 2}}, 0), share)
		})
	}
}

// The vector DS-P7 has the bound of the paper: 23.10491 offers, 1.732868 s.
func TestLoad_SuggestsSoMuchMoreThanThePapersBound(t *testing.T) {
	load := delay.Load{Tasks: 20, Nodes: 100, Replicas: 3, Slots: 8, Task: time.Minute}
	skips, wait, err := load.Suggest(0.95)
	require.NoError(t, err)
	require.Equal(t, 37, skips) // 1.6 × 23.10491 is 36.97
	require.InDelta(t, 1.6*1.732868, wait.Seconds(), 1e-5)
}

// A wait is for one slot at least, however little the bound is.
func TestLoad_SuggestsToWaitForOneSlot(t *testing.T) {
	load := delay.Load{Tasks: 100_000, Nodes: 100, Replicas: 3, Slots: 4, Task: 20 * time.Second}
	skips, wait, err := load.Suggest(0.95)
	require.NoError(t, err)
	require.Equal(t, 1, skips)
	require.Equal(t, 20*time.Second/400, wait)
}

func TestLoad_SuggestsWithinBounds(t *testing.T) {
	for name, local := range map[string]float64{"hardly any": 1e-300, "nearly all": 1 - 1e-16} {
		t.Run(name, func(t *testing.T) {
			for _, n := range []int{1, math.MaxInt} {
				load := delay.Load{Tasks: 1, Nodes: n, Replicas: 1, Slots: 1, Task: math.MaxInt64}
				skips, wait, err := load.Suggest(local)
				require.NoError(t, err)
				require.Positive(t, skips)
				require.Positive(t, wait)
			}
		})
	}
}

func TestLoad_RefusesBadInput(t *testing.T) {
	good := delay.Load{Tasks: 20, Nodes: 100, Replicas: 3, Slots: 8, Task: time.Minute}
	for _, local := range []float64{0, 1, -1, 2, math.NaN(), math.Inf(1)} {
		_, _, err := good.Suggest(local)
		require.ErrorContains(t, err, fmt.Sprintf("delay: suggest: local share = %v, want more than 0 and less than 1", local))
	}
	for text, spoil := range map[string]func(*delay.Load){
		"tasks = 0":     func(l *delay.Load) { l.Tasks = 0 },
		"nodes = -1":    func(l *delay.Load) { l.Nodes = -1 },
		"replicas = 0":  func(l *delay.Load) { l.Replicas = 0 },
		"slots = -8":    func(l *delay.Load) { l.Slots = -8 },
		"task time = 0": func(l *delay.Load) { l.Task = 0 },
	} {
		bad := good
		spoil(&bad)
		_, _, err := bad.Suggest(0.95)
		require.ErrorContains(t, err, "delay: suggest: "+text+", want more than 0")
	}
}

// A cell of 100 nodes with 8 slots each runs tasks of a minute. How long should
// small jobs wait for the data, and how little is that?
func ExampleLoad_Suggest() {
	for _, tasks := range []int{3, 20, 100} {
		load := delay.Load{Tasks: tasks, Nodes: 100, Replicas: 3, Slots: 8, Task: time.Minute}
		skips, wait, err := load.Suggest(0.95)
		if err != nil {
			panic(err)
		}
		fmt.Printf("%3d tasks: pass up %3d offers, or wait %v\n", tasks, skips, wait.Round(10*time.Millisecond))
	}
	// Output:
	//   3 tasks: pass up 109 offers, or wait 8.15s
	//  20 tasks: pass up  37 offers, or wait 2.77s
	// 100 tasks: pass up  10 offers, or wait 730ms
}
