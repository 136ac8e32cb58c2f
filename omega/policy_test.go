package omega_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/cellsched/cellsched/locality"
	"github.com/cellsched/cellsched/omega"
	"github.com/cellsched/cellsched/resources"
)

// brute picks machines as the policies say, by going through a list of those
// that will do, by number.
type brute struct {
	n      int
	will   []locality.Node
	score  map[locality.Node]float64
	cursor int // of next fit
	turn   int // of first fit
	rng    *rand.Rand
}

// from returns the first machine that will do from a place on, around the end.
func (b *brute) from(start int) locality.Node {
	i, _ := slices.BinarySearch(b.will, locality.Node(start))
	return b.will[i%len(b.will)]
}

func (b *brute) nextFit() locality.Node {
	b.cursor = int(b.from(b.cursor))
	return b.will[slices.Index(b.will, locality.Node(b.cursor))]
}

func (b *brute) firstFit() locality.Node {
	b.turn = (b.turn + 1) % b.n
	return b.from(b.turn)
}

func (b *brute) best(among []locality.Node) locality.Node {
	return slices.MaxFunc(among, func(x, y locality.Node) int {
		switch {
		case b.score[x] > b.score[y]:
			return 1
		case b.score[x] < b.score[y]:
			return -1
		}
		return int(y) - int(x) // the lowest number among equals
	})
}

func (b *brute) bestOf(k int) locality.Node {
	var drawn []locality.Node
	for range k {
		drawn = append(drawn, b.from(b.rng.IntN(b.n)))
	}
	high := b.score[b.best(drawn)]
	return drawn[slices.IndexFunc(drawn, func(n locality.Node) bool { return b.score[n] == high })]
}

// Each policy picks the machine that its description says, and no other: where the
// search begins, how it goes on, which machine wins among equals.
func TestFind_PicksWhatThePolicySays(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 150).Draw(t, "machines")
		cell, err := omega.NewCell(omega.Config{})
		require.NoError(t, err)
		for i := range n {
			_, err := cell.Add(omega.Machine{Name: fmt.Sprint(i), Capacity: resources.Vector{rapid.Int64Range(0, 6).Draw(t, "cpu")}})
			require.NoError(t, err)
		}
		s, err := cell.Register("s", omega.Limits{}) // it begins at the first machine
		require.NoError(t, err)
		snap := s.Snapshot()
		b := &brute{n: n, rng: rand.New(rand.NewPCG(1, 2))}
		rng := rand.New(rand.NewPCG(1, 2))
		for range rapid.IntRange(1, 60).Draw(t, "searches") {
			need := resources.Vector{rapid.Int64Range(0, 6).Draw(t, "need")}
			b.will, b.score = nil, map[locality.Node]float64{}
			for m := range snap.Machines() {
				if need.Fits(m.Free) {
					b.will = append(b.will, m.ID.Node())
					b.score[m.ID.Node()] = float64(m.Free[0] % 3) // many are equal
				}
			}
			score := func(_, free, _ *resources.Vector) float64 { return float64(free[0] % 3) }
			policies := []struct {
				name   string
				policy omega.Policy
				want   func() locality.Node
			}{
				{"next fit", omega.NextFit(), b.nextFit},
				{"first fit", omega.FirstFit(nil), b.firstFit},
				{"first fit at random", omega.FirstFit(rng), func() locality.Node { return b.from(b.rng.IntN(n)) }},
				{"by score", omega.ByScore(score), func() locality.Node { return b.best(b.will) }},
				{"best of 1", omega.BestOf(0, score, rng), func() locality.Node { return b.bestOf(1) }},
				{"best of 4", omega.BestOf(4, score, rng), func() locality.Node { return b.bestOf(4) }},
			}
			p := rapid.SampledFrom(policies).Draw(t, "policy")
			m, ok := snap.Find(omega.Query{Need: need}, p.policy)
			require.Equal(t, len(b.will) > 0, ok, p.name)
			if !ok {
				switch p.name { // a search that finds nothing has begun all the same
				case "first fit":
					b.turn = (b.turn + 1) % n
				case "first fit at random", "best of 1", "best of 4":
					b.rng.IntN(n)
				}
				continue
			}
			require.Equal(t, p.want(), m.Node(), p.name)
			require.True(t, snap.Take(m, need))
		}
	})
}

// Of machines that score the same the lowest number is picked, also among those
// on a list, in whatever order that is.
func TestByScore_PicksTheLowestNumberAmongEquals(t *testing.T) {
	cell, ids := newCell(t, 9, resources.Vector{4})
	for name, p := range map[string]omega.Policy{
		"best fit": omega.BestFit(), "worst fit": omega.WorstFit(),
		"own": omega.ByScore(func(_, _, _ *resources.Vector) float64 { return 1 }),
	} {
		snap := register(t, cell, name).Snapshot()
		for what, q := range map[string]omega.Query{
			"all":    {Need: resources.Vector{1}},
			"a list": {Need: resources.Vector{1}, Among: amongst([]locality.Node{7, 3, 5, 3})},
		} {
			want := ids[0]
			if q.Among != nil {
				want = ids[3]
			}
			m, ok := snap.Find(q, p)
			require.True(t, ok)
			require.Equal(t, want, m, "%s, %s", name, what)
			snap.Place(q, p, 1, func(m omega.MachineID, _ int) { require.Equal(t, want, m, "%s, %s", name, what) })
			snap.Refresh(time.Time{})
		}
	}
}

