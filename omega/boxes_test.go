package omega_test

import (
	"math/rand/v2"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/cellsched/cellsched/locality"
	"github.com/cellsched/cellsched/omega"
	"github.com/cellsched/cellsched/omega/score"
	"github.com/cellsched/cellsched/resources"
)

// trending are the policies by a score that falls or rises, each with the scan of all
// machines that it has to agree with.
func trending(tb require.TestingT) map[string][2]omega.Policy {
	made := func(f score.Func, err error) score.Func {
		require.NoError(tb, err)
		return f
	}
	largest := resources.Uniform(64)
	falls := map[string]score.Func{
		"best fit": nil, "most allocated": made(score.MostAllocated(score.Weights{1, 3})), "least left": made(score.LeastLeft(largest, score.Weights{})),
		"dot product": score.DotProduct, "all alike": func(_, _, _ *resources.Vector) float64 { return 1 },
		"steps": func(_, free, _ *resources.Vector) float64 { return -float64(free[0] / 7) },
	}
	rises := map[string]score.Func{
		"least allocated": made(score.LeastAllocated(score.Weights{})), "most left": made(score.MostLeft(largest, score.Weights{2, 1})), "Tetris": score.Tetris,
	}
	all := map[string][2]omega.Policy{}
	for name, f := range falls {
		all[name] = [2]omega.Policy{omega.ByFalling(f), omega.ByScore(f)}
	}
	for name, f := range rises {
		all[name] = [2]omega.Policy{omega.ByRising(f), omega.ByScore(f)}
	}
	return all
}

// manyMachines is enough for an index.
const manyMachines = 1200

// filledCell returns a cell with machines of some capacities, filled with random amounts of
// the first kinds, and a scheduler in it.
func filledCell(tb require.TestingT, r *rand.Rand, machines, capacities, kinds int, full func(node int) bool) (*omega.Cell, *omega.Scheduler) {
	cfg := omega.Config{}
	for i := range machines {
		var capacity resources.Vector
		for k := range kinds {
			capacity[k] = 40 + 7*int64((i%capacities)*(k+1)%13) + int64(i%capacities)
		}
		cfg.Machines = append(cfg.Machines, omega.Machine{Name: strconv.Itoa(i), Capacity: capacity})
	}
	cell, err := omega.NewCell(cfg)
	require.NoError(tb, err)
	filler, err := cell.Register("filler", omega.Limits{})
	require.NoError(tb, err)
	var tx omega.Txn
	for m := range cell.Machines() {
		var need resources.Vector
		for k := range kinds {
			if need[k] = m.Capacity[k]; !full(int(m.ID.Node())) {
				need[k] = r.Int64N(m.Capacity[k] + 1)
			}
		}
		if need != (resources.Vector{}) {
			tx.Claim(omega.Claim{Machine: m.ID, Need: need})
		}
	}
	_, err = filler.Commit(&tx)
	require.NoError(tb, err)
	s, err := cell.Register("s", omega.Limits{})
	require.NoError(tb, err)
	return cell, s
}

// A search by a score that falls or rises picks the same machine as a scan of all, after any
// changes of the cell between searches.
func TestByFalling_PicksTheMachineOfAScan(t *testing.T) {
	policies := trending(t)
	rapid.Check(t, func(t *rapid.T) {
		r := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 1))
		kinds := rapid.SampledFrom([]int{1, 2, 3, resources.MaxKinds}).Draw(t, "kinds")
		capacities := rapid.SampledFrom([]int{1, 2, 5, manyMachines}).Draw(t, "capacities")
		full := map[string]func(int) bool{
			"none": func(int) bool { return false }, "most": func(n int) bool { return n%10 > 0 },
			"all but one": func(n int) bool { return n != 777 }, "all": func(int) bool { return true },
		}[rapid.SampledFrom([]string{"none", "none", "most", "all but one", "all"}).Draw(t, "full")]
		cell, s := filledCell(t, r, manyMachines, capacities, kinds, full)
		snap := s.Snapshot()
		check := func() {
			var q omega.Query
			for k := range kinds {
				if r.IntN(3) > 0 {
					q.Need[k] = r.Int64N(40)
				}
			}
			switch r.IntN(6) {
			case 0:
				q.Allow = func(n locality.Node) bool { return n%5 == 0 }
			case 1:
				q.Allow = func(n locality.Node) bool { return n > manyMachines }
			}
			for name, p := range policies {
				want, ok := snap.Find(q, p[1])
				got, found := snap.Find(q, p[0])
				require.Equal(t, ok, found, "%s for %v", name, q.Need)
				require.Equal(t, want.Node(), got.Node(), "%s for %v", name, q.Need)
			}
		}
		ids := make([]omega.MachineID, 0, manyMachines)
		for m := range cell.Machines() {
			ids = append(ids, m.ID)
		}
		check()
		for step := range 12 {
			m := ids[r.IntN(len(ids))]
			switch rapid.IntRange(0, 8).Draw(t, "change") {
			case 0:
				_ = cell.Drain(m)
			case 1:
				for range r.IntN(400) {
					_ = cell.Resume(ids[r.IntN(len(ids))])
				}
			case 2:
				state, _ := cell.State(m)
				_ = cell.SetCapacity(m, state.Capacity.Add(resources.Vector{int64(step)}))
			case 3:
				_, _ = cell.Remove(m)
			case 4:
				for i := range r.IntN(100) {
					id, err := cell.Add(omega.Machine{Name: "new" + strconv.Itoa(step*1000+i), Capacity: resources.Uniform(r.Int64N(60))})
					require.NoError(t, err)
					ids = append(ids, id)
				}
			case 5, 6:
				for range r.IntN(300) {
					snap.Take(ids[r.IntN(len(ids))], resources.Vector{r.Int64N(9), r.Int64N(9)})
				}
			case 7:
				var tx omega.Txn
				for m, free := range snap.Fitting(omega.Query{}) {
					if r.IntN(4) == 0 && free != (resources.Vector{}) {
						tx.Claim(omega.Claim{Machine: m, Need: free})
					}
				}
				_, _ = s.Commit(&tx)
			case 8:
				for a := range s.Allocations() {
					if r.IntN(2) == 0 {
						_ = s.Release(a.ID)
					}
				}
			}
			if r.IntN(2) == 0 {
				snap.Refresh(time.Time{})
			}
			check()
		}
		require.NoError(t, s.Restrict(t.Context(), omega.NewMask(func(yield func(locality.Node) bool) { _ = yield(3) && yield(900) })))
		snap.Refresh(time.Time{})
		check()
	})
}

