package flow_test

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/cellsched/cellsched/locality"
	"github.com/cellsched/cellsched/resources"
)

const never = 100 * 365 * 24 * time.Hour

// busy is a yard of four machines of four, in which twenty tasks of one want to
// run, one each second ends that runs, and another comes. Costs do not change.
func busy(t require.TestingT, patience time.Duration, machines int) (*yard, *rand.Rand) {
	y := newYard(t, one)
	for range machines {
		y.addMachine(t, resources.Vector{4})
	}
	y.patience, y.still = patience, true
	y.begin(t)
	y.addJob(t, "a", 0, 99)
	y.addJob(t, "b", 0, 99)
	for range 5 * machines {
		y.add(t, "a", one)
	}
	return y, rand.New(rand.NewPCG(3, 4))
}

// second is a second of that, in which no task of spare ends.
func (y *yard) second(t require.TestingT, rng *rand.Rand, spare map[name]bool) {
	y.round(t)
	for {
		n := y.names[rng.IntN(len(y.names))]
		if w := y.tasks[n]; w.runs && w.Job == "a" && !spare[n] {
			y.done(t, n)
			break
		}
	}
	y.add(t, "a", one)
	y.pass(t, time.Second)
}

// A task needs a machine for itself, in a cell where smaller ones take each hole. Without
// patience it waits until the test ends. With it, it runs when the patience is over and
// the machine nearest to free is free, while the others stay full.
func TestPatience_LargeTasksRunInABusyCell(t *testing.T) {
	for patience, most := range map[time.Duration]int{never: 1000, 20 * time.Second: 20 + 40, 0: 600 + 40} {
		y, rng := busy(t, patience, 4)
		y.second(t, rng, nil)
		large := y.add(t, "b", resources.Vector{4})
		runs, at := 0, 0
		for ; at < most && !y.tasks[large].runs; at++ {
			y.second(t, rng, nil)
			free := int64(0)
			for _, m := range y.states() {
				free += m.Free[0]
			}
			require.LessOrEqual(t, free, int64(4+1), "one machine is kept at most")
			runs++
		}
		require.Equal(t, patience != never, y.tasks[large].runs, "after %d s with a patience of %v", at, patience)
		if patience > 0 {
			require.GreaterOrEqual(t, at, min(most, 20))
		}
		y.pass(t, time.Second)
		require.Empty(t, stops(y.round(t)))
	}
}

// A kept machine is kept from tasks larger than a slot, too.
func TestPatience_LargerOnesBeforeLarge(t *testing.T) {
	for patience, runs := range map[time.Duration]bool{never: false, 5 * time.Second: true} {
		y := newYard(t, one, resources.Vector{4})
		y.patience, y.still = patience, true
		y.begin(t)
		y.addJob(t, "a", 0, 99)
		for range 4 {
			y.add(t, "a", resources.Vector{2})
		}
		y.round(t)
		large := y.add(t, "a", resources.Vector{4})
		for range 30 {
			for _, n := range y.names {
				if y.tasks[n].runs && n != large {
					y.done(t, n)
					y.add(t, "a", resources.Vector{2})
					break
				}
			}
			y.pass(t, time.Second)
			y.round(t)
			if y.tasks[large].runs {
				break
			}
		}
		require.Equal(t, runs, y.tasks[large].runs, patience)
	}
}

// Which machine is kept is told, and that others had no part of it.
func TestPatience_IsExplained(t *testing.T) {
	y, rng := busy(t, time.Second, 2)
	y.second(t, rng, nil)
	large := y.add(t, "b", resources.Vector{4}, 1)
	y.second(t, rng, nil)
	y.second(t, rng, nil)
	e, err := y.s.Explain(large)
	require.NoError(t, err)
	require.Contains(t, []string{"m0", "m1"}, e.Kept)
	require.Contains(t, e.String(), "\n  kept for it: "+e.Kept+"\n")
	other, err := y.s.Explain(y.names[0])
	require.NoError(t, err)
	require.Empty(t, other.Kept)
	y.done(t, large)
	y.round(t)
	for _, m := range y.states() {
		require.Zero(t, m.Free[0], "it is kept for nobody any more")
	}
}

// The machine that lacks least has tasks that never end: it is given up after a
// patience, for one that comes free.
func TestPatience_GivesUpMachinesThatStayFull(t *testing.T) {
	y, rng := busy(t, 5*time.Second, 3)
	y.round(t)
	eternal := map[name]bool{}
	for _, n := range y.names {
		if w := y.tasks[n]; w.runs && w.on != machineAt(y.cell, 2) {
			eternal[n] = true
		}
	}
	for _, n := range append([]name(nil), y.names...) { // room for one on two machines, which no other task gets
		if w := y.tasks[n]; w.runs && w.on != machineAt(y.cell, 2) && eternal[n] && len(eternal) > 6 {
			delete(eternal, n)
			y.done(t, n)
		}
	}
	large := y.add(t, "b", resources.Vector{4})
	for at := 0; !y.tasks[large].runs; at++ {
		require.Less(t, at, 80)
		y.second(t, rng, eternal)
	}
	require.Equal(t, machineAt(y.cell, 2), y.tasks[large].on)
}

// Machines are kept where the task's arcs lead, where it costs less than to wait,
// and not for more than its job may run.
func TestPatience_KeepsWhatTheTaskMayHave(t *testing.T) {
	y, rng := busy(t, time.Second, 3)
	y.second(t, rng, nil)
	y.tie = map[name]bool{y.next: true} // to machine 0
	large := y.add(t, "b", resources.Vector{4}, locality0)
	require.NoError(t, y.s.SetShares("b", 0, 0))
	kept := func() string {
		e, err := y.s.Explain(large)
		require.NoError(t, err)
		return e.Kept
	}
	for range 3 {
		y.second(t, rng, nil)
		require.Empty(t, kept())
	}
	require.NoError(t, y.s.SetShares("b", 0, 9))
	y.second(t, rng, nil)
	require.Equal(t, "m0", kept())
	require.NoError(t, y.cell.Drain(machineAt(y.cell, 0)))
	y.second(t, rng, nil)
	require.Empty(t, kept())
	require.NoError(t, y.cell.Resume(machineAt(y.cell, 0)))
	y.second(t, rng, nil)
	require.Equal(t, "m0", kept())
	y.lose(t, machineAt(y.cell, 0))
	y.round(t)
	require.Empty(t, kept())
	y.addMachine(t, resources.Vector{3}) // too small
	for range 3 {
		y.second(t, rng, nil)
		require.Empty(t, kept())
	}
}

// A task waits for limits while smaller ones take the room in them. After its patience
// the room is left to it; an amount that it could never have is kept for no task.
func TestPatience_WithinLimits(t *testing.T) {
	for patience, runs := range map[time.Duration]bool{never: false, 5 * time.Second: true} {
		y, rng := busy(t, patience, 8)
		y.limit(t, held(4))
		for _, j := range []job{"a", "b"} {
			require.NoError(t, y.s.AddJob(j, 0, 99))
		}
		for _, n := range y.names {
			require.NoError(t, y.s.Add(n, y.tasks[n].Task, y.now))
		}
		vast := y.add(t, "b", resources.Vector{9}, locality.Node(1))
		y.second(t, rng, nil)
		large := y.add(t, "b", resources.Vector{3}, locality.Node(1))
		for range 60 {
			if y.tasks[large].runs {
				break
			}
			y.second(t, rng, nil)
		}
		require.Equal(t, runs, y.tasks[large].runs, patience)
		require.False(t, y.tasks[vast].runs)
	}
}
