package pool_test

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/cellsched/cellsched/omega/pool"
	"github.com/cellsched/cellsched/resources"
)

// guaranteed returns what guarantees are worth, by name, of the first two kinds.
func guaranteed(p *pool.Pool) map[string][2]int64 {
	all := map[string][2]int64{}
	for _, n := range p.Stats().Tenants {
		if n.Guaranteed != (resources.Vector{}) {
			all[n.Name] = [2]int64{n.Guaranteed[0], n.Guaranteed[1]}
		}
	}
	return all
}

// Where machines shrink, go or drain, guarantees are worth what there is in proportion,
// kind by kind and in groups as above them. They are whole again when there is enough.
func TestGuarantee_IsScaledToTheMachinesThatAreLeft(t *testing.T) {
	p := newPool(t, pool.Config{Machines: machines(6, 4)})
	a := tenant(t, p, "a", pool.Settings{Guarantee: v(4, 1)})
	g := tenant(t, p, "g", pool.Settings{Guarantee: v(5)})
	within(t, g, "x", pool.Settings{Guarantee: v(3)})
	within(t, tenant(t, p, "other"), "y", pool.Settings{Guarantee: v(1)})
	whole := map[string][2]int64{"a": {4, 1}, "g": {5}, "g/x": {3}, "other/y": {1}}
	half := map[string][2]int64{"a": {2, 1}, "g": {2}, "g/x": {1}}
	require.Equal(t, whole, guaranteed(p))
	require.Equal(t, v(10, 1), p.Stats().Guaranteed)

	require.NoError(t, p.ResizeMachine("m0", v(1, 6)))
	require.Equal(t, half, guaranteed(p))
	require.Equal(t, v(10, 1), p.Stats().Guaranteed, "by settings")
	require.Equal(t, v(4, 1), a.Settings().Guarantee)
	require.NoError(t, p.ResizeMachine("m0", v(6, 6)))
	require.Equal(t, whole, guaranteed(p))

	require.NoError(t, p.DrainMachine("m1", true))
	require.Equal(t, map[string][2]int64{"a": {2, 1}, "g": {3}, "g/x": {1}}, guaranteed(p))
	require.NoError(t, p.DrainMachine("m1", false))
	require.Equal(t, whole, guaranteed(p))

	require.NoError(t, p.RemoveMachine("m1"))
	require.Equal(t, map[string][2]int64{"a": {2, 1}, "g": {3}, "g/x": {1}}, guaranteed(p))
	require.NoError(t, a.Set(pool.Settings{})) // the others have all of theirs again
	require.Equal(t, map[string][2]int64{"g": {5}, "g/x": {3}, "other/y": {1}}, guaranteed(p))
	require.NoError(t, p.ResizeMachine("m0", v()))
	require.Empty(t, guaranteed(p))
}

// A guarantee takes back and protects its scaled amount, no more. Tenants with guarantees
// that are too large together divide the machines by them, whichever came first.
func TestGuarantee_ScaledIsTakenBackFromTheFirst(t *testing.T) {
	for _, how := range []string{"shrinks", "drains", "goes"} {
		t.Run(how, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p := newPool(t, pool.Config{Machines: machines(6, 6), Patience: -1})
				a, b := tenant(t, p, "a", pool.Settings{Guarantee: v(8)}), tenant(t, p, "b", pool.Settings{Guarantee: v(4)})
				held := take(t, a, 6, 1) // next fit: on one machine until it is full
				node := held[0].Machine()
				for _, l := range held {
					require.Equal(t, node, l.Machine())
				}
				other := fmt.Sprint("m", 1-held[0].Node())
				switch how {
				case "shrinks":
					require.NoError(t, p.ResizeMachine(other, v()))
				case "drains":
					require.NoError(t, p.DrainMachine(other, true))
				case "goes":
					require.NoError(t, p.RemoveMachine(other))
				}
				require.Equal(t, map[string][2]int64{"a": {4}, "b": {2}}, guaranteed(p))
				var starts []func() bool
				for range 4 {
					starts = append(starts, submit(t, b, 1))
				}
				again := submit(t, a, 1)
				synctest.Wait()
				gone := preempted(held)
				require.Equal(t, held[4:], gone, "the oldest leases are safe")
				release(t, gone...)
				for i, want := range []bool{true, true, false, false} {
					require.Equal(t, want, starts[i]())
				}
				require.False(t, again())
				require.EqualValues(t, 4, heldBy(t, p, "a"))
			})
		})
	}
}

// Beyond what its guarantee is worth a tenant waits for its turn.
func TestGuarantee_ScaledGoesFirstNoFurther(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPool(t, pool.Config{Machines: machines(6, 6), Patience: -1})
		a := tenant(t, p, "a", pool.Settings{Guarantee: v(8)})
		tenant(t, p, "b", pool.Settings{Guarantee: v(4)})
		require.NoError(t, p.RemoveMachine("m1"))
		take(t, a, 4, 1)
		held := take(t, tenant(t, p, "x"), 2, 1)
		next := submit(t, a, 1)
		time.Sleep(time.Second)
		other := submit(t, tenant(t, p, "o"), 1)
		time.Sleep(time.Second)
		release(t, held[0])
		require.True(t, other())
		require.False(t, next())
		release(t, held[1])
		require.True(t, next())
	})
}
