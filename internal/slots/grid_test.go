package slots_test

import (
	"math"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/cellsched/cellsched/internal/shapes"
	"github.com/cellsched/cellsched/internal/slots"
)

// grid is a cell of the matrix of shapes as a net.
type grid struct {
	*shapes.Draw
	net      *slots.Net
	cluster  slots.Loc
	racks    []slots.Loc
	machines []slots.Loc
	jobs     []slots.Loc
	tasks    []shapes.Task
	numbers  []int32
	count    []int // tasks, by job
	machine  map[slots.Loc]int
}

func newGrid(g shapes.Grid) *grid {
	c := &grid{Draw: g.Draw(1), net: slots.New(), count: make([]int, g.Jobs), machine: map[slots.Loc]int{}}
	c.cluster = c.net.AddGroup(slots.Sink)
	for m, room := range c.Slots {
		if c.RackOf(m) == len(c.racks) {
			c.racks = append(c.racks, c.net.AddGroup(c.cluster))
		}
		at := c.net.AddLeaf(c.racks[c.RackOf(m)])
		c.machines = append(c.machines, at)
		c.net.SetLeaf(at, 0, room)
		c.machine[at] = m
	}
	for range g.Jobs {
		c.jobs = append(c.jobs, c.net.AddLeaf(slots.Sink))
	}
	for range c.Tasks() {
		c.add()
	}
	c.share()
	return c
}

func (c *grid) add() {
	t := c.Task()
	c.tasks = append(c.tasks, t)
	c.numbers = append(c.numbers, c.net.Add(c.options(t)))
	c.count[t.Job]++
}

func (c *grid) options(t shapes.Task) (options []slots.Option) {
	for _, a := range t.Arcs {
		at := c.cluster
		switch a.Kind {
		case shapes.Unscheduled:
			at = c.jobs[a.At]
		case shapes.Rack:
			at = c.racks[a.At]
		case shapes.Machine:
			at = c.machines[a.At]
		}
		options = append(options, slots.Option{Base: a.Cost, At: at})
	}
	return options
}

func (c *grid) share() {
	low, top := shapes.Shares(c.count, c.All)
	for j, n := range c.count {
		c.net.SetLeaf(c.jobs[j], n-top[j], top[j]-low[j])
	}
}

// ground gives tasks that the last Solve placed an arc to stay where they are.
func (c *grid) ground() {
	placed := map[int32]bool{}
	for _, number := range c.net.Touched() {
		placed[number] = true
	}
	for i, number := range c.numbers {
		if !placed[number] {
			continue
		}
		leaf := c.net.Below(number, slots.Sink)
		options := c.options(c.tasks[i])
		if m, runs := c.machine[leaf]; runs {
			options = slices.DeleteFunc(options, func(o slots.Option) bool { return o.At == leaf })
			options = append(options, slots.Option{Base: c.Stay(c.tasks[i], m), At: leaf})
		}
		c.net.ReplaceAt(number, leaf, options)
	}
	c.net.Forget()
}

// churn lets per mille of the tasks leave and as many come.
func (c *grid) churn(perMille int) {
	for range max(1, len(c.numbers)*perMille/1000) {
		i, last := c.Pick(len(c.numbers)), len(c.numbers)-1
		c.net.Remove(c.numbers[i])
		c.count[c.tasks[i].Job]--
		c.numbers[i], c.tasks[i] = c.numbers[last], c.tasks[last]
		c.numbers, c.tasks = c.numbers[:last], c.tasks[:last]
		c.add()
	}
	c.share()
}

// On all shapes a plan from scratch, and one after a change, take a few looks at each
// arc, and none is left to cost scaling.
func TestSolve_LooksFewTimesAtAnyShape(t *testing.T) {
	for _, g := range shapes.Grids() {
		if g.Machines > 2_500 || g.Percent == 300 && (g.Uneven || g.Preferred == 20) {
			continue
		}
		g.Machines, g.Jobs = 200, 5+g.Jobs/20
		t.Run(g.String(), func(t *testing.T) {
			c := newGrid(g)
			solve := func(most int64) {
				require.NoError(t, c.net.Solve(t.Context(), 0))
				require.NoError(t, c.net.Verify())
				looks, arcs := c.net.Used()
				require.LessOrEqual(t, looks, most*arcs)
			}
			solve(32)
			for _, perMille := range []int{10, 1} {
				c.ground()
				c.churn(perMille)
				solve(32)
			}
			_, scalings := c.net.Fallbacks()
			require.Zero(t, scalings)
		})
	}
}

// An auction finds the least cost with groups of any depth, leaves that keep units,
// and tasks with any options.
func TestSolve_AuctionsInTreesOfAnyDepth(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := slots.New()
		n.SetLooks(0, math.MaxInt64, 64)
		groups, spots := []slots.Loc{slots.Sink}, []slots.Loc{}
		for range rapid.IntRange(0, 8).Draw(t, "groups") {
			v := n.AddGroup(rapid.SampledFrom(groups).Draw(t, "parent"))
			groups, spots = append(groups, v), append(spots, v)
		}
		var leaves []slots.Loc
		for range rapid.IntRange(1, 8).Draw(t, "leaves") {
			v := n.AddLeaf(rapid.SampledFrom(groups).Draw(t, "parent"))
			leaves, spots = append(leaves, v), append(spots, v)
		}
		scale := rapid.SampledFrom([]int64{0, 1, 1 << 20}).Draw(t, "scale")
		for range 3 {
			for _, v := range leaves {
				n.SetLeaf(v, rapid.SampledFrom([]int{0, 0, 0, 1, 2}).Draw(t, "keeps"), rapid.IntRange(0, 4).Draw(t, "slots"))
			}
			for range rapid.IntRange(1, 12).Draw(t, "tasks") {
				picked := rapid.SliceOfNDistinct(rapid.SampledFrom(spots), 1, 4, rapid.ID).Draw(t, "options")
				options := make([]slots.Option, len(picked))
				for i, v := range picked {
					options[i] = slots.Option{Base: scale * rapid.Int64Range(-9, 9).Draw(t, "cost"), At: v}
				}
				n.Add(options)
			}
			err := n.Solve(t.Context(), 0)
			want, oracle := n.Graph(0).Solve(t.Context())
			if oracle != nil {
				require.ErrorIs(t, err, slots.ErrInfeasible)
				continue
			}
			require.NoError(t, err)
			require.NoError(t, n.Verify())
			require.Equal(t, want.Cost, n.Cost())
		}
	})
}

// Tasks that are indifferent among nearly all slots, and more of them than slots: each
// outbids the others by a little, until it would as well wait.
func TestSolve_LooksFewTimesWhereTasksAreIndifferent(t *testing.T) {
	c := newCell(shapes.Shape{Machines: 400, Slots: 8, Jobs: 7}, 150)
	for i, number := range c.tasks {
		options := c.net.Options(nil, number)
		for k := range options {
			if options[k].Base /= 1024; options[k].At == c.jobs[c.jobOf[i]] {
				options[k].Base = 2000
			}
		}
		c.net.SetOptions(number, options)
	}
	for j, tasks := range c.count {
		c.net.SetLeaf(c.jobs[j], 0, tasks)
	}
	require.NoError(t, c.net.Solve(t.Context(), 0))
	require.NoError(t, c.net.Verify())
	looks, arcs := c.net.Used()
	require.LessOrEqual(t, looks, 24*arcs)
	want, err := c.net.Graph(0).Solve(t.Context())
	require.NoError(t, err)
	require.Equal(t, want.Cost, c.net.Cost())
}
