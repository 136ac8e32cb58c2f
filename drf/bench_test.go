package drf_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cellsched/cellsched/drf"
	"github.com/cellsched/cellsched/resources"
)

// BenchmarkPick is one decision. With state=fits: pick the next user and
// charge its task. With state=full, the life of a busy cell: one running task
// ends, then pick and charge until nothing fits, so about two picks.
//
// impl=yardstick is a bare tournament tree. impl=maps is what one would write
// at first, on container/heap with resources by name: it has to pop each user that
// does not fit and push it back. impl=sort sorts the users for each decision, as
// fair schedulers of clusters do.
func BenchmarkPick(b *testing.B) {
	for _, state := range []string{"fits", "full"} {
		for _, n := range []int{10, 100, 1_000, 10_000, 100_000, 1_000_000} {
			for _, impl := range []string{"tree", "yardstick", "maps", "sort"} {
				if n > 1_000 && impl == "sort" || n > 100_000 && impl == "maps" {
					continue // seconds for each decision
				}
				b.Run(fmt.Sprintf("state=%s/users=%d/impl=%s", state, n, impl), func(b *testing.B) {
					c := newBenchCell(b, n, state == "full")
					step := c.step
					switch impl {
					case "yardstick":
						step = newYardCell(c).step
					case "maps":
						step = newMapCell(c).step
					case "sort":
						step = newSortCell(c).step
					}
					b.ReportAllocs()
					for b.Loop() {
						step()
					}
				})
			}
		}
	}
}

// BenchmarkOverdue is the full cell where others have the room beside overdue users, so
// that large tasks get their turn. The room that becomes free varies more, and few of the
// users that fit in it are poor.
func BenchmarkOverdue(b *testing.B) {
	for _, n := range []int{100, 1_000, 10_000} {
		b.Run(fmt.Sprintf("users=%d", n), func(b *testing.B) {
			c := newBenchCell(b, n, true)
			c.heap.SetMaxSkips(drf.DefaultMaxSkips)
			for range 10 * n { // until the users without usage have their share
				c.step()
			}
			b.ReportAllocs()
			for b.Loop() {
				c.step()
			}
		})
	}
}

// BenchmarkSetTotal is a machine that comes or goes in a cell of 1,000, and the
// next decision.
func BenchmarkSetTotal(b *testing.B) {
	for _, n := range []int{1_000, 100_000} {
		b.Run(fmt.Sprintf("users=%d", n), func(b *testing.B) {
			c := newBenchCell(b, n, false)
			one := c.total
			for k := range one {
				one[k] /= 1_000
			}
			b.ReportAllocs()
			for machines := 1_000; b.Loop(); {
				if machines < 800 || machines < 1_200 && c.rand.IntN(2) == 0 {
					c.total = c.total.Add(one)
					machines++
				} else {
					c.total, _ = c.total.Sub(one)
					machines--
				}
				if err := c.heap.SetTotal(c.total); err != nil {
					b.Fatal(err)
				}
				c.start()
			}
		})
	}
}

// benchCell is n users of seeded demands, a third of which want GPUs. A full cell
// has room for two tasks a user and runs as many as fit. Another cell has room for
// ever and does not record its running tasks.
type benchCell struct {
	heap    *drf.Heap[int] // keys are positions in the slices below
	free    resources.Vector
	total   resources.Vector
	full    bool
	users   []drf.User
	demands []resources.Vector
	weights []float64
	running []int // their users, in no order
	rand    *rand.Rand
}

func newBenchCell(tb testing.TB, n int, full bool) *benchCell {
	tb.Helper()
	c := &benchCell{
		total: resources.Vector{1 << 50, 5 << 50, 1 << 40},
		full:  full,
		rand:  rand.New(rand.NewPCG(1, uint64(n))),
	}
	if full {
		c.total = resources.Vector{int64(n) * 9_000, int64(n) * 34_000, int64(n) * 3 / 2}
	}
	c.free = c.total
	var err error
	c.heap, err = drf.New[int](c.total)
	c.heap.SetMaxSkips(-1)
	require.NoError(tb, err)
	for i := range n {
		d := resources.Vector{500 + c.rand.Int64N(8_000), 1_000 + c.rand.Int64N(32_000)}
		if c.rand.IntN(10) < 3 {
			d[2] = 1 + c.rand.Int64N(4)
		}
		w := []float64{1, 2, 4}[c.rand.IntN(3)]
		u, err := c.heap.Add(i, w)
		require.NoError(tb, err)
		require.NoError(tb, c.heap.Demand(u, d))
		c.users, c.demands, c.weights = append(c.users, u), append(c.demands, d), append(c.weights, w)
	}
	for range 4 * n { // past the start, where all shares are 0
		c.start()
	}
	return c
}

func (c *benchCell) step() {
	if !c.full {
		c.start()
		return
	}
	i := c.end()
	if err := c.heap.Credit(c.users[i], c.demands[i]); err != nil {
		panic(err)
	}
	for c.start() {
	}
}

func (c *benchCell) start() bool {
	free := c.free
	if late, ok := c.heap.Overdue(); ok {
		i, _ := c.heap.Key(late)
		if c.demands[i].Fits(free) {
			return c.charge(i)
		}
		free = beside(free, c.demands[i])
	}
	u, ok := c.heap.Take(free)
	if !ok {
		return false
	}
	if c.full {
		i, _ := c.heap.Key(u)
		c.free, _ = c.free.Sub(c.demands[i])
		c.running = append(c.running, i)
	}
	return true
}

// charge starts a task of the user at i, which is not the next one.
func (c *benchCell) charge(i int) bool {
	if err := c.heap.Charge(c.users[i], c.demands[i]); err != nil {
		panic(err)
	}
	c.free, _ = c.free.Sub(c.demands[i])
	c.running = append(c.running, i)
	return true
}

// end removes a random running task and returns its user.
func (c *benchCell) end() int {
	at, last := c.rand.IntN(len(c.running)), len(c.running)-1
	i := c.running[at]
	c.running[at] = c.running[last]
	c.running = c.running[:last]
	c.free = c.free.Add(c.demands[i])
	return i
}