// A job among listed machines, and those that a filter and the mask leave, is
// placed as its tasks one by one.
func TestPlace_AmongIsFindAndTakeForEachTask(t *testing.T) {
	for name, policy := range map[string]omega.Policy{
		"next fit": omega.NextFit(), "best fit": omega.BestFit(), "worst fit": omega.WorstFit(),
		"own": omega.ByScore(func(_, free, _ *resources.Vector) float64 { return float64(free[0] % 3) }),
	} {
		t.Run(name, func(t *testing.T) {
			rapid.Check(t, func(t *rapid.T) {
				n := rapid.IntRange(1, 40).Draw(t, "machines")
				cell, err := omega.NewCell(omega.Config{})
				require.NoError(t, err)
				for i := range n {
					_, err := cell.Add(omega.Machine{Name: fmt.Sprint(i), Capacity: resources.Vector{rapid.Int64Range(0, 9).Draw(t, "cpu")}})
					require.NoError(t, err)
				}
				// Beyond the last there is none.
				list := rapid.SliceOfN(rapid.Uint32Range(0, uint32(n+2)), 0, 60).Draw(t, "list")
				q := omega.Query{
					Need: resources.Vector{rapid.Int64Range(1, 4).Draw(t, "need")},
					Among: func(yield func(locality.Node) bool) {
						for _, node := range list {
							if !yield(locality.Node(node)) {
								return
							}
						}
					},
					Allow: func(node locality.Node) bool { return node%5 != 0 },
				}
				mask := omega.NewMask(func(yield func(locality.Node) bool) {
					for i := range n {
						if i%7 != 0 && !yield(locality.Node(i)) {
							return
						}
					}
				})
				k := rapid.IntRange(-1, 60).Draw(t, "tasks")
				one, all := map[omega.MachineID]int{}, map[omega.MachineID]int{}
				s, err := cell.Register("s", omega.Limits{Machines: mask})
				require.NoError(t, err)
				snap := s.Snapshot()
				for range k {
					m, ok := snap.Find(q, policy)
					if !ok {
						break
					}
					require.True(t, snap.Take(m, q.Need))
					one[m]++
				}
				snap.Refresh(time.Time{})
				placed := snap.Place(q, policy, k, func(m omega.MachineID, tasks int) { all[m] += tasks })
				require.Equal(t, one, all)
				sum := 0
				for m, tasks := range all {
					require.Contains(t, list, uint32(m.Node()))
					require.True(t, q.Allow(m.Node()) && mask.Has(m.Node()))
					sum += tasks
				}
				require.Equal(t, sum, placed)
			})
		})
	}
}

// A need of nothing fits wherever claims are taken, any number of times. A need of less
// than nothing fits nowhere.
func TestPlace_NeedsOfNothingAndLess(t *testing.T) {
	cell, ids := newCell(t, 3, resources.Vector{2, 2})
	other := register(t, cell, "other")
	for _, m := range ids {
		held(t, other, m, 0, resources.Vector{2, 2})
	}
	require.NoError(t, cell.Drain(ids[0]))
	_, err := cell.Remove(ids[1])
	require.NoError(t, err)
	snap := register(t, cell, "s").Snapshot()
	rng := rand.New(rand.NewPCG(1, 2))
	for name, p := range map[string]omega.Policy{
		"next fit": omega.NextFit(), "first fit": omega.FirstFit(nil), "first fit at random": omega.FirstFit(rng),
		"best fit": omega.BestFit(), "worst fit": omega.WorstFit(), "best of 3": omega.BestOf(3, nil, rng),
	} {
		t.Run(name, func(t *testing.T) {
			m, ok := snap.Find(omega.Query{}, p)
			require.True(t, ok)
			require.Equal(t, ids[2], m)
			got := 0
			require.Equal(t, 1000, snap.Place(omega.Query{}, p, 1000, func(m omega.MachineID, tasks int) {
				require.Equal(t, ids[2], m)
				got += tasks
			}))
			require.Equal(t, 1000, got)
			for _, need := range []resources.Vector{{-1}, {0, -1}, {1, -1}} {
				for _, q := range []omega.Query{{Need: need}, {Need: need, Among: amongst([]locality.Node{0, 1, 2})}} {
					_, ok := snap.Find(q, p)
					require.False(t, ok)
					require.Zero(t, snap.Place(q, p, 5, func(omega.MachineID, int) { t.Fatal("placed") }))
					require.Zero(t, snap.Explain(q).Fit)
				}
				require.False(t, snap.Take(ids[2], need))
			}
			room, _ := snap.Free(ids[2])
			require.Zero(t, room, "nothing is taken, nothing is added")
		})
	}
}
