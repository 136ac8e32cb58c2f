package slots_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cellsched/cellsched/internal/shapes"
	"github.com/cellsched/cellsched/internal/slots"
)

// Cells from half empty to overfull, in which tasks come and go, machines are
// lost and come back, and costs drift: after every round it costs what the
// oracle says.
func TestSolve_CostsTheSameAsFromScratchAfterManyRounds(t *testing.T) {
	for _, percent := range []int{50, 90, 98, 100, 103, 150} {
		t.Run(fmt.Sprint(percent), func(t *testing.T) {
			shape := shapes.Shape{Machines: 90, Slots: 4, Jobs: 7}
			c := newCell(shape, percent)
			rng := rand.New(rand.NewPCG(uint64(percent), 3))
			lost := slots.Sink
			for now := range int64(12) {
				c.churn(rng, 30)
				c.drift(rng, now)
				if lost != slots.Sink {
					c.net.SetLeaf(lost, 0, shape.Slots)
				}
				lost = c.machines[rng.IntN(shape.Machines)]
				c.net.SetLeaf(lost, 0, 0)

				require.NoError(t, c.net.Solve(context.Background(), now))
				require.NoError(t, c.net.Verify())
				want, err := c.net.Graph(now).Solve(t.Context())
				require.NoError(t, err)
				require.Equal(t, want.Cost, c.net.Cost(), "round %d", now)
				require.Equal(t, want.Cost, c.net.Walked(), "round %d", now)
			}
		})
	}
}

// drift gives some tasks that wait a cost that grows.
func (c *cell) drift(rng *rand.Rand, now int64) {
	var options []slots.Option
	for range 10 {
		task := c.tasks[rng.IntN(len(c.tasks))]
		options = c.net.Options(options[:0], task)
		if options[0].Slope == 0 {
			options[0].Slope = 40
			options[0].Base -= 40 * now
			c.net.SetOptions(task, options)
		}
	}
}

// Larger cells, in which tasks chase each other further: after each of many
// rounds the prices prove that it costs the least.
func TestSolve_ProvesItselfAfterManyRounds(t *testing.T) {
	for _, percent := range []int{85, 93, 98, 100, 120} {
		t.Run(fmt.Sprint(percent), func(t *testing.T) {
			shape := shapes.Shape{Machines: 250, Slots: 6, Jobs: 12}
			c := newCell(shape, percent)
			rng := rand.New(rand.NewPCG(uint64(percent), 4))
			for now := range int64(25) {
				c.churn(rng, []int{5, 50, 200}[now%3])
				for range 4 {
					c.net.SetLeaf(c.machines[rng.IntN(shape.Machines)], 0, rng.IntN(2*shape.Slots))
				}
				require.NoError(t, c.net.Solve(t.Context(), now/8))
				require.NoError(t, c.net.Verify(), "round %d", now)
				require.Zero(t, c.net.Overstated(), "round %d", now)
			}
		})
	}
}

// However far a round has come when it is cancelled, the next one goes on from
// there.
func TestSolve_StopsAnywhereAndGoesOn(t *testing.T) {
	for _, percent := range []int{90, 100, 150} {
		t.Run(fmt.Sprint(percent), func(t *testing.T) {
			for steps := 0; ; steps += 1 + steps/8 {
				c := newCell(shapes.Shape{Machines: 30, Slots: 3, Jobs: 4}, percent)
				c.net.SetLooks(2, 4, 1)
				rng := rand.New(rand.NewPCG(uint64(steps), 5))
				c.drift(rng, 0)
				require.NoError(t, c.net.Solve(t.Context(), 0))
				c.churn(rng, 200)
				ctx := &fragile{left: steps}
				err := c.net.Solve(ctx, 100)
				if ctx.left >= 0 {
					require.NoError(t, err)
					require.Greater(t, steps, 50)
					return
				}
				require.ErrorIs(t, err, context.Canceled)
				require.NoError(t, c.net.Solve(t.Context(), 100))
				require.NoError(t, c.net.Verify())
			}
		})
	}
}

// What is cancelled stops at the next look at its context, and that is soon.
func TestSolve_StopsSoon(t *testing.T) {
	for _, percent := range []int{90, 100, 150} {
		c := newCell(shapes.A(), percent)
		c.net.SetLooks(32, 96, 100)
		require.ErrorIs(t, c.net.Solve(&fragile{left: 5}, 0), context.Canceled)
		looks, arcs := c.net.Used()
		require.Less(t, looks, arcs/2, "at %d %%", percent)
	}
}
