package line

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// queued is a member of a line in tests.
type queued struct{ Place }

// standings is a walk of a line by places.
func (l *Line[T]) standings(yield func(Standing, *T) bool) {
	for ahead := l.Ahead(); len(ahead) > 0; {
		s := ahead[0]
		ahead = l.Behind(ahead)
		if !yield(s, l.members[s.slot]) {
			return
		}
	}
}

// crowd is a line beside its members in no order.
type crowd struct {
	Line[queued]
	all []*queued
	seq uint64
	rnd *rand.Rand
}

func newCrowd(seed uint64, members int) *crowd {
	c := &crowd{rnd: rand.New(rand.NewPCG(seed, 0))}
	c.add(members)
	return c
}

// add adds members, many of which have the same rank and turn.
func (c *crowd) add(members int) {
	for range members {
		c.seq++
		q := &queued{c.draw(c.seq)}
		c.all = append(c.all, q)
		c.Insert(&q.Place, q)
	}
}

func (c *crowd) draw(seq uint64) Place {
	ranks := []float64{math.Inf(-1), -1, 0, 0.25, 0.5, 1, math.Inf(1)}
	return Place{ranks[c.rnd.IntN(len(ranks))], c.rnd.Uint64N(3), seq}
}

func (c *crowd) leave(members int) {
	for range min(members, len(c.all)) {
		i := c.rnd.IntN(len(c.all))
		c.Remove(c.all[i].Place)
		c.all = slices.Delete(c.all, i, i+1)
	}
}

// rekey moves members one by one, each second one of them the first of the line.
func (c *crowd) rekey(members int) {
	for i := range members {
		q := c.all[c.rnd.IntN(len(c.all))]
		if i%2 == 0 {
			q = c.first()
		}
		was := q.Place
		q.Place = c.draw(q.Seq)
		c.Move(was, q.Place)
	}
}

// shuffle changes the places of members at once, and sorts the line.
func (c *crowd) shuffle(members int) {
	for range members {
		q := c.all[c.rnd.IntN(len(c.all))]
		q.Place = c.draw(q.Seq)
	}
	c.Sort()
}

func (c *crowd) first() *queued {
	for q := range c.All {
		return q
	}
	return nil
}

// check compares all walks of the line with the members, sorted.
func (c *crowd) check(t require.TestingT) {
	want := slices.Clone(c.all)
	slices.SortFunc(want, func(a, b *queued) int {
		if a.Before(&b.Place) {
			return -1
		}
		return 1
	})
	require.Equal(t, len(want), c.Len())
	require.True(t, slices.Equal(want, slices.Collect(c.All)), "by a loop")
	read := want[:0:0]
	for s, q := range c.standings {
		if read = append(read, q); q.Place != s.Place {
			require.Equal(t, q.Place, s.Place, "as the line holds it")
		}
	}
	require.True(t, slices.Equal(want, read), "by places")
	require.Equal(t, len(c.members), len(want)+len(c.vacant), "slots")
	require.False(t, slices.ContainsFunc(c.vacant, func(slot uint32) bool { return c.members[slot] != nil }))
}

func TestLine_KeepsTheOrder(t *testing.T) {
	trees := 0
	rapid.Check(t, func(t *rapid.T) {
		c := newCrowd(rapid.Uint64().Draw(t, "seed"), rapid.SampledFrom([]int{0, 5, short, long, 2 * long}).Draw(t, "members"))
		count := rapid.SampledFrom([]int{1, 3, settled, short, long})
		t.Repeat(map[string]func(*rapid.T){
			"add":   func(t *rapid.T) { c.add(count.Draw(t, "members")) },
			"leave": func(t *rapid.T) { c.leave(count.Draw(t, "members")) },
			"rekey": func(t *rapid.T) {
				if len(c.all) > 0 {
					c.rekey(count.Draw(t, "members"))
				}
			},
			"shuffle": func(t *rapid.T) {
				if len(c.all) > 0 {
					c.shuffle(count.Draw(t, "members"))
				}
			},
			"": func(t *rapid.T) {
				c.check(t)
				if c.tree != nil {
					trees++
					require.Empty(t, c.places)
					require.GreaterOrEqual(t, c.Len(), short)
				}
			},
		})
	})
	require.Positive(t, trees, "no line was long")
}

