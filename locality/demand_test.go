package locality_test

import (
	"cmp"
	"math"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/cellsched/cellsched/locality"
)

func TestDemand_SuggestsByItsDefinition(t *testing.T) {
	demand, err := locality.NewDemand[string](10)
	require.NoError(t, err)
	var replicas locality.Replicas[string]
	record := func(block string, bytes int64, n locality.Node, l locality.Level) {
		require.NoError(t, demand.Record(block, bytes, n, l))
	}
	require.Empty(t, demand.HotSpots(&replicas, 5))

	// Two replicas served 300 each and 500 more were missed: a third would
	// serve 300. Most was missed on node 1, which has a replica by now.
	replicas.Add("hot", 1)
	replicas.Add("hot", 2)
	record("hot", 600, 2, locality.NodeLocal)
	record("hot", 300, 1, locality.RackLocal)
	record("hot", 150, 5, locality.Anywhere)
	record("hot", 50, 4, locality.Anywhere)
	// Held nowhere that is known: what node 7 missed is all that is sure.
	record("lost", 100, 7, locality.Anywhere)
	record("lost", 100, 6, locality.Anywhere)
	record("lost", 20, 7, locality.Anywhere)
	// Always local, and missed only where it is by now: nothing to gain.
	replicas.Add("calm", 3)
	record("calm", 5000, 3, locality.NodeLocal)
	replicas.Add("late", 8)
	record("late", 1000, 8, locality.ZoneLocal)
	// More missed on one node than each of the old ones serves.
	for n := range locality.Node(4) {
		replicas.Add("far", 20+n)
	}
	record("far", 40, 20, locality.NodeLocal)
	record("far", 80, 9, locality.Anywhere)

	want := []locality.HotSpot[string]{{"hot", 5, 300}, {"lost", 7, 120}, {"far", 9, 80}}
	require.Equal(t, want, demand.HotSpots(&replicas, 5))
	require.Equal(t, want[:2], demand.HotSpots(&replicas, 2))
	require.Empty(t, demand.HotSpots(&replicas, -1))

	require.Equal(t, []string{"new", "far", "lost", "hot", "late", "calm"},
		demand.Evict(&replicas, "calm", "hot", "late", "lost", "far", "new"))

	demand.Fade()
	want = []locality.HotSpot[string]{{"hot", 5, 150}, {"lost", 7, 60}, {"far", 9, 40}}
	require.Equal(t, want, demand.HotSpots(&replicas, 5))
	for range 20 {
		demand.Fade()
	}
	require.Empty(t, demand.HotSpots(&replicas, 5))
}

func TestDemand_BadInputIsNamedAndChangesNothing(t *testing.T) {
	_, err := locality.NewDemand[int](0)
	require.ErrorContains(t, err, "locality: demand for at most 0 blocks, want at least 1")
	var zero locality.Demand[int]
	require.NoError(t, zero.Record(1, 10, 3, 1))
	require.Empty(t, zero.HotSpots(new(locality.Replicas[int]), 9))
	require.Equal(t, []int{2, 1}, zero.Evict(new(locality.Replicas[int]), 2, 1))

	demand, err := locality.NewDemand[int](1)
	require.NoError(t, err)
	require.NoError(t, demand.Record(1, 10, 3, 1))
	require.ErrorContains(t, demand.Record(2, -1, 3, 1), "locality: record -1 bytes of block 2, want 0 or more")
	require.NoError(t, demand.Record(2, 0, 3, 1), "is not read, and takes no block's place")
	var replicas locality.Replicas[int]
	require.Equal(t, []locality.HotSpot[int]{{1, 3, 10}}, demand.HotSpots(&replicas, 9))
	require.NoError(t, demand.Record(1, math.MaxInt64, 3, 1))
	require.NoError(t, demand.Record(1, math.MaxInt64, 4, 0))
	require.Equal(t, int64(math.MaxInt64), demand.HotSpots(&replicas, 9)[0].Gain)
}

// With any input and few counters, reported bytes were missed. A block with more
// than its share of all bytes is reported.
func TestDemand_IsNeverTooMuchAndFindsLargeBlocks(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		most := rapid.IntRange(1, 5).Draw(t, "most")
		demand, err := locality.NewDemand[int](most)
		require.NoError(t, err)
		var replicas locality.Replicas[int]
		missed, missedOn, total, faded := map[int]int64{}, map[[2]int]int64{}, int64(0), false
		t.Repeat(map[string]func(*rapid.T){
			"record": func(t *rapid.T) {
				rng := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 1))
				for range 40 {
					// Of each block one node reads more than the others.
					b, bytes := rng.IntN(6), 1+rng.Int64N(50)
					n := b + max(0, rng.IntN(12)-4)
					require.NoError(t, demand.Record(b, bytes, locality.Node(n), 2))
					missed[b] += bytes
					missedOn[[2]int{b, n}] += bytes
					total += bytes
				}
			},
			"fade": func(t *rapid.T) {
				if rapid.IntRange(0, 4).Draw(t, "rarely") > 0 {
					return
				}
				demand.Fade()
				for b := range missedOn {
					missedOn[b] /= 2
				}
				faded = true // rounding: no promise about shares from here on
			},
			"": func(t *rapid.T) {
				spots := demand.HotSpots(&replicas, 100)
				require.LessOrEqual(t, len(spots), most)
				require.True(t, slices.IsSortedFunc(spots, func(a, b locality.HotSpot[int]) int { return cmp.Compare(b.Gain, a.Gain) }))
				for _, s := range spots {
					require.LessOrEqual(t, s.Gain, missedOn[[2]int{s.Block, int(s.Node)}])
				}
				for b, bytes := range missed {
					if faded || bytes*int64(most) <= total {
						continue
					}
					require.Less(t, slices.Index(demand.Evict(&replicas, b, -1), -1), 1, "block %d with %d of %d bytes is counted", b, bytes, total)
				}
			},
		})
	})
}

