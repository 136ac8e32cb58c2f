package schedulers_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cellsched/cellsched/bench/peers/internal/load"
)

// A comparison is only worth something if all do the same work: fill the
// machines, refuse tasks that do not fit, and give room back on release.
func TestRivals_FillRefuseAndGiveBack(t *testing.T) {
	need := load.Need{2, 3, 1}
	for _, r := range rivals() {
		t.Run(r.name, func(t *testing.T) {
			p := r.open(t, setting{capacity: load.Need{4, 8, 2}, machines: 3, needs: make([]load.Need, 8)})
			for task := range 6 {
				require.True(t, p.place(task, &need), "task %d of 6 that fit", task)
			}
			require.False(t, p.place(6, &need), "the cell is full")
			p.release(3)
			require.True(t, p.place(6, &need))
			require.False(t, p.place(7, &need))
		})
	}
}

// Each kind of resource alone refuses a task.
func TestRivals_CheckEachKind(t *testing.T) {
	for _, r := range rivals() {
		t.Run(r.name, func(t *testing.T) {
			for kind := range 3 {
				p := r.open(t, setting{capacity: load.Need{20, 20, 20}, machines: 1, needs: make([]load.Need, 3)})
				need := load.Need{1, 1, 1}
				need[kind] = 15
				require.True(t, p.place(0, &need))
				need[kind] = 6
				require.False(t, p.place(1, &need), "kind %d", kind)
				need[kind] = 5
				require.True(t, p.place(2, &need), "kind %d", kind)
			}
		})
	}
}

func TestRivals_PlaceAsMuchOfAJobAsFits(t *testing.T) {
	need := load.Need{2, 3, 1}
	for _, r := range rivals() {
		t.Run(r.name, func(t *testing.T) {
			p := r.open(t, setting{capacity: load.Need{4, 8, 2}, machines: 3, needs: make([]load.Need, 10)})
			require.Equal(t, 6, p.placeJob(0, &need, 8))
		})
	}
}

// All rivals begin with the same tasks on the same machines.
func TestRivals_BeginWithTheTasksThatRun(t *testing.T) {
	needs := []load.Need{{2, 3, 1}, {4, 8, 2}, {2, 3, 1}, {2, 3, 1}, {2, 3, 1}}
	for _, r := range rivals() {
		t.Run(r.name, func(t *testing.T) {
			p := r.open(t, setting{
				capacity: load.Need{4, 8, 2}, machines: 2, needs: needs, running: []int{0, 1, none, none, none},
			})
			require.True(t, p.place(2, &needs[2]), "next to task 0")
			require.False(t, p.place(3, &needs[3]))
			p.release(1)
			require.True(t, p.place(3, &needs[3]))
			require.True(t, p.place(4, &needs[4]))
			p.release(0)
			require.True(t, p.place(0, &needs[0]))
		})
	}
}

// Nomad's collector runs after so many releases, and the room stays right.
func TestRivals_TurnOverManyTasks(t *testing.T) {
	need := load.Need{2, 3, 1}
	for _, r := range rivals() {
		t.Run(r.name, func(t *testing.T) {
			p := r.open(t, setting{capacity: need, machines: 1, needs: make([]load.Need, 2)})
			for range 2*collected + 1 {
				require.True(t, p.place(0, &need))
				require.False(t, p.place(1, &need))
				p.release(0)
			}
		})
	}
}