func TestLine_MayChangeWhenAWalkEnds(t *testing.T) {
	for _, members := range []int{3, 2 * long} {
		t.Run(fmt.Sprintf("members=%d", members), func(t *testing.T) {
			c := newCrowd(1, members)
			for _, q := range c.all {
				q.Place = Place{Rank: -1, Seq: q.Seq}
			}
			c.Sort()
			for turn := range uint64(3 * members) {
				for q := range c.All {
					was := q.Place
					q.Rank, q.Asked = float64(turn), turn
					c.Move(was, q.Place)
					break
				}
			}
			c.check(t)
			seen := 0
			for q := range c.All {
				seen++
				if q != c.first() {
					break
				}
			}
			require.Equal(t, 2, seen, "it was broken off")
			for _, q := range c.all {
				require.Equal(t, 2, int(q.Asked)/members, "the third turn of each is among the last")
			}
		})
	}
}

func TestLine_BecomesATreeWhenLongAndASliceWhenShort(t *testing.T) {
	c := newCrowd(1, long)
	c.rekey(2 * settled)
	require.Nil(t, c.tree, "not longer than long")
	c.add(settled - 1)
	require.Nil(t, c.tree, "too few changes")
	c.rekey(1)
	require.NotNil(t, c.tree)

	c.leave(c.Len() - short)
	require.NotNil(t, c.tree, "not shorter than short")
	c.leave(1)
	require.Nil(t, c.tree)
	c.add(long - c.Len())
	c.rekey(2 * settled)
	require.Nil(t, c.tree, "short again")
	c.add(settled - 1)
	require.Nil(t, c.tree, "too few changes since it was short")
	c.add(1)
	require.NotNil(t, c.tree)
	c.check(t)
}

func TestLine_IsASliceWhileSortedOften(t *testing.T) {
	c := newCrowd(1, 2*long)
	require.NotNil(t, c.tree)
	few := slices.Clone(c.all[:c.Len()/8])
	for _, q := range few {
		q.Asked += 5
	}
	c.Sort()
	require.NotNil(t, c.tree, "few have moved")
	c.check(t)
	for range 5 {
		for _, q := range c.all {
			q.Asked += 5
		}
		c.Sort()
		c.rekey(settled - 1)
		require.Nil(t, c.tree, "all have moved")
		c.check(t)
	}
	c.rekey(1)
	require.NotNil(t, c.tree)
	c.check(t)
}

// BenchmarkLine compares the two forms of a line in the operations of a round.
//
//   - first: the first member is offered room, and moves behind half of the others or more
//   - near: a random member moves past a few others
//   - join: a random member leaves and joins, at another place
//   - walk, merge: all members are read, by a loop, or by places
//   - settle: the members of an account, two or all, have moved
func BenchmarkLine(b *testing.B) {
	for _, members := range []int{10, 100, 1000, 3000, 30000} {
		for _, op := range []string{"first", "near", "join", "walk", "merge", "settle=2", "settle=all"} {
			for _, form := range []string{"slice", "tree"} {
				if op == "join" && form == "tree" && members < short {
					continue // such a tree becomes a slice at once
				}
				b.Run(fmt.Sprintf("op=%s/members=%d/form=%s", op, members, form), func(b *testing.B) {
					benchmarkLine(b, members, op, form)
				})
			}
		}
	}
}

func benchmarkLine(b *testing.B, members int, op, form string) {
	b.Helper()
	c := &crowd{rnd: rand.New(rand.NewPCG(1, 2)), Line: Line[queued]{changes: math.MinInt}}
	for i := range members {
		q := &queued{Place{Rank: c.rnd.Float64(), Seq: uint64(i + 1)}}
		c.all = append(c.all, q)
		c.Insert(&q.Place, q)
	}
	if form == "tree" {
		c.build()
	}
	turn, seen := uint64(0), 0
	b.ReportAllocs()
	for b.Loop() {
		q := c.all[c.rnd.IntN(members)]
		was := q.Place
		turn++
		switch op {
		case "first":
			q = c.first()
			was = q.Place
			q.Rank, q.Asked = q.Rank+0.5+c.rnd.Float64()/2, turn
			c.Move(was, q.Place)
		case "near":
			q.Rank, q.Asked = q.Rank+20*(c.rnd.Float64()-0.5)/float64(members), turn
			c.Move(was, q.Place)
		case "join":
			c.Remove(was)
			q.Rank = c.rnd.Float64()
			c.Insert(&q.Place, q)
		case "walk":
			for range c.All {
				seen++
			}
		case "merge":
			for range c.standings {
				seen++
			}
		case "settle=2":
			q.Rank = c.rnd.Float64()
			c.all[0].Rank = q.Rank
			c.Sort()
		case "settle=all":
			for _, q := range c.all {
				q.Rank++
			}
			c.Sort()
		}
	}
}