// Place by a score that falls or rises takes what the same score takes by scans.
func TestByFalling_PlacesLikeScans(t *testing.T) {
	for name, p := range trending(t) {
		t.Run(name, func(t *testing.T) {
			r := rand.New(rand.NewPCG(5, 6))
			_, s := filledCell(t, r, manyMachines, 3, 2, func(int) bool { return false })
			snap := s.Snapshot()
			for _, k := range []int{1, 7, 18, 400, 100_000} {
				q := omega.Query{Need: resources.Vector{9, 8}}
				place := func(p omega.Policy) (all []int, n int) {
					snap.Refresh(time.Time{})
					n = snap.Place(q, p, k, func(m omega.MachineID, tasks int) { all = append(all, int(m.Node()), tasks) })
					return all, n
				}
				want, n := place(p[1])
				got, placed := place(p[0])
				require.Equal(t, n, placed)
				require.Equal(t, want, got)
			}
		})
	}
}

// A search by a bound looks at few machines of many, calls the score seldom, and allocates
// nothing.
func TestByFalling_LooksAtFewMachines(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	_, s := filledCell(t, r, 20_000, 1, 3, func(int) bool { return false })
	looks := 0
	p := omega.ByFalling(func(need, free, _ *resources.Vector) float64 {
		looks++
		return -float64(free[0] + free[1] + free[2])
	})
	snap := s.Snapshot()
	q := omega.Query{Need: resources.Vector{5, 5, 5}}
	_, ok := snap.Find(q, p)
	require.True(t, ok)
	looks = 0
	require.Zero(t, testing.AllocsPerRun(10, func() { snap.Find(q, p) }))
	require.Less(t, looks/11, 2000)
	for range 100 { // and goes on so, as machines change
		m, ok := snap.Find(q, p)
		require.True(t, ok)
		require.True(t, snap.Take(m, q.Need))
	}
	looks = 0
	snap.Find(q, p)
	require.Less(t, looks, 2000)
}

// BenchmarkByFalling measures a best fit on 50,000 machines that are 85 % full, in as
// many kinds as the need asks for. It compares a scan of all machines with a search by
// bounds. With changes=0 the snapshot stays as it is; else so many machines change before
// each search. The changes are not timed, except for the part that the search has to
// catch up with.
func BenchmarkByFalling(b *testing.B) {
	const machines = 50_000
	for _, kinds := range []int{1, 2, 3, 4, 8} {
		for _, changes := range []int{0, 1, 100} {
			r := rand.New(rand.NewPCG(1, 2))
			cfg := omega.Config{}
			for i := range machines {
				var capacity resources.Vector
				for k := range kinds {
					capacity[k] = 10_000
				}
				cfg.Machines = append(cfg.Machines, omega.Machine{Name: strconv.Itoa(i), Capacity: capacity})
			}
			cell, err := omega.NewCell(cfg)
			require.NoError(b, err)
			filler, err := cell.Register("filler", omega.Limits{})
			require.NoError(b, err)
			var tx omega.Txn
			ids := make([]omega.MachineID, 0, machines)
			for m := range cell.Machines() {
				var need resources.Vector
				for k := range kinds {
					need[k] = 7_000 + r.Int64N(3_001)
				}
				tx.Claim(omega.Claim{Machine: m.ID, Need: need})
				ids = append(ids, m.ID)
			}
			_, err = filler.Commit(&tx)
			require.NoError(b, err)
			s, err := cell.Register("s", omega.Limits{})
			require.NoError(b, err)
			snap := s.Snapshot()
			for _, by := range []struct {
				name string
				p    omega.Policy
			}{{"scan", omega.ByScore(nil)}, {"bound", omega.BestFit()}} {
				b.Run("kinds="+strconv.Itoa(kinds)+"/changes="+strconv.Itoa(changes)+"/by="+by.name, func(b *testing.B) {
					needs := rand.New(rand.NewPCG(3, 4))
					snap.Refresh(time.Time{})
					snap.Find(omega.Query{}, by.p)
					b.ReportAllocs()
					for b.Loop() {
						var need resources.Vector
						for k := range kinds {
							need[k] = 1 + needs.Int64N(1_500)
						}
						if changes > 0 {
							b.StopTimer()
							for range changes {
								m := ids[needs.IntN(machines)]
								if free, _ := snap.Free(m); free[0] > 0 {
									snap.Take(m, resources.Vector{1})
								}
							}
							b.StartTimer()
						}
						snap.Find(omega.Query{Need: need}, by.p)
					}
				})
			}
		}
	}
}
