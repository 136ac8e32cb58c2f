package drf_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/cellsched/cellsched/drf"
	"github.com/cellsched/cellsched/resources"
)

// leaf is a tenant in a tree of groups, and the runs that it holds.
type leaf struct {
	user    drf.User
	path    []int // itself and its groups, by index of the tree
	need    resources.Vector
	waiting bool
	runs    []*drf.Run
}

// tree is a FairQueue of four levels, with the sums for its limits.
type tree struct {
	q      *drf.FairQueue
	users  []drf.User
	limits []int64 // -1 for none
	held   []int64
	leaves []*leaf
	now    time.Duration
}

func newTree(t require.TestingT) *tree {
	q, err := drf.NewFairQueue(slots(100))
	require.NoError(t, err)
	w := &tree{q: q}
	add := func(parent int, isLeaf bool, path ...int) int {
		var p drf.User
		if parent >= 0 {
			p = w.users[parent]
		}
		u, err := q.Add(p, 1)
		require.NoError(t, err)
		at := len(w.users)
		w.users, w.limits, w.held = append(w.users, u), append(w.limits, -1), append(w.held, 0)
		if isLeaf {
			w.leaves = append(w.leaves, &leaf{user: u, path: append(path, at), need: slots(1)})
		}
		return at
	}
	add(-1, true)
	add(-1, true)
	for range 2 {
		org := add(-1, false)
		add(org, true, org)
		team := add(org, false)
		add(team, true, org, team)
		squad := add(team, false)
		add(squad, true, org, team, squad)
	}
	return w
}

// allowed reports whether a leaf waits for a task that all limits allow.
func (w *tree) allowed(l *leaf) bool {
	for _, at := range l.path {
		if w.limits[at] >= 0 && w.held[at]+l.need[0] > w.limits[at] {
			return false
		}
	}
	return l.waiting
}

// Pick finds a tenant exactly if one waits that has room and that no limit holds
// back, wherever it is in the tree. If there is none it asks each such tenant once.
func TestFairQueue_PickMissesNoTenantOfATree(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := newTree(t)
		draw := func(name string, n int) int { return rapid.IntRange(0, n-1).Draw(t, name) }
		t.Repeat(map[string]func(*rapid.T){
			"wait": func(*rapid.T) {
				l := w.leaves[draw("leaf", len(w.leaves))]
				l.need, l.waiting = slots(int64(1+draw("need", 3))), true
				require.NoError(t, w.q.Wait(l.user, l.need, w.now))
			},
			"park": func(*rapid.T) {
				l := w.leaves[draw("leaf", len(w.leaves))]
				l.waiting = false
				require.NoError(t, w.q.Park(l.user, w.now))
			},
			"limit": func(*rapid.T) {
				at := draw("member", len(w.users))
				w.limits[at] = int64(draw("limit", 5)) - 1
				require.NoError(t, w.q.SetLimit(w.users[at], slots(max(0, w.limits[at])), w.limits[at] >= 0, w.now))
			},
			"end": func(*rapid.T) {
				l := w.leaves[draw("leaf", len(w.leaves))]
				if n := len(l.runs); n > 0 {
					require.NoError(t, w.q.End(l.runs[n-1], w.now))
					l.runs = l.runs[:n-1]
					for _, at := range l.path {
						w.held[at]--
					}
				}
			},
			"pick": func(*rapid.T) {
				room := draw("room", 1<<len(w.leaves)) // a bit for each leaf
				fits := func(i int) bool { return room>>i&1 == 1 && w.allowed(w.leaves[i]) }
				w.pick(t, fits)
			},
			"pick all": func(*rapid.T) { w.pick(t, func(i int) bool { return w.allowed(w.leaves[i]) }) },
			"time":     func(*rapid.T) { w.now += time.Duration(draw("passed", 5)) * time.Second },
			"": func(*rapid.T) {
				waits := false
				for i, l := range w.leaves {
					waits = waits || w.allowed(w.leaves[i])
					held := int64(0)
					if held = w.held[l.path[len(l.path)-1]]; held != int64(len(l.runs)) {
						t.Fatal("the test has lost count")
					}
				}
				if waits {
					require.True(t, w.q.Contended())
				}
			},
		})
	})
}

// pick picks with a bound on room and starts a task of one slot where it may.
func (w *tree) pick(t require.TestingT, fits func(int) bool) {
	asked := map[drf.User]int{}
	u, ok := w.q.Pick(w.now, nil, func(u drf.User) bool {
		asked[u]++
		for i, l := range w.leaves {
			if l.user == u {
				return fits(i)
			}
		}
		return false
	})
	some := false
	for i, l := range w.leaves {
		require.LessOrEqual(t, asked[l.user], 1)
		some = some || fits(i)
		if !ok && w.allowed(l) {
			require.Equal(t, 1, asked[l.user], "leaf %d of %v was not asked", i, l.path)
		}
	}
	require.Equal(t, some, ok)
	if !ok {
		return
	}
	for i, l := range w.leaves {
		if l.user == u {
			require.True(t, fits(i))
			run, err := startRun(w.q, u, slots(1), w.now)
			require.NoError(t, err)
			l.runs = append(l.runs, run)
			for _, at := range l.path {
				w.held[at]++
			}
		}
	}
}

// The limit of a group holds back a tenant three levels below. The end of a task
// elsewhere in the group brings it back.
func TestFairQueue_RoomBelowALimitReachesAllLevels(t *testing.T) {
	w := newTree(t)
	x, deep := w.leaves[2], w.leaves[4]
	require.Len(t, deep.path, 4)
	org := deep.path[0]
	w.limits[org] = 1
	require.NoError(t, w.q.SetLimit(w.users[org], slots(1), true, w.now))
	run, err := startRun(w.q, x.user, slots(1), w.now)
	require.NoError(t, err)
	require.NoError(t, w.q.Wait(deep.user, slots(1), w.now))
	some := func(drf.User) bool { return true }
	_, ok := w.q.Pick(w.now, nil, some)
	require.False(t, ok)
	require.True(t, w.q.Contended(), "the tenants of a group compete for its limit")
	require.NoError(t, w.q.End(run, w.now))
	u, ok := w.q.Pick(w.now, nil, some)
	require.True(t, ok)
	require.Equal(t, deep.user, u)
}

// A group that holds back all in it leaves the order while Pick passes over a
// tenant without room. The group above stays, and so does what was received.
func TestFairQueue_PassingOverATenantEndsNoContention(t *testing.T) {
	w := newTree(t)
	top, x, deep := w.leaves[0], w.leaves[2], w.leaves[3]
	require.NoError(t, w.q.SetLimit(w.users[deep.path[1]], slots(0), true, w.now))
	for _, l := range []*leaf{top, x, deep} {
		require.NoError(t, w.q.Wait(l.user, slots(1), w.now))
	}
	run, err := startRun(w.q, x.user, slots(10), w.now)
	require.NoError(t, err)
	w.now = time.Second
	_, ok := w.q.Pick(w.now, nil, func(drf.User) bool { return false })
	require.False(t, ok)
	received, err := w.q.Received(x.user, w.now)
	require.NoError(t, err)
	require.Equal(t, 100*time.Millisecond, received.Round(time.Millisecond))
	require.NoError(t, w.q.Park(top.user, w.now))
	u, ok := w.q.Pick(w.now, nil, func(drf.User) bool { return true })
	require.True(t, ok)
	require.Equal(t, x.user, u)
	require.NoError(t, w.q.End(run, w.now))
}
