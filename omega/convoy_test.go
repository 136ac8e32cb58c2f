package omega_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/cellsched/cellsched/omega"
	"github.com/cellsched/cellsched/resources"
)

// filling is one scheduler of several that fill a cell: it searches in one step
// and commits in the next, so that others can come in between.
type filling struct {
	tb     testing.TB
	s      *omega.Scheduler
	policy omega.Policy
	rng    *rand.Rand
	width  int // tasks of a job, placed in one commit
	gang   bool

	tx      omega.Txn
	pending []omega.Claim
	left    int // tasks to place

	grants, conflicts int
}

func (f *filling) find() {
	q := omega.Query{Need: resources.Vector{1 + f.rng.Int64N(40), 1 + f.rng.Int64N(64), f.rng.Int64N(5) / 4}}
	snap := f.s.Snapshot()
	for fresh := false; ; fresh = true {
		f.pending = f.pending[:0]
		placed := snap.Place(q, f.policy, min(f.width, f.left), func(m omega.MachineID, tasks int) {
			for range tasks {
				f.pending = append(f.pending, omega.Claim{Machine: m, Need: q.Need})
			}
		})
		if placed == min(f.width, f.left) {
			return
		}
		require.False(f.tb, fresh, "no room left")
		snap.Refresh(time.Time{})
	}
}

func (f *filling) commit() {
	f.tx.Reset()
	f.tx.Gang = f.gang
	for _, c := range f.pending {
		f.tx.Claim(c)
	}
	granted, err := f.s.Commit(&f.tx)
	require.NoError(f.tb, err)
	if granted < len(f.pending) {
		f.s.Snapshot().Refresh(time.Time{})
		if f.gang {
			f.conflicts++
		} else {
			f.conflicts += len(f.pending) - granted
		}
	}
	f.pending = f.pending[:0]
	f.grants += granted
	f.left -= granted
}

// step searches or commits, and returns false once all is placed.
func (f *filling) step() bool {
	if len(f.pending) > 0 {
		f.commit()
	} else if f.left > 0 {
		f.find()
	}
	return f.left > 0
}

// fillings returns schedulers that are to fill machines with so many tasks each,
// which takes 85 % of them.
func fillings(tb testing.TB, schedulers, machines, tasks int, policy omega.Policy) []*filling {
	tb.Helper()
	all := make([]*filling, schedulers)
	cell, _ := newCell(tb, machines, resources.Vector{
		int64(tasks) * 41 * 10 / 17, int64(tasks) * 65 * 10 / 17, int64(tasks) / 2,
	})
	for i := range all {
		all[i] = &filling{
			tb: tb, s: register(tb, cell, fmt.Sprint("scheduler-", i)), policy: policy, width: 1,
			rng: rand.New(rand.NewPCG(7, uint64(i))), left: machines * tasks / schedulers,
		}
	}
	return all
}

// conflictsPerMillion returns the conflicts of schedulers that fill a cell together,
// in a million placements.
func conflictsPerMillion(all []*filling) float64 {
	grants, conflicts := 0, 0
	for _, f := range all {
		grants, conflicts = grants+f.grants, conflicts+f.conflicts
	}
	return 1e6 * float64(conflicts) / float64(grants)
}

// run takes turns until all is placed. Next says which of n schedulers has a turn.
func run(all []*filling, next func(turn, n int) int) {
	left := slices.Clone(all)
	for turn := 0; len(left) > 0; turn++ {
		if i := next(turn, len(left)); !left[i].step() {
			left = slices.Delete(left, i, i+1)
		}
	}
}

// Two schedulers with next fit that come to one machine would go on from machine
// to machine together. In such a convoy each commit waits for the other's. It had
// 1,700 to 7,000 conflicts in a million placements.
func TestNextFit_SchedulersPart(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	orders := map[string]func(turn, n int) int{
		"in turn":        func(turn, n int) int { return turn % n },
		"at random":      func(_, n int) int { return rng.IntN(n) },
		"in runs":        func(turn, n int) int { return turn / 501 % n },
		"one is fast":    func(turn, n int) int { return turn % 4 / 3 * rng.IntN(n) },
		"one is slow":    func(turn, n int) int { return min(n-1, turn%(8*n)) },
		"one comes late": func(turn, n int) int { return turn % max(1, min(n, n-1+turn/60_000)) },
	}
	for schedulers, most := range map[int]float64{2: 50, 3: 50, 8: 120} {
		for order, next := range orders {
			t.Run(fmt.Sprintf("schedulers=%d/%s", schedulers, order), func(t *testing.T) {
				all := fillings(t, schedulers, 500, 200, omega.NextFit())
				run(all, next)
				require.Less(t, conflictsPerMillion(all), most)
			})
		}
	}
}

// A job goes over several machines, so that schedulers that place jobs would meet
// on many of them: 30,000 conflicts of claims, or 2,500 of gangs.
func TestNextFit_SchedulersOfJobsPart(t *testing.T) {
	for gang, most := range map[bool]float64{false: 3000, true: 300} {
		t.Run(fmt.Sprintf("gang=%t", gang), func(t *testing.T) {
			all := fillings(t, 2, 100, 200, omega.NextFit())
			for _, f := range all {
				f.width, f.gang = 20, gang
			}
			run(all, func(turn, n int) int { return turn % n })
			require.Less(t, conflictsPerMillion(all), most)
		})
	}
}

// First fit without randomness begins one machine further each time, whatever other
// searches come in between.
func TestFirstFit_KeepsItsTurnApartFromNextFit(t *testing.T) {
	cell, ids := newCell(t, 10, resources.Vector{4})
	snap := register(t, cell, "s").Snapshot()
	q := omega.Query{Need: resources.Vector{1}}
	for i := range 5 {
		next, ok := snap.Find(q, omega.NextFit())
		require.True(t, ok)
		require.Equal(t, ids[0], next)
		first, ok := snap.Find(q, omega.FirstFit(nil))
		require.True(t, ok)
		require.Equal(t, ids[i+1], first)
	}
}

// The first searches of schedulers begin apart from each other, however many there
// are.
func TestSnapshot_BeginsApartFromOthers(t *testing.T) {
	for _, machines := range []int{100, 500, 5000} {
		cell, _ := newCell(t, machines, resources.Vector{4})
		var begin []int
		for i := range 16 {
			m, ok := register(t, cell, fmt.Sprint("s", i)).Snapshot().Find(omega.Query{Need: resources.Vector{1}}, omega.NextFit())
			require.True(t, ok)
			for _, other := range begin {
				gap := (int(m.Node()) - other + machines) % machines
				// The closest two of n multiples of the golden ratio are 0.38 / n apart or more.
				require.GreaterOrEqual(t, min(gap, machines-gap)+1, machines*38/100/(i+1), "%d machines, %v and %d", machines, begin, m.Node())
			}
			begin = append(begin, int(m.Node()))
		}
	}
}
