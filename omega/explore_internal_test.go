//go:build explore

package omega

import (
	"fmt"
	"testing"

	"github.com/anishathalye/porcupine"
	"github.com/stretchr/testify/require"

	"github.com/cellsched/cellsched/omega/internal/explore"
	"github.com/cellsched/cellsched/resources"
)

// Package omega in every order of its atomic operations, with few threads that
// meet on few machines. Every operation is recorded, and their results must be
// possible for the same operations one after the other.

// exploreMachines is the number of machines in each scenario.
const exploreMachines = 3

// ask is one operation, of three kinds. It is the claims of one commit, one unit on each
// of the machines, or a read of the room on the only machine. Without machines it is a
// cut of the cell.
type ask struct {
	machines []int
	read     bool
}

// room is the model: the free room of each machine. A commit of one claim or a gang is
// granted if there is room for all, and only then.
type room [exploreMachines]int64

func (f room) step(a ask, output any) (bool, room) {
	switch {
	case len(a.machines) == 0:
		return output.(room) == f, f
	case a.read:
		return output.(int64) == f[a.machines[0]], f
	}
	fits := true
	for _, m := range a.machines {
		fits = fits && f[m] > 0
	}
	if fits {
		for _, m := range a.machines {
			f[m]--
		}
	}
	return output.(bool) == fits, f
}

func (f room) explains(history []explore.Operation) bool {
	ops := make([]porcupine.Operation, len(history))
	for i, op := range history {
		ops[i] = porcupine.Operation{ClientId: op.Thread + 1, Input: op.Input, Output: op.Output, Call: op.Call, Return: op.Return}
	}
	return porcupine.CheckOperations(porcupine.Model{
		Init: func() any { return f },
		Step: func(state, input, output any) (bool, any) { return state.(room).step(input.(ask), output) },
	}, ops)
}

// stage is the cell of one run and the schedulers on it.
type stage struct {
	run  *explore.Run
	cell *Cell
	free room
}

func newStage(r *explore.Run, capacity int64) *stage {
	cfg := Config{}
	st := &stage{run: r}
	for m := range exploreMachines {
		cfg.Machines = append(cfg.Machines, Machine{Name: fmt.Sprint(m), Capacity: resources.Vector{capacity}})
		st.free[m] = capacity
	}
	st.cell = exploredCell(cfg)
	return st
}

// exploredTag is that of all explored cells, so that a transaction can be made
// before its cell.
const exploredTag = 1

func exploredCell(cfg Config) *Cell {
	c := must(NewCell(Config{}))
	c.tag = exploredTag
	for _, m := range cfg.Machines {
		must(c.Add(m))
	}
	return c
}

// explored returns the ID of a machine of an explored cell.
func explored(machine uint32) MachineID { return machineID(machine, 0, exploredTag) }

// must serves calls that cannot fail in a scenario's set-up; the explorer reports a
// failure.
func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

// ask does one operation and records it.
func (st *stage) ask(s *Scheduler, a ask) {
	st.run.Do(a, func() any {
		switch {
		case len(a.machines) == 0:
			var f room
			for m := range st.cell.Cut().Machines() {
				f[m.ID.Node()] = m.Free[0]
			}
			return f
		case a.read:
			state, _ := st.cell.State(st.cell.machine(uint32(a.machines[0]), 0))
			return state.Free[0]
		}
		tx := Txn{Gang: len(a.machines) > 1}
		for _, m := range a.machines {
			tx.Claim(Claim{Machine: st.cell.machine(uint32(m), 0), Need: resources.Vector{1}})
		}
		return must(s.Commit(&tx)) == len(a.machines)
	})
}

// thread adds a scheduler that asks for something, one thing after the other.
func (st *stage) thread(name string, asks ...ask) {
	s := st.register(name)
	st.run.Go(name, func() {
		for _, a := range asks {
			st.ask(s, a)
		}
	})
}

// check verifies the state at the end: the cell's own books, and that the model explains
// the history.
func (st *stage) check() error {
	for m := range exploreMachines {
		st.ask(nil, readOf(m))
	}
	if !st.free.explains(st.run.History()) {
		return fmt.Errorf("not linearizable: %+v", st.run.History())
	}
	return st.cell.Check()
}

// cutOf is the ask for a cut.
var cutOf ask

func claimOf(machines ...int) ask { return ask{machines: machines} }
func readOf(machine int) ask      { return ask{machines: []int{machine}, read: true} }

func TestExplore_ClaimsAndReadsAreLinearizable(t *testing.T) {
	tests := map[string]struct {
		capacity, preemptions int
		threads               [][]ask
	}{
		"two gangs that exclude each other": {1, 3, [][]ask{{claimOf(0, 1)}, {claimOf(1, 2)}}},
		"two gangs that both fit":           {2, 3, [][]ask{{claimOf(0, 1)}, {claimOf(1, 2)}}},
		"three gangs in a ring":             {1, 3, [][]ask{{claimOf(0, 1)}, {claimOf(1, 2)}, {claimOf(0, 2)}}},
		"a gang and a claim":                {1, 3, [][]ask{{claimOf(0, 1)}, {claimOf(1)}}},
		"a gang and a cut":                  {1, 3, [][]ask{{claimOf(0, 1)}, {cutOf}}},
		"two gangs and a cut":               {1, 2, [][]ask{{claimOf(0, 1)}, {claimOf(1, 2)}, {cutOf}}},
		"two gangs and a reader":            {1, 2, [][]ask{{claimOf(0, 1)}, {claimOf(1, 2)}, {readOf(0), readOf(1)}}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			exploreAll(t, tt.preemptions, func(r *explore.Run) {
				st := newStage(r, int64(tt.capacity))
				for i, asks := range tt.threads {
					st.thread(string(rune('a'+i)), asks...)
				}
				r.Check(st.check)
			})
		})
	}
}

// exploreAll runs a scenario in all schedules with so many preemptions.
func exploreAll(t *testing.T, preemptions int, scenario func(*explore.Run)) {
	t.Helper()
	if testing.Short() {
		preemptions = min(preemptions, 2)
	}
	res, err := explore.Explore(explore.Config{Preemptions: preemptions}, scenario)
	require.NoError(t, err)
	require.NotZero(t, res.Steps, "package omega does without package atomics")
	t.Logf("%d threads, %d preemptions: %d schedules, the longest of %d steps", res.Threads, preemptions, res.Runs, res.Steps)
}
