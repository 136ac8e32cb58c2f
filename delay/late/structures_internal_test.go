package late

import (
	"math"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

func TestKey_RisesAndSeparatesValuesThatDifferByMoreThanA64th(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		v := rapid.Float64Range(smallest, largest/2).Draw(t, "v")
		k := key(v)
		require.LessOrEqual(t, k, key(v*(1+1.0/128)))
		require.Less(t, k, key(v*(1+1.0/32)))
		require.InEpsilon(t, v, middle(k), 1.0/64)
		require.Equal(t, k, key(middle(k)))
	})
	require.Zero(t, key(0))
	require.Zero(t, key(math.NaN()))
	require.Equal(t, int32(1), key(math.SmallestNonzeroFloat64))
	require.EqualValues(t, top, key(math.Inf(1)))
	require.EqualValues(t, top, key(largest))
}

func TestRanksAndEnds_AgreeWithSorting(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var r ranks
		var e ends
		type item struct {
			key int32
			end ending
		}
		items := map[uint32]item{}
		keys := rapid.OneOf(rapid.Int32Range(0, 2), rapid.Int32Range(0, 40), rapid.Int32Range(0, top), rapid.Just(int32(top)))
		for slot := range rapid.Uint32Range(0, 90).Draw(t, "in one bucket") {
			x := item{1, ending{float64(slot * 37 % 91), slot}}
			r.add(1, 1)
			e.put(1, x.end)
			items[slot] = x
		}
		t.Repeat(map[string]func(*rapid.T){
			"put or move": func(t *rapid.T) {
				slot := rapid.Uint32Range(0, 90).Draw(t, "slot")
				x := item{keys.Draw(t, "key"), ending{float64(rapid.IntRange(0, 99).Draw(t, "end")), slot}}
				if old, ok := items[slot]; ok {
					r.add(old.key, -1)
					e.move(old.key, x.key, x.end)
				} else {
					e.put(x.key, x.end)
				}
				r.add(x.key, 1)
				items[slot] = x
			},
			"drop": func(t *rapid.T) {
				slot := rapid.Uint32Range(0, 90).Draw(t, "slot")
				if old, ok := items[slot]; ok {
					r.add(old.key, -1)
					e.drop(old.key, slot)
					delete(items, slot)
				}
			},
			"": func(t *rapid.T) {
				require.Equal(t, len(items), r.len())
				require.Equal(t, len(items), e.n)
				require.LessOrEqual(t, r.leaves, int32(8192))
				var sorted []int32
				limit, odd := keys.Draw(t, "limit"), rapid.Bool().Draw(t, "odd slots only")
				var want ending
				found := false
				for _, x := range items {
					sorted = append(sorted, x.key)
					if x.key < limit && (!odd || x.end.slot%2 == 1) && (!found || x.end.later(want)) {
						want, found = x.end, true
					}
				}
				got, ok := e.last(limit, func(slot uint32) bool { return !odd || slot%2 == 1 })
				require.Equal(t, found, ok)
				require.Equal(t, want, got)
				if len(items) == 0 {
					return
				}
				slices.Sort(sorted)
				p := float64(rapid.IntRange(0, 100).Draw(t, "percent")) / 100
				require.Equal(t, sorted[max(1, ceil(p*float64(len(sorted))))-1], r.percentile(p))
			},
		})
	})
}

// 0.07 × 100 is more than 7 in binary, and 0.29 × 100 less than 29.
func TestCeilAndFloor_EqualThoseOfTheDecimal(t *testing.T) {
	p, q := 0.07, 0.29
	require.Equal(t, 7, ceil(p*100))
	require.Equal(t, 8, ceil(p*101))
	require.Equal(t, 29, floor(q*100))
	require.Equal(t, 28, floor(q*99))
}

// The rate of an original that has lost to its copy is counted no more: neither
// then nor when the job is closed.
func TestClose_CountsTheRateOfALoserOnce(t *testing.T) {
	b, err := NewBook(Config{Nodes: 2, Slots: 10})
	require.NoError(t, err)
	job, err := New(Policy{}, 2, b)
	require.NoError(t, err)
	at := func(seconds int64) time.Time { return time.Unix(seconds, 0) }
	first, err := job.Start(at(0), 0)
	require.NoError(t, err)
	copied, err := job.Copy(at(70), first, 1)
	require.NoError(t, err)
	_, _, err = job.Finish(at(80), copied)
	require.NoError(t, err)
	require.Equal(t, 1, job.rates.len(), "that of the finished task")
	job.Close()
	require.Equal(t, 1, job.rates.len())
	require.Zero(t, b.Copies())
}
