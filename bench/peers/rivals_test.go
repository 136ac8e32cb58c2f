package peers_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cellsched/cellsched/bench/peers/internal/load"
)

// everybody returns the rivals of all benchmarks.
func everybody() []rival {
	return append(rivals(), rival{"mutex-append", openAppend}, rival{"mutex-checked", openChecked},
		rival{"memdb", openMemDB})
}

// A comparison is only worth something if all do the same work: fill the
// machines, refuse tasks that do not fit, and give room back on release.
func TestRivals_FillRefuseAndGiveBack(t *testing.T) {
	capacity, need := load.Need{4, 8, 2}, load.Need{2, 3, 1}
	for _, r := range everybody() {
		t.Run(r.name, func(t *testing.T) {
			p := r.one(t, setting{capacity: capacity, machines: 3, tasks: 8})
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

func TestRivals_PlaceJobsAndGangs(t *testing.T) {
	capacity, need := load.Need{4, 8, 2}, load.Need{2, 3, 1}
	for _, r := range rivals()[:2] {
		t.Run(r.name, func(t *testing.T) {
			s := setting{capacity: capacity, machines: 3, tasks: 10}
			require.Equal(t, 6, r.one(t, s).(jobPlacer).placeJob(0, &need, 8))

			p := r.one(t, s)
			g := p.(gangPlacer)
			require.False(t, g.placeGang(0, &need, 4), "four tasks on three machines")
			require.True(t, g.placeGang(0, &need, 3))
			for task := 3; task < 6; task++ {
				require.True(t, p.place(task, &need), "a gang takes one place on each machine")
			}
			require.False(t, p.place(6, &need))
			g.releaseGang(0, 3)
			require.True(t, g.placeGang(0, &need, 3), "each machine has room again")
		})
	}
}

// A scheduler that thinks without holding anything finds out that others were faster.
func TestRivals_ThinkAndLookAgain(t *testing.T) {
	need := load.Need{1, 1, 1}
	for _, r := range []rival{{"cellsched", openCell}, {"mutex-checked", openChecked}} {
		t.Run(r.name, func(t *testing.T) {
			placers := r.open(t, setting{capacity: need, machines: 2, tasks: 3, schedulers: 2})
			p, other := placers[0], placers[1]
			thoughts := 0
			require.False(t, p.(thinker).placeThinking(0, &need, func() {
				if thoughts++; thoughts == 1 {
					require.True(t, other.place(1, &need))
					require.True(t, other.place(2, &need))
				}
			}))
			require.Equal(t, 1, p.conflicts())
			other.release(1)
			require.True(t, p.place(0, &need))
		})
	}
}

func TestCrowd_StaysBelowItsLimit(t *testing.T) {
	for _, r := range rivals() {
		rng := seeded()
		c := newCrowd(t, r, load.Tailed(rng, 200), 10, 0.97)
		for range 1000 {
			c.step(rng)
		}
		require.Greater(t, len(c.live), 100, r.name)
		var sum load.Need
		for _, task := range c.live {
			for k, q := range c.needs[c.what[task]] {
				sum[k] += q
			}
		}
		require.Equal(t, sum, c.taken, r.name)
		require.Positive(t, c.refused, r.name)
	}
}