// Nodes with free slots take, one after the other, the first local task in line, or
// else the first task: a queue that waits as long as it can. It returns the bytes
// read locally, and the Demand of the reads.
func drain(t *testing.T, replicas *locality.Replicas[int]) (local int64, demand *locality.Demand[int]) {
	t.Helper()
	const nodes, blocks, tasks, line = 50, 100, 20_000, 30
	rng := rand.New(rand.NewPCG(5, 6))
	zipf := rand.NewZipf(rng, 1.5, 2, blocks-1)
	demand, err := locality.NewDemand[int](40)
	require.NoError(t, err)
	var queue []int
	for range tasks {
		for len(queue) < line {
			queue = append(queue, int(zipf.Uint64()))
		}
		n, at, level := locality.Node(rng.IntN(nodes)), 0, locality.Anywhere
		for i, b := range queue {
			if slices.Contains(replicas.Nodes(b), n) {
				at, level = i, locality.NodeLocal
				break
			}
		}
		if level == locality.NodeLocal {
			local++
		}
		require.NoError(t, demand.Record(queue[at], 1, n, level))
		queue = slices.Delete(queue, at, at+1)
	}
	return local, demand
}

// What more replicas gain where they are suggested is about what was said, and
// much more than the same number gains elsewhere.
func TestHotSpots_GainAsMuchAsSuggested(t *testing.T) {
	place := func() *locality.Replicas[int] {
		replicas := new(locality.Replicas[int])
		rng := rand.New(rand.NewPCG(7, 8))
		for b := range 100 {
			for len(replicas.Nodes(b)) < 3 {
				replicas.Add(b, locality.Node(rng.IntN(50)))
			}
		}
		return replicas
	}
	const more = 10
	before, demand := drain(t, place())
	promised := int64(0)
	suggested := place()
	for _, s := range demand.HotSpots(suggested, more) {
		require.True(t, suggested.Add(s.Block, s.Node))
		promised += s.Gain
	}
	after, _ := drain(t, suggested)

	random := place()
	rng := rand.New(rand.NewPCG(9, 10))
	for added := 0; added < more; {
		if random.Add(rng.IntN(100), locality.Node(rng.IntN(50))) {
			added++
		}
	}
	elsewhere, _ := drain(t, random)
	t.Logf("local %d of 20000; promised %d more, gained %d; elsewhere %d", before, promised, after-before, elsewhere-before)
	require.Greater(t, after-before, promised/2)
	require.Less(t, after-before, 2*promised)
	require.Greater(t, after-before, 3*(elsewhere-before))
}

func TestDemand_IsSafeForConcurrentUse(t *testing.T) {
	demand, err := locality.NewDemand[int](8)
	require.NoError(t, err)
	var replicas locality.Replicas[int]
	var wg sync.WaitGroup
	for w := range 4 {
		wg.Go(func() {
			for i := range 500 {
				if err := demand.Record(i%20, 1, locality.Node(w), 1); err != nil {
					t.Errorf("record: %v", err)
				}
				if i%50 == 0 {
					demand.HotSpots(&replicas, 3)
					demand.Evict(&replicas, 1, 2, 3)
					demand.Fade()
				}
			}
		})
	}
	wg.Wait()
	require.LessOrEqual(t, len(demand.HotSpots(&replicas, 100)), 8)
}

func BenchmarkDemand(b *testing.B) {
	demand, err := locality.NewDemand[int](10_000)
	require.NoError(b, err)
	rng := rand.New(rand.NewPCG(1, 2))
	zipf := rand.NewZipf(rng, 1.1, 1, 1_000_000)
	blocks := make([]int, 1<<16)
	for i := range blocks {
		blocks[i] = int(zipf.Uint64())
		require.NoError(b, demand.Record(blocks[i], 1<<20, locality.Node(i%5000), 1))
	}
	b.Run("op=record/counted=10000", func(b *testing.B) {
		b.ReportAllocs()
		i := 0
		for b.Loop() {
			i = (i + 1) % len(blocks)
			_ = demand.Record(blocks[i], 1<<20, locality.Node(i%5000), 1)
		}
	})
}
